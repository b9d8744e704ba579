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
        time += hand.step.wait
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
            assert (hand.does, hand.step and hand.step.hold) == ("save", True)


def test_where_only_time_is_missing_the_answer_says_when_and_nobody_is_asked() -> None:
    slow = Terms(tool="t", read_back=True, conclusive=True, bound=500.0)
    hand = Hand(call_of(), slow).sent()
    hand.tell(START + 2, seen="absent", read_at=START + 1)
    assert hand.does == "save"
    end = hand.tell(START + 2).end
    assert end == End("unresolved", note="too_early", not_before=START + 1 + 500)


def test_a_note_is_asked_about_again_only_when_its_moment_has_come() -> None:
    hand = Hand(call_of(), NONE).sent()
    hand.tell(START + 2, answer="did_not_happen", asked_at=START + 2)
    assert hand.does == "wait"
    hand.tell(START + 11)
    assert (hand.does, hand.step and hand.step.detail) == ("ask", "noted")
    hand.tell(START + 12, answer="did_not_happen", asked_at=START + 12)
    assert (hand.does, hand.record.generation) == ("save", 1)


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
    assert (hand.does, hand.record.sends) == ("save", (START, START + 2))


def test_the_end_of_a_send_is_recorded_with_the_latest_time_that_it_can_be() -> None:
    """So that what is still in flight is never given less time than it may take."""
    hand = Hand(call_of(), READ).tell(START)
    hand.give((Now(START + 1, START + 4), hand.record, True, End("unknown")))
    assert (hand.does, hand.record.ended) == ("wait", START + 4)
