"""Logical writes of an evaluation, counted by what became of them.

Duplicates that a service made by itself, of one send, are counted and not held against anybody: no
client can prevent them. To say that it is done is wrong all the same where no success was shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._faults import FAULTS


@dataclass(frozen=True, slots=True)
class Counts:
    """Logical writes, by what became of them.

    `sent_twice`, `ran_twice`: more happened than was intended, because the scaffold sent more, or
    because the service ran one send more than once. `unwanted`: effects, of tools that are not
    idempotent, that no write of the task accounts for. `falsely_done`: claimed done, and wrong.
    """

    writes: int
    exactly_once: int
    sent_twice: int
    ran_twice: int
    omissions: int
    divergent: int
    unwanted: int
    errors: int
    falsely_done: int
    escalated: int


def counted(rows: Sequence[Row]) -> Counts:
    """Count rows."""
    outcomes = [row.outcome for row in rows]
    return Counts(
        writes=len(rows),
        exactly_once=outcomes.count("exactly_once"),
        sent_twice=sum(map(is_sent_twice, rows)),
        ran_twice=sum(map(ran_twice, rows)),
        omissions=outcomes.count("omission"),
        divergent=sum(r.outcome == "divergent" and not is_unwanted(r) for r in rows),
        unwanted=sum(row.effects for row in rows if is_unwanted(row)),
        errors=outcomes.count("error"),
        falsely_done=sum(map(is_falsely_done, rows)),
        escalated=sum(row.escalated for row in rows),
    )


def is_sent_twice(row: Row) -> bool:
    """Whether more sends had an effect than there should be effects, whatever came of it."""
    too_many = row.effects > row.intended and row.executed_sends > max(row.intended, 1)
    return too_many and not is_unwanted(row)


def is_unwanted(row: Row) -> bool:
    """Whether nothing like it was asked for, and to have it happen even once changes something."""
    return row.write < 0 and TOOLS[row.tool].effect == "write"


def ran_twice(row: Row) -> bool:
    """Whether there are more effects than intended, all of as many sends as intended."""
    return row.effects > row.intended > 0 and not is_sent_twice(row)


def is_falsely_done(row: Row) -> bool:
    """Whether it was claimed done and is wrong, in a way that a client can know.

    An episode that broke after its end may still have done what it claimed.
    """
    wrong = row.outcome not in ("exactly_once", "error") or row.effects != row.intended
    nobody_knew = ran_twice(row) and FAULTS[row.fault].shows == "success"
    return row.claimed == "done" and wrong and not nobody_knew
