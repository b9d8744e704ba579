"""One send: what goes out, and what its result proves."""

from dataclasses import dataclass
from typing import Any, assert_never

from retry_guard._answers import UsageError
from retry_guard._call import Call, Site, stored_arguments
from retry_guard_contracts import decode, encode_result, key_ignored, unseal
from retry_guard_core import End, Record
from retry_guard_ledgers import about
from retry_guard_outcomes import Done, NotExecuted, Unknown


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a send ended, for the core; and the caller's own result or error, as it was."""

    end: End
    own: Done | NotExecuted | None = None


STOPPED = Attempt(
    End("not_executed", encode_result("stopped before anything was sent")),
    NotExecuted("stopped before anything was sent"),
)


def outgoing(call: Call, record: Record, site: Site) -> dict[str, Any]:
    """The recorded arguments, without the key: the caller's objects where they are the same.

    Raises `UsageError` where the record needs a secret that this caller does not give.
    """
    recorded = about(record).arguments
    if stored_arguments(call.contract, call.arguments, site.secret) == recorded:
        return dict(call.arguments)
    arguments: dict[str, Any] = decode(recorded)
    if not call.contract.secret:
        return arguments
    opened = unseal(call.contract, arguments, call.arguments, site.secret)
    if opened is None:
        msg = (
            f"{call.contract.tool}: a secret field differs from that of the recorded call, which "
            "cannot be sent without it: call with the first value"
        )
        raise UsageError(msg)
    return opened


def judged(call: Call, record: Record, site: Site, result: Any) -> Attempt:
    """What the value that came back, or the exception that was raised, proves."""
    outcome = _classified(call, site, result)
    match outcome:
        case Done(value):
            ignored = record.key is not None and key_ignored(call.contract, value)
            if ignored:
                site.ignored.add(call.contract.tool)
            return Attempt(End("done", encode_result(value), "ignored" if ignored else ""), outcome)
        case NotExecuted(error, rejected):
            note = "rejected" if rejected else ""
            return Attempt(End("not_executed", _named(call, error), note), outcome)
        case Unknown(error, hint):
            note = hint if hint in ("in_progress", "exists") else ""
            return Attempt(End("unknown", _named(call, error), note or ""))
        case _:
            assert_never(outcome)


def _classified(call: Call, site: Site, result: Any) -> Done | NotExecuted | Unknown:
    if isinstance(result, UsageError):
        return NotExecuted(result)
    if call.contract.proves_nothing_ran(result):
        return NotExecuted(result, rejected=True)
    try:
        outcome = site.classify(result)
    except Exception as error:  # noqa: BLE001 - a classifier that fails has proved nothing
        return Unknown(error)
    known = isinstance(outcome, Done | NotExecuted | Unknown)  # pyright: ignore[reportUnnecessaryIsInstance]
    return outcome if known else Unknown(result)


def _named(call: Call, error: Any) -> bytes | None:
    """An error's stored form: its kind and, where no secret could stand in it, its text."""
    kind = type(error).__name__
    return encode_result(kind if call.contract.secret else f"{kind}: {error}"[:500])
