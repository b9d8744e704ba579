"""The report of arms side by side, computed from rows and from nothing else."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from retry_guard_sandbox.grading._census import Census
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.grading._statistics_terms import EndPoint
from retry_guard_sandbox.grading._tally import Change, worst
from retry_guard_sandbox.reports._failings import blocks, is_scripted
from retry_guard_sandbox.reports._lines import Line, Summary, lines_of, summaries_of
from retry_guard_sandbox.reports._models import END_POINT, MARGIN, Models, models_of
from retry_guard_sandbox.reports._verdict import (
    AB,
    EXIT_CODES,
    Frame,
    Left,
    Verdict,
    doubts,
    judged,
    left,
    statistical,
)

SCRIPTED = "Agents are scripted: this measures guard and contract mechanics, not models."
MODELS = "Models act in simulated services: draws are a sample, their unit is the task."
SCAFFOLD = "One scaffold acts in simulated services."
HEADING = (
    "A cell (contract, fault, task, tool, agent) counts once, by its worst draw.\n"
    "Falsely done: claimed done, and it was not exactly once.\n"
    "Asked: given to a person where nothing else could tell (needed) or could have."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The whole report. `left`: where duplicates are left. `findings`: what decided.

    `models`: statistics of the agents that are no scripts, if any were compared.
    """

    census: Census
    frame: Frame
    subjects: tuple[str, ...]
    lines: tuple[Line, ...]
    summaries: tuple[Summary, ...]
    harms: tuple[Change, ...]
    left: tuple[Left, ...]
    findings: tuple[str, ...]
    verdict: Verdict
    models: Models | None

    @property
    def heading(self) -> str:
        """What the numbers are, above every table."""
        kinds = {is_scripted(cell.agent) for cell in self.census.cells}
        own = MODELS if self.frame.baseline is not None else SCAFFOLD
        first = [text for kind, text in ((True, SCRIPTED), (False, own)) if kind in kinds]
        return "\n".join((*first, HEADING))

    @property
    def harmed(self) -> tuple[str, ...]:
        """The cells that a judged arm harmed, by name, each once."""
        return tuple(dict.fromkeys(change.name for change in self.harms))

    @property
    def remaining(self) -> tuple[str, ...]:
        """Where duplicates are left, a line each."""
        return tuple(map(str, self.left))

    @property
    def helped(self) -> int:
        """How many cells came out exactly once in a judged arm only."""
        return sum(
            len(line.changes.helped) for line in self.lines if line.condition in self.subjects
        )

    def duplicates(self, contract: str) -> Counter[tuple[str, str]]:
        """Return how many cells have a duplicate, by fault and arm."""
        return Counter(
            (cell.fault, arm)
            for arm in self.census.conditions
            for cell, draws in self.census.arm(arm)
            if cell.contract == contract and worst(draws) == "duplicate"
        )

    @property
    def exit_code(self) -> int:
        """0 pass, 1 block, 3 inconclusive."""
        return EXIT_CODES[self.verdict]


def report(
    rows: Iterable[Row] | Census,
    *,
    frame: Frame = AB,
    end_point: EndPoint = END_POINT,
    margin: float = MARGIN,
) -> Report:
    """Hold the subjects of the frame against its baseline. Equal rows give an equal report.

    `end_point`, `margin`: how agents that are models are compared, see `compare`.
    """
    census = rows if isinstance(rows, Census) else Census.of(rows)
    lines, subjects = tuple(lines_of(census, frame.baseline)), judged(census, frame)
    harms = tuple(c for line in lines if line.condition in subjects for c in line.changes.harmed)
    models = models_of(census, frame, end_point, margin)
    worse, undecided = statistical(models.families if models else (), end_point, margin)
    blocking = (*blocks(census, subjects, harms), *worse)
    open_ = (*doubts(census, frame), *undecided)
    return Report(
        census=census,
        frame=frame,
        subjects=subjects,
        lines=lines,
        summaries=tuple(summaries_of(census, lines)),
        harms=harms,
        left=tuple(left(census, subjects)),
        findings=(*blocking, *open_),
        verdict="block" if blocking else "inconclusive" if open_ else "pass",
        models=models,
    )
