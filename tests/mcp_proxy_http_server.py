"""An MCP server of an SDK, over streamable HTTP: `mcp_proxy_http_server.py FOLDER PORT [WORD…]`.

Words: `json` (answers are JSON, not streams), `kept` (events are numbered and kept, so that the
rest of an answer can be asked for). It writes `effects.jsonl`, `lives.txt`, and `heads.jsonl`
(headers of each request); `fates.jsonl` says how the next writes go: `ok`, `held` (waits after it
until there is `go.txt`), `kill_after`, `kill_before`, `error_after`, `cut` (the response ends, and
its rest can be asked for).
"""

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    JSONRPCMessage,
    TextContent,
)
from pydantic import BaseModel, Field
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER, PORT, WORDS = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
server = MCPServer("over-http", version="1", log_level="ERROR")


def append(name: str, value: object) -> None:
    with (FOLDER / name).open("a", encoding="utf-8") as file:
        file.write(json.dumps(value) + "\n")


def read(name: str) -> list[Any]:
    path = FOLDER / name
    return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []


def fate() -> str:
    first, *rest = [*read("fates.jsonl"), "ok"]
    (FOLDER / "fates.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rest))
    return str(first)


async def wrote(tool: str, arguments: dict[str, Any], context: Context) -> CallToolResult:
    """Have an effect, unless the fate is another."""
    end = fate()
    await context.report_progress(1, 2, "begun")
    if end == "kill_before":
        os.kill(os.getpid(), signal.SIGKILL)
    key = arguments.get("key", "")
    known = [one for one in read("effects.jsonl") if key and one["key"] == key]
    if not known:
        known = [{"tool": tool, "id": f"e{len(read('effects.jsonl')) + 1}", "key": key}]
        append("effects.jsonl", {**known[0], "arguments": arguments, "created": time.time()})
    match end:
        case "kill_after":
            os.kill(os.getpid(), signal.SIGKILL)
        case "error_after":
            raise RuntimeError("failed after it")
        case "held":
            while not (FOLDER / "go.txt").exists():  # noqa: ASYNC110 - files have no event
                await asyncio.sleep(0.02)
        case "cut":
            await context.close_sse_stream()
            await asyncio.sleep(0.3)
        case _:
            pass
    blocks = [TextContent(text=f"done {known[0]['id']}"), TextContent(text="ünï\u2028code")]
    return CallToolResult(content=[*blocks])


@server.tool()
async def charge(
    customer: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Customer"})],
    amount: int,
    key: str,
    context: Context,
) -> CallToolResult:
    """Charge a customer."""
    arguments = {"customer": customer, "amount": amount, "key": key}
    return await wrote("charge", arguments, context)


@server.tool()
async def post(text: str, context: Context) -> CallToolResult:
    """Post a text."""
    return await wrote("post", {"text": text}, context)


@server.tool()
async def typed(text: str, context: Context) -> CallToolResult:
    """Post a text that can be found again."""
    return await wrote("typed", {"text": text}, context)


@server.tool()
async def list_charges() -> dict[str, Any]:
    """List the effects."""
    return {"charges": read("effects.jsonl"), "complete": True}


@server.tool()
async def echo(text: str, context: Context) -> str:
    """Say it again."""
    append("metas.jsonl", dict(context.request_context.meta or {}))
    return text


@server.tool()
async def announce(context: Context) -> str:
    """Say that the tools have changed."""
    await context.session.send_tool_list_changed()
    return "said"


class Answer(BaseModel):
    """What a person says."""

    name: str


@server.tool()
async def ask(context: Context) -> str | InputRequiredResult:
    """Ask the person at the client."""
    given = context.input_responses
    if given is not None or context.request_context.protocol_version >= "2026":
        return str(given["name"].content) if given else wanted()  # type: ignore[union-attr] # of a test
    said = await context.elicit("Who?", Answer)
    return said.model_dump_json()


def wanted() -> InputRequiredResult:
    form = ElicitRequestFormParams(message="Who?", requested_schema=Answer.model_json_schema())
    return InputRequiredResult(input_requests={"name": ElicitRequest(params=form)})


class Kept(EventStore):
    """Events in memory."""

    def __init__(self) -> None:
        self.events: list[tuple[str, JSONRPCMessage | None]] = []

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str:
        number = int(last_event_id)
        stream = self.events[number - 1][0]
        for at, (other, message) in enumerate(self.events[number:], number + 1):
            if other == stream and message is not None:
                await send_callback(EventMessage(message, str(at)))
        return stream


class Heads:
    """Notes the headers of each request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            heads = {name.decode(): value.decode() for name, value in scope["headers"]}
            append("heads.jsonl", {"http": scope["method"], **heads})
        await self.app(scope, receive, send)


def live() -> None:
    append("lives.txt", os.getpid())
    kept = Kept() if "kept" in WORDS else None
    app = server.streamable_http_app(
        json_response="json" in WORDS, event_store=kept, retry_interval=100 if kept else None
    )
    uvicorn.run(Heads(app), host="127.0.0.1", port=PORT, log_level="error")


def main() -> None:
    """Live as a child for each line of the input; say so when that one has ended."""
    for _ in sys.stdin:
        child = os.fork()  # a life begins at once: all that is slow is imported
        if not child:
            live()
            return
        os.waitpid(child, 0)
        sys.stdout.write("ended\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
