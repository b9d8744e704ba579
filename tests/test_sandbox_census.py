"""What the guard changes, over the whole grid: each must-show of the first slice, by count."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

import retry_guard_core._engine as engine
from retry_guard_core import Now, Policy, Record, Terms, Verdict, decide
from retry_guard_sandbox import Grid, Report, Row, report, run_all
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._faults import FAULTS

WRITES = tuple(tool.name for tool in TOOLS.values() if tool.effect == "write")
AGENTS = ("retry", "new_key", "read_then_retry")


TASKS = (
    "post_release",
    "thank_by_message",
    "charge_invoice",
    "refund_part",
    "open_ticket",
    "comment_and_close",
    "mail_minutes",
    "mail_notice",
    "insert_order",
    "insert_invoices",
    "deploy_shop",
)
"""One short task for each write."""


@cache
def census() -> tuple[Row, ...]:
    """Return the rows of each write under each fault, for one seed."""
    grid = Grid(tasks=TASKS, agents=AGENTS, attempts_hit=("1", "all"), seeds=1)
    return tuple(run_all(grid.specs()))


def is_false_completion(row: Row) -> bool:
    """Whether the agent said that it was done, and this was not exactly once."""
    return row.claimed == "done" and row.outcome != "exactly_once"


def rows(**wanted: str) -> list[Row]:
    """Return the rows whose fields have these values; there must be some."""
    found = [r for r in census() if all(getattr(r, n) == v for n, v in wanted.items())]
    assert found, wanted
    return found


def test_nothing_breaks() -> None:
    assert [row for row in census() if row.outcome == "error" or row.claimed is None] == []


def test_keys_everywhere_with_the_guard_gives_no_duplicate_at_all() -> None:
    guarded = rows(contract="keys_everywhere", condition="guard")
    assert [row for row in guarded if row.outcome == "duplicate"] == []


def test_keys_everywhere_with_the_guard_is_exactly_once_where_an_attempt_can_get_through() -> None:
    """One attempt is hit, and the guard may make five."""
    for row in rows(contract="keys_everywhere", condition="guard", attempts_hit="1"):
        if not stays_partial(row):
            assert (row.outcome, row.claimed) == ("exactly_once", "done"), row.to_json()


def stays_partial(row: Row) -> bool:
    """Whether a repeat under the key only gives the answer of a run that stopped half-way."""
    return row.hidden == "partial" and row.tool == "send_bulk"


def test_keys_everywhere_escalates_only_after_the_last_allowed_attempt() -> None:
    """But where a key completes nothing: there it only protects against a second run."""
    for row in rows(contract="keys_everywhere", condition="guard"):
        if row.escalated and row.tool != "send_bulk":
            assert row.attempts_hit == "all"
            assert row.calls >= 1 + Policy().attempts


def test_native_duplicates_remain_only_where_one_send_itself_ran_twice() -> None:
    left = [r for r in rows(contract="native", condition="guard") if r.outcome == "duplicate"]
    assert left
    for row in left:
        assert row.hidden == "redelivered"
        assert row.executed_sends == 1
        assert row.tool not in ("charge", "refund")


def test_nothing_is_claimed_under_the_guard_that_was_not_exactly_once() -> None:
    """But for what looked like a success and was run twice by the service itself."""
    claimed = [row for row in rows(condition="guard") if is_false_completion(row)]
    assert {(row.contract, row.fault) for row in claimed} == {("native", "silent_redelivery")}


def test_without_the_guard_done_is_claimed_of_duplicates() -> None:
    claimed = [r for r in rows(condition="no_guard") if is_false_completion(r)]
    nothing_runs = {name for name, fault in FAULTS.items() if fault.hidden == "not_executed"}
    assert {row.fault for row in claimed} == set(FAULTS) - nothing_runs - {"none"}


def test_no_escalation_is_needless() -> None:
    for row in rows(condition="guard"):
        assert row.escalation_needed == row.escalated, row.to_json()


def test_no_escalation_where_one_strong_read_shows_the_effect() -> None:
    for fault in ("lost_ack", "error_after"):
        for tool in ("charge", "refund", "add_comment"):
            for row in rows(contract="native", condition="guard", fault=fault, tool=tool):
                assert (row.escalated, row.outcome) == (False, "exactly_once")


def test_a_lagging_read_is_waited_for_and_settles_what_was_executed() -> None:
    for row in rows(contract="native", condition="guard", fault="lost_ack", tool="create_ticket"):
        assert (row.escalated, row.outcome, row.executed_sends) == (False, "exactly_once", 1)
        assert row.seconds >= 40


@pytest.mark.parametrize("fault", ["lost_ack", "late_commit", "redelivery", "error_after"])
@pytest.mark.parametrize("tool", WRITES)
def test_without_the_guard_each_fault_that_allows_duplicates_makes_them(
    fault: str, tool: str
) -> None:
    assert any(
        row.outcome == "duplicate" for row in rows(condition="no_guard", fault=fault, tool=tool)
    )


@pytest.mark.parametrize("fault", ["none", "lost_request", "error_before", "reset_before"])
def test_faults_that_execute_nothing_more_make_no_duplicates(fault: str) -> None:
    assert [row for row in rows(fault=fault) if row.outcome == "duplicate"] == []


def test_the_guard_harms_no_cell_and_the_verdict_is_pass() -> None:
    """But for the rest of a batch that only a person may complete, and for what looked like a
    success and was run twice by the service itself."""
    known = [r for r in census() if r.hidden != "partial" or r.contract == "keys_everywhere"]
    known = [r for r in known if r.fault != "silent_redelivery"]
    result = report(r for r in known if not stays_partial(r))
    assert (result.harmed, result.findings, result.verdict) == ((), (), "pass")


def test_what_is_hidden_is_not_told_by_what_the_guard_does_before_it_can_know() -> None:
    """Rows of faults that look alike agree on the first write until an answer can differ."""
    for agent in ("retry", "new_key"):
        seen = {
            row.fault: (row.calls, row.seconds)
            for row in rows(
                contract="native",
                condition="no_guard",
                agent=agent,
                tool="create_ticket",
                task="open_ticket",
                attempts_hit="1",
            )
            if row.fault != "none"
        }
        timeouts = {seen[f] for f in ("lost_request", "lost_ack", "late_commit", "redelivery")}
        errors = {seen[f] for f in ("error_before", "error_after")}
        resets = {seen[f] for f in ("reset_before", "reset_after")}
        assert (len(timeouts), len(errors), len(resets)) == (1, 1, 1)


# Broken guards: each is caught by the same report, in its own cells.


def small(*faults: str, contract: str) -> Report:
    """Run the arms over these faults under one contract."""
    grid = Grid(
        faults=faults,
        contracts=(contract,),
        services=("billing", "tickets"),
        agents=AGENTS,
        attempts_hit=("1",),
        seeds=1,
    )
    return report(run_all(grid.specs()))


def test_a_guard_that_trusts_absence_at_once_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
        verdict = decide(terms, record, now, policy)
        absent = record.seen == "absent" and verdict.act == "read"
        return Verdict("absent", "send") if absent else verdict

    monkeypatch.setattr(engine, "decide", trusting)
    assert small("late_commit", contract="native").verdict == "block"
    assert small("lost_request", contract="native").verdict == "pass"


def test_a_guard_that_makes_a_new_key_for_a_re_issue_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again = engine._again

    def forgetful(record: Record, row: str, now: Now) -> Record:
        record = again(record, row, now)
        return replace(record, key=None, generation=record.generation + 1)

    monkeypatch.setattr(engine, "_again", forgetful)
    assert small("lost_ack", contract="keys_everywhere").verdict == "block"


def test_a_guard_that_sends_again_instead_of_asking_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
        return (
            Verdict("absent", "send") if record.tries == 0 else decide(terms, record, now, policy)
        )

    monkeypatch.setattr(engine, "decide", eager)
    assert small("lost_ack", contract="native").verdict == "block"


def test_a_guard_that_adopts_whatever_it_sees_claims_what_is_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def adopting(terms: Terms, record: Record, now: Now, policy: Policy) -> Verdict:
        record = replace(record, seen="ours" if record.seen == "several" else record.seen)
        return decide(terms, record, now, policy)

    monkeypatch.setattr(engine, "decide", adopting)
    result = small("redelivery", contract="native")
    assert result.verdict == "block"
    assert any("claimed done" in finding for finding in result.findings)


def test_a_guard_that_always_escalates_looks_as_bad_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def timid(_terms: Terms, record: Record, _now: Now, _policy: Policy) -> Verdict:
        return Verdict("nothing_can_tell", "ask", stop=record.asked_at is not None)

    monkeypatch.setattr(engine, "decide", timid)
    lines = {
        (contract, line.fault): (line.on.needed, line.on.needless)
        for contract in ("native", "keys_everywhere")
        for line in small("lost_ack", "lost_request", contract=contract).lines
    }
    assert lines["native", "lost_ack"][0] == 0
    assert lines["native", "lost_ack"][1] > 0
    assert lines["keys_everywhere", "lost_request"][0] == 0
    assert lines["keys_everywhere", "lost_request"][1] > 0


def test_equal_specs_give_equal_rows() -> None:
    specs = Grid(faults=("late_commit", "redelivery"), seeds=1, services=("tickets",)).specs()
    assert list(run_all(specs)) == list(run_all(specs))


def test_the_seed_changes_the_draws() -> None:
    grid = Grid(faults=("late_commit",), contracts=("native",), conditions=("guard",), seeds=3)
    seconds = Counter(row.seconds for row in run_all(grid.specs()) if row.task == "open_ticket")
    assert len(seconds) == 3
