"""The report of two arms side by side, computed from rows and from nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.grading._tally import (
    Change,
    Tally,
    changes,
    is_false_completion,
    name_of,
    ran_twice_by_itself,
    tally,
)

HEADING = (
    "Agents are scripted: a census of guard and contracts, not a sample of models.\n"
    "Logical writes, guard off/on. Falsely done: claimed done, not exactly once.\n"
    "Asked: given to a person where nothing else could tell (needed) or could have."
)
OFF, ON = "no_guard", "guard"

Verdict = Literal["pass", "block", "inconclusive"]
EXIT_CODES: dict[Verdict, int] = {"pass": 0, "block": 1, "inconclusive": 3}

COLUMNS = (
    "fault",
    "writes",
    "duplicates",
    "omissions",
    "falsely done",
    "exactly once",
    "asked: needed",
    "asked: needless",
)


@dataclass(frozen=True, slots=True)
class Line:
    """One contract under one fault, with the guard off and on. `episodes` are of one arm."""

    contract: str
    fault: str
    off: Tally
    on: Tally
    helped: tuple[Change, ...]
    harmed: tuple[Change, ...]

    def texts(self) -> tuple[str, ...]:
        """Return what stands in the columns."""
        off, on = self.off, self.on
        return (
            self.fault,
            str(max(off.writes, on.writes)),
            f"{off.duplicates}/{on.duplicates}",
            f"{off.omissions}/{on.omissions}",
            f"{off.false_completions}/{on.false_completions}",
            f"{off.exactly_once}/{on.exactly_once}",
            f"{off.needed}/{on.needed}",
            f"{off.needless}/{on.needless}",
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The whole report. `remaining`: where duplicates are left. `findings`: what decided."""

    lines: tuple[Line, ...]
    harmed: tuple[str, ...]
    remaining: tuple[str, ...]
    findings: tuple[str, ...]
    verdict: Verdict

    @property
    def helped(self) -> int:
        """How many cells came out exactly once with the guard only."""
        return sum(len(line.helped) for line in self.lines)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 block, 3 inconclusive."""
        return EXIT_CODES[self.verdict]


def report(rows: Iterable[Row]) -> Report:
    """Compare the guard with no guard. Equal rows give an equal report."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.contract, row.fault), []).append(row)
    lines = tuple(_line(*place, group) for place, group in groups.items())
    everything = [row for group in groups.values() for row in group]
    harmed = tuple(
        f"{name_of(change.cell)}: {change.draws} of {change.of} draws"
        for line in lines
        for change in line.harmed
    )
    remaining = tuple(_remaining(everything))
    blocks, doubts = _blocks(everything, harmed), _doubts(everything)
    verdict: Verdict = "block" if blocks else "inconclusive" if doubts else "pass"
    return Report(lines, harmed, remaining, (*blocks, *doubts), verdict)


def _line(contract: str, fault: str, rows: Sequence[Row]) -> Line:
    off, on = _arm(rows, OFF), _arm(rows, ON)
    helped, harmed = changes(off, on)
    return Line(contract, fault, tally(off), tally(on), tuple(helped), tuple(harmed))


def _arm(rows: Sequence[Row], condition: str) -> list[Row]:
    return [row for row in rows if row.condition == condition]


def _remaining(rows: Sequence[Row]) -> Iterable[str]:
    """Say where the guard leaves duplicates, and why."""
    places: dict[tuple[str, str, str, bool], int] = {}
    for row in _arm(rows, ON):
        if row.outcome == "duplicate":
            place = (row.contract, row.fault, row.tool, ran_twice_by_itself(row))
            places[place] = places.get(place, 0) + 1
    for (contract, fault, tool, by_itself), count in places.items():
        reason = (
            "one send itself ran twice: no client can prevent it"
            if by_itself
            else "it was sent more than once"
        )
        yield f"{contract} {fault} {tool}: {count} ({reason})"


def _blocks(rows: Sequence[Row], harmed: Sequence[str]) -> list[str]:
    on = _arm(rows, ON)
    sent_twice = sum(r.outcome == "duplicate" and not ran_twice_by_itself(r) for r in on)
    claimed = sum(map(is_false_completion, on))
    return [
        text
        for count, text in (
            (sent_twice, f"{sent_twice} duplicates that the guard sent"),
            (claimed, f"{claimed} writes claimed done under the guard that were not exactly once"),
            (len(harmed), f"{len(harmed)} cells that the guard harmed"),
        )
        if count
    ]


def _doubts(rows: Sequence[Row]) -> list[str]:
    errors = sorted({str(row.error) for row in rows if row.outcome == "error"})
    doubts = [f"episodes that ended in an error: {', '.join(errors)}"] if errors else []
    missing = [arm for arm in (OFF, ON) if not _arm(rows, arm)]
    return doubts + [f"no episode of the arm {arm}: nothing to compare" for arm in missing]
