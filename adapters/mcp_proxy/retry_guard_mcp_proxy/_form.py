"""A question as a form that clients show to a person, and the answer that comes back."""

import json
from typing import Any

from retry_guard import Answer, Question
from retry_guard_mcp_proxy._messages import Message, is_object, object_in

ELICIT = "elicitation/create"
_LONG = 600
"""Characters of the arguments that are shown."""
_MEANS = {
    "happened": "happened: it took effect",
    "did_not_happen": "did_not_happen: it took no effect",
    "again": "again: send it once more, on purpose",
    "abandon": "abandon: give it up, without knowing",
}
_WORDS = {
    "type": "string",
    "title": "What happened?",
    "description": "What is known of it from outside, for example from the service itself.",
}
_FINAL = {
    "type": "boolean",
    "title": "It can no longer happen",
    "description": "With did_not_happen: the request that was sent can no longer run.",
    "default": False,
}


def takes_forms(abilities: Message) -> bool:
    """Whether a client that says this of itself shows forms to a person."""
    shows = abilities.get("elicitation")
    return is_object(shows) and ("form" in shows or "url" not in shows)


def form(question: Question) -> Message:
    """Return the parameters of `elicitation/create`. The arguments are shown as data, in a line."""
    given = json.dumps(question.arguments, ensure_ascii=True, default=str)
    shown = given if len(given) <= _LONG else given[:_LONG] + " (cut)"
    means = "; ".join(_MEANS[word] for word in question.answers)
    fields: Message = {"outcome": {**_WORDS, "enum": list(question.answers)}}
    if "did_not_happen" in question.answers:
        fields["final"] = _FINAL
    return {
        "message": f"{question.text}\n\nIts arguments: {shown}\n\nAnswers: {means}.",
        "requestedSchema": {"type": "object", "properties": fields, "required": ["outcome"]},
    }


def answer_in(said: Any) -> Answer | None:
    """Return what the person says; None: nothing, or nothing that can be understood."""
    if not is_object(said) or said.get("action") != "accept":
        return None
    content = object_in(said, "content")
    word: Any = content.get("outcome")
    if not isinstance(word, str) or word not in _MEANS:
        return None
    what: Any = word
    return Answer(what, final=word == "did_not_happen" and content.get("final") is True)
