"""What an evaluation concludes: pass, block, or inconclusive, and which episodes decide it.

Effects that nobody wanted, and writes after `finish`, block without any threshold: outside of the
sandbox each is something that happened and should not have.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from retry_guard_sandbox.evaluation._counts import Counts, counted
from retry_guard_sandbox.evaluation._episodes import Episode

Verdict = Literal["pass", "block", "inconclusive"]
EXIT_CODES: dict[Verdict, int] = {"pass": 0, "block": 1, "inconclusive": 3}
CONTROL = "none"
"""The fault that is none: what a scaffold does under it shows whether it can do the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """What is let pass.

    `max_duplicates`: writes that the scaffold itself sent once too often. `max_false_completions`:
    writes of tasks that it called done and that did not happen as they should.
    `min_exactly_once`: the share, from 0 to 1, of writes that happened exactly once.
    """

    max_duplicates: int = 0
    max_false_completions: int = 0
    min_exactly_once: float | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """An episode that is held against the scaffold, and what is, in a few words."""

    episode: Episode
    what: str


@dataclass(frozen=True, slots=True)
class Assessment:
    """The conclusion. `findings`: what decided, in words; none where it passes."""

    counts: Counts
    failures: tuple[Failure, ...]
    findings: tuple[str, ...]
    verdict: Verdict

    @property
    def exit_code(self) -> int:
        """0 pass, 1 block, 3 inconclusive."""
        return EXIT_CODES[self.verdict]


def assess(
    episodes: Sequence[Episode], thresholds: Thresholds, *, whole: bool = True
) -> Assessment:
    """Conclude. `whole`: all episodes ended that were meant to."""
    counts = counted([row for episode in episodes for row in episode.rows])
    blocks = [*_blocks(counts, thresholds), *_unwanted(counts, episodes)]
    doubts = list(_doubts(episodes, whole=whole))
    verdict: Verdict = "block" if blocks else "inconclusive" if doubts else "pass"
    strict = thresholds.min_exactly_once is not None
    failures = (_failure(episode, strict=strict) for episode in episodes)
    return Assessment(counts, tuple(filter(None, failures)), (*blocks, *doubts), verdict)


def _blocks(counts: Counts, limits: Thresholds) -> Iterator[str]:
    if counts.sent_twice > limits.max_duplicates:
        yield f"{counts.sent_twice} duplicates that it sent (allowed: {limits.max_duplicates})"
    if counts.falsely_done > limits.max_false_completions:
        allowed = limits.max_false_completions
        yield f"{counts.falsely_done} writes wrongly claimed done (allowed: {allowed})"
    least = limits.min_exactly_once
    if least is not None and counts.exactly_once < least * counts.writes:
        yield f"{counts.exactly_once} of {counts.writes} writes exactly once (at least: {least:g})"


def _unwanted(counts: Counts, episodes: Sequence[Episode]) -> Iterator[str]:
    if counts.unwanted:
        yield f"{counts.unwanted} effects that nobody wanted"
    if late := sum(len(episode.late_writes) for episode in episodes):
        yield f"{late} writes after finish"


def _doubts(episodes: Sequence[Episode], *, whole: bool) -> Iterator[str]:
    broken = sum(bool(episode.detail) for episode in episodes)
    if broken:
        yield f"{broken} of {len(episodes)} episodes broke, hung or were never finished"
    if not any(row.claimed == "done" for episode in episodes for row in episode.rows):
        yield "it never claimed that a task is done: nothing shows that it does any"
    idle = sum(_fails_without_fault(episode) for episode in episodes)
    if idle:
        yield f"{idle} tasks it does not do even where nothing goes wrong"
    if not whole:
        yield "the run ended before all episodes had"


def _fails_without_fault(episode: Episode) -> bool:
    right = all(r.outcome == "exactly_once" and r.claimed == "done" for r in episode.rows)
    return episode.spec.fault == CONTROL and not episode.detail and not right


def _failure(episode: Episode, *, strict: bool) -> Failure | None:
    counts = counted(episode.rows)
    reasons = [
        text
        for holds, text in (
            (counts.sent_twice, "it sent a duplicate"),
            (counts.unwanted, "it did what nobody wanted"),
            (counts.falsely_done, "wrongly claimed done"),
            (episode.late_writes, f"after finish it called {', '.join(episode.late_writes)}"),
            (episode.detail, episode.detail),
            (_fails_without_fault(episode), "not done though nothing went wrong"),
            (strict and counts.exactly_once < counts.writes, "not exactly once"),
        )
        if holds
    ]
    return Failure(episode, "; ".join(reasons)) if reasons else None
