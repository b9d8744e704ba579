"""What a process stands on, so that a harness can end it or hold it at any moment."""

from typing import Any, cast

from retry_guard import Policy
from retry_guard_core import Now, Record
from retry_guard_ledgers import Ledger
from retry_guard_sandbox.conditions import Asked
from retry_guard_sandbox.services import KEY, TOOLS
from retry_guard_sandbox.world._http import Json, Request
from retry_guard_sandbox.world._wire import Seen, Wire
from retry_guard_sandbox.world._world import World

LEASE = Policy().lease
"""Seconds for which nobody else may take up what a process has begun."""


class KilledError(BaseException):
    """The process is dead: whatever it still tries to do does not happen."""


class Process:
    """One process: its connections, with moments at which a harness may step in.

    Each hook is called for writes, and does nothing by default. `claimed`: the process is
    about to learn that a claim is recorded. `saving`: it is about to change a record.
    `delivering`: it is about to note that its caller has a result. `before`: a request is about
    to leave. `sent`: one has just left. `answered`: the client has its answer, or has given up.
    `looked`, for reads alone: it has what a read showed.
    """

    dead = False
    keeps_a_ledger = False

    def claimed(self) -> None:
        """Step in where a claim is held."""

    def saving(self) -> None:
        """Step in before a record is changed."""

    def delivering(self) -> None:
        """Step in before a result counts as handed over."""

    def before(self) -> None:
        """Step in before a request leaves."""

    def sent(self) -> None:
        """Step in while a request is on its way."""

    def answered(self) -> None:
        """Step in after a request."""

    def looked(self) -> None:
        """Step in after a read."""

    def die(self) -> None:
        """End it here and now. Raises `KilledError`, as does whatever it tries to do later."""
        self.dead = True
        raise KilledError

    def check(self) -> None:
        """Raise `KilledError` if it is dead."""
        if self.dead:
            raise KilledError

    def connect(self, ledger: Ledger) -> Ledger:
        """Return its connection to a ledger that outlives it."""
        self.keeps_a_ledger = True
        return cast("Ledger", _Connection(ledger, self))


def unknown(asked: Asked, now: float) -> Seen:
    """Return what others know of a call that a process has begun, until its lease is out."""
    plain = {name: value for name, value in asked.call.arguments.items() if name != KEY}
    return Seen(Request(asked.call.tool, plain), now, now + LEASE, None)


class _Connection:
    """A process's connection to a ledger: it ends with the process."""

    def __init__(self, ledger: Ledger, process: Process) -> None:
        self._ledger, self._process = ledger, process

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        self._process.check()
        known = self._ledger.claim(record, after, now)
        self._process.claimed()
        return known

    def save(self, *record: Any, **how: Any) -> Any:  # noqa: ANN401 - as the ledger takes it
        self._process.check()
        self._process.saving()
        return self._ledger.save(*record, **how)

    def deliver(self, *action: Any, **how: Any) -> Any:  # noqa: ANN401 - (the same)
        self._process.check()
        self._process.delivering()
        return self._ledger.deliver(*action, **how)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whichever verb it is
        self._process.check()
        return getattr(self._ledger, name)


class Line(Wire):
    """A process's connection to the services. What one process saw, the episode has seen."""

    def __init__(self, world: World, process: Process) -> None:
        """Connect the process."""
        super().__init__(world.network, world.clock)
        self.seen = world.wire.seen
        self._process = process

    def call(self, tool: str, arguments: Json) -> Json:
        """Call a tool as the plain client does."""
        process = self._process
        process.check()
        if TOOLS[tool].effect == "read":
            shown = super().call(tool, arguments)
            process.looked()
            return shown
        process.before()
        self._clock.at(self._clock.time, process.sent)
        try:
            return super().call(tool, arguments)
        finally:
            process.answered()
