"""The report: computed from rows alone, and it says what should stop a merge."""

import json
from dataclasses import replace
from itertools import chain
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st

from retry_guard_sandbox import (
    COLUMNS,
    Census,
    Frame,
    Grid,
    Row,
    RowError,
    Tally,
    junit,
    read_rows,
    report,
    run_all,
)
from retry_guard_sandbox.grading._tally import quantile, tally
from sandbox_rows import BROKEN, GOOD, MISSED, TWICE_RUN, TWICE_SENT, drawn, judged, off

TWICE_SILENT = replace(TWICE_RUN, fault="silent_redelivery", claimed="done")
BY_ITSELF = "one send itself ran twice: no client can prevent it"


@pytest.mark.parametrize(
    ("pair", "verdict"),
    [
        ((GOOD, GOOD), "pass"),
        ((TWICE_SENT, GOOD), "pass"),
        ((TWICE_RUN, TWICE_RUN), "pass"),
        ((MISSED, MISSED), "pass"),
        ((replace(TWICE_SENT, claimed="done"), GOOD), "pass"),
        ((TWICE_SENT, TWICE_SENT), "block"),
        ((GOOD, MISSED), "block"),
        ((MISSED, replace(MISSED, claimed="done")), "block"),
        ((TWICE_RUN, replace(TWICE_RUN, claimed="done")), "block"),
        ((TWICE_SILENT, TWICE_SILENT), "pass"),
        ((TWICE_SILENT, replace(TWICE_SILENT, executed_sends=2)), "block"),
        ((MISSED, replace(MISSED, fault="silent_redelivery", claimed="done")), "block"),
        ((GOOD, replace(GOOD, outcome="divergent")), "block"),
        ((MISSED, BROKEN), "inconclusive"),
        ((BROKEN, MISSED), "inconclusive"),
    ],
    ids=[
        "both exactly once",
        "a duplicate that the guard prevents",
        "one send ran twice in both",
        "never done in both",
        "only the arm without the guard claims what is not so",
        "the guard sent twice",
        "the guard harmed",
        "claimed, and it was not done",
        "claimed, and it was there twice",
        "claimed, and a send ran twice behind a success",
        "claimed, and the guard sent twice behind a success",
        "claimed behind a success, and it was not done",
        "done with other content",
        "an error with the guard",
        "an error without it",
    ],
)
def test_the_verdict(pair: tuple[Row, Row], verdict: str) -> None:
    result = judged(pair)
    assert result.verdict == verdict
    assert result.exit_code == {"pass": 0, "block": 1, "inconclusive": 3}[verdict]
    assert bool(result.findings) == (verdict != "pass")


@pytest.mark.parametrize("condition", ["guard", "no_guard"])
def test_one_arm_alone_proves_nothing(condition: str) -> None:
    assert report([replace(GOOD, condition=condition)]).verdict == "inconclusive"


def test_no_rows_prove_nothing() -> None:
    assert report([]).verdict == "inconclusive"


def test_what_blocks_counts_for_more_than_what_is_inconclusive() -> None:
    assert judged((GOOD, MISSED), (BROKEN, BROKEN)).verdict == "block"


def test_a_draw_that_one_arm_lacks_is_inconclusive() -> None:
    rows = list(drawn((GOOD, GOOD), (GOOD, GOOD)))
    assert report(rows[:-1]).findings == ("1 draws that one of the arms lacks",)


def test_an_agent_that_is_left_out_of_an_arm_is_not_counted_in_the_other() -> None:
    result = report([*drawn((GOOD, GOOD)), off(replace(MISSED, agent="give_up"))])
    (line,) = result.lines
    assert (line.off, result.verdict) == (line.on, "pass")


def test_harm_is_found_draw_by_draw_and_named_by_cell() -> None:
    result = judged((GOOD, MISSED), (MISSED, GOOD), (GOOD, GOOD))
    cell = "native lost_ack (hits 1) open_ticket[0] create_ticket retry"
    assert result.harmed == (f"{cell}: 1 of 3 draws",)
    (line,) = result.lines
    assert (len(line.changes.helped), len(line.changes.harmed)) == (1, 1)


def test_what_is_unusual_about_a_cell_is_in_its_name() -> None:
    unusual = {"reads_hit": "2", "harness": "crash_resume", "operator": "silent"}
    row = replace(GOOD, stored_500=True, **unusual)  # type: ignore[arg-type] # names of text fields
    (cell,) = Census.of([row]).cells
    assert cell.name == (
        "native lost_ack (hits 1, reads 2, crash_resume, operator silent, errors stored) "
        "open_ticket[0] create_ticket retry"
    )


def test_an_effect_that_nobody_asked_for_is_harm_and_its_absence_is_not() -> None:
    stray = replace(GOOD, write=-1, intended=0, outcome="divergent", claimed="done")
    result = report([off(GOOD), GOOD, stray])
    assert [text.rpartition(" retry")[0] for text in result.harmed] == [
        "native lost_ack (hits 1) open_ticket[-1] create_ticket"
    ]
    assert report([off(GOOD), GOOD, off(stray)]).verdict == "pass"


def test_remaining_duplicates_are_named_with_their_reason() -> None:
    result = judged((TWICE_RUN, TWICE_RUN), (TWICE_SENT, TWICE_SENT))
    assert result.remaining == (
        f"native redelivery create_ticket: 1 cell, 1 draws ({BY_ITSELF})",
        "native lost_ack create_ticket: 1 cell, 1 draws (it was sent more than once)",
    )


def test_the_table_by_hand() -> None:
    """A cell counts once, by its worst draw: here one duplicate of four draws, and one fault."""
    asked = replace(GOOD, escalated=True, escalation_needed=True)
    needless = replace(asked, escalation_needed=False)
    claimed = replace(TWICE_SENT, claimed="done")
    result = judged((claimed, asked), (TWICE_SENT, needless), (MISSED, GOOD), (GOOD, GOOD))
    (line,) = result.lines
    assert (line.contract, line.on.draws, result.helped) == ("native", 4, 1)
    assert dict(zip(COLUMNS, line.texts(), strict=True)) == {
        "fault": "lost_ack",
        "cells": "1",
        "duplicates": "1/0",
        "omissions": "0/0",
        "falsely done": "1/0",
        "exactly once": "0/1",
        "asked: needed": "0/1",
        "asked: needless": "0/1",
    }


def test_draws_that_are_all_equal_count_once_and_others_by_the_worst() -> None:
    equal = [replace(GOOD, seed=seed) for seed in range(40)]
    mixed = [replace(MISSED, write=1, seed=0), replace(TWICE_SENT, write=1, seed=1)]
    counts = tally(draws for _, draws in Census.of([*equal, *mixed]).arm("guard"))
    assert counts == Tally(cells=2, draws=42, exactly_once=1, duplicate=1, varying=1)


rows = st.builds(
    replace,
    st.sampled_from([GOOD, MISSED, TWICE_SENT, TWICE_RUN, BROKEN]),
    condition=st.sampled_from(["no_guard", "guard", "wait_60"]),
    seed=st.integers(0, 3),
    write=st.integers(-1, 1),
    claimed=st.sampled_from(["done", "uncertain", None]),
    calls=st.integers(0, 5),
    seconds=st.integers(0, 100).map(float),
)


def distinct(row: Row) -> tuple[object, ...]:
    """What tells rows of one file apart."""
    return (row.condition, row.seed, row.write, row.fault)


@settings(max_examples=30)
@given(st.lists(rows, unique_by=distinct))
def test_the_order_of_the_rows_changes_no_number(some: list[Row]) -> None:
    shuffled = sorted(some, key=lambda row: (row.seconds, row.calls))
    one, other = report(some), report(shuffled)
    for line in one.lines:
        assert line.texts() in [again.texts() for again in other.lines]
    assert (one.verdict, set(one.findings)) == (other.verdict, set(other.findings))


@settings(max_examples=30)
@given(st.lists(rows, unique_by=distinct))
def test_every_cell_of_an_arm_has_one_outcome(some: list[Row]) -> None:
    for line in report(some).lines:
        for arm in (line.off, line.on):
            assert arm is not None
            outcomes = arm.exactly_once + arm.duplicate + arm.omission + arm.divergent + arm.error
            assert outcomes == arm.cells


def test_every_arm_is_held_against_the_one_without_a_guard() -> None:
    waiting = replace(MISSED, condition="wait_60", seconds=72.0)
    result = report([*drawn((GOOD, GOOD)), waiting])
    arms = {arm.condition: arm for arm in result.summaries}
    assert list(arms) == ["no_guard", "guard", "wait_60"]
    assert (arms["wait_60"].helped, arms["wait_60"].harmed) == (0, 1)
    assert (arms["wait_60"].seconds.p50, arms["wait_60"].tokens) == (72.0, None)
    assert (result.harmed, result.verdict) == ((), "pass")
    assert result.duplicates("native") == {}


def test_costs_are_of_each_write_and_tokens_count_where_there_are_some() -> None:
    some = [replace(GOOD, seed=n, calls=n, seconds=float(n), tokens=1000 * n) for n in range(1, 21)]
    (arm,) = report([*some, off(GOOD)]).summaries[1:]
    assert (arm.calls.p50, arm.calls.p95) == (10, 19)
    assert (arm.seconds.p50, arm.seconds.p95) == (10.0, 19.0)
    assert arm.tokens is not None
    assert (arm.tokens.p50, arm.tokens.p95) == (10_000, 19_000)


@given(st.lists(st.integers(0, 9), min_size=1), st.sampled_from([0.01, 0.5, 0.95, 1.0]))
def test_a_quantile_is_the_smallest_value_that_so_many_do_not_exceed(
    values: list[int], share: float
) -> None:
    found = quantile(values, share)
    assert sum(v <= found for v in values) >= share * len(values)
    assert all(sum(v <= less for v in values) < share * len(values) for less in range(int(found)))


def test_a_scaffold_alone_is_reported_without_an_arm_to_hold_it_against() -> None:
    frame = Frame(baseline=None, subjects=("scaffold",))
    mine = replace(TWICE_SENT, condition="scaffold", agent="mine:agent")
    result = report([mine], frame=frame)
    (line,) = result.lines
    assert (line.texts()[2], result.verdict) == ("1", "block")
    assert "One scaffold" in result.heading


def test_a_report_is_regenerated_from_its_lines() -> None:
    grid = Grid(faults=("lost_ack", "redelivery"), services=("tickets",), seeds=1)
    rows = list(run_all(grid.specs()))
    again = list(read_rows(row.to_json() for row in rows))
    assert again == rows
    assert report(again) == report(rows)


def test_a_line_has_the_promised_fields() -> None:
    promised = (
        "task service tool fault hidden contract agent condition harness seed effects intended "
        "outcome escalated escalation_needed claimed calls seconds"
    )
    assert set(promised.split()) <= set(json.loads(GOOD.to_json()))


@pytest.mark.parametrize("line", ["", "{", "[]", "{}", '{"task": 1}', "null"])
def test_a_line_that_is_no_row_is_named(line: str) -> None:
    with pytest.raises(RowError, match=r"^line 2 is no "):
        list(read_rows([GOOD.to_json(), line]))


@pytest.mark.parametrize(
    ("field", "value"),
    [("seed", "1"), ("seconds", None), ("escalated", 1), ("outcome", "fine"), ("task", 7)],
)
def test_a_field_of_another_kind_is_named(field: str, value: object) -> None:
    line = json.dumps({**json.loads(GOOD.to_json()), field: value})
    with pytest.raises(RowError, match=f"^line 1 is no row of a report: {field} is"):
        list(read_rows([line]))


def test_a_number_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(RowError, match=r"^line 1 is no JSON"):
        list(read_rows([GOOD.to_json().replace("12.5", "NaN")]))


ATTRIBUTES = {
    "testsuites": {"name"},
    "testsuite": {"name", "tests", "failures", "errors"},
    "properties": set[str](),
    "property": {"name", "value"},
    "testcase": {"classname", "name"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "system-out": set[str](),
}
"""The elements of a JUnit file that are used, and all that each has to say."""


def cases(*pairs: tuple[Row, Row]) -> list[ET.Element]:
    """Return the test cases of a report on such pairs, each in a task of its own."""
    apart = (
        replace(row, task=f"task-{row.seed}", seed=0)
        for row in chain.from_iterable([drawn(*pairs)])
    )
    root = ET.fromstring(junit(report(apart)))  # noqa: S314 - it is our own
    for element in root.iter():
        assert set(element.keys()) == ATTRIBUTES[element.tag]
    (suite,) = root
    found = suite.findall("testcase")
    assert int(suite.get("tests", "")) == len(found)
    assert int(suite.get("failures", "")) == sum(case.find("failure") is not None for case in found)
    return found


def test_junit_has_a_case_for_each_cell_and_fails_where_it_blocks() -> None:
    done = replace(MISSED, claimed="done")
    found = cases(
        (GOOD, GOOD),
        (TWICE_SENT, TWICE_SENT),
        (GOOD, MISSED),
        (MISSED, done),
        (TWICE_RUN, TWICE_RUN),
        (BROKEN, BROKEN),
    )
    said = [None if (f := case.find("failure")) is None else f.get("type") for case in found]
    assert said == [None, "duplicate", "harm", "false completion", None, None]
    assert BY_ITSELF in found[4].findtext("system-out", "")
    assert found[5].find("error") is not None
    assert {case.get("classname") for case in found} == {
        "guard.native.lost_ack",
        "guard.native.redelivery",
    }


def test_junit_holds_whatever_a_name_holds() -> None:
    row = replace(GOOD, agent='a"<&>\x00\x1b\ud800é')
    root = ET.fromstring(junit(report([off(row), row]), "half & half"))  # noqa: S314 - it is our own
    assert "é" in str(root[0][1].get("name"))
    assert root[0][0][1].get("value") == "half & half"


def test_a_batch_whose_blind_repeat_doubled_other_items_was_no_success() -> None:
    """Of three items two were doubled without the guard, and with it one is missing."""
    item = replace(GOOD, service="database", task="load_rows", tool="bulk_insert", fault="lost_ack")
    off, on = (replace(item, condition=arm) for arm in ("no_guard", "guard"))
    rows = [
        *(replace(off, write=n, outcome="duplicate", effects=2, executed_sends=2) for n in (0, 1)),
        replace(off, write=2),
        *(replace(on, write=n) for n in (0, 1)),
        replace(on, write=2, outcome="omission", effects=0, executed_sends=0, claimed="uncertain"),
    ]
    assert report(rows).harmed == ()
    assert report(rows[2:3] + rows[5:]).harmed != ()
