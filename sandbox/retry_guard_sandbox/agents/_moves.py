"""What scripted agents have in common: they follow the steps of a task, one after the other.

An agent sees what a model would see: the prompt (which `steps` stand for: how a model reads it),
the tools as they are described, and the text of each answer. It ends by calling `finish`.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from retry_guard_sandbox.services import KEY, Tool
from retry_guard_sandbox.tasks import Step
from retry_guard_sandbox.world._http import Json

TRIES = 3
"""How often a scripted agent calls a tool for one purpose before it gives up."""

Status = Literal["done", "uncertain", "failed"]

_REFUSED = re.compile(r"4(?!08|09|25|29)\d\d ")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What an agent asks for."""

    tool: str
    arguments: Json


Message = tuple[ToolCall, ...]
"""What an agent sends at once: one call or several, or `finish` alone."""

Moves = Generator[Message, tuple[str, ...], None]
"""An agent on its way: it yields messages and is sent the text of each call's answer."""


def _no_other_words(_tool: str, _arguments: Json) -> Json | None:
    return None


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent goes by. `new_key` makes an idempotency key that was never used before.

    `known`: the results of the steps that were done in earlier turns, by number.
    `prompt`: what the user said. `reworded`: how a model that plans a call anew would word its
    arguments; None where it would use the same words.
    """

    steps: tuple[Step, ...]
    tools: Mapping[str, Tool]
    new_key: Callable[[], str]
    known: dict[int, Json] = field(default_factory=dict[int, Json])
    prompt: str = ""
    reworded: Callable[[str, Json], Json | None] = _no_other_words

    def keyed(self, call: ToolCall) -> ToolCall:
        """Return the call with a new key, where the tool offers a parameter for one."""
        if not self.tools[call.tool].keyed:
            return call
        return ToolCall(call.tool, {**call.arguments, KEY: self.new_key()})

    def is_read(self, call: ToolCall) -> bool:
        """Whether the tool only reads, as its description says."""
        return self.tools[call.tool].effect == "read"


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, as an agent understands it: a result, a refusal, or an error."""

    status: Status
    result: Json | None = None


Pursuit = Generator[Message, tuple[str, ...], Heard]
"""The way of one step to its end."""
Pursue = Callable[[Sight, ToolCall], Pursuit]


def heard(text: str) -> Heard:
    """Read the text of an answer."""
    if text.startswith(_ERROR):
        return _heard(text)
    return _read(text)


def _read(text: str) -> Heard:
    body: Json = json.loads(text)
    if "error" not in body:
        return Heard("done", body)
    return Heard("failed" if _REFUSED.match(str(body["error"])) else "uncertain")


_ERROR = '{"error"'
_heard = lru_cache(maxsize=1024)(_read)
"""The same, remembered: for errors, which are few."""


def alone(call: ToolCall) -> Pursuit:
    """Make one call, in a message of its own."""
    (answer,) = yield (call,)
    return heard(answer)


def until_clear(calls: Iterable[ToolCall]) -> Pursuit:
    """Make these calls, one after the other, until an answer says what happened."""
    answer = Heard("uncertain")
    for call in calls:
        answer = yield from alone(call)
        if answer.status != "uncertain":
            break
    return answer


def follow(sight: Sight, pursue: Pursue, *, stops: bool = False) -> Moves:
    """Do one step after the other, leave out what needs a missing result, then finish.

    `stops`: after the first step whose end is not clear, leave out all others.
    """
    results: list[Json | None] = []
    worst: Status = "done"
    for number, step in enumerate(sight.steps):
        if number in sight.known:
            results.append(sight.known[number])
            continue
        arguments = step.filled(results)
        if arguments is None:
            results.append(None)
            continue
        end = yield from pursue(sight, ToolCall(step.tool, arguments))
        results.append(end.result)
        if end.status == "done" and end.result is not None:
            sight.known[number] = end.result
        if end.status != "done" and worst != "uncertain":
            worst = end.status
        if stops and end.status == "uncertain":
            break
    yield (ToolCall("finish", {"status": worst}),)
