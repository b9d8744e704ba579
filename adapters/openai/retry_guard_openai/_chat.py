"""Chat Completions: what is asked, what a message says, and what the history keeps of it."""

from collections.abc import Mapping
from typing import Any, cast

from retry_guard_functions import FunctionTool, sendable
from retry_guard_openai._history import messages_once
from retry_guard_openai._replies import Reply, Shown, collapsed, plain, text_of

_WHOLE = ("stop", "tool_calls", "function_call")
"""How a message ends that came to its end; what else a server says is a failure."""


class Chat:
    """One conversation. `items`: its messages so far."""

    previous_response_id: str | None = None

    def __init__(self, create: Mapping[str, Any]) -> None:
        """Begin with the caller's arguments for `create`."""
        self._rest = {name: value for name, value in create.items() if name != "messages"}
        self.items = messages_once(create["messages"], _shown, _item)
        self._message: dict[str, Any] = {}

    @staticmethod
    def tool(tool: FunctionTool) -> dict[str, Any]:
        """Return a tool as this API describes it."""
        about = {"description": tool.description, "parameters": dict(tool.parameters)}
        return {"type": "function", "function": {"name": tool.name, **about}}

    def arguments(self) -> dict[str, Any]:
        """Return what the model is asked with."""
        return {**self._rest, "messages": [*self.items]}

    def read(self, completion: Any) -> Reply:
        """Return what a whole completion says."""
        choices = getattr(completion, "choices", None)
        if not choices or choices[0].message is None:
            return self.reply({}, complete=False)
        complete = choices[0].finish_reason in (*_WHOLE, None)
        return self.reply(plain(choices[0].message), complete=complete)

    def reader(self) -> "ChunkReader":
        """Return what puts the chunks of a stream together."""
        return ChunkReader(self)

    def keep(self) -> None:
        """Take the message into the history."""
        self.items.append(self._message)

    def keep_answer(self, call: Shown, text: str) -> None:
        """Take the answer to a call into the history."""
        self.items.append({"role": "tool", "tool_call_id": call.id, "content": text})

    def reply(self, message: dict[str, Any], *, complete: bool) -> Reply:
        """Return what a message says, and hold it without its ghosts."""
        shown: list[Any] = message.pop("tool_calls", None) or []
        made = [cast("dict[str, Any]", item) for item in shown if isinstance(item, dict)]
        message = sendable(message)
        calls = collapsed(_shown(item) for item in made if item.get("type") != "custom")
        others = [item for item in made if item.get("type") == "custom"]
        if calls or others:
            message["tool_calls"] = [*map(_item, calls), *sendable(others)]
        elif not message.get("refusal"):
            message.setdefault("content", "")
        self._message = {"role": "assistant", **message}
        text = message.get("content") or ""
        return Reply(
            text=text if isinstance(text, str) else "",
            refusal=message.get("refusal") or "",
            complete=complete,
            calls=calls,
            waits=bool(others or message.get("function_call")),
        )


class ChunkReader:
    """Puts the chunks of one message together."""

    def __init__(self, chat: Chat) -> None:
        """Begin with nothing."""
        self._chat = chat
        self._finish: str | None = None
        self._message: dict[str, Any] = {}
        self._calls = list[dict[str, Any]]()
        self._at = dict[int | None, dict[str, Any]]()

    def feed(self, chunk: Any) -> None:
        """Take one chunk."""
        for choice in chunk.choices or ():
            if choice.index:
                continue  # another answer, which nobody asked for here
            self._finish = choice.finish_reason or self._finish
            delta = plain(choice.delta) if choice.delta is not None else {}
            parts: list[dict[str, Any]] = delta.pop("tool_calls", None) or []
            for part in parts:
                self._feed_call(part)
            for name, value in delta.items():
                known = self._message.get(name)
                grows = isinstance(known, str) and isinstance(value, str) and name != "role"
                self._message[name] = f"{known}{value}" if grows else value

    def reply(self) -> Reply:
        """Return what the message says, now that the stream has ended."""
        message = {**self._message, "tool_calls": self._calls}
        return self._chat.reply(message, complete=self._finish in _WHOLE)

    def _feed_call(self, part: dict[str, Any]) -> None:
        index, name = part.pop("index", None), part.get("id")
        call = self._at.get(index)
        if call is None or (name and call.get("id", name) != name):
            call = self._at[index] = {"function": {}}
            self._calls.append(call)
        given = part.pop("function", None)
        given = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        known: dict[str, str] = call["function"]
        for field in ("name", "arguments"):
            value = text_of(given.get(field))
            # Some servers repeat the whole name in each chunk.
            if field == "arguments" or known.get(field) != value:
                known[field] = known.get(field, "") + value
        call.update({field: value for field, value in part.items() if value})


def _shown(item: Mapping[str, Any]) -> Shown:
    return Shown.of(item.get("id"), item.get("function"), dict(item))


def _item(call: Shown) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    whole = {**call.item, "id": call.id, "type": "function", "function": function}
    return cast("dict[str, Any]", sendable(whole))
