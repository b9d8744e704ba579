"""Read-backs: calls of the same server, by the proxy itself."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from retry_guard_mcp_proxy._errors import ServerError
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Upstream

READ = 30.0
"""Seconds after which a read that was not answered has failed."""


class ContractChangedError(BaseException):
    """What a call is carried out by counts no more: it ends here, and is begun anew.

    No `Exception`, since the guard takes those for reads that failed, and goes on.
    """


class _LaterError(ServerError):
    """It was about to be asked, and may not be before more is known."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a read-back rests on. `life`: another number, once the server may be another one.

    None: that is not known before `stands` was asked. `stands`: returns when it is known that what
    it rests on counts there; else raises `ContractChangedError`.
    """

    life: Callable[[], int | None]
    stands: Callable[[], Awaitable[None]]


def reader(
    upstream: Upstream, session: Session, ground: Ground | None = None
) -> Callable[[str, dict[str, Any]], Awaitable[object]]:
    """Return how the guard reads. `ground`: None: whatever the server says of itself is nothing."""

    async def read(tool: str, arguments: dict[str, Any]) -> object:
        stated = session.stated
        params = {"name": tool, "arguments": arguments, **({"_meta": stated} if stated else {})}
        async with asyncio.timeout(READ):
            response = await _asked(upstream, params, ground)
        if "result" not in response or response.get("error") is not None:
            raise ServerError(f"{tool} was answered with an error")
        return response["result"]

    return read


async def _asked(upstream: Upstream, params: Message, ground: Ground | None) -> Message:
    if ground is None:
        return await upstream.request(upstream.new_id(), "tools/call", params)
    while True:
        await ground.stands()
        life = ground.life()
        goes = partial(_goes, ground, life)
        with suppress(_LaterError):  # another life answered: it is asked anew
            response = await upstream.request(upstream.new_id(), "tools/call", params, goes=goes)
            if life is not None and life == ground.life():
                return response


def _goes(ground: Ground, life: int | None) -> None:
    if life is None or life != ground.life():
        raise _LaterError
