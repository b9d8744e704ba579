"""What a call of a tool tells the model, and what it tells the application."""

import json
from dataclasses import dataclass
from typing import Any, assert_never, cast

from pydantic import TypeAdapter

from retry_guard import Done, NotExecuted, Outcome, Unresolved, unexecuted
from retry_guard_contracts import decode, encode_result
from retry_guard_functions._unicode import sendable

_ANY = TypeAdapter[Any](Any)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnswer:
    """How one call of a tool ended.

    `text`: for the model. `is_error`: it is no result. `outcome`: what the guard says, with
    `replayed` and a warning for the user; None for tools without a guarded contract, and for
    arguments that were refused. `value`: the tool's own result, where there is one.
    """

    text: str
    is_error: bool
    outcome: Outcome | None = None
    value: Any = None

    @property
    def unresolved(self) -> Unresolved | None:
        """What a person has to know of, if the call ended so."""
        return self.outcome if isinstance(self.outcome, Unresolved) else None


def answer_of(outcome: Outcome) -> ToolAnswer:
    """Return what a guarded call tells. A replay has the text of the tool's own answer."""
    match outcome:
        case Done(value=None, warning=str(text)):
            return ToolAnswer(text=text, is_error=False, outcome=outcome)
        case Done(value):
            return ToolAnswer(text=text_of(value), is_error=False, outcome=outcome, value=value)
        case NotExecuted(error):
            known = isinstance(error, BaseException | str)
            text = unexecuted(error if known else text_of(error))
            return ToolAnswer(text=sendable(text), is_error=True, outcome=outcome)
        case Unresolved():
            return ToolAnswer(text=outcome.text, is_error=True, outcome=outcome)
        case _:
            assert_never(outcome)


def plain_answer(value: Any) -> ToolAnswer:
    """Return what a tool without a guarded contract tells."""
    return ToolAnswer(text=text_of(value), is_error=False, value=value)


def error_answer(text: str) -> ToolAnswer:
    """Return an error that nothing is recorded of."""
    return ToolAnswer(text=sendable(text), is_error=True)


def failed_answer(tool: str, error: Exception) -> ToolAnswer:
    """Return what a tool raised."""
    return error_answer(f"{tool} failed: {type(error).__name__}: {_told(error)}")


def text_of(value: Any) -> str:
    """Return a result as a model reads it: text as it is, else JSON.

    It is made from the stored form, where the result has one, so that a replay reads the same.
    """
    stored = None if type(value) is str else encode_result(value)
    if stored is not None:
        value = decode(stored)
    text = value if type(value) is str else _json(value, known=stored is not None)
    return str(sendable(text))


def as_stored(value: Any) -> Any:
    """Return a result as a replay has it, where it can be stored; else as it is."""
    stored = encode_result(value)
    return value if stored is None else decode(stored)


def _json(value: Any, *, known: bool) -> str:
    """Return JSON; text of its own, where it is no data, so that nothing in it is read."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_written if known else None)
    except (TypeError, ValueError, RecursionError):
        return _told(value)


def _written(value: Any) -> Any:
    """Return a value of a type that a ledger keeps as JSON data."""
    if isinstance(value, set | frozenset):
        return sorted(cast("set[Any]", value), key=repr)
    return _ANY.dump_python(value, mode="json")


def _told(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - somebody's __str__ may do anything
        return object.__repr__(value)
