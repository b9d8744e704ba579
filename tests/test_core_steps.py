"""Single steps of the engine: what a send, a look or an operator's answer leads to."""

from math import inf

import pytest

from retry_guard_core import End, Now, Policy, Terms
from toy_hand import START, Hand, call_of

KEY = Terms(tool="t", keyed=True, retention=900.0, bound=10.0)
READ = Terms(tool="t", read_back=True, conclusive=True, bound=10.0, lag=2.0)
KEY_AND_READ = Terms(
    tool="t", keyed=True, retention=900.0, read_back=True, conclusive=True, bound=10.0
)
NONE = Terms(tool="t", bound=10.0)


def test_in_progress_costs_no_attempt_and_does_not_add_one() -> None:
    hand = Hand(call_of(), KEY, Policy(attempts=1))
    hand.sent(end=End("unknown", note="in_progress"), key="k")
    pending, time = 0, START + 1
    while hand.does == "wait" and pending < 5:
        assert hand.step is not None
        time += hand.step.detail
        hand.tell(time).tell(time)
        hand.tell(time, end=End("unknown", note="in_progress"))
        pending += 1
    assert pending == 5
    time += 1
    hand.tell(time).tell(time).tell(time)
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "nothing_can_tell")


def test_exists_leads_to_a_look_and_not_to_another_send() -> None:
    hand = Hand(call_of(), KEY_AND_READ).sent(end=End("unknown", note="exists"), key="k")
    assert hand.does == "read"
    hand.tell(START + 2, seen="ours", read_at=START + 1, value="v").tell(START + 2)
    assert hand.end == End("done", "v")


def test_exists_where_nothing_can_be_looked_at_is_put_to_an_operator() -> None:
    hand = Hand(call_of(), KEY).sent(end=End("unknown", note="exists"), key="k")
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "nothing_can_tell")


def test_a_key_that_the_first_send_finds_ignored_does_no_harm() -> None:
    hand = Hand(call_of(), KEY).sent(end=End("done", "v", "ignored"), key="k").tell(START + 1)
    assert hand.end == End("done", "v")


def test_a_key_that_a_re_issue_finds_ignored_may_have_made_a_duplicate() -> None:
    hand = Hand(call_of(), KEY).sent(key="k").tell(START + 2).tell(START + 2)
    hand.tell(START + 3, end=End("done", "v", "ignored"))
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "unclear")
    assert hand.record.state == "open"
    assert hand.tell(START + 4, ok=False, asked_at=START + 4).record.seen == "ignored"
    assert hand.tell(START + 4).end == End("unresolved", note="unclear")


@pytest.mark.parametrize("earlier", ["wait_and_read", "send", "ask"])
def test_what_lasts_beyond_the_deadline_throws_no_evidence_away(earlier: str) -> None:
    """A slow look, send or answer: what it brought is still used, and a person still asked."""
    late = START + 500
    match earlier:
        case "wait_and_read":
            hand = Hand(call_of(), READ).sent().tell(START + 3)
            hand.tell(late, seen="ours", read_at=START + 3, value="v").tell(late)
            assert hand.end == End("done", "v")
        case "send":
            hand = Hand(call_of(), NONE).sent(late)
            assert hand.does == "ask"
        case _:
            hand = Hand(call_of(), NONE).sent().tell(late, answer="again", asked_at=late)
            assert hand.does == "hold"


def test_where_only_time_is_missing_the_answer_says_when_and_nobody_is_asked() -> None:
    slow = Terms(tool="t", read_back=True, conclusive=True, bound=500.0)
    hand = Hand(call_of(), slow).sent()
    hand.tell(START + 2, seen="absent", read_at=START + 1)
    last = START + Policy().deadline - Policy().poll
    assert hand.does == "wait"
    assert hand.step is not None
    assert hand.step.detail == pytest.approx(last - (START + 2))
    assert hand.tell(last).does == "read"
    assert hand.tell(last, seen="absent", read_at=last).does == "save"
    end = hand.tell(last).end
    assert end == End("unresolved", note="too_early", not_before=START + 1 + 500)


LAST = START + Policy().deadline - Policy().poll


@pytest.mark.parametrize(
    ("terms", "row", "later"),
    [
        (Terms(tool="t", read_back=True, lag=90.0), "unread", START + 1 + 90),
        (Terms(tool="t", read_back=True, conclusive=True, bound=90.0), "too_early", START + 91),
        (Terms(tool="t", read_back=True, keyed=True, retention=9e9), "keyed", START + 1 + 70),
    ],
)
@pytest.mark.parametrize("seen", ["absent", "some", "failed"])
def test_a_last_look_that_shows_nothing_leaves_the_row_that_did_not_fit(
    terms: Terms, row: str, later: float, seen: str
) -> None:
    hand = Hand(call_of(), terms, Policy(backoff=70.0, backoff_limit=70.0)).sent(key="k")
    if row == "too_early":
        hand.tell(START + 1, seen="absent", read_at=START + 1)
    assert hand.tell(LAST).does == "read"
    assert hand.tell(LAST, seen=seen, read_at=LAST).does == (
        "ask" if was_asked(row, seen) else "save"
    )
    if not was_asked(row, seen):
        assert hand.tell(LAST).end == End("unresolved", note=row, not_before=later)


def was_asked(row: str, seen: str) -> bool:
    """A last look that fails where the one before it did not can tell nothing, ever."""
    return row == "too_early" and seen == "failed"


def test_a_last_look_adopts_what_it_shows_and_is_taken_even_by_a_call_that_is_late() -> None:
    slow = Terms(tool="t", read_back=True, lag=90.0)
    hand = Hand(call_of(), slow).sent().tell(LAST + 0.001)
    hand.tell(LAST + 1, seen="ours", read_at=LAST, value="v").tell(LAST + 1)
    assert hand.end == End("done", "v")
    late = Hand(call_of(), slow).sent(START + 500)
    assert late.does == "read"
    late.tell(START + 501, seen="absent", read_at=START + 500).tell(START + 501)
    assert late.end == End("unresolved", note="unread", not_before=START + 500 + 90)


SPLIT = Terms(tool="t", read_back=True, conclusive=True, bound=10.0, keyed=True, retention=9e9)


def parted() -> Hand:
    """A batch of which some is there when absence would be proven."""
    hand = Hand(call_of(), SPLIT, Policy(attempts=0)).sent(key="k")
    hand.tell(START + 1, seen="some", read_at=START + 1).tell(START + 11)
    return hand.tell(START + 11, seen="some", read_at=START + 11, value="what is missing")


def test_what_is_missing_of_a_batch_is_recorded_as_an_action_of_its_own_before_it_goes_out() -> (
    None
):
    hand = parted()
    assert (hand.does, hand.record.seen, hand.record.value) == ("hold", "split", "what is missing")
    assert (hand.record.key, hand.record.generation, hand.record.ended) == ("k", 0, START + 1)
    assert hand.tell(START + 12).does == "split"
    assert parted().tell(START + 12, ok=False).does == "claim"


@pytest.mark.parametrize(
    ("end", "note", "later"),
    [
        (End("unresolved", note="unread", not_before=START + 99), "unread", START + 99),
        (End("not_executed", "e"), "some", None),
    ],
)
def test_where_the_rest_is_not_done_the_batch_is_unresolved_and_is_never_sent_itself(
    end: End, note: str, later: float | None
) -> None:
    hand = parted().tell(START + 12).tell(START + 13, ok=False, end=end)
    assert (hand.does, hand.record.state, hand.record.seen) == ("save", "open", "split")
    assert hand.tell(START + 13).end == End("unresolved", note=note, not_before=later)
    taken = Hand(call_of(claimed=START + 50), SPLIT)
    taken.tell(START + 50, ended=START + 1, claimed=START + 50, key="k", seen="split")
    assert taken.does == "split"


def test_where_the_rest_is_done_the_batch_is_done() -> None:
    hand = parted().tell(START + 12).tell(START + 13, state="done", value="both")
    assert hand.tell(START + 13).end == End("done", "both")


def test_of_a_batch_whose_rest_may_not_be_sent_any_more_a_person_is_asked() -> None:
    hand = Hand(call_of(), SPLIT, Policy(attempts=0, fresh_sends=0)).sent(key="k").tell(START + 11)
    hand.tell(START + 12, seen="some", read_at=START + 11)
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "fresh_sends_spent")


def test_a_note_is_asked_about_again_only_when_its_moment_has_come() -> None:
    hand = Hand(call_of(), NONE).sent()
    hand.tell(START + 2, answer="did_not_happen", asked_at=START + 2)
    assert hand.does == "wait"
    hand.tell(START + 11)
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "noted")
    hand.tell(START + 12, answer="did_not_happen", asked_at=START + 12)
    assert (hand.does, hand.record.generation) == ("hold", 1)


def test_a_note_on_another_tools_record_is_not_asked_about_for_ever() -> None:
    hand = Hand(call_of(), NONE)
    hand.tell(START, tool="u", owner="A", ended=START, answer="did_not_happen", asked_at=inf)
    assert hand.does == "save"
    assert hand.tell(START + 1).end == End("unresolved", note="other_tool")


def test_an_operator_is_not_asked_twice_by_two_calls() -> None:
    hand = Hand(call_of(), NONE).tell(START, ended=START - 5, asked_at=START - 4)
    assert hand.does == "save"
    assert hand.tell(START).end == End("unresolved", note="nothing_can_tell")


def test_a_re_issue_is_recorded_with_the_earliest_time_that_it_can_be() -> None:
    """So that the time for which the server remembers the key is never taken as shorter."""
    hand = Hand(call_of(), KEY).sent(key="k")
    hand.give((Now(START + 2, START + 5), hand.record, True, End("unknown")))
    assert (hand.does, hand.record.sends) == ("hold", (START, START + 2))


def test_the_end_of_a_send_is_recorded_with_the_latest_time_that_it_can_be() -> None:
    """So that what is still in flight is never given less time than it may take."""
    hand = Hand(call_of(), READ).tell(START)
    hand.give((Now(START + 1, START + 4), hand.record, True, End("unknown")))
    assert (hand.does, hand.record.ended) == ("wait", START + 4)
