"""Every sentence that reaches a model or a user. What is known, what is not, what not to do.

None of them promises that anything is, was or will be looked at again: a study of 25,930
episodes found that such a promise makes a strong model drop its own caution
(arXiv:2609.29095). They interpolate only the tool's name, values that the guard made,
and names of fields that are identifiers: a name with room for a sentence could speak for the guard.
"""

import re
from dataclasses import dataclass
from typing import Literal

from retry_guard._answers import Unresolved
from retry_guard_core import GuardError

_OPEN = "It is not known whether `{tool}` took effect (action {action}): {why}. "
_PART = (
    "It is not known whether `{tool}` took effect for {missing} of its items (action {action}): "
    "{why}. "
)
_STOP = "Do not call it for the same purpose; report it to the user as uncertain."
_LATER = "Do not call it in another form; report it to the user as uncertain."
_NEW_VALUES = " The values of this call that differ ({fields}) were not sent."
_NAME, _SOME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"), "some field"

_KEY = {
    "over": "Its key is remembered for {retention} s, and that has passed. ",
    "short": "Its key is remembered for {retention} s, and what is left of that is too short to "
    "count on. ",
    "unstated": "It is not stated how long its key is remembered, and it may be forgotten. ",
}
"""Why a key carries it on no more, where it would have."""
_WHY = {
    "some": "the others are there, and these were refused when they were sent by themselves",
    "nothing_can_tell": "the answer was lost, and nothing can show the effect",
    "unclear": "what can be seen does not settle it, or there may be two",
    "fresh_sends_spent": "it was absent each time, and no new send is left",
    "not_conclusive": "nothing shows it, and absence proves nothing here",
    "too_late": "nothing showed it in time, and absence proves nothing here",
    "keyed": "every send so far was left without an answer",
    "harmless": "every send so far was left without an answer",
    "unread": "the answer was lost, and an effect might not be visible yet",
    "too_early": "nothing shows it yet, and it may still happen",
    "noted": "an operator saw no effect, but it may still happen",
    "other_tool": "another tool that writes the same thing began it",
    "ledger_unavailable": "the answer was lost, and then the guard's ledger failed",
}
_WHOLE = {
    "still_running": "The first call of `{tool}` is still running (action {action}). Its result "
    "goes to the next equal call. " + _LATER,
    "abandoned": "`{tool}` was given up by an operator (action {action}) without a known outcome. "
    + _STOP,
    "rejected": "The user said no to this `{tool}` (action {action}), and nothing of it was sent. "
    + _STOP,
    "differs": "`{tool}` was already done (action {action}) with other values in: {fields}. This "
    "call was not sent. Tell the user; a change of what was done is another action.",
    "repeat_escalate": "An equal `{tool}` was done shortly before (action {action}), and repeating "
    "it needs a person's word. This call was not sent. Tell the user.",
    "contract_changed": "An equal `{tool}` is unresolved (action {action}), from before its "
    "contract or the guard's secret was changed. This call was not sent. Tell the user: an "
    "operator has to say first what happened.",
    "key_conflict": "The key given to `{tool}` belongs to an unresolved action ({action}) with "
    "other values in: {fields}. This call was not sent. Tell the user.",
}
_WARNINGS = {
    "repeat_warn": "An equal action was done shortly before in an earlier turn; this is a second "
    "one. Tell the user.",
    "abandoned": "An equal action was given up before, and its outcome was never known; it may "
    "have happened too. Tell the user.",
    "earlier_turn": "This is the result of the equal action that an earlier turn began; nothing "
    "new was sent for this turn.",
    "content_not_sent": "An unresolved action for the same purpose was carried to its end; the "
    "new values of this call were not sent.",
    "not_recorded": "It happened, but the record could not take it: it was settled before, or the "
    "ledger failed.",
    "key_replaced": "The given key was not sent: it belongs to another action, or to a send that "
    "ended, so another key went out.",
    "result_not_stored": "It happened, but its result could not be kept.",
    "no_preview": "This is the result of the action itself, which was already done; no preview was "
    "asked for. Tell the user.",
    "open_token": "It is not known whether the action of this token took effect; a call with it "
    "carries that action on, and begins no other.",
}
_REFUSALS = {
    "no_token": "a token is needed here; nothing was sent. Call {ask}, which gives one",
    "unknown_token": "no preview that is known here gave this token; nothing was sent. Call {ask}, "
    "which gives one",
    "other_token": "this token was given for other values in: {fields}; nothing was sent. Call "
    "{ask} with the values that are meant",
    "old_token": "this token was given before `{tool}` was last sent or given up; nothing was "
    "sent. What the user wants now begins with {ask}",
}
"""What is wrong with a token."""
_EARLIER = "Whether an earlier equal call of `{tool}` took effect is not known here. Tell the user."
_UNSENT = {
    "guard_failed": "This call was not sent: the guard cannot work. Tell the user.",
    "ledger_failed": "This call was not sent: the guard's ledger failed. " + _EARLIER,
    "no_time": "This call was not sent in the time for which its client waits. " + _EARLIER,
    "other_input": "This call was not sent: the input that it gives was asked for by a call with "
    "other values. " + _EARLIER,
    "behind_a_question": "`{tool}` was not called: an earlier call of the same message asks a "
    "person first, and here only one of them can be asked about. Nothing of this call was done.",
}
"""Why an adapter did not hand a call on."""


@dataclass(frozen=True, slots=True)
class Lapsed:
    """How a key lapsed: retention is over, or what is left of it is short, or nobody states it.

    `retention`: seconds; None: not stated.
    """

    how: Literal["over", "short", "unstated"]
    retention: float | None = None


def explain(
    outcome: Unresolved,
    fields: tuple[str, ...] = (),
    *,
    other_content: bool = False,
    lapsed: Lapsed | None = None,
) -> str:
    """Return the sentences for an unresolved outcome.

    `fields`: names of what differs between call and record. `other_content`: the call carried
    on another one for the same purpose, whose values were not its own. `lapsed`: how the key that
    would have carried it on did.
    """
    whole = _WHOLE.get(outcome.reason)
    known = _PART if outcome.missing else _OPEN
    key = "" if lapsed is None else _KEY[lapsed.how]
    text = whole or known + key + (_STOP if outcome.not_before is None else _LATER)
    return (text + _NEW_VALUES * (other_content and whole is None)).format(
        tool=outcome.tool,
        action=outcome.action,
        missing=len(outcome.missing),
        why=_WHY.get(outcome.reason, outcome.reason),
        fields=_names_of(fields),
        retention=None if lapsed is None else _seconds(lapsed.retention),
    )


def refuse(why: str, tool: str, *, param: str, ask: str, fields: tuple[str, ...]) -> str:
    """Return the line that refuses a token. `param`: its argument. `ask`: what gives a token."""
    line = f"arguments.{param}: {_REFUSALS[why]}."
    return line.format(tool=tool, ask=ask, fields=_names_of(fields))


class Recorded(str):
    """An error as a ledger keeps it: its kind and, where no secret could stand in it, its text."""

    __slots__ = ()


def unexecuted(error: object) -> str:
    """Return the sentence for a call that did nothing; for adapters.

    Of an exception it tells the kind only, since its text may hold a secret or invite a repeat:
    the application has all of it in the outcome. Text of a guard, a tool or an application stays.
    """
    match error:
        case Recorded():
            kind, _, text = error.partition(": ")
            told = text if kind == "str" else kind
        case BaseException() if not isinstance(error, GuardError):
            told = type(error).__name__
        case _:
            told = str(error)
    return f"nothing was executed: {told}"


def unsent(why: str, tool: str) -> str:
    """Return the sentence for a call that an adapter did not hand to a guard; for adapters."""
    return _UNSENT[why].format(tool=tool)


def _seconds(given: float | None) -> str:
    return "" if given is None else f"{given:.15g}"


def _names_of(fields: tuple[str, ...]) -> str:
    return ", ".join(dict.fromkeys(map(_plain, fields))) or _SOME


def _plain(field: str) -> str:
    """A field's name, as far as it is only a name: arguments are named by whoever calls."""
    return field if _NAME.fullmatch(field) else _SOME


def warn(*codes: str) -> str | None:
    """Return the sentences for these warnings; None if there is nothing to say."""
    return " ".join(_WARNINGS[code] for code in codes if code in _WARNINGS) or None
