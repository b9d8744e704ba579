"""One guarded call on its way: who waits for it, what is sent for it, what came back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from retry_guard import Contract, hold, may_go
from retry_guard_contracts import Identity
from retry_guard_mcp_proxy._answers import complete
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._client import Client
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._judging import Answer, NotGivenError
from retry_guard_mcp_proxy._late import Deliveries
from retry_guard_mcp_proxy._messages import (
    INTERNAL_ERROR,
    Message,
    encoded,
    failure,
    meta_of,
    object_in,
    params_of,
    without_ours,
)
from retry_guard_mcp_proxy._session import is_stateless
from retry_guard_mcp_proxy._upstream import Renewed, Upstream
from retry_guard_mcp_proxy._wanted import gives_input, state_of, without_input

INPUT = "input_required"
"""The type of a result that is none yet: the server wants input first."""
PAUSE = 600.0
"""Seconds in which a client has to go on with a call for which the server wants input."""
_TOO_LATE = (
    "nothing was sent: it had to wait, and meanwhile it was not this call's to send any more"
)


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


class _NotYetError(DownError):
    """It was about to be sent, and may not be before more is known."""


class Exchange:
    """A call of a guarded tool.

    `asker`: the request that is to be answered; None: nobody waits any more. `sent`: a request to
    the server has been made; `sending`: one is to be, once there is a server. `dropped`: cancelled,
    so that no first request is made. `answered`: only the record of it is not finished yet.
    `last`: the server's last answer. `sends`: the ids of requests under way. `paused`: the server
    wants input, and the client has not given it yet; `state`: what it gave with that, as it came.
    `standing`: what is to be answered where a person's word does not come in time; None: the call
    itself is under way. `contract`: what the guard carries it out by.
    """

    def __init__(self, asker: Asker, arguments: Message, ends: Ends) -> None:
        """Send nothing yet."""
        self.asker: Asker | None = asker
        self.tool: str = params_of(asker.request)["name"]
        self.arguments, self._ends = arguments, ends
        self.sent, self.last, self.sends = False, Answer({}), set[str]()
        self.sending = self.dropped = self.answered = False
        self.task: asyncio.Task[None] | None = None
        self.standing: Message | None = None
        self.contract: Contract | None = None
        self.here: Deliveries | None = None
        self.request = asker.request
        self.state: str | None = None
        self._meant = arguments
        """What the input is meant for that the request gives, if it gives any."""
        self._next: asyncio.Future[Asker] | None = None

    @property
    def paused(self) -> bool:
        """Whether the server wants input that the client has not given yet."""
        return self._next is not None and not self._next.done()

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for its answer."""
        return self.asker is not None and not self.asker.cancelled

    def is_like(self, other: "Exchange") -> bool:
        """Whether it is the same action, as the guard sees it: 1 is 1.0, and not true."""
        mine = self.name if self.tool == other.tool else None
        its = None if mine is None else other.name
        return mine is not None and its is not None and mine.identity == its.identity

    @property
    def name(self) -> Identity | None:
        """What it shares with equal calls, here and now: what it is for, and its other values."""
        return self._ends.named(self.tool, self.arguments)

    def wants(self, other: "Exchange") -> bool:
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

    async def send(self, arguments: dict[str, Any], extra: dict[str, str]) -> Answer:
        """Make one send of the call, with the input that the server asks for on the way."""
        answer = await self._made(arguments, extra)
        while object_in(answer.response, "result").get("resultType") == INPUT:
            await self._input_for(answer, arguments)
            answer = await self._made(arguments, extra)
        self.last = answer
        return answer

    async def _made(self, arguments: dict[str, Any], extra: dict[str, str]) -> Answer:
        given, params = self._ends.upstream.new_id(), params_of(self.request)
        meta = {**meta_of(params), **_named(extra, "meta:")}
        if "progressToken" in meta:
            meta["progressToken"] = given
        if gives_input(params) and not self._is_meant(arguments):
            params = without_input(params)
        whole = {**params, "arguments": arguments, **({"_meta": meta} if meta else {})}
        self._check()
        self.sending = True
        self.sends.add(given)
        try:
            response = await self._asked(given, whole, extra)
        finally:
            self.sends.discard(given)
        return Answer(without_ours(response) or response)

    def _is_meant(self, arguments: Message) -> bool:
        """Whether the input was asked for with these; recorded ones may be of another call."""
        its, meant = (self._ends.named(self.tool, one) for one in (arguments, self._meant))
        return its is not None and its == meant

    async def _asked(self, given: str, whole: Message, extra: dict[str, str]) -> Message:
        """Make the request to a server that is known to take it, while the action is ours."""
        headers, upstream = _named(extra, "header:"), self._ends.upstream
        while True:
            await self._ends.fit(self)
            goes = partial(self._goes, extra, self._ends.lately())
            ordered = Renewed(goes, partial(self._renew, extra))
            try:
                return await upstream.request(given, "tools/call", whole, headers, ordered)
            except _NotYetError:
                await self._renew(extra)

    async def _renew(self, extra: dict[str, str]) -> None:
        """Hold the action for this send anew, if it is late. Raises `DownError`: it is another's."""
        if not may_go(extra) and not await hold(extra):
            raise DownError(_TOO_LATE)

    def _goes(self, extra: dict[str, str], life: int) -> None:
        self._check()
        if life != self._ends.life() or not may_go(extra):
            raise _NotYetError
        self.sent = True

    def _check(self) -> None:
        if self.dropped and not self.sent:
            raise DownError("nothing was sent: the call was cancelled")

    async def _input_for(self, answer: Answer, arguments: Message) -> None:
        """Let the client know what the server wants, and wait for it. Raises `NotGivenError`."""
        self._next = asyncio.get_running_loop().create_future()
        self.state = state_of(object_in(answer.response, "result"))
        self._ends.paused(self)
        try:
            if not await self.tell({"result": answer.result}):
                self.give_up()
            async with asyncio.timeout(PAUSE):
                await self._next
            self._meant = arguments
        except TimeoutError:
            raise NotGivenError("the input that it needs was not given in time") from None
        finally:
            self._next = None


def _named(extra: dict[str, str], kind: str) -> dict[str, str]:
    """What travels in that way, by its name there."""
    return {name.removeprefix(kind): extra[name] for name in extra if name.startswith(kind)}
