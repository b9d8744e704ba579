"""What is put into the guard, and whose calls they are."""

import asyncio
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    FunctionTool,
    UserError,
    WebSearchTool,
    function_tool,
)
from agents.testing import ScriptedModel, function_call

from adapter_suite import C1, CONTRACTS, Call, World
from guards import KEYED, LISTED, PLAIN, changed
from openai_agents_runs import (
    DONE,
    agent_of,
    asks,
    go,
    guard_of,
    note_of,
    plainly,
    text_of,
    told,
    tools_of,
)
from retry_guard import Answer, AsyncGuard, Contract, UsageError
from retry_guard_openai_agents import AgentGuard
from retry_guard_outcomes import classify

C2 = C1._replace(id="c2")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Parts that do not fit


def test_a_contract_for_a_tool_that_the_agent_lacks_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match=r"'refund', but the tools are: charge, list_charges"):
        guard_of(world, contracts=[Contract(tool="refund")])


@pytest.mark.parametrize("given", [5, None, PLAIN, [PLAIN, "charge"]])
def test_what_is_no_contract_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="contracts: "):
        guard_of(world, contracts=given)


def test_two_tools_with_one_name_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="two are named 'charge'"):
        guard_of(world, [*tools_of(world), *tools_of(world)])


def test_a_tool_that_takes_no_key_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="charge must take the parameter 'key'"):
        guard_of(world, contracts=[KEYED])


def test_a_read_back_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    contract = changed(PLAIN, read_back=LISTED)
    with pytest.raises(UsageError, match="read back by 'list_charges'"):
        guard_of(world, tools_of(world)[:1], contracts=[contract])
    guard_of(world, tools_of(world)[:1], contracts=[contract], read=world.read)


def test_a_contract_for_what_the_sdk_runs_itself_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match="web_search is run by the SDK or the model's host"):
        guard_of(world, [WebSearchTool()], contracts=[Contract(tool="web_search")])
    assert guard_of(world, [WebSearchTool()], contracts=[]).tools == [WebSearchTool()]


def test_a_contract_for_an_agent_is_refused(world: World) -> None:
    tool: Any = Agent(name="clerk").as_tool("charge", "Charge.")
    with pytest.raises(UsageError, match="charge runs an agent: give contracts for the tools"):
        guard_of(world, [tool])


def test_a_reader_that_nothing_here_can_call_is_refused(world: World) -> None:
    (charge, _), name = tools_of(world), "list_charges"
    searches = WebSearchTool()
    searching = changed(PLAIN, read_back=LISTED.model_copy(update={"tool": searches.name}))
    with pytest.raises(UsageError, match="web_search is run by the model's host and reads nothing"):
        guard_of(world, [charge, searches], contracts=[searching])
    guard_of(world, [charge, searches], contracts=[searching], read=world.read)
    asking: Any = Agent(name="clerk").as_tool(name, "List.")
    with pytest.raises(UsageError, match="list_charges runs an agent, which is no evidence"):
        guard_of(world, [charge, asking], contracts=[changed(PLAIN, read_back=LISTED)])


def test_a_reader_that_hides_its_errors_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = changed(PLAIN, read_back=LISTED)
    hiding = "retry_guard_openai_agents._failures.resolve_function_tool_failure_error_function"

    def resolve(tool: FunctionTool) -> Any:
        return len if tool.name == "list_charges" else None

    monkeypatch.setattr(hiding, resolve)
    with pytest.raises(UsageError, match="list_charges hides its errors"):
        guard_of(world, contracts=[reading])


def test_a_tool_that_is_guarded_already_is_refused(world: World) -> None:
    guarded = guard_of(world).tools
    with pytest.raises(UsageError, match="charge is guarded already, and would wait for itself"):
        guard_of(world, guarded)
    assert guard_of(world, guarded, contracts=[]).tools == guarded

    @function_tool
    @AsyncGuard(world.ledger(), [], classify=classify).tool(PLAIN)
    async def charge(customer: str, amount: int) -> str:
        """Charge a customer."""
        return "ok"

    with pytest.raises(UsageError, match="charge is guarded already"):
        guard_of(world, [charge])


@pytest.mark.parametrize("given", [5, None, "charge", function_tool(len, name_override="charge")])
def test_what_is_no_list_of_tools_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="tools: give a list, not"):
        AgentGuard(world.ledger(), [PLAIN], tools=given, scope="acme")


@pytest.mark.parametrize("given", ["happened", None, {"what": "happened"}])
def test_what_is_no_answer_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="answer: give an Answer, as Answer"):
        guard_of(world).settle("0" * 16, given)


@pytest.mark.parametrize("given", [None, 5])
def test_what_is_no_question_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="question: give a Question, or its id"):
        guard_of(world).settle(given, Answer("abandon"))


@pytest.mark.parametrize("given", [5, None, len])
def test_what_is_no_tool_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="give tools of the SDK"):
        guard_of(world, [given])


@pytest.mark.parametrize("given", [{"scope": ""}, {"scope": None}, {"scope": 5}, {"turn": ""}])
def test_a_scope_or_turn_that_names_nobody_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="give text, or a function of the run's context"):
        guard_of(world, **given)


def test_a_tool_that_still_hides_its_errors_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it would be with a release of the SDK that has no such switch."""

    def keep(_: FunctionTool) -> None:
        """Switch nothing off."""

    monkeypatch.setattr("retry_guard_openai_agents._failures.no_failure_text", keep)
    with pytest.raises(UsageError, match="charge hides its errors: make it with failure_error"):
        guard_of(world)


# Whose call it is


@dataclass
class User:
    account: Any
    message: Any = "m1"


def by_user(world: World, **options: Any) -> AgentGuard:
    def account(user: User) -> Any:
        return user.account

    def message(user: User) -> Any:
        return user.message

    return guard_of(world, scope=account, turn=message, **options)


def test_users_who_share_a_process_share_no_record(world: World) -> None:
    guard = by_user(world)
    for account in ("ann", "bob", "ann"):
        go(agent_of(guard, asks(C1)), context=User(account))
    assert len(world.effects) == 2
    assert len(world.ledger().list("ann")) == len(world.ledger().list("bob")) == 1


@pytest.mark.parametrize("context", [None, User(None), User(""), User(5), {"account": "ann"}])
def test_a_run_that_does_not_say_who_it_is_for_sends_nothing(context: Any, world: World) -> None:
    with pytest.raises(UserError, match=r"Error running tool charge: scope: .*nothing sent"):
        go(agent_of(by_user(world), asks(C1)), context=context)
    assert world.requests == 0


def test_each_message_of_a_user_is_a_turn(world: World) -> None:
    guard = by_user(world)
    runs = [
        go(agent_of(guard, asks(C1)), context=User("ann", message))
        for message in ("m1", "m1", "m2")
    ]
    assert [told(run, C1) for run in runs] == [DONE, DONE, ("done", {"id": "ch_2"})]
    assert "shortly before" in note_of(runs[2], C1)["warning"]


def test_without_a_turn_time_decides(world: World) -> None:
    runs = [go(agent_of(guard_of(world, turn=None), asks(C1))) for _ in range(2)]
    assert [told(run, C1) for run in runs] == [DONE, DONE]


@pytest.mark.parametrize("message", ["", 5])
def test_a_turn_that_cannot_be_one_sends_nothing(message: Any, world: World) -> None:
    with pytest.raises(UserError, match="turn: must give text"):
        go(agent_of(by_user(world), asks(C1)), context=User("ann", message))
    assert world.requests == 0


def test_a_turn_that_was_opened_around_the_run_counts(world: World) -> None:
    async def twice() -> list[Any]:
        guard, runs = guard_of(world, turn=pytest.fail), list[Any]()
        for turn in ("t1", "t2"):
            with AsyncGuard.turn("acme", turn):
                runs.append(await plainly(agent_of(guard, asks(C1))))
        return runs

    assert [told(run, C1)[1] for run in asyncio.run(twice())] == [{"id": "ch_1"}, {"id": "ch_2"}]


def test_an_agent_as_a_tool_and_a_handoff_act_in_the_turn_of_the_run(world: World) -> None:
    guard = by_user(world)
    inner = agent_of(guard, asks(C1))
    third = agent_of(guard, asks(C1))
    tools: list[Any] = [inner.as_tool("clerk", "Charge."), *guard.tools]
    calls = [
        [function_call("clerk", {"input": "Charge c1."}, call_id="o1")],
        asks(C2),
        [function_call("transfer_to_clerk", {}, call_id="o2")],
    ]
    outer = Agent(name="desk", model=ScriptedModel(calls), tools=tools, handoffs=[third])
    result = go(outer, context=User("ann"))
    assert result.last_agent is third
    assert (told(result, C2), told(result, C1)) == (DONE, DONE)
    assert world.requests == len(world.effects) == 1


# Arguments


@pytest.mark.parametrize("arguments", ["", "  ", "null", "{}"])
def test_blank_arguments_are_none(arguments: str, world: World) -> None:
    """B27: models write it so in a stream where a tool takes nothing."""
    ran: list[int] = []

    @function_tool
    def ping() -> str:
        """Ping."""
        ran.append(1)
        return "pong"

    guard = guard_of(world, [ping], contracts=[Contract(tool="ping")])
    calls: list[Any] = [[function_call("ping", {}, call_id=name)] for name in ("c1", "c2")]
    calls[0][0].arguments = arguments
    result = go(agent_of(guard, *calls))
    assert [text_of(result, Call(name, {})) for name in ("c1", "c2")] == ["pong", "pong"]
    assert ran == [1]


@pytest.mark.parametrize("arguments", ['{"a":', "[1]", '"x"', '{"a": NaN}', '{"a": 1, "a": 2}'])
def test_what_is_no_object_is_one_clear_line_and_sends_nothing(
    arguments: str, world: World
) -> None:
    call = asks(C1)
    call[0].arguments = arguments
    result = go(agent_of(guard_of(world), call))
    assert text_of(result, C1).startswith("charge: ")
    assert text_of(result, C1).endswith("; nothing was sent")
    assert world.requests == 0


def test_arguments_that_do_not_fit_prove_that_nothing_ran(world: World) -> None:
    bad = Call("c0", {"customer": "c1", "amount": "many"})
    result = go(agent_of(guard_of(world), asks(bad), asks(C1)))
    assert text_of(result, bad).startswith("nothing was executed: Invalid JSON input for tool")
    assert told(result, C1) == DONE
    assert {record.state for record in world.ledger().list("acme")} == {"not_executed", "done"}


def test_a_body_that_raises_the_sdks_own_error_has_run(world: World) -> None:
    @function_tool
    async def charge(customer: str, amount: int) -> str:
        """Charge, and hand on what an inner tool says of its arguments."""
        world.charge(customer, amount)
        inner = dataclasses.replace(tools_of(world)[0])
        from agents.tool import set_function_tool_failure_error_function
        from agents.tool_context import ToolContext

        set_function_tool_failure_error_function(inner, None)
        context: Any = ToolContext(
            context=None, tool_name="charge", tool_call_id="x", tool_arguments="{"
        )
        await inner.on_invoke_tool(context, "{")
        return "never"

    result = go(agent_of(guard_of(world, [charge]), asks(C1)))
    assert told(result, C1).kind == "unresolved"
