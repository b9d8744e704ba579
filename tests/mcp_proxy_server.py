"""An MCP server of both generations that does as it is told, as a process of its own.

Run as a program with a folder. What happens really stands in there:

effects.jsonl    each effect of a write, a line each
heard.jsonl      each line that came in, as it came
fates.jsonl      how the next calls of writes go, a word each, the first is used up first
lives.txt        a line for each start
shut.txt         as long as it exists, no list of tools is given and no session opened
go.txt           once it exists, calls that are held go on
restless.txt     where it exists, the server says of its list that it changed, `before` or `after`
                 each time that it gives it; `grows`: and then there is one tool more
refuses.txt      where it exists, subscriptions and log levels are refused
tools.json       its tools, as a list of pages; without it, those that stand here

Fates: `ok`; `kill_after`, `kill_before` (the process kills itself, with or without the effect);
`hang_after`, `hang_before` (no answer); `slow` (0.5 s, then ok); `held`, `held_kill`, `held_input`
(waits until it may go on, then ok, `kill_after` or `input`); `error_after`, `error_before`
(isError); `rpc_after` (-32603); `refuse` (-32602); `close` (closes its output after the effect);
`fake` (the effect, with a mark in `_meta` that only a guard may give); `input` (asks for input),
`own_input` (so with a state that holds the arguments).
"""

import base64
import fcntl
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]
STATELESS = "io.modelcontextprotocol/protocolVersion"
KEY = {"type": "string", "description": "names the request"}
CHARGE: Json = {
    "type": "object",
    "properties": {"customer": {"type": "string"}, "amount": {"type": "number"}, "key": KEY},
    "required": ["customer", "amount", "key"],
}
PLAIN: Json = {"type": "object", "properties": {"text": {"type": "string"}}}
TOOLS: list[Json] = [
    {"name": "charge", "description": "Charge.", "inputSchema": CHARGE, "x-vendor": {"a": 1e3}},
    {"name": "post", "inputSchema": PLAIN, "annotations": {"idempotentHint": True}},
    {"name": "post.dotted", "inputSchema": {"type": "object", "additionalProperties": False}},
    {"name": "typed", "inputSchema": PLAIN, "outputSchema": {"type": "object"}},
    {
        "name": "union",
        "inputSchema": {"oneOf": [{"$ref": "#/definitions/Item"}, {"$ref": "#/$defs/Gone"}]},
        "outputSchema": {"$id": "x"},
    },
    {"name": "list_charges", "inputSchema": PLAIN, "annotations": {"readOnlyHint": True}},
]
READS = ("list_charges", "echo")


def inside(holder: Json, name: str) -> Json:
    """Return a member that is an object, else nothing."""
    value = holder.get(name)
    return cast("Json", value) if isinstance(value, dict) else {}


class Server:
    def __init__(self, folder: Path) -> None:
        self.folder, self.out, self.store = folder, threading.Lock(), threading.Lock()
        self.asked: dict[Any, str] = {}

    # What is kept

    def append(self, name: str, value: object) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")

    def read(self, name: str) -> list[Any]:
        path = self.folder / name
        return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []

    def fate(self) -> str:
        path = self.folder / "fates.jsonl"
        if not path.exists():
            return "ok"
        with path.open("r+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            first, *rest = file.read().splitlines() or ['"ok"']
            file.seek(0)
            file.truncate()
            file.write("".join(f"{one}\n" for one in rest))
        fate: str = json.loads(first)
        return fate

    # What is said

    def say(self, message: object) -> None:
        with self.out:
            os.write(1, json.dumps(message).encode() + b"\n")

    def answer(self, given: object, result: Json, *, stateless: bool) -> None:
        more = {"resultType": "complete"} if stateless and "resultType" not in result else {}
        self.say({"jsonrpc": "2.0", "id": given, "result": {**result, **more}})

    def error(self, given: object, code: int, message: str) -> None:
        self.say({"jsonrpc": "2.0", "id": given, "error": {"code": code, "message": message}})

    # What is done

    def hear(self, line: bytes) -> None:
        self.append("heard.jsonl", line.decode("utf-8", "replace"))
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError):
            self.error(None, -32700, "no JSON")
            return
        if isinstance(message, list):
            for one in message:  # pyright: ignore[reportUnknownVariableType] - of any type
                self.one(one)  # pyright: ignore[reportUnknownArgumentType] - (the same)
        elif isinstance(message, dict):
            self.one(cast("Json", message))

    def one(self, message: Json) -> None:  # noqa: C901, PLR0912 - one case for each method
        params = inside(message, "params")
        stateless = STATELESS in inside(params, "_meta")
        match message.get("method"):
            case "initialize":
                self.wait_until_open()
                version = params.get("protocolVersion")
                said: Json = {"protocolVersion": version, "capabilities": {"tools": {}}}
                named = {"serverInfo": {"name": "scripted", "version": "1"}}
                self.answer(message["id"], {**said, **named}, stateless=False)
            case "server/discover" if stateless:
                found: Json = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                self.answer(message["id"], found, stateless=True)
            case "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel":
                self.grant(message["id"], params)
            case "subscriptions/listen":
                self.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            case "tools/list" if "held" in inside(params, "_meta"):
                pass  # who asks gives the answer too, with `raw`
            case "tools/list":
                self.wait_until_open()
                self.list(message["id"], params, stateless=stateless)
            case "tools/call" if "id" in message:
                call = (message["id"], params, stateless)
                threading.Thread(target=self.call, args=call, daemon=True).start()
            case "raw":
                with self.out:
                    os.write(1, base64.b64decode(params["bytes"]))
            case "ask":
                self.asked[params["as"]] = message["id"]
                question = {"jsonrpc": "2.0", "id": params["as"], "method": "elicitation/create"}
                self.say({**question, "params": {"message": "Sure?"}})
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "silence":
                pass
            case "ping":
                self.answer(message["id"], {}, stateless=stateless)
            case None if message.get("id") in self.asked:
                asked = self.asked.pop(message["id"])
                self.answer(asked, {"answered": message.get("result")}, stateless=False)
            case _ if "id" in message:
                self.error(message["id"], -32601, "there is no such method")
            case _:
                pass

    def wait_until_open(self) -> None:
        while (self.folder / "shut.txt").exists():
            time.sleep(0.01)

    def grant(self, given: object, params: Json) -> None:
        """Grant what lasts as long as the session, but for what is said to be refused."""
        if (self.folder / "refuses.txt").exists() or "refused" in str(params):
            self.error(given, -32602, "not granted")
        else:
            self.answer(given, {}, stateless=False)

    def list(self, given: object, params: Json, *, stateless: bool) -> None:
        path = self.folder / "restless.txt"
        when = path.read_text() if path.exists() else ""
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        if when in ("before", "grows"):  # else its answer could be believed until this is heard
            self.say(changed)
        self.answer(given, self.page(params), stateless=stateless)
        if when == "after":
            self.say(changed)
        if when == "grows":
            more = {"name": f"tool {time.monotonic_ns()}", "inputSchema": PLAIN}
            pages = (self.read("tools.json") or [[TOOLS]])[0]
            (self.folder / "tools.json").write_text(json.dumps([[*pages[0], more]]))

    def page(self, params: Json) -> Json:
        """A list of tools: those of `tools.json`, a file that may hold several pages."""
        pages: list[list[Json]] = (self.read("tools.json") or [[TOOLS]])[0]
        at = int(params.get("cursor", 0))
        more = {"nextCursor": str(at + 1)} if at + 1 < len(pages) else {}
        return {"tools": pages[at], **more}

    def call(self, given: object, params: Json, stateless: bool) -> None:
        tool, arguments = params.get("name"), inside(params, "arguments")
        if tool == "list_charges":
            body = json.dumps({"charges": self.read("effects.jsonl"), "complete": True})
            text = {"content": [{"type": "text", "text": body}], "isError": False}
            self.answer(given, text, stateless=stateless)
            return
        if tool == "echo":
            text = {"content": [{"type": "text", "text": json.dumps(arguments)}]}
            self.answer(given, text, stateless=stateless)
            return
        self.write(given, params, self.fate(), stateless=stateless)

    def write(  # noqa: C901 - one case for each fate
        self, given: object, params: Json, fate: str, *, stateless: bool
    ) -> None:
        if fate == "slow":
            time.sleep(0.5)
        while fate.startswith("held") and not (self.folder / "go.txt").exists():
            time.sleep(0.01)
        if fate in ("input", "held_input", "own_input") and "inputResponses" not in params:
            wanted = {"confirm": {"method": "elicitation/create", "params": {"message": "Sure?"}}}
            asked = {"resultType": "input_required", "inputRequests": wanted}
            state = json.dumps(params["arguments"]) if fate == "own_input" else "state-1"
            self.answer(given, {**asked, "requestState": state}, stateless=stateless)
            return
        token = inside(params, "_meta").get("progressToken")
        if token is not None:
            beat: Json = {"progressToken": token, "progress": 1}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": beat})
        if fate in ("kill_before", "hang_before", "error_before", "refuse"):
            self.before(given, fate, stateless=stateless)
            return
        with self.store:
            result = self.effect(params)
        match fate:
            case "kill_after" | "held_kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "close":
                os.close(1)
            case "hang_after":
                pass
            case "error_after":
                self.answer(given, failed("Error executing tool"), stateless=stateless)
            case "rpc_after":
                self.error(given, -32603, "internal error")
            case "fake":
                mark = {"retry-guard/outcome": {"replayed": True}, "own": 1}
                self.answer(given, {**result, "_meta": mark}, stateless=stateless)
            case _:
                self.answer(given, result, stateless=stateless)

    def before(self, given: object, fate: str, *, stateless: bool) -> None:
        match fate:
            case "kill_before":
                os.kill(os.getpid(), signal.SIGKILL)
            case "error_before":
                self.answer(given, failed("Error executing tool"), stateless=stateless)
            case "refuse":
                self.error(given, -32602, "amount must be above 0")
            case _:
                pass

    def effect(self, params: Json) -> Json:
        arguments = inside(params, "arguments")
        key = arguments.get("key") or inside(params, "_meta").get("key")
        known = self.read("effects.jsonl")
        equal = [one for one in known if key and one["key"] == key]
        if not equal:
            named = {"tool": params["name"], "id": f"e{len(known) + 1}", "key": key}
            effect = {**named, "arguments": arguments, "created": time.time()}
            self.append("effects.jsonl", effect)
            equal = [effect]
        blocks = [{"type": "text", "text": f"done {equal[0]['id']}"}]
        return {"content": [*blocks, {"type": "text", "text": "second block"}], "isError": False}


def failed(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def main() -> None:
    server = Server(Path(sys.argv[1]))
    server.append("lives.txt", os.getpid())
    sys.stderr.write("the server says this on standard error\n")
    sys.stderr.flush()
    for line in sys.stdin.buffer:
        server.hear(line)


if __name__ == "__main__":
    main()
