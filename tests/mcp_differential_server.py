"""A server of the 2026-07-28 generation that uses what its SDK offers; it speaks over stdio."""

import asyncio
from typing import Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageRequest,
    CreateMessageRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ImageContent,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel

URI = "memo://today"
server = MCPServer("surface", version="1", instructions="What one server can do.")


class Place(BaseModel):
    """What a tool with a schema answers."""

    city: str
    degrees: float


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
def pay(amount: int, idempotency_key: str = "") -> str:
    """Write something; what the guard owns."""
    return f"paid {amount}"


@server.tool()
def place(city: str) -> Place:
    """Answer in a structure."""
    return Place(city=city, degrees=21.5)


@server.tool()
def picture() -> CallToolResult:
    """Answer in blocks, with metadata."""
    blocks: list[Any] = [
        TextContent(text="a dot"),
        ImageContent(data="AAAA", mime_type="image/png"),
    ]
    return CallToolResult(content=blocks, _meta={"example.org/note": [1, 2.50, None]})


@server.tool()
def fail() -> str:
    """Raise."""
    raise ValueError("it broke")


@server.tool()
def large(size: int) -> str:
    """Answer with that many characters, some of them outside ASCII."""
    return "é💡x" * (size // 3)


@server.tool()
async def steps(number: int, ctx: Context[Any, Any]) -> str:
    """Report progress, and say so in the log."""
    for step in range(number):
        await ctx.report_progress(step + 1, number, f"step {step + 1}")
    return f"{number} steps"


@server.tool()
async def sleep(seconds: float, text: str) -> str:
    """Answer later than what was asked after it."""
    await asyncio.sleep(seconds)
    return text


@server.tool()
async def ask(
    what: Literal["person", "model", "roots"], ctx: Context[Any, Any]
) -> CallToolResult | InputRequiredResult:
    """Ask the client for something, and answer with what it gave."""
    given = ctx.input_responses
    if given:
        said = given["asked"].model_dump_json(exclude_none=True)
        return CallToolResult(content=[TextContent(text=f"{ctx.request_state}: {said}")])
    return InputRequiredResult(
        input_requests={"asked": _question(what)}, request_state="asked once"
    )


def _question(what: str) -> InputRequest:
    if what == "roots":
        return ListRootsRequest()
    if what == "model":
        message = SamplingMessage(role="user", content=TextContent(text="Say hello"))
        return CreateMessageRequest(
            params=CreateMessageRequestParams(messages=[message], max_tokens=10)
        )
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    return ElicitRequest(
        params=ElicitRequestFormParams(message="Who is it?", requested_schema=schema)
    )


@server.tool()
async def change(ctx: Context[Any, Any]) -> str:
    """Change what there is, and tell whoever listens."""
    server.add_tool(echo, name="another")
    await ctx.notify_tools_changed()
    await ctx.notify_prompts_changed()
    await ctx.notify_resources_changed()
    await ctx.notify_resource_updated(URI)
    return "changed"


@server.resource(URI, mime_type="text/plain")
def today() -> str:
    """A resource."""
    return "nothing planned"


@server.resource("memo://{day}")
def memo(day: str) -> str:
    """A template."""
    return f"nothing planned on {day}"


@server.prompt()
def greet(name: str) -> str:
    """A prompt."""
    return f"Say hello to {name}"


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # not annotated there
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    """Names that begin so."""
    names = [name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)]
    return Completion(values=names, total=len(names), has_more=False)


if __name__ == "__main__":
    server.run("stdio")
