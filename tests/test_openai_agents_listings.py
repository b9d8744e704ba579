"""MCP servers before agents: what a guard shows of them, refuses, and hands on."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from agents import UserError
from agents.mcp import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult

from adapter_suite import C1, CONTRACTS, Call, World
from guards import KEYED, LISTED, PLAIN, Flaky, changed
from openai_agents_runs import (
    OPEN,
    agent_of,
    asks,
    every_run,
    go,
    note_of,
    outputs,
    text_of,
    told,
    tools_of,
)
from openai_agents_tills import answer, giving, guarded, till
from retry_guard import Answer, Contract, Unknown, UsageError
from retry_guard_contracts import Key
from retry_guard_openai_agents import unresolved_in
from retry_guard_outcomes import classify

C2 = C1._replace(id="c2")


def mine(_: Any) -> dict[str, int]:
    return {"mine": 1}


def itself(user: Any) -> Any:
    return user


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# What happens to calls


@every_run
def test_a_lost_answer_is_an_error_in_the_guards_words(run: Any, world: World) -> None:
    world.fates.append("lost_ack")
    result = go(agent_of(guarded(till(world), world=world), asks(C1), asks(C2)), run)
    for call in (C1, C2):
        assert OPEN in text_of(result, call)
        assert "try again" not in text_of(result, call).casefold()
    assert [each.tool for each in unresolved_in(result)] == ["charge"] * 2
    assert world.requests == 1


def test_the_calls_of_one_message_join(world: World) -> None:
    result = go(agent_of(guarded(till(world), world=world), asks(C1, C2)))
    assert text_of(result, C1) == text_of(result, C2)
    assert world.requests == 1


def test_a_model_does_not_see_the_key_and_the_server_gets_it(tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    world.fates.append("lost_ack")
    guard = guarded(till(world), world=world)
    agent = agent_of(guard, asks(C1))
    result = go(agent)
    model: Any = agent.model
    (shown,) = [tool for tool in model.first_call.tools if tool.name == "charge"]
    assert "key" not in shown.params_json_schema["properties"]
    assert shown.params_json_schema["required"] == ["customer", "amount"]
    assert "ch_1" in text_of(result, C1)
    assert (world.requests, len(world.effects), len(world.known)) == (2, 1, 1)


def test_metadata_of_the_application_goes_along(world: World) -> None:
    async def resolver(given: Any) -> dict[str, Any]:
        return {"trace": given.tool_name}

    keyed = changed(PLAIN, key=Key(param="meta:till/key", retention=86400.0))
    server = till(world, tool_meta_resolver=resolver)
    go(agent_of(guarded(server, world=world, contracts=[keyed]), asks(C1)))
    (meta,) = server.metas
    assert meta == {"trace": "charge", "till/key": meta["till/key"]}


def test_the_applications_own_data_stays_beside_the_note(world: World) -> None:
    world.fates.append("lost_ack")
    server = till(world, custom_data_extractor=mine)
    result = go(agent_of(guarded(server, world=world), asks(C1)))
    data = outputs(result)[C1.id].custom_data or {}
    assert data["mine"] == 1
    assert data["retry_guard"]["reason"] == "nothing_can_tell"


def test_an_answer_that_is_an_error_is_unknown(world: World) -> None:
    server = till(world)
    server.body = giving(answer({"error": "500"}, failed=True))
    result = go(agent_of(guarded(server, world=world), asks(C1)))
    assert OPEN in text_of(result, C1)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MCPError(-32602, "Invalid arguments"), "nothing was executed: MCPError"),
        (MCPError(-32001, "Request timed out"), OPEN),
        (UserError("Failed to call tool"), OPEN),
        (ConnectionRefusedError("10.0.0.7"), "nothing was executed: ConnectionRefusedError"),
    ],
)
def test_what_an_error_proves(error: Exception, says: str, world: World) -> None:
    def body(**_: object) -> Any:
        raise error

    server = till(world)
    server.body = body
    assert says in text_of(go(agent_of(guarded(server, world=world), asks(C1))), C1)


def test_a_cancellation_that_nobody_asked_for_is_unknown(world: World) -> None:
    def body(**_: object) -> Any:
        raise asyncio.CancelledError

    server = till(world)
    server.body = body
    assert OPEN in text_of(go(agent_of(guarded(server, world=world), asks(C1))), C1)


def test_arguments_that_cannot_be_guarded_are_one_clear_line(world: World) -> None:
    call = asks(C1)
    call[0].arguments = '{"customer": "c1", "amount": NaN}'
    result = go(agent_of(guarded(till(world), world=world), call))
    assert "nothing was sent" in text_of(result, C1)
    assert world.requests == 0


def test_a_replay_has_the_form_of_the_servers_own_answer(world: World) -> None:
    server = till(world)
    block = {"type": "image", "data": "eA==", "mimeType": "image/png"}
    texts = [{"type": "text", "text": "ok"}, block]
    server.body = giving(CallToolResult.model_validate({"content": texts, "_meta": {"a": 1}}))
    first, second = (go(agent_of(guarded(server, world=world), asks(C1))) for _ in range(2))
    assert text_of(first, C1) == text_of(second, C1)
    assert told(first, C1).content == told(second, C1).content
    assert note_of(second, C1) == {"replayed": True, "warning": None}
    assert len(server.metas) == 1


def test_what_a_person_said_has_the_form_of_an_answer(world: World) -> None:
    world.fates.append("lost_ack")
    guard = guarded(
        till(world, use_structured_content=True),
        world=world,
        ask=giving(Answer("happened", {"id": "ch_1"})),
    )
    assert text_of(go(agent_of(guard, asks(C1))), C1) == '{"id": "ch_1"}'


def test_a_ledger_that_fails_ends_the_run_before_anything_is_sent(world: World) -> None:
    ledger = Flaky(world.ledger())
    guard = guarded(till(world), world=world, ledger=ledger)
    ledger.down.add("claim")
    with pytest.raises(UserError, match="the ledger is down"):
        go(agent_of(guard, asks(C1)))
    assert world.requests == 0


def test_a_tool_without_a_contract_fails_as_before(world: World) -> None:
    world.fates.append("lost_ack")
    guard = guarded(
        till(world), world=world, contracts=[Contract(tool="other")], tools=tools_of(world)[1:]
    )
    with pytest.raises(UsageError, match="'other', but the tools are: charge, list_charges"):
        go(agent_of(guard, asks(C1)))
    guard = guarded(till(world), world=world, contracts=[])
    assert "Please try again" in text_of(go(agent_of(guard, asks(C1))), C1)


def test_users_who_share_a_server_share_no_record(world: World) -> None:
    guard = guarded(till(world), world=world, scope=itself)
    for user in ("ann", "bob", "ann"):
        go(agent_of(guard, asks(C1)), context=user)
    assert len(world.effects) == 2
    with pytest.raises(UserError, match="scope: must give text"):
        go(agent_of(guard, asks(C1)), context=None)
    assert len(world.effects) == 2


@pytest.mark.parametrize("prefixed", [False, True])
def test_a_call_about_which_a_person_was_asked_pauses(prefixed: bool, world: World) -> None:
    world.fates.append("lost_ack")
    name = "mcp_till__charge" if prefixed else "charge"
    guard = guarded(till(world), world=world, approvals=True)
    config: Any = {"include_server_in_tool_names": prefixed}
    calls = [asks(call._replace(tool=name)) for call in (C1, C2)]
    agent = agent_of(guard, *calls, mcp_config=config)
    result = go(agent)
    (item,) = result.interruptions
    question = asyncio.run(guard.question(item))
    assert question is not None
    assert guard.settle(question, Answer("happened", {"id": "ch_1"}))
    state = result.to_state()
    state.approve(item)
    assert "ch_1" in text_of(go(agent, given=state), C2)
    assert world.requests == 1


@pytest.mark.parametrize("policy", ["always", {"charge": "always"}, giving(True)])
def test_the_servers_own_approval_stays_as_it_was(policy: Any, world: World) -> None:
    guard = guarded(till(world, require_approval=policy), world=world, approvals=True)
    assert go(agent_of(guard, asks(C1))).interruptions
    assert world.requests == 0


def test_observing_changes_nothing_that_is_seen(tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    world.fates.append("lost_ack")
    call = Call("c1", {"customer": "c1", "amount": 1, "key": "k"})
    guard = guarded(till(world), world=world, mode="observe")
    result = go(agent_of(guard, asks(call), asks(call._replace(id="c2"))))
    assert "Please try again" in text_of(result, call)
    assert world.requests == 2
    server = till(world)
    assert guarded(server, world=world, mode="off").mcp_servers == [server]


# What is refused


def test_a_contract_for_a_tool_that_nobody_has_is_refused(world: World) -> None:
    guard = guarded(till(world), world=world, contracts=[Contract(tool="refund")])
    with pytest.raises(UsageError, match="'refund', but the tools are: charge, list_charges"):
        go(agent_of(guard, asks(C1)))


def test_a_tool_that_takes_no_key_is_refused(world: World) -> None:
    guard = guarded(till(world), world=world, contracts=[KEYED])
    with pytest.raises(UsageError, match="charge must take the parameter 'key'"):
        go(agent_of(guard, asks(C1)))


def test_a_key_in_a_header_is_refused(world: World) -> None:
    contract = changed(PLAIN, key=Key(param="header:Idempotency-Key"))
    with pytest.raises(UsageError, match="a call of an MCP tool has no headers"):
        guarded(till(world), world=world, contracts=[contract])


FIND = Contract(tool="find", effect="read")


def test_a_read_back_that_no_contract_declares_a_read_is_refused(world: World) -> None:
    """The server is not the application's own, and the guard itself calls its tool."""
    contract = changed(PLAIN, read_back=LISTED)
    with pytest.raises(UsageError, match="charge is read back by list_charges, which no contract"):
        guarded(till(world), world=world, contracts=[contract])
    with pytest.raises(UsageError, match="charge is read back by list_charges, which no contract"):
        guarded(till(world), world=world, contracts=[contract, FIND])
    guarded(till(world), world=world, contracts=[contract], read=world.read)


def test_a_read_back_that_the_server_lacks_is_refused(world: World) -> None:
    contract = changed(PLAIN, read_back=LISTED.model_copy(update={"tool": "find"}))
    guard = guarded(till(world), world=world, contracts=[contract, FIND])
    with pytest.raises(UsageError, match="read back by 'find', which its server lacks"):
        go(agent_of(guard, asks(C1)))


def test_a_preview_that_the_server_lacks_is_refused(world: World) -> None:
    rule = {"preview": "show", "token": "token", "param": "key"}
    guard = guarded(till(world), world=world, contracts=[changed(PLAIN, confirm=rule)])
    with pytest.raises(UsageError, match="previewed by 'show', which its server lacks"):
        go(agent_of(guard, asks(C1)))


def test_what_a_filter_hides_is_not_missed(world: World) -> None:
    server: Any = till(world)
    server.tool_filter = {"blocked_tool_names": ["refund"]}
    refund = Contract(tool="refund", read_back=LISTED.model_copy(update={"tool": "find"}))
    guard = guarded(server, world=world, contracts=[world.contract, refund, FIND])
    assert "ch_1" in text_of(go(agent_of(guard, asks(C1))), C1)


def test_two_servers_with_one_contracted_name_are_refused(world: World) -> None:
    guard = guarded(till(world), till(world, name="other"), world=world)
    config: Any = {"include_server_in_tool_names": True}
    with pytest.raises(UsageError, match="two tools are named 'charge'"):
        go(agent_of(guard, asks(C1), mcp_config=config))
    guard = guarded(till(world), world=world, tools=tools_of(world)[:1])
    with pytest.raises(UsageError, match="two tools are named 'charge'"):
        go(agent_of(guard, asks(C1)))


# What is handed on


def test_all_else_is_the_servers_own(world: World) -> None:
    server = till(world, use_structured_content=True)
    (front,) = guarded(server, world=world).mcp_servers
    assert isinstance(front, MCPServer)
    assert (front.name, front.use_structured_content, front.cached_tools) == ("till", True, None)
    assert getattr(front, "schema") == server.schema  # noqa: B009 - of no type that declares it
    with pytest.raises(AttributeError):
        getattr(front, "nothing")  # noqa: B009 - of no type that declares it

    async def all_of_it() -> list[Any]:
        front_: Any = front
        async with front_:
            return [
                await front_.list_prompts(),
                await front_.get_prompt("p", {"a": 1}),
                await front_.list_resources("x"),
                await front_.list_resource_templates(),
                await front_.read_resource("u:1"),
            ]

    assert asyncio.run(all_of_it()) == [
        ["prompts"],
        ["p", {"a": 1}],
        ["resources", "x"],
        ["templates", None],
        ["u:1"],
    ]


def test_a_call_of_the_applications_own_is_guarded_too(world: World) -> None:
    world.fates.append("lost_ack")
    (front,) = guarded(till(world), world=world).mcp_servers
    given = {"customer": "c1", "amount": 1}
    ends = [asyncio.run(front.call_tool("charge", dict(given))) for _ in range(2)]
    assert [type(classify(end)) for end in ends] == [Unknown, Unknown]
    assert world.requests == 1
