"""What an adapter asks a person, and that an answer settles only what it was asked for."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

import pytest

from guards import ARGUMENTS, PLAIN, READABLE, Flaky, Lab, changed, every_guard
from retry_guard import (
    Answer,
    Contract,
    Guard,
    Question,
    Unresolved,
    UsageError,
    ordinal_of,
    question_of,
    settle,
    turn_here,
)
from retry_guard_core import Record
from retry_guard_ledgers import Ledger, about

Making = Callable[[Path], Lab]
Word = Literal["happened", "did_not_happen", "again", "abandon"]


def asked(lab: Lab, contract: Contract = PLAIN) -> Question:
    """The question about a call whose answer was lost."""
    lab.service.meet("lost_ack")
    question = question_of(lab.open(), "acme", lab.guard(contract).unresolved())
    assert question is not None
    return question


@every_guard
def test_a_question_tells_of_the_call_and_of_the_words_that_answer_it(
    make: Making, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    question = asked(lab, changed(PLAIN, secret=["customer"]))
    assert (question.tool, question.arguments["amount"]) == ("charge", 5)
    assert set(question.arguments["customer"]) == {"$sealed"}
    assert "not known whether `charge` took effect" in question.text
    assert question.answers == ("happened", "did_not_happen", "again", "abandon")


@every_guard
@pytest.mark.parametrize(
    ("word", "effects"), [("happened", 1), ("did_not_happen", 2), ("again", 2), ("abandon", 1)]
)
def test_an_answer_is_taken_once(make: Making, word: Word, effects: int, tmp_path: Path) -> None:
    lab = make(tmp_path)
    question = asked(lab)
    answer = Answer(word, {"id": "x"} if word == "happened" else None, final=True)
    assert settle(lab.open(), "acme", question.id, answer) is True
    for _ in range(3):
        lab.guard(PLAIN).call()
        assert settle(lab.open(), "acme", question.id, answer) is False
    assert len(lab.service.effects) == effects


@every_guard
def test_an_answer_to_a_send_says_nothing_of_the_next_one(make: Making, tmp_path: Path) -> None:
    lab = make(tmp_path)
    first = asked(lab)
    assert settle(lab.open(), "acme", first.id, Answer("again"))
    lab.service.meet("lost_ack")
    second = question_of(lab.open(), "acme", lab.guard(PLAIN).unresolved())
    assert second is not None
    assert (second.action, second.id == first.id) == (first.action, False)
    assert settle(lab.open(), "acme", first.id, Answer("again")) is False
    assert settle(lab.open(), "acme", second.id, Answer("happened")) is True
    assert len(lab.service.effects) == 2


class Together(Flaky):
    """A ledger in which so many have looked at a record before any of them goes on."""

    def __init__(self, ledger: Ledger, count: int) -> None:
        super().__init__(ledger)
        self._barrier = threading.Barrier(count)

    def get(self, scope: str, action: str) -> Record | None:
        found = self.ledger.get(scope, action)
        self._barrier.wait(60)
        return found


@every_guard
def test_an_answer_that_comes_twice_at_once_is_taken_once(make: Making, tmp_path: Path) -> None:
    """Also where the first has been carried out already: its record is done then."""
    lab = make(tmp_path)
    question, ledger, word = asked(lab), Together(lab.open(), 2), Answer("again")
    lab.clock.at += 1

    def late(*given: object, **named: object) -> object:
        """The second one stores its answer when the first one has been carried out."""
        with order:
            stored = lab.open().resolve(*given, **named)  # type: ignore[arg-type]
            lab.guard(PLAIN).done()
            return stored

    order, taken = threading.Lock(), list[bool]()
    ledger.resolve = late  # type: ignore[attr-defined]

    def answers() -> None:
        taken.append(settle(cast("Ledger", ledger), "acme", question.id, word))

    threads = [threading.Thread(target=answers) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False, True]
    lab.guard(PLAIN).done()
    assert len(lab.service.effects) == 2


@every_guard
def test_nobody_is_asked_where_only_time_is_missing_or_nothing_is_open(
    make: Making, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    lab.service.lag = 1e6
    waiting = lab.guard(changed(READABLE, in_flight_bound=1e5)).unresolved()
    assert waiting.not_before is not None
    assert question_of(lab.open(), "acme", waiting) is None
    for reason in ("still_running", "key_conflict", "ledger_unavailable"):
        assert question_of(lab.open(), "acme", Unresolved(waiting.action, reason)) is None
    assert question_of(lab.open(), "other", Unresolved(waiting.action, "unclear")) is None
    lab.guard(PLAIN).done({**ARGUMENTS, "amount": 6})
    (done,) = [about(record).id for record in lab.records() if record.state == "done"]
    assert question_of(lab.open(), "acme", Unresolved(done, "differs")) is None


def test_a_result_that_cannot_be_kept_is_no_answer(tmp_path: Path) -> None:
    lab = Lab("sync", "sqlite", tmp_path)
    question = asked(lab)
    with pytest.raises(UsageError, match="cannot be kept: give plain JSON data"):
        settle(lab.open(), "acme", question.id, Answer("happened", object()))
    assert lab.only().state == "open"


@pytest.mark.parametrize("question", ["", "x", "0" * 16, "0" * 16 + ".00000000"])
def test_a_question_that_nobody_asked_has_no_answer(question: str, tmp_path: Path) -> None:
    ledger = Lab("sync", "memory", tmp_path).open()
    assert settle(ledger, "acme", question, Answer("again")) is False


def test_ordinals_count_equal_calls_where_each_counts() -> None:
    counting = changed(PLAIN, twins="count")
    earlier = [{"amount": 5.0, "customer": "c1"}, {"customer": "c2", "amount": 5}, ARGUMENTS]
    assert ordinal_of(counting, ARGUMENTS, earlier) == 2
    assert ordinal_of(PLAIN, ARGUMENTS, earlier) == 0
    assert ordinal_of(counting, {"customer": float("nan")}, [{"customer": float("nan")}]) == 0


def test_the_turn_is_the_innermost_one() -> None:
    assert turn_here() is None
    with Guard.turn("acme", "t1"):
        with Guard.turn("other"):
            assert turn_here() == ("other", None)
        assert turn_here() == ("acme", "t1")
    assert turn_here() is None
