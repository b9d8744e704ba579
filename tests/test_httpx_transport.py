"""The guarded transport on a real server in another process: its effects are in its file."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import httpx2
import pytest

import httpx_calls
from adapter_suite import Call, Cell, Told, World, every_cell
from faulty import FaultyServer, faulty_server_in, until
from guards import changed
from http_clients import TRUST, Reply
from httpx_calls import async_guard_in, guard_in, post, post_async, route
from httpx_sites import wrapped
from real_calls import LIMIT, PATHS, QUICK, WAYS, Caller, Way, caller
from retry_guard import Contract, Guard, UnresolvedError
from retry_guard_outcomes import classify
from test_real_http import FAULTS, settled
from test_real_kills import AFTER, BOUND, HELD

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
every_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
FEW = ("ok", "lost_ack", "429")
"""Faults for the second library: the other pairs of library and kind meet all of them."""
every_way = pytest.mark.parametrize("way", WAYS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server_in(tmp_path_factory.mktemp("server")) as running:
        yield running


def prepared(server: FaultyServer, way: Way, fault: str) -> Caller:
    return caller(server, way, fault, limit=LIMIT if FAULTS[fault].hangs else 10.0)


def in_words(answer: Reply, effects: int) -> str:
    """Say it as the tests of the core say it."""
    if isinstance(answer, UnresolvedError):
        return f"unresolved {effects}"
    return f"{'done' if answer.status_code < 400 else 'not_executed'} {effects}"


def url_of(call: Caller) -> str:
    return call.server.url + PATHS[call.way]


def check(call: Caller, fault: str, answer: Reply) -> None:
    assert in_words(answer, settled(call, fault)) == getattr(FAULTS[fault], call.way)
    if not isinstance(answer, UnresolvedError) and answer.status_code < 400:
        [effect] = call.server.effects(call.reference)
        assert answer.json() == effect["charge"]


@pytest.mark.parametrize("fault", ["lost_ack", "error_after", "timeout_after", "crash"])
@every_library
def test_without_the_transport_a_tool_that_tries_again_doubles_the_effect(
    server: FaultyServer, library: Reply, fault: str
) -> None:
    """The red control: the same clients, the same server."""
    call = prepared(server, "neither", fault)
    with library.Client(verify=TRUST, timeout=call.limit) as client:
        for _ in range(3):
            try:
                client.post(url_of(call), json=call.arguments).raise_for_status()
                break
            except library.HTTPError:
                client.timeout = 10.0
    assert call.effects() == FAULTS[fault].naive == 2


@pytest.mark.parametrize(
    ("library", "fault"), [(httpx, f) for f in FAULTS] + [(httpx2, f) for f in FEW]
)
@every_way
def test_each_fault_ends_as_it_does_with_the_guard_alone(
    server: FaultyServer, library: Reply, way: Way, fault: str, tmp_path: Path
) -> None:
    call = prepared(server, way, fault)
    guard = guard_in(tmp_path, route(server.url, way, FAULTS[fault].bound))
    try:
        answer = post(library, guard, url_of(call), call.arguments, call.limit)
    except UnresolvedError as error:
        answer = error
    check(call, fault, answer)
    if way == "neither":
        assert len(server.requests(call.reference)) == 1


@pytest.mark.parametrize(
    ("library", "fault"), [(httpx2, f) for f in FAULTS] + [(httpx, f) for f in FEW]
)
@every_way
async def test_each_fault_ends_so_for_coroutines(
    server: FaultyServer, library: Reply, way: Way, fault: str, tmp_path: Path
) -> None:
    call = prepared(server, way, fault)
    guard = async_guard_in(tmp_path, route(server.url, way, FAULTS[fault].bound))
    try:
        answer = await post_async(library, guard, url_of(call), call.arguments, call.limit)
    except UnresolvedError as error:
        answer = error
    check(call, fault, answer)


@pytest.mark.parametrize("point", HELD)
@every_way
def test_a_process_killed_in_mid_call_leaves_at_most_one_effect(
    server: FaultyServer, way: Way, point: str, tmp_path: Path
) -> None:
    """The next process makes the same request: it meets what the first one left."""
    server.hold()
    call = caller(server, way, HELD[point])
    command = [sys.executable, httpx_calls.__file__, str(tmp_path), server.url, way]
    with subprocess.Popen([*command, call.reference]) as process:
        until(lambda: server.requests(call.reference))
        if point == "after_effect":
            until(call.effects)
        process.kill()
    server.release()
    until(call.effects)
    time.sleep(0.4)
    guard = guard_in(tmp_path, route(server.url, way, BOUND), replace(QUICK, lease=30.0))
    try:
        answer = post(httpx, guard, url_of(call), call.arguments, 10.0)
    except UnresolvedError as error:
        answer = error
    assert in_words(answer, call.effects()) == AFTER[point][way]
    if way == "neither":
        assert len(server.requests(call.reference)) == 1


HOST = "https://api.example.com"


def as_route(stated: Contract) -> Contract:
    """Return a contract whose tool is a route, and whose arguments are in the body."""
    fields: dict[str, object] = {"tool": f"POST {HOST}/charges"}
    if stated.key is not None:
        fields["key"] = {**stated.key.model_dump(exclude_unset=True), "param": "body.key"}
    if stated.read_back is not None:
        match = {"customer": "body.customer", "amount": "body.amount"}
        shown = stated.read_back.model_dump(exclude_unset=True)
        fields["read_back"] = {**shown, "match": match}
    return changed(stated, **fields)


class TransportBench:
    """A tool that is a thin wrapper: each call is one request through a guarded transport."""

    def __init__(self, library: Reply) -> None:
        self.http = library

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger, stated = world.ledger(), as_route(world.contract)
        guard = Guard(ledger, [stated], classify=classify, read=world.read, policy=world.policy)
        transport = wrapped(self.http.MockTransport(self.served(world)), guard)
        try:
            client = self.http.Client(transport=transport, base_url=HOST)
            with client, guard.turn(world.scope, turn):
                return [self.told(client, call, stated.tool) for call in calls]
        finally:
            ledger.close()

    def served(self, world: World) -> Reply:
        library = self.http

        def handle(request: Reply) -> Reply:
            try:
                made = world.charge(**httpx.Response(200, content=request.content).json())
            except TimeoutError as error:
                raise library.ReadTimeout("no answer") from error
            except RuntimeError:
                return library.Response(500)
            return library.Response(201, json=made)

        return handle

    def told(self, client: Reply, call: Call, tool: str) -> Told:
        try:
            answer = client.post(f"/{call.tool}s", json=call.arguments)
        except UnresolvedError as error:
            return Told("unresolved", str(error).replace(tool, call.tool))
        return Told("done", answer.json())


@every_cell
@every_library
def test_the_transport_answers_as_the_core_does(cell: Cell, library: Reply, tmp_path: Path) -> None:
    cell.check(TransportBench(library), tmp_path)
