"""What the answer of a server proves about a call."""

from dataclasses import dataclass
from typing import Any

from retry_guard import Done, NotExecuted, Unknown
from retry_guard_mcp_proxy._errors import DownError, ServerError
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, object_in
from retry_guard_outcomes import classify


class NotGivenError(ServerError):
    """The server asked for input before it does anything, and the client gave none."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response to `tools/call`, in a form in which a contract's `not_executed` finds it."""

    response: Message

    @property
    def error(self) -> Any:
        """The JSON-RPC error; None: there is a result."""
        return self.response.get("error")

    @property
    def result(self) -> Any:
        """The result, of any form."""
        return self.response.get("result")

    @property
    def content(self) -> list[Any]:
        """The blocks of the result."""
        blocks = object_in(self.response, "result").get("content")
        return blocks if is_list(blocks) else []

    @property
    def structured_content(self) -> Any:
        """What the result holds beside its blocks."""
        return object_in(self.response, "result").get("structuredContent")

    @property
    def is_error(self) -> bool:
        """Whether the result says that the call failed."""
        return object_in(self.response, "result").get("isError") is True

    def __str__(self) -> str:
        """The server's own words."""
        if is_object(self.error):
            return str(self.error.get("message", ""))
        texts = [block.get("text") for block in self.content if is_object(block)]
        return "\n".join(text for text in texts if isinstance(text, str))


def judge(outcome: object) -> Done | NotExecuted | Unknown:
    """Return what an `Answer`, or what was raised instead of one, proves."""
    if isinstance(outcome, DownError | NotGivenError):
        return NotExecuted(outcome)
    if not isinstance(outcome, Answer):
        return classify(outcome)
    end = _end(outcome)
    match end:
        case Done():
            return Done(outcome.result)
        case NotExecuted():
            return NotExecuted(outcome, rejected=end.rejected)
        case Unknown():
            return Unknown(outcome, hint=end.hint)


def _end(answer: Answer) -> Done | NotExecuted | Unknown:
    if answer.error is not None and "result" in answer.response:
        return Unknown(answer)  # it says both, so it proves neither
    if is_object(answer.error):
        return classify({"jsonrpc": "2.0", "error": answer.error})
    if answer.error is not None or "result" not in answer.response:
        return Unknown(answer)
    result = answer.result
    if not is_object(result):
        return Done(result)
    if "task" in result and "content" not in result:
        return Unknown(answer, hint="accepted")
    if result.get("resultType", "complete") != "complete":
        return Unknown(answer)
    return classify(result)
