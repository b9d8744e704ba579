"""A scaffold that is a program: it reads the prompt, and finds its tools through MCP."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from retry_guard_sandbox.services import KEY
from sandbox_scaffolds import carefully, steps_of


def configured() -> dict[str, Any]:
    """Return the one server that the configuration names."""
    read = json.loads(Path(os.environ["RETRY_GUARD_MCP_CONFIG"]).read_text(encoding="utf-8"))
    (server,) = read["mcpServers"].values()
    found: dict[str, Any] = server
    return found


class Server:
    """An MCP server, spoken to without any SDK."""

    def __init__(self) -> None:
        """Start what the configuration says."""
        server = configured()
        self.process = subprocess.Popen(
            [server["command"], *server["args"]],
            env=os.environ | server["env"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """Send a request; return its result."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        result: dict[str, Any] = json.loads(self.process.stdout.readline())["result"]
        return result

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool; return the text of the answer."""
        return str(self.ask("tools/call", name=tool, arguments=arguments)["content"][0]["text"])

    def kill(self) -> None:
        """End the server, as if it had crashed."""
        self.process.kill()
        self.process.wait()


def raw(prompt: str, *, crash: bool) -> None:
    """Do it with care; with a server that crashes after the first call."""
    servers = [Server()]
    tools = servers[0].ask("tools/list")["tools"]
    takes_key = {tool["name"]: KEY in tool["inputSchema"]["properties"] for tool in tools}

    def call(tool: str, arguments: dict[str, Any]) -> str:
        text = servers[-1].call(tool, arguments)
        if crash and len(servers) == 1:
            servers[-1].kill()
            servers.append(Server())
        return text

    carefully(prompt, call, takes_key)


def goes_on(prompt: str) -> None:
    """Do it with care, say so, and do it again."""
    raw(prompt, crash=False)
    step = steps_of(prompt)[0]
    Server().call(step.tool, dict(step.arguments))


async def through_the_sdk(prompt: str, mode: str) -> None:
    """Do it with care, through the client of the MCP SDK."""
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(**configured()), mode=mode) as client:
        tools = (await client.list_tools()).tools
        takes_key = {tool.name: KEY in tool.input_schema["properties"] for tool in tools}
        loop = asyncio.get_running_loop()

        def call(tool: str, arguments: dict[str, Any]) -> str:
            asked = asyncio.run_coroutine_threadsafe(client.call_tool(tool, arguments), loop)
            return asked.result().content[0].text  # type: ignore[union-attr]  # it is a text

        await asyncio.to_thread(carefully, prompt, call, takes_key)


def main(way: str) -> None:
    """Do it that way."""
    prompt = sys.stdin.read()
    match way:
        case "raw" | "crashing":
            raw(prompt, crash=way == "crashing")
        case "auto" | "legacy":
            asyncio.run(through_the_sdk(prompt, way))
        case "goes_on":
            goes_on(prompt)
        case "hangs":
            time.sleep(600)
        case _:
            raise SystemExit(f"no way {way}")


if __name__ == "__main__":
    main(sys.argv[1])
