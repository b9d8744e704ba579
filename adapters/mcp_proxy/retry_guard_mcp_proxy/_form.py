"""A question as a form that clients show to a person, and the answer that comes back.

What the guard says to a model tells it what not to do; a person is told what happened, what is
not known, and what each answer does.
"""

import json
from dataclasses import replace
from typing import Any

from retry_guard import Answer, Question, Unresolved
from retry_guard_mcp_proxy._messages import Message, is_object, object_in

ELICIT = "elicitation/create"
_LONG = 600
"""Characters of the arguments that are shown."""
_OPEN = "It is not known whether `{tool}` took effect{part} (action {action}): {why}."
_PART = " for {missing} of its items"
_WHY = {
    "nothing_can_tell": "it was sent, its answer was lost, and nothing here can show its effect",
    "unclear": "it was sent, its answer was lost, and what its service shows does not settle it, "
    "since it may be of another, or there may be two",
    "fresh_sends_spent": "it was sent several times, its answers were lost, and nothing showed an "
    "effect; this call may send it no more",
    "not_conclusive": "it was sent, its answer was lost, and its service shows no effect, which "
    "proves nothing here",
    "too_late": "it was sent, its answer was lost, and its service showed no effect in time, which "
    "proves nothing here",
    "keyed": "it was sent several times with one key, and no answer came",
    "harmless": "it was sent several times, and no answer came",
    "some": "the others are there, and these were refused when they were sent by themselves",
    "noted": "somebody said that it did not, and it may still happen",
    "other_tool": "it was sent, its answer was lost, and now another tool is to write the same "
    "thing",
    "contract_changed": "it was sent and its answer was lost, before its contract or the guard's "
    "secret was changed",
}
_LOST = "it was sent, and its answer was lost"
_SECOND = (
    "`{tool}` was done shortly before (action {action}), and has now been called with the same "
    "values once more. This second call was not sent: it needs a person's word."
)
_LOOK = "Please look first, for example in the service itself. "
_DECLINED = (
    "If you decline, nothing is sent and it stays unknown. This form may not come again; an "
    "operator can settle it later, by its id."
)
_NOT_TWICE = "If you decline, nothing is sent."
_DOES = {
    "happened": "it took effect. It counts as done, and nothing is sent.",
    "did_not_happen": "it took no effect. Say below if it can no longer happen: then it is sent "
    "anew. Else it still may, so nothing is sent; you are asked again once the time is over that "
    "its contract states, if it states one.",
    "again": "send it now once more, on purpose. If it did happen, it happens twice.",
    "abandon": "give it up without knowing. Nothing is sent now. Equal calls of the same request "
    "of the user are refused (where the client does not show that, those of a short time); later "
    "ones are sent.",
}
_TWICE = {"again": "send it, so that it happens a second time."}
_WORDS = {
    "type": "string",
    "title": "What happened?",
    "description": "What is known of it from outside, for example from the service itself.",
}
_WISH = {
    "type": "string",
    "title": "Send it a second time?",
    "description": "Decline if once is enough.",
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


def for_person(question: Question, outcome: Unresolved) -> Question:
    """Return the same question, in words for a person. `outcome`: what it is asked about."""
    text = _SECOND if _is_of_second(question) else _OPEN
    part = _PART.format(missing=len(outcome.missing)) if outcome.missing else ""
    why = _WHY.get(outcome.reason, _LOST)
    said = text.format(tool=question.tool, action=question.action, part=part, why=why)
    return replace(question, text=said)


def form(question: Question) -> Message:
    """Return the parameters of `elicitation/create`. The arguments are shown as data, in a line."""
    given = json.dumps(question.arguments, ensure_ascii=True, default=str)
    shown = given if len(given) <= _LONG else given[:_LONG] + " (cut)"
    is_second = _is_of_second(question)
    does = _TWICE if is_second else _DOES
    lines = "".join(f"\n- {word}: {does[word]}" for word in question.answers)
    look, declined = ("", _NOT_TWICE) if is_second else (_LOOK, _DECLINED)
    told = f"{question.text}\n\nIts arguments: {shown}\n\n{look}Answers:{lines}\n{declined}"
    fields: Message = {
        "outcome": {**(_WISH if is_second else _WORDS), "enum": list(question.answers)}
    }
    if "did_not_happen" in question.answers:
        fields["final"] = _FINAL
    return {
        "message": told,
        "requestedSchema": {"type": "object", "properties": fields, "required": ["outcome"]},
    }


def answer_in(said: Any) -> Answer | None:
    """Return what the person says; None: nothing, or nothing that can be understood."""
    if not is_object(said) or said.get("action") != "accept":
        return None
    content = object_in(said, "content")
    word: Any = content.get("outcome")
    if not isinstance(word, str) or word not in _DOES:
        return None
    what: Any = word
    return Answer(what, final=word == "did_not_happen" and content.get("final") is True)


def _is_of_second(question: Question) -> bool:
    """Whether it asks for a second time of what was done, and not what became of the first."""
    return question.answers == ("again",)
