"""The client that every arm uses: one request at a time, and a note of all that it saw."""

from dataclasses import dataclass
from http import HTTPStatus

from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._http import APIStatusError, Json, Request, Response
from retry_guard_sandbox.world._network import Network


@dataclass(frozen=True, slots=True)
class Seen:
    """One exchange as the client saw it; times in seconds since the epoch.

    `response`: None where none came.
    """

    request: Request
    begun: float
    ended: float
    response: Response | None

    @property
    def is_open(self) -> bool:
        """Whether what was seen leaves open what became of the request."""
        return (
            self.response is None or self.response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        )


class Wire:
    """A client with its time-out, which re-sends nothing by itself."""

    def __init__(self, network: Network, clock: VirtualClock) -> None:
        """Send over this network, by this clock."""
        self._network, self._clock = network, clock
        self.seen: list[Seen] = []

    def call(self, tool: str, arguments: Json) -> Json:
        """Call a tool; return its result.

        Raises `ReadTimeout` where no response came, `ReadError` where the connection broke, and
        `APIStatusError` where the response says that the request failed.
        """
        plain = {name: value for name, value in arguments.items() if name != KEY}
        request, begun = Request(tool, plain, arguments.get(KEY)), self._clock.time
        try:
            response = self._network.call(request)
        except BaseException:
            self.seen.append(Seen(request, begun, self._clock.time, None))
            raise
        self.seen.append(Seen(request, begun, self._clock.time, response))
        if not response.ok:
            raise APIStatusError(response)
        return response.body
