"""What should stop a merge, cell by cell."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Literal

from retry_guard_sandbox.agents import AGENTS
from retry_guard_sandbox.grading._census import Cell, Census, Draw, Draws
from retry_guard_sandbox.grading._tally import Change
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._faults import FAULTS

SCAFFOLD = "scaffold"
"""What the rows of somebody's own scaffold have as agent and as condition."""

Failing = Literal["duplicate", "unwanted effect", "false completion", "harm"]

_FAILINGS: Mapping[Failing, str] = MappingProxyType(
    {
        "duplicate": "in which the guard sent a duplicate",
        "unwanted effect": "of effects that nobody wanted",
        "false completion": "claimed done under the guard that were not exactly once",
        "harm": "that the guard harmed",
    }
)


def failings(cell: Cell, draws: Draws, harmed: Collection[Cell]) -> list[Failing]:
    """Return what should stop a merge in one cell of a judged arm.

    A send that itself ran twice is no failing: no client can prevent it, nor know of it where the
    answer says success. What a model claims, and how its draws differ, is its own; of the
    scripted agents it is the guard's doing, and a scaffold has to answer for its own, and for
    every effect that its task has no write for.
    """
    is_ours = is_scripted(cell.agent) or cell.agent == SCAFFOLD
    found: dict[Failing, bool] = {
        "duplicate": any(is_duplicate(draw) and draw.resent for draw in draws.values()),
        "unwanted effect": cell.is_stray and cell.agent == SCAFFOLD and _changes(cell),
        "false completion": is_ours and any(_is_false(cell, draw) for draw in draws.values()),
        "harm": is_ours and cell in harmed,
    }
    return [name for name, is_so in found.items() if is_so]


def _changes(cell: Cell) -> bool:
    """Whether it is of a tool that changes something each time it is called."""
    return cell.tool in TOOLS and TOOLS[cell.tool].effect == "write"


def _is_false(cell: Cell, draw: Draw) -> bool:
    """Whether it was claimed done, and something that was seen said otherwise."""
    fault = FAULTS.get(cell.fault)
    is_silent = fault is not None and fault.shows == "success"
    nobody_knew = is_silent and is_duplicate(draw) and not draw.resent
    return draw.is_false_completion and not nobody_knew


def blocks(census: Census, subjects: Iterable[str], harms: Iterable[Change]) -> list[str]:
    """Say what should stop a merge, in how many cells."""
    harmed = frozenset(change.cell for change in harms)
    counts = Counter(
        failing
        for subject in subjects
        for cell, draws in census.arm(subject)
        for failing in failings(cell, draws, harmed)
    )
    return [
        f"{counts[name]} cell{'s' if counts[name] > 1 else ''} {text}"
        for name, text in _FAILINGS.items()
        if counts[name]
    ]


def is_scripted(agent: str) -> bool:
    """Whether an agent is one of the sandbox's own, which behave the same in every draw."""
    return agent in AGENTS


def is_duplicate(draw: Draw) -> bool:
    """Whether more happened than was intended."""
    return draw.outcome == "duplicate"
