"""Turn and key of a call stay with it, in each adapter that runs the tools of an agent."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import function_tool
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

import langgraph_agents as graphs
import openai_agents_runs as sdk
from adapter_suite import CONTRACTS, Call, World
from functions_tools import toolbox_of
from retry_guard import Contract, UsageError, sent_headers
from retry_guard_contracts import Key

HEADER = Contract(tool="charge", key=Key(param="header:Idempotency-Key", retention=3600.0))
PLAIN = Contract(tool="charge")
C1 = Call("c1", {"customer": "c1", "amount": 1})
BEGIN = Call("b1", {"customer": "b1", "amount": 1}, "begin")
Function = Callable[..., Awaitable[Any]]


@dataclass
class Job:
    """One message of a user, and the one call that a model makes of it."""

    world: World
    function: Function
    contracts: list[Contract]
    call: Call = C1
    scope: str = "acme"
    turn: str = "m1"
    mode: str = "guard"

    @property
    def options(self) -> dict[str, Any]:
        return {"contracts": self.contracts, "mode": self.mode}


async def by_functions(job: Job) -> None:
    box = toolbox_of(job.world, [job.function], **job.options)
    await box.call_awaited(job.call.tool, job.call.arguments, scope=job.scope, turn=job.turn)


async def by_langgraph(job: Job) -> None:
    tools = [tool(job.function)]
    guard = graphs.guard_of(job.world, tools, scope=job.scope, **job.options)
    graph = graphs.graph_of("agent", guard, tools, graphs.asks(job.call))
    await graph.ainvoke({"messages": [HumanMessage("Do it.", id=job.turn)]}, graphs.CONFIG)


async def by_openai_agents(job: Job) -> None:
    tools = [function_tool(job.function)]
    place: dict[str, Any] = {"scope": job.scope, "turn": job.turn}
    guard = sdk.guard_of(job.world, tools, **place, **job.options)
    await sdk.plainly(sdk.agent_of(guard, sdk.asks(job.call)))


Run = Callable[[Job], Awaitable[None]]
RUNS: dict[str, Run] = {
    "functions": by_functions,
    "langgraph": by_langgraph,
    "openai_agents": by_openai_agents,
}
every_adapter = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def charging(world: World) -> Function:
    async def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        await asyncio.sleep(0)
        return world.charge(customer, amount)

    return charge


def turns(world: World, scope: str) -> list[str | None]:
    records = world.ledger().list(scope)
    return [record.turn for record in records if record.tool == "charge"]


@every_adapter
@pytest.mark.parametrize("guarded", [False, True])
async def test_a_worker_that_a_tool_begins_acts_in_the_turn_of_each_message(
    guarded: bool, run: Run, world: World
) -> None:
    workers, over = list[asyncio.Task[None]](), asyncio.Event()

    async def work() -> None:
        await over.wait()
        for scope, turn in (("acme", "m1"), ("acme", "m2"), ("acme", "m2"), ("globex", "m2")):
            await run(Job(world, charging(world), [PLAIN], scope=scope, turn=turn))

    async def begin(customer: str, amount: int) -> str:
        """Begin."""
        workers.append(asyncio.create_task(work()))
        await asyncio.sleep(0.01)
        return f"{customer} {amount}"

    contracts = [Contract(tool="begin")] * guarded
    await run(Job(world, begin, contracts, call=BEGIN, turn="m0"))
    over.set()
    await workers[0]
    assert (turns(world, "acme"), turns(world, "globex")) == (["m1", "m2"], ["m2"])
    assert len(world.effects) == 3


@every_adapter
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize(("scope", "turn"), [("acme", "root"), ("globex", "m2")])
async def test_an_agent_inside_a_tool_acts_in_its_turn_for_the_same_account_alone(
    scope: str, turn: str, guarded: bool, run: Run, world: World
) -> None:
    async def begin(customer: str, amount: int) -> str:
        """Let another agent do it."""
        await run(Job(world, charging(world), [PLAIN], scope=scope, turn="m2"))
        return f"{customer} {amount}"

    contracts = [Contract(tool="begin")] * guarded
    await run(Job(world, begin, contracts, call=BEGIN, turn="root"))
    # Agents of the SDK without a guarded tool around them know of no turn.
    alone = run is by_openai_agents and not guarded
    assert turns(world, scope) == ["m2" if alone else turn]


Headers = Callable[[], Awaitable[dict[str, str]]]


def posting(world: World, headers: Headers) -> Function:
    """A tool whose request, the answer to which is lost, goes out with these headers."""

    async def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        found = await headers()
        return world.charge(customer, amount, found.get("Idempotency-Key"))

    return charge


async def forgotten() -> dict[str, str]:
    return {}


async def asked_in_a_pool() -> dict[str, str]:
    with ThreadPoolExecutor(1) as pool:
        return await asyncio.get_running_loop().run_in_executor(pool, sent_headers)


async def asked_in_a_thread() -> dict[str, str]:
    return await asyncio.to_thread(sent_headers)


@every_adapter
@pytest.mark.parametrize(
    ("headers", "requests", "state"),
    [(forgotten, 1, "open"), (asked_in_a_pool, 0, "open"), (asked_in_a_thread, 2, "done")],
)
async def test_a_key_that_did_not_leave_is_not_sent_again(
    headers: Headers, requests: int, state: str, run: Run, world: World
) -> None:
    for _ in range(2):
        world.fates[:] = ["lost_ack"]
        await run(Job(world, posting(world, headers), [HEADER]))
        assert [record.state for record in world.ledger().list("acme")] == [state]
        assert world.requests == requests
    assert len(world.effects) == min(requests, 1)


@every_adapter
async def test_a_worker_that_the_first_call_begins_is_not_given_its_key(
    run: Run, world: World
) -> None:
    inbox, seen = asyncio.Queue[asyncio.Future[None]](), list[object]()
    workers = list[asyncio.Task[None]]()

    async def work() -> None:
        while True:
            asked = await inbox.get()
            try:
                seen.append(sent_headers()["Idempotency-Key"])
            except UsageError as error:
                seen.append(error)
            asked.set_result(None)

    async def charge(customer: str, amount: int) -> str:
        """Charge a customer."""
        if not workers:
            workers.append(asyncio.create_task(work()))
        answer = asyncio.get_running_loop().create_future()
        await inbox.put(answer)
        await answer
        return f"{customer} {amount}"

    for turn in ("m1", "m2"):
        await run(Job(world, charge, [HEADER], turn=turn))
    workers[0].cancel()
    assert isinstance(seen[0], str)
    assert isinstance(seen[1], UsageError)


@every_adapter
@pytest.mark.parametrize("mode", ["observe", "off"])
async def test_where_nothing_is_guarded_a_body_has_nothing_to_send_along(
    mode: str, run: Run, world: World
) -> None:
    async def headers() -> dict[str, str]:
        seen.append(sent_headers())
        return seen[-1]

    seen = list[dict[str, str]]()
    await run(Job(world, posting(world, headers), [HEADER], mode=mode))
    assert seen == [{}]
    assert len(world.effects) == 1


@pytest.mark.parametrize("run", [by_functions, by_langgraph])
async def test_a_tool_without_a_contract_is_given_no_key_of_another(run: Run, world: World) -> None:
    async def headers() -> dict[str, str]:
        seen.append(sent_headers())
        return seen[-1]

    async def begin(customer: str, amount: int) -> str:
        """Begin."""
        seen.append(sent_headers())
        await run(Job(world, posting(world, headers), []))
        return f"{customer} {amount}"

    seen = list[dict[str, str]]()
    keyed = Contract(tool="begin", key=HEADER.key)
    await run(Job(world, begin, [keyed], call=BEGIN))
    assert [bool(each) for each in seen] == [True, False]
