"""One proxy on its way: both ends of the pipe, the guard between them, and the end in order."""

import asyncio
import gc
import logging
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from retry_guard_core import GuardError
from retry_guard_mcp_proxy._aside import aside
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._guarding import Desk, Reception
from retry_guard_mcp_proxy._hearing import AS_IT_CAME
from retry_guard_mcp_proxy._notes import Log
from retry_guard_mcp_proxy._outlets import outlet
from retry_guard_mcp_proxy._reached import over_http
from retry_guard_mcp_proxy._relay import Relay
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._signals import ENDING, Signals
from retry_guard_mcp_proxy._stdio import StdioUpstream
from retry_guard_mcp_proxy._streams import lines, pieces
from retry_guard_mcp_proxy._unready import LINGER, UnreadyDesk
from retry_guard_mcp_proxy._upstream import Ears, Upstream
from retry_guard_mcp_proxy._way_back import WayBack


def run(
    settings: Settings,
    process: subprocess.Popen[bytes] | None,
    incoming: int,
    outgoing: int,
    signals: Signals,
) -> None:
    """Relay until the client goes away, or a signal comes. Raises `GuardError`.

    `process`: the server; None: it is reached at the URL of the settings. `signals`: what may have
    come already.
    """
    logging.getLogger().addHandler(Log())
    asyncio.run(_Proxy(settings, signals).run(process, incoming, outgoing))


class _Proxy:
    def __init__(self, settings: Settings, signals: Signals) -> None:
        self._settings, self._signals, self._patience = settings, signals, Patience()
        self._stop = asyncio.Event()

    async def run(
        self, process: subprocess.Popen[bytes] | None, incoming: int, outgoing: int
    ) -> None:
        self._obey_signals()
        session, client = Session(), Client(await outlet(outgoing))
        ready: asyncio.Future[Desk] = asyncio.get_running_loop().create_future()
        reception, guards = Reception(ready), self._settings.mode == "guard"
        AS_IT_CAME.set(not guards)
        back = WayBack(client, session, reception, guards=guards)
        upstream = await self._reached(process, session, back.ears())
        setting_up = asyncio.create_task(self._set_up(ready, client, upstream, session))
        relay = Relay(client, session, reception, guards=guards)
        relaying = asyncio.create_task(relay.run(lines(pieces(incoming)), upstream))
        try:
            await self._until_over(setting_up, relaying, client)
            await self._settled(setting_up)
        finally:
            await upstream.close(self._patience)
            await _cancelled(relaying)
            desk = ready.result() if ready.done() and not ready.cancelled() else None
            if desk is not None:
                await desk.close()
        if isinstance(desk, UnreadyDesk):
            raise desk.error

    async def _reached(
        self, process: subprocess.Popen[bytes] | None, session: Session, ears: Ears
    ) -> Upstream:
        if process is None:
            return over_http(self._settings, session, ears)
        upstream = StdioUpstream(self._settings.command, session, ears)
        await upstream.open(process)
        return upstream

    async def _set_up(
        self,
        ready: "asyncio.Future[Desk]",
        client: Client,
        upstream: Upstream,
        session: Session,
    ) -> Desk:
        """Return who carries out calls; where the guard cannot work, who refuses them."""
        try:
            desk_of = await aside(partial(_prepared, self._settings))
            desk = desk_of(client, upstream, session)
        except GuardError as error:
            desk = UnreadyDesk(client, error)
        ready.set_result(desk)
        gc.freeze()  # all that stays: to look at it again would hold up a call now and then
        return desk

    async def _until_over(
        self, setting_up: "asyncio.Task[Desk]", relaying: "asyncio.Task[None]", client: Client
    ) -> None:
        """Return when the client is gone, a signal came, or it was told that nothing works."""
        gone = asyncio.create_task(client.gone.wait())
        await self._first(setting_up, relaying, gone)
        desk = setting_up.result() if setting_up.done() else None
        if isinstance(desk, UnreadyDesk):
            told = asyncio.create_task(desk.is_told.wait())
            ends = {relaying, gone, told}
            while await self._first(*ends, timeout=LINGER) and client.waits:
                pass  # it has not heard yet that its session is open
            await _cancelled(told)
        elif desk is not None:
            await self._first(relaying, gone)
        await _cancelled(gone)

    async def _settled(self, setting_up: "asyncio.Task[Desk]") -> None:
        """Let what is under way end; where a signal came, nothing that blocks is waited for."""
        await self._first(setting_up)
        if not setting_up.done():
            await asyncio.wait({setting_up}, timeout=self._patience.obeys)
        if setting_up.done():
            settled = asyncio.create_task((await setting_up).settled())
            await self._first(settled, timeout=self._patience.ends)
        else:
            await _cancelled(setting_up)

    async def _first(self, *tasks: "asyncio.Task[Any]", timeout: float | None = None) -> bool:  # noqa: ASYNC109 - of a wait
        """Return when one of them is done, a signal came, or the time is out: whether it is."""
        stop = asyncio.create_task(self._stop.wait())
        first = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait({stop, *tasks}, timeout=timeout, return_when=first)
        await _cancelled(stop)
        return not done

    def _obey_signals(self) -> None:
        for number in ENDING:
            # On Windows no event loop takes signal handlers; there the process just ends.
            with suppress(NotImplementedError):
                asyncio.get_running_loop().add_signal_handler(number, self._end)
        if self._signals.came:
            self._end()

    def _end(self) -> None:
        self._stop.set()
        self._patience.lose()


async def _cancelled(task: "asyncio.Task[Any]") -> None:
    task.cancel()
    await asyncio.wait({task})


def _prepared(settings: Settings) -> Callable[[Client, Upstream, Session], Desk]:
    from retry_guard_mcp_proxy._prepare import prepare  # noqa: PLC0415 - slow, so in a thread

    return prepare(settings)
