"""Chat Completions: what is asked, what a message says, and what the history keeps of it."""

from collections.abc import Mapping
from typing import Any

from retry_guard_functions import FunctionTool
from retry_guard_openai._history import messages_once
from retry_guard_openai._replies import Reply, Shown, collapsed, plain

_CUT_OFF = ("length", "content_filter")


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
        cut_off = choices[0].finish_reason in _CUT_OFF
        return self.reply(plain(choices[0].message), complete=not cut_off)

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
        made: list[dict[str, Any]] = message.pop("tool_calls", None) or []
        calls = collapsed(_shown(item) for item in made if item.get("type") != "custom")
        others = [item for item in made if item.get("type") == "custom"]
        if calls or others:
            message["tool_calls"] = [*map(_item, calls), *others]
        elif not message.get("refusal"):
            message.setdefault("content", "")
        self._message = {"role": "assistant", **message}
        text = message.get("content") or ""
        return Reply(
            text=text if isinstance(text, str) else "",
            refusal=message.get("refusal") or "",
            complete=complete,
            calls=calls,
            waits=bool(others),
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
        complete = self._finish is not None and self._finish not in _CUT_OFF
        return self._chat.reply({**self._message, "tool_calls": self._calls}, complete=complete)

    def _feed_call(self, part: dict[str, Any]) -> None:
        index, name = part.pop("index", None), part.get("id")
        call = self._at.get(index)
        if call is None or (name and call.get("id", name) != name):
            call = self._at[index] = {"function": {}}
            self._calls.append(call)
        given: dict[str, str] = part.pop("function", None) or {}
        known: dict[str, str] = call["function"]
        for field in ("name", "arguments"):
            value = given.get(field) or ""
            # Some servers repeat the whole name in each chunk.
            if field == "arguments" or known.get(field) != value:
                known[field] = known.get(field, "") + value
        call.update(part)


def _shown(item: Mapping[str, Any]) -> Shown:
    called: Mapping[str, Any] = item.get("function") or {}
    name, arguments = called.get("name") or "", called.get("arguments") or ""
    return Shown(id=item.get("id") or "", name=name, arguments=arguments, item=dict(item))


def _item(call: Shown) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {**call.item, "id": call.id, "type": "function", "function": function}
