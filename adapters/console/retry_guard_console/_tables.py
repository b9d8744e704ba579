"""The report of `retry-guard ab` as a person reads it in a terminal."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from retry_guard_console._columns import folded, numbers
from retry_guard_console._items import print_items, print_left
from retry_guard_console._models_table import print_models
from retry_guard_console._shared import complain, show, shown

if TYPE_CHECKING:
    from rich.table import Table

    from retry_guard_sandbox import Report, Spread, Summary

_ARMS_BESIDE = 5
"""How many arms stand side by side in one table."""
_COUNTS = (
    "cells",
    "dupl.",
    "omitted",
    "falsely done",
    "exactly once",
    "asked: needed",
    "asked: needless",
)
_COSTS = (
    "arm",
    "cells helped",
    "cells harmed",
    "calls p50",
    "calls p95",
    "seconds p50",
    "seconds p95",
    "tokens p50",
)


def print_report(result: "Report", note: str = "", remarks: Iterable[str] = ()) -> None:
    """Print it, the verdict last; `note` says what is special about it.

    `remarks`: what is told beside it, on standard error.
    """
    if note:
        print(f"{note}\n")
    print(result.heading)
    for title, made in _tables(result):
        print(f"\n{shown(title)}")
        show(made)
    if result.models is not None:
        print_models(result.models)
    if result.frame.baseline is not None:
        print(f"\nCells helped (off not exactly once, on exactly once): {result.helped}")
        print_items("Cells harmed (off exactly once, on not)", result.harmed)
    print_left(result.left)
    print_items("Findings", result.findings)
    sys.stdout.flush()  # where nobody reads, nothing is told beside it either
    for remark in remarks:
        complain(f" ab: {remark}")
    print(f"Verdict: {result.verdict}{', of what was finished' if note else ''}")


def _tables(result: "Report") -> Iterator[tuple[str, "Table"]]:
    for contract in dict.fromkeys(line.contract for line in result.lines):
        for arm in result.subjects:
            against = "" if result.frame.baseline is None else f"{result.frame.baseline}/"
            yield (
                f"Contracts: {contract}. {against}{arm}, by fault",
                _by_fault(result, contract, arm),
            )
        arms = [summary for summary in result.summaries if summary.contract == contract]
        if {arm.condition for arm in arms} - {result.frame.baseline, *result.subjects}:
            yield f"Contracts: {contract}. Each arm, all faults", _by_arm(arms)
            yield from _duplicates(result, contract, [arm.condition for arm in arms])
        yield f"Contracts: {contract}. What a write took (seconds are virtual)", _costs(arms)


def _by_fault(result: "Report", contract: str, arm: str) -> "Table":
    made = numbers(("fault", *_COUNTS))
    for line in result.lines:
        if (line.contract, line.condition) == (contract, arm):
            fault, *counts = line.texts()
            made.add_row(folded(fault), *counts)
    return made


def _by_arm(arms: Iterable["Summary"]) -> "Table":
    made = numbers(("arm", *_COUNTS))
    for arm in arms:
        made.add_row(folded(arm.condition), *map(str, arm.counts.columns()))
    return made


def _duplicates(
    result: "Report", contract: str, arms: Sequence[str]
) -> Iterator[tuple[str, "Table"]]:
    """Yield cells with a duplicate: faults down, a few arms across."""
    counts = result.duplicates(contract)
    for start in range(0, len(arms), _ARMS_BESIDE):
        beside = arms[start : start + _ARMS_BESIDE]
        made = numbers(("fault", *(arm.replace("_", " ", 1) for arm in beside)))
        for fault in dict.fromkeys(fault for fault, _ in counts):
            made.add_row(folded(fault), *(str(counts[fault, arm]) for arm in beside))
        yield f"Contracts: {contract}. Cells with a duplicate", made


def _costs(arms: Iterable["Summary"]) -> "Table":
    made = numbers(_COSTS)
    for arm in arms:
        tokens = "" if arm.tokens is None else f"{arm.tokens.p50:,.0f}"
        spreads = (*_spread(arm.calls, 0), *_spread(arm.seconds, 1))
        made.add_row(folded(arm.condition), str(arm.helped), str(arm.harmed), *spreads, tokens)
    return made


def _spread(spread: "Spread", digits: int) -> tuple[str, str]:
    return f"{spread.p50:,.{digits}f}", f"{spread.p95:,.{digits}f}"
