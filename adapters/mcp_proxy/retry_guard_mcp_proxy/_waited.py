"""One guarded call: who waits for its answer, and for what it waits itself."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from retry_guard_contracts import Identity
from retry_guard_mcp_proxy._answers import complete
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._judging import NotGivenError
from retry_guard_mcp_proxy._late import Deliveries
from retry_guard_mcp_proxy._messages import INTERNAL_ERROR, Message, encoded, failure, params_of
from retry_guard_mcp_proxy._session import is_stateless
from retry_guard_mcp_proxy._upstream import Upstream
from retry_guard_mcp_proxy._wanted import state_of

if TYPE_CHECKING:
    from retry_guard_mcp_proxy._exchange import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What is at both ends of a call. `over`: an asker got its answer, or nobody wants it.

    `fit`: returns when the tool, as its server lists it now, takes what is sent; raises
    `DownError`. `life`: another number, once that server may be another one; None: that is not
    known before `fit` was asked. `lately`: that number as it was when that was looked at last.
    `named`: what equal calls of a tool share; None: there is none.
    `paused`: a call waits for input from now on.
    """

    client: Client
    upstream: Upstream
    over: Callable[[Asker], None]
    fit: Callable[["Exchange"], Awaitable[None]]
    life: Callable[[], int | None]
    lately: Callable[[], int]
    named: Callable[[str, Message], Identity | None]
    paused: Callable[["Exchange"], None]


class Waited:
    """A call that somebody waits for.

    `asker`: the request that is to be answered; None: nobody waits any more. `answered`: only the
    record of it is not finished yet. `paused`: the server wants input, and the client has not given
    it yet; `state`: what it gave with that, as it came. `standing`: what is to be answered where a
    person's word does not come in time; None: the call itself is under way.
    """

    def __init__(self, asker: Asker, arguments: Message, ends: Ends) -> None:
        """Wait for its answer."""
        self.asker: Asker | None = asker
        self.tool: str = params_of(asker.request)["name"]
        self.arguments, self.request, self._ends = arguments, asker.request, ends
        self.answered = False
        self.task: asyncio.Task[None] | None = None
        self.standing: Message | None = None
        self.here: Deliveries | None = None
        self.state: str | None = None
        self._next: asyncio.Future[Asker] | None = None

    @property
    def paused(self) -> bool:
        """Whether the server wants input that the client has not given yet."""
        return self._next is not None and not self._next.done()

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for its answer."""
        return self.asker is not None and not self.asker.cancelled

    def is_like(self, other: "Waited") -> bool:
        """Whether it is the same action, as the guard sees it: 1 is 1.0, and not true."""
        mine = self.name if self.tool == other.tool else None
        its = None if mine is None else other.name
        return mine is not None and its is not None and mine.identity == its.identity

    @property
    def name(self) -> Identity | None:
        """What it shares with equal calls, here and now: what it is for, and its other values."""
        return self._ends.named(self.tool, self.arguments)

    def wants(self, other: "Waited") -> bool:
        """Whether it waits for the input that this request gives."""
        same = self.tool == other.tool and self.state == state_of(params_of(other.request))
        return self.paused and same and self.name is not None and self.name == other.name

    def go_on(self, asker: Asker) -> None:
        """Take the request that gives the input."""
        self.asker, self.request = asker, asker.request
        if self._next is not None:
            self._next.set_result(asker)

    def give_up(self) -> None:
        """Take it that the input is not given."""
        if self._next is not None and not self._next.done():
            self._next.set_exception(NotGivenError("the input that it needs was not given"))

    async def tell(self, answer: Message) -> bool:
        """Answer whoever waits; return whether the client took it, and had not cancelled."""
        asker, self.asker = self.asker, None
        if asker is None:
            return False
        asker.end()
        try:
            return await self._told(asker, answer)
        finally:
            self._ends.over(asker)  # until here the client may cancel

    async def _told(self, asker: Asker, answer: Message) -> bool:
        if asker.cancelled:
            return False
        if is_stateless(asker.request):
            answer = complete(answer)
        given = asker.request["id"]
        try:
            line = encoded({"jsonrpc": "2.0", "id": given, **answer})
        except RecursionError:
            line = encoded(failure(given, INTERNAL_ERROR, "the answer is nested too deep"))
        return await self._ends.client.tell(line) and not asker.cancelled
