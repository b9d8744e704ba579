"""One send: what goes out, and what its result proves."""

import logging
from dataclasses import dataclass
from typing import Any, assert_never

from retry_guard._answers import UsageError
from retry_guard._call import Call, Site, is_as_given, stored_arguments
from retry_guard._logs import log_failure
from retry_guard._sent import Extra
from retry_guard_contracts import (
    ArgumentError,
    Contract,
    decode,
    effect_of,
    encode_result,
    key_ignored,
    place_key,
    unseal,
)
from retry_guard_core import End, Record
from retry_guard_ledgers import about
from retry_guard_outcomes import Done, NotExecuted, Unknown

_log = logging.getLogger("retry_guard")


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a send ended, for the core; the caller's own result or error; the effect's name."""

    end: End
    own: Done | NotExecuted | None = None
    effect_id: str | None = None


_ENDS = (Done, NotExecuted, Unknown)

NOTHING = Attempt(End("unknown"))
STOPPED = Attempt(
    End("not_executed", encode_result("stopped before anything was sent")),
    NotExecuted("stopped before anything was sent"),
)


def outgoing(call: Call, record: Record, site: Site) -> tuple[dict[str, Any], Extra]:
    """The recorded arguments and key, as `send` takes them.

    Raises `UsageError` where the record needs a secret that this caller does not give.
    """
    arguments = recorded(call, record, site)
    if record.key is None:
        return arguments, Extra()
    arguments, extra = place_key(call.contract, arguments, record.key)
    return arguments, Extra(extra)


def recorded(call: Call, record: Record, site: Site) -> dict[str, Any]:
    """The recorded arguments: the caller's own objects, where they are the same.

    Raises `UsageError` where the record needs a secret that this caller does not give.
    """
    stored = about(record).arguments
    own = about(call.draft).arguments if is_as_given(call) else _stored(call, site)
    if own == stored:
        return dict(call.arguments)
    arguments: dict[str, Any] = decode(stored)
    if not call.contract.sealed:
        return arguments
    opened = unseal(call.contract, arguments, call.arguments, site.secret)
    if opened is None:
        msg = (
            f"{call.contract.tool}: a secret field differs from that of the recorded call, which "
            "cannot go out without it: nothing was sent"
        )
        raise UsageError(msg)
    return opened


def _stored(call: Call, site: Site) -> bytes | None:
    """The caller's arguments as they are now; None: an earlier send made them unfit."""
    try:
        return stored_arguments(call.contract, call.arguments, site.secret)
    except ArgumentError:
        return None


def judged(call: Call, record: Record, site: Site, result: Any) -> Attempt:
    """What the value that came back, or the exception that was raised, proves. Never raises."""
    outcome = _classified(call, site, result)
    match outcome:
        case Done(value):
            ignored = record.key is not None and _ignored(call, value)
            if ignored:
                site.ignored.add(call.contract.tool)
            end = End("done", encode_result(value), "ignored" if ignored else "")
            return Attempt(end, outcome, effect_of(call.contract, value))
        case NotExecuted(error, rejected):
            note = "rejected" if rejected else ""
            return Attempt(End("not_executed", _named(call, error), note), outcome)
        case Unknown(error, hint):
            note = hint if hint in ("in_progress", "exists") else ""
            return Attempt(End("unknown", _named(call, error), note or ""))
        case _:
            assert_never(outcome)


def asked(contract: Contract, site: Site, result: Any) -> Done | NotExecuted | Unknown | None:
    """What the classifier says; None, and a line in the log, if it failed.

    A `send` that has asked it already returns what it said.
    """
    if isinstance(result, _ENDS):
        return result
    try:
        outcome: Any = site.classify(result)
    except Exception as error:  # noqa: BLE001 - it is the user's
        log_failure(
            contract, f"classify failed, so an outcome of {contract.tool} is unknown", error
        )
        return None
    if isinstance(outcome, _ENDS):
        return outcome
    kind = type(outcome).__name__
    _log.warning("classify returned %s: return Done, NotExecuted or Unknown", kind)
    return None


def _classified(call: Call, site: Site, result: Any) -> Done | NotExecuted | Unknown:
    """What the result proves; a contract's `not_executed` settles this attempt, and no other."""
    outcome = asked(call.contract, site, result) or Unknown(result)
    if not isinstance(outcome, Unknown) and _says_nothing(call.contract, result, outcome):
        return Unknown(result)
    if isinstance(outcome, NotExecuted) or not _says_nothing_ran(call.contract, result):
        return outcome
    return NotExecuted(result)


def _says_nothing(contract: Contract, result: Any, outcome: Done | NotExecuted) -> bool:
    meant = outcome.value if isinstance(outcome, Done) else outcome.error
    try:
        return contract.proves_nothing(result) or contract.proves_nothing(meant)
    except Exception:  # noqa: BLE001 - what cannot be looked into proves nothing
        return True


def _says_nothing_ran(contract: Contract, result: Any) -> bool:
    try:
        return contract.proves_nothing_ran(result) and not contract.proves_nothing(result)
    except Exception:  # noqa: BLE001 - what cannot be looked into proves nothing
        return False


def _ignored(call: Call, value: Any) -> bool:
    try:
        return key_ignored(call.contract, value)
    except Exception:  # noqa: BLE001 - a result that cannot be looked into shows no sign
        return True


def _named(call: Call, error: Any) -> bytes | None:
    """An error's stored form: its kind and, where no secret could stand in it, its text."""
    kind = type(error).__name__
    try:
        text = kind if call.contract.sealed else f"{kind}: {error}"[:500]
    except Exception:  # noqa: BLE001 - somebody's __str__ may do anything
        text = kind
    return encode_result(text) or encode_result(kind)
