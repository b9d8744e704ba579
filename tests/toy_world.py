"""A server on a virtual clock: what each send really does, and what a look then shows."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from retry_guard_core import End, Now, Terms

Outcome = Literal["ok", "lost_ack", "lost_request", "refused", "late", "twice", "part"]

START = 1_000.0
SEND = 1.0  # how long a send takes, and a hand-over
LATE = 8.0  # how long after it began a late one runs
BOUND, LAG, RETENTION = 10.0, 2.0, 200.0

KEY = Terms(tool="t", keyed=True, retention=RETENTION, bound=BOUND)
READ = Terms(tool="t", read_back=True, lag=LAG, conclusive=True, bound=BOUND)
READ_UNBOUNDED = Terms(tool="t", read_back=True, lag=LAG, conclusive=True)
NONE = Terms(tool="t", bound=BOUND)


class Effect(NamedTuple):
    """Something that really happened. `send`: the number of the send that made it."""

    at: float
    value: str
    action: str
    send: int
    arguments: str


class Request(NamedTuple):
    """What is on its way to the server."""

    at: float
    action: str
    key: str | None
    send: int
    arguments: str


@dataclass
class World:
    """`script`: what becomes of each send, in order; after its end every send is `ok`.

    `batch`: each letter of the arguments is an item that commits by itself; a `part` is the first.
    """

    terms: Terms
    script: tuple[Outcome, ...] = ()
    exclusive: bool = True
    batch: bool = False
    now: float = START
    sends: int = 0
    effects: list[Effect] = field(default_factory=list[Effect])
    late: list[Request] = field(default_factory=list[Request])
    keys: dict[tuple[str, str], Effect] = field(default_factory=dict[tuple[str, str], Effect])

    def moment(self) -> Now:
        return Now(self.now, self.now)

    def copy(self) -> "World":
        """The same state, once more."""
        return replace(self, effects=[*self.effects], late=[*self.late], keys=dict(self.keys))

    def state(self) -> Hashable:
        """All that the future depends on."""
        return self.now, self.sends, *self.effects, *self.late, *self.keys.items()

    def pass_until(self, time: float) -> None:
        """Let time pass; late requests run when they are due."""
        while self.late and min(self.late).at <= time:
            request = min(self.late)
            self.late.remove(request)
            self.run(request)
        self.now = max(self.now, time)

    def run(self, request: Request) -> str:
        """Let a request arrive, and return its result."""
        items = request.arguments if self.batch else (request.arguments,)
        return "+".join(self.make(request._replace(arguments=item)).value for item in items)

    def make(self, request: Request) -> Effect:
        """Make one effect: a key that is still remembered makes no second one of an item."""
        known = None if request.key is None else self.keys.get((request.key, request.arguments))
        if known is not None and request.at - known.at <= RETENTION:
            return known
        value = f"effect {len(self.effects)}"
        effect = Effect(request.at, value, request.action, request.send, request.arguments)
        self.effects.append(effect)
        if request.key is not None and self.terms.keyed:
            self.keys[request.key, request.arguments] = effect
        return effect

    def foreign(self, at: float) -> None:
        """Let somebody else make an equal effect then."""
        self.late.append(Request(at, "foreign", None, 0, ""))

    def send(self, action: str, key: str | None, arguments: str) -> End:
        """Let a request leave now; return the answer that will come."""
        outcome = self.script[self.sends] if self.sends < len(self.script) else "ok"
        self.sends += 1
        request = Request(self.now, action, key, self.sends, arguments)
        match outcome:
            case "ok":
                return End("done", self.run(request))
            case "lost_ack":
                self.run(request)
            case "part":
                self.run(request._replace(arguments=arguments[:1]))
            case "twice":
                self.run(request)
                return End("done", self.run(request))
            case "late":
                self.late.append(request._replace(at=self.now + LATE))
            case "refused":
                return End("not_executed", f"refused {action}")
            case "lost_request":
                pass
        return End("unknown")

    def visible(self, since: float) -> list[Effect]:
        """What a look shows now of what was made since then."""
        return [e for e in self.effects if since <= e.at <= self.now - self.terms.lag]
