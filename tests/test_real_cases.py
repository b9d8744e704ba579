"""What people reported, made again with a real server: each test names its case."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import urllib3
from urllib3.util import Retry

from faulty import FaultyServer, faulty_server_in, until
from http_clients import SYNC, Reply, Request, with_httpx_async
from raw_servers import refused
from real_calls import (
    LIMIT,
    QUICK,
    Args,
    Caller,
    Way,
    async_guard,
    caller,
    contract,
    guard,
    headers_in,
)
from retry_guard import Contract, Done, Guard, NotExecuted, Outcome, Policy, Unresolved
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

CLIENT = SYNC["httpx"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server_in(tmp_path_factory.mktemp("server")) as running:
        yield running


def guarded(
    call: Caller,
    folder: Path,
    stated: Contract | None = None,
    policy: Policy = QUICK,
    turn: str = "t1",
    send: Any = None,  # noqa: ANN401 - a function
) -> Outcome:
    guarding = guard(call.server, folder, CLIENT, stated or contract(call.way), policy)
    send = send or call.send(CLIENT)
    return guarding.call("charge", call.arguments, send=send, scope="acme", turn=turn)


# --- late commits ---


@pytest.mark.parametrize("turn", ["t1", "t2"])
def test_a_late_commit_without_a_bound_is_never_sent_again(
    server: FaultyServer, turn: str, tmp_path: Path
) -> None:
    """B128: an empty read proves nothing while nobody knows how long a request can take."""
    call = caller(server, "read_back", "late_commit:4", limit=LIMIT)
    stated = contract("read_back", bound=None)
    first = guarded(call, tmp_path, stated, replace(QUICK, deadline=0.8))
    assert isinstance(first, Unresolved)
    assert call.effects() == 0
    until(call.effects)
    second = guarded(call, tmp_path, stated, turn=turn)
    assert isinstance(second, Done)
    assert (call.effects(), len(server.requests(call.reference))) == (1, 1)


def test_a_bound_that_is_stated_too_short_costs_a_second_effect(
    server: FaultyServer, tmp_path: Path
) -> None:
    """What a lying contract costs: the bound is the operator's word."""
    call = caller(server, "read_back", "late_commit:3", limit=LIMIT)
    outcome = guarded(call, tmp_path, contract("read_back", bound=0.05))
    assert isinstance(outcome, Done)
    until(lambda: call.effects() == 2)


# --- keys ---


def test_a_key_in_use_is_waited_for_and_never_replaced(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B80: the first request still runs, as 409 says; the same key goes out until it has ended."""
    call = caller(server, "key", "late_commit:2", limit=LIMIT)
    outcome = guarded(call, tmp_path, policy=replace(QUICK, attempts=2))
    assert isinstance(outcome, Done)
    assert call.effects() == 1
    assert len(server.requests(call.reference)) > 3


def test_a_conflict_about_the_content_is_not_a_key_in_use(tmp_path: Path) -> None:
    """B89: after an unknown it is evidence that something is there: without a read, escalate."""
    conflict = httpx.Response(409, json={"error": "duplicate content"})
    answers = iter([httpx.ReadTimeout("late"), conflict])

    def send(args: Args, extra: dict[str, str]) -> Reply:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    stated = Contract.model_validate({"tool": "charge", "key": {"param": "key", "retention": 60}})
    guarding = Guard(MemoryLedger(), [stated], classify=classify, policy=QUICK)
    outcome = guarding.call("charge", {"a": 1}, send=send, scope="acme", turn="t1")
    assert isinstance(outcome, Unresolved)


def test_a_stored_error_is_not_answered_with_a_new_key(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B75, B81: the provider replays its 500 for the key; the effect is there, once."""
    call = caller(server, "key", "error_stored")
    key = {"param": "header:Idempotency-Key", "retention": 86_400, "errors": "stored"}
    stated = Contract.model_validate({"tool": "charge", "key": key})
    outcome = guarded(call, tmp_path, stated, replace(QUICK, attempts=3))
    assert isinstance(outcome, Unresolved)
    assert (call.effects(), len(server.requests(call.reference))) == (1, 4)


def test_a_passing_error_is_answered_with_the_same_key(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B75: 503 before anything ran is no final result, and the same key goes out again."""
    call = caller(server, "key", "error_before", "error_before")
    keys: list[str] = []

    def send(args: Args, extra: dict[str, str]) -> Reply:
        keys.append(headers_in(extra)["Idempotency-Key"])
        return CLIENT(call.asked(args, extra))

    assert isinstance(guarded(call, tmp_path, send=send), Done)
    assert call.effects() == 1
    assert len(keys) == 3
    assert len(set(keys)) == 1


# --- proof ---


@pytest.mark.parametrize("way", ["key", "read_back", "neither"])
def test_what_provably_did_not_run_is_free_to_run(
    server: FaultyServer, way: Way, tmp_path: Path
) -> None:
    """B87: refused at the door the first time, done the second: one effect, not none."""
    call = caller(server, way)
    with refused() as address:
        away = replace(call, server=Away(f"http://{address}"), sent=[])  # type: ignore[arg-type]  # its url is all
        first = guarded(call, tmp_path, send=away.send(CLIENT))
    assert isinstance(first, NotExecuted)
    assert call.effects() == 0
    assert isinstance(guarded(call, tmp_path), Done)
    assert call.effects() == 1


class Away:
    """A server that is not there."""

    def __init__(self, url: str) -> None:
        self.url = url


@pytest.mark.parametrize("way", ["key", "read_back", "neither"])
def test_a_refusal_of_the_second_send_proves_nothing_of_the_first(
    server: FaultyServer, way: Way, tmp_path: Path
) -> None:
    """B41: the first was committed and its answer lost; then nobody listens any more."""
    call = caller(server, way, "lost_ack")
    sends = [0]

    def send(args: Args, extra: dict[str, str]) -> Reply:
        sends[0] += 1
        asked = call.asked(args, extra)
        if sends[0] == 1:
            return CLIENT(asked)
        with refused() as address:
            return CLIENT(replace(asked, url=f"http://{address}/"))

    outcome = guarded(call, tmp_path, send=send, policy=replace(QUICK, attempts=2))
    assert isinstance(outcome, Done if way == "read_back" else Unresolved)
    assert call.effects() == 1
    assert sends[0] == {"key": 3, "read_back": 1, "neither": 1}[way]


# --- more than one request in a send ---


@pytest.mark.parametrize("raises", [True, False])
def test_a_follow_up_read_that_fails_does_not_undo_the_write(
    server: FaultyServer, raises: bool, tmp_path: Path
) -> None:
    """B42: POST 201, then GET 429: without a guard the loop would create four."""
    call = caller(server, "neither")
    server.plan(f"GET {call.reference}", *["429"] * 9)

    def send(args: Args, extra: dict[str, str]) -> Reply:
        CLIENT(call.asked(args, extra)).raise_for_status()
        url = f"{server.url}/charges?reference={call.reference}"
        seen = CLIENT(Request("GET", url))
        return seen.raise_for_status() if raises else seen

    outcomes = [guarded(call, tmp_path, send=send) for _ in range(4)]
    assert all(isinstance(outcome, Unresolved) for outcome in outcomes)
    assert call.effects() == 1


def test_guarded_at_the_write_itself_the_result_is_kept(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B42: the read fails outside; attempts two to four get the first result."""
    call = caller(server, "neither")
    outcomes = [guarded(call, tmp_path) for _ in range(4)]
    assert [getattr(outcome, "replayed", None) for outcome in outcomes] == [False, True, True, True]
    assert call.effects() == 1


def retrying(call: Caller) -> Any:  # noqa: ANN401 - a function
    """Send with a client that tries three times by itself."""

    def send(args: Args, extra: dict[str, str]) -> Reply:
        retries = Retry(2, allowed_methods=None, backoff_factor=0)
        asked = call.asked(args, extra)
        with urllib3.PoolManager(retries=retries) as pool:
            return pool.request("POST", asked.url, json=args, headers=asked.headers)

    return send


@pytest.mark.parametrize(("way", "effects"), [("key", 1), ("neither", 2)])
def test_what_a_client_repeats_by_itself_only_a_key_can_stop(
    server: FaultyServer, way: Way, effects: int, tmp_path: Path
) -> None:
    """B90: one guarded send, several requests: the guard cannot see them, the server can."""
    call = caller(server, way, "lost_ack")
    assert isinstance(guarded(call, tmp_path, send=retrying(call)), Done)
    assert (call.effects(), len(server.requests(call.reference))) == (effects, 2)


@pytest.mark.parametrize("way", ["key", "neither"])
def test_a_client_that_gave_up_refused_has_proved_nothing(
    server: FaultyServer, way: Way, tmp_path: Path
) -> None:
    """B90: its last try was refused, its first was committed."""
    call = caller(server, way, "lost_ack", "lost_ack", "429")
    send = retrying(call)
    first = guarded(call, tmp_path, send=send, policy=replace(QUICK, attempts=0))
    assert isinstance(first, Unresolved)
    assert call.effects() == {"key": 1, "neither": 2}[way]


# --- interrupted: B30, B111, B113 ---


class StopNowError(BaseException):
    """What interrupts a call from outside."""


@pytest.mark.parametrize(
    "stop", [KeyboardInterrupt, SystemExit, StopNowError, asyncio.CancelledError]
)
@pytest.mark.parametrize("way", ["key", "read_back", "neither"])
def test_an_interrupt_after_the_send_is_unknown_and_goes_on_up(
    server: FaultyServer, way: Way, stop: type[BaseException], tmp_path: Path
) -> None:
    """B111, B113: the effect is there; the next equal call meets it."""
    call = caller(server, way)

    def send(args: Args, extra: dict[str, str]) -> Reply:
        CLIENT(call.asked(args, extra))
        raise stop

    with pytest.raises(stop):
        guarded(call, tmp_path, send=send)
    outcome = guarded(call, tmp_path)
    assert isinstance(outcome, Unresolved if way == "neither" else Done)
    assert call.effects() == 1


@pytest.mark.parametrize("way", ["key", "read_back", "neither"])
async def test_a_call_that_is_abandoned_while_the_server_works_is_unknown(
    server: FaultyServer, way: Way, tmp_path: Path
) -> None:
    """B30, B111: the caller has gone, nobody told the server, and the repeat is no second one."""
    call = caller(server, way, "late_commit:0.2")
    guarding = async_guard(server, tmp_path, with_httpx_async, contract(way, bound=3.0))
    send = call.send_async(with_httpx_async)
    task = asyncio.ensure_future(
        guarding.call("charge", call.arguments, send=send, scope="acme", turn="t1")
    )
    await asyncio.to_thread(until, lambda: server.requests(call.reference))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    outcome = await guarding.call("charge", call.arguments, send=send, scope="acme", turn="t1")
    assert isinstance(outcome, Unresolved if way == "neither" else Done)
    await asyncio.to_thread(until, call.effects)
    assert call.effects() == 1


async def test_a_call_that_is_cancelled_before_the_send_is_free_again(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B111: the claim is released at once, and the next call sends."""
    call = caller(server, "neither")
    guarding = async_guard(server, tmp_path, with_httpx_async, contract("neither"))
    send = call.send_async(with_httpx_async)
    sends = [0]

    async def counted(args: Args, extra: dict[str, str]) -> Reply:
        sends[0] += 1
        return await send(args, extra)

    task = asyncio.ensure_future(
        guarding.call("charge", call.arguments, send=counted, scope="acme", turn="t1")
    )
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (sends[0], call.effects()) == (0, 0)
    outcome = await guarding.call("charge", call.arguments, send=send, scope="acme", turn="t1")
    assert isinstance(outcome, Done)
    assert call.effects() == 1


def test_the_server_restarted_in_mid_call_does_not_double_it(
    server: FaultyServer, tmp_path: Path
) -> None:
    call = caller(server, "key", "crash", "crash")
    crashes = server.crashes
    outcome = guarded(call, tmp_path)
    assert isinstance(outcome, Done)
    assert call.effects() == 1
    until(lambda: server.crashes >= crashes + 2)


def test_an_exception_of_the_tool_after_the_effect_frees_nothing(
    server: FaultyServer, tmp_path: Path
) -> None:
    """B77: charged, then the receipt could not be mailed."""
    call = caller(server, "neither")

    def send(args: Args, extra: dict[str, str]) -> Reply:
        CLIENT(call.asked(args, extra))
        raise ValueError("the receipt could not be mailed")

    for _ in range(2):
        assert isinstance(guarded(call, tmp_path, send=send), Unresolved)
    assert call.effects() == 1
