"""One world: services, network, client and the ledger of effects, on one virtual clock."""

from dataclasses import dataclass

from retry_guard_sandbox.services import SERVICES
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._fates import FateOf, Fates
from retry_guard_sandbox.world._faults import FAULTS, Hits, ReadHits
from retry_guard_sandbox.world._network import Network
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._variants import Variant, variant
from retry_guard_sandbox.world._wire import Wire


@dataclass(frozen=True, slots=True)
class World:
    """What an episode happens in. Nothing of it outlives the episode."""

    clock: VirtualClock
    streams: Streams
    effects: Effects
    network: Network
    wire: Wire
    variant: Variant


def build(
    service: str,
    contract: str,
    fault: str,
    streams: Streams,
    *,
    hits: Hits = "1",
    reads_hit: ReadHits = "0",
    stored_500: bool = False,
    fate_of: FateOf | None = None,
) -> World:
    """Build a world with one service. `hits`, `reads_hit`: which attempts the fault hits.

    `stored_500`: the service remembers the error that it answered under a key. `fate_of`: what
    becomes of each attempt, instead of the fault.
    """
    clock, effects = VirtualClock(), Effects()
    side = variant(contract, service, stored_500=stored_500)
    served = SERVICES[service](effects, streams, side.facts)
    fates = Fates(streams, FAULTS[fault], hits, reads_hit, served.bound)
    network = Network(served, side.tools, clock, fate_of or fates.of)
    return World(clock, streams, effects, network, Wire(network, clock), side)
