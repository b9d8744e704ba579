"""Harnesses in whose surroundings something else goes on."""

from retry_guard_sandbox.harness._process import Process
from retry_guard_sandbox.harness._stage import Stage

OUTAGE = 3.0
"""Seconds, from the end of a first request, for which the services take no connections."""

__sends_once__ = True


class _Cut(Process):
    """A process whose way to the services is cut after each action's first request."""

    def __init__(self, stage: Stage) -> None:
        self._clock = stage.setting.world.clock
        self._until = 0.0
        self._had_first = False

    def before(self) -> None:
        """Refuse the connection, which proves that this request did not run."""
        if self._clock.time < self._until:
            raise ConnectionRefusedError(111, "connection refused")

    def answered(self) -> None:
        """Begin the outage, once."""
        if not self._had_first:
            self._had_first = True
            self._until = self._clock.time + OUTAGE


def outage(stage: Stage) -> None:
    """After the first write's first request, connections are refused for a while."""
    stage.start(_Cut(stage))
    stage.talk()
