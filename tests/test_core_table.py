"""The decision table, enumerated over a grid of facts and held against a second description."""

import re
from dataclasses import replace
from itertools import chain
from math import inf

import pytest
from hypothesis import given, settings, strategies as st

from retry_guard_core import Now, Record, Terms, Verdict, decide
from toy_facts import (
    BOUND,
    END,
    LAG,
    POLICY,
    Facts,
    all_facts,
    facts_at_boundaries,
    record,
)
from toy_oracle import expected

EFFECTS = ("write", "idempotent")
ACTS = {"reissue", "send", "read", "adopt", "split", "ask"}
TABLE = re.compile(r"^\s*\| `(\w+)` \|(.*)\|(.*)\|$", re.MULTILINE)
ACT_IN_WORDS = {
    "re-issue": "reissue",
    "send": "send",
    "read back": "read",
    "done": "adopt",
    "split": "split",
    "escalate": "ask",
}


def documented() -> dict[str, str]:
    """The rows that the docstring of `decide` describes, with what they do."""
    assert decide.__doc__ is not None
    rows = TABLE.findall(re.sub(r"\\\n\s*", "", decide.__doc__))
    acts = {row: re.findall(r"\*\*(.+?)\*\*", does) for row, _, does in rows}
    return {row: ACT_IN_WORDS[" ".join(act[0].split())] for row, act in acts.items()}


def told(verdict: Verdict) -> tuple[str, str, float, bool]:
    return verdict.row, verdict.act, max(verdict.wait, 0), verdict.stop


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
    order: list[str] = []
    for change in ({}, {"tool": "t"}, {"answer": None}, {"key": None}, {"seen": "foreign"}):
        facts = replace(facts, **change)
        order.append(decide(terms, facts, now, POLICY).row)
    assert order == ["other_tool", "cleared", "keyed", "harmless", "unclear"]
    assert [row for row in rows if row in order] == order


def test_another_tools_record_is_escalated_whatever_else_is_known() -> None:
    for facts in chain(some_facts("write"), some_facts("idempotent")):
        verdict = decide(facts.terms, replace(facts.record, tool="u"), facts.now, POLICY)
        assert told(verdict) == ("other_tool", "ask", 0, facts.record.asked_at is not None), facts


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
    *("some", "split", "reported", "superseded", "something new"),
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
    assert verdict.wait <= 0 or verdict.act in ("reissue", "read", "ask")
