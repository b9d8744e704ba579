"""Fates: what becomes of each request, as the fault and chance have it.

A fate is drawn by tool, logical action and attempt, never by counting requests: two arms that do
the same meet the same fate, however often either of them looks in between. The actions of a tool
are numbered as the client begins them, so all that a draw is keyed by is in the client's sight.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, assert_never

from retry_guard_sandbox.services import Tool
from retry_guard_sandbox.world._delays import again, late
from retry_guard_sandbox.world._faults import Fault, Hits, ReadHits, Shows, hits_attempt
from retry_guard_sandbox.world._streams import Streams


class Fate(NamedTuple):
    """What becomes of one request. Every duration is in seconds.

    `shows`: what the client is shown. `up`, `running`, `down`: how long a request travels, runs
    and is answered. `arrivals`: when copies of it arrive, counted from its send. `share`: how much
    of a batch is carried out.
    """

    shows: Shows
    up: float
    running: float
    down: float
    arrivals: tuple[float, ...]
    share: float = 1.0


FateOf = Callable[[Tool, int, int], Fate]
"""What becomes of an attempt: its tool, and the numbers of the action and the attempt, from 1."""


@dataclass(frozen=True, slots=True)
class Fates:
    """The fates of all requests of one client, with one fault on every logical action.

    `hits`, `reads_hit`: how many attempts at each write and at each read are hit. `bound`: the
    seconds after its send in which a request of a tool executes or never will; None: no limit.
    """

    streams: Streams
    fault: Fault
    hits: Hits
    reads_hit: ReadHits
    bound: Callable[[str], float | None]

    def of(self, tool: Tool, action: int, attempt: int) -> Fate:
        """Return the fate of an attempt at the tool's n-th logical action; both count from 1."""
        draw = self.streams.shares(4, "fate", tool.name, action, attempt)
        up, running, down = 0.02 + 0.18 * draw[0], 0.02 + 0.28 * draw[1], 0.02 + 0.18 * draw[2]
        is_read = tool.effect == "read"
        if not hits_attempt(self.reads_hit if is_read else self.hits, attempt):
            return Fate("success", up, running, down, (up,))
        if is_read and self.fault.shows != "success":
            return Fate(self.fault.shows, up, running, down, ())
        return self._hit(tool, Fate(self.fault.shows, up, running, down, (up,)), draw[3])

    def _hit(self, tool: Tool, fate: Fate, share: float) -> Fate:
        match self.fault.hidden:
            case "executed":
                return fate
            case "not_executed":
                return fate._replace(arrivals=())
            case "late":
                arrival = late(share, self.fault.delay, self.bound(tool.name))
                return fate._replace(arrivals=(arrival,))
            case "partial" if tool.batch is None:
                return fate._replace(shows="success")
            case "partial":
                return fate._replace(share=share)
            case "redelivered":
                return fate._replace(arrivals=(fate.up, again(share)))
            case _:
                assert_never(self.fault.hidden)
