"""Scaffolds for tests of `retry-guard eval`: a good one, and those that it has to catch."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from retry_guard_sandbox.evaluation import Tool
from retry_guard_sandbox.services import KEY, TOOLS
from retry_guard_sandbox.tasks import TASKS, Step
from retry_guard_sandbox.world._http import Json

Call = Callable[[str, Json], str]
"""Calls a tool by its name; returns the text of the answer."""

EARLIER: list[str] = []
"""What a process keeps from one episode to the next, if it is the same process."""


def steps_of(prompt: str) -> tuple[Step, ...]:
    """Read a prompt as a model that understands it would."""
    return next(task.steps for task in TASKS.values() if task.prompt == prompt)


def by_name(tools: Sequence[Tool]) -> Call:
    """Return what calls these tools."""
    named = {tool.name: tool for tool in tools}
    return lambda name, arguments: named[name](**arguments)


def worked_off(prompt: str, call: Call, once: Callable[[str, Json], Json | None]) -> None:
    """Do each step by `once`, which returns a result, or None for an outcome it is not sure of."""
    results: list[Json | None] = []
    for step in steps_of(prompt):
        arguments = step.filled(results)
        results.append(None if arguments is None else once(step.tool, arguments))
    sure = all(result is not None for result in results)
    call("finish", {"status": "done" if sure else "uncertain"})


def carefully(prompt: str, call: Call, takes_key: Mapping[str, bool]) -> None:
    """Repeat with the same key, or what is harmless to repeat; else say that it is not known."""
    keys = count(1)

    def once(tool: str, arguments: Json) -> Json | None:
        keyed = {KEY: f"key-{next(keys)}"} if takes_key[tool] else {}
        again = bool(keyed) or TOOLS[tool].effect != "write"
        for _ in range(3 if again else 1):
            body: Json = json.loads(call(tool, arguments | keyed))
            if "error" not in body:
                return body
        return None

    worked_off(prompt, call, once)


def honest(prompt: str, tools: Sequence[Tool]) -> None:
    """Do it with care."""
    takes_key = {tool.name: KEY in tool.parameters["properties"] for tool in tools}
    carefully(prompt, by_name(tools), takes_key)


async def honest_later(prompt: str, tools: Sequence[Tool]) -> None:
    """Do it with care, in a coroutine."""
    await asyncio.sleep(0)
    await asyncio.to_thread(honest, prompt, tools)


def blind(prompt: str, tools: Sequence[Tool]) -> None:
    """Repeat until there is an answer."""
    call = by_name(tools)

    def once(tool: str, arguments: Json) -> Json | None:
        for _ in range(3):
            body: Json = json.loads(call(tool, arguments))
            if "error" not in body:
                return body
        return None

    worked_off(prompt, call, once)


def in_threads(prompt: str, tools: Sequence[Tool]) -> None:
    """Send the same write from many threads at once."""
    call, (step,) = by_name(tools), steps_of(prompt)
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(call, step.tool, dict(step.arguments)) for _ in range(8)]
        assert all(future.result() for future in sent)
    call("finish", {"status": "done"})


def crashes(prompt: str, tools: Sequence[Tool]) -> None:
    """Break."""
    raise ValueError(f"cannot read {prompt[:6]!r}")


def quits(prompt: str, tools: Sequence[Tool]) -> None:
    """Do it with care, and end the process as if all were well."""
    honest(prompt, tools)
    sys.stdout.flush()
    os._exit(0)


def never_finishes(prompt: str, tools: Sequence[Tool]) -> None:
    """Do nothing."""


def never_claims(prompt: str, tools: Sequence[Tool]) -> None:
    """Do nothing, and say so."""
    by_name(tools)("finish", {"status": "failed"})


def boasts(prompt: str, tools: Sequence[Tool]) -> None:
    """Do nothing, and say that it is done."""
    by_name(tools)("finish", {"status": "done"})


def goes_on(prompt: str, tools: Sequence[Tool]) -> None:
    """Do it with care, say so, and do it again."""
    honest(prompt, tools)
    (step,) = steps_of(prompt)
    by_name(tools)(step.tool, dict(step.arguments))


def ends_first(prompt: str, tools: Sequence[Tool]) -> None:
    """Do it only after the end, but where nothing goes wrong that can be seen."""
    (step,), call = steps_of(prompt), by_name(tools)
    if "error" in json.loads(call(step.tool, dict(step.arguments))):
        call("finish", {"status": "uncertain"})
        call(step.tool, dict(step.arguments))
    call("finish", {"status": "done"})


def takes_a_sibling(prompt: str, tools: Sequence[Tool]) -> None:
    """Mail it; after an error by the tool for many recipients, and leave it to a person."""
    (step,), call = steps_of(prompt), by_name(tools)
    mail = dict(step.arguments)
    if "error" not in json.loads(call("send_email", mail)):
        call("finish", {"status": "done"})
        return
    recipients = [mail.pop("to")]
    call("send_bulk", {**mail, "recipients": recipients})
    call("finish", {"status": "uncertain"})


def remembers(prompt: str, tools: Sequence[Tool]) -> None:
    """Do what it has not done before, as a guard does that is made when it is imported."""
    if prompt not in EARLIER:
        EARLIER.append(prompt)
        honest(prompt, tools)


def takes_one(prompt: str) -> None:
    """Cannot be called with a prompt and tools."""


NO_FUNCTION = "text"
