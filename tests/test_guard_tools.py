"""`guard.tool` and `guard.turn`: plain functions, sync and async, as guarded tools."""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from guards import KEYED, PLAIN, HandClock, gives
from retry_guard import (
    AsyncGuard,
    Contract,
    Guard,
    NotExecutedError,
    UnresolvedError,
    UsageError,
)
from retry_guard_contracts import Key
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

Kind = type[Guard] | type[AsyncGuard]
Mode = Literal["guard", "observe", "off"]
either = pytest.mark.parametrize("kind", [Guard, AsyncGuard])


def made(kind: Kind, mode: Mode = "guard") -> Guard | AsyncGuard:
    return kind(MemoryLedger(), classify=classify, clock=HandClock(), mode=mode)


def tool(
    guard: Guard | AsyncGuard, contract: Contract, function: Callable[..., Any]
) -> Callable[..., Any]:
    """Decorate the function, or its async form, and return a function that blocks."""
    if isinstance(guard, Guard):
        return guard.tool(contract)(function)

    @functools.wraps(function)
    async def later(*given: object, **named: object) -> object:
        await asyncio.sleep(0)
        return function(*given, **named)

    guarded = guard.tool(contract)(later)
    return functools.wraps(function)(lambda *a, **k: asyncio.run(guarded(*a, **k)))


@either
def test_a_guarded_function_is_called_as_before_and_runs_once_per_turn(kind: Kind) -> None:
    """B123: the adapter calls the function twice."""
    guard, ran = made(kind), list[Any]()

    def charge(customer: str, amount: int = 5) -> dict[str, Any]:
        """Charge a customer."""
        ran.append((customer, amount))
        return {"id": len(ran)}

    guarded = tool(guard, PLAIN, charge)
    with guard.turn("acme", "t1"):
        calls = (
            guarded("c1"),
            guarded("c1", 5),
            guarded(customer="c1"),
            guarded(amount=5, customer="c1"),
        )
    assert list(calls) == [{"id": 1}] * 4
    assert ran == [("c1", 5)]
    assert (guarded.__name__, guarded.__doc__) == ("charge", "Charge a customer.")


@either
def test_every_kind_of_parameter_reaches_the_function(kind: Kind) -> None:
    guard, ran = made(kind), list[Any]()

    def charge(customer: str, /, amount: int, *, note: str = "n", **rest: int) -> str:
        ran.append((customer, amount, note, rest))
        return "ok"

    guarded = tool(guard, PLAIN, charge)
    with guard.turn("acme"):
        guarded("c1", 5, tip=1)
        guarded("c1", amount=5, tip=1, note="n")
        guarded("c1", 5, note="m")
        with pytest.raises(UsageError, match="two values for 'customer'"):
            guarded("c1", 5, customer="c2")
        with pytest.raises(TypeError):
            guarded("c1")
    assert ran == [("c1", 5, "n", {"tip": 1}), ("c1", 5, "m", {})]


@either
@pytest.mark.parametrize("param", ["key", "header:Idempotency-Key", "meta:key"])
def test_the_key_arrives_in_its_parameter_or_in_extra(kind: Kind, param: str) -> None:
    guard, keys = made(kind), list[Any]()
    contract = Contract(tool="charge", key=Key(param=param, retention=86400.0))

    def by_argument(customer: str, key: str | None = None) -> str:
        keys.append(key)
        if len(keys) == 1:
            raise TimeoutError
        return "ok"

    def by_extra(customer: str, extra: dict[str, str]) -> str:
        return by_argument(customer, extra[param])

    guarded = tool(guard, contract, by_argument if param == "key" else by_extra)
    with guard.turn("acme", "t1"):
        assert guarded("c1") == "ok"
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert keys[0] is not None


@either
def test_a_key_that_the_caller_passes_is_kept(kind: Kind) -> None:
    guard, keys = made(kind), list[str | None]()

    def charge(customer: str, key: str | None = None) -> None:
        keys.append(key)

    guarded = tool(guard, KEYED, charge)
    with guard.turn("acme", "t1"):
        guarded("c1", "mine")
        guarded("c1", key="another")
        guarded("c1")
    assert keys == ["mine"]


class Item(BaseModel):
    sku: str
    price: Decimal


@dataclass(frozen=True)
class Place:
    city: str


@either
def test_rich_arguments_reach_the_function_as_they_are(kind: Kind) -> None:
    guard, ran = made(kind), list[Any]()
    given = (Item(sku="a", price=Decimal("1.10")), Place("Ulm"), datetime(2026, 1, 1, tzinfo=UTC))

    def ship(item: Item, place: Place, at: datetime, count: Decimal = Decimal(1)) -> str:
        ran.append((item, place, at))
        return f"{item.sku} to {place.city}"

    guarded = tool(guard, Contract(tool="ship"), ship)
    with guard.turn("acme", "t1"):
        equal = Item(sku="a", price=Decimal("1.1")), Place("Ulm"), given[2]
        assert guarded(*given) == guarded(*equal) == "a to Ulm"
    assert ran == [given]
    assert ran[0][0] is given[0]


@either
def test_what_is_not_done_is_raised_as_what_it_is(kind: Kind) -> None:
    guard = made(kind)
    errors: list[Exception] = [ConnectionRefusedError("nobody"), TimeoutError("lost")]

    def charge(customer: str) -> None:
        raise errors.pop(0)

    guarded = tool(guard, PLAIN, charge)
    with guard.turn("acme", "t1"):
        with pytest.raises(NotExecutedError, match="nobody") as refused:
            guarded("c1")
        with pytest.raises(UnresolvedError, match="not known whether `charge`") as lost:
            guarded("c1")
    assert isinstance(refused.value.__cause__, ConnectionRefusedError)
    assert lost.value.outcome.reason == "nothing_can_tell"


@either
def test_a_guarded_function_needs_a_turn(kind: Kind) -> None:
    ran = list[str]()
    guard = made(kind)
    guarded = tool(guard, PLAIN, ran.append)
    with pytest.raises(UsageError, match="outside a turn"):
        guarded("c1")
    with pytest.raises(UsageError, match="scope"), guard.turn(""):
        guarded("c1")
    assert ran == []


@either
@pytest.mark.parametrize("mode", ["observe", "off"])
def test_in_the_other_modes_a_guarded_function_needs_none(kind: Kind, mode: Mode) -> None:
    ran = list[str]()
    guarded = tool(made(kind, mode=mode), PLAIN, ran.append)
    guarded("c1")
    guarded("c1")
    assert ran == ["c1", "c1"]


def test_turns_nest_and_belong_to_their_thread() -> None:
    guard = made(Guard)
    seen = list[tuple[str, str | None]]()

    def note(where: str) -> None:
        records = guard.ledger.list()
        seen.append((records[-1].about.scope, records[-1].turn))

    guarded = tool(guard, Contract(tool="note"), note)
    with guard.turn("acme", "t1"):
        with guard.turn("globex", "t2"):
            guarded("inner")
        guarded("outer")
        thread = threading.Thread(target=_raises_usage, args=[guarded])
        thread.start()
        thread.join()
    assert seen == [("globex", "t2"), ("acme", "t1")]


def _raises_usage(guarded: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="outside a turn"):
        guarded("thread")


async def test_each_task_has_its_own_turn() -> None:
    guard = AsyncGuard(MemoryLedger(), classify=classify, clock=HandClock())

    @guard.tool(Contract(tool="charge"))
    async def charge(customer: str) -> str:
        await asyncio.sleep(0)
        return customer

    async def act(scope: str) -> None:
        with guard.turn(scope, "t1"):
            await asyncio.sleep(0)
            assert await charge("c1") == "c1"

    await asyncio.gather(*(act(f"scope {number}") for number in range(5)))
    scopes = sorted(record.about.scope for record in guard.ledger.list())
    assert scopes == [f"scope {number}" for number in range(5)]


def generator(customer: str) -> Iterator[str]:
    yield customer


async def async_generator(customer: str) -> AsyncIterator[str]:
    yield customer


async def coroutine(customer: str) -> str:
    return customer


def plain(customer: str) -> str:
    return customer


def with_rest(*customers: str) -> None:
    """Take arguments that have no names."""


@either
@pytest.mark.parametrize(
    ("function", "contract", "message"),
    [
        (generator, PLAIN, "is a generator"),
        (async_generator, PLAIN, "is a generator"),
        (functools.partial(generator, "c1"), PLAIN, "is a generator"),
        (with_rest, PLAIN, "need names"),
        (plain, KEYED, "must take the parameter 'key'"),
        (
            plain,
            Contract(tool="charge", key=Key(param="meta:key")),
            "must take the parameter 'extra'",
        ),
    ],
)
def test_functions_that_cannot_be_guarded_are_refused_when_they_are_decorated(
    kind: Kind, function: Callable[..., Any], contract: Contract, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        made(kind).tool(contract)(function)


@either
@pytest.mark.parametrize("mode", ["guard", "observe", "off"])
def test_a_tool_whose_equal_calls_each_count_is_refused_when_it_is_decorated(
    kind: Kind, mode: Mode
) -> None:
    """A function's arguments do not tell which of them it is, so they would become one."""
    guard = made(kind, mode)
    with pytest.raises(UsageError, match=rf"use {kind.__name__}.call with ordinal=") as caught:
        guard.tool(Contract(tool="add_item", twins="count"))
    assert "\n" not in str(caught.value)
    assert guard.contracts == {}


def test_an_async_function_is_refused_by_the_guard_that_blocks() -> None:
    with pytest.raises(UsageError, match="use AsyncGuard"):
        made(Guard).tool(PLAIN)(coroutine)


async def test_the_async_guard_takes_plain_functions_too() -> None:
    guard = AsyncGuard(MemoryLedger(), [PLAIN], classify=classify)
    outcome = await guard.call("charge", {}, send=gives(7), scope="acme")
    assert outcome.unwrap() == 7
