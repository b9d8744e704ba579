"""What an adapter asks a person when its harness can pause, and how the answer is stored.

An answer names its question, and a question is about one state of one record. So an answer that
comes twice, late, in another order or to another call settles nothing but what it was asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from retry_guard._answers import Answer, Unresolved, UsageError, What
from retry_guard._base import BaseGuard
from retry_guard._call import Request
from retry_guard_contracts import decode, encode_result
from retry_guard_core import Record
from retry_guard_ledgers import ChangedError, Ledger, about, mark

_NOT_ASKED = frozenset({"still_running", "key_conflict", "ledger_unavailable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One open question about one action.

    `id`: names action and state, to be given back with the answer. `text`: for the person.
    `arguments`: as recorded; secret fields are sealed. `answers`: the words that can be given.
    """

    id: str
    action: str
    tool: str
    text: str
    arguments: dict[str, Any]
    answers: tuple[What, ...]


def question_of(ledger: Ledger, scope: str, outcome: Unresolved) -> Question | None:
    """Return what to ask a person; None where nobody can help, or only time is missing.

    Raises `LedgerError` if the ledger cannot be read.
    """
    if outcome.not_before is not None or outcome.reason in _NOT_ASKED:
        return None
    record = ledger.get(scope, outcome.action)
    answers = () if record is None else _answers(record, outcome.reason)
    if record is None or not answers:
        return None
    return Question(
        id=_name(record),
        action=outcome.action,
        tool=record.tool,
        text=outcome.text,
        arguments=decode(about(record).arguments),
        answers=answers,
    )


def question_put(
    guard: BaseGuard, tool: str, arguments: Mapping[str, Any], *, scope: str, ordinal: int = 0
) -> Question | None:
    """Return the question that `ask` has put about an equal call, and nobody has answered yet.

    For harnesses that can pause only before a call. Nothing is claimed, recorded or sent.
    Raises `UsageError`, `ArgumentError` and `LedgerError` as a call would.
    """
    request = Request(
        tool=tool, arguments=arguments, send=_nothing, scope=scope, turn=None, ordinal=ordinal
    )
    call = guard.begun(request)
    for record in () if call is None else guard.ledger.list(scope, "open"):
        if call is not None and about(record).identity == about(call.draft).identity:
            outcome = guard.stopped(call, record)
            return None if outcome is None else question_of(guard.ledger, scope, outcome)
    return None


def _nothing(*_: object) -> None:
    """Send nothing."""


def settle(ledger: Ledger, scope: str, question: str, answer: Answer) -> bool:
    """Store the answer to a question; return whether it was still open.

    False: the record has changed since, so this answer says nothing of what it is now.
    Raises `LedgerError` if the ledger refuses it, `UsageError` for a result that cannot be kept.
    """
    action = question.partition(".")[0]
    record = ledger.get(scope, action)
    if record is None or _name(record) != question:
        return False
    value = None if answer.result is None else encode_result(answer.result)
    if value is None and answer.result is not None:
        raise UsageError(f"action {action}: this result cannot be kept: give plain JSON data")
    final = answer.final and answer.what == "did_not_happen"
    what, now = answer.what, ledger.now()
    try:
        ledger.resolve(scope, action, what, now=now, value=value, final=final, seen=record)
    except ChangedError:
        return False
    return True


def _answers(record: Record, reason: str) -> tuple[What, ...]:
    match record.state:
        case "open":
            return "happened", "did_not_happen", "again", "abandon"
        case "done" if reason == "repeat_escalate":
            return ("again",)
        case _:
            return ()


def _name(record: Record) -> str:
    return f"{about(record).id}.{mark(record)}"
