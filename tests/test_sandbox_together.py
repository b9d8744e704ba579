"""Several callers on one virtual clock: one at a time, in an order that is always the same."""

import contextvars
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st

from retry_guard_sandbox.world._clock import VirtualClock
from retry_guard_sandbox.world._together import run_together

ALONE = "while the tasks of this test run, nothing else may"
naps = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=5)


class Noted(NamedTuple):
    """Who did what, and when."""

    who: str
    at: float


def _sleeper(clock: VirtualClock, log: list[Noted], name: str, pauses: list[float]) -> str:
    for pause in pauses:
        log.append(Noted(name, clock.time))
        clock.sleep(pause)
    return f"{name} at {clock.time:g}"


def _play(plans: list[list[float]], events: list[float]) -> tuple[list[str], list[Noted]]:
    clock, log = VirtualClock(0.0), list[Noted]()
    for number, when in enumerate(events):
        clock.at(when, partial(_note, clock, log, f"event {number}"))
    tasks = [partial(_sleeper, clock, log, f"task {n}", plan) for n, plan in enumerate(plans)]
    return run_together(clock, tasks), log


def _note(clock: VirtualClock, log: list[Noted], name: str) -> None:
    log.append(Noted(name, clock.time))


@given(plans=st.lists(naps, max_size=4), events=naps)
def test_each_task_sees_the_times_that_it_would_see_alone_and_time_never_goes_back(
    plans: list[list[float]], events: list[float]
) -> None:
    results, log = _play(plans, events)
    assert results == [f"task {n} at {sum(plan):g}" for n, plan in enumerate(plans)]
    assert [noted.at for noted in log] == sorted(noted.at for noted in log)
    for number, plan in enumerate(plans):
        mine = [noted.at for noted in log if noted.who == f"task {number}"]
        assert mine == [sum(plan[:step]) for step in range(len(plan))]


@given(plans=st.lists(naps, max_size=4), events=naps)
def test_two_runs_of_the_same_tasks_are_equal(
    plans: list[list[float]], events: list[float]
) -> None:
    assert _play(plans, events) == _play(plans, events)


@given(plan=naps, events=naps)
def test_one_task_runs_as_if_it_were_not_in_a_thread(
    plan: list[float], events: list[float]
) -> None:
    clock, log = VirtualClock(0.0), list[Noted]()
    for number, when in enumerate(events):
        clock.at(when, partial(_note, clock, log, f"event {number}"))
    result = _sleeper(clock, log, "task 0", plan)
    assert _play([plan], events) == ([result], log)


def test_among_equals_the_one_that_has_waited_longest_goes_first() -> None:
    _, log = _play([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0]], [])
    order = [noted.who[-1] for noted in log]
    assert order == ["0", "1", "2", "2", "1", "0", "2", "1", "0"]


def test_what_is_due_happens_before_those_go_on_whose_time_it_is() -> None:
    _, log = _play([[1.0, 0.0], [1.0, 0.0]], [1.0])
    assert [noted.who for noted in log][2:] == ["event 0", "task 0", "task 1"]


def test_a_task_goes_on_at_the_event_that_it_waits_for_and_not_before() -> None:
    clock, arrived = VirtualClock(0.0), list[float]()
    clock.at(3.0, lambda: arrived.append(clock.time))
    clock.at(3.0, lambda: arrived.append(-1.0))

    def wait() -> tuple[float, int]:
        clock.advance(10.0, lambda: bool(arrived))
        return clock.time, len(arrived)

    def other() -> tuple[float, int]:
        clock.sleep(5.0)
        return clock.time, len(arrived)

    assert run_together(clock, [other, wait]) == [(5.0, 2), (3.0, 1)]


def test_a_task_can_wait_for_what_another_task_does() -> None:
    clock, done = VirtualClock(0.0), list[str]()

    def wait() -> float:
        clock.advance(10.0, lambda: bool(done))
        return clock.time

    def act() -> float:
        clock.sleep(4.0)
        done.append("it")
        clock.sleep(4.0)
        return clock.time

    assert run_together(clock, [wait, act]) == [4.0, 8.0]


def test_only_one_runs_at_a_time() -> None:
    clock, alone = VirtualClock(), threading.Lock()

    def run() -> None:
        for _ in range(50):
            assert alone.acquire(blocking=False), ALONE
            time.sleep(0)  # lets another thread on, if one is there
            alone.release()
            clock.sleep(1.0)

    run_together(clock, [run] * 8)


def test_what_a_task_raises_ends_it_alone_and_the_first_is_raised_in_the_end() -> None:
    clock, ended = VirtualClock(0.0), list[float]()

    def fail(after: float, error: type[BaseException]) -> None:
        clock.sleep(after)
        raise error

    def go_on() -> None:
        clock.sleep(9.0)
        ended.append(clock.time)

    failing = partial(fail, 2.0, KeyboardInterrupt), partial(fail, 1.0, OSError)
    with pytest.raises(KeyboardInterrupt):
        run_together(clock, list[Callable[[], None]]([go_on, *failing]))
    assert ended == [9.0]
    clock.sleep(1.0)
    assert clock.time == 10.0


def test_an_event_that_fails_ends_all_tasks_and_leaves_no_thread() -> None:
    clock, ended = VirtualClock(), list[str]()

    def event() -> None:
        raise OSError("broken")

    def task() -> None:
        try:
            clock.sleep(5.0)
            ended.append("went on")
        finally:
            ended.append("ended")
            clock.sleep(5.0)  # nobody would end this wait
            ended.append("went on")

    clock.at(clock.time + 1.0, event)
    before = threading.active_count()
    with pytest.raises(OSError, match="broken"):
        run_together(clock, [task, task])
    assert ended == ["ended", "ended"]
    assert threading.active_count() == before


def test_tasks_see_the_context_of_their_caller_and_keep_changes_to_themselves() -> None:
    clock, turn = VirtualClock(), contextvars.ContextVar("turn", default="none")
    turn.set("caller's")

    def change(name: str) -> str:
        seen = turn.get()
        turn.set(name)
        clock.sleep(1.0)
        return f"{seen} {turn.get()}"

    tasks: list[Callable[[], str]] = [partial(change, "a"), partial(change, "b")]
    assert run_together(clock, tasks) == ["caller's a", "caller's b"]
    assert turn.get() == "caller's"


def test_misuse_is_refused_and_does_not_hang() -> None:
    clock = VirtualClock()

    def nest() -> list[float]:
        return run_together(clock, [lambda: clock.time])

    def thread() -> list[str]:
        said = list[str]()

        def wait() -> None:
            try:
                clock.sleep(1.0)
            except RuntimeError as error:
                said.append(str(error))

        started = threading.Thread(target=wait)
        started.start()
        started.join()
        return said

    with pytest.raises(RuntimeError, match="together already"):
        run_together(clock, [nest])
    assert run_together(clock, [thread]) == [
        ["only the tasks may wait here, not what they started"]
    ]
    assert run_together(clock, list[Callable[[], str]]()) == []
