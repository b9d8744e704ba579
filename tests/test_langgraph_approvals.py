"""Tools that ask a person themselves, beside calls that are done, rejected or unresolved."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - its package has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt

from adapter_suite import C1, C2, CONTRACTS, Call, World
from langgraph_agents import (
    CONFIG,
    args_of,
    asks,
    awaited,
    blocking,
    graph_of,
    guard_of,
    human,
    plain,
    questions,
    told,
    tools_of,
)
from test_guard_texts import FORBIDDEN

every_kind = pytest.mark.parametrize("kind", ["agent", "node"])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def approving(world: World, given: list[Any]) -> list[Any]:
    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, once a person agrees."""
        given.append(interrupt({"approve": amount}))
        if given[-1] != "yes":
            return {"rejected": amount}
        return world.charge(customer, amount)

    return [charge]


def approvals(
    world: World,
    kind: Any,
    *calls: Call,
    again: tuple[Call, ...] = (),
    given: list[Any] | None = None,
) -> tuple[Any, list[Any]]:
    tools = approving(world, [] if given is None else given)
    guard = guard_of(world, tools, pauses_first=["charge"])
    says = [asks(*calls)] + ([asks(*again)] if again else [])
    graph = graph_of(kind, guard, tools, *says, checkpointer=InMemorySaver())
    return graph, questions(graph.invoke(human("h1"), CONFIG))


def test_of_two_tools_that_pause_together_the_unanswered_one_does_not_run(world: World) -> None:
    """B2: they have ids of their own, and one answer is for one of them."""
    graph, found = approvals(world, "agent", C1, C2)
    ids = {q.value["approve"]: q.id for q in found}
    end = graph.invoke(Command(resume={ids[2]: "yes"}), CONFIG)
    assert [q.value for q in questions(end)] == [{"approve": 1}]
    assert [effect["customer"] for effect in world.effects] == ["c2"]
    graph.invoke(Command(resume={ids[1]: "yes"}), CONFIG)
    assert [effect["customer"] for effect in world.effects] == ["c2", "c1"]


def approved(world: World, run: Callable[..., Any], slow: int, **words: str) -> list[Any]:
    """Two calls in one node that a person is asked about; each is answered by its name."""
    given = list[Any]()

    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, once a person agrees."""
        time.sleep(0.03 * (amount == slow))
        given.append((customer, interrupt(customer)))
        return world.charge(customer, amount) if given[-1][1] == "yes" else {"rejected": amount}

    guard = guard_of(world, [charge], pauses_first=["charge"])
    graph = graph_of("node", guard, [charge], asks(C1, C2), asks(C2), checkpointer=InMemorySaver())
    end = run(graph, human("h1"), CONFIG)
    for _ in range(4):
        for question in questions(end):
            end = run(graph, Command(resume=words[question.value]), CONFIG)
    assert all(word == words[customer] for customer, word in given)
    return list(end["messages"])


@pytest.mark.parametrize("slow", [1, 2])
@pytest.mark.parametrize("run", [blocking, awaited])
@pytest.mark.parametrize("word", ["yes", "no"])
def test_in_one_node_no_answer_is_taken_for_that_to_another_call(
    word: str, run: Callable[..., Any], slow: int, world: World
) -> None:
    """B2: the answers of one task have no names, and its tools run side by side."""
    other = "no" if word == "yes" else "yes"
    messages = approved(world, run, slow, c1=word, c2=other)
    assert [effect["customer"] for effect in world.effects] == ["c1" if word == "yes" else "c2"]
    answers = [str(m.content) for m in messages if isinstance(m, ToolMessage)]
    assert answers[1].startswith("`charge` was not called: an earlier call of the same message")
    assert ['"rejected"' in answer for answer in answers] == [word == "no", False, other == "no"]
    assert not FORBIDDEN.search(answers[1])


@every_kind
def test_a_finished_tool_is_replayed_when_its_paused_sibling_is_resumed(
    kind: Any, world: World
) -> None:
    """B1: one call is done, the other one pauses, and the resume runs the node from its top."""

    @tool
    def ask_human() -> str:
        """Ask a person."""
        return str(interrupt("well?"))

    tools = [*tools_of(world), ask_human]
    calls = asks(C1, Call("c2", {}, "ask_human"))
    graph = graph_of(kind, guard_of(world, tools), tools, calls, checkpointer=InMemorySaver())
    graph.invoke(human("h1"), CONFIG)
    end = graph.invoke(Command(resume="fine"), CONFIG)
    ends = told(end["messages"])
    assert (ends["c1"].content, ends["c2"].content) == ({"id": "ch_1"}, "fine")
    assert len(world.effects) == 1


def test_a_pause_that_is_answered_yes_then_no_then_yes_runs_once(world: World) -> None:
    """B5: a later no cannot undo it, and says what was done."""
    graph, _ = approvals(world, "agent", C1)
    pause = graph.get_state(CONFIG).config
    for word in ("yes", "no", "yes"):
        end = graph.invoke(Command(resume=word), pause)
        assert told(end["messages"])["c1"].content == {"id": "ch_1"}
    assert len(world.effects) == 1


def test_an_old_approval_is_none_for_other_arguments(world: World) -> None:
    """B8: time travel to before the pause, and other arguments."""
    graph, _ = approvals(world, "node", C1)
    graph.invoke(Command(resume="yes"), CONFIG)
    before = [s for s in graph.get_state_history(CONFIG) if s.next == ("tools",)][-1]
    other = asks(C1._replace(arguments=C2.arguments)).model_copy(
        update={"id": before.values["messages"][-1].id}
    )
    fork = graph.update_state(before.config, {"messages": [other]}, as_node="model")
    end = graph.invoke(None, fork)
    assert [q.value for q in questions(end)] == [{"approve": 2}]
    assert [effect["customer"] for effect in world.effects] == ["c1"]


def test_a_rejected_call_that_comes_to_the_tools_again_stays_rejected(world: World) -> None:
    """B10: the model's next message makes the same call in the same turn, under the same id."""
    graph, _ = approvals(world, "agent", C1, again=(C1,))
    end = graph.invoke(Command(resume="no"), CONFIG)
    assert questions(end) == []
    answers = [m.content for m in end["messages"] if isinstance(m, ToolMessage)]
    assert answers == ['{"rejected": 1}'] * 2
    assert world.effects == []


class Jump(AgentMiddleware[Any, Any, Any]):
    """Goes on with the tools once, whatever a person has said of their calls."""

    jumped = False

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        if self.jumped:
            return None
        self.jumped = True
        return {"jump_to": "tools"}


@pytest.mark.parametrize("run", [blocking, awaited])
def test_a_call_that_a_person_rejected_does_not_run_where_another_middleware_jumps_to_the_tools(
    run: Callable[..., Any], world: World
) -> None:
    """B10: the rejection is an answer in the state, which the harness does not look at."""
    tools = tools_of(world)
    ask: Any = HumanInTheLoopMiddleware(interrupt_on={"charge": True})
    graph = graph_of(
        "agent",
        guard_of(world, tools),
        tools,
        asks(C1, C2),
        asks(C1),
        outer=[Jump(), ask],
        checkpointer=InMemorySaver(),
    )
    run(graph, human("h1"), CONFIG)
    said = [{"type": "reject", "message": "never"}, {"type": "approve"}]
    end = run(graph, Command(resume={"decisions": said}), CONFIG)
    answers = {m.content for m in end["messages"] if getattr(m, "tool_call_id", "") == "c1"}
    assert len(answers) == 1
    assert "rejected" in answers.pop()
    assert [effect["customer"] for effect in world.effects] == ["c2"]
    # An equal call in the model's next message is asked about anew, and may be approved.
    assert len(questions(end)) == 1
    run(graph, Command(resume={"decisions": [{"type": "approve"}]}), CONFIG)
    assert [effect["customer"] for effect in world.effects] == ["c2", "c1"]


@pytest.mark.parametrize("run", [blocking, awaited])
def test_a_call_that_was_refused_goes_out_again_where_the_graph_goes_back_to_the_tools(
    run: Callable[..., Any], world: World
) -> None:
    tried = list[int]()

    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, but at first nobody listens."""
        tried.append(1)
        if len(tried) == 1:
            raise ConnectionRefusedError
        return world.charge(customer, amount)

    guard = guard_of(world, [charge])
    node = ToolNode(
        [charge],
        wrap_tool_call=guard.wrap_tool_call,
        awrap_tool_call=guard.awrap_tool_call,
        handle_tool_errors=True,
    )
    graph: Any = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    failed = {True: "tools", False: END}

    def has_failed(state: dict[str, Any]) -> bool:
        return bool(state["messages"][-1].status == "error")

    graph.add_conditional_edges("tools", has_failed, failed)
    given = {"messages": [*human("h1")["messages"], asks(C1)]}
    end = run(graph.compile(), given, {"recursion_limit": 5})
    assert [m.status for m in end["messages"] if isinstance(m, ToolMessage)] == ["error", "success"]
    assert (len(tried), len(world.effects)) == (2, 1)


def test_the_sibling_of_a_rejected_call_runs_once(world: World) -> None:
    """B15: each call of the message has its own answer."""
    graph, found = approvals(world, "agent", C1, C2)
    said = {q.id: "no" if q.value == {"approve": 1} else "yes" for q in found}
    ends = told(graph.invoke(Command(resume=said), CONFIG)["messages"])
    assert (ends["c1"].content, ends["c2"].content) == ({"rejected": 1}, {"id": "ch_1"})
    assert len(world.effects) == 1


def test_a_pause_of_another_tool_leaves_its_outcome_unknown(world: World) -> None:
    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, then ask whether that was right."""
        result = world.charge(customer, amount)
        interrupt("was that right?")
        return result

    guard = guard_of(world, [charge])
    graph = graph_of("agent", guard, [charge], asks(C1), checkpointer=InMemorySaver())
    graph.invoke(human("h1"), CONFIG)
    end = graph.invoke(Command(resume="yes"), CONFIG)
    (question,) = questions(end)
    assert args_of(question)["tool"] == "charge"
    assert len(world.effects) == 1


def test_a_tool_that_is_sent_again_gets_no_answer_that_was_meant_for_the_guard(
    world: World,
) -> None:
    given = list[Any]()
    graph, (approval,) = approvals(world, "agent", C1, given=given)
    world.fates.append("lost_ack")
    end = graph.invoke(Command(resume={approval.id: "yes"}), CONFIG)
    (question,) = questions(end)
    end = graph.invoke(Command(resume={question.id: plain(question, "again")}), CONFIG)
    assert questions(end) == []
    assert given == ["yes", "yes"]
    assert len(world.effects) == 2  # the second one was asked for
