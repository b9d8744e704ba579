"""The many shapes of tools and graphs: one effect, and answers as the harness itself gives them."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph import func
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - its package has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import InjectedState, InjectedStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, RetryPolicy, Send

from adapter_suite import C1, CONTRACTS, World
from langgraph_agents import (
    CONFIG,
    asks,
    awaited,
    every_run,
    graph_of,
    guard_of,
    human,
    one_node,
    plain,
    questions,
    told,
    tools_of,
)
from retry_guard import Contract

AGAIN = C1._replace(id="again")
every_kind = pytest.mark.parametrize("kind", ["agent", "node"])
Run = Callable[..., Any]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def answers_in(end: dict[str, Any]) -> list[ToolMessage]:
    return [m for m in end["messages"] if isinstance(m, ToolMessage)]


# Tools


@every_run
@every_kind
def test_what_the_harness_injects_reaches_the_tool_and_is_no_argument(
    kind: Any, run: Run, world: World
) -> None:
    seen = list[Any]()

    @tool
    def charge(
        customer: str,
        amount: int,
        state: Annotated[dict[str, Any], InjectedState],
        store: Annotated[Any, InjectedStore()],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime[Any, Any],
    ) -> dict[str, Any]:
        """Charge a customer."""
        seen.append((len(state["messages"]), store.get(("x",), "y").value, call_id))
        assert runtime.tool_call_id == call_id
        return world.charge(customer, amount)

    store = InMemoryStore()
    store.put(("x",), "y", {"kept": 1})
    graph = graph_of(kind, guard_of(world, [charge]), [charge], asks(C1), asks(AGAIN), store=store)
    ends = told(run(graph, human("h1"))["messages"])
    assert [end.content for end in ends.values()] == [{"id": "ch_1"}] * 2
    assert seen == [(2, {"kept": 1}, "c1")]
    (record,) = world.ledger().list("acme")
    arguments: Any = record.about
    assert b"kept" not in arguments.arguments
    assert b"call_id" not in arguments.arguments


@every_run
def test_a_tool_that_returns_directly_ends_the_run_when_it_is_replayed_too(
    run: Run, world: World
) -> None:
    @tool(return_direct=True)
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount)

    for call in (C1, AGAIN):
        graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(call))
        last = run(graph, human("h1"))["messages"][-1]
        assert (last.type, last.content) == ("tool", '{"id": "ch_1"}')
    assert len(world.effects) == 1


@every_kind
def test_a_coroutine_with_content_and_artifact_is_replayed_with_both(
    kind: Any, world: World
) -> None:
    @tool(response_format="content_and_artifact")
    async def charge(customer: str, amount: int) -> Any:
        """Charge a customer."""
        await asyncio.sleep(0)
        world.charge(customer, amount)
        return [{"type": "text", "text": "charged"}], {"raw": [1, 2.5]}

    graph = graph_of(kind, guard_of(world, [charge]), [charge], asks(C1), asks(AGAIN))
    first, second = answers_in(awaited(graph, human("h1")))
    for answer in (first, second):
        assert answer.content == [{"type": "text", "text": "charged"}]
        assert answer.artifact == {"raw": [1, 2.5]}
    # What was awaited once may be asked for where nobody awaits.
    (third,) = answers_in(
        graph_of(kind, guard_of(world, [charge]), [charge], asks(C1)).invoke(human("h1"))
    )
    assert (third.content, third.artifact) == (first.content, first.artifact)
    assert len(world.effects) == 1


def routed(charge: Any, world: World) -> tuple[Any, list[Any]]:
    """A graph whose tool says where to go on, and what came there."""
    came = list[Any]()

    def after(state: Any) -> dict[str, Any]:
        came.append(state)
        return {}

    graph: Any = StateGraph(MessagesState)
    guard = guard_of(world, [charge])
    graph.add_node("tools", graph_of("node", guard, [charge]).nodes["tools"].bound)
    graph.add_node("after", after)
    graph.add_edge(START, "tools")
    return graph.compile(), came


@every_run
@pytest.mark.parametrize("form", ["name", "sends"])
def test_where_a_tool_says_to_go_on_its_replay_goes_too(form: str, run: Run, world: World) -> None:
    parts = [Send("after", {"part": n, "said": HumanMessage("hm", id="m")}) for n in (1, 2)]

    @tool
    def charge(
        customer: str, amount: int, call_id: Annotated[str, InjectedToolCallId]
    ) -> Command[Any]:
        """Charge a customer, and go on elsewhere."""
        world.charge(customer, amount)
        answer = ToolMessage(
            "charged", tool_call_id=call_id, name="charge", additional_kwargs={"x": 1}
        )
        more = [answer, AIMessage("noted", id="note"), ToolMessage("old", tool_call_id="past")]
        goto: Any = "after" if form == "name" else parts
        return Command(update={"messages": more}, goto=goto)

    graph, came = routed(charge, world)
    ends = [
        run(graph, {"messages": [*human("h1")["messages"], asks(call)]}) for call in (C1, AGAIN)
    ]
    for end, name in zip(ends, ("c1", "again"), strict=True):
        answer, note, old = end["messages"][2:]
        assert (answer.tool_call_id, answer.content) == (name, "charged")
        assert answer.additional_kwargs["x"] == 1
        assert (note.type, note.content, note.id) == ("ai", "noted", "note")
        assert (old.tool_call_id, old.content) == ("past", "old")
    if form == "sends":
        assert came == [part.arg for part in parts] * 2
    assert len(came) == (2 if form == "name" else 4)
    assert len(world.effects) == 1


# Streams


def test_a_stream_of_messages_shows_each_answer_once(world: World) -> None:
    tools = tools_of(world)
    graph = graph_of("agent", guard_of(world, tools), tools, asks(C1), asks(AGAIN))
    shown = [m for m, _ in graph.stream(human("h1"), stream_mode="messages")]
    assert [m.tool_call_id for m in shown if isinstance(m, ToolMessage)] == ["c1", "again"]
    assert len(world.effects) == 1


async def test_a_stream_of_events_tells_of_the_tool_and_its_result(world: World) -> None:
    tools = tools_of(world)
    graph = graph_of("agent", guard_of(world, tools), tools, asks(C1), asks(AGAIN))
    events = [event async for event in graph.astream_events(human("h1"), version="v2")]
    ends = [e["data"]["output"] for e in events if e["event"] == "on_tool_end"]
    assert [e["name"] for e in events if e["event"] == "on_tool_start"] == ["charge"] * len(ends)
    assert [(end.tool_call_id, end.content) for end in ends] == [
        ("c1", '{"id": "ch_1"}'),
        ("again", '{"id": "ch_1"}'),
    ]
    assert len(world.effects) == 1


@every_kind
def test_what_a_tool_writes_to_the_stream_arrives(kind: Any, world: World) -> None:
    @tool
    def charge(customer: str, amount: int, runtime: ToolRuntime[Any, Any]) -> dict[str, Any]:
        """Charge a customer."""
        runtime.stream_writer({"at": "half"})
        return world.charge(customer, amount)

    graph = graph_of(kind, guard_of(world, [charge]), [charge], asks(C1), asks(AGAIN))
    assert list(graph.stream(human("h1"), stream_mode="custom")) == [{"at": "half"}]


# Graphs


@every_run
@every_kind
@pytest.mark.parametrize("form", ["node", "called"])
def test_an_agent_in_a_subgraph_asks_through_its_parent(
    form: str, kind: Any, run: Run, world: World
) -> None:
    world.fates.append("lost_ack")
    tools = tools_of(world)
    inner = graph_of(kind, guard_of(world, tools), tools, asks(C1), asks(C1))

    def calls(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": inner.invoke({"messages": state["messages"]})["messages"]}

    parent = one_node(inner if form == "node" else calls, InMemorySaver())
    (question,) = questions(run(parent, human("h1"), CONFIG))
    end = run(parent, Command(resume=plain(question, "happened", result={"id": "ch_9"})), CONFIG)
    assert {str(each.content) for each in answers_in(end)} == {'{"id": "ch_9"}'}
    assert len(world.effects) == 1
    assert [record.turn for record in world.ledger().list("acme")] == ["h1"]


def mapped(world: World, parts: list[dict[str, Any]]) -> Any:
    """A graph that sends each part to a node of its own, which charges it."""
    guard = guard_of(world, contracts=[])
    charge = guard.effect(Contract(tool="charge"))(world.charge)

    @guard.node
    def pay(part: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [AIMessage(charge(part["customer"], part["amount"])["id"])]}

    def each(state: dict[str, Any]) -> list[Send]:
        return [Send("pay", {**part, "messages": state["messages"]}) for part in parts]

    graph: Any = StateGraph(MessagesState)
    graph.add_node("pay", pay)
    graph.add_conditional_edges(START, each, ["pay"])
    graph.add_edge("pay", END)
    return graph.compile(checkpointer=InMemorySaver())


def test_parts_that_are_sent_to_nodes_of_their_own_are_each_paid_once(world: World) -> None:
    world.fates.append("lost_ack")
    parts = [{"customer": f"c{number}", "amount": number} for number in range(4)]
    graph = mapped(world, parts)
    (question,) = questions(graph.invoke(human("h1"), CONFIG))
    answer = plain(question, "happened", result={"id": "a person"})
    end = graph.invoke(Command(resume=answer), CONFIG)
    said = [m.content for m in end["messages"] if m.type == "ai"]
    assert sorted(said) == ["a person", "ch_2", "ch_3", "ch_4"]
    assert sorted(effect["amount"] for effect in world.effects) == [0, 1, 2, 3]


@every_kind
def test_a_fork_with_the_same_message_repeats_and_with_another_one_acts(
    kind: Any, world: World
) -> None:
    tools = tools_of(world)
    says = [part for _ in range(3) for part in (asks(C1), AIMessage("Done."))]
    guard = guard_of(world, tools)
    graph = graph_of(kind, guard, tools, *says, checkpointer=InMemorySaver())
    graph.invoke(human("h1"), CONFIG)
    before = [s for s in graph.get_state_history(CONFIG) if s.next == ("model",)][-1]
    same = graph.update_state(
        before.config, {"messages": [AIMessage("Let me see.")]}, as_node=START
    )
    graph.invoke(None, same)
    assert len(world.effects) == 1
    other = graph.update_state(before.config, human("h2"), as_node=START)
    graph.invoke(None, other)
    assert len(world.effects) == 2


@every_run
def test_a_second_worker_joins_the_call_that_the_first_one_still_makes(
    run: Run, world: World
) -> None:
    """B6: a platform starts the same run again, from the checkpoint that the first began with."""
    began, go_on = threading.Event(), threading.Event()
    ends = list[Any]()

    @tool
    def charge(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer, slowly."""
        began.set()
        assert go_on.wait(60)
        return world.charge(customer, amount)

    def work() -> None:
        graph = graph_of("agent", guard_of(world, [charge]), [charge], asks(C1))
        ends.append(told(run(graph, human("h1"))["messages"])["c1"].content)

    workers = [threading.Thread(target=work) for _ in range(2)]
    workers[0].start()
    assert began.wait(60)
    workers[1].start()
    workers[1].join(0.2)
    assert workers[1].is_alive()
    go_on.set()
    for worker in workers:
        worker.join(60)
    assert ends == [{"id": "ch_1"}] * 2
    assert len(world.effects) == 1


def test_a_task_that_is_tried_again_pays_once(world: World) -> None:
    guard = guard_of(world, contracts=[])
    charge = guard.effect(Contract(tool="charge"))(world.charge)
    tried = list[int]()
    patient = RetryPolicy(max_attempts=3, initial_interval=0.0, jitter=False, retry_on=Exception)

    @guard.node
    def pay(state: dict[str, Any]) -> str:
        paid = charge("c1", 10)["id"]
        tried.append(1)
        if len(tried) < 3:
            raise ConnectionError("transient")
        return str(paid)

    functional: Any = func
    retried = functional.task(retry_policy=patient)(pay)

    def work(state: dict[str, Any]) -> str:
        return str(retried(state).result())

    flow = functional.entrypoint(checkpointer=InMemorySaver())(work)
    assert flow.invoke(human("h1"), CONFIG) == "ch_1"
    assert (len(tried), len(world.effects)) == (3, 1)
