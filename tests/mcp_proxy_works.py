"""What the works do: a server's tools, without the way on which they are reached.

What happens really stands in a folder: `effects.jsonl`, `calls.jsonl` (calls of writes and
previews that came in, with the headers that they came with), `tokens.jsonl`. What shall happen
stands there too: `fates.jsonl` for the next writes, `shown.jsonl` for the next previews, and files
that are switches: `open` (what waits at the gate goes on), `blind` (lists lack what they always
have), `empty` (lists show nothing), `forgetful` (keys are not looked at), `lag` (seconds until an
effect is listed), `resumes` (a known key does what is missing of a batch), `listed` (the result of
`tools/list`), `named` (the name and version of the server).

Fates: `ok`; `die`, `commit_die` (the process kills itself, without or with the effect); `drop`,
`commit_drop` (an answer is never given); `gate`, `commit_gate` (waits, before or after the effect,
until the gate is open); `commit_error` (isError after the effect); `error` (isError, and nothing
was done); `full` (the same, with its reason in words); `code`, `invalid`, `busy` (an error -32050,
or HTTP 422 or 503, and nothing was done); `late` (-32603, and the effect comes half a second
later); `part` (the first item of a batch is made, and then the process kills itself); `input`
(wants input first, unless it was given); `task` (the effect, and an answer that it was accepted).
"""

import fcntl
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
LATE = 0.5
"""Seconds after which an effect comes late."""
TEXT = {"type": "string"}


def schema(*names: str, required: tuple[str, ...] = ()) -> Json:
    return {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": [*required]}


MADE = {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}
ROOM = schema("room", "starts", "capacity", "confirm_token", "key", required=("room", "starts"))
NESTED = schema("text")
NESTED["properties"] = {**NESTED["properties"], "options": schema("key", "speed")}
TOOLS: list[Json] = [
    {"name": "write", "inputSchema": schema("text", "note", "pin", "key", required=("key",))},
    {"name": "plain", "inputSchema": schema("text", "note", "pin")},
    {"name": "nested", "inputSchema": NESTED},
    {"name": "other", "inputSchema": schema("text", "note", "pin")},
    {"name": "made", "inputSchema": schema("text"), "outputSchema": MADE},
    {"name": "rows", "inputSchema": schema("table", "rows", "key")},
    {"name": "effects", "inputSchema": schema("text")},
    {"name": "preview", "inputSchema": ROOM},
    {"name": "make", "inputSchema": ROOM},
    {"name": "room", "inputSchema": ROOM},
]
QUESTION = {"method": "elicitation/create", "params": {"message": "Sure?"}}
WANTED: Json = {
    "resultType": "input_required",
    "inputRequests": {"sure": QUESTION},
    "requestState": "state-1",
}


class Dropped(Exception):  # noqa: N818 - no error, but a fate
    """There will be no answer."""


class Refused(Exception):  # noqa: N818 - (the same)
    """An error of JSON-RPC, by its code, or a status of HTTP."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Works:
    """The tools. `lock`: one write at a time touches what is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.lock = folder, threading.Lock()

    def append(self, name: str, value: object) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")

    def read(self, name: str) -> list[Any]:
        path = self.folder / name
        return [json.loads(one) for one in path.read_text().splitlines()] if path.exists() else []

    def has(self, switch: str) -> bool:
        return (self.folder / switch).exists()

    def fate(self, name: str) -> str:
        with (self.folder / name).open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            first, *rest = file.read().splitlines() or ['"ok"']
            file.seek(0)
            file.truncate()
            file.write("".join(f"{one}\n" for one in rest))
        fate: str = json.loads(first)
        return fate

    def wants_input(self) -> bool:
        if (self.read("fates.jsonl") or ["ok"])[0] != "input":
            return False
        return self.fate("fates.jsonl") == "input"

    # What is called

    def call(self, params: Json, headers: Json) -> Json:
        """Return the result of a tool. Raises `Dropped`, `Refused`."""
        name, arguments = params["name"], params.get("arguments", {})
        if name == "effects":
            return shown(self.listed())
        self.append("calls.jsonl", {**params, "headers": headers})
        if name == "preview" or (name == "room" and not arguments.get("confirm_token")):
            return self.preview(arguments)
        key = arguments.get("key") or arguments.get("options", {}).get("key")
        key = key or params.get("_meta", {}).get("key")
        if "inputResponses" not in params and self.wants_input():
            return dict(WANTED)
        return self.write(name, arguments, key or headers.get("idempotency-key"))

    def listed(self) -> Json:
        lag = (self.read("lag") or [0])[0]
        found = [one for one in self.read("effects.jsonl") if one["created"] + lag <= time.time()]
        fields = dict.fromkeys(("id", "text", "room", "table", "name"), "seed")
        seed = [] if self.has("blind") else [fields]
        return {"effects": [] if self.has("empty") else seed + found, "complete": True}

    def write(self, name: str, arguments: Json, key: str | None) -> Json:
        """Have an effect, unless the fate is another."""
        fate = self.fate("fates.jsonl")
        self.before(fate)
        if fate == "late":
            threading.Timer(LATE, self.effect, (name, arguments, key)).start()
            raise Refused(-32603, "it may come later")
        result = self.effect(name, arguments, key, only=1 if fate == "part" else None)
        self.after(fate)
        return {"task": {"taskId": "t1", "status": "working"}} if fate == "task" else result

    def before(self, fate: str) -> None:
        match fate:
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "drop":
                raise Dropped
            case "gate":
                self.wait()
            case "error" | "full":
                raise Refused(0, "it failed" if fate == "error" else "nothing done: no room left")
            case "code":
                raise Refused(-32050, "not now")
            case "invalid" | "busy":
                raise Refused(422 if fate == "invalid" else 503, "")
            case _:
                pass

    def after(self, fate: str) -> None:
        match fate:
            case "commit_die" | "part":
                os.kill(os.getpid(), signal.SIGKILL)
            case "commit_drop":
                raise Dropped
            case "commit_gate":
                self.wait()
            case "commit_error":
                raise Refused(0, "it failed after it")
            case _:
                pass

    def wait(self) -> None:
        while not self.has("open"):
            time.sleep(0.02)

    def effect(self, name: str, arguments: Json, key: str | None, only: int | None = None) -> Json:
        with self.lock:
            known = self.read("effects.jsonl")
            equal = [one for one in known if key and one["key"] == key]
            honoured = bool(equal) and not self.has("forgetful")
            if not honoured:
                self.use(name, arguments)
                equal = [self.one(name, each, key) for each in items(arguments)[:only]]
            elif self.has("resumes"):
                rest = items(arguments)[len(equal) :]
                equal = [*equal, *(self.one(name, each, key) for each in rest)]
        ids = [one["id"] for one in equal]
        return shown({"id": ids[0], "ids": ids, "honoured": honoured or not known})

    def one(self, name: str, fields: Json, key: str | None) -> Json:
        number = len(self.read("effects.jsonl")) + 1
        named = {"id": f"e{number}", "tool": name, "key": key, "created": time.time()}
        self.append("effects.jsonl", {**fields, **named})
        return named

    # Two steps

    def preview(self, arguments: Json) -> Json:
        fate, token = self.fate("shown.jsonl"), f"t-{os.urandom(16).hex()}"
        self.before(fate)
        self.append("tokens.jsonl", {"token": token, "for": bare(arguments)})
        self.after(fate)
        return shown({"would": f"make {arguments['room']}", "confirm_token": token})

    def use(self, name: str, arguments: Json) -> None:
        """Take a token. Raises `Refused` for one that is not good for this."""
        if name not in ("make", "room"):
            return
        token = arguments.get("confirm_token")
        minted = [one for one in self.read("tokens.jsonl") if one["token"] == token]
        used = [one for one in self.read("used.jsonl") if one == token]
        if used or not minted or minted[0]["for"] != bare(arguments) or self.has("stale"):
            raise Refused(0, "token_refused: it is used up, too old, or for something else")
        self.append("used.jsonl", token)


def bare(arguments: Json) -> Json:
    return {n: value for n, value in arguments.items() if n not in ("confirm_token", "key")}


def items(arguments: Json) -> list[Json]:
    """What has an effect of its own: a call, or each item of a batch."""
    rows: list[Json] | None = arguments.get("rows")
    return [arguments] if rows is None else [{"table": arguments["table"], **row} for row in rows]


def shown(value: Json) -> Json:
    text = {"type": "text", "text": json.dumps(value)}
    return {"content": [text], "structuredContent": value, "isError": False}


def failed(text: str) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": True}


def answered(message: Json, do: Callable[[], Json]) -> Json:
    """Return the response to a request. Raises `Dropped`, and `Refused` with a status."""
    head = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        return {**head, "result": do()}
    except Refused as error:
        if error.code > 0:
            raise
        if error.code == 0:
            return {**head, "result": failed(str(error))}
        return {**head, "error": {"code": error.code, "message": str(error)}}
