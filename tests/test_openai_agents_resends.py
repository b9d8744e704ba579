"""MCP servers that stand before others, that send calls again, and whose tools sound alike."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import function_tool

from adapter_suite import CONTRACTS, Call, World
from openai_agents_runs import OPEN, agent_of, asks, go, text_of
from openai_agents_tills import (
    Empty,
    Front,
    Resending,
    Telling,
    Till,
    guarded,
    names_shown,
    till,
)
from retry_guard import Contract, UsageError
from retry_guard_openai_agents import AgentGuard

C1 = Call("c1", {"customer": "c1", "amount": 1})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def test_a_key_that_a_model_invents_is_refused(tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    call = C1._replace(arguments={**C1.arguments, "key": "charge-1"})
    for turn in ("t1", "t2"):
        guard = guarded(till(world), world=world, turn=turn)
        assert "charge: key is not to be given; nothing" in text_of(
            go(agent_of(guard, asks(call))), call
        )
    assert world.requests == 0


@pytest.mark.parametrize("prefixed", [False, True])
@pytest.mark.parametrize(
    "name", ["till", "a till that has a name of more than sixty-four letters", "tíll"]
)
def test_an_approval_belongs_to_the_tool_that_it_names(
    name: str, prefixed: bool, tmp_path: Path
) -> None:
    """Whatever ends like the name of a guarded tool of a server is another tool."""
    world = World(CONTRACTS["neither"], tmp_path)

    def other(customer: str, amount: int) -> str:
        """Charge nothing."""
        return "ok"

    others = [
        function_tool(other, name_override=each, needs_approval=True)
        for each in ("dry__charge", "mcp_till__charge")
    ]
    guard = guarded(
        till(world, name=name, require_approval="always"),
        Empty(world, name="x"),
        world=world,
        tools=others,
        approvals=True,
    )
    config: Any = {"include_server_in_tool_names": prefixed}
    served: Any = asyncio.run(names_shown(agent_of(guard, mcp_config=config)))
    names = list(dict.fromkeys([served[0], "dry__charge", "mcp_till__charge"]))
    calls = [asks(Call(f"c{n}", C1.arguments, each))[0] for n, each in enumerate(names)]
    result = go(agent_of(guard, calls, mcp_config=config))
    rejected = [asyncio.run(guard.reject(item)) for item in result.interruptions]
    assert [item.name for item in result.interruptions] == names
    assert rejected == [True, *([False] * (len(names) - 1))]


def test_a_server_that_is_guarded_already_is_refused(world: World) -> None:
    (front,) = guarded(till(world), world=world).mcp_servers
    with pytest.raises(UsageError, match="charge is guarded already, and would wait for itself"):
        guarded(front, world=world)
    other = Contract(tool="list_charges")
    (second,) = guarded(front, world=world, contracts=[other]).mcp_servers
    with pytest.raises(UsageError, match="charge is guarded already"):
        guarded(second, world=world)


@pytest.mark.parametrize("given", [5, None, [5], "till", [Till]])
def test_what_is_no_server_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="mcp_servers: give"):
        AgentGuard(world.ledger(), [], mcp_servers=given, scope="acme")


# What sends calls again


def no_key(server: Any) -> Any:
    server.schema = till(server.world).schema
    return server


@pytest.mark.parametrize("kind", [Front, Telling])
def test_a_server_that_hides_one_that_sends_again_is_refused(kind: Any, world: World) -> None:
    server = no_key(kind(Resending(world)))
    with pytest.raises(UsageError, match="give the one inside max_retry_attempts=0; nothing sent"):
        go(agent_of(guarded(server, world=world), asks(C1)))
    (front,) = guarded(server, world=world).mcp_servers
    with pytest.raises(UsageError, match="give the one inside max_retry_attempts=0; nothing sent"):
        asyncio.run(front.call_tool("charge", dict(C1.arguments)))
    assert world.requests == 0
    server.inner.max_retry_attempts = 0
    go(agent_of(guarded(server, world=world), asks(C1)))
    assert world.requests == server.counted == 1


def test_a_server_that_sends_again_sends_no_guarded_call_again(world: World) -> None:
    """Behind another guard, for another tool, as well."""
    world.fates.extend(("lost_ack",) * 3)
    server = no_key(Resending(world))
    other = Contract(tool="list_charges")
    inner = guarded(server, world=world, contracts=[other]).mcp_servers
    result = go(agent_of(guarded(*inner, world=world), asks(C1)))
    assert OPEN in text_of(result, C1)
    assert (world.requests, server.max_retry_attempts) == (1, 2)


def test_a_server_without_a_guarded_tool_may_do_as_it_likes(world: World) -> None:
    server = Telling(Resending(world))
    world.fates.extend(("lost_ack",) * 2)
    guard = guarded(server, world=world, contracts=[])
    assert "ch_3" in text_of(go(agent_of(guard, asks(C1))), C1)


def test_a_guard_that_only_looks_on_lets_it_send_again(world: World) -> None:
    world.fates.extend(("lost_ack",) * 2)
    server = no_key(Telling(Resending(world)))
    result = go(agent_of(guarded(server, world=world, mode="observe"), asks(C1)))
    assert "ch_3" in text_of(result, C1)
