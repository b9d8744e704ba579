"""What goes with a question in a result, and comes back with its answer: nobody can forge it."""

import hashlib
import hmac
from typing import Any, NamedTuple

from retry_guard import Question
from retry_guard_mcp_proxy._form import ELICIT, form
from retry_guard_mcp_proxy._messages import Message, object_in, params_of

NAME = "retry-guard"
"""How the guard's request for input is called in a result."""
_MARK = "retry-guard.question."
_STATE, _RESPONSES = "requestState", "inputResponses"


class Reply(NamedTuple):
    """What came back to a question: its name, and what the client says."""

    question: str
    said: Any


class States:
    """Names of questions, sealed with the ledger's secret, so that they outlive the proxy."""

    def __init__(self, secret: bytes) -> None:
        """A state names its question only with this secret."""
        self._secret = secret

    def wanted(self, question: Question) -> Message:
        """Return the answer that asks a client of the generation without sessions."""
        asked = {NAME: {"method": ELICIT, "params": form(question)}}
        seal = self._seal(question.tool, question.id)
        state = f"{_MARK}{question.id}.{seal}"
        return {"result": {"resultType": "input_required", "inputRequests": asked, _STATE: state}}

    def taken(self, request: Message) -> tuple[Message, Reply | None]:
        """Take the reply to a question out of a call; no server sees either.

        None: there is none, or it is not of this guard.
        """
        params = params_of(request)
        state = params.get(_STATE)
        if not isinstance(state, str) or not state.startswith(_MARK):
            return request, None
        rest = {name: params[name] for name in params if name not in (_STATE, _RESPONSES)}
        question, _, seal = state.removeprefix(_MARK).rpartition(".")
        own = hmac.compare_digest(_bytes(seal), _bytes(self._seal(params["name"], question)))
        said = object_in(params, _RESPONSES).get(NAME)
        return {**request, "params": rest}, Reply(question, said) if own else None

    def _seal(self, tool: str, question: str) -> str:
        named = f"retry-guard mcp question\0{tool}\0{question}"
        return hmac.new(self._secret, _bytes(named), hashlib.sha256).hexdigest()[:32]


def _bytes(text: str) -> bytes:
    """Any text of JSON, also where it holds half a character."""
    return text.encode("utf-8", "surrogatepass")
