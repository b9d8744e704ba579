"""How a person is asked: by `ask`, and by the pause of the next equal call."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from retry_guard import Unresolved

Ask = Callable[[Unresolved], Any]


def ask_first(ask: Ask | None) -> Callable[[Unresolved], Awaitable[Any]]:
    """Return an `ask` that puts each question, whoever else is asked.

    The guard notes in its ledger what was put and not answered; the next equal call, here or in
    another process, pauses for it.
    """

    async def put(unresolved: Unresolved) -> Any:
        answer = None if ask is None else ask(unresolved)
        return await answer if inspect.isawaitable(answer) else answer

    return put
