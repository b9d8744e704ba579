"""Runs of the OpenAI Agents SDK with its own scripted double, on a world of `adapter_suite`."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agents import Agent, FunctionTool, RunConfig, Runner, ToolCallOutputItem, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call

from adapter_suite import Call, Told, World
from retry_guard_openai_agents import AgentGuard

QUIET = RunConfig(tracing_disabled=True)
Run = Callable[..., Any]
OPEN = "It is not known whether `charge` took effect"
DONE = ("done", {"id": "ch_1"})


def asks(*calls: Call) -> list[Any]:
    """A model's message that makes these calls."""
    return [function_call(call.tool, call.arguments, call_id=call.id) for call in calls]


def tools_of(world: World, **options: Any) -> list[FunctionTool]:
    """The two tools of a world; `charge` has the options."""

    @function_tool
    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return world.list_charges()

    def plain(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount)

    async def keyed(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        """Charge a customer."""
        await asyncio.sleep(0)
        return world.charge(customer, amount, key or None)

    body: Any = keyed if world.keyed else plain
    return [function_tool(body, name_override="charge", **options), list_charges]


def guard_of(world: World, tools: Sequence[Any] = (), **options: Any) -> AgentGuard:
    """The guard of a world, as another process makes it."""
    made: dict[str, Any] = {"scope": world.scope, "policy": world.policy, "turn": "h1", **options}
    contracts = made.pop("contracts", [world.contract])
    ledger = made.pop("ledger", None) or world.ledger()
    return AgentGuard(ledger, contracts, tools=tools or tools_of(world), **made)


def agent_of(guard: AgentGuard, *says: Any, **options: Any) -> Agent[Any]:
    """An agent whose model says these messages, and then a closing one."""
    model = ScriptedModel([*says, [assistant_message("I am done.")]])
    options.setdefault("mcp_servers", guard.mcp_servers)
    return Agent(name="clerk", model=model, tools=list(guard.tools), **options)


async def plainly(agent: Agent[Any], given: Any = "Charge them.", **options: Any) -> Any:
    return await Runner.run(agent, given, run_config=options.pop("run_config", QUIET), **options)


async def streamed(agent: Agent[Any], given: Any = "Charge them.", **options: Any) -> Any:
    config = options.pop("run_config", QUIET)
    result = Runner.run_streamed(agent, given, run_config=config, **options)
    async for _ in result.stream_events():
        pass
    return result


every_run = pytest.mark.parametrize("run", [plainly, streamed])


def go(agent: Agent[Any], run: Run = plainly, **options: Any) -> Any:
    """Run an agent to its end, on a loop of its own."""
    return asyncio.run(run(agent, **options))


def outputs(result: Any) -> dict[str, ToolCallOutputItem]:
    """The items of the calls' results, by the call's id."""
    items = [item for item in result.new_items if isinstance(item, ToolCallOutputItem)]
    found = {raw["call_id"]: item for item in items for raw in [dict(item.raw_item)]}
    assert len(found) == len(items), "one result for each call id"
    return {str(call_id): item for call_id, item in found.items()}


def text_of(result: Any, call: Call) -> str:
    """What the model reads of a call."""
    return str(dict(outputs(result)[call.id].raw_item)["output"])


def note_of(result: Any, call: Call) -> dict[str, Any]:
    """What the application reads of a call."""
    data = outputs(result)[call.id].custom_data or {}
    note: dict[str, Any] = data.get("retry_guard", {})
    return note


def told(result: Any, call: Call) -> Told:
    item = outputs(result)[call.id]
    if "action" in note_of(result, call):
        return Told("unresolved", item.output)
    return Told("done", item.output)


class AgentsBench:
    """An agent on a fresh guard; nothing is kept but the ledger."""

    def __init__(self, run: Run, *, approvals: bool = False) -> None:
        self.run_agent, self.approvals = run, approvals

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger = world.ledger()
        guard = guard_of(world, ledger=ledger, turn=turn, approvals=self.approvals)
        try:
            return asyncio.run(self._told(guard, calls))
        finally:
            ledger.close()

    async def _told(self, guard: AgentGuard, calls: Sequence[Call]) -> list[Told]:
        result = await self.run_agent(agent_of(guard, asks(*calls)))
        asked: dict[str | None, Told] = {}
        for item in result.interruptions:
            question = await guard.question(item)
            assert question is not None
            asked[item.call_id] = Told("unresolved", question.text)
        return [asked.get(call.id) or told(result, call) for call in calls]
