"""The grid: which episodes there are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from types import MappingProxyType
from typing import cast

from retry_guard import GuardError
from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox.agents import AGENTS
from retry_guard_sandbox.conditions import CONDITIONS, leaves_out
from retry_guard_sandbox.harness import HARNESSES, applies as harness_applies
from retry_guard_sandbox.services import SERVICES
from retry_guard_sandbox.tasks import TASKS, Task
from retry_guard_sandbox.world._faults import ATTEMPTS_HIT, FAULTS, Hits, ReadHits, applies
from retry_guard_sandbox.world._operators import OPERATORS
from retry_guard_sandbox.world._variants import ALL_VARIANTS, VARIANTS, variant

CHOICES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "contracts": ALL_VARIANTS,
        "faults": tuple(FAULTS),
        "attempts_hit": ATTEMPTS_HIT,
        "reads_hit": ("0", *ATTEMPTS_HIT),
        "services": tuple(SERVICES),
        "tasks": tuple(TASKS),
        "agents": tuple(AGENTS),
        "conditions": tuple(CONDITIONS),
        "harness": tuple(HARNESSES),
        "operators": tuple(OPERATORS),
    }
)
"""The valid names, by the field of `Grid` that takes them."""

EVERY: Mapping[str, tuple[str, ...]] = MappingProxyType({**CHOICES, "contracts": VARIANTS})
"""What `all` stands for: contracts that lie about their service have to be named."""


FOR_SCRIPTS = frozenset({"paraphrase"})
"""Harnesses in which a user wants what no prompt says: only a script knows of it."""


class GridError(GuardError):
    """The grid names what does not exist, or holds no episode. The message lists the choices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Every combination of these that is an episode of its own, in the order of `CHOICES`.

    `seeds`: how many draws, counted from 0. The arms of a draw follow each other, so whatever is
    stopped half-way can still be compared. `models`: more agents, which are no scripts; where
    there are some, `agents` may be empty. Raises `GridError` where a name does not exist.
    """

    contracts: tuple[str, ...] = VARIANTS
    faults: tuple[str, ...] = tuple(FAULTS)
    attempts_hit: tuple[str, ...] = ("1", "all")
    reads_hit: tuple[str, ...] = ("0",)
    services: tuple[str, ...] = tuple(SERVICES)
    tasks: tuple[str, ...] = tuple(TASKS)
    agents: tuple[str, ...] = tuple(AGENTS)
    conditions: tuple[str, ...] = ("no_guard", "guard")
    harness: tuple[str, ...] = ("none",)
    operators: tuple[str, ...] = ("fencing",)
    seeds: int = 1
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse unknown names, and no draws."""
        for field in fields(self):
            if field.name in CHOICES and not (field.name == "agents" and self._has_only_models):
                ordered = _in_order(field.name, getattr(self, field.name))
                object.__setattr__(self, field.name, ordered)
        if self.seeds < 1:
            msg = f"seeds is {self.seeds}: give at least 1, else there is no episode"
            raise GridError(msg)

    @property
    def _has_only_models(self) -> bool:
        return bool(self.models) and not self.agents

    def specs(self) -> list[Spec]:
        """Return the episodes in their order, which is the order of every report.

        Raises `GridError` where there is none.
        """
        specs = list(self._specs())
        if not specs:
            msg = (
                "no episode is left: these faults, tasks, agents and conditions exclude each other"
            )
            raise GridError(msg)
        return specs

    def _specs(self) -> Iterator[Spec]:
        places = product(
            self.contracts,
            self._hit_faults(),
            [task for task in self.tasks if TASKS[task].service in self.services],
            (*self.agents, *self.models),
            self.harness,
            self.operators,
        )
        for contract, (fault, hits, reads_hit), task, agent, harness, operator in places:
            if not _is_episode(contract, fault, TASKS[task], agent, harness):
                continue
            if agent in self.models and harness in FOR_SCRIPTS:
                continue
            arms = [arm for arm in self.conditions if not leaves_out(arm, agent)]
            for seed, condition in product(range(self.seeds), arms):
                yield Spec(
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

    def _hit_faults(self) -> list[tuple[str, Hits, ReadHits]]:
        """Join faults with the attempts that they hit; where there is no fault, once."""
        hits: list[Hits] = [h for h in ATTEMPTS_HIT if h in self.attempts_hit]
        reads = cast("tuple[ReadHits, ...]", self.reads_hit)
        pairs = list(product(hits, reads))
        return [(f, *pair) for f in self.faults for pair in (pairs if f != "none" else pairs[:1])]


def _is_episode(contract: str, fault: str, task: Task, agent: str, harness: str) -> bool:
    """Whether the fault and the harness can show in the task, and the agent makes no other one."""
    shown = variant(contract, task.service)
    doubled = "double_emission" if agent == "double_emit" else harness
    return (
        applies(fault, [step.tool for step in task.steps])
        and harness_applies(harness, task, shown)
        and harness_applies(doubled, task, shown)
    )


def _in_order(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the order of the choices, each once.

    Raises `GridError` for a name that does not exist, and where there is none.
    """
    valid = CHOICES[name]
    unknown = [item for item in given if item not in valid]
    if unknown or not given:
        what = f"unknown {name}: {', '.join(unknown)}" if unknown else f"no {name} given"
        every = "" if "all" in valid else ", or all"
        msg = f"{what}; choose from {', '.join(valid)}{every}"
        raise GridError(msg)
    return tuple(item for item in valid if item in given)
