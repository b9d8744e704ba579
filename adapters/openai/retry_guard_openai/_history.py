"""What a caller kept of earlier turns: strict servers refuse a call that it holds twice."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from retry_guard import UsageError
from retry_guard_openai._replies import Shown, distinct, is_twin, plain

Read = Callable[[dict[str, Any]], Shown]


class Answers:
    """Counts the calls of a history, and lets one answer to each pass."""

    def __init__(self) -> None:
        """Know of no call."""
        self._open = Counter[str]()

    def expect(self, call_id: str) -> None:
        """Note a call. Ids may come again in later messages."""
        self._open[call_id] += 1

    def take(self, call_id: str) -> bool:
        """Whether this answer is the first to its call; so are those to calls that are not here."""
        if call_id not in self._open:
            return True
        first = self._open[call_id] > 0
        self._open[call_id] -= first
        return first


def messages_once(
    messages: Iterable[Any], read: Read, item: Callable[[Shown], dict[str, Any]]
) -> list[Any]:
    """Return the messages of Chat Completions with each call and answer once."""
    kept, answers = list[Any](), Answers()
    for message in messages:
        given = _fields(message)
        if given.get("role") == "assistant" and given.get("tool_calls"):
            made = [plain(call) for call in _listed(given["tool_calls"])]
            once = distinct(map(read, made))
            for call in once:
                answers.expect(call.id)
            if len(once) < len(made) and not any(call.get("type") == "custom" for call in made):
                kept.append({**given, "tool_calls": [item(call) for call in once]})
                continue
        if given.get("role") != "tool" or answers.take(str(given.get("tool_call_id"))):
            kept.append(message)
    return kept


def items_once(items: Iterable[Any], read: Read) -> list[Any]:
    """Return the input items of Responses with each call and answer once."""
    kept, answers, beside = list[Any](), Answers(), list[Shown]()
    for each in items:
        given = _fields(each)
        kind = given.get("type")
        if kind == "function_call":
            call = read({**given})
            if any(is_twin(other, call) for other in beside):
                continue
            beside.append(call)
            answers.expect(call.id)
        elif kind != "reasoning":
            beside = []
        if kind != "function_call_output" or answers.take(str(given.get("call_id"))):
            kept.append(each)
    return kept


def _listed(calls: Any) -> Iterable[Any]:
    if not isinstance(calls, Iterable):
        kind = type(calls).__name__
        raise UsageError(f"messages: tool_calls is a list of calls, not {kind}; nothing was sent")
    return cast("Any", calls)  # type: ignore[no-any-return] # of whatever it holds


def _fields(item: Any) -> Mapping[str, Any]:
    """Return an item's fields; none of what is neither data nor an object of the SDK."""
    return plain(item) if isinstance(item, Mapping) or hasattr(item, "to_dict") else {}
