"""The operators: who answers when a write is handed over to a person."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from retry_guard import Answer
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._network import Network

Operator = Callable[[Network, Effects, str, Json, float], Answer | None]
"""Answers for one action: its tool, its arguments without the key, when it was sent first.

None: nobody answers.
"""


def fencing(
    network: Network, effects: Effects, tool: str, arguments: Json, since: float = 0.0
) -> Answer:
    """Stop what is in flight, then answer truthfully, for good.

    An action that ran twice, or of whose batch only a part did, is given up: saying that it
    happened would call it done.
    """
    network.fence(tool, arguments)
    return _truth(effects, tool, arguments, since, final=True)


def snapshot(
    _network: Network, effects: Effects, tool: str, arguments: Json, since: float = 0.0
) -> Answer:
    """Answer by what is there now, and stop nothing: what is in flight may still happen."""
    return _truth(effects, tool, arguments, since, final=False)


def silent(*_asked: object) -> None:
    """Never answer."""


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {"fencing": fencing, "snapshot": snapshot, "silent": silent}
)


def made_since(effects: Effects, tool: str, arguments: Json, since: float) -> list[list[Effect]]:
    """Return the effects that an action has had: of a batch, those of each item."""
    about = TOOLS[tool]
    made = [effect for effect in effects.of(tool) if effect.at >= since]
    return [
        [effect for effect in made if about.same(effect.arguments, part)]
        for part in about.parts(arguments)
    ]


def _truth(effects: Effects, tool: str, arguments: Json, since: float, *, final: bool) -> Answer:
    made = made_since(effects, tool, arguments, since)
    counts = {len(part) for part in made}
    if counts == {0}:
        return Answer("did_not_happen", final=final)
    if counts != {1}:
        return Answer("abandon", final=final)
    result = TOOLS[tool].answer([part[0].item for part in made])
    return Answer("happened", result=result, final=final)
