"""What happens to a guarded call that is stopped, and to a result that cannot be stored."""

import inspect
from collections.abc import Iterator
from functools import cache

import pytest

from retry_guard_core import End, Policy, Terms
from toy_hand import START, Hand, Trace, answers, call_of, told, traces

POLICY = Policy(attempts=1, fresh_sends=1)
KEY_AND_READ = Terms(
    tool="t", keyed=True, retention=900.0, read_back=True, conclusive=True, bound=10.0, lag=2.0
)
NONE = Terms(tool="t", bound=10.0)
KINDS = {"key_and_read": KEY_AND_READ, "none": NONE}
STOPS = (KeyboardInterrupt, SystemExit, RuntimeError)


def again(kind: str, trace: Trace) -> Hand:
    """Play a run once more, up to the step at which it was cut off."""
    hand = Hand(call_of(), KINDS[kind], POLICY)
    for _, reply in trace.told:
        hand.give(reply)
    return hand


@cache
def unfinished(kind: str) -> tuple[Trace, ...]:
    """Every run, cut off at every step."""
    runs: dict[int, list[Trace]] = {}
    for depth in range(9):
        start = lambda: Hand(call_of(), KINDS[kind], POLICY)  # noqa: E731 - one word
        runs[depth] = [t for t in traces(start, answers, depth) if t.end is None]
    return tuple(trace for found in runs.values() for trace in found)


def stopped(kind: str) -> Iterator[tuple[Trace, Hand]]:
    for trace in unfinished(kind):
        yield trace, again(kind, trace)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("stop", STOPS)
def test_whatever_stops_a_call_releases_its_lease_and_is_raised_again(
    kind: str, stop: type[BaseException]
) -> None:
    seen: set[str] = set()
    for _, hand in stopped(kind):
        does, error = hand.does, stop("stop")
        seen.add(does)
        held = hand.record.state == "open" and does != "claim" and hand.record.owner == "A"
        if not held:
            continue
        before = hand.record
        step = hand.engine.throw(error)
        assert step.do == "save"
        assert step.record.owner == before.owner
        assert step.record.state == before.state
        with pytest.raises(stop) as caught:
            hand.engine.send(told(START + 99, step.record))
        assert caught.value is error
    assert seen >= {"claim", "hold", "save", "send", "ask", "wait"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_stopped_before_a_save_was_stored_keeps_what_was_stored(kind: str) -> None:
    """Nothing was sent under the new generation, so the record must not say so."""
    for trace, hand in stopped(kind):
        if hand.does != "hold":
            continue
        step, known = hand.engine.throw(KeyboardInterrupt()), trace.told[-1].reply[1]
        assert step.do == "save"
        assert (step.record.generation, step.record.key) == (known.generation, known.key)
        assert step.record.sends in (known.sends, known.sends[:-1])
        assert step.record.ended is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_send_that_is_stopped_may_have_run_and_never_counts_as_ended(kind: str) -> None:
    for _, hand in stopped(kind):
        if hand.does == "send":
            record = hand.record
            step = hand.engine.throw(KeyboardInterrupt())
            assert step.record == record
            assert (step.record.state, step.record.ended) == ("open", None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_is_stopped_while_it_holds_nothing_asks_for_nothing(kind: str) -> None:
    for _, hand in stopped(kind):
        if hand.does == "claim":
            with pytest.raises(KeyboardInterrupt):
                hand.engine.throw(KeyboardInterrupt())


def test_a_call_that_is_stopped_while_it_waits_for_another_asks_for_nothing() -> None:
    hand = Hand(call_of(), NONE).tell(START, owner="B")
    assert hand.does == "wait"
    with pytest.raises(KeyboardInterrupt):
        hand.engine.throw(KeyboardInterrupt())


@pytest.mark.parametrize("kind", KINDS)
def test_a_generator_that_is_closed_yields_nothing(kind: str) -> None:
    for _, hand in stopped(kind):
        hand.engine.close()  # a generator that yields here raises RuntimeError
        assert inspect.getgeneratorstate(hand.engine) == inspect.GEN_CLOSED


def test_a_release_that_fails_does_not_hide_why_the_call_was_stopped() -> None:
    hand = Hand(call_of(), NONE)
    hand.tell(START)
    stop = KeyboardInterrupt()
    hand.engine.throw(stop)
    with pytest.raises(OSError, match="the ledger is gone") as caught:
        hand.engine.throw(OSError("the ledger is gone"))
    assert caught.value.__context__ is stop


def test_a_result_that_could_not_be_stored_is_told_with_a_warning() -> None:
    hand = Hand(call_of(), NONE).sent(end=End("done", "v")).tell(START + 1, ok=False)
    assert hand.end == End("done", "v", "not_recorded")


def test_a_result_that_was_read_back_and_could_not_be_stored_is_told_too() -> None:
    hand = Hand(call_of(), Terms(tool="t", read_back=True)).sent()
    hand.tell(START + 1, seen="ours", read_at=START + 1, value="v").tell(START + 1, ok=False)
    assert hand.end == End("done", "v", "not_recorded")


def test_a_refusal_that_could_not_be_stored_settles_nothing_since_another_may_hold_it() -> None:
    hand = Hand(call_of(), NONE).sent(end=End("not_executed", "e")).tell(START + 1, ok=False)
    assert hand.does == "claim"


def test_an_unresolved_end_that_another_has_overtaken_is_looked_up_again() -> None:
    hand = Hand(call_of(), NONE).sent().tell(START + 2, ok=False, asked_at=START + 2)
    hand = hand.tell(START + 2, ok=False)
    assert hand.step is not None
    assert (hand.end, hand.step.do) == (None, "claim")
