"""Rows made by hand, for tests of what is computed from rows."""

from collections.abc import Iterator
from dataclasses import replace

from retry_guard_sandbox import Report, Row, report

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
BROKEN = replace(MISSED, outcome="error", error="KeyError", claimed=None)


def off(row: Row) -> Row:
    """The same in the arm without the guard."""
    return replace(row, condition="no_guard")


def drawn(*pairs: tuple[Row, Row]) -> Iterator[Row]:
    """Yield pairs of rows, each without and with the guard, as draws of their cells."""
    for seed, (without, guarded) in enumerate(pairs):
        yield replace(off(without), seed=seed)
        yield replace(guarded, seed=seed)


def judged(*pairs: tuple[Row, Row]) -> Report:
    """Report such pairs."""
    return report(drawn(*pairs))
