"""What names a call is what the tool's function gets of it, however a model writes it."""

import asyncio
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from agents import FunctionTool, function_tool
from pydantic import BaseModel, Field, SecretStr

from adapter_suite import CONTRACTS, Call, World
from guards import KEYED
from openai_agents_runs import agent_of, asks, go, guard_of, text_of, told, tools_of
from retry_guard import Contract
from retry_guard_contracts import Key

OPEN = "It is not known whether `charge` took effect"
PLAIN = [Contract(tool="charge")]
FIRST = {"customer": "c1", "amount": 1}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


class Size(Enum):
    BIG = "big"


class Order(BaseModel):
    sku: str
    count: int = 1


def losing(got: list[Any]) -> FunctionTool:
    @function_tool(strict_mode=False)
    async def charge(
        customer: str,
        amount: float,
        note: str = "n",
        price: Decimal = Decimal(2),
        day: date | None = None,
        tags: set[str] | None = None,
        order: Order | None = None,
        size: Size = Size.BIG,
        paid: Annotated[bool, Field(alias="isPaid")] = False,
    ) -> str:
        """Charge a customer; the answer is lost."""
        got.append((customer, amount, note, price, day, tags, order, size, paid))
        raise TimeoutError

    return charge


SAME: list[dict[str, Any]] = [
    {"amount": "1"},
    {"amount": 1.0},
    {"why": "a retry"},
    {"note": "n"},
    {"price": "2.00"},
    {"price": 2},
    {"size": "big"},
    {"isPaid": False},
    {"isPaid": "no"},
    {"order": None},
]


@pytest.mark.parametrize("other", SAME, ids=str)
@pytest.mark.parametrize("approvals", [False, True])
def test_a_lost_call_that_is_written_another_way_is_the_same(
    other: dict[str, Any], approvals: bool, world: World
) -> None:
    got: list[Any] = []
    guard = guard_of(world, [losing(got)], contracts=PLAIN, approvals=approvals)
    calls = Call("c1", FIRST), Call("c2", {**FIRST, **other})
    result = go(agent_of(guard, *(asks(call) for call in calls)))
    assert len(got) == 1
    if approvals:
        (item,) = result.interruptions
        assert asyncio.run(guard.question(item)) is not None
    else:
        assert text_of(result, calls[1]).startswith(OPEN)


def pairs() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        ({"price": 12.5}, {"price": "12.50"}),
        ({"tags": ["a", "b"]}, {"tags": ["b", "a", "b"]}),
        ({"day": "2026-12-01"}, {"day": "2026-12-01T00:00:00"}),
        ({"order": {"sku": "s"}}, {"order": {"sku": "s", "count": "1", "more": 5}}),
    ]


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_values_are_written_in_one_way(pair: Any, world: World) -> None:
    got: list[Any] = []
    guard = guard_of(world, [losing(got)], contracts=PLAIN)
    calls = [Call(f"c{n}", {**FIRST, **each}) for n, each in enumerate(pair)]
    go(agent_of(guard, *(asks(call) for call in calls)))
    assert len(got) == 1


def test_what_the_function_can_tell_apart_is_another_call(world: World) -> None:
    got: list[Any] = []
    others: list[dict[str, Any]] = [{}, {"amount": 2}, {"note": "m"}, {"price": 3}]
    guard = guard_of(world, [losing(got)], contracts=PLAIN)
    calls = [Call(f"c{n}", {**FIRST, **each}) for n, each in enumerate(others)]
    go(agent_of(guard, *(asks(call) for call in calls)))
    assert len(got) == len(set(map(repr, got))) == 4


def test_a_call_that_is_sent_again_has_the_same_arguments(tmp_path: Path) -> None:
    world, got = World(CONTRACTS["key"], tmp_path), list[Any]()

    @function_tool(strict_mode=False)
    async def charge(
        customer: str, price: Decimal, key: Annotated[str, Field(min_length=9)]
    ) -> str:
        """Charge a customer."""
        got.append((customer, price, key))
        if len(got) == 1:
            raise TimeoutError
        return "ok"

    call = Call("c1", {"customer": "c1", "price": "12.50"})
    again = Call("c2", {"customer": "c1", "price": 12.5})
    result = go(agent_of(guard_of(world, [charge], contracts=[KEYED]), asks(call), asks(again)))
    assert text_of(result, call) == text_of(result, again) == "ok"
    assert got[0] == got[1]
    assert got[0][:2] == ("c1", Decimal("12.5"))
    assert len(got) == 2


def test_what_has_no_other_form_goes_out_as_given(world: World) -> None:
    got: list[str] = []

    @function_tool
    async def charge(card: SecretStr) -> str:
        """Charge a card."""
        got.append(card.get_secret_value())
        return "ok"

    call = Call("c1", {"card": "4111"})
    assert (
        text_of(go(agent_of(guard_of(world, [charge], contracts=PLAIN), asks(call))), call) == "ok"
    )
    assert got == ["4111"]


class Till:
    """A callable object, which the SDK reads too."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    async def __call__(self, customer: str, amount: int, note: str = "n") -> str:
        """Charge a customer."""
        self.got.append((customer, amount, note))
        raise TimeoutError


def test_an_object_that_is_called_is_read_as_the_sdk_reads_it(world: World) -> None:
    till = Till()
    tool = function_tool(till, name_override="charge")
    calls = [Call(f"c{n}", {**FIRST, **each}) for n, each in enumerate(({}, {"note": "n"}))]
    go(agent_of(guard_of(world, [tool], contracts=PLAIN), *(asks(call) for call in calls)))
    assert till.got == [("c1", 1, "n")]


def test_keywords_of_any_name_are_read_as_the_sdk_reads_them(world: World) -> None:
    got: list[Any] = []

    @function_tool(strict_mode=False)
    async def charge(amount: int, **rest: int) -> str:
        """Charge."""
        got.append((amount, rest))
        raise TimeoutError

    given: list[dict[str, Any]] = [{"rest": {"a": "5"}}, {"rest": {"a": 5}}]
    calls = [Call(f"c{n}", {"amount": 1, **each}) for n, each in enumerate(given)]
    go(agent_of(guard_of(world, [charge], contracts=PLAIN), *(asks(call) for call in calls)))
    assert got == [(1, {"a": 5})]


# The key


def test_a_key_that_a_model_invents_is_refused(tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    call = Call("c1", {**FIRST, "key": "charge-1"})
    for turn in ("t1", "t2"):
        result = go(agent_of(guard_of(world, turn=turn), asks(call)))
        assert text_of(result, call) == "charge: key is not to be given; nothing was sent"
    assert world.requests == 0
    assert (
        told(go(agent_of(guard_of(world), asks(Call("c2", FIRST)))), Call("c2", {})).kind == "done"
    )


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_guard_that_only_looks_on_takes_the_key_of_a_model(mode: str, tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    call = Call("c1", {**FIRST, "key": "charge-1"})
    assert told(go(agent_of(guard_of(world, mode=mode), asks(call))), call).kind == "done"
    assert list(world.known) == ["charge-1"]


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_body_that_sends_a_header_can_do_so_without_a_guard(mode: str, world: World) -> None:
    from retry_guard_openai_agents import sent_headers

    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Charge a customer."""
        return f"ok {sent_headers()}"

    keyed = Contract(tool="charge", key=Key(param="header:Idempotency-Key"))
    call = Call("c1", FIRST)
    result = go(agent_of(guard_of(world, [charge], contracts=[keyed], mode=mode), asks(call)))
    assert text_of(result, call).startswith("ok {")


# What is no call


@pytest.mark.parametrize("arguments", ['{"a":', '{"key": "x"}', "[1]"])
def test_a_pause_for_what_no_call_is_made_with_is_no_question(
    arguments: str, tmp_path: Path
) -> None:
    """Neither is it one about a call without arguments."""
    world = World(CONTRACTS["key"], tmp_path)

    @function_tool(needs_approval=True)
    async def charge(key: str = "") -> str:
        """Charge."""
        world.charge("c1", 1)
        raise TimeoutError

    contracts = [Contract(tool="charge", key=Key(param="key"))]
    first, second = asks(Call("c1", {})), asks(Call("c2", {}))
    second[0].arguments = arguments

    def guard() -> Any:
        return guard_of(world, [charge], contracts=contracts, approvals=True)

    paused = go(agent_of(guard(), first))
    state = paused.to_state()
    state.approve(paused.interruptions[0])
    go(agent_of(guard()), given=state)
    result = go(agent_of(guard(), second))
    (item,) = result.interruptions
    assert asyncio.run(guard().question(item)) is None
    assert not asyncio.run(guard().reject(item))
    (other,) = go(agent_of(guard(), asks(Call("c3", {})))).interruptions
    assert asyncio.run(guard().question(other)) is not None


def test_a_refusal_says_once_that_nothing_was_sent(world: World) -> None:
    call = asks(Call("c1", {}))
    call[0].arguments = '{"a":'
    text = text_of(go(agent_of(guard_of(world, tools_of(world)), call)), Call("c1", {}))
    assert text.count("nothing was sent") == 1
