"""What a toolbox's tools return and raise, and how calls end early."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from adapter_suite import CONTRACTS, Killed, World
from functions_tools import UNKEPT, closed, coroutines_of, functions_of, toolbox_of
from guards import PLAIN, changed
from retry_guard import (
    Contract,
    Done,
    Guard,
    LedgerError,
    NotExecuted,
    Unresolved,
    UsageError,
    turn_here,
)
from retry_guard_functions import ToolAnswer, Toolbox
from retry_guard_ledgers import SQLiteLedger, about
from retry_guard_outcomes import classify

PLACE: dict[str, Any] = {"scope": "acme", "turn": "m1"}
C1 = {"customer": "c1", "amount": 1}
Caller = Callable[..., ToolAnswer]


def blocking(box: Toolbox, name: str, arguments: Any, **place: Any) -> ToolAnswer:
    return box.call(name, arguments, **{**PLACE, **place})


def awaited(box: Toolbox, name: str, arguments: Any, **place: Any) -> ToolAnswer:
    return asyncio.run(box.call_awaited(name, arguments, **{**PLACE, **place}))


every_call = pytest.mark.parametrize("call", [blocking, awaited])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


@dataclass
class Receipt:
    at: datetime
    total: Decimal


class Model(BaseModel):
    tags: set[str]


class Colour(StrEnum):
    RED = "red"


RESULTS: dict[str, tuple[Any, str]] = {
    "text": ("paid", "paid"),
    "empty": ("", ""),
    "none": (None, "null"),
    "number": (5, "5"),
    "object": ({"a": [1, 2.5, None, "é"]}, '{"a": [1, 2.5, null, "é"]}'),
    "pair": ((1, "a"), '[1, "a"]'),
    "enum": (Colour.RED, "red"),
    "set": ({"b", "a"}, '["a", "b"]'),
    "bytes": (b"raw", '"raw"'),
    "dataclass": (
        Receipt(datetime(2026, 1, 2, tzinfo=UTC), Decimal("1.50")),
        '{"at": "2026-01-02T00:00:00Z", "total": "1.50"}',
    ),
    "model": (Model(tags={"x"}), '{"tags": ["x"]}'),
}


@every_call
@pytest.mark.parametrize("kind", RESULTS)
def test_a_replay_reads_as_the_tools_own_answer(kind: str, call: Caller, world: World) -> None:
    value, text = RESULTS[kind]

    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        return value

    first, second = (call(toolbox_of(world, [charge]), "charge", C1) for _ in range(2))
    assert first.text == second.text == text
    assert first.value == value
    assert (first.is_error, second.is_error) == (False, False)
    assert [a.outcome.replayed for a in (first, second) if isinstance(a.outcome, Done)] == [0, 1]
    assert len(world.effects) == 1
    plain = call(toolbox_of(world, [charge], contracts=[]), "charge", C1)
    assert (plain.text, plain.outcome) == (text, None)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@every_call
@pytest.mark.parametrize("kind", UNKEPT)
def test_a_result_that_cannot_be_kept_reaches_its_caller_and_nothing_runs_twice(
    kind: str, call: Caller, world: World
) -> None:
    made = list[object]()

    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        made.append(UNKEPT[kind]())
        return made[-1]

    first, second = (call(toolbox_of(world, [charge]), "charge", C1) for _ in range(2))
    assert first.value is made[0]
    first.text.encode()
    (record,) = world.ledger().list("acme")
    assert (record.state, record.value) == ("done", None)
    assert (second.is_error, second.value) == (False, None)
    assert second.text == "It happened, but its result could not be kept."
    assert len(world.effects) == len(made) == 1
    if kind == "generator":
        assert next(cast("Iterator[int]", made[0])) == 1, "nobody has read it"
    closed(made)


@every_call
def test_a_result_whose_text_fails_reaches_its_caller(call: Caller, world: World) -> None:
    class Mute:
        def __str__(self) -> str:
            raise RuntimeError

    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        return Mute()

    assert "Mute object at" in call(toolbox_of(world, [charge]), "charge", C1).text
    assert len(world.effects) == 1


# What tools raise


@every_call
def test_what_a_tool_without_a_contract_raises_is_told_to_the_model(
    call: Caller, world: World
) -> None:
    world.fates.extend(["lost_ack", "error_after"])
    box = toolbox_of(world, contracts=[])
    assert call(box, "charge", C1) == ToolAnswer(
        text="charge failed: TimeoutError: no answer", is_error=True
    )
    assert "500" in call(box, "charge", C1).text
    assert world.requests == 2
    assert (
        call(box, "refund", C1).text == "there is no such tool; the tools are: charge, list_charges"
    )


@every_call
def test_what_ends_an_iterator_is_an_error_like_any_other(call: Caller, world: World) -> None:
    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        raise StopIteration

    assert "StopIteration" in call(toolbox_of(world, [charge], contracts=[]), "charge", C1).text
    assert call(toolbox_of(world, [charge]), "charge", C1).unresolved is not None
    assert len(world.effects) == 2


@every_call
def test_a_read_back_whose_result_is_the_text_of_json_is_read(call: Caller, tmp_path: Path) -> None:
    world = World(CONTRACTS["read-back"], tmp_path)

    def list_charges() -> str:
        return json.dumps(world.list_charges())

    world.fates.append("lost_ack")
    answer = call(toolbox_of(world, [functions_of(world)[0], list_charges]), "charge", C1)
    assert answer.value == {"id": "ch_1"}
    assert world.requests == 1


@every_call
def test_reads_and_tools_without_a_contract_run_each_time(call: Caller, world: World) -> None:
    box = toolbox_of(world, contracts=[Contract(tool="list_charges", effect="read")])
    for _ in range(2):
        call(box, "charge", C1)
    answers = [call(box, "list_charges", "") for _ in range(2)]
    assert [len(answer.value["charges"]) for answer in answers] == [2, 2]
    world.effects.append({})
    assert call(box, "list_charges", "").text.startswith("list_charges failed: KeyError")
    assert world.ledger().list("acme") == []


@every_call
def test_an_unresolved_call_reaches_model_and_application(call: Caller, world: World) -> None:
    world.fates.append("lost_ack")
    answer = call(toolbox_of(world), "charge", C1)
    assert answer.is_error
    assert isinstance(answer.unresolved, Unresolved)
    assert answer.text == answer.unresolved.text
    assert answer.unresolved.tool == "charge"


@every_call
def test_a_refused_connection_proves_that_nothing_ran(call: Caller, world: World) -> None:
    def charge(customer: str, amount: int) -> Any:
        world.requests += 1
        raise ConnectionRefusedError("nobody listens")

    answer = call(toolbox_of(world, [charge]), "charge", C1)
    assert isinstance(answer.outcome, NotExecuted)
    assert answer.text == "nothing was executed: ConnectionRefusedError"
    assert answer.is_error


async def test_a_call_that_joins_is_told_the_same_of_what_did_not_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim, claimed = SQLiteLedger.claim, list[str]()

    def counted(ledger: SQLiteLedger, *given: Any) -> Any:
        found = claim(ledger, *given)
        claimed.append(found.owner)
        return found

    monkeypatch.setattr(SQLiteLedger, "claim", counted)

    async def charge(customer: str, amount: int) -> Any:
        world.requests += 1
        while len(claimed) < 2:  # noqa: ASYNC110 - a ledger's thread appends to it
            await asyncio.sleep(0.005)
        raise ConnectionRefusedError("https://u:secret@host: please try again")

    box = toolbox_of(world, [charge])
    calls = [box.call_awaited("charge", C1, **PLACE) for _ in range(2)]
    texts = [answer.text for answer in await asyncio.gather(*calls)]
    assert texts == ["nothing was executed: ConnectionRefusedError"] * 2
    assert world.requests == 1


@every_call
def test_a_guard_inside_a_tool_speaks_through_it(call: Caller, world: World) -> None:
    guard = Guard(world.ledger(), [PLAIN], classify=classify, policy=world.policy)

    def charge(customer: str, amount: int) -> Any:
        scope, turn = turn_here() or ("", None)
        outcome = guard.call(
            "charge", C1, send=lambda a, _: world.charge(**a), scope=scope, turn=turn
        )
        return outcome.unwrap()

    world.fates.append("lost_ack")
    for _ in range(2):
        answer = call(toolbox_of(world, [charge], contracts=[]), "charge", C1)
        assert answer.unresolved is not None
        assert answer.text == answer.unresolved.text
    assert len(world.effects) == 1


@every_call
def test_a_ledger_that_fails_is_for_the_application_and_nothing_is_sent(
    call: Caller, world: World
) -> None:
    ledger = world.ledger()
    box = toolbox_of(world, ledger=ledger)
    ledger.close()
    with pytest.raises(LedgerError):
        call(box, "charge", C1)
    assert world.requests == 0


@every_call
@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_guard_that_only_looks_on_changes_nothing(mode: str, call: Caller, world: World) -> None:
    box = toolbox_of(world, mode=mode)
    assert [call(box, "charge", C1).value for _ in range(2)] == [{"id": "ch_1"}, {"id": "ch_2"}]
    world.fates.append("lost_ack")
    assert call(box, "charge", C1).text == "charge failed: TimeoutError: no answer"
    assert len(world.effects) == 3


# Whose call it is


@every_call
def test_scopes_share_no_record_and_call_ids_are_no_identity(call: Caller, world: World) -> None:
    box = toolbox_of(world)
    for scope, turn, name in (
        ("ann", "m1", "c1"),
        ("bob", "m1", "c1"),
        ("ann", "m1", "c2"),
        ("ann", "m2", "c1"),
    ):
        call(box, "charge", C1, scope=scope, turn=turn, call_id=name)
    assert len(world.effects) == 3
    records = world.ledger().list("ann")
    assert [(r.turn, about(r).call_ids) for r in records] == [("m1", ("c1",)), ("m2", ("c1",))]


@every_call
@pytest.mark.parametrize("guarded", [False, True])
def test_an_agent_inside_a_tool_acts_in_the_turn_of_the_root(
    guarded: bool, call: Caller, world: World
) -> None:
    inner = toolbox_of(world)

    def delegate(times: int) -> str:
        return inner.call("charge", C1, scope="acme", turn=f"inner-{times}").text

    contracts = [Contract(tool="delegate")] * guarded
    box = toolbox_of(world, [delegate], contracts=contracts)
    for times in (1, 2):
        call(box, "delegate", {"times": times}, turn="root")
    charges = [record for record in world.ledger().list("acme") if record.tool == "charge"]
    assert [record.turn for record in charges] == ["root"]
    assert len(world.effects) == 1


@every_call
def test_a_record_that_the_tool_no_longer_takes_is_never_sent(call: Caller, world: World) -> None:
    contract = changed(PLAIN, identity=["customer"], key={"param": "key", "retention": 3600})
    world.fates.append("crash_resume")

    def charge(customer: str, amount: str, key: str = "") -> Any:
        return world.charge(customer, 1, key)

    def newer(customer: str, amount: int, key: str = "") -> Any:
        return world.charge(customer, amount, key)

    newer.__name__ = "charge"
    with pytest.raises(Killed):
        call(toolbox_of(world, [charge], contracts=[contract]), "charge", {**C1, "amount": "one"})
    answer = call(toolbox_of(world, [newer], contracts=[contract]), "charge", C1)
    assert answer.unresolved is not None
    assert len(world.effects) == world.requests == 1
    ledger = world.ledger()
    (record,) = ledger.list("acme")
    ledger.resolve("acme", about(record).id, "did_not_happen", now=ledger.now(), final=True)
    answer = call(toolbox_of(world, [newer], contracts=[contract]), "charge", C1)
    assert isinstance(answer.outcome, NotExecuted), "an operator has ruled the first send out"
    assert "do not fit" in answer.text
    assert world.requests == 1


# Calls that end early


async def test_a_cancelled_call_lasts_as_long_as_its_thread(world: World) -> None:
    entered, leave = threading.Event(), threading.Event()

    def charge(customer: str, amount: int) -> Any:
        entered.set()
        leave.wait(20)
        return world.charge(customer, amount)

    work = asyncio.create_task(
        toolbox_of(world, [charge]).call_awaited("charge", C1, **PLACE, call_id="c1")
    )
    while not entered.is_set():  # noqa: ASYNC110 - another thread sets it
        await asyncio.sleep(0.005)
    for _ in range(2):
        work.cancel()
        await asyncio.sleep(0.02)
        assert not work.done()
    leave.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    (record,) = world.ledger().list("acme")
    assert (record.state, record.delivered) == ("done", False)
    later = await toolbox_of(world).call_awaited("charge", C1, scope="acme", turn="m2")
    assert later.value == {"id": "ch_1"}
    assert len(world.effects) == 1


async def test_a_time_limit_around_a_call_is_told_as_one(world: World) -> None:
    leave = threading.Event()

    def wait() -> str:
        leave.wait(20)
        return "late"

    box = toolbox_of(world, [wait], contracts=[])
    asyncio.get_running_loop().call_later(0.1, leave.set)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await box.call_awaited("wait", "", **PLACE)


async def test_a_cancelled_async_tool_is_unknown_and_never_runs_twice(world: World) -> None:
    entered = asyncio.Event()

    async def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        entered.set()
        await asyncio.sleep(60)

    work = asyncio.create_task(toolbox_of(world, [charge]).call_awaited("charge", C1, **PLACE))
    await entered.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    later = await toolbox_of(world).call_awaited("charge", C1, scope="acme", turn="m2")
    assert later.unresolved is not None
    assert len(world.effects) == 1


async def test_calls_that_block_run_together(world: World) -> None:
    both = threading.Barrier(2)

    def meet(n: int) -> int:
        both.wait(20)
        return n

    box = toolbox_of(world, [meet], contracts=[Contract(tool="meet")])
    work: list[Awaitable[ToolAnswer]] = [
        box.call_awaited("meet", {"n": n}, **PLACE) for n in (1, 2)
    ]
    assert [answer.value for answer in await asyncio.gather(*work)] == [1, 2]


async def test_what_a_thread_raised_is_judged_by_its_own_frames(world: World) -> None:
    import httpx

    def charge(customer: str, amount: int) -> Any:
        with httpx.Client() as client:
            return client.post("http://127.0.0.1:9/charges").raise_for_status()

    answer = await toolbox_of(world, [charge]).call_awaited("charge", C1, **PLACE)
    assert isinstance(answer.outcome, NotExecuted)


def test_an_async_tool_that_returns_late_is_refused_in_the_blocking_form(world: World) -> None:
    box = toolbox_of(world, [coroutines_of(world)[0], functions_of(world)[1]])
    with pytest.raises(UsageError):
        blocking(box, "charge", C1)
    assert blocking(box, "list_charges", "").value["charges"] == []
