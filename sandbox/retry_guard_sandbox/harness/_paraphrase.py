"""A harness whose model words a repeated call anew, and then wants what only looks the same."""

from dataclasses import replace

from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import Asked
from retry_guard_sandbox.harness._crashes import Point, killed
from retry_guard_sandbox.harness._stage import Stage, is_write
from retry_guard_sandbox.services import KEY, TOOLS
from retry_guard_sandbox.tasks import Step

LOST = '{"error": "the tool call timed out"}'
"""What the model is told of a call whose answer the harness lost."""
POINTS: tuple[Point, ...] = ("sent", "claimed")
"""Where a process dies."""
RESTART = 45.0
"""Seconds until the next process starts: longer than a lease."""


def paraphrase(stage: Stage) -> None:
    """A write's first answer is lost on the way to the model, which words the call anew.

    The new words say the same, by the contract's normalisers. With odd seeds the process dies
    with the request on its way, or before it leaves, and the next one is handed a call that was
    planned anew: in other words, with other content and a key of its own; what was sent first is
    what the user gets. In the end the user wants the twin of each write as well, which only
    looks the same.
    """
    seen = set[str]()

    def deliver(stage: Stage, asked: Asked) -> str:
        if not is_write(asked):
            return stage.hand_over(asked)
        action, again = _action(asked), _again(stage, asked)
        if action in seen or again is None:
            return stage.hand_over(again if action in seen and again is not None else asked)
        seen.add(action)
        if stage.seed % 2 == 0:
            stage.hand_over(asked)
            return LOST
        answer = killed(stage, asked, POINTS[stage.seed // 2 % 2], RESTART)
        return answer or stage.hand_over(_planned_anew(stage, again))

    twins = [Step(s.tool, {**s.arguments, **s.twin}) for s in stage.task.steps if s.twin]
    stage.task = stage.task.with_twins()
    stage.sight = replace(stage.sight, steps=(*stage.sight.steps, *twins))
    stage.talk(deliver=deliver)


def _planned_anew(stage: Stage, asked: Asked) -> Asked:
    """Return the call with other content, and another key where it had one."""
    given, tool = asked.call.arguments, asked.call.tool
    identity = stage.setting.world.variant.contracts[tool].identity
    content = [name for name in given if identity and name not in identity and name != KEY]
    other = {name: f"{given[name]} (again)" for name in content if isinstance(given[name], str)}
    key = {KEY: stage.sight.new_key()} if KEY in given else {}
    return replace(asked, call=ToolCall(tool, given | other | key))


def _action(asked: Asked) -> str:
    plain = {name: value for name, value in asked.call.arguments.items() if name != KEY}
    return TOOLS[asked.call.tool].action(plain)


def _again(stage: Stage, asked: Asked) -> Asked | None:
    """Return the call in other words; None: it has none.

    Only what names the effect is worded anew: other content would be another wish.
    """
    given, tool = asked.call.arguments, asked.call.tool
    plain = {name: value for name, value in given.items() if name != KEY}
    words = stage.task.reworded(tool, plain)
    if words is None:
        return None
    identity = stage.setting.world.variant.contracts[tool].identity
    named = {name: value for name, value in words.items() if not identity or name in identity}
    return replace(asked, call=ToolCall(tool, given | named))
