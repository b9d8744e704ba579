"""What scripted agents have in common: they follow the steps of a task, one call at a time.

An agent sees what a model would see: the prompt (which `steps` stand for: how a model reads it),
the tools as they are described, and the text of each answer. It ends by calling `finish`.
"""

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Sight:
    """What an agent goes by. `new_key` makes an idempotency key that was never used before."""

    steps: tuple[Step, ...]
    tools: Mapping[str, Tool]
    new_key: Callable[[], str]

    def keyed(self, call: ToolCall) -> ToolCall:
        """Return the call with a new key, where the tool offers a parameter for one."""
        if not self.tools[call.tool].keyed:
            return call
        return ToolCall(call.tool, {**call.arguments, KEY: self.new_key()})


@dataclass(frozen=True, slots=True)
class Heard:
    """An answer, as an agent understands it: a result, a refusal, or an error."""

    status: Status
    result: Json | None = None


Pursuit = Generator[ToolCall, str, Heard]
Pursue = Callable[[Sight, ToolCall], Pursuit]


def heard(text: str) -> Heard:
    """Read the text of an answer."""
    body: Json = json.loads(text)
    if "error" not in body:
        return Heard("done", body)
    return Heard("failed" if _REFUSED.match(str(body["error"])) else "uncertain")


def follow(sight: Sight, pursue: Pursue) -> Moves:
    """Do one step after the other, leave out what needs a missing result, then finish."""
    results: list[Json | None] = []
    worst: Status = "done"
    for step in sight.steps:
        arguments = step.filled(results)
        if arguments is None:
            results.append(None)
            continue
        end = yield from _one_by_one(pursue(sight, ToolCall(step.tool, arguments)))
        results.append(end.result)
        if end.status != "done" and worst != "uncertain":
            worst = end.status
    yield (ToolCall("finish", {"status": worst}),)


def _one_by_one(pursuit: Pursuit) -> Generator[Message, tuple[str, ...], Heard]:
    """Send each call in a message of its own."""
    try:
        call = next(pursuit)
        while True:
            (answer,) = yield (call,)
            call = pursuit.send(answer)
    except StopIteration as end:
        heard_last: Heard = end.value
        return heard_last
