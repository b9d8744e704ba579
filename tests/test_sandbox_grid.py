"""The grid and how it is run: which episodes there are, in what order, and what stops them."""

import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import pytest

from retry_guard_sandbox import CHOICES, EVERY, Grid, GridError, Meter, Spec, WorkerError, run_all
from retry_guard_sandbox._running import AHEAD, BATCH
from retry_guard_sandbox.conditions import leaves_out
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._faults import FAULTS, applies

SMALL = Grid(services=("tickets",), faults=("lost_ack", "none"), agents=("retry",), seeds=2)
LISTS = tuple(CHOICES)


@pytest.mark.parametrize("field", LISTS)
def test_an_unknown_name_lists_the_valid_ones(field: str) -> None:
    for names in (("nonsense",), ()):
        with pytest.raises(GridError, match="choose from") as refused:
            Grid(**{field: names})  # type: ignore[arg-type] # every field but seeds is a tuple
        assert all(name in str(refused.value) for name in CHOICES[field])


@pytest.mark.parametrize("seeds", [0, -1])
def test_a_grid_without_episodes_is_refused(seeds: int) -> None:
    with pytest.raises(GridError, match="no episode"):
        Grid(seeds=seeds)


def test_names_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(GridError, match="exclude each other"):
        Grid(services=("billing",), tasks=("open_ticket",)).specs()


def test_a_contract_that_lies_has_to_be_named() -> None:
    assert set(EVERY["contracts"]) == {"native", "keys_everywhere"} <= set(CHOICES["contracts"])
    assert all(EVERY[name] == CHOICES[name] for name in LISTS if name != "contracts")


def test_where_nothing_fails_the_attempts_hit_make_no_difference_and_run_once() -> None:
    specs = Grid(faults=("none",), attempts_hit=("1", "2", "all"), seeds=1).specs()
    assert {spec.attempts_hit for spec in specs} == {"1"}


def test_the_order_of_the_arguments_does_not_change_the_order_of_the_rows() -> None:
    one = Grid(faults=("lost_ack", "none"), agents=("retry", "new_key"), seeds=2).specs()
    other = Grid(faults=("none", "lost_ack"), agents=("new_key", "retry"), seeds=2).specs()
    assert one == other


def test_the_arms_of_a_draw_follow_each_other() -> None:
    """So whatever is stopped half-way can still be compared."""
    grid = replace(SMALL, conditions=CHOICES["conditions"], agents=CHOICES["agents"])
    specs = grid.specs()
    draws = [list(arms) for _, arms in groupby(specs, lambda spec: replace(spec, condition=""))]
    assert len(draws) == len({replace(spec, condition="") for spec in specs})
    for draw in draws:
        left = [c for c in CHOICES["conditions"] if not leaves_out(c, draw[0].agent)]
        assert [spec.condition for spec in draw] == left


def test_the_arms_are_paired() -> None:
    specs = Grid().specs()
    without = [s for s in specs if s.condition == "no_guard"]
    assert [replace(s, condition="guard") for s in without] == [
        s for s in specs if s.condition == "guard"
    ]


def test_a_fault_is_left_out_where_it_cannot_happen() -> None:
    specs = Grid(seeds=1, contracts=("native",)).specs()
    for fault in FAULTS:
        tasks = {spec.task for spec in specs if spec.fault == fault}
        assert tasks == {t for t in TASKS if applies(fault, [s.tool for s in TASKS[t].steps])}
    batches = [t for t in TASKS.values() if any(TOOLS[s.tool].batch for s in t.steps)]
    assert {spec.task for spec in specs if spec.fault == "partial_batch"} == {
        task.name for task in batches
    }


def test_the_default_grid_has_every_fault_agent_service_and_both_arms() -> None:
    specs = Grid().specs()
    assert {spec.fault for spec in specs} == set(CHOICES["faults"])
    assert {spec.agent for spec in specs} == set(CHOICES["agents"])
    assert {TASKS[spec.task].service for spec in specs} == set(CHOICES["services"])
    assert {spec.condition for spec in specs} == {"no_guard", "guard"}


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_rows_come_in_the_order_of_the_specs_and_progress_counts_them_all(jobs: int) -> None:
    specs, told, meter = SMALL.specs(), list[int](), Meter()
    rows = list(run_all(specs, jobs=jobs, progress=told.append, meter=meter))
    seen = [(r.task, r.fault, r.attempts_hit, r.contract, r.seed, r.condition) for r in rows]
    wanted = [(s.task, s.fault, s.attempts_hit, s.contract, s.seed, s.condition) for s in specs]
    assert [place for place, _ in groupby(seen)] == wanted
    assert sum(told) == meter.episodes == len(specs)
    assert len(meter.peaks) == (1 if jobs == 1 else jobs + 1)
    assert meter.memory > 10_000_000
    assert meter.seconds > 0


class Watched(Sequence[Spec]):
    """Specs that tell how far they were read."""

    def __init__(self, specs: Sequence[Spec]) -> None:
        self.specs, self.read = specs, 0

    def __len__(self) -> int:
        return len(self.specs)

    def __getitem__(self, place: int | slice) -> Spec | Sequence[Spec]:  # type: ignore[override] # only slices are asked for
        assert isinstance(place, slice)
        self.read = max(self.read, place.stop)
        return self.specs[place]


def test_rows_are_streamed() -> None:
    """The first row is there when no more than the first batch has been run."""
    specs = Watched(SMALL.specs() * 40)
    rows = run_all(specs, jobs=1)
    next(rows)
    assert specs.read <= BATCH < len(specs)
    rows.close()  # type: ignore[attr-defined] # it is a generator


def test_no_more_than_a_few_batches_are_under_way() -> None:
    specs = Watched(SMALL.specs() * 20)
    rows = run_all(specs, jobs=2)
    next(rows)
    assert specs.read <= BATCH * 2 * AHEAD < len(specs)
    rows.close()  # type: ignore[attr-defined] # it is a generator


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_is_stopped_keeps_what_was_begun_and_begins_nothing(jobs: int) -> None:
    specs, meter = SMALL.specs() * 20, Meter()
    whole = list(run_all(specs[: BATCH * 2 * AHEAD + BATCH]))
    rows = list(run_all(specs, jobs=jobs, meter=meter, stop=lambda: meter.episodes >= BATCH))
    assert BATCH <= meter.episodes <= BATCH * (2 * AHEAD + 1) < len(specs)
    assert rows == whole[: len(rows)]


class Deadly:
    """What ends the process that unpacks it, as a system short of memory does."""

    def __reduce__(self) -> tuple[object, ...]:
        return _end_this_process, ()


def _end_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_ends_the_run_with_one_line_and_keeps_the_rows_before() -> None:
    specs, meter = SMALL.specs() * 6, Meter()
    deadly: list[Spec] = [*specs, Deadly()]  # type: ignore[list-item] # on purpose
    rows = run_all(deadly, jobs=2, meter=meter)
    kept = [next(rows)]
    with pytest.raises(WorkerError, match="fewer --jobs"):
        kept.extend(rows)
    assert 0 < meter.episodes < len(deadly)
    assert kept == list(run_all(specs[: meter.episodes]))
