"""Wrong input of every kind: one clear line, nothing sent, nothing lost."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    HandClock,
    Lab,
    LabMaker,
    Send,
    changed,
    every_guard,
    gives,
)
from retry_guard import (
    ArgumentError,
    AsyncGuard,
    Contract,
    Guard,
    GuardError,
    Outcome,
    Policy,
    UnresolvedError,
    UsageError,
)
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

Kind = type[Guard] | type[AsyncGuard]

CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE


@every_guard
@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        "text",
        None,
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": object()},
        {"x": {1: 2}},
        {"x": "\ud800"},
        {1: 2},
        CYCLE,
        {"key": 7},
        {"x": 10**5000},
        {"x": print},
    ],
    ids=lambda given: type(given).__name__,
)
def test_arguments_that_cannot_be_named_or_kept_are_refused(
    make: LabMaker, given: Args, tmp_path: Path
) -> None:
    """B105, B64."""
    lab = make(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        lab.guard(KEYED).call(given)
    assert "\n" not in str(caught.value)
    assert "argument" in str(caught.value)
    assert (lab.service.requests, lab.records(None)) == ([], [])


@every_guard
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tool": "unlisted"}, "no contract for the tool 'unlisted' .there are: charge."),
        ({"scope": ""}, "scope .the account it acts for. and turn must be text"),
        ({"turn": ""}, "must be text that is not empty"),
        ({"scope": 7}, "must be text that is not empty"),
        ({"turn": 7}, "must be text that is not empty"),
    ],
)
def test_a_call_without_tool_scope_or_turn_is_refused(
    make: LabMaker, wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        lab.guard(PLAIN).call(**wrong)
    assert "\n" not in str(caught.value)
    assert (lab.service.requests, lab.records(None)) == ([], [])


@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
def test_parts_that_do_not_fit_are_refused_at_once(kind: Kind) -> None:
    def build(*contracts: Contract, mode: Any = "guard") -> Guard | AsyncGuard:  # noqa: ANN401 - also wrong ones
        return kind(MemoryLedger(), contracts, classify=classify, mode=mode)

    with pytest.raises(UsageError, match="give one of guard, observe, off"):
        build(mode="on")
    with pytest.raises(UsageError, match="give the guard read="):
        build(READABLE)
    with pytest.raises(UsageError, match="two different contracts"):
        build(PLAIN, KEYED)
    assert build(PLAIN, Contract(tool="charge")).contracts == {"charge": PLAIN}
    guard = build(PLAIN)
    with pytest.raises(UsageError):
        guard.add(changed(READABLE, tool="other"))
    assert guard.contracts == {"charge": PLAIN}


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("field", ["deadline", "attempts", "lease", "max_attempt", "turn_window"])
def test_a_policy_that_no_call_could_live_with_is_refused(field: str, value: float) -> None:
    with pytest.raises(UsageError, match=field):
        Policy(**{field: value})  # type: ignore[arg-type] # any field


def test_a_lease_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="lease=0"):
        Policy(lease=0)


def broken(outcome: object) -> object:
    raise RuntimeError("the classifier has a fault")


def says(value: object) -> Callable[[object], object]:
    return lambda outcome: value


@every_guard
@pytest.mark.parametrize(
    "faulty",
    [broken, says(None), says("done"), says(True)],
    ids=["raises", "none", "text", "true"],
)
def test_a_classifier_that_fails_proves_nothing_and_says_so(
    make: LabMaker,
    faulty: Callable[[object], object],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = make(tmp_path)
    outcome = lab.guard(PLAIN, classify=faulty).unresolved()
    assert outcome.reason == "nothing_can_tell"
    assert any("classify" in record.message for record in caplog.records)
    with pytest.raises(UnresolvedError, match="not known whether"):
        outcome.unwrap()
    assert lab.guard(PLAIN).unresolved().action == outcome.action
    assert len(lab.service.requests) == 1


@every_guard
@pytest.mark.parametrize("faulty", [broken, says(None)], ids=["raises", "none"])
def test_a_classifier_that_fails_stops_no_read(
    make: LabMaker, faulty: Callable[[object], object], tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(Contract(tool="charge", effect="read"), classify=faulty)
    assert guard.done(send=gives(7)).value == 7


async def later(arguments: Args, extra: Extra) -> None:
    raise AssertionError("it ran")


class Awaited:
    """An object that has to be awaited when it is called."""

    async def __call__(self, arguments: Args, extra: Extra) -> None:
        raise AssertionError("it ran")


@pytest.mark.parametrize(
    "send", [later, functools.partial(later), Awaited()], ids=["function", "partial", "object"]
)
def test_an_async_send_is_refused_by_the_guard_that_blocks(send: Send, tmp_path: Path) -> None:
    lab = Lab("sync", "memory", tmp_path)
    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(PLAIN).call(send=send)
    assert lab.records(None) == []


def test_a_send_that_returns_something_to_await_is_refused_and_proves_nothing(
    tmp_path: Path,
) -> None:
    """What the function did before it returned is not known."""
    lab = Lab("sync", "memory", tmp_path)
    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(PLAIN).call(send=lambda arguments, extra: [later(arguments, extra)][0])
    assert lab.only().state == "open"


def test_async_reads_and_questions_are_refused_by_the_guard_that_blocks(tmp_path: Path) -> None:
    lab = Lab("sync", "memory", tmp_path)
    lab.service.meet("lost_ack", "lost_ack")

    async def awaited(*given: object) -> None:
        raise AssertionError("it ran")

    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(READABLE, read=awaited).call()
    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(PLAIN, ask=awaited).call({**ARGUMENTS, "amount": 6})
    assert lab.guard(READABLE).done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 2


def finished(outcome: Outcome | Coroutine[Any, Any, Outcome]) -> None:
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)


def numbers(arguments: Args, extra: Extra) -> object:
    yield 1


async def async_numbers(arguments: Args, extra: Extra) -> object:
    yield 1


@every_guard
@pytest.mark.parametrize("send", [numbers, async_numbers], ids=["sync", "async"])
def test_a_generator_is_refused_as_a_send(make: LabMaker, send: Send, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(PLAIN).guard
    with pytest.raises(UsageError, match="is a generator"):
        finished(guard.call("charge", ARGUMENTS, send=send, scope="acme"))
    assert lab.records(None) == []


@every_guard
def test_a_usage_error_inside_a_send_proves_nothing(make: LabMaker, tmp_path: Path) -> None:
    """A guard that is used wrongly inside the send says nothing about what the send did."""
    lab = make(tmp_path)

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.send(arguments, extra)
        raise UsageError("an inner guard")

    assert lab.guard(PLAIN).unresolved(send=send).reason == "nothing_can_tell"
    assert len(lab.service.effects) == 1


def test_hints_authorise_nothing(tmp_path: Path) -> None:
    """B34, B32: there is no input that a server's own words or a tool's name could go into."""
    lab = Lab("sync", "memory", tmp_path)
    for name in ("get_or_create_issue", "search_and_delete", "read_and_store"):
        lab.service.meet("lost_ack")
        guard = lab.guard(Contract(tool=name))
        assert guard.unresolved(tool=name).reason == "nothing_can_tell"
        assert guard.unresolved(tool=name).reason == "nothing_can_tell"
    assert len(lab.service.effects) == 3
    taken = {*inspect.signature(Guard.call).parameters, *inspect.signature(Guard).parameters}
    assert not any("hint" in name or "annotation" in name for name in taken)
    with pytest.raises(ValueError, match="idempotentHint"):
        Contract.model_validate({"tool": "charge", "idempotentHint": True})


def test_every_error_of_the_guard_has_one_base() -> None:
    for error in (ArgumentError, UsageError, UnresolvedError):
        assert issubclass(error, GuardError)
    assert HandClock().now().earliest > 0
