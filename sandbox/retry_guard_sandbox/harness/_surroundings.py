"""Harnesses in whose surroundings something else goes on."""

from retry_guard_sandbox.conditions import Asked
from retry_guard_sandbox.harness._process import Process
from retry_guard_sandbox.harness._stage import Stage, is_write
from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.world._http import Request
from retry_guard_sandbox.world._variants import Variant

OUTAGE = 3.0
"""Seconds, from the end of a first request, for which the services take no connections."""

AFTER = 1.0
"""Seconds after a call began at which somebody else's request is executed."""

__sends_once__ = True


def is_exclusive(variant: Variant, tool: str) -> bool:
    """Whether nobody else makes what this tool does, as its contract says or for want of a read."""
    read = variant.contracts[tool].read_back
    return read is None or read.exclusive


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


def another_writer(stage: Stage) -> None:
    """While the first request of each write is on its way, somebody else does the same.

    Only where the contract does not say that nobody else writes.
    """
    seen = set[str]()

    def deliver(stage: Stage, asked: Asked) -> str:
        world, call = stage.setting.world, asked.call
        plain = {name: value for name, value in call.arguments.items() if name != KEY}
        action = repr(plain)
        if is_write(asked) and action not in seen and not is_exclusive(world.variant, call.tool):
            seen.add(action)
            theirs = Request(call.tool, plain)
            world.clock.at(world.clock.time + AFTER, lambda: world.network.others(theirs))
        return stage.hand_over(asked)

    stage.talk(deliver=deliver)
