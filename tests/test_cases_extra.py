"""Reported cases that no other test makes again whole: each test names its case."""

import asyncio
import sqlite3
import subprocess
import threading
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    LISTED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Lab,
    LabMaker,
    changed,
    every_guard,
)
from retry_guard import AsyncGuard, Contract, Done, Guard, Policy, Unknown, Unresolved
from retry_guard_contracts import ReadBack
from retry_guard_core import Record
from retry_guard_ledgers import MemoryLedger, SQLiteLedger
from retry_guard_outcomes import classify

HOUR = 3600.0
LONG = Policy(deadline=1000.0)


class PausedError(BaseException):
    """A harness stops the run until a person has answered."""


@every_guard
def test_a_run_that_pauses_twice_and_starts_from_its_top_replays_what_it_did(
    make: LabMaker, tmp_path: Path
) -> None:
    """B1, B4, B5: a sibling that was done, and the same answer given again."""
    lab = make(tmp_path)
    answers, replayed = list[str](), list[bool]()

    def node() -> object:
        first = lab.guard(PLAIN, ledger=lab.open()).done(call_id="c1")
        replayed.append(first.replayed)
        for number in range(2):
            if len(answers) <= number:
                raise PausedError
        return lab.guard(PLAIN, ledger=lab.open()).done({"text": answers[0]}, call_id="c2").value

    for _ in range(2):
        with pytest.raises(PausedError):
            node()
        answers.append("yes")
    assert node() == {"id": "ch_2"}
    assert node() == {"id": "ch_2"}
    assert replayed == [False, True, True, True]
    assert [effect.get("text") for effect in lab.service.effects] == [None, "yes"]


@every_guard
def test_a_body_that_is_tried_again_decides_for_each_of_its_writes(
    make: LabMaker, tmp_path: Path
) -> None:
    """B9: the charge is done, the note after it is never known to be."""
    lab = make(tmp_path)
    note = Contract(tool="notify")
    ends = list[tuple[bool, str]]()

    def body() -> None:
        paid = lab.guard(PLAIN).done()
        told = lab.guard(note).unresolved(tool="notify", send=unreachable)
        ends.append((paid.replayed, told.reason))

    def unreachable(arguments: Args, extra: Extra) -> None:
        lab.service.send(arguments, extra)
        raise ConnectionError("the line went dead")

    for _ in range(3):
        body()
    assert ends == [(number > 0, "nothing_can_tell") for number in range(3)]
    assert len(lab.service.effects) == 2


@every_guard
@pytest.mark.parametrize(
    ("contract", "requests", "reads"),
    [(KEYED, 6, 0), (READABLE, 1, 2), (PLAIN, 1, 0)],
    ids=["key", "read-back", "neither"],
)
def test_a_fresh_call_id_in_the_next_turn_makes_no_second_effect(
    make: LabMaker, contract: Contract, requests: int, reads: int, tmp_path: Path
) -> None:
    """B16: the plan was made anew; what recognises the action is what the contract names."""
    lab = make(tmp_path)
    lab.service.lag = 90.0 if contract is READABLE else 0.0
    lab.service.meet("lost_ack", times=5)
    late = changed(contract, read_back=LISTED.model_copy(update={"visibility_lag": 90.0}))
    lab.guard(late if contract is READABLE else contract).unresolved(call_id="c1")
    lab.clock.sleep(120)
    again = lab.guard(contract, ledger=lab.open()).call(turn="t2", call_id="c9")
    assert isinstance(again, Unresolved if contract is PLAIN else Done)
    if isinstance(again, Unresolved):
        assert again.reason == "nothing_can_tell"
    assert (len(lab.service.requests), lab.service.reads) == (requests, reads)
    assert len(lab.service.effects) == 1
    assert len(set(lab.service.keys)) == 1


@every_guard
def test_a_history_that_lost_the_call_is_not_the_guards_memory(
    make: LabMaker, tmp_path: Path
) -> None:
    """B17: done, then the session could not be written; the run starts again without it."""
    lab = make(tmp_path)
    history = list[object]()

    def run(*, breaks: bool) -> Done:
        outcome = lab.guard(PLAIN, ledger=lab.open()).done(call_id=f"call_{len(history)}")
        if breaks:
            raise OSError("the session store is away")
        history.append(outcome.value)
        return outcome

    with pytest.raises(OSError, match="session store"):
        run(breaks=True)
    assert history == []
    assert run(breaks=False).replayed
    assert len(lab.service.effects) == 1
    fresh = lab.guard(PLAIN).done(turn="t2")
    assert fresh.warning is not None, "a new message of the user may want it again, and is told"


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("turn", ["t1", "t2"])
async def test_what_ran_beside_a_guardrail_that_tripped_is_not_run_again(
    store: str, turn: str, tmp_path: Path
) -> None:
    """B18: the tool has acted, then its task is cancelled; a cleaned prompt asks for it again."""
    lab = Lab("async", store, tmp_path)
    guard = lab.guard(PLAIN).guard
    assert isinstance(guard, AsyncGuard)
    acted = asyncio.Event()

    async def send(arguments: Args, extra: Extra) -> object:
        result = lab.service.send(arguments, extra)
        acted.set()
        await asyncio.Event().wait()
        return result

    async def guardrail() -> None:
        await acted.wait()
        raise PermissionError("tripped")

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1"))
            tasks.create_task(guardrail())

    with pytest.raises(BaseExceptionGroup) as stopped:
        await run()
    assert [str(error) for error in stopped.value.exceptions] == ["tripped"]
    assert lab.only().state == "open"
    lab.clock.sleep(1)
    again = await guard.call("charge", ARGUMENTS, send=send, scope="acme", turn=turn)
    assert isinstance(again, Unresolved)
    assert again.reason == "nothing_can_tell"
    assert len(lab.service.effects) == 1


@every_guard
def test_a_key_of_a_call_in_flight_is_refused_for_other_arguments(
    make: LabMaker, tmp_path: Path
) -> None:
    """B65: who lost the race is compared like any other."""
    lab = make(tmp_path)
    losers = list[object]()

    def send(arguments: Args, extra: Extra) -> object:
        other = Guard(lab.open(), [KEYED], classify=classify, clock=lab.clock)
        given = {**ARGUMENTS, "amount": 99, "key": "K"}
        losers.append(other.call("charge", given, send=lab.service.send, scope="acme", turn="t1"))
        return lab.service.send(arguments, extra)

    assert lab.guard(KEYED).done({**ARGUMENTS, "key": "K"}, send=send).value == {"id": "ch_1"}
    (loser,) = losers
    assert isinstance(loser, Unresolved)
    assert loser.reason == "key_conflict"
    assert "amount" in loser.text
    assert [effect["amount"] for effect in lab.service.effects] == [5]


@every_guard
@pytest.mark.parametrize(("hours", "requests"), [(23, 6), (25, 5)])
def test_beyond_its_retention_a_key_gives_way_to_the_read_back(
    make: LabMaker, hours: int, requests: int, tmp_path: Path
) -> None:
    """B83: lost at 0; inside 24 h the key goes out again, after it only a read does."""
    lab = make(tmp_path)
    lab.service.lag = 90.0
    lab.service.meet("lost_ack", times=5)
    unseen = LISTED.model_copy(update={"visibility_lag": 90.0})
    both = changed(KEYED, read_back=unseen, in_flight_bound=20.0)
    lab.guard(both).unresolved()
    lab.clock.sleep(hours * HOUR)
    before = lab.service.reads
    outcome = lab.guard(both, ledger=lab.open()).done(turn="t2")
    assert outcome.value == {"id": "ch_1"}
    assert len(lab.service.requests) == requests
    assert (lab.service.reads > before) is (hours == 25)
    assert len(lab.service.effects) == 1


@every_guard
def test_a_text_that_is_composed_otherwise_meets_the_unresolved_one(
    make: LabMaker, tmp_path: Path
) -> None:
    """B96: nothing is stated of the field, and what goes out is what was given."""
    lab = make(tmp_path)
    title = {form: unicodedata.normalize(form, "Café") for form in ("NFC", "NFD")}
    lab.service.meet("lost_ack")
    first = lab.guard(PLAIN).unresolved({"title": title["NFD"]})
    second = lab.guard(PLAIN, ledger=lab.open()).unresolved({"title": title["NFC"]})
    assert second.action == first.action
    assert lab.service.requests == [{"title": title["NFD"]}]


@pytest.mark.parametrize("released", [True, False], ids=["in time", "too late"])
def test_a_completion_that_meets_a_lock_is_never_said_not_to_have_run(
    released: bool, tmp_path: Path
) -> None:
    """B107: it waits for the lock; where that lasts too long it tells so and stays unknown."""
    lab = Lab("sync", "sqlite", tmp_path)
    ledger = SQLiteLedger(lab.path, busy=30.0 if released else 0.01)
    other = sqlite3.connect(lab.path, isolation_level=None, check_same_thread=False)
    timer = threading.Timer(0.3, other.execute, ["ROLLBACK"])

    def send(arguments: Args, extra: Extra) -> object:
        other.execute("BEGIN IMMEDIATE")
        if released:
            timer.start()
        return lab.service.send(arguments, extra)

    outcome = lab.guard(PLAIN, ledger=ledger).done(send=send)
    assert outcome.value == {"id": "ch_1"}
    if released:
        timer.join()
        assert (outcome.warning, lab.only().state) == (None, "done")
    else:
        other.execute("ROLLBACK")
        assert outcome.warning is not None
        assert "could not take it" in outcome.warning
        assert lab.only().state == "open"
        lab.clock.sleep(60)
        assert lab.guard(PLAIN).unresolved().reason == "nothing_can_tell"
    other.close()
    assert len(lab.service.requests) == 1


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_coroutine_that_is_closed_in_mid_send_leaves_the_outcome_unknown(
    store: str, tmp_path: Path
) -> None:
    """B111: what is closed can write nothing any more, so its lease runs out first."""
    lab = Lab("async", store, tmp_path)
    guard = lab.guard(PLAIN, ledger=lab.ledger).guard
    assert isinstance(guard, AsyncGuard)
    under_way = asyncio.Event()

    async def send(arguments: Args, extra: Extra) -> None:
        lab.service.send(arguments, extra)
        under_way.set()
        await asyncio.Event().wait()

    work = guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")
    waiting = work.send(None)
    while not under_way.is_set():
        await asyncio.wait([waiting])
        waiting = work.send(None)
    work.close()
    assert lab.only().state == "open"
    reasons = list[str]()
    for policy in (Policy(deadline=1.0), LONG):
        again = lab.guard(PLAIN, policy=policy).guard
        assert isinstance(again, AsyncGuard)
        outcome = await again.call("charge", ARGUMENTS, send=send, scope="acme", turn="t2")
        assert isinstance(outcome, Unresolved)
        reasons.append(outcome.reason)
    assert reasons == ["still_running", "nothing_can_tell"]
    assert len(lab.service.effects) == 1


@pytest.mark.parametrize("known", [True, False], ids=["read-back", "neither"])
def test_a_command_that_died_after_its_write_is_not_run_again(known: bool, tmp_path: Path) -> None:
    """B121: a comment is posted by a command whose end nobody saw; the comments can be listed."""
    comments = tmp_path / "comments"
    seen = ReadBack(
        tool="list", items="comments", match={"body": "body"}, id="id", unique=True, permanent=True
    )

    def send(arguments: Args, extra: Extra) -> object:
        script = 'echo "$1" >> "$0"; kill -9 $$'
        command = ["sh", "-c", script, str(comments), arguments["body"]]
        return subprocess.run(command, check=False)

    def read(tool: str, arguments: Args) -> object:
        lines = comments.read_text(encoding="utf-8").splitlines()
        return {"comments": [{"id": n, "body": line} for n, line in enumerate(lines)]}

    contract = Contract(tool="comment", read_back=seen if known else None)
    guard = Guard(MemoryLedger(), [contract], classify=classify, read=read)
    outcomes = [
        guard.call("comment", {"body": "fixed"}, send=send, scope="acme", turn="t1")
        for _ in range(3)
    ]
    assert {type(outcome) for outcome in outcomes} == {Done if known else Unresolved}
    assert comments.read_text(encoding="utf-8") == "fixed\n"


@every_guard
def test_a_batch_that_was_partly_applied_is_not_sent_again_as_a_whole(
    make: LabMaker, tmp_path: Path
) -> None:
    """B130: nothing is stated of its items; what was not in the effects can be sent by itself."""
    lab = make(tmp_path)
    sent = list[str]()

    def send(arguments: Args, extra: Extra) -> object:
        for recipient in arguments["to"]:
            if recipient == "c" and len(arguments["to"]) > 1:
                return Unknown({"sent": ["a", "b"], "failed": ["c"]}, hint="partial")
            sent.append(recipient)
        return {"sent": arguments["to"]}

    guard, all_of_them = lab.guard(PLAIN), {"to": ["a", "b", "c"]}
    for turn in ("t1", "t1", "t2"):
        assert guard.unresolved(all_of_them, send=send, turn=turn).reason == "nothing_can_tell"
    assert sent == ["a", "b"]
    assert guard.done({"to": ["c"]}, send=send).value == {"sent": ["c"]}
    assert sent == ["a", "b", "c"]


@every_guard
def test_some_of_what_was_created_after_a_gateway_gave_up_escalates(
    make: LabMaker, tmp_path: Path
) -> None:
    """B137: 504 for three machines, two of them appear after a minute."""
    lab = make(tmp_path)
    made = {"customer": "c1", "amount": 5}

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.requests.append(arguments)
        created = lab.clock.at + 60
        lab.service.effects += [{**made, "id": n, "created": created} for n in ("m1", "m2")]
        return Unknown(RuntimeError("504 Gateway Time-out"))

    slow = changed(READABLE, in_flight_bound=90.0)
    outcome = lab.guard(slow, policy=LONG).unresolved(send=send)
    assert outcome.reason == "unclear"
    assert lab.guard(slow, policy=LONG).unresolved(turn="t2").reason == "unclear"
    assert len(lab.service.requests) == 1


def sends_of(record: Record) -> int:
    """How many attempts the record shows."""
    return len(record.sends)


@every_guard
def test_a_refund_that_is_asked_for_again_and_again_is_one_record(
    make: LabMaker, tmp_path: Path
) -> None:
    """B138: three calls whose answers are lost, then one that is answered."""
    lab = make(tmp_path)
    refund = changed(KEYED, tool="refund")
    given: dict[str, Any] = {"order": 1}
    lab.service.meet("lost_ack", times=3)
    once = Policy(attempts=0)
    lab.guard(refund, policy=once).unresolved(given, tool="refund")
    for turn in ("t1", "t2"):
        one_more = Policy(attempts=1)
        lab.guard(refund, policy=one_more).unresolved(given, tool="refund", turn=turn)
    outcome = lab.guard(refund).done(given, tool="refund", turn="t2")
    assert outcome.value == {"id": "ch_1"}
    assert (sends_of(lab.only()), len(lab.service.effects)) == (4, 1)
