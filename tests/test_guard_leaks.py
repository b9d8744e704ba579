"""A turn counts while it is open, and for its own scope."""

import asyncio
import contextvars
import threading

import pytest

from guards import PLAIN, HandClock
from retry_guard import AsyncGuard, Guard, UsageError, outer_turn, turn_here
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify


async def test_a_task_that_outlives_its_turn_is_outside_of_any() -> None:
    guard = AsyncGuard(MemoryLedger(), classify=classify, clock=HandClock())
    ran, over = list[str](), asyncio.Event()

    @guard.tool(PLAIN)
    async def charge(customer: str) -> None:
        ran.append(customer)

    async def work() -> None:
        await charge("inside")
        await over.wait()
        assert turn_here() is None
        assert outer_turn("acme") is None
        with pytest.raises(UsageError, match="outside a turn, or after its end"):
            await charge("after")
        with guard.turn("acme", "t2"):
            await charge("again")

    with guard.turn("acme", "t1"):
        task = asyncio.create_task(work())
        await asyncio.sleep(0.01)
    over.set()
    await task
    assert ran == ["inside", "again"]


def test_a_thread_that_outlives_its_turn_is_outside_of_any() -> None:
    over, seen = threading.Event(), list[object]()

    def work() -> None:
        seen.append(turn_here())
        began.set()
        over.wait(30)
        seen.append(turn_here())

    began = threading.Event()
    with Guard.turn("acme", "t1"):
        thread = threading.Thread(target=contextvars.copy_context().run, args=[work])
        thread.start()
        assert began.wait(30)
    over.set()
    thread.join()
    assert seen == [("acme", "t1"), None]


def test_a_turn_that_is_over_is_not_replaced_by_the_one_around_it() -> None:
    """What began inside of it may act for another account than the one around it."""
    with Guard.turn("acme", "t1"):
        with Guard.turn("acme", "t2"):
            left = contextvars.copy_context()
        assert left.run(turn_here) is None
        assert left.run(outer_turn, "acme") is None
        assert turn_here() == ("acme", "t1")


def test_a_turn_is_closed_by_what_is_raised_inside() -> None:
    left = list[contextvars.Context]()

    def fails() -> None:
        with Guard.turn("acme", "t1"):
            left.append(contextvars.copy_context())
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert left[0].run(turn_here) is None


def test_the_turn_of_an_outer_call_counts_for_its_own_scope_alone() -> None:
    with Guard.turn("acme", "t1"):
        assert (outer_turn("acme"), outer_turn("globex")) == ("t1", None)
        with Guard.turn("globex", "t2"):
            assert (outer_turn("acme"), outer_turn("globex")) == ("t1", "t2")
            with Guard.turn("acme", "t3"):
                assert outer_turn("acme") == "t3"
        with Guard.turn("acme"):
            assert outer_turn("acme") is None
    assert outer_turn("acme") is None
