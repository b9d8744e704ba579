"""One world: services, network, client and the ledger of effects, on one virtual clock."""

from dataclasses import dataclass

from retry_guard_sandbox.services import SERVICES
from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._effects import Effects
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
) -> World:
    """Build a world with one service. `hits`, `reads_hit`: which attempts the fault hits."""
    clock, effects = VirtualClock(), Effects()
    served = SERVICES[service](effects, streams)
    services = {tool.name: served for tool in served.tools}
    network = Network(services, clock, streams, FAULTS[fault], hits, reads_hit)
    return World(clock, streams, effects, network, Wire(network, clock), variant(contract, service))
