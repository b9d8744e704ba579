"""One request under way, as the network keeps it."""

from dataclasses import dataclass, field

from retry_guard_sandbox.world._clock import Event
from retry_guard_sandbox.world._http import Request, Response


@dataclass(slots=True)
class Exchange:
    """One request under way: its durations in seconds, and the response once it is there."""

    request: Request
    action: str
    send: int
    begun: float
    up: float
    running: float
    down: float
    shown: Response | None = None
    answers: bool = True
    events: list[Event] = field(default_factory=list[Event])

    @property
    def normal(self) -> float:
        """Seconds from the send to a response where nothing goes wrong."""
        return self.up + self.running + self.down

    def show(self, response: Response) -> None:
        """Let the client have the response, if it has none yet."""
        self.shown = self.shown or response

    def is_over(self) -> bool:
        """Whether the client has a response."""
        return self.shown is not None
