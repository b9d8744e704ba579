"""The rules of sending, held against every run of the engine that is told whatever could be."""

from functools import cache
from itertools import pairwise
from math import inf

import pytest

from retry_guard_core import End, Policy, Terms
from toy_hand import START, Hand, Trace, answers, call_of, traces

POLICY = Policy(attempts=1, fresh_sends=1)
TERMS = {
    "none": Terms(tool="t", bound=10.0),
    "key": Terms(tool="t", keyed=True, retention=900.0, bound=10.0),
    "stored_errors": Terms(tool="t", keyed=True, retention=900.0, bound=10.0, errors_stored=True),
    "read": Terms(tool="t", read_back=True, conclusive=True, bound=10.0, lag=2.0),
    "key_and_read": Terms(
        tool="t", keyed=True, retention=900.0, read_back=True, conclusive=True, bound=10.0
    ),
    "idempotent": Terms(tool="t", effect="idempotent"),
}
KEY, READ, NONE = TERMS["key"], TERMS["read"], TERMS["none"]
DEPTH = 10
every_kind = pytest.mark.parametrize("kind", TERMS)


@cache
def runs(kind: str) -> tuple[Trace, ...]:
    return tuple(traces(lambda: Hand(call_of(), TERMS[kind], POLICY), answers, DEPTH))


def sends(trace: Trace) -> list[int]:
    return [n for n, do in enumerate(trace.does()) if do == "send"]


@every_kind
def test_each_send_follows_at_once_a_claim_or_a_save_that_was_accepted(kind: str) -> None:
    seen = 0
    for trace in runs(kind):
        for n in sends(trace):
            step, (_, stored, accepted, _) = trace.told[n - 1]
            assert step.do in ("claim", "save")
            assert accepted
            assert trace.told[n].step.record == stored
            assert step.do == "claim" or step.hold
            seen += 1
    assert seen > 100


@every_kind
def test_each_send_but_the_first_follows_a_save_that_counts_it(kind: str) -> None:
    for trace in runs(kind):
        for n in sends(trace)[1:]:
            step = trace.told[n - 1].step
            assert step.do == "save"
            before = trace.told[sends(trace)[sends(trace).index(n) - 1]].step.record
            assert step.record.sends[-1] >= before.sends[-1]
            assert step.record.ended is None
            assert step.record.seen is None


@every_kind
def test_after_a_refused_save_the_engine_goes_back_to_the_claim_and_does_not_send(
    kind: str,
) -> None:
    refused = 0
    for trace in runs(kind):
        for this, following in pairwise(trace.told):
            if this.step.do == "save" and this.step.hold and not this.reply[2]:
                assert following.step.do == "claim"
                refused += 1
    assert refused > 0


@every_kind
def test_a_re_issue_sends_the_same_record_under_the_same_key(kind: str) -> None:
    for trace in runs(kind):
        for first, second in pairwise(trace.told[n].step.record for n in sends(trace)):
            if first.generation == second.generation:
                assert first.key == second.key
            else:
                assert first.key != second.key
            kept = ("tool", "turn", "content", "about")
            assert [getattr(first, f) for f in kept] == [getattr(second, f) for f in kept]


@every_kind
def test_a_new_generation_begins_only_after_absence_or_an_operators_answer(kind: str) -> None:
    for trace in runs(kind):
        for this, following in pairwise(trace.told):
            if not (following.step.do == "save" and following.step.hold):
                continue
            known, new = this.reply[1], following.step.record
            if new.generation == known.generation:
                continue
            asked = known.asked_at is not None and known.answer is not None
            absent = known.seen == "absent" and known.read_at is not None
            assert new.generation == known.generation + 1
            assert new.key is None
            assert new.fresh == known.fresh + (not asked)
            assert asked or absent
            if absent and not asked and known.read_at is not None and known.ended is not None:
                terms = TERMS[kind]
                assert known.read_at >= known.ended + terms.bound + terms.lag


@every_kind
def test_it_is_not_executed_only_if_no_send_of_it_may_have_run(kind: str) -> None:
    """Each earlier send was settled by proof of its own, by absence, or by an operator."""
    ended = 0
    for trace in runs(kind):
        if trace.end is None or trace.end.kind != "not_executed":
            continue
        ended += 1
        *earlier, last = sends(trace)
        proof = trace.told[last].reply[3]
        assert proof.kind == "not_executed"
        for n in earlier:
            same_key = trace.told[n].step.record.key == trace.told[last].step.record.key
            refused = TERMS[kind].errors_stored and proof.note == "rejected" and same_key
            settled = trace.told[n].reply[3].kind == "not_executed" or refused
            assert settled or ruled_out(trace, n), trace
    assert ended > 0


def ruled_out(trace: Trace, send: int) -> bool:
    """Whether a new generation began after that send, for another reason than `again`."""
    later = (told.reply[1] for told in trace.told[send:] if told.step.do in ("ask", "read"))
    return any(known.answer == "did_not_happen" or known.seen == "absent" for known in later)


@every_kind
def test_re_issues_and_fresh_sends_stay_within_the_policy(kind: str) -> None:
    for trace in runs(kind):
        records = [trace.told[n].step.record for n in sends(trace)]
        assert max((r.fresh for r in records), default=0) <= POLICY.fresh_sends
        assert max((r.tries for r in records), default=0) <= POLICY.attempts


@every_kind
def test_what_is_done_is_saved_as_done_and_told_with_its_value(kind: str) -> None:
    for trace in runs(kind):
        if trace.end is not None and trace.end.kind == "done":
            assert trace.end.value == "v"
            assert "v" in {told.reply[1].value for told in trace.told} | {
                told.reply[3].value for told in trace.told
            }


@every_kind
def test_an_operator_is_asked_once_unless_a_new_generation_began_or_a_note_fell_due(
    kind: str,
) -> None:
    for trace in runs(kind):
        asked = [told.step for told in trace.told if told.step.do == "ask"]
        for first, second in pairwise(asked):
            later = second.record.generation > first.record.generation
            claimed_again = "claim" in trace.does()[1:]
            assert later or claimed_again or second.detail == "noted"


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
    terms = TERMS["key_and_read"]
    hand = Hand(call_of(), terms).sent(end=End("unknown", note="exists"), key="k")
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
