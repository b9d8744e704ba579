"""The tools of a world of `adapter_suite` as plain functions, sync and async."""

import asyncio
from collections.abc import Callable, Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from adapter_suite import Told, World
from retry_guard import Done, NotExecuted
from retry_guard_functions import Toolbox

Tools = list[Callable[..., Any]]


def functions_of(world: World) -> Tools:
    """The two tools of a world, as functions that block."""

    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return world.list_charges()

    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount)

    def keyed(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount, key or None)

    keyed.__name__ = "charge"
    return [keyed if world.keyed else charge, list_charges]


def coroutines_of(world: World) -> Tools:
    """The same, as functions that are awaited."""
    charging, listing = functions_of(world)

    async def list_charges() -> Any:
        await asyncio.sleep(0)
        return listing()

    async def charge(customer: str, amount: int) -> Any:
        await asyncio.sleep(0)
        return charging(customer, amount)

    async def keyed(customer: str, amount: int, key: str = "") -> Any:
        await asyncio.sleep(0)
        return charging(customer, amount, key)

    keyed.__name__ = "charge"
    return [keyed if world.keyed else charge, list_charges]


def toolbox_of(world: World, tools: Any = None, **options: Any) -> Toolbox:
    """The toolbox of a world, as another process makes it."""
    made: dict[str, Any] = {"policy": world.policy, **options}
    contracts = made.pop("contracts", [world.contract])
    ledger = made.pop("ledger", None) or world.ledger()
    return Toolbox(ledger, contracts, tools=functions_of(world) if tools is None else tools, **made)


def told(text: str, outcome: object, value: object = None) -> Told:
    """What a model was told of a call, as the suite compares it."""
    match outcome:
        case Done():
            return Told("done", value)
        case NotExecuted():
            return Told("not_executed", text)
        case _:
            return Told("unresolved", text)


def numbers() -> Iterator[int]:
    yield 1


UNKEPT: dict[str, Callable[[], object]] = {
    "generator": numbers,
    "open file": Path(__file__).open,
    "20 MB": lambda: "x" * 20_000_000,
    "20 MB of data": lambda: {"rows": ["x" * 1000] * 20_000},
    "lone surrogate": lambda: "\ud800",
    "generator inside": lambda: {"rows": numbers()},
}


def closed(values: list[object]) -> None:
    """Close what is an open file."""
    for value in values:
        if isinstance(value, TextIOWrapper):
            value.close()
