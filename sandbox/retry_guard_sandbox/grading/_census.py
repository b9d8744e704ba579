"""The census: every draw of every cell, kept small, from rows in any order."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from retry_guard_sandbox.conditions import CONDITIONS
from retry_guard_sandbox.grading._rows import OutcomeName, Row


class Cell(NamedTuple):
    """What rows have in common that are draws of the same; arms are compared within it."""

    contract: str
    fault: str
    attempts_hit: str
    reads_hit: str
    harness: str
    operator: str
    stored_500: bool
    service: str
    task: str
    write: int
    tool: str
    agent: str

    @property
    def name(self) -> str:
        """The name of the cell, for a person; the usual is left out."""
        unusual = (
            f", reads {self.reads_hit}" if self.reads_hit != "0" else "",
            f", {self.harness}" if self.harness != "none" else "",
            f", operator {self.operator}" if self.operator != "fencing" else "",
            ", errors stored" if self.stored_500 else "",
        )
        return (
            f"{self.contract} {self.fault} (hits {self.attempts_hit}{''.join(unusual)}) "
            f"{self.task}[{self.write}] {self.tool} {self.agent}"
        )

    @property
    def place(self) -> tuple[object, ...]:
        """What its episodes have in common with those of the task's other writes."""
        return (*self[:9], self.agent)

    @property
    def is_stray(self) -> bool:
        """Whether it is of effects that no intended write accounts for."""
        return self.write < 0


class Draw(NamedTuple):
    """How one draw of a cell came out; equal draws are kept once.

    `resent`: whether more than one send of a write had an effect; else a surplus comes from
    deliveries of one send. `needed`: of an escalation.
    """

    outcome: OutcomeName
    done: bool
    escalated: bool
    needed: bool
    resent: bool

    @property
    def is_false_completion(self) -> bool:
        """Whether the agent said that it was done, and this was not exactly once."""
        return self.done and self.outcome != "exactly_once"


Draws = Mapping[int, Draw]
"""The draws of a cell in one arm, by seed."""


@dataclass(slots=True)
class Costs:
    """What the writes of one arm took, each on its own."""

    calls: "array[int]" = field(default_factory=lambda: array("l"))
    seconds: "array[float]" = field(default_factory=lambda: array("d"))
    tokens: "array[int]" = field(default_factory=lambda: array("q"))


@dataclass(slots=True)
class Census:
    """Counts that grow row by row.

    `cells`: the draws by condition. `ran`: the conditions by place. `costs`: by contract and
    condition. `errors`: by class.
    """

    cells: dict[Cell, dict[str, dict[int, Draw]]] = field(default_factory=dict)
    ran: dict[tuple[object, ...], set[str]] = field(default_factory=dict)
    costs: dict[tuple[str, str], Costs] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    _known: dict[Draw, Draw] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """Return the census of these rows."""
        census = cls()
        for row in rows:
            census.add(row)
        return census

    def add(self, row: Row) -> None:
        """Count one row."""
        cell, draw = _cell(row), _draw(row)
        draws = self.cells.setdefault(cell, {}).setdefault(row.condition, {})
        draws[row.seed] = self._known.setdefault(draw, draw)
        self.ran.setdefault(cell.place, set()).add(row.condition)
        self.episodes += row.write == 0
        if row.error is not None:
            self.errors[row.error] += 1
        if row.write >= 0:
            self._add_costs(row)

    def _add_costs(self, row: Row) -> None:
        costs = self.costs.setdefault((row.contract, row.condition), Costs())
        costs.calls.append(row.calls)
        costs.seconds.append(row.seconds)
        if row.tokens is not None:
            costs.tokens.append(row.tokens)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The arms that there are: the sandbox's own in their order, then others as they came."""
        there = dict.fromkeys(name for arms in self.cells.values() for name in arms)
        known = [name for name in CONDITIONS if name in there]
        return (*known, *(name for name in there if name not in CONDITIONS))

    @property
    def writes(self) -> int:
        """How many draws there are, of all cells in all arms."""
        return sum(len(draws) for arms in self.cells.values() for draws in arms.values())

    def arm(self, condition: str) -> Iterator[tuple[Cell, Draws]]:
        """Yield the cells of one arm, with their draws."""
        for cell, arms in self.cells.items():
            if condition in arms:
                yield cell, arms[condition]


def _cell(row: Row) -> Cell:
    return Cell(
        row.contract,
        row.fault,
        row.attempts_hit,
        row.reads_hit,
        row.harness,
        row.operator,
        row.stored_500,
        row.service,
        row.task,
        row.write,
        row.tool,
        row.agent,
    )


def _draw(row: Row) -> Draw:
    return Draw(
        outcome=row.outcome,
        done=row.claimed == "done",
        escalated=row.escalated,
        needed=row.escalated and row.escalation_needed,
        resent=row.executed_sends > max(row.intended, 1),
    )
