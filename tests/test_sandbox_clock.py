"""Virtual time and chance without state."""

import os
import subprocess
import sys
from functools import partial

from hypothesis import given, strategies as st

from retry_guard_sandbox.world._clock import START, VirtualClock
from retry_guard_sandbox.world._streams import Streams


@given(delays=st.lists(st.floats(0, 100), max_size=20), sleep=st.floats(0, 120))
def test_what_is_due_happens_in_order_and_nothing_else_does(
    delays: list[float], sleep: float
) -> None:
    clock, happened = VirtualClock(0.0), list[tuple[float, int]]()

    def note(order: int) -> None:
        happened.append((clock.time, order))

    for order, delay in enumerate(delays):
        clock.at(delay, partial(note, order))
    clock.sleep(sleep)
    due = sorted((delay, order) for order, delay in enumerate(delays) if delay <= sleep)
    assert happened == due
    assert clock.time == sleep


def test_settling_lets_everything_happen_even_what_events_bring_about() -> None:
    clock, happened = VirtualClock(), list[float]()
    clock.at(START + 5, lambda: _later(clock, happened))
    clock.settle()
    assert happened == [START + 12]


def _later(clock: VirtualClock, happened: list[float]) -> None:
    clock.at(clock.time + 7, lambda: happened.append(clock.time))


def test_the_clock_stops_at_the_event_that_was_waited_for() -> None:
    clock, happened = VirtualClock(), list[str]()
    clock.at(START + 1, lambda: happened.append("response"))
    clock.at(START + 2, lambda: happened.append("later"))
    clock.advance(START + 10, lambda: bool(happened))
    assert (clock.time, happened) == (START + 1, ["response"])


def test_the_core_sees_one_certain_moment() -> None:
    clock = VirtualClock()
    clock.sleep(1.5)
    assert clock.now() == (START + 1.5, START + 1.5)


@given(
    purposes=st.lists(st.text(max_size=8), max_size=6),
    ordinal=st.integers(0, 9),
)
def test_no_draw_depends_on_the_draws_before_it(purposes: list[str], ordinal: int) -> None:
    fresh, used = Streams(7, "task"), Streams(7, "task")
    for purpose in purposes:
        used.token(purpose, ordinal)
        used.shares(3, purpose, ordinal)
    assert used.token("id", ordinal) == fresh.token("id", ordinal)
    assert used.shares(2, "late", ordinal) == fresh.shares(2, "late", ordinal)


def test_seed_purpose_and_ordinals_each_change_a_draw() -> None:
    draws = [
        Streams(1, "task").token("id", 1),
        Streams(2, "task").token("id", 1),
        Streams(1, "other").token("id", 1),
        Streams(1, "task").token("key", 1),
        Streams(1, "task").token("id", 2),
        Streams(1, "task").token("id", 1, 1),
        Streams(1, "task").token("id", 11),
    ]
    assert len(set(draws)) == len(draws)


@given(seed=st.integers(), ordinal=st.integers(0, 1000))
def test_a_draw_stays_within_its_bounds(seed: int, ordinal: int) -> None:
    shares = Streams(seed).shares(8, "late", ordinal)
    assert len(set(shares)) == 8
    assert all(0.0 <= share < 1.0 for share in shares)


def test_draws_are_the_same_in_a_process_with_another_hash_seed() -> None:
    program = (
        "from retry_guard_sandbox.world._streams import Streams;"
        "print(Streams(3, 'task').token('id', 'charge', 2, 0), end='')"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said == [Streams(3, "task").token("id", "charge", 2, 0)] * 2
