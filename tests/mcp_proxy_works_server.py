"""The works as a program on standard input and output, in both generations.

`heard.jsonl` gets each message. Over HTTP they are `mcp_proxy_works_http`.
"""

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_proxy_works import TOOLS, Dropped, Json, Refused, Works, answered

VERSION = "io.modelcontextprotocol/protocolVersion"
NAMED = "io.modelcontextprotocol/serverInfo"
Say = Callable[[Json], None]


def handled(works: Works, message: Json, headers: Json, say: Say) -> Json | None:
    """Return the response to a message, if it wants one. Raises `Dropped`, `Refused`."""
    works.append("heard.jsonl", message)
    if "id" not in message or "method" not in message:
        return None
    params: Json = message.get("params", {})
    meta: Json = params.get("_meta", {})
    beats = message["method"] == "tools/call" and "progressToken" in meta

    def beat(progress: int) -> None:
        if beats:
            made = {"progressToken": meta["progressToken"], "progress": progress}
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": made})

    beat(1)
    response = answered(message, lambda: result_of(works, message["method"], params, headers))
    beat(2)
    if VERSION in meta and "result" in response:
        response["result"].setdefault("resultType", "complete")
        if works.has("named"):
            response["result"].setdefault("_meta", {})[NAMED] = works.read("named")[0]
    return response


def result_of(works: Works, method: str, params: Json, headers: Json) -> Json:
    able: Json = {"capabilities": {"tools": {}}}
    match method:
        case "initialize":
            named = {"name": "works", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "serverInfo": named, **able}
        case "server/discover":
            return {"supportedVersions": ["2026-07-28"], **able}
        case "tools/list":
            return dict((works.read("listed") or [{"tools": TOOLS}])[0])
        case "tools/call":
            return works.call(params, headers)
        case "ping":
            return {}
        case _:
            raise Refused(-32601, "there is no such method")


def speak(works: Works) -> None:
    lock = threading.Lock()

    def say(message: Json) -> None:
        with lock:
            os.write(1, json.dumps(message).encode() + b"\n")

    def hear(message: Json) -> None:
        with contextlib.suppress(Dropped):
            response = handled(works, message, {}, say)
            if response is not None:
                say(response)

    for line in sys.stdin.buffer:
        message: Any = json.loads(line)
        if message.get("method") == "tools/call":
            threading.Thread(target=hear, args=(message,), daemon=True).start()
        else:
            hear(message)


if __name__ == "__main__":
    given = Works(Path(sys.argv[1]))
    given.append("lives.txt", os.getpid())
    speak(given)
