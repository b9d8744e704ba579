"""The report: computed from rows alone, and it says what should stop a merge."""

import json
from dataclasses import replace

import pytest

from retry_guard_sandbox import (
    COLUMNS,
    Grid,
    GridError,
    Report,
    Row,
    RowError,
    read_rows,
    report,
    run_all,
)
from retry_guard_sandbox.grading._tally import changes

GOOD = Row(
    task="open_ticket",
    write=0,
    service="tickets",
    tool="create_ticket",
    fault="lost_ack",
    attempts_hit="1",
    reads_hit="0",
    hidden="executed",
    contract="native",
    agent="retry",
    condition="guard",
    harness="none",
    operator="fencing",
    seed=0,
    effects=1,
    executed_sends=1,
    intended=1,
    outcome="exactly_once",
    escalated=False,
    escalation_needed=False,
    claimed="done",
    calls=2,
    seconds=12.5,
)
TWICE_SENT = replace(GOOD, outcome="duplicate", effects=2, executed_sends=2, claimed="uncertain")
TWICE_RUN = replace(TWICE_SENT, executed_sends=1, fault="redelivery", hidden="redelivered")
MISSED = replace(GOOD, outcome="omission", effects=0, executed_sends=0, claimed="failed")


def off(row: Row) -> Row:
    """The same in the arm without the guard."""
    return replace(row, condition="no_guard")


def judged(*pairs: tuple[Row, Row]) -> Report:
    """Report pairs of rows, each without and with the guard, as draws of their cells."""
    return report(
        replace(row, seed=seed)
        for seed, (without, guarded) in enumerate(pairs)
        for row in (off(without), guarded)
    )


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
        ((GOOD, replace(GOOD, outcome="divergent")), "block"),
        ((MISSED, replace(MISSED, outcome="error", error="KeyError")), "inconclusive"),
        ((replace(MISSED, outcome="error", error="KeyError"), MISSED), "inconclusive"),
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
    broken = replace(MISSED, outcome="error", error="KeyError")
    assert judged((GOOD, MISSED), (broken, broken)).verdict == "block"


def test_harm_is_found_draw_by_draw_and_named_by_cell() -> None:
    result = judged((GOOD, MISSED), (MISSED, GOOD), (GOOD, GOOD))
    cell = "native lost_ack (hits 1) open_ticket[0] create_ticket retry"
    assert result.harmed == (f"{cell}: 1 of 3 draws",)
    (line,) = result.lines
    assert (len(line.helped), len(line.harmed)) == (1, 1)


def test_help_in_one_draw_does_not_hide_harm_in_another() -> None:
    helped, harmed = changes(
        [off(MISSED), off(replace(GOOD, seed=1))], [GOOD, replace(MISSED, seed=1)]
    )
    assert [change.draws for change in helped] == [change.draws for change in harmed] == [1]


def test_remaining_duplicates_are_named_with_their_reason() -> None:
    result = judged((TWICE_RUN, TWICE_RUN), (TWICE_SENT, TWICE_SENT))
    assert result.remaining == (
        "native redelivery create_ticket: 1 (one send itself ran twice: no client can prevent it)",
        "native lost_ack create_ticket: 1 (it was sent more than once)",
    )


def test_the_table_by_hand() -> None:
    asked = replace(GOOD, escalated=True, escalation_needed=True)
    needless = replace(asked, escalation_needed=False)
    claimed = replace(TWICE_SENT, claimed="done")
    result = judged((claimed, asked), (TWICE_SENT, needless), (MISSED, GOOD), (GOOD, GOOD))
    (line,) = result.lines
    assert (line.contract, line.on.episodes, result.helped) == ("native", 4, 1)
    assert dict(zip(COLUMNS, line.texts(), strict=True)) == {
        "fault": "lost_ack",
        "writes": "4",
        "duplicates": "2/0",
        "omissions": "1/0",
        "falsely done": "1/0",
        "exactly once": "1/4",
        "asked: needed": "0/1",
        "asked: needless": "0/1",
    }


def test_an_episode_of_two_writes_counts_once() -> None:
    second = replace(GOOD, write=1, tool="add_comment")
    (line,) = report([off(GOOD), off(second), GOOD, second]).lines
    assert (line.on.episodes, line.on.writes) == (1, 2)


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
    "field",
    ["contracts", "faults", "attempts_hit", "services", "agents", "conditions", "operators"],
)
def test_an_unknown_name_lists_the_valid_ones(field: str) -> None:
    for names in (("nonsense",), ()):
        with pytest.raises(GridError, match="choose from") as refused:
            Grid(**{field: names})  # type: ignore[arg-type] # every field but seeds is a tuple
        assert getattr(Grid(), field)[0] in str(refused.value)


@pytest.mark.parametrize("seeds", [0, -1])
def test_a_grid_without_episodes_is_refused(seeds: int) -> None:
    with pytest.raises(GridError, match="no episode"):
        Grid(seeds=seeds)


def test_where_nothing_fails_the_attempts_hit_make_no_difference_and_run_once() -> None:
    specs = Grid(faults=("none",), attempts_hit=("1", "2", "all"), seeds=1).specs()
    assert {spec.attempts_hit for spec in specs} == {"1"}


def test_the_order_of_the_arguments_does_not_change_the_order_of_the_rows() -> None:
    one = Grid(faults=("lost_ack", "none"), agents=("retry", "new_key"), seeds=2).specs()
    other = Grid(faults=("none", "lost_ack"), agents=("new_key", "retry"), seeds=2).specs()
    assert one == other


def test_the_arms_are_paired() -> None:
    specs = Grid().specs()
    without = [s for s in specs if s.condition == "no_guard"]
    assert [replace(s, condition="guard") for s in without] == [
        s for s in specs if s.condition == "guard"
    ]


def test_progress_is_told_of_every_episode() -> None:
    specs, told = Grid(faults=("none",), seeds=1).specs(), list[int]()
    list(run_all(specs, progress=told.append))
    assert sum(told) == len(specs)
