"""What clients are told under faults that show the same: it has to be equal, byte for byte.

Equal up to the first later answer that may depend on what is hidden. So the client that is
followed here never sees one: it sends a write while the fault hits it, and else does only what
has nothing to do with that write. A look at the write is in it where the fault hits looks too.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.services import KEY, SERVICES, TOOLS
from retry_guard_sandbox.world._faults import (
    ATTEMPTS_HIT,
    FAULTS,
    Hits,
    ReadHits,
    Shows,
    applies,
)
from retry_guard_sandbox.world._variants import VARIANTS
from sandbox_clients import HOME, Client, Enter, Place, Told, arguments_of, look_at, twin_of

SENDS: dict[Hits, int] = {"1": 1, "2": 2, "all": 4}
READS: tuple[ReadHits, ...] = ("0", "all")


def groups() -> dict[Shows, list[str]]:
    """Return the faults by what they show."""
    found: dict[Shows, list[str]] = {}
    for fault in FAULTS.values():
        found.setdefault(fault.shows, []).append(fault.name)
    return found


def told_apart(enter: Enter, tool: str) -> Iterator[str]:
    """Yield where a client tells two faults apart that show the same.

    Each combination of what may make a difference has a seed of its own.
    """
    for seed, (contract, hits, reads_hit) in enumerate(product(VARIANTS, ATTEMPTS_HIT, READS)):
        key = None if contract == "native" else "k"
        for group in groups().values():
            faults = [fault for fault in group if applies(fault, [tool])]
            places = [
                Place(
                    tool=tool,
                    fault=fault,
                    hits=hits,
                    reads_hit=reads_hit,
                    contract=contract,
                    seed=seed,
                )
                for fault in faults
            ]
            told = {place.fault: transcript(enter(place), place, key) for place in places}
            for one, other in combinations(faults, 2):
                if told[one] != told[other]:
                    yield _difference(one, other, told[one], told[other], places[0])


def _difference(
    one: str, other: str, told: Sequence[Told], told_other: Sequence[Told], place: Place
) -> str:
    pairs = enumerate(zip(told, told_other, strict=True))
    line, (left, right) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
    return f"{one} and {other} in {place}, line {line}: {left} is not {right}"


def transcript(client: Client, place: Place, key: str | None) -> list[Told]:
    """Return all that the fixed client is told."""
    return [client.call(call) for call in _calls(client, place, key)]


def _calls(client: Client, place: Place, key: str | None) -> Iterator[ToolCall]:
    arguments, twin = arguments_of(place.tool), twin_of(place.tool)
    keyed = {} if key is None else {KEY: key}
    yield from _unrelated_reads(place.tool)
    shows = FAULTS[place.fault].shows
    for _ in range(1 if shows == "success" else SENDS[place.hits]):
        yield ToolCall(place.tool, arguments | keyed)
        client.sleep(0.5)
    look = look_at(place.tool, arguments)
    if look is not None and place.reads_hit == "all" and shows != "success":
        yield look
    client.sleep(17.0)
    yield from _unrelated_reads(place.tool)
    if twin is not None:
        yield ToolCall(place.tool, twin)
    client.sleep(60.0)
    yield from _unrelated_reads(place.tool)
    yield from _unrelated_writes(place.tool)
    client.sleep(100_000.0)
    yield ToolCall(place.tool, {"unknown": "argument"})


def _unrelated_writes(tool: str) -> Iterator[ToolCall]:
    """The other writes of the service that the same faults hit; each is hit in its turn."""
    is_batch = TOOLS[tool].batch is not None
    for other in SERVICES[HOME[tool]].tools:
        is_alike = other.effect != "read" and (other.batch is not None) == is_batch
        if is_alike and other.name != tool:
            yield ToolCall(other.name, arguments_of(other.name))


def _unrelated_reads(tool: str) -> Iterator[ToolCall]:
    """The reads of the service that show other writes."""
    mine = TOOLS[tool].look
    for other in SERVICES[HOME[tool]].tools:
        look = other.look
        if look is not None and other.name != tool and (mine is None or look.tool != mine.tool):
            call = look_at(other.name, arguments_of(other.name))
            if call is not None:
                yield call
