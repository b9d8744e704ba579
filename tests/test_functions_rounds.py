"""The calls of a loop: what is left unresolved, what an error carries, what never begins."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapter_suite import CONTRACTS, World
from functions_tools import functions_of, toolbox_of
from guards import PLAIN, changed
from retry_guard import Answer, Contract, Done, NotExecuted, Unresolved
from retry_guard_functions import Called, Rounds, Toolbox, Wanted, calls_before, keeping, unsettled

PLACE: dict[str, Any] = {"scope": "acme", "turn": "m1"}
C1 = {"customer": "c1", "amount": 1}
Call = Callable[[Rounds, list[Wanted]], list[Called]]


def blocking(rounds: Rounds, message: list[Wanted]) -> list[Called]:
    return rounds.call(message)


def awaited(rounds: Rounds, message: list[Wanted]) -> list[Called]:
    return asyncio.run(rounds.call_awaited(message))


every_call = pytest.mark.parametrize("call", [blocking, awaited])


def wanted(number: int, arguments: Any, name: str = "charge") -> Wanted:
    return Wanted(call_id=f"c{number}", name=name, arguments=arguments)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


@every_call
def test_a_twin_that_is_done_settles_no_other_that_is_lost(call: Call, world: World) -> None:
    def charge(customer: str, amount: int) -> Any:
        return world.charge(customer, amount)

    world.fates.append("lost_ack")
    box = toolbox_of(world, [charge], contracts=[changed(PLAIN, twins="count")])
    calls = call(Rounds(box, **PLACE), [wanted(1, C1), wanted(2, {"amount": "1", **C1})])
    lost = [each.answer.unresolved for each in calls if each.answer.unresolved]
    assert [each.action for each in unsettled(calls)] == [each.action for each in lost]
    assert len(lost) == 1


@every_call
def test_a_call_that_is_settled_later_in_any_spelling_is_not_unresolved(
    call: Call, world: World
) -> None:
    def says(_: Unresolved) -> Answer | None:
        return None

    world.fates.append("lost_ack")
    rounds = Rounds(toolbox_of(world, ask=says), **PLACE)
    first = call(rounds, [wanted(1, C1)])
    assert len(unsettled(first)) == 1
    (record,) = world.ledger().list("acme")
    assert record.state == "open"
    ledger = world.ledger()
    action = unsettled(first)[0].action
    ledger.resolve("acme", action, "happened", now=ledger.now())
    second = call(rounds, [wanted(2, '{"amount": "1", "customer": "c1"}')])
    assert isinstance(second[0].answer.outcome, Done)
    assert unsettled([*first, *second]) == ()


@every_call
def test_an_error_carries_the_calls_that_were_made_before(call: Call, world: World) -> None:
    world.fates.append("lost_ack")
    rounds = Rounds(toolbox_of(world), **PLACE)

    def broken() -> None:
        with keeping(rounds):
            call(rounds, [wanted(1, C1)])
            raise RuntimeError("the model's API failed")

    with pytest.raises(RuntimeError) as raised:
        broken()
    (made,) = calls_before(raised.value)
    assert made.answer.unresolved is not None
    assert made.answer.unresolved.action in raised.value.__notes__[0]
    assert calls_before(RuntimeError()) == ()


async def test_a_call_that_is_cancelled_before_its_thread_begins_never_begins(
    world: World,
) -> None:
    """Cancelled while it waits for a thread: it did not run, does not, and says so."""
    busy, leave, ran = threading.Semaphore(0), threading.Event(), list[int]()

    def charge(customer: str, amount: int) -> Any:
        ran.append(amount)
        busy.release()
        leave.wait(20)
        return "paid"

    from concurrent.futures import ThreadPoolExecutor

    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(1))
    box = toolbox_of(world, [charge])
    first = asyncio.create_task(box.call_awaited("charge", C1, **PLACE))
    while not busy.acquire(blocking=False):  # noqa: ASYNC110 - another thread releases it
        await asyncio.sleep(0.005)
    waiting = asyncio.create_task(box.call_awaited("charge", {**C1, "amount": 2}, **PLACE))
    plain = asyncio.create_task(
        toolbox_of(world, [charge], contracts=[]).call_awaited("charge", C1, **PLACE)
    )
    while len(world.ledger().list("acme")) < 2:  # noqa: ASYNC110 - a ledger's thread writes it
        await asyncio.sleep(0.005)
    await asyncio.sleep(0.05)
    for each in (waiting, plain):
        each.cancel()
        with pytest.raises(asyncio.CancelledError):
            await each
    leave.set()
    await first
    assert ran == [1]
    states = {record.state for record in world.ledger().list("acme")}
    assert states == {"done", "not_executed"}
    again = await box.call_awaited("charge", {**C1, "amount": 2}, **PLACE)
    assert again.value == "paid"
    assert ran == [1, 2]


@every_call
def test_an_answer_whose_result_cannot_be_kept_is_told_as_one(call: Call, world: World) -> None:
    world.fates.append("lost_ack")

    def says(_: Unresolved) -> Answer:
        return Answer("happened", object())

    rounds = Rounds(toolbox_of(world, ask=says), **PLACE)
    told = [call(rounds, [wanted(n, C1)])[0].answer.text for n in (1, 2)]
    assert told == ["It happened, but its result could not be kept."] * 2


@every_call
@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_guard_that_only_looks_on_shows_the_key_that_a_tool_needs(
    mode: str, call: Call, world: World
) -> None:
    def charge(customer: str, amount: int, key: str) -> Any:
        return world.charge(customer, amount, key)

    contract = Contract(tool="charge", key={"param": "key"})
    box = toolbox_of(world, [charge], contracts=[contract], mode=mode)
    assert "key" in box.tools["charge"].parameters["required"]
    (made,) = call(Rounds(box, **PLACE), [wanted(1, {**C1, "key": "mine"})])
    assert made.answer.value == {"id": "ch_1"}


def test_a_refused_token_says_once_that_nothing_was_sent(world: World) -> None:
    from confirm_school import CONFIRM

    def charge(customer: str, amount: int, confirm_token: str = "") -> Any:
        return world.charge(customer, amount)

    def preview_charge(customer: str, amount: int) -> Any:
        return {"confirm_token": "t"}

    contract = changed(PLAIN, confirm={**CONFIRM, "preview": "preview_charge"})
    box = toolbox_of(world, [charge, preview_charge], contracts=[contract])
    answer = box.call("charge", {**C1, "confirm_token": "invented"}, **PLACE)
    assert answer.text.count("nothing was sent") == 1


def test_nothing_of_an_unguarded_call_names_an_action(world: World) -> None:
    box: Toolbox = toolbox_of(world, functions_of(world), contracts=[])
    assert box.action("charge", C1) is None
    assert toolbox_of(world).action("charge", "{broken") is None
    assert not isinstance(box.call("charge", C1, **PLACE).outcome, NotExecuted)
