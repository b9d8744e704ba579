"""What an exception of a tool proves, though the harness's own code lies around its function."""

import asyncio
import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import tenacity
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, tool

from adapter_suite import C1, CONTRACTS, World
from langgraph_agents import asks, awaited, blocking, every_run, graph_of, guard_of, human, told

NOBODY = "http://127.0.0.1:9"
"""Where nothing listens: a connection is refused."""
FORMS = [(blocking, "function"), (awaited, "function"), (awaited, "coroutine")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def charging(world: World, kind: str, *first: str) -> Any:
    """A tool that asks these addresses first, one in each call."""
    addresses = itertools.chain(first, itertools.repeat(""))

    @tool("charge")
    def function(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        if address := next(addresses):
            httpx.post(address)
        return world.charge(customer, amount)

    @tool("charge")
    async def coroutine(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        if address := next(addresses):
            async with httpx.AsyncClient() as client:
                await client.post(address)
        return world.charge(customer, amount)

    return function if kind == "function" else coroutine


@pytest.mark.parametrize(("run", "form"), FORMS)
@pytest.mark.parametrize("kind", ["agent", "node"])
def test_a_refused_connection_proves_that_nothing_ran(
    kind: Any, run: Callable[..., Any], form: str, world: World
) -> None:
    charge = charging(world, form, NOBODY)
    guard = guard_of(world, [charge])
    with pytest.raises(httpx.ConnectError):
        run(graph_of(kind, guard, [charge], asks(C1)), human("h1"))
    (record,) = world.ledger().list("acme")
    assert record.state == "not_executed"
    end = run(graph_of(kind, guard, [charge], asks(C1)), human("h1"))
    assert told(end["messages"])["c1"].content == {"id": "ch_1"}
    assert len(world.effects) == 1


def twice(world: World) -> Callable[..., Any]:
    """A function that is called again blindly: it commits, and then finds nobody."""
    tried = list[int]()

    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        tried.append(1)
        if len(tried) == 1:
            world.charge(customer, amount)
            raise httpx.ReadTimeout("no answer")
        httpx.post(NOBODY)
        return {}

    return charge


def by_tenacity(charge: Callable[..., Any]) -> Callable[..., Any]:
    again = tenacity.retry(stop=tenacity.stop_after_attempt(2), reraise=True)
    return again(charge)


def by_fallback(charge: Callable[..., Any]) -> Callable[..., Any]:
    def of_one(arguments: Any) -> Any:
        return charge(**arguments)

    first: Any = RunnableLambda(of_one)
    both = first.with_fallbacks([RunnableLambda(of_one)])

    def fallen(customer: str, amount: int) -> Any:
        """Charge a customer."""
        return both.invoke({"customer": customer, "amount": amount})

    return fallen


def by_retry(charge: Callable[..., Any]) -> Callable[..., Any]:
    def of_one(arguments: Any) -> Any:
        return charge(**arguments)

    first: Any = RunnableLambda(of_one)
    retrying = first.with_retry(stop_after_attempt=2, wait_exponential_jitter=False)

    def retried(customer: str, amount: int) -> Any:
        """Charge a customer."""
        return retrying.invoke({"customer": customer, "amount": amount})

    return retried


@every_run
@pytest.mark.parametrize("wrapped", [by_tenacity, by_fallback, by_retry])
def test_a_refused_connection_after_another_try_proves_nothing(
    wrapped: Callable[..., Any], run: Callable[..., Any], world: World
) -> None:
    made: Any = StructuredTool
    charge = made.from_function(wrapped(twice(world)), name="charge")
    # A fallback raises the first error, which is unknown by itself.
    end = run(graph_of("agent", guard_of(world, [charge]), [charge], asks(C1)), human("h1"))
    assert "not known whether" in str(told(end["messages"])["c1"].content)
    (record,) = world.ledger().list("acme")
    assert record.state == "open"
    assert len(world.effects) == 1


class Held(AsyncCallbackHandler):
    """Holds a tool just before its function is called."""

    def __init__(self) -> None:
        self.holds, self.lets_go = threading.Event(), threading.Event()

    async def on_tool_start(self, *args: Any, **kwargs: Any) -> None:
        self.holds.set()
        await passed(self.lets_go)


async def passed(event: threading.Event) -> None:
    """Wait for an event of another thread."""
    async with asyncio.timeout(60):
        while not event.is_set():  # noqa: ASYNC110 - asyncio has no event for other threads
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("kind", ["agent", "node"])
@pytest.mark.parametrize("form", ["function", "coroutine"])
async def test_a_run_that_is_cancelled_before_the_function_is_called_sends_nothing(
    form: str, kind: Any, world: World
) -> None:
    """A function runs in a thread, which does not end with the run."""
    charge, held = charging(world, form), Held()
    graph = graph_of(kind, guard_of(world, [charge]), [charge], asks(C1))
    running = asyncio.create_task(graph.ainvoke(human("h1"), {"callbacks": [held]}))
    await passed(held.holds)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    held.lets_go.set()
    await asyncio.get_running_loop().shutdown_default_executor()  # its threads have ended
    assert [record.state for record in world.ledger().list("acme")] == ["not_executed"]
    assert world.requests == 0


@pytest.mark.parametrize("kind", ["agent", "node"])
async def test_a_run_that_is_cancelled_inside_the_function_leaves_its_outcome_unknown(
    kind: Any, world: World
) -> None:
    began = asyncio.Event()

    @tool
    async def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, and wait for ever."""
        result = world.charge(customer, amount)
        began.set()
        await asyncio.Event().wait()
        return result

    graph = graph_of(kind, guard_of(world, [charge]), [charge], asks(C1))
    running = asyncio.create_task(graph.ainvoke(human("h1")))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [record.state for record in world.ledger().list("acme")] == ["open"]


@pytest.mark.parametrize("kind", ["agent", "node"])
def test_a_tool_that_must_be_awaited_says_so_where_nobody_awaits(kind: Any, world: World) -> None:
    charge = charging(world, "coroutine", NOBODY)
    guard = guard_of(world, [charge])
    # What LangChain itself raises for such a tool; the guard hands it through.
    with pytest.raises(NotImplementedError, match="sync invocation"):
        graph_of(kind, guard, [charge], asks(C1)).invoke(human("h1"))
    assert [record.state for record in world.ledger().list("acme")] == ["not_executed"]
    with pytest.raises(httpx.ConnectError):
        asyncio.run(graph_of(kind, guard, [charge], asks(C1)).ainvoke(human("h1")))
