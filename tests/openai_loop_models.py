"""Clients of the real OpenAI SDK whose server says what a script holds, over a mocked transport."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI

from adapter_suite import Call, World
from functions_tools import toolbox_of
from retry_guard_functions import Toolbox
from retry_guard_openai import Run, run_tools, stream_tools

Api = Literal["chat", "responses"]
Says = dict[str, Any] | list[dict[str, Any]] | httpx2.Response | Exception
"""A message or response; the chunks or events of a stream; an answer as it is; a failure."""


@dataclass
class Model:
    """Answers each request with what it is given to say, then with a closing sentence."""

    api: Api
    says: list[Says] = field(default_factory=list[Says])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(json.loads(request.content))
        said = self.says.pop(0) if self.says else says(self.api, "I am done.")
        match said:
            case Exception():
                raise said
            case httpx2.Response():
                return said
            case list():
                return streamed_bytes(said)
            case dict():
                pass
        if not self.requests[-1].get("stream"):
            head = {"content-type": "application/json"}
            return httpx2.Response(200, text=json.dumps(said), headers=head)
        return streamed_bytes(chunks_of(said) if self.api == "chat" else events_of(said))

    def sent(self) -> list[Any]:
        """Return what the last request held of the conversation."""
        name = "messages" if self.api == "chat" else "input"
        items: list[Any] = self.requests[-1][name]
        return items


def says(api: Api, text: str = "", *calls: Call, **more: Any) -> dict[str, Any]:
    """A whole message of a model, which calls these tools."""
    made = [(c.id, c.tool, json.dumps(c.arguments)) for c in calls]
    return message(text, made, **more) if api == "chat" else response(text, made, **more)


Made = Sequence[tuple[str, str, str]]


def message(text: str, calls: Made, **more: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        said["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": a}}
            for i, n, a in calls
        ]
    finish = more.pop("finish_reason", "tool_calls" if calls else "stop")
    choice = {"index": 0, "finish_reason": finish, "message": {**said, **more}}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [choice]}


def response(text: str, calls: Made, **more: Any) -> dict[str, Any]:
    output: list[dict[str, Any]] = [{"id": "rs_1", "type": "reasoning", "summary": []}]
    output += [
        {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": i,
            "name": n,
            "arguments": a,
        }
        for number, (i, n, a) in enumerate(calls)
    ]
    if text:
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
        about = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
        output.append({**about, "content": [part]})
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    rest: dict[str, Any] = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **rest, "status": "completed", "output": output, **more}


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [{"index": 0, "finish_reason": finish, "delta": delta}]}


def call_chunk(index: int | None, **part: Any) -> dict[str, Any]:
    """A chunk of one call: `id`, `name`, `arguments`, as far as the chunk has them."""
    function = {name: part.pop(name) for name in ("name", "arguments") if name in part}
    return chunk(tool_calls=[{"index": index, **part, "function": function}])


def chunks_of(said: dict[str, Any]) -> list[dict[str, Any]]:
    (choice,) = said["choices"]
    whole = dict(choice["message"])
    parts = [chunk(role="assistant", content="")]
    for index, call in enumerate(whole.pop("tool_calls", [])):
        text = call["function"]["arguments"]
        head = {"type": "function", "name": call["function"]["name"]}
        parts.append(call_chunk(index, id=call["id"], **head, arguments=""))
        parts += [call_chunk(index, arguments=text[n : n + 5]) for n in range(0, len(text), 5)]
    content = whole.get("content") or ""
    parts += [chunk(content=content[n : n + 4]) for n in range(0, len(content), 4)]
    if whole.get("refusal"):
        parts.append(chunk(refusal=whole["refusal"]))
    return [*parts, chunk(choice["finish_reason"])]


def events_of(said: dict[str, Any]) -> list[dict[str, Any]]:
    begun: dict[str, Any] = {**said, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for number, item in enumerate(said["output"]):
        at = {"output_index": number, "item": item}
        events.append({"type": "response.output_item.added", **at})
        events.append({"type": "response.output_item.done", **at})
    events.append({"type": f"response.{said['status']}", "response": said})
    return [{**event, "sequence_number": n} for n, event in enumerate(events)]


def streamed_bytes(parts: Sequence[dict[str, Any]]) -> httpx2.Response:
    lines = [f"event: {part['type']}\n" if "type" in part else "" for part in parts]
    bodies = [f"{line}data: {json.dumps(p)}\n\n" for line, p in zip(lines, parts, strict=True)]
    head = {"content-type": "text/event-stream"}
    return httpx2.Response(200, headers=head, content="".join(bodies).encode())


Run_ = Callable[..., Run]


def _given(model: Model, more: dict[str, Any]) -> dict[str, Any]:
    asked = {"model": "m", "scope": "acme", "turn": "m1"}
    name = "messages" if model.api == "chat" else "input"
    return {**asked, name: [{"role": "user", "content": "Charge them."}], **more}


def _blocking_client(model: Model) -> OpenAI:
    http = httpx2.Client(transport=httpx2.MockTransport(model.answer))
    return OpenAI(api_key="k", http_client=http, base_url="http://127.0.0.1:9/v1")


def _awaiting_client(model: Model) -> AsyncOpenAI:
    http = httpx2.AsyncClient(transport=httpx2.MockTransport(model.answer))
    return AsyncOpenAI(api_key="k", http_client=http, base_url="http://127.0.0.1:9/v1")


every_api = pytest.mark.parametrize("api", ["chat", "responses"])


def blocking(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    with _blocking_client(model) as client:
        asked = client.chat.completions if model.api == "chat" else client.responses
        return run_tools(asked, toolbox, **_given(model, more))


async def awaiting(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    async with _awaiting_client(model) as client:
        asked = client.chat.completions if model.api == "chat" else client.responses
        return await run_tools(asked, toolbox, **_given(model, more))


def awaited(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    return asyncio.run(awaiting(model, toolbox, **more))


def streamed_events(model: Model, toolbox: Toolbox, **more: Any) -> list[Any]:
    """Return all that a stream gives, the run included."""
    with _blocking_client(model) as client:
        if model.api == "chat":
            return [*stream_tools(client.chat.completions, toolbox, **_given(model, more))]
        return [*stream_tools(client.responses, toolbox, **_given(model, more))]


def streamed(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    return _last(streamed_events(model, toolbox, **more))


async def streaming(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    async with _awaiting_client(model) as client:
        if model.api == "chat":
            chunks = stream_tools(client.chat.completions, toolbox, **_given(model, more))
            return _last([chunk async for chunk in chunks])
        events = stream_tools(client.responses, toolbox, **_given(model, more))
        return _last([event async for event in events])


def _last(events: Sequence[object]) -> Run:
    *others, last = events
    assert isinstance(last, Run)
    assert not any(isinstance(each, Run) for each in others)
    return last


def streamed_awaited(model: Model, toolbox: Toolbox, **more: Any) -> Run:
    return asyncio.run(streaming(model, toolbox, **more))


def answers_in(items: Sequence[Any]) -> dict[str, str]:
    """Return what the history holds as the answer to each call."""
    found = dict[str, str]()
    for item in items:
        name = item.get("tool_call_id") or (
            item["call_id"] if item.get("type") == "function_call_output" else None
        )
        if name is not None:
            assert name not in found, f"two answers to {name}"
            found[name] = item.get("content") or item.get("output") or ""
    return found


def calls_in(items: Sequence[Any]) -> list[str]:
    """Return the ids of the calls that the history holds."""
    made = [call["id"] for item in items for call in item.get("tool_calls") or ()]
    return made + [item["call_id"] for item in items if item.get("type") == "function_call"]


def said(api: Api, calls: Made) -> Says:
    """Return a message that holds these calls: id, name and the text of arguments."""
    return message("", calls) if api == "chat" else response("", calls)


def played(world: World, run: Run_, api: Api, *messages: Says, **more: Any) -> tuple[Run, Model]:
    """Run a loop in a world, with a model that says this."""
    model = Model(api, [*messages])
    return run(model, toolbox_of(world), **more), model


FORMS: dict[str, Run_] = {
    "blocking": blocking,
    "awaited": awaited,
    "streamed": streamed,
    "streamed-awaited": streamed_awaited,
}
every_form = pytest.mark.parametrize("run", FORMS.values(), ids=FORMS)
