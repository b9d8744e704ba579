"""Agents on the Anthropic SDK with a scripted server behind its client, on a world of the suite."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic

from adapter_suite import CHARGE, Call, Told, World
from retry_guard import GuardError, Unresolved
from retry_guard_anthropic import Run, RunnerTools, run_tools, stream_tools
from retry_guard_functions import Toolbox
from retry_guard_outcomes import classify

Block = dict[str, Any]
KINDS = ("loop", "loop-stream", "runner", "runner-stream", "runner-eager")
Kind = Literal["loop", "loop-stream", "runner", "runner-stream", "runner-eager"]


@dataclass
class Say:
    """One message of the scripted model.

    `raw`: in a stream, the JSON of a call's arguments by its place. `until`: the stream ends
    before the first event of this type; `breaks`: with a broken connection.
    """

    content: list[Block]
    stop: str | None = "tool_use"
    raw: dict[int, str] = field(default_factory=dict[int, str])
    until: str | None = None
    breaks: bool = False

    def whole(self) -> Block:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": self.content,
            "stop_reason": self.stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }

    def events(self) -> Iterator[Block]:
        yield {
            "type": "message_start",
            "message": {**self.whole(), "content": [], "stop_reason": None},
        }
        for index, block in enumerate(self.content):
            yield from _block_events(index, block, self.raw.get(index))
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        }
        yield {"type": "message_stop"}


def _block_events(index: int, block: Block, raw: str | None) -> Iterator[Block]:
    start: Block = block
    deltas = list[Block]()
    match block["type"]:
        case "text":
            start = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            start = {**block, "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case "tool_use":
            start = {**block, "input": {}}
            text = json.dumps(block["input"]) if raw is None else raw
            pieces = (text[:3], text[3:])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        case _:
            pass
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def tool_use(call: Call) -> Block:
    return {"type": "tool_use", "id": call.id, "name": call.tool, "input": call.arguments}


def asks(*calls: Call) -> Say:
    """A model's message that makes these calls."""
    return Say([tool_use(call) for call in calls])


def says(text: str = "I am done.") -> Say:
    return Say([{"type": "text", "text": text}], "end_turn")


class Script:
    """The server: what was `sent` to it, and what it says, message by message."""

    def __init__(self, *turns: Say | httpx2.Response) -> None:
        self.turns, self.sent = list(turns), list[dict[str, Any]]()

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        body: dict[str, Any] = json.loads(request.content)
        self.sent.append(body)
        say = self.turns.pop(0) if self.turns else says()
        if isinstance(say, httpx2.Response):
            return say
        if not body.get("stream"):
            return httpx2.Response(
                200, text=json.dumps(say.whole()), headers={"content-type": "application/json"}
            )
        return httpx2.Response(
            200, stream=_Events(say), headers={"content-type": "text/event-stream"}
        )

    def client(self) -> Anthropic:
        transport = httpx2.MockTransport(self)
        return Anthropic(api_key="k", max_retries=0, http_client=httpx2.Client(transport=transport))

    def async_client(self) -> AsyncAnthropic:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(self))
        return AsyncAnthropic(api_key="k", max_retries=0, http_client=http)

    def heard(self) -> list[Any]:
        """All messages of a conversation whose requests carry only what is new."""
        return [message for body in self.sent for message in body["messages"]]


class _Events(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, say: Say) -> None:
        self._say = say

    def __iter__(self) -> Iterator[bytes]:
        for event in self._say.events():
            if event["type"] == self._say.until:
                if self._say.breaks:
                    raise httpx2.RemoteProtocolError("the connection broke")
                return
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def calls_in(messages: Sequence[Any]) -> list[Block]:
    """All calls of a history."""
    return [
        block
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "tool_use"
    ]


def results_in(messages: Sequence[Any]) -> list[Block]:
    """All tool results of a history."""
    return [
        block
        for message in messages
        if message["role"] == "user" and not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]


def tools_of(world: World, *, awaited: bool = False) -> list[Callable[..., Any]]:
    """The two tools of a world."""

    def list_charges() -> dict[str, Any]:
        """List the charges."""
        return world.list_charges()

    def keyed(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount, key or None)

    def plain(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        return world.charge(customer, amount)

    async def keyed_awaited(customer: str, amount: int, key: str = "") -> dict[str, Any]:
        """Charge a customer."""
        await asyncio.sleep(0)
        return world.charge(customer, amount, key or None)

    async def plain_awaited(customer: str, amount: int) -> dict[str, Any]:
        """Charge a customer."""
        await asyncio.sleep(0)
        return world.charge(customer, amount)

    both = (keyed_awaited, plain_awaited) if awaited else (keyed, plain)
    charge: Callable[..., Any] = both[0] if world.keyed else both[1]
    charge.__name__ = "charge"
    return [charge, list_charges]


def toolbox_of(world: World, tools: Sequence[Any] = (), **options: Any) -> Toolbox:
    """The toolbox of a world, as another process makes it."""
    made: dict[str, Any] = {"classify": classify, "policy": world.policy, **options}
    contracts = made.pop("contracts", [world.contract])
    ledger = made.pop("ledger", None) or world.ledger()
    return Toolbox(ledger, contracts, tools=tools or tools_of(world), **made)


@dataclass
class End:
    """What all ways of running a turn tell of it. `events`: those of its streams."""

    messages: list[Any]
    text: str
    unresolved: tuple[Unresolved, ...]
    errors: tuple[GuardError, ...] = ()
    events: list[Any] = field(default_factory=list[Any])
    run: Any = None


C1 = Call("toolu_1", CHARGE)
C2 = Call("toolu_2", {"customer": "c2", "amount": 7})
LIST = Call("toolu_3", {}, "list_charges")
USER: list[Any] = [{"role": "user", "content": "Charge them."}]
ASK: dict[str, Any] = {"model": "scripted", "max_tokens": 100, "messages": USER}


def loop(
    script: Script, toolbox: Toolbox, *, blocks: bool = True, streams: bool = False, **more: Any
) -> Any:
    """What `run_tools` or `stream_tools` returns for a turn."""
    client = script.client() if blocks else script.async_client()
    run: Any = stream_tools if streams else run_tools
    return run(client.messages, toolbox, **{"scope": "acme", "turn": "human-1", **ASK, **more})


def runner_of(script: Script, tools: RunnerTools, kind: Kind = "runner", **more: Any) -> Any:
    """A tool runner of the SDK that blocks."""
    messages: Any = script.client().beta.messages
    return messages.tool_runner(tools=tools.tools, **_streaming(kind), **{**ASK, **more})


def async_runner_of(script: Script, tools: RunnerTools, kind: Kind = "runner", **more: Any) -> Any:
    """One that is awaited."""
    messages: Any = script.async_client().beta.messages
    return messages.tool_runner(tools=tools.async_tools, **_streaming(kind), **{**ASK, **more})


def _streaming(kind: Kind) -> dict[str, bool]:
    if kind == "runner":
        return {}
    return {"stream": True, "run_tools_eagerly": kind == "runner-eager"}


def blocking(
    kind: Kind, script: Script, toolbox: Toolbox, turn: str | None = "human-1", **more: Any
) -> End:
    """Run one turn with a client that blocks."""
    if kind == "loop":
        return _run_end(loop(script, toolbox, turn=turn, **more))
    if kind == "loop-stream":
        *events, run = loop(script, toolbox, streams=True, turn=turn, **more)
        return _run_end(run, events)
    tools = RunnerTools(toolbox, scope="acme", turn=turn)
    runner, events = runner_of(script, tools, kind, **more), list[Any]()
    for item in runner:
        if kind != "runner":
            events += item
    return _runner_end(script, tools, runner.until_done(), events)


def awaited(
    kind: Kind, script: Script, toolbox: Toolbox, turn: str | None = "human-1", **more: Any
) -> End:
    """Run one turn with an async client."""
    return asyncio.run(_awaited(kind, script, toolbox, turn, **more))


async def _awaited(
    kind: Kind, script: Script, toolbox: Toolbox, turn: str | None, **more: Any
) -> End:
    if kind == "loop":
        return _run_end(await loop(script, toolbox, blocks=False, turn=turn, **more))
    if kind == "loop-stream":
        stream = loop(script, toolbox, blocks=False, streams=True, turn=turn, **more)
        *events, run = [event async for event in stream]
        return _run_end(run, events)
    tools = RunnerTools(toolbox, scope="acme", turn=turn)
    runner, events = async_runner_of(script, tools, kind, **more), list[Any]()
    async for item in runner:
        if kind != "runner":
            events += [event async for event in item]
    return _runner_end(script, tools, await runner.until_done(), events)


def _run_end(run: Run, events: Sequence[Any] = ()) -> End:
    return End(run.items, run.text, run.unresolved, events=[*events], run=run)


def _runner_end(script: Script, tools: RunnerTools, last: Any, events: list[Any]) -> End:
    text = "".join(block.text for block in last.content if block.type == "text")
    return End(script.heard(), text, tools.unresolved, tools.errors, events)


Runner = Callable[..., End]


def told(results: Sequence[Block]) -> list[Told]:
    """What the model was told of each call, in order."""
    return [_told(result) for result in results]


def _told(result: Block) -> Told:
    text = cast("str", result["content"])
    if result.get("is_error"):
        return Told("unresolved", text)
    return Told("done", json.loads(text) if text.startswith("{") else text)


every_run = pytest.mark.parametrize("run", [blocking, awaited], ids=["sync", "async"])
every_loop = pytest.mark.parametrize("kind", KINDS[:2])
every_runner = pytest.mark.parametrize("kind", KINDS[2:])


class AnthropicBench:
    """A turn on a fresh toolbox; nothing is kept but the ledger."""

    def __init__(self, kind: Kind, run: Runner, *, awaited_tools: bool = False) -> None:
        self.kind: Kind = kind
        self.run_turn = run
        self.awaited_tools = awaited_tools

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger, script = world.ledger(), Script(asks(*calls))
        toolbox = toolbox_of(world, tools_of(world, awaited=self.awaited_tools), ledger=ledger)
        try:
            end = self.run_turn(self.kind, script, toolbox, turn)
        finally:
            ledger.close()
        return told(results_in(end.messages))
