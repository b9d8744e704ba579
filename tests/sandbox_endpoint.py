"""An endpoint that speaks the APIs of models, with a script where others have a model.

What it is asked for as a model is the script that answers: one of the sandbox's own agents, or
one of the ways in which an endpoint is of no use.
"""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from threading import Thread
from typing import Any, cast

from retry_guard_sandbox.agents import AGENTS, Sight, ToolCall
from retry_guard_sandbox.services import KEY, TOOLS
from retry_guard_sandbox.tasks import TASKS

Json = dict[str, Any]
GIVEN, MADE = 100, 10
"""Tokens of every answer."""
STATUSES = {"unknown-key": 401, "too-many": 429, "broken": 500}


@dataclass(frozen=True)
class Said:
    """A conversation, as far as a script needs it. `prompt`: all words of the user.

    `rounds`: the texts that answered the calls of each message since the user's last.
    """

    prompt: str
    tools: dict[str, bool]
    rounds: tuple[tuple[str, ...], ...]


def scripted(script: str, said: Said) -> tuple[ToolCall, ...]:
    """Return the next message of one of the sandbox's own agents."""
    found = [task for task in TASKS.values() if task.prompt in said.prompt]
    task = max(found, key=lambda task: len(task.prompt))
    tools = {name: replace(TOOLS[name], keyed=keyed) for name, keyed in said.tools.items()}
    keys = count(1)
    sight = Sight(task.steps, tools, lambda: f"key-{next(keys)}", reworded=task.reworded)
    moves = AGENTS[script](sight)
    message = next(moves)
    for texts in said.rounds:
        message = moves.send(texts)
    return message


def answers(script: str, said: Said) -> tuple[tuple[str, str], ...] | str:
    """Return calls as names with the JSON of arguments, or a text instead of any."""
    if not said.tools:
        return (("finish", '{"status": "done"}'),)
    odd: dict[str, tuple[tuple[str, str], ...] | str] = {
        "chatty": "It is done.",
        "stubborn": (("no_such_tool", "{}"),),
        "blind": (("finish", '{"status": "done"}'),),
    }
    if script in odd:
        return odd[script]
    clumsy = (
        ("charge", "{"),
        ("charge", '{"amount": NaN}'),
        ("charge", "[]"),
        ("finish", '{"status": "well"}'),
        ("poet", "{}"),
    )
    if script == "clumsy":
        if not said.rounds:
            return clumsy
        script, said = "retry", replace(said, rounds=said.rounds[1:])
    if script == "hasty":
        calls = [
            *scripted("retry", replace(said, rounds=())),
            ToolCall("finish", {"status": "done"}),
        ]
        return tuple((call.tool, json.dumps(call.arguments)) for call in [*calls, calls[0]])
    usual = scripted(script if script in AGENTS else "retry", said)
    return tuple((call.tool, json.dumps(call.arguments)) for call in usual)


# The three APIs: read a request, write an answer.


def chat_said(body: Json) -> Said:
    messages: list[Json] = body["messages"]
    tools = {t["function"]["name"]: t["function"]["parameters"] for t in body["tools"]}
    return _said(tools, [_turned(m["role"], m["content"], "tool") for m in messages])


def responses_said(body: Json) -> Said:
    tools = {tool["name"]: tool["parameters"] for tool in body["tools"]}
    turned: list[tuple[str, str]] = []
    for item in body["input"]:
        if item.get("role") == "user":
            turned.append(("user", item["content"]))
        elif item["type"] == "function_call_output":
            turned.append(("tool", item["output"]))
        elif item["type"] == "reasoning":
            assert item["id"] == "rs_1"
            turned.append(("assistant", ""))
    return _said(tools, turned)


def messages_said(body: Json) -> Said:
    tools = {tool["name"]: tool["input_schema"] for tool in body["tools"]}
    turned: list[tuple[str, str]] = []
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    for message in body["messages"]:
        if message["role"] == "assistant":
            assert message["content"][0] == {"type": "thinking", "thinking": "", "signature": "s"}
            turned.append(("assistant", ""))
            continue
        for block in message["content"]:
            is_text = block["type"] == "text"
            turned.append(("user", block["text"]) if is_text else ("tool", block["content"]))
    return _said(tools, turned)


def _turned(role: str, content: str, tool: str) -> tuple[str, str]:
    return ("tool" if role == tool else role, content)


def _said(tools: dict[str, Json], turned: list[tuple[str, str]]) -> Said:
    last = max(place for place, (role, _) in enumerate(turned) if role == "user")
    rounds: list[list[str]] = []
    for role, text in turned[last + 1 :]:
        if role == "assistant":
            rounds.append([])
        else:
            rounds[-1].append(text)
    keyed = {name: KEY in schema["properties"] for name, schema in tools.items()}
    keyed.pop("finish", None)
    words = " ".join(text for role, text in turned if role == "user")
    return Said(words, keyed, tuple(map(tuple, rounds)))


def chat_answer(calls: tuple[tuple[str, str], ...] | str) -> Json:
    message: Json = {"role": "assistant", "content": None, "annotations": []}
    if isinstance(calls, str):
        message["content"] = calls
    else:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": given}}
            for n, (name, given) in enumerate(calls)
        ]
    usage = {"prompt_tokens": GIVEN, "completion_tokens": MADE, "total_tokens": GIVEN + MADE}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def responses_answer(calls: tuple[tuple[str, str], ...] | str) -> Json:
    output: list[Json] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
    if isinstance(calls, str):
        text = {"type": "output_text", "text": calls}
        output.append({"type": "message", "role": "assistant", "content": [text]})
    else:
        output += [
            {"type": "function_call", "call_id": f"call_{n}", "name": name, "arguments": given}
            for n, (name, given) in enumerate(calls)
        ]
    usage = {"input_tokens": GIVEN, "output_tokens": MADE}
    return {"status": "completed", "output": output, "usage": usage}


def messages_answer(calls: tuple[tuple[str, str], ...] | str) -> Json:
    content: list[Json] = [{"type": "thinking", "thinking": "", "signature": "s"}]
    if isinstance(calls, str):
        content.append({"type": "text", "text": calls})
    else:
        content += [
            {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": json.loads(given)}
            for n, (name, given) in enumerate(calls)
        ]
    usage = {"input_tokens": 60, "cache_read_input_tokens": GIVEN - 60, "output_tokens": MADE}
    return {"type": "message", "content": content, "stop_reason": "tool_use", "usage": usage}


APIS = {
    "/chat/completions": (chat_said, chat_answer),
    "/responses": (responses_said, responses_answer),
    "/v1/messages": (messages_said, messages_answer),
}
PROVIDERS = ("openai", "openai-responses", "anthropic")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: "Endpoint"


class _Visit(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        endpoint = cast("_Server", self.server).endpoint
        endpoint.bodies.append(body)
        endpoint.secrets.append(
            self.headers.get("x-api-key") or self.headers["Authorization"].removeprefix("Bearer ")
        )
        script = endpoint.way(body["model"])
        if script in STATUSES:
            error = {"error": {"message": f"no: {endpoint.secrets[-1]}\nis not welcome"}}
            self._send(STATUSES[script], json.dumps(error).encode())
            return
        said, answer = APIS[self.path]
        self._answer(script, answer(answers(script, said(body))))

    def _answer(self, script: str, whole: Json) -> None:
        match script:
            case "silent":
                time.sleep(2)
                self.close_connection = True
            case "torn":
                self._send(200, json.dumps(whole).encode(), less=10)
            case "page":
                self._send(200, b"<html>welcome</html>", kind="text/html")
            case "list":
                self._send(200, b"[]")
            case "other":
                self._send(200, b'{"choices": [], "output": 7, "content": {}}')
            case "limited":
                whole |= {"status": "incomplete", "stop_reason": "max_tokens"}
                for choice in whole.get("choices", []):
                    choice["finish_reason"] = "length"
                self._send(200, json.dumps(whole).encode())
            case "uncounted":
                self._send(200, json.dumps({**whole, "usage": None}).encode())
            case _:
                self._send(200, json.dumps(whole).encode())

    def _send(
        self, status: int, body: bytes, kind: str = "application/json", less: int = 0
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - less])
        self.close_connection = bool(less)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is named there
        """Say nothing."""


@dataclass
class Endpoint:
    """One that listens. `bodies`, `secrets`: of all requests. `turns`: after so many requests
    a model goes another way: by model, how many, and which.
    """

    url: str
    bodies: list[Json] = field(default_factory=list[Json])
    secrets: list[str] = field(default_factory=list[str])
    turns: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def way(self, model: str) -> str:
        """Return how this request is answered."""
        after, then = self.turns.get(model, (0, model))
        return then if len(self.bodies) > after else model


@contextmanager
def listening() -> Generator[Endpoint]:
    """Listen on this machine until it is left."""
    server = _Server(("127.0.0.1", 0), _Visit)
    host, port = server.server_address[:2]
    endpoint = Endpoint(f"http://{host!s}:{port}")
    server.endpoint = endpoint
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
