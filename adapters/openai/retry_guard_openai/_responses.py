"""Responses: what is asked, what a response says, and what the history keeps of it."""

from collections.abc import Mapping
from typing import Any, cast

from retry_guard_functions import FunctionTool, sendable
from retry_guard_openai._history import items_once
from retry_guard_openai._replies import Reply, Shown, collapsed, plain

_WAIT = frozenset(
    {
        "apply_patch_call",
        "computer_call",
        "custom_tool_call",
        "local_shell_call",
        "mcp_approval_request",
        "shell_call",
    }
)
"""Items that only the caller can answer, unless the response holds the answer itself."""


class Conversation:
    """One conversation. `items`: all of it, or what a server that keeps it was not yet sent."""

    def __init__(self, create: Mapping[str, Any]) -> None:
        """Begin with the caller's arguments for `create`."""
        self._rest = {name: value for name, value in create.items() if name != "input"}
        self.previous_response_id: str | None = self._rest.pop("previous_response_id", None)
        self._chained = self.previous_response_id is not None
        self._kept = self._chained or self._rest.get("conversation") is not None
        given = create["input"]
        text = [{"role": "user", "content": given}] if isinstance(given, str) else given
        self.items = items_once(text, _shown)
        self._output, self._id = list[dict[str, Any]](), ""

    @staticmethod
    def tool(tool: FunctionTool) -> dict[str, Any]:
        """Return a tool as this API describes it."""
        about = {"description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "name": tool.name, **about, "strict": False}

    def arguments(self) -> dict[str, Any]:
        """Return what the model is asked with."""
        chain = {"previous_response_id": self.previous_response_id} if self._chained else {}
        return {**self._rest, **chain, "input": [*self.items]}

    def read(self, response: Any) -> Reply:
        """Return what a whole response says."""
        output = getattr(response, "output", None)
        known = None if output is None else response
        return self.reply(known, [plain(item) for item in output or ()])

    def reader(self) -> "EventReader":
        """Return what waits for the end of a stream."""
        return EventReader(self)

    def keep(self) -> None:
        """Take the response into the history."""
        self.items = [] if self._kept else [*self.items, *self._output]
        self.previous_response_id = self._id if self._chained else None

    def keep_answer(self, call: Shown, text: str) -> None:
        """Take the answer to a call into the history."""
        item = {"type": "function_call_output", "call_id": call.id, "output": text}
        caller = {"caller": call.item["caller"]} if "caller" in call.item else {}
        self.items.append({**item, **caller})

    def reply(self, response: Any, output: list[dict[str, Any]]) -> Reply:
        """Return what a response says, and hold its output without ghosts; None: there is none."""
        made = [item for item in output if item.get("type") == "function_call"]
        complete = (
            response is not None
            and response.status in ("completed", None)
            and not (response.error or response.incomplete_details)
        )
        whole = all(item.get("status") in ("completed", None) for item in made)
        calls = collapsed(map(_shown, made))
        standing = {id(call.item): call for call in calls}
        self._id = "" if response is None else response.id
        output = [
            item if item.get("type") == "function_call" else sendable(item) for item in output
        ]
        self._output = [
            _item(standing[id(item)]) if id(item) in standing else item
            for item in output
            if item.get("type") != "function_call" or id(item) in standing
        ]
        return Reply(
            text=_said(output, "output_text", "text"),
            refusal=_said(output, "refusal", "refusal"),
            complete=complete and whole,
            calls=calls,
            waits=_waits(output),
        )


class EventReader:
    """Waits for the event that holds the whole response."""

    def __init__(self, conversation: Conversation) -> None:
        """Begin with nothing."""
        self._conversation = conversation
        self._response: Any = None
        self._items = list[Any]()

    def feed(self, event: Any) -> None:
        """Take one event."""
        match event.type:
            case "response.output_item.done":
                self._items.append(event.item)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._response = event.response
            case _:
                pass

    def reply(self) -> Reply:
        """Return what the response says; some servers show its items only as they are done."""
        whole = () if self._response is None else self._response.output or ()
        items = [plain(item) for item in whole or self._items]
        return self._conversation.reply(self._response, items)


def _shown(item: dict[str, Any]) -> Shown:
    return Shown.of(item.get("call_id"), item, item)


def _item(call: Shown) -> dict[str, Any]:
    called = {"call_id": call.id, "name": call.name, "arguments": call.arguments}
    return cast("dict[str, Any]", sendable({**call.item, **called}))


def _said(output: list[dict[str, Any]], kind: str, name: str) -> str:
    said = [item for item in output if item.get("type") == "message"]
    parts = [part for item in said for part in item.get("content") or ()]
    return "".join(part.get(name) or "" for part in parts if part.get("type") == kind)


def _waits(output: list[dict[str, Any]]) -> bool:
    answered = {
        item.get("call_id") for item in output if str(item.get("type")).endswith("_call_output")
    }
    return any(
        item.get("type") in _WAIT and (item.get("call_id") or "") not in answered for item in output
    )
