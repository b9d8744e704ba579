"""The decision table, enumerated over a grid of facts and held against a second description."""

import re
from dataclasses import replace
from itertools import chain, product
from math import inf

import pytest
from hypothesis import given, settings, strategies as st

from retry_guard_core import Now, Policy, Record, Terms, Verdict, decide
from toy_facts import (
    BOUND,
    END,
    FIRST,
    LAG,
    MOMENTS,
    POLICY,
    Facts,
    all_facts,
    all_terms,
    facts_at_boundaries,
    record,
)
from toy_oracle import expected

EFFECTS = ("write", "idempotent")
ACTS = {"reissue", "send", "read", "adopt", "escalate"}
TABLE = re.compile(r"^\s*\| `(\w+)` \|(.*)\|(.*)\|$", re.MULTILINE)
ACT_IN_WORDS = {
    "re-issue": "reissue",
    "send": "send",
    "read back": "read",
    "done": "adopt",
    "escalate": "escalate",
}


def documented() -> dict[str, str]:
    """The rows that the docstring of `decide` describes, with what they do."""
    assert decide.__doc__ is not None
    rows = TABLE.findall(re.sub(r"\\\n\s*", "", decide.__doc__))
    acts = {row: re.findall(r"\*\*(.+?)\*\*", does) for row, _, does in rows}
    return {row: ACT_IN_WORDS[" ".join(act[0].split())] for row, act in acts.items()}


def told(verdict: Verdict) -> tuple[str, str, float]:
    return verdict.row, verdict.act, max(verdict.wait, 0)


@pytest.mark.parametrize("effect", EFFECTS)
def test_on_every_fact_the_table_says_what_its_description_says(effect: str) -> None:
    count = 0
    for facts in chain(all_facts(effect), facts_at_boundaries(effect)):
        verdict = decide(*facts, POLICY)
        assert told(verdict) == expected(*facts, POLICY), facts
        count += 1
    assert count > 100_000


def test_every_row_is_reached_and_every_row_that_is_reached_is_documented() -> None:
    facts = [*facts_at_boundaries("write"), *some_facts("write"), *some_facts("idempotent")]
    other = (Facts(f.terms, replace(f.record, tool="u"), f.now) for f in facts[::50])
    reached = {decide(*f, POLICY)[:2] for f in chain(facts, other)}
    assert reached == set(documented().items())


def some_facts(effect: str) -> list[Facts]:
    return [facts for n, facts in enumerate(all_facts(effect)) if n % 7 == 0]


def test_the_documented_rows_stand_in_the_order_in_which_they_win() -> None:
    """Where two rows could apply, the earlier one does: seen by taking its reason away."""
    rows = list(documented())
    assert rows.index("other_tool") < rows.index("cleared") < rows.index("keyed")
    terms = Terms(tool="t", effect="idempotent", keyed=True, retention=400.0, read_back=True)
    facts = record(key="k", tool="u", answer="again")
    now = Now(END, END)
    order = []
    for change in ({}, {"tool": "t"}, {"answer": None}, {"key": None}, {"seen": "foreign"}):
        facts = replace(facts, **change)
        order.append(decide(terms, facts, now, POLICY).row)
    assert order == ["other_tool", "cleared", "keyed", "harmless", "unclear"]
    assert [row for row in rows if row in order] == order


def test_another_tools_record_is_escalated_whatever_else_is_known() -> None:
    for facts in chain(some_facts("write"), some_facts("idempotent")):
        verdict = decide(facts.terms, replace(facts.record, tool="u"), facts.now, POLICY)
        assert told(verdict) == ("other_tool", "escalate", 0), facts


def test_an_equal_question_has_an_equal_answer_and_leaves_what_it_was_asked_about() -> None:
    for facts in some_facts("write"):
        before = repr(facts)
        assert decide(*facts, POLICY) == decide(*facts, POLICY)
        assert repr(facts) == before


times = st.floats(-1e12, 1e12) | st.sampled_from([0.0, END, END + BOUND])
spans = st.floats(0, 1e9) | st.sampled_from([0.0, LAG, BOUND])
counts = st.integers(0, 10_000)
SEEN = (
    *(None, "absent", "failed", "ours", "several", "foreign", "unbelieved", "ignored"),
    *("reported", "superseded", "something new"),
)


@settings(max_examples=500, deadline=None)
@given(
    terms=st.builds(
        Terms,
        tool=st.just("t"),
        effect=st.sampled_from(EFFECTS),
        keyed=st.booleans(),
        retention=st.none() | spans,
        read_back=st.booleans(),
        conclusive=st.booleans(),
        lag=spans,
        bound=spans | st.just(inf),
    ),
    known=st.builds(
        Record,
        tool=st.sampled_from(["t", "u"]),
        turn=st.none(),
        content=st.just(b""),
        key=st.none() | st.just("k"),
        fresh=counts,
        owner=st.just("A"),
        claimed=times,
        lease=times,
        sends=st.lists(times, min_size=1).map(tuple),
        tries=counts,
        ended=st.none() | times,
        seen=st.sampled_from(SEEN),
        read_at=st.none() | times,
        asked_at=st.none() | times | st.just(inf),
        answer=st.sampled_from([None, "did_not_happen", "again"]),
    ),
    earliest=times,
    apart=spans,
    attempts=counts,
)
def test_whatever_the_facts_there_is_one_documented_verdict_with_a_wait_that_is_a_number(
    terms: Terms, known: Record, earliest: float, apart: float, attempts: int
) -> None:
    policy = replace(POLICY, attempts=attempts)
    verdict = decide(terms, known, Now(earliest, earliest + apart), policy)
    assert documented()[verdict.row] == verdict.act
    assert -inf < verdict.wait < inf
    assert verdict.wait <= 0 or verdict.act in ("reissue", "read", "escalate")


def proof_of_absence(terms: Terms, known: Record) -> bool:
    decisive = END + terms.bound + terms.lag
    complete = terms.read_back and terms.conclusive
    looked = known.seen == "absent" and known.read_at is not None
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
        assert known.seen is None
        assert known.tries < POLICY.attempts
        if terms.effect != "idempotent":
            assert terms.keyed
            assert known.key is not None
            remembered = terms.retention or 300.0
            assert FIRST <= now.latest + max(verdict.wait, 0) <= FIRST + remembered


def test_a_look_that_was_early_or_shows_what_another_made_neither_sends_nor_settles() -> None:
    looks = [(seen, END + BOUND + LAG) for seen in ("foreign", "several", "unbelieved", "failed")]
    looks += [("absent", END + d) for d in (-5.0, 0.0, LAG, BOUND - 0.5)]
    for effect, (seen, read_at), now in product(EFFECTS, looks, MOMENTS):
        for terms, key in all_terms(effect):
            known = record(key=key, seen=seen, read_at=read_at)
            verdict = decide(terms, known, now, POLICY)
            assert verdict.act in ("read", "escalate"), (terms, known, now)


def test_a_clock_that_was_moved_never_turns_waiting_or_asking_into_a_fresh_send() -> None:
    """The true time lies between the earliest and the latest that it can be."""
    for facts in facts_at_boundaries("write"):
        terms, known, now = facts
        if decide(*facts, POLICY).act == "send":
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
    assert decide(terms, known, Now(100.0, 100.0), POLICY).row == "too_early"
    unread = replace(known, seen=None, read_at=None)
    assert decide(terms, unread, Now(0.0, 0.0), POLICY) == ("unread", "read", LAG)


@pytest.mark.parametrize(
    ("tries", "pause"), [(0, 0.5), (1, 1.0), (2, 2.0), (6, 30.0), (2_000, 30.0)]
)
def test_the_pause_before_a_re_issue_doubles_up_to_its_limit(tries: int, pause: float) -> None:
    terms = Terms(tool="t", keyed=True, retention=86_400.0)
    verdict = decide(terms, record(key="k", tries=tries), Now(END, END), Policy(attempts=9_999))
    assert verdict == ("keyed", "reissue", pause)
