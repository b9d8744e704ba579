"""Rule 15: an operator is asked once per record, and every answer is obeyed."""

from pathlib import Path
from typing import cast

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    LABS,
    LISTED,
    PLAIN,
    START,
    Lab,
    LabMaker,
    Operator,
    awaited,
    changed,
    every_guard,
)
from retry_guard import Answer, Contract, LedgerError, Policy, Unresolved, UsageError
from retry_guard._answers import What

BOUND = Contract(tool="charge", in_flight_bound=100.0)


@every_guard
def test_an_operator_is_asked_once_per_record(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    operator = Operator(None, Answer("again"))
    lab.service.meet("lost_ack", "lost_ack")
    guard = lab.guard(PLAIN, ask=operator)
    first = guard.unresolved()
    for turn in ("t1", "t2", None):
        assert guard.unresolved(turn=turn).action == first.action
    (question,) = operator.asked
    assert (question.action, question.reason, question.tool) == (
        first.action,
        "nothing_can_tell",
        "charge",
    )
    assert question.text == first.text
    guard.call({**ARGUMENTS, "amount": 6})
    assert len(operator.asked) == 2


@every_guard
def test_nobody_is_asked_where_only_time_is_missing(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    operator = Operator()
    lab.service.meet("lost", times=9)
    guard = lab.guard(KEYED, ask=operator, policy=Policy(deadline=1.0, backoff=5.0))
    assert guard.unresolved().not_before is not None
    assert operator.asked == []


@every_guard
def test_it_happened_with_the_result_that_the_operator_gives(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    guard = lab.guard(PLAIN, ask=Operator(Answer("happened", result={"id": "seen"})))
    outcome = guard.done()
    assert (outcome.value, outcome.warning) == ({"id": "seen"}, None)
    assert guard.done().value == {"id": "seen"}
    assert len(lab.service.requests) == 1


@every_guard
def test_what_an_operator_says_outweighs_the_answer_of_a_possible_duplicate(
    make: LabMaker, tmp_path: Path
) -> None:
    """A re-issue came back without the declared sign: its value is not the action's result."""
    lab = make(tmp_path)
    assert KEYED.key is not None
    key = KEYED.key.model_copy(update={"ack": "honoured"})
    lab.service.meet("lost_ack")
    guard = lab.guard(
        Contract(tool="charge", key=key), ask=Operator(Answer("happened", result="seen"))
    )
    assert guard.done().value == "seen"


@every_guard
@pytest.mark.parametrize("final", [False, True])
def test_it_did_not_happen_is_believed_once_nothing_is_in_flight(
    make: LabMaker, final: bool, tmp_path: Path
) -> None:
    """The note is kept, and the operator is asked again when its moment has come."""
    lab = make(tmp_path)
    lab.service.meet("lost")
    operator = Operator(Answer("did_not_happen", final=final), Answer("did_not_happen"))
    guard = lab.guard(BOUND, ask=operator)
    if final:
        assert guard.done().value == {"id": "ch_1"}
        assert lab.clock.at < START + 10
        return
    early = guard.unresolved()
    assert early.reason == "noted"
    assert early.not_before == pytest.approx(START + 101, abs=1)
    assert guard.unresolved().reason == "noted"
    assert (len(lab.service.requests), len(operator.asked)) == (1, 1)
    lab.clock.at = early.not_before or 0.0
    assert guard.done().value == {"id": "ch_1"}
    assert (len(lab.service.requests), len(operator.asked)) == (2, 2)


@every_guard
def test_a_note_that_is_not_repeated_when_its_moment_came_is_dropped(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost")
    operator = Operator(Answer("did_not_happen"), None, Answer("again"))
    guard = lab.guard(BOUND, ask=operator)
    early = guard.unresolved()
    lab.clock.at = early.not_before or 0.0
    assert guard.unresolved().reason == "noted"
    lab.clock.sleep(1000)
    assert guard.unresolved().reason == "nothing_can_tell"
    assert (len(lab.service.requests), len(operator.asked)) == (1, 2)


@every_guard
def test_again_is_one_deliberate_repeat_under_a_new_key(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", "lost_ack", "ok")
    operator = Operator(Answer("again"), Answer("again"))
    guard = lab.guard(KEYED, ask=operator, policy=Policy(attempts=0))
    outcome = guard.done()
    assert outcome.value == {"id": "ch_3"}
    assert len(set(lab.service.keys)) == 3
    assert guard.done().replayed


@every_guard
def test_after_again_a_refusal_does_not_say_that_nothing_ran(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", "refused")
    guard = lab.guard(PLAIN, ask=Operator(Answer("again")))
    assert guard.unresolved().reason == "nothing_can_tell"
    assert lab.only().state == "open"


@every_guard
def test_what_was_abandoned_stays_refused_in_its_turn_and_starts_anew_in_a_later_one(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    guard = lab.guard(PLAIN, ask=Operator(Answer("abandon")))
    assert guard.unresolved().reason == "abandoned"
    assert guard.unresolved().reason == "abandoned"
    later = guard.done(turn="t2")
    assert (later.value, later.replayed) == ({"id": "ch_2"}, False)
    assert later.warning is not None
    assert "given up" in later.warning
    assert len(lab.service.requests) == 2


@every_guard
@pytest.mark.parametrize("answer", ["happened", "did_not_happen", "again", "abandon"])
def test_an_answer_given_to_the_ledger_counts_as_one_given_to_ask(
    make: LabMaker, answer: What, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    operator = Operator()
    guard = lab.guard(BOUND, ask=operator)
    guard.unresolved()
    lab.clock.sleep(200)
    lab.resolve(answer)
    outcome = guard.call()
    kinds = {"happened": "Done", "did_not_happen": "Done", "again": "Done"}
    assert type(outcome).__name__ == kinds.get(answer, "Unresolved")
    assert len(lab.service.requests) == (2 if answer in ("did_not_happen", "again") else 1)
    assert len(operator.asked) == 1


class Approval(BaseException):
    """As a harness interrupts a run until somebody has answered."""


@every_guard
@pytest.mark.parametrize("error", [Approval(), KeyboardInterrupt()])
def test_an_interrupt_from_ask_goes_through_and_leaves_the_record_free(
    make: LabMaker, error: BaseException, tmp_path: Path
) -> None:
    """Rule 15: the harness's own interrupt, which is no `Exception`."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    operator = Operator(error, Answer("happened", result="seen"))
    guard = lab.guard(PLAIN, ask=operator)
    with pytest.raises(type(error)):
        guard.call()
    record = lab.only()
    assert (record.state, record.asked_at) == ("open", None)
    assert record.lease <= lab.clock.at
    assert guard.done().value == "seen"
    assert len(lab.service.requests) == 1


RUBBISH: list[object] = ["yes", True, {"what": "again"}, 7]


def unreached(caplog: pytest.LogCaptureFixture) -> str:
    """The one line that says that no operator was reached, with its traceback if it has one."""
    (line,) = [r for r in caplog.records if "no operator was reached" in r.getMessage()]
    assert (line.name, line.levelname) == ("retry_guard", "WARNING")
    return line.getMessage() + (f" {line.exc_info[1]!r}" if line.exc_info else "")


@every_guard
@pytest.mark.parametrize(
    "fault",
    [*RUBBISH, ConnectionRefusedError("chat is down"), UsageError("inner"), LedgerError("down")],
    ids=repr,
)
def test_an_ask_that_fails_or_answers_wrongly_has_reached_nobody(
    make: LabMaker, fault: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Something was sent: what `ask` raises would say `not executed` to whoever classifies it."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    operator = Operator(cast("Answer", fault), Answer("happened", result="seen"))
    guard = lab.guard(PLAIN, ask=operator)
    first = guard.unresolved()
    assert (first.reason, first.text) == ("nothing_can_tell", operator.asked[0].text)
    expected = repr(fault) if isinstance(fault, Exception) else "return an Answer, or None"
    assert expected in unreached(caplog)
    record = lab.only()
    assert (record.state, record.asked_at) == ("open", None)
    assert record.lease <= lab.clock.at
    assert guard.done().value == "seen"
    assert len(lab.service.requests) == 1


@every_guard
@pytest.mark.parametrize("fault", [ConnectionRefusedError("hunter2 refused"), "hunter2"], ids=repr)
def test_what_ask_says_when_it_fails_is_not_logged_where_fields_are_secret(
    make: LabMaker, fault: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    guard = lab.guard(changed(PLAIN, secret=["token"]), ask=Operator(cast("Answer", fault)))
    guard.unresolved({**ARGUMENTS, "token": "hunter2"})
    assert type(fault).__name__ in unreached(caplog)
    assert "hunter2" not in caplog.text


def test_an_ask_that_only_shows_itself_as_async_when_it_is_called_has_reached_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = Lab("sync", "memory", tmp_path)
    lab.service.meet("lost_ack")
    later = awaited(Operator(Answer("happened")))

    def ask(question: Unresolved) -> object:
        return later(question)

    assert lab.guard(PLAIN, ask=ask).unresolved().reason == "nothing_can_tell"
    assert "use AsyncGuard" in unreached(caplog)


@every_guard
def test_a_note_stays_though_the_ask_fails_when_its_moment_came(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost")
    operator = Operator(Answer("did_not_happen"), ValueError("down"), Answer("did_not_happen"))
    guard = lab.guard(BOUND, ask=operator)
    lab.clock.at = guard.unresolved().not_before or 0.0
    assert guard.unresolved().reason == "noted"
    assert lab.only().answer == "did_not_happen"
    assert guard.done().value == {"id": "ch_1"}


def test_an_answer_is_one_of_four() -> None:
    with pytest.raises(UsageError, match="happened, did_not_happen, again, abandon"):
        Answer("maybe")  # type: ignore[arg-type] # what it is about  # pyright: ignore[reportArgumentType]


@every_guard
def test_an_operator_who_clears_it_again_and_again_is_asked_no_more_past_the_deadline(
    make: LabMaker, tmp_path: Path
) -> None:
    """Else a call would go on for as long as answers are lost."""
    lab = make(tmp_path)
    lab.service.meet("lost", times=999)
    operator = Operator(*[Answer("did_not_happen", final=True)] * 999)
    guard = lab.guard(PLAIN, ask=operator)
    assert guard.unresolved().reason == "nothing_can_tell"
    first = len(operator.asked)
    assert (first - 1) * lab.service.timeout < Policy().deadline
    guard.unresolved()
    assert first < len(operator.asked) <= 2 * first + 1


@pytest.mark.parametrize("make", [LABS["sync-memory"], LABS["sync-sqlite"]])
def test_nobody_is_asked_about_what_another_has_taken_over(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost")
    operator, listed = Operator(Answer("abandon")), Contract(tool="charge", read_back=LISTED)
    rival, slept = lab.guard(listed, ask=operator), list[str]()

    def slow(tool: str, arguments: dict[str, object]) -> object:
        if not slept:
            slept.append(tool)
            lab.clock.sleep(2 * Policy().lease)
            assert rival.unresolved().reason == "abandoned"
        return lab.service.read(tool, arguments)

    assert lab.guard(listed, ask=operator, read=slow).unresolved().reason == "abandoned"
    assert len(operator.asked) == 1
