"""The bound and the guard, cell by cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from retry_guard_sandbox.bound._cells import SUBJECTS, subject
from retry_guard_sandbox.bound._courses import best_courses
from retry_guard_sandbox.bound._game import SCRIPTS, SHOWN, Cell, Rules, Script, Shown
from retry_guard_sandbox.bound._runs import Leaf, leaves
from retry_guard_sandbox.bound._schedules import Outcome, outcomes
from retry_guard_sandbox.bound._value import Value, total


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the best policy and the guard are worth in one cell, over the same schedules.

    `schedules`: how many; the guard has no part in them, and where it has more attempts hit,
    the mean over what becomes of these counts. `bound`, `guard`: by the outcome of the first
    attempt. `breach`: how the guard broke the rules of the game, if it did.
    """

    contract: str
    cell: Cell
    schedules: int
    bound: Mapping[Outcome, Value]
    guard: Mapping[Outcome, Value]
    breach: str | None = None

    @property
    def best(self) -> Value:
        """The bound over all schedules."""
        return total(self.bound.values())

    @property
    def real(self) -> Value:
        """The guard over all schedules."""
        return total(self.guard.values())

    @property
    def is_equal(self) -> bool:
        """Whether components (1) to (3) are equal, and the guard kept to the rules."""
        return self.breach is None and self.best.compared == self.real.compared


def compare(contract: str, shown: Shown, script: Script, rules: Rules) -> Comparison:
    """Solve a cell, and run the guard in it."""
    write = subject(contract)
    cell = Cell(tool=write.known, shown=shown, script=script, rules=rules)
    solved, played, every = best_courses(cell), list(leaves(write, cell)), len(outcomes(cell))
    hits = max(solved.hits, cell.repeats)
    return Comparison(
        contract=contract,
        cell=cell,
        schedules=every**hits,
        bound={
            outcome: value.times(every ** (hits - solved.hits))
            for outcome, value in solved.by_outcome.items()
        },
        guard=_by_outcome(cell, played, hits),
        breach=next((leaf.breach for leaf in played if leaf.breach), None),
    )


def compare_all(
    contracts: Sequence[str] = SUBJECTS,
    shown: Sequence[Shown] = SHOWN,
    scripts: Sequence[Script] = SCRIPTS,
    rules: Rules | None = None,
) -> Iterator[Comparison]:
    """Yield the comparison of every cell, in order."""
    for contract in contracts:
        for sight in shown:
            for script in scripts:
                yield compare(contract, sight, script, rules or Rules())


def _by_outcome(cell: Cell, played: Sequence[Leaf], hits: int) -> dict[Outcome, Value]:
    """Add up the schedules of each outcome; what a play leaves open stands for all of it."""
    every, deepest = outcomes(cell), max(hits, *(len(leaf.choices) for leaf in played))
    values = dict.fromkeys(every, Value())
    for leaf in played:
        outcome = every[leaf.choices[0]]
        weight = len(every) ** (deepest - len(leaf.choices))
        values[outcome] = values[outcome].plus(leaf.value.times(weight))
    finer = len(every) ** (deepest - hits)
    return {outcome: value.over(finer) for outcome, value in values.items()}
