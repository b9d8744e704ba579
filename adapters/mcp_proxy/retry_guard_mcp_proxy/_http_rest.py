"""The rest of an answer that broke off: asking for it executes nothing."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import httpx2

from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._http_asking import Asking, answer_in
from retry_guard_mcp_proxy._http_events import Tail

_TRIES, _PAUSE, _SHORTEST, _LONGEST = 3, 1.0, 0.05, 30.0
"""How often in a row it is asked for, and the seconds before; the server may say how many, between
the last two."""

Events = Callable[[Mapping[str, str], Tail], AbstractAsyncContextManager[httpx2.Response]]


async def rest(events: Events, asking: Asking, tail: Tail) -> Heard | None:
    """Return the answer, where the server has kept it; None: it does not come."""
    left = _TRIES if asking.resumes else 0
    while left and tail.last:
        pause = _PAUSE if tail.pause is None else tail.pause
        await asyncio.sleep(min(max(pause, _SHORTEST), _LONGEST))
        before, left = tail.last, left - 1
        try:
            async with events(asking.headers, tail) as response:
                found = await answer_in(response, asking, tail)
        except httpx2.HTTPStatusError:
            return None
        except httpx2.HTTPError:
            continue
        if found is not None:
            return found
        left = left if tail.last == before else _TRIES
    return None
