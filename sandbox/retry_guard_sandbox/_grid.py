"""The grid: which episodes there are, and running them all, in one process or several."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields
from itertools import product
from multiprocessing import get_context
from types import MappingProxyType
from typing import cast

from retry_guard import GuardError
from retry_guard_sandbox._episode import Spec, run
from retry_guard_sandbox.agents import AGENTS
from retry_guard_sandbox.conditions import CONDITIONS
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.harness import HARNESSES
from retry_guard_sandbox.services import SERVICES
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._faults import ATTEMPTS_HIT, FAULTS, Hits, ReadHits
from retry_guard_sandbox.world._operators import OPERATORS
from retry_guard_sandbox.world._variants import VARIANTS

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "contracts": VARIANTS,
        "faults": tuple(FAULTS),
        "attempts_hit": ATTEMPTS_HIT,
        "reads_hit": ("0", *ATTEMPTS_HIT),
        "services": tuple(SERVICES),
        "agents": tuple(AGENTS),
        "conditions": tuple(CONDITIONS),
        "harness": tuple(HARNESSES),
        "operators": tuple(OPERATORS),
    }
)
"""The valid names, by the field of `Grid` that takes them."""

BATCH = 64
"""Episodes that are handed to a process at a time."""


class GridError(GuardError):
    """The grid names what does not exist, or holds no episode. The message lists the choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Every combination of these, in the order of `CHOICES`. `seeds`: how many, counted from 0.

    Raises `GridError` where there is nothing to run.
    """

    contracts: tuple[str, ...] = VARIANTS
    faults: tuple[str, ...] = tuple(FAULTS)
    attempts_hit: tuple[str, ...] = ("1", "all")
    reads_hit: tuple[str, ...] = ("0",)
    services: tuple[str, ...] = tuple(SERVICES)
    agents: tuple[str, ...] = tuple(AGENTS)
    conditions: tuple[str, ...] = tuple(CONDITIONS)
    harness: tuple[str, ...] = ("none",)
    operators: tuple[str, ...] = ("fencing",)
    seeds: int = 3

    def __post_init__(self) -> None:
        """Refuse unknown names, and a grid without episodes."""
        for field in fields(self):
            if field.name in CHOICES:
                ordered = _in_order(field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, ordered)
        if self.seeds < 1:
            msg = f"seeds is {self.seeds}: give at least 1, else there is no episode"
            raise GridError(msg)

    def specs(self) -> list[Spec]:
        """Return the episodes in their order, which is the order of every report."""
        tasks = [task.name for task in TASKS.values() if task.service in self.services]
        places = product(
            self.contracts,
            self._hit_faults(),
            tasks,
            self.agents,
            self.harness,
            self.conditions,
        )
        return [
            Spec(
                contract=contract,
                fault=fault,
                attempts_hit=hits,
                reads_hit=reads_hit,
                task=task,
                agent=agent,
                harness=harness,
                condition=condition,
                seed=seed,
                operator=operator,
            )
            for contract, (fault, hits, reads_hit), task, agent, harness, condition in places
            for operator in self.operators
            for seed in range(self.seeds)
        ]

    def _hit_faults(self) -> list[tuple[str, Hits, ReadHits]]:
        """Join faults with the attempts that they hit; where there is no fault, once."""
        hits: list[Hits] = [h for h in ATTEMPTS_HIT if h in self.attempts_hit]
        reads = cast("tuple[ReadHits, ...]", self.reads_hit)
        pairs = list(product(hits, reads))
        return [(f, *pair) for f in self.faults for pair in (pairs if f != "none" else pairs[:1])]


def run_all(
    specs: Sequence[Spec], *, jobs: int = 1, progress: Callable[[int], None] | None = None
) -> Iterator[Row]:
    """Yield the rows of all episodes, in the order of the specs, whatever `jobs` is.

    `progress` is told how many episodes have ended since it was told last.
    """
    batches = [specs[start : start + BATCH] for start in range(0, len(specs), BATCH)]
    for batch, rows in zip(batches, _results(batches, jobs), strict=True):
        if progress is not None:
            progress(len(batch))
        yield from rows


def _results(batches: Sequence[Sequence[Spec]], jobs: int) -> Iterator[list[Row]]:
    if jobs == 1 or len(batches) == 1:
        yield from map(_run_batch, batches)
        return
    # Not forked: the caller may have threads, such as that of a progress bar.
    with ProcessPoolExecutor(min(jobs, len(batches)), get_context("spawn")) as pool:
        yield from pool.map(_run_batch, batches)


def _run_batch(specs: Sequence[Spec]) -> list[Row]:
    return [row for spec in specs for row in run(spec)]


def _in_order(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the order of the choices, each once.

    Raises `GridError` for a name that does not exist, and where there is none.
    """
    valid = CHOICES[name]
    unknown = [item for item in given if item not in valid]
    if unknown or not given:
        what = f"unknown {name}: {', '.join(unknown)}" if unknown else f"no {name} given"
        msg = f"{what}; choose from {', '.join(valid)}, or all"
        raise GridError(msg)
    return tuple(item for item in valid if item in given)
