"""Agents of LangGraph with a scripted model, on a world of `adapter_suite`."""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import pytest
from langchain import agents
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - its package has none
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.prebuilt import ToolNode
from pydantic import PrivateAttr

from adapter_suite import Call, Told, World
from retry_guard_langgraph import GuardMiddleware

Kind = Literal["agent", "node"]
CONFIG: Any = {"configurable": {"thread_id": "1"}}


class Script(BaseChatModel):
    """Says what it is given to say, one message after the other, and takes any tools."""

    _says: list[AIMessage] = PrivateAttr(default_factory=list[AIMessage])

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        said = self._says.pop(0) if self._says else AIMessage("I am done.")
        return ChatResult(generations=[ChatGeneration(message=said)])


def script(*says: AIMessage) -> Script:
    made = Script()
    made._says.extend(says)
    return made


def asks(*calls: Call) -> AIMessage:
    """A model's message that makes these calls."""
    made = [{"name": c.tool, "args": c.arguments, "id": c.id, "type": "tool_call"} for c in calls]
    return AIMessage("", tool_calls=made)


def tools_of(world: World) -> list[BaseTool]:
    """The two tools of a world."""

    @tool
    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return world.list_charges()

    if world.keyed:

        @tool("charge")
        def keyed(customer: str, amount: int, key: str = "") -> dict[str, Any]:
            """Charge a customer."""
            return world.charge(customer, amount, key or None)

        return [keyed, list_charges]

    @tool("charge")
    def plain(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount)

    return [plain, list_charges]


def guard_of(world: World, tools: Sequence[Any] = (), **options: Any) -> GuardMiddleware:
    """The guard of a world, as another process makes it."""
    made: dict[str, Any] = {"scope": world.scope, "policy": world.policy, **options}
    contracts = made.pop("contracts", [world.contract])
    ledger = made.pop("ledger", None) or world.ledger()
    return GuardMiddleware(ledger, contracts, tools=tools or tools_of(world), **made)


def graph_of(
    kind: Kind,
    guard: GuardMiddleware,
    tools: Sequence[Any],
    *says: AIMessage,
    outer: Sequence[Any] = (),
    inner: Sequence[Any] = (),
    node: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """An agent of either kind; a `node` runs all calls of a message as one task."""
    model = script(*says)
    if kind == "agent":
        create = cast("Any", agents).create_agent
        return create(model, tools, middleware=[*outer, guard, *inner], **options)
    run = ToolNode(
        tools, wrap_tool_call=guard.wrap_tool_call, awrap_tool_call=guard.awrap_tool_call
    )
    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", _speaker(model))
    graph.add_node("tools", run, **(node or {}))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", _wants_tools, {True: "tools", False: END})
    graph.add_edge("tools", "model")
    return graph.compile(**options)


def one_node(function: Any, checkpointer: Any = None, **node: Any) -> Any:
    """Return a graph of one node."""
    graph: Any = StateGraph(MessagesState)
    graph.add_node("node", function, **node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=checkpointer)


def _speaker(model: Script) -> Any:
    def speak(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    return speak


def _wants_tools(state: dict[str, Any]) -> bool:
    return bool(getattr(state["messages"][-1], "tool_calls", []))


def human(turn: str) -> dict[str, Any]:
    return {"messages": [HumanMessage("Charge them.", id=turn)]}


def told(messages: Sequence[BaseMessage]) -> dict[str, Told]:
    """What the model was told of each call, by its id."""
    return {m.tool_call_id: _told(m) for m in messages if isinstance(m, ToolMessage)}


def _told(message: ToolMessage) -> Told:
    text = str(message.content)
    if message.status == "error":
        return Told("unresolved", text)
    return Told("done", json.loads(text) if text.startswith("{") else text)


def questions(result: dict[str, Any]) -> list[Any]:
    return list(result.get("__interrupt__", []))


def args_of(question: Any) -> dict[str, Any]:
    (request,) = question.value
    args: dict[str, Any] = request["action_request"]["args"]
    return args


def asked(question: Any) -> str:
    name: str = args_of(question)["question"]
    return name


def plain(question: Any, word: str, **more: Any) -> Any:
    return {asked(question): {"answer": word, **more} if more else word}


Runner = Callable[..., Any]


def blocking(graph: Any, given: object, config: Any = None, **more: Any) -> Any:
    return graph.invoke(given, config, **more)


def awaited(graph: Any, given: object, config: Any = None, **more: Any) -> Any:
    return asyncio.run(graph.ainvoke(given, config, **more))


def streamed(graph: Any, given: object, config: Any = None, **more: Any) -> Any:
    *_, last = graph.stream(given, config, stream_mode="values", **more)
    return last


every_run = pytest.mark.parametrize("run", [blocking, awaited])


class LangGraphBench:
    """A graph on a fresh guard; nothing is kept but the ledger."""

    def __init__(self, kind: Kind, run: Runner) -> None:
        self.kind: Kind = kind
        self.run_graph = run

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        tools, ledger = tools_of(world), world.ledger()
        guard = guard_of(world, tools, ledger=ledger)
        graph = graph_of(self.kind, guard, tools, asks(*calls))
        try:
            found = told(self.run_graph(graph, human(turn))["messages"])
        finally:
            ledger.close()
        return [found[call.id] for call in calls]
