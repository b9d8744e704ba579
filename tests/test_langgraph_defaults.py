"""The harmful defaults of the harness, switched on: what repeats calls blindly sends nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, RetryPolicy

from adapter_suite import C1, C2, CONTRACTS, Call, World
from guards import changed
from langgraph_agents import (
    asks,
    awaited,
    every_run,
    graph_of,
    guard_of,
    human,
    one_node,
    told,
    tools_of,
)
from retry_guard import Contract, NotExecuted, Unresolved, UsageError
from retry_guard_langgraph._pauses import Pauses
from retry_guard_langgraph._probe import Ran
from retry_guard_langgraph._results import judge
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

RETRY = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
PATIENT = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=Exception)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def failing_twice() -> Any:
    failed = list[int]()

    @tool
    def notify() -> str:
        """Fail twice."""
        failed.append(1)
        if len(failed) < 3:
            raise ConnectionError("transient")
        return "sent"

    return notify


@every_run
@pytest.mark.parametrize("place", ["outer", "inner"])
def test_a_retry_middleware_outside_or_inside_repeats_nothing(
    place: str, run: Callable[..., Any], world: World
) -> None:
    world.fates.append("lost_ack")
    tools = tools_of(world)
    outer, inner = [RETRY] * (place == "outer"), [RETRY] * (place == "inner")
    graph = graph_of("agent", guard_of(world, tools), tools, asks(C1), outer=outer, inner=inner)
    told_of = told(run(graph, human("h1"))["messages"])["c1"]
    assert world.requests == len(world.effects) == 1
    assert "not known whether" in str(told_of.content)
    assert "try again" not in str(told_of.content).casefold()


@every_run
def test_without_the_guard_the_same_middleware_sends_three_times(
    run: Callable[..., Any], world: World
) -> None:
    world.fates.extend(("lost_ack", "lost_ack"))
    tools = tools_of(world)
    guard = guard_of(world, tools, contracts=[])
    run(graph_of("agent", guard, tools, asks(C1), outer=[RETRY]), human("h1"))
    assert len(world.effects) == 3


@every_run
def test_a_retry_policy_of_the_node_repeats_nothing(run: Callable[..., Any], world: World) -> None:
    world.fates.append("lost_ack")
    tools = [*tools_of(world), failing_twice()]
    calls = asks(C1, C2, Call("c3", {}, "notify"))
    graph = graph_of("node", guard_of(world, tools), tools, calls, node={"retry_policy": PATIENT})
    ends = told(run(graph, human("h1"))["messages"])
    assert {ends["c1"].kind, ends["c2"].kind} == {"done", "unresolved"}  # they run side by side
    assert ends["c3"].content == "sent"
    assert world.requests == len(world.effects) == 2


def planned_anew() -> list[Any]:
    """A model's message, as it is made three times: the calls have other ids each time."""
    return [
        asks(C1._replace(id=f"c1-{n}"), C2._replace(id=f"c2-{n}"), Call(f"c3-{n}", {}, "notify"))
        for n in range(3)
    ]


@every_run
@pytest.mark.parametrize("kind", ["agent", "node"])
@pytest.mark.parametrize("place", ["with_retry", "node around the agent"])
def test_a_run_that_is_begun_again_as_a_whole_repeats_nothing(
    place: str, kind: Any, run: Callable[..., Any], world: World
) -> None:
    tools = [*tools_of(world), failing_twice()]
    graph = graph_of(kind, guard_of(world, tools), tools, *planned_anew())
    if place == "with_retry":
        again = graph.with_retry(stop_after_attempt=3, wait_exponential_jitter=False)
    else:
        again = one_node(graph, retry_policy=PATIENT)
    ends = told(run(again, human("h1"))["messages"])
    assert ends["c3-2"].content == "sent"
    kinds = [ends[name].kind for name in ("c1-2", "c2-2")]
    if (kind, run) != ("agent", awaited):  # there a task that fails cancels its siblings
        assert kinds == ["done", "done"]
        assert world.requests == 2
    assert world.requests == len({effect["customer"] for effect in world.effects})
    assert kinds.count("done") <= world.requests


@every_run
def test_a_model_that_is_asked_again_repeats_nothing(run: Callable[..., Any], world: World) -> None:
    class Stutter(AgentMiddleware[Any, Any, Any]):
        """The model's answer is lost twice, each time after it was made."""

        made = 0

        def lose(self, answer: Any) -> Any:
            self.made += 1
            if self.made in (2, 3):  # after the tools have run
                raise ConnectionError("the model's answer was lost")
            return answer

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return self.lose(handler(request))

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            return self.lose(await handler(request))

    world.fates.append("lost_ack")
    tools = tools_of(world)
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    says = [asks(C1), asks(C1._replace(id="a")), asks(C1._replace(id="b"))]
    says.append(asks(C1._replace(id="c")))
    graph = graph_of("agent", guard_of(world, tools), tools, *says, outer=[retry, Stutter()])
    ends = told(run(graph, human("h1"))["messages"])
    assert len(ends) > 1
    assert {each.kind for each in ends.values()} == {"unresolved"}
    assert world.requests == len(world.effects) == 1


def test_a_node_that_is_retried_decides_for_each_of_its_writes(world: World) -> None:
    """B9: it pays, and then something else in its body fails."""
    guard = guard_of(world, contracts=[])
    charge = guard.effect(Contract(tool="charge"))(world.charge)
    tried = list[int]()

    @guard.node
    def node(state: dict[str, Any]) -> dict[str, Any]:
        charge("c1", 10)
        tried.append(1)
        if len(tried) < 3:
            raise ConnectionError("transient")
        return {}

    one_node(node, retry_policy=PATIENT).invoke(human("h1"))
    assert (len(tried), len(world.effects)) == (3, 1)


def test_a_retry_middleware_is_refused_where_it_is_shown(world: World) -> None:
    guard = guard_of(world)
    with pytest.raises(UsageError, match="ToolRetryMiddleware would repeat charge"):
        guard.innermost(RETRY)
    other = ToolRetryMiddleware(tools=["list_charges"])
    assert guard.innermost(other) == [other, guard]


@every_run
@pytest.mark.parametrize("handled", [True, "Oh no.", str])
def test_an_error_that_the_node_made_a_message_of_is_unknown(
    handled: Any, run: Callable[..., Any], world: World
) -> None:
    world.fates.append("lost_ack")
    tools, guard = tools_of(world), guard_of(world)
    node = ToolNode(
        tools,
        wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
        handle_tool_errors=handled,
    )
    given = {"messages": [*human("h1")["messages"], asks(C1)]}
    for _ in range(2):
        end = run(one_node(node), given)
        assert "not known whether" in str(told(end["messages"])["c1"].content)
    assert len(world.effects) == 1


def of_cause(result: Any) -> Any:
    return classify(getattr(result, "__cause__", result))


@every_run
@pytest.mark.parametrize(
    ("error", "known"), [(ConnectionRefusedError, True), (TimeoutError, False)]
)
def test_an_error_that_the_tool_itself_made_a_message_of_is_judged_as_it_was(
    error: type[Exception], known: bool, run: Callable[..., Any], world: World
) -> None:
    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge, and hide what went wrong."""
        world.requests += 1
        raise ToolException("upstream failed") from error()

    charge.handle_tool_error = True
    guard = guard_of(world, [charge], classify=of_cause)
    graph = graph_of("agent", guard, [charge], asks(C1), asks(C1._replace(id="c2")))
    ends = told(run(graph, human("h1"))["messages"])
    if known:
        assert (world.requests, ends["c1"].content) == (2, "upstream failed")
    else:
        assert world.requests == 1
        assert "not known whether" in str(ends["c1"].content)


def test_arguments_that_do_not_fit_the_tool_are_told_as_the_node_tells_them(world: World) -> None:
    tools = tools_of(world)
    wrong = C1._replace(arguments={"customer": "c1", "amount": "much"})
    graph = graph_of("agent", guard_of(world, tools), tools, asks(wrong), asks(C2))
    ends = told(graph.invoke(human("h1"))["messages"])
    assert "amount" in str(ends["c1"].content)
    assert ends["c2"].kind == "done"
    assert [effect["customer"] for effect in world.effects] == ["c2"]
    assert [r.state for r in world.ledger().list("acme")] == ["not_executed", "done"]


def test_an_interrupt_of_the_harness_goes_through(world: World) -> None:
    @tool
    def charge(customer: str, amount: int) -> str:
        """Pause."""
        raise GraphInterrupt

    guard = guard_of(world, [charge])
    graph = graph_of("agent", guard, [charge], asks(C1), checkpointer=InMemorySaver())
    end = graph.invoke(human("h1"), {"configurable": {"thread_id": "1"}})
    assert not [m for m in end["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("kind", ["agent", "node"])
def test_time_travel_to_before_the_tools_replays(kind: Any, world: World) -> None:
    tools, config = tools_of(world), {"configurable": {"thread_id": "1"}}
    guard = guard_of(world, tools)
    graph = graph_of(kind, guard, tools, asks(C1), checkpointer=InMemorySaver())
    first = graph.invoke(human("h1"), config)
    before = next(s for s in graph.get_state_history(config) if s.next == ("tools",))
    again = graph.invoke(None, before.config)
    assert told(again["messages"]) == told(first["messages"])
    message = next(m for m in again["messages"] if isinstance(m, ToolMessage))
    assert message.additional_kwargs["retry_guard"]["replayed"] is True
    assert len(world.effects) == 1


def test_a_sibling_that_fails_makes_no_finished_call_run_again(world: World) -> None:
    failed = list[int]()

    @tool
    def fail() -> str:
        """Fail once."""
        failed.append(1)
        if len(failed) == 1:
            raise RuntimeError("no")
        return "fine"

    tools, config = [*tools_of(world), fail], {"configurable": {"thread_id": "1"}}
    calls = asks(C1, Call("c2", {}, "fail"))
    graph = graph_of("node", guard_of(world, tools), tools, calls, checkpointer=InMemorySaver())
    with pytest.raises(RuntimeError):
        graph.invoke(human("h1"), config)
    assert told(graph.invoke(None, config)["messages"])["c1"].content == {"id": "ch_1"}
    assert len(world.effects) == 1


@every_run
@pytest.mark.parametrize("kind", ["agent", "node"])
def test_twins_of_one_message_that_are_spelled_in_another_way_are_one_action(
    kind: Any, run: Callable[..., Any], world: World
) -> None:
    """B12: one runs, the other one joins, and both calls are answered."""
    tools = tools_of(world)
    twin = C1._replace(id="c2", arguments={"amount": 1.0, "customer": "c1"})
    ends = told(
        run(graph_of(kind, guard_of(world, tools), tools, asks(C1, twin)), human("h1"))["messages"]
    )
    assert [end.content for end in ends.values()] == [{"id": "ch_1"}] * 2
    assert world.requests == len(world.effects) == 1


def test_twins_that_each_count_run_once_each(world: World) -> None:
    world.contract = changed(CONTRACTS["neither"], twins="count")
    tools = tools_of(world)
    twin = C1._replace(id="c2", arguments={"amount": 1.0, "customer": "c1"})
    for _ in range(2):
        graph = graph_of("node", guard_of(world, tools), tools, asks(C1, twin))
        graph.invoke(human("h1"))
        assert len(world.effects) == 2


def test_a_command_is_given_back_as_it_was(world: World) -> None:
    @tool
    def charge(customer: str, amount: int) -> Command[Any]:
        """Charge, and write to the state."""
        world.charge(customer, amount)
        answer = ToolMessage("charged", tool_call_id="c1", name="charge")
        return Command(update={"messages": [answer]})

    for _ in range(2):
        graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(C1))
        assert told(graph.invoke(human("h1"))["messages"])["c1"].content == "charged"
    assert len(world.effects) == 1


@every_run
def test_a_message_that_the_tool_itself_calls_an_error_is_unknown(
    run: Callable[..., Any], world: World
) -> None:
    @tool
    def charge(customer: str, amount: int) -> ToolMessage:
        """Charge, and report an error without raising one."""
        world.charge(customer, amount)
        return ToolMessage("upstream timed out", status="error", tool_call_id="c1")

    graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(C1))
    answer = told(run(graph, human("h1"))["messages"])["c1"]
    assert "not known whether" in str(answer.content)
    assert len(world.effects) == 1


def test_a_body_that_did_not_run_proves_something_only_where_its_tool_was_called() -> None:
    error = ValueError("bad arguments")
    for reached in (False, True):
        ran = Ran(Contract(tool="charge"), reached=reached, raised=error)
        assert isinstance(judge(ran, classify), NotExecuted) is reached
        shown = ToolMessage("bad", status="error", tool_call_id="c1")
        ran = Ran(Contract(tool="charge"), reached=reached, shown=shown)
        assert isinstance(judge(ran, classify), NotExecuted) is reached


def test_a_call_is_made_again_where_an_answer_came_meanwhile() -> None:
    pauses = Pauses(MemoryLedger())
    pauses.count = 1
    open_one = Unresolved("0" * 16, "unclear")
    assert pauses.ask({}, "acme", open_one, seen=0) is True
    assert pauses.ask({}, "acme", open_one, seen=1) is False
