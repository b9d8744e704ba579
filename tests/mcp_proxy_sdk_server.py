"""A server made with the MCP library. Run as a program with a folder for its effects.

`charge` kills the process after its effect as long as there is a file `kill` in the folder;
`confirmed` asks the person first.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer

FOLDER = Path(sys.argv[1])
server = MCPServer("charges")


def effect(**fields: object) -> str:
    with (FOLDER / "effects.jsonl").open("a+", encoding="utf-8") as file:
        file.seek(0)
        known = [json.loads(line) for line in file]
        equal = [one for one in known if one["key"] == fields["key"]]
        if not equal:
            file.write(json.dumps(fields) + "\n")
    return f"receipt {len(known) if equal else len(known) + 1}"


@server.tool()
async def charge(customer: str, amount: int, key: str, ctx: Context) -> str:
    """Charge a customer."""
    await ctx.report_progress(0.5)
    receipt = effect(customer=customer, amount=amount, key=key)
    if (FOLDER / "kill").exists():
        (FOLDER / "kill").unlink()
        os._exit(9)
    return receipt


@server.tool()
async def confirmed(customer: str, key: str, ctx: Context) -> str | types.InputRequiredResult:
    """Charge a customer whom a person has to confirm."""
    if ctx.input_responses is None:
        form: Any = {"type": "object", "properties": {"yes": {"type": "boolean"}}}
        params = types.ElicitRequestFormParams(message="Sure?", requested_schema=form)
        asked: Any = {"sure": types.ElicitRequest(params=params)}
        return types.InputRequiredResult(input_requests=asked, request_state="step-1")
    answer: Any = ctx.input_responses["sure"]
    if answer.action != "accept":
        return "declined"
    return effect(customer=customer, key=key)


@server.tool()
def echo(text: str) -> str:
    """Return the text."""
    return text


if __name__ == "__main__":
    server.run()
