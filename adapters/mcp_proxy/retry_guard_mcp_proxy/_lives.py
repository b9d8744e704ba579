"""The server's lives, one after the other: the next one begins when somebody needs it."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from retry_guard_mcp_proxy._child import Patience, little, start
from retry_guard_mcp_proxy._errors import DownError, RefusedError, ServerError
from retry_guard_mcp_proxy._hearing import Heard
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._restarts import Restarts


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What happens in a life.

    `said`: it says something. `serves`: its process is gone, and it is to be asked something, in
    case another one holds its pipes; returns when there is an answer, else raises. `lost`: it is
    over, and how; the last argument: whether it was the current one, and so not one that never
    came up. `reopen`: it is to be told what the client had told the last one; raises `ServerError`
    and `TimeoutError`.
    """

    said: Callable[[Life, Heard], Awaitable[None]]
    serves: Callable[[Life], Awaitable[object]]
    lost: Callable[[Life, str, bool], Awaitable[None]]
    reopen: Callable[[Life], Awaitable[None]]


class Lives:
    """Starts a process when the last one ended.

    `current`: the one that is spoken to. `coming`: one that does not know yet what the last one
    knew; until it does, it hears nothing else but answers to what it asks.
    """

    def __init__(self, command: Sequence[str], hooks: Hooks, opening: float) -> None:
        """Start nothing: `take_over` takes the process that was started already.

        `opening`: seconds that `reopen` may take. Whoever waits for the next life waits no longer
        than for what has begun within as much.
        """
        self.current: Life | None = None
        self.coming: Life | None = None
        self._command, self._hooks, self._restarts = command, hooks, Restarts()
        self._opening = opening
        self._count, self._closing = 0, False
        self._starting: asyncio.Task[None] | None = None
        self._burying, self._running = asyncio.Lock(), set[Life]()
        self._burials = set[asyncio.Task[None]]()

    async def take_over(self, process: subprocess.Popen[bytes]) -> None:
        """Take over the process that was started, and begin to hear it."""
        self.current = await self._born(process)

    async def _born(self, process: subprocess.Popen[bytes]) -> Life:
        number, self._count = self._count, self._count + 1
        hooks = self._hooks
        life = await Life.begin(process, number, hooks.said, hooks.serves, self.bury)
        self._running.add(life)
        return life

    async def bury(self, life: Life) -> None:
        """End a life that is over, once, and tell whoever waited for it.

        That goes on where this is cancelled, so that nobody waits in vain.
        """
        burying = asyncio.create_task(self._bury(life))
        self._burials.add(burying)
        burying.add_done_callback(self._burials.discard)
        await asyncio.shield(burying)

    async def _bury(self, life: Life) -> None:
        async with self._burying:
            if life.buried or self._closing:
                return
            life.over = life.buried = True
            how = self._restarts.how = await life.close(little())
            self._running.discard(life)
            was_current = self.current is life
            if was_current:
                self.current = None
            await self._hooks.lost(life, how, was_current)

    async def get(self) -> Life:
        """Return the life that there is, or begin the next one. Raises `DownError`.

        It is not over when this returns, so whatever is noted at once is told when it ends.
        """
        while True:
            life = self.current
            if life is not None and not life.over:
                await life.is_sure()
                if life is self.current and not life.over:
                    return life
                continue
            if self._closing:
                raise DownError("the proxy is closing")
            if self._starting is None:
                self._starting = asyncio.create_task(self._next())
            await asyncio.shield(self._starting)

    async def _next(self) -> None:
        try:
            async with self._burying:
                pass  # whoever waited for the last life is told first
            loop = asyncio.get_running_loop()
            began = loop.time()
            while True:
                await asyncio.sleep(self._restarts.next())
                try:
                    self.current = await self._started()
                except ServerError as error:
                    self._restarts.failed(str(error))
                    if loop.time() - began >= self._opening:
                        raise DownError(f"the server was started anew, but {error}") from None
                else:
                    return
        finally:
            self._starting = None

    async def _started(self) -> Life:
        """Start the process, and let it know what the last one knew. Raises `ServerError`."""
        life = self.coming = await self._born(start(self._command))
        try:
            await asyncio.wait_for(self._hooks.reopen(life), self._opening)
        except (TimeoutError, ServerError) as error:
            await self.bury(life)
            why = str(error) or "it did not answer"
            raise RefusedError(f"its session was not opened again: {why}") from None
        finally:
            self.coming = None
        return life

    async def close(self, patience: Patience) -> None:
        """End what runs, in order, and start nothing more."""
        self._closing = True
        if self._starting is not None:
            self._starting.cancel()
        for life in tuple(self._running):
            await life.close(patience)
