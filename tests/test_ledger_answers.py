"""What an operator may answer, in every state: every sentence of `Ledger.resolve`."""

import threading
from dataclasses import replace
from itertools import product
from math import inf
from secrets import token_bytes
from typing import get_args

import pytest

from ledger_suite import at, began, each_ledger, name_of, new, settled, stored
from retry_guard_core import Now, Record
from retry_guard_ledgers import Answer, ChangedError, LedgerError, OpenedLedger, about

ledger = each_ledger

NOW = Now(500.0, 507.0)
STATES = ("open", "done", "not_executed", "abandoned")
ANSWERS: tuple[Answer, ...] = get_args(Answer)


def in_state(ledger: OpenedLedger, state: str, lease: float) -> Record:
    """A record in that state, held until then."""
    identity = token_bytes(8)
    record = replace(began(ledger, new(identity, key="k")), lease=lease, ended=110.0)
    assert ledger.save(record if state == "open" else settled(record, state, value=b"first"))
    return stored(ledger, record)


def expected(record: Record, answer: Answer, *, live: bool, final: bool) -> Record | None:
    """What the record is after that answer; None: it is refused. Written anew, by hand."""
    held = live and record.state == "open"
    if answer == "happened":
        after = replace(record, state="done", value=b"told", settled_at=NOW.latest)
        after = replace(after, answer=None, asked_at=NOW.earliest)
        return None if record.state == "done" else after
    if answer == "did_not_happen":
        noted = replace(record, answer=answer, asked_at=inf if final else NOW.earliest)
        return noted if record.state == "open" and not held else None
    if answer == "again":
        noted = replace(record, answer=answer, asked_at=NOW.earliest)
        return noted if record.state in ("open", "done") and not held else None
    given_up = replace(record, state="abandoned", settled_at=NOW.latest)
    return given_up if record.state == "open" and not held else None


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("state", STATES)
def test_every_answer_in_every_state(ledger: OpenedLedger, state: str, answer: Answer) -> None:
    for lease, final in product((499.9, 500.0, 503.0, 800.0), (False, True)):
        record = in_state(ledger, state, lease)
        action, live = about(record), lease >= NOW.earliest
        wanted = expected(record, answer, live=live, final=final)
        if wanted is None:
            with pytest.raises(LedgerError, match=action.id):
                ledger.resolve("acme", action.id, answer, now=NOW, value=b"told", final=final)
        else:
            got = ledger.resolve("acme", action.id, answer, now=NOW, value=b"told", final=final)
            assert got == wanted
        assert stored(ledger, record) == (wanted or record)


def test_a_record_that_is_held_says_how_long(ledger: OpenedLedger) -> None:
    record = in_state(ledger, "open", 512.0)
    with pytest.raises(LedgerError, match=r"held by a call that runs: wait .* in 12 s"):
        ledger.resolve("acme", about(record).id, "abandon", now=NOW)


def test_no_answer_crosses_a_scope(ledger: OpenedLedger) -> None:
    one = began(ledger, new(id="same", scope="one"))
    two = began(ledger, new(id="same", scope="two"))
    ledger.resolve("one", "same", "happened", now=NOW, value=b"told")
    assert stored(ledger, one).state == "done"
    assert stored(ledger, two) == two
    with pytest.raises(LedgerError, match="no action 'same' in scope 'three'"):
        ledger.resolve("three", "same", "happened", now=NOW)


def test_what_happened_is_given_to_the_next_caller_of_any_turn(ledger: OpenedLedger) -> None:
    record = in_state(ledger, "abandoned", 100.0)
    ledger.resolve("acme", about(record).id, "happened", now=NOW, value=b"told")
    got = ledger.claim(new(about(record).identity, turn="later"), None, at(600))
    assert (name_of(got), got.state, got.value) == (name_of(record), "done", b"told")


def test_a_holder_that_finds_its_action_answered_saves_nothing(ledger: OpenedLedger) -> None:
    record = began(ledger, new())
    ledger.resolve("acme", about(record).id, "happened", now=at(101), value=b"told")
    assert ledger.save(settled(record, value=b"own")) is False
    assert ledger.save(replace(record, tries=1)) is False
    assert stored(ledger, record).value == b"told"


def test_an_answer_survives_until_it_is_read_by_whoever_takes_over(ledger: OpenedLedger) -> None:
    record = in_state(ledger, "open", 100.0)
    ledger.resolve("acme", about(record).id, "did_not_happen", now=NOW)
    got = ledger.claim(new(about(record).identity, time=600.0), None, at(600))
    assert (got.answer, got.asked_at) == ("did_not_happen", NOW.earliest)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("before", [*ANSWERS, "sent", "ended", "taken over", "asked in vain"])
def test_an_answer_to_what_a_record_is_no_more_is_not_stored(
    ledger: OpenedLedger, before: str, answer: Answer
) -> None:
    seen = in_state(ledger, "open", 100.0)
    action, later = about(seen), at(600)
    words: dict[str, Answer] = {word: word for word in ANSWERS}
    first = words.get(before)
    if first is not None:
        ledger.resolve("acme", action.id, first, now=NOW, value=b"first")
    elif before == "taken over":
        ledger.claim(new(action.identity, time=500.0), None, at(500))
    elif before == "asked in vain":
        assert ledger.save(replace(seen, asked_at=300.0, ended=300.0))
    else:
        sent = replace(seen, sends=(*seen.sends, 300.0), lease=400.0)
        assert ledger.save(settled(sent) if before == "ended" else sent)
    kept = stored(ledger, seen)
    if before in ("taken over", "asked in vain"):  # that is no answer; the lease is out
        ledger.resolve("acme", action.id, answer, now=later, value=b"told", seen=seen)
        assert stored(ledger, seen) != kept
    else:
        with pytest.raises(ChangedError, match=f"{action.id} has changed since"):
            ledger.resolve("acme", action.id, answer, now=later, value=b"told", seen=seen)
        assert stored(ledger, seen) == kept


def test_an_answer_that_was_used_up_is_not_given_again_to_the_same_question(
    ledger: OpenedLedger,
) -> None:
    seen = in_state(ledger, "done", 100.0)
    action = about(seen)
    ledger.resolve("acme", action.id, "again", now=NOW, seen=seen)
    answered = stored(ledger, seen)
    ledger.claim(new(action.identity, turn="turn-2", time=500.0), answered, at(500))
    assert stored(ledger, seen).answer is None
    with pytest.raises(ChangedError, match=f"{action.id} has changed since"):
        ledger.resolve("acme", action.id, "again", now=at(600), seen=seen)
    assert stored(ledger, seen).answer is None


def test_of_equal_answers_given_at_once_one_is_stored(ledger: OpenedLedger) -> None:
    """A client that sends its answer again, or two persons who answer the same question."""
    for _ in range(10):
        seen, barrier = in_state(ledger, "open", 100.0), threading.Barrier(8)
        taken: list[bool] = []

        def answers(seen: Record, barrier: threading.Barrier, taken: list[bool]) -> None:
            barrier.wait()
            try:
                ledger.resolve("acme", about(seen).id, "again", now=NOW, seen=seen)
            except ChangedError:
                taken.append(False)
            else:
                taken.append(True)

        given = (seen, barrier, taken)
        threads = [threading.Thread(target=answers, args=given) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(taken) == [False] * 7 + [True]
