"""One request under way: copies of it arrive, run and are answered, as its fate has it."""

from functools import partial

from retry_guard_sandbox.services import Delivery, Service
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._fates import Fate
from retry_guard_sandbox.world._http import ReadError, Request, Response, refusal

ERROR = refusal(500, "internal_error", "internal server error")


class Exchange:
    """One request under way. `end`: what the client is shown, once it is there."""

    __slots__ = ("_clock", "_fate", "_fenced", "_request", "_send", "_service", "begun", "end")

    def __init__(
        self, request: Request, send: int, fate: Fate, service: Service, clock: VirtualClock
    ) -> None:
        """Send it, as the client's `send`-th request."""
        self._request, self._send, self._fate = request, send, fate
        self._service, self._clock, self.begun = service, clock, clock.time
        self._fenced = False
        self.end: Response | ReadError | None = None
        for copy, delay in enumerate(fate.arrivals):
            clock.at(self.begun + delay, partial(self._arrive, copy))
        if fate.shows in {"error", "reset"}:
            # At the moment of the answer that there would be otherwise.
            clock.at(self.begun + fate.up + fate.running + fate.down, self._fail)

    def is_over(self) -> bool:
        """Whether the client has been shown something."""
        return self.end is not None

    def fence(self) -> None:
        """Stop it, wherever it is: it will have no effect from now on."""
        self._fenced = True
        self._service.abort(self._request)

    def _arrive(self, copy: int) -> None:
        if self._fenced:
            return
        clock = self._clock
        response = self._service.receive(self._request, clock.time)
        if response is None:
            clock.at(clock.time + self._fate.running, partial(self._finish, copy))
        else:
            self._answer(response)

    def _finish(self, copy: int) -> None:
        if self._fenced:
            return
        delivery = Delivery(self._send, copy, self._fate.share)
        self._answer(self._service.execute(self._request, delivery, self._clock.time))

    def _answer(self, response: Response) -> None:
        if self._fate.shows == "success":
            self._clock.at(self._clock.time + self._fate.down, partial(self._show, response))

    def _fail(self) -> None:
        if self._fate.shows == "reset":
            self._show(ReadError("connection reset by peer"))
            return
        if not self._fenced:
            self._service.fail(self._request, ERROR, self._clock.time)
        self._show(ERROR)

    def _show(self, end: Response | ReadError) -> None:
        self.end = end
