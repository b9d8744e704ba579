"""What the answer of an MCP server proves; a server of the `mcp` package answers."""

import asyncio
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, CreateTaskResult, InputRequiredResult, TextContent

from http_clients import Reply
from retry_guard_outcomes import Done, NotExecuted, Unknown, classify

effects: list[int] = []
server = MCPServer("billing")


@server.tool()
def charge(amount: int) -> str:
    effects.append(amount)
    if amount < 0:
        raise ValueError("the receipt could not be mailed")
    return "paid"


@server.tool()
async def slow() -> str:
    effects.append(0)
    await asyncio.sleep(30)
    return "late"


async def called(tool: str, arguments: dict[str, Any], limit: float | None = None) -> Reply:
    effects.clear()
    async with Client(server, read_timeout_seconds=limit) as client:
        try:
            return await client.call_tool(tool, arguments)
        except MCPError as error:
            return error


async def test_a_result_is_done() -> None:
    result = await called("charge", {"amount": 5})
    assert classify(result) == Done(result)
    plain = result.model_dump(by_alias=True)
    assert classify(plain) == Done(plain)


async def test_a_tool_that_failed_is_unknown() -> None:
    result = await called("charge", {"amount": -5})
    assert effects == [-5]
    assert result.is_error
    assert classify(result) == Unknown(result)
    plain = result.model_dump(by_alias=True)
    assert classify(plain) == Unknown(plain)


async def test_a_tool_that_there_is_not_was_not_executed() -> None:
    result = await called("refund", {"amount": 5})
    assert effects == []
    assert classify(result) == NotExecuted(result)


async def test_a_method_that_there_is_not_was_not_executed() -> None:
    """What every server answers that has no tools at all."""
    async with Client(Server("empty")) as client:
        with pytest.raises(MCPError) as refusal:
            await client.call_tool("charge", {"amount": 5})
    assert refusal.value.code == -32601
    assert classify(refusal.value) == NotExecuted(refusal.value)


async def test_a_call_that_took_too_long_is_unknown() -> None:
    """B28: the client gives up, the server has begun."""
    error = await called("slow", {}, limit=1.5)
    assert effects == [0]
    assert isinstance(error, MCPError)
    assert classify(error) == Unknown(error)


@pytest.mark.parametrize("code", [-32700, -32601, -32602])
def test_codes_that_prove_it(code: int) -> None:
    error = MCPError(code, "Invalid arguments for tool charge")
    assert classify(error) == NotExecuted(error)
    message = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "Invalid params"}}
    assert classify(message) == NotExecuted(message)


@pytest.mark.parametrize("code", [-32600, -32603, -32000, -32001, -32002, -32020, 32600, 0])
def test_codes_that_prove_nothing(code: int) -> None:
    error = MCPError(code, "Invalid")
    assert classify(error) == Unknown(error)
    message = {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "Invalid"}}
    assert classify(message) == Unknown(message)


@pytest.mark.parametrize(
    "message",
    [
        "Structured content does not match the tool's output schema: data must be string",
        "MCP error -32602: Output validation error: Invalid structured content for tool charge",
        "Invalid result",
        "Unexpected response",
    ],
)
def test_an_answer_that_does_not_fit_its_schema_is_unknown(message: str) -> None:
    """B44: the tool ran; what was invalid is what it returned."""
    error = MCPError(-32602, message)
    assert classify(error) == Unknown(error)
    result = CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)
    assert classify(result) == Unknown(result)


def failed(*texts: str) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in texts], is_error=True
    )


@pytest.mark.parametrize(
    ("text", "proves"),
    [
        ("Input validation error: 'amount' is a required property", True),
        ("MCP error -32602: Input validation error: Invalid arguments for tool charge", True),
        ("MCP error -32602: Tool refund not found", True),
        ("Unknown tool: refund", True),
        ("charged, but: Unknown tool: mail", False),
        ("Tool charge failed: receipt not found", False),
        ("Error executing tool charge: Input validation error", False),
        ("", False),
    ],
)
def test_only_what_the_libraries_say_before_they_call_a_tool_is_proof(
    text: str, proves: bool
) -> None:
    result = failed(text)
    assert classify(result) == (NotExecuted(result) if proves else Unknown(result))
    assert isinstance(classify(failed(text, "and more")), Unknown)


def test_a_failure_without_text_is_unknown() -> None:
    for content in ([], [{"type": "image"}], None):
        plain = {"isError": True, "content": content}
        assert classify(plain) == Unknown(plain)


def test_a_response_with_a_result_is_judged_by_it() -> None:
    for failing in (True, False):
        result = {"content": ["no"], "isError": failing}
        message = {"jsonrpc": "2.0", "id": 1, "result": result}
        assert classify(message) == (Unknown(message) if failing else Done(message))


def test_what_is_not_finished_is_not_done() -> None:
    waiting = InputRequiredResult(input_requests={}, request_state="s")
    assert classify(waiting) == Unknown(waiting)
    task = CreateTaskResult.model_construct()
    assert classify(task) == Unknown(task, hint="accepted")
