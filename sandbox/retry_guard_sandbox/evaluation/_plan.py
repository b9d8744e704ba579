"""Which episodes a scaffold is put through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import cast

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox._grid import CHOICES as OF_GRID, GridError
from retry_guard_sandbox.reports._failings import SCAFFOLD
from retry_guard_sandbox.reports._verdict import Frame
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.serving import NOBODY
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._faults import Hits, ReadHits, applies
from retry_guard_sandbox.world._operators import OPERATORS

FRAME = Frame(baseline=None, subjects=(SCAFFOLD,))
"""How a report looks at rows of a scaffold: it is held against nothing but the task."""

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **{
            name: OF_GRID[name]
            for name in ("contracts", "faults", "attempts_hit", "reads_hit", "services", "tasks")
        },
        "operator": (NOBODY, *OPERATORS),
    }
)
"""The valid names, by the field of `Plan` that takes them."""


def one_task_per_write() -> tuple[str, ...]:
    """Return the first task of each write that is not idempotent, in the order of the tasks."""
    first: dict[str, str] = {}
    for task in TASKS.values():
        for wanted in task.intended:
            if TOOLS[wanted.tool].effect == "write":
                first.setdefault(wanted.tool, task.name)
    return tuple(dict.fromkeys(first.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every combination of these. `seeds`: the draws themselves, not how many.

    `services` narrows the tasks down; by default a plan has one task for each write.
    Raises `GridError` for a name that does not exist, and where there is nothing to run.
    """

    contracts: tuple[str, ...] = ("native", "keys_everywhere")
    faults: tuple[str, ...] = CHOICES["faults"]
    attempts_hit: tuple[str, ...] = ("1",)
    reads_hit: tuple[str, ...] = ("0",)
    services: tuple[str, ...] = CHOICES["services"]
    tasks: tuple[str, ...] = one_task_per_write()
    seeds: tuple[int, ...] = (0,)
    operator: str = NOBODY

    def __post_init__(self) -> None:
        """Refuse unknown names, and a plan without episodes."""
        for name, valid in CHOICES.items():
            given: str | tuple[str, ...] = getattr(self, name)
            _check(name, (given,) if isinstance(given, str) else given, valid)
        if not self.specs():
            raise GridError(
                f"there is no episode: no task of {', '.join(self.tasks)} belongs to "
                f"{', '.join(self.services)} and can have {', '.join(self.faults)}"
            )

    def specs(self) -> list[Spec]:
        """Return the episodes, in the order of every report."""
        tasks = [name for name in self.tasks if TASKS[name].service in self.services]
        hits = cast("list[tuple[Hits, ReadHits]]", list(product(self.attempts_hit, self.reads_hit)))
        return [
            Spec(
                contract=contract,
                fault=fault,
                attempts_hit=pair[0],
                reads_hit=pair[1],
                task=task,
                agent=SCAFFOLD,
                condition=SCAFFOLD,
                seed=seed,
                operator=self.operator,
            )
            for contract, fault, task in product(self.contracts, self.faults, tasks)
            if applies(fault, [step.tool for step in TASKS[task].steps])
            for pair in (hits if fault != "none" else hits[:1])
            for seed in self.seeds
        ]


def episode(
    *,
    task: str | None = None,
    service: str | None = None,
    fault: str = "none",
    attempts_hit: str = "1",
    reads_hit: str = "0",
    contract: str = "native",
    operator: str = NOBODY,
    seed: int = 0,
) -> Spec:
    """Return one episode of a scaffold.

    `task`: by default the first one of the service that can have the fault; `service`: by default
    that of the task, else billing. Raises `GridError` for a name that does not exist.
    """
    if service is None:
        service = TASKS[task].service if task is not None and task in TASKS else "billing"
    plan = Plan(
        contracts=(contract,),
        faults=(fault,),
        attempts_hit=(attempts_hit,),
        reads_hit=(reads_hit,),
        services=(service,),
        tasks=CHOICES["tasks"] if task is None else (task,),
        seeds=(seed,),
        operator=operator,
    )
    return plan.specs()[0]


def _check(name: str, given: Sequence[str], valid: Sequence[str]) -> None:
    """Raise `GridError` for a name that does not exist, and where there is none."""
    unknown = [item for item in given if item not in valid]
    if unknown or not given:
        what = f"unknown {name}: {', '.join(unknown)}" if unknown else f"no {name} given"
        raise GridError(f"{what}; choose from {', '.join(valid)}")
