"""Real clients, a real server in another process, real faults: effects are counted in its file."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from faulty import FaultyServer, faulty_server_in, until
from http_clients import ASYNC, SYNC, AsyncClient, Client
from real_calls import (
    LIMIT,
    WAYS,
    Caller,
    Way,
    async_guard,
    caller,
    contract,
    guard,
)
from retry_guard import Done, NotExecuted, Outcome, Unresolved


class Fault(NamedTuple):
    """What each way of working makes of it. `naive`: effects of a loop of three tries."""

    naive: int
    key: str = "done 1"
    read_back: str = "done 1"
    neither: str = "unresolved 0"
    hangs: bool = False
    bound: float = 0.1


LATE = "late_commit:0.3"
FAULTS = {
    "ok": Fault(1, neither="done 1"),
    "lost_request": Fault(1, hangs=True, bound=0.6),
    "lost_ack": Fault(2, neither="unresolved 1"),
    "timeout_after": Fault(2, neither="unresolved 1", hangs=True, bound=3.0),
    "reset_before": Fault(1),
    "error_before": Fault(1),
    "error_after": Fault(2, neither="unresolved 1"),
    LATE: Fault(2, neither="unresolved 1", hangs=True, bound=3.0),
    # No client can undo that a request without a key was delivered twice.
    "redelivery": Fault(3, read_back="unresolved 2", neither="unresolved 2", hangs=True, bound=3.0),
    "crash": Fault(2, neither="unresolved 1"),
    "202": Fault(1, neither="unresolved 1"),
    "409_in_progress": Fault(1),
    "429": Fault(1, "not_executed 0", "not_executed 0", "not_executed 0"),
}
every_fault = pytest.mark.parametrize("fault", FAULTS)
every_way = pytest.mark.parametrize("way", WAYS)
every_client = pytest.mark.parametrize("client", SYNC.values(), ids=SYNC)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server_in(tmp_path_factory.mktemp("server")) as running:
        yield running


def prepared(server: FaultyServer, way: Way, fault: str) -> Caller:
    return caller(server, way, fault, limit=LIMIT if FAULTS[fault].hangs else 10.0)


def in_words(outcome: Outcome, effects: int) -> str:
    match outcome:
        case Done():
            return f"done {effects}"
        case NotExecuted():
            return f"not_executed {effects}"
        case Unresolved():
            return f"unresolved {effects}"


def settled(call: Caller, fault: str) -> int:
    """Count the effects once nothing can follow any more."""
    if fault == LATE:
        until(lambda: call.effects() > 0)
    return call.effects()


def three_tries(call: Caller, client: Client) -> None:
    """Do what most tools do today: try again whatever went wrong."""
    send = call.send(client)
    for _ in range(3):
        try:
            answer = send(call.arguments, {})
        except Exception:  # noqa: BLE001, S112 - whatever it is
            continue
        if getattr(answer, "status_code", getattr(answer, "status", 0)) < 400:
            return


@every_fault
@every_client
def test_without_a_guard_the_fault_doubles_the_effect(
    server: FaultyServer, client: Client, fault: str
) -> None:
    """The red control: if this were one, the fault would not be real."""
    call = prepared(server, "neither", fault)
    three_tries(call, client)
    expected = FAULTS[fault].naive
    until(lambda: call.effects() >= expected)
    assert call.effects() == expected
    assert server.requests(call.reference)


@every_fault
@every_way
@every_client
def test_with_a_guard_it_is_made_once_or_nobody_says_it_was(
    server: FaultyServer, client: Client, way: Way, fault: str, tmp_path: Path
) -> None:
    """B41, B80: the outcome is what the contract lets anybody know, and never a false `done`."""
    call = prepared(server, way, fault)
    guarding = guard(server, tmp_path, client, contract(way, FAULTS[fault].bound))
    outcome = guarding.call(
        "charge", call.arguments, send=call.send(client), scope="acme", turn="t1"
    )
    assert in_words(outcome, settled(call, fault)) == getattr(FAULTS[fault], way)
    if isinstance(outcome, Done):
        [effect] = server.effects(call.reference)
        assert outcome.value == effect["charge"]
    elif way == "neither":
        assert len(server.requests(call.reference)) == 1


@every_fault
@every_way
@pytest.mark.parametrize("client", ASYNC.values(), ids=ASYNC)
async def test_the_same_holds_for_coroutines(
    server: FaultyServer, client: AsyncClient, way: Way, fault: str, tmp_path: Path
) -> None:
    call = prepared(server, way, fault)
    guarding = async_guard(server, tmp_path, client, contract(way, FAULTS[fault].bound))
    outcome = await guarding.call(
        "charge", call.arguments, send=call.send_async(client), scope="acme", turn="t1"
    )
    assert in_words(outcome, settled(call, fault)) == getattr(FAULTS[fault], way)
    if isinstance(outcome, Done):
        [effect] = server.effects(call.reference)
        assert outcome.value == effect["charge"]
