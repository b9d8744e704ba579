"""Agents on the Anthropic SDK with a scripted server behind its client, on a world of the suite."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import httpx2
from anthropic import Anthropic, AsyncAnthropic

from adapter_suite import Call, Told, World
from retry_guard_anthropic import RunnerTools, run_tools
from retry_guard_functions import Toolbox
from retry_guard_outcomes import classify

Block = dict[str, Any]
KINDS = ("loop", "loop-stream", "runner", "runner-stream", "runner-eager")
Kind = Literal["loop", "loop-stream", "runner", "runner-stream", "runner-eager"]
ASK: Any = {"model": "scripted", "max_tokens": 100}


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
        yield {"type": "message_start", "message": {**self.whole(), "content": [], "stop_reason": None}}
        for index, block in enumerate(self.content):
            yield from _block_events(index, block, self.raw.get(index))
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": self.stop, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        }
        yield {"type": "message_stop"}


def _block_events(index: int, block: Block, raw: str | None) -> Iterator[Block]:
    start, deltas = block, list[Block]()
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

    def results(self) -> list[Block]:
        """The results that the last request carries."""
        return results_in(self.sent[-1]["messages"])


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

    async def __aiter__(self) -> Any:
        for piece in self:
            yield piece


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

    charge = (keyed_awaited if awaited else keyed) if world.keyed else (plain_awaited if awaited else plain)
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
    """What both ways of running a turn tell of it."""

    messages: list[Any]
    text: str
    unresolved: tuple[Any, ...]
    errors: tuple[Any, ...] = ()
    events: list[Any] = field(default_factory=list[Any])


USER = [{"role": "user", "content": "Charge them."}]


def blocking(kind: Kind, script: Script, toolbox: Toolbox, turn: str | None = "human-1", **more: Any) -> End:
    """Run one turn with a client that blocks."""
    client, events = script.client(), list[Any]()
    given: Any = {**ASK, "messages": USER, **more}
    if kind == "loop":
        run = run_tools(client.messages, toolbox, scope="acme", turn=turn, **given)
        return End(run.messages, run.text, run.unresolved)
    if kind == "loop-stream":
        stream = run_tools(client.messages, toolbox, scope="acme", turn=turn, stream=True, **given)
        events += stream
        return End(stream.run.messages, stream.run.text, stream.run.unresolved, events=events)
    tools = RunnerTools(toolbox, scope="acme", turn=turn)
    options: Any = _runner_options(kind)
    runner: Any = client.beta.messages.tool_runner(tools=tools.tools, **given, **options)
    for item in runner:
        if kind != "runner":
            events += item
    last: Any = runner.until_done()
    text = "".join(block.text for block in last.content if block.type == "text")
    return End(script.sent[-1]["messages"], text, tools.unresolved, tools.errors, events)


def awaited(kind: Kind, script: Script, toolbox: Toolbox, turn: str | None = "human-1", **more: Any) -> End:
    """Run one turn with an async client."""
    return asyncio.run(_awaited(kind, script, toolbox, turn, **more))


async def _awaited(kind: Kind, script: Script, toolbox: Toolbox, turn: str | None, **more: Any) -> End:
    client, events = script.async_client(), list[Any]()
    given: Any = {**ASK, "messages": USER, **more}
    if kind == "loop":
        run = await run_tools(client.messages, toolbox, scope="acme", turn=turn, **given)
        return End(run.messages, run.text, run.unresolved)
    if kind == "loop-stream":
        stream = run_tools(client.messages, toolbox, scope="acme", turn=turn, stream=True, **given)
        events += [event async for event in stream]
        return End(stream.run.messages, stream.run.text, stream.run.unresolved, events=events)
    tools = RunnerTools(toolbox, scope="acme", turn=turn)
    options: Any = _runner_options(kind)
    runner: Any = client.beta.messages.tool_runner(tools=tools.async_tools, **given, **options)
    async for item in runner:
        if kind != "runner":
            events += [event async for event in item]
    last: Any = await runner.until_done()
    text = "".join(block.text for block in last.content if block.type == "text")
    return End(script.sent[-1]["messages"], text, tools.unresolved, tools.errors, events)


def _runner_options(kind: Kind) -> dict[str, bool]:
    if kind == "runner":
        return {}
    return {"stream": True, "run_tools_eagerly": kind == "runner-eager"}


Runner = Callable[..., End]


def told(results: Sequence[Block]) -> list[Told]:
    """What the model was told of each call, in order."""
    return [_told(result) for result in results]


def _told(result: Block) -> Told:
    text = cast("str", result["content"])
    if result.get("is_error"):
        return Told("unresolved", text)
    return Told("done", json.loads(text) if text.startswith("{") else text)


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
            self.run_turn(self.kind, script, toolbox, turn)
        finally:
            ledger.close()
        return told(script.results())
