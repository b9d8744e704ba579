"""One world: services, network, client and the ledger of effects, on one virtual clock."""

from dataclasses import dataclass

from retry_guard_sandbox._clock import VirtualClock
from retry_guard_sandbox._effects import Effects
from retry_guard_sandbox._faults import FAULTS, Hits
from retry_guard_sandbox._network import Network
from retry_guard_sandbox._streams import Streams
from retry_guard_sandbox._variants import Variant, variant
from retry_guard_sandbox._wire import Wire
from retry_guard_sandbox.services import SERVICES


@dataclass(frozen=True, slots=True)
class World:
    """What an episode happens in. Nothing of it outlives the episode."""

    clock: VirtualClock
    streams: Streams
    effects: Effects
    network: Network
    wire: Wire
    variant: Variant


def build(service: str, contract: str, fault: str, hits: Hits, streams: Streams) -> World:
    """Build a world with one service."""
    clock, effects = VirtualClock(), Effects()
    served = SERVICES[service](effects, streams)
    services = {tool.name: served for tool in served.tools}
    network = Network(services, clock, streams, FAULTS[fault], hits)
    return World(clock, streams, effects, network, Wire(network, clock), variant(contract, service))
