"""What no fact may make the decision table do, enumerated over the grid of facts."""

from dataclasses import replace
from itertools import chain, product

import pytest

from retry_guard_core import Now, Policy, Record, Terms, decide
from toy_facts import (
    BOUND,
    CLAIMED,
    END,
    FIRST,
    LAG,
    MOMENTS,
    POLICY,
    all_facts,
    all_terms,
    facts_at_boundaries,
    record,
)

EFFECTS = ("write", "idempotent")


def proof_of_absence(terms: Terms, known: Record) -> bool:
    decisive = END + terms.bound + terms.lag
    complete = terms.read_back and terms.conclusive
    looked = known.seen in ("absent", "some") and known.read_at is not None
    return looked and complete and known.read_at is not None and known.read_at >= decisive


def word_of_an_operator(terms: Terms, known: Record) -> bool:
    if known.answer is None or known.asked_at is None:
        return False
    return known.answer == "again" or known.asked_at >= END + terms.bound


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_new_key_is_sent_only_after_proof_of_absence_or_an_operators_answer(effect: str) -> None:
    for facts in all_facts(effect):
        verdict = decide(*facts, POLICY)
        if verdict.act == "send":
            terms, known, _ = facts
            assert proof_of_absence(terms, known) or word_of_an_operator(terms, known), facts


@pytest.mark.parametrize("effect", EFFECTS)
def test_the_same_key_is_sent_again_only_while_it_is_known_or_where_it_is_harmless(
    effect: str,
) -> None:
    for facts in chain(all_facts(effect), facts_at_boundaries(effect)):
        verdict, (terms, known, now) = decide(*facts, POLICY), facts
        if verdict.act != "reissue":
            continue
        assert known.seen is None or verdict.stop
        assert known.tries < POLICY.attempts
        if terms.effect != "idempotent":
            assert terms.keyed
            assert known.key is not None
            remembered = terms.retention or 300.0
            assert FIRST <= now.latest + max(verdict.wait, 0) <= FIRST + remembered


def test_a_look_that_was_early_or_shows_what_another_made_neither_sends_nor_settles() -> None:
    looks = [(seen, END + BOUND + LAG) for seen in ("foreign", "several", "unbelieved", "failed")]
    early = (-5.0, 0.0, LAG, BOUND - 0.5)
    looks += [(seen, END + d) for seen, d in product(("absent", "some"), early)]
    for effect, (seen, read_at), now in product(EFFECTS, looks, MOMENTS):
        for terms, key in all_terms(effect):
            known = record(key=key, seen=seen, read_at=read_at)
            verdict = decide(terms, known, now, POLICY)
            assert verdict.stop or verdict.act in ("read", "ask"), (terms, known, now)


def test_a_clock_that_was_moved_never_turns_waiting_or_asking_into_a_fresh_send() -> None:
    """The true time lies between the earliest and the latest that it can be."""
    for facts in facts_at_boundaries("write"):
        terms, known, now = facts
        verdict = decide(*facts, POLICY)
        if verdict.act == "send" or (verdict.act == "reissue" and proof_of_absence(terms, known)):
            continue
        for back, ahead in ((3_600, 0), (0, 3_600)):
            moved = Now(now.earliest - back, now.latest + ahead)
            assert decide(terms, known, moved, POLICY).act != "send", (facts, moved)


def test_a_clock_that_was_moved_never_makes_a_key_last_longer() -> None:
    for facts in facts_at_boundaries("write"):
        terms, known, now = facts
        if now.latest < FIRST or decide(*facts, POLICY).act == "reissue":
            continue
        for back, ahead in ((3_600, 0), (0, 3_600)):
            moved = Now(now.earliest - back, now.latest + ahead)
            assert decide(terms, known, moved, POLICY).act != "reissue", (facts, moved)


MISSED = ("absent", "some", "failed")


@pytest.mark.parametrize("effect", EFFECTS)
def test_a_last_look_is_taken_once_before_the_deadline_and_leads_to_no_send(effect: str) -> None:
    """Wherever it is due: reads take no time here, and fail, and still it is never due again."""
    count = 0
    for terms, known, now in facts_at_boundaries(effect):
        verdict = decide(terms, known, now, POLICY)
        if verdict.row != "last_look":
            continue
        count += 1
        due = Now(*(time + max(verdict.wait, 0) for time in now))
        assert max(verdict.wait, 0) == max(CLAIMED + POLICY.deadline - POLICY.poll - now.latest, 0)
        for seen in MISSED:
            looked = replace(known, seen=seen, read_at=due.earliest)
            after = decide(terms, looked, due, POLICY)
            assert after.row != "last_look", (terms, looked, due)
            assert after.stop or after.act != "reissue"
            assert after.act != "send" or proof_of_absence(terms, looked)
        ours = decide(terms, replace(known, seen="ours", read_at=due.earliest), due, POLICY)
        assert ours.row == "present"
    assert count > 1_000


@pytest.mark.parametrize("effect", EFFECTS)
def test_no_call_ends_with_a_read_back_untaken_that_fits_before_its_deadline(effect: str) -> None:
    ends = 0
    for terms, known, now in facts_at_boundaries(effect):
        verdict = decide(terms, known, now, POLICY)
        if terms.read_back and (verdict.stop or verdict.row == "too_late"):
            ends += 1
            assert known.read_at is not None
            assert known.read_at >= CLAIMED + POLICY.deadline - POLICY.poll
    assert ends > 100


def test_of_a_batch_of_which_some_is_there_only_what_is_missing_goes_out() -> None:
    """By an action of its own; nothing but an operator's `again` sends the whole once more."""
    for effect, now in product(EFFECTS, MOMENTS):
        for terms, key in all_terms(effect):
            for answer, tries in product((None, "did_not_happen"), (0, 1)):
                known = record(key=key, seen="split", answer=answer, asked_at=END, tries=tries)
                verdict = decide(terms, known, now, POLICY)
                assert (verdict.row, verdict.stop) == ("some", False), terms
            again = record(key=key, seen="split", answer="again", asked_at=END)
            verdict = decide(terms, again, now, POLICY)
            assert verdict.row == "cleared", terms


@pytest.mark.parametrize("ahead", [20.0, 3_600.0, 9e9])
def test_what_was_noted_in_the_future_is_no_proof_yet(ahead: float) -> None:
    """An operator or a look whose clock ran ahead: both count once that time has come."""
    terms = Terms(tool="t", read_back=True, conclusive=True, lag=LAG, bound=BOUND)
    now = Now(END + BOUND - 0.25, END + BOUND - 0.25)
    stamp = now.earliest + ahead
    asked = record(answer="did_not_happen", asked_at=stamp)
    looked = record(seen="absent", read_at=stamp)
    assert decide(terms, asked, now, POLICY).act == "read"
    assert decide(terms, looked, now, POLICY).act == "read"
    later = Now(stamp + BOUND + LAG, stamp + BOUND + LAG)
    assert decide(terms, asked, later, POLICY).row == "cleared"
    assert decide(terms, looked, later, POLICY).row == "absent"


def test_a_send_whose_end_is_unknown_counts_as_ended_with_its_lease() -> None:
    terms = Terms(tool="t", read_back=True, conclusive=True, lag=LAG, bound=BOUND)
    known = record(ended=None, lease=2_000.0, seen="absent", read_at=2_000.0 + BOUND + LAG - 0.5)
    now = Now(3_000.0, 3_000.0)
    assert decide(terms, known, now, POLICY).row == "too_early"
    on_time = replace(known, read_at=2_000.0 + BOUND + LAG)
    assert decide(terms, on_time, now, POLICY).row == "absent"


def test_time_zero_is_a_time_like_any_other() -> None:
    terms = Terms(tool="t", read_back=True, conclusive=True, lag=LAG, bound=BOUND)
    known = record(claimed=0.0, sends=(0.0,), ended=0.0, lease=30.0, seen="absent", read_at=0.0)
    assert decide(replace(terms, lag=0.0), known, Now(20.0, 20.0), POLICY).row == "too_early"
    unread = replace(known, seen=None, read_at=None)
    assert decide(terms, unread, Now(0.0, 0.0), POLICY) == ("unread", "read", LAG, False)


@pytest.mark.parametrize(
    ("tries", "pause"), [(0, 0.5), (1, 1.0), (2, 2.0), (6, 30.0), (2_000, 30.0)]
)
def test_the_pause_before_a_re_issue_doubles_up_to_its_limit(tries: int, pause: float) -> None:
    terms = Terms(tool="t", keyed=True, retention=86_400.0)
    verdict = decide(terms, record(key="k", tries=tries), Now(END, END), Policy(attempts=9_999))
    assert verdict == ("keyed", "reissue", pause, False)


@pytest.mark.parametrize("later", [3.0, 30.0, 299.0])
def test_a_key_of_unknown_retention_is_used_again_only_by_the_call_that_sent_it(
    later: float,
) -> None:
    terms, now = Terms(tool="t", keyed=True), Now(FIRST + later, FIRST + later)
    first = record(key="k", claimed=FIRST, ended=FIRST)
    assert decide(terms, first, now, POLICY).row == "keyed"
    second = replace(first, claimed=now.latest)
    assert decide(terms, second, now, POLICY).row == "nothing_can_tell"
