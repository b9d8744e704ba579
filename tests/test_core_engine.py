"""The rules of sending, held against every run of the engine that is told whatever could be."""

from functools import cache
from itertools import pairwise

import pytest

from retry_guard_core import Policy, Terms
from toy_hand import Hand, Trace, answers, call_of, traces

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
            assert step.do in ("claim", "hold")
            assert accepted
            assert trace.told[n].step.record == stored
            seen += 1
    assert seen > 100


@every_kind
def test_each_send_but_the_first_follows_a_save_that_counts_it(kind: str) -> None:
    for trace in runs(kind):
        for n in sends(trace)[1:]:
            step = trace.told[n - 1].step
            assert step.do == "hold"
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
            if this.step.do == "hold" and not this.reply[2]:
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
            if following.step.do != "hold":
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
