"""A question in the form that Agent Inbox shows, and the forms in which answers come back.

An answer names its question: `{"<question>": "happened"}`, or with more to say
`{"<question>": {"answer": "happened", "result": {…}}}`; or, from Agent Inbox, the edited
arguments of the request, which hold the question's name.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from retry_guard import Answer, Question, UsageError

_NAME = re.compile(r"[0-9a-f]{16}\.[0-9a-f]{8}")


def payload(question: Question) -> list[dict[str, Any]]:
    """Return the question as an interrupt's value: a `HumanInterrupt`."""
    words = ", ".join(question.answers)
    return [
        {
            "action_request": {
                "action": f"retry guard: {question.tool}",
                "args": {
                    "question": question.id,
                    "answer": "",
                    "result": None,
                    "final": False,
                    "tool": question.tool,
                    "arguments": question.arguments,
                },
            },
            "config": {
                "allow_accept": False,
                "allow_edit": True,
                "allow_ignore": False,
                "allow_respond": False,
            },
            "description": f"{question.text}\n\nSet `answer` to one of: {words}. "
            "`result`: the tool's result, if it happened and is known. `final`: with "
            "did_not_happen, that the request can no longer run. "
            f'Or resume with {{"{question.id}": answer}}.',
        }
    ]


def answers_in(given: object) -> Iterator[tuple[str, Answer]]:
    """Yield the answers that name a question; nothing where there is none.

    Raises `UsageError` for one that names its question and says nothing that can be used.
    """
    if _is(given, (list, tuple)):
        for part in cast("list[object]", given):
            yield from answers_in(part)
    said = _fields(given)
    edited = _fields(_fields(said.get("args")).get("args")) or said
    if _is_name(name := edited.get("question", "")):
        yield _answer(name, edited)
        return
    for name, word in said.items():
        if _is_name(name):
            yield _answer(name, word)


def _fields(given: object) -> dict[Any, Any]:
    return cast("dict[Any, Any]", given) if _is(given, dict) else {}


def _is(given: object, kind: type | tuple[type, ...]) -> bool:
    return isinstance(given, kind)


def _is_name(given: object) -> bool:
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def _answer(question: str, said: object) -> tuple[str, Answer]:
    if isinstance(said, Answer):
        return question, said
    if isinstance(said, str):
        return question, Answer(_word(said))
    if not isinstance(said, Mapping):
        raise UsageError(f"{question}: give an answer as text, or as an object with `answer`")
    fields = cast("Mapping[str, Any]", said)
    word = _word(fields.get("answer"))
    return question, Answer(word, fields.get("result"), final=fields.get("final") is True)


def _word(said: object) -> Any:
    """An answer's word; `Answer` refuses any other."""
    return said.strip().replace("-", "_") if isinstance(said, str) else said
