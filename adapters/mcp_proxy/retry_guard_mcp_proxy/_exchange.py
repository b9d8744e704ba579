"""One guarded call on its way: what is sent for it, and what came back."""

import asyncio
from functools import partial
from typing import Any

from retry_guard import Contract, hold, may_go
from retry_guard_mcp_proxy._asker import Asker
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._judging import Answer, NotGivenError
from retry_guard_mcp_proxy._messages import Message, meta_of, object_in, params_of, without_ours
from retry_guard_mcp_proxy._upstream import Renewed
from retry_guard_mcp_proxy._waited import Ends, Waited
from retry_guard_mcp_proxy._wanted import gives_input, state_of, without_input

INPUT = "input_required"
"""The type of a result that is none yet: the server wants input first."""
PAUSE = 600.0
"""Seconds in which a client has to go on with a call for which the server wants input."""
_TOO_LATE = (
    "nothing was sent: it had to wait, and meanwhile it was not this call's to send any more"
)


class _NotYetError(DownError):
    """It was about to be sent, and may not be before more is known."""


class Exchange(Waited):
    """A call of a guarded tool.

    `sent`: a request to the server has been made; `sending`: one is to be, once there is a server.
    `dropped`: cancelled, so that no first request is made. `last`: the server's last answer.
    `sends`: the ids of requests under way. `contract`: what the guard carries it out by.
    """

    def __init__(self, asker: Asker, arguments: Message, ends: Ends) -> None:
        """Send nothing yet."""
        super().__init__(asker, arguments, ends)
        self.sent, self.last, self.sends = False, Answer({}), set[str]()
        self.sending = self.dropped = False
        self.contract: Contract | None = None
        self._meant = arguments
        """What the input is meant for that the request gives, if it gives any."""

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
        """Hold the action anew, if the send is late. Raises `DownError`: it is another's."""
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
