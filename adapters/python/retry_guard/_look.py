"""The two ways to learn what happened without sending: to read, and to ask."""

import logging
from dataclasses import replace
from math import inf
from typing import Any

from retry_guard._answers import Answer, Unresolved
from retry_guard._batches import missing_in, noted, ties
from retry_guard._call import Call, Site
from retry_guard._hands import Hands
from retry_guard._logs import log_failure
from retry_guard._sent import sending
from retry_guard._texts import explain
from retry_guard._windows import lapsed
from retry_guard_contracts import Contract, Sight, decode, encode_result, judge, read_arguments
from retry_guard_core import GuardError, Now, Record
from retry_guard_ledgers import about, changed

_log = logging.getLogger("retry_guard")


async def look(call: Call, record: Record, site: Site, hands: Hands) -> Record:
    """Run the read-back; return the record with what it showed. A read that fails says so.

    Something may have been sent, so nothing that an `Exception` says refuses the call.
    """
    began = site.clock.now().earliest
    try:
        sight = await _sight(call, record, site, hands)
    except Exception as error:  # noqa: BLE001 - whatever failed, nothing was seen
        if isinstance(error, GuardError):  # a mistake of the application's, not of the network
            what = f"the read-back of {call.contract.tool} cannot be carried out"
            log_failure(call.contract, what, error)
        sight = Sight("failed")
    seen = changed(record, seen=sight.seen, read_at=began)
    if sight.seen not in ("ours", "some"):
        return seen
    value = noted(sight) if sight.seen == "some" else encode_result(sight.value)
    return changed(seen, value=value, about=changed(about(record), effect_id=sight.effect_id))


async def _sight(call: Call, record: Record, site: Site, hands: Hands) -> Sight:
    rule, action, key = call.contract.read_back, about(record), record.key
    if rule is None or site.read is None:
        return Sight("failed")
    arguments = decode(action.arguments)
    given = read_arguments(call.contract, arguments, key)
    with sending({}):
        result = await hands.call(site.read, rule.tool, given)
    if _shows_nothing(site.contracts.get(rule.tool), result):
        return Sight("failed")

    tied = ties(call, record, site)

    def shown() -> Sight:
        first = record.sends[0]
        return judge(
            call.contract, arguments=arguments, result=result, first_send=first, tied=tied, key=key
        )

    sight: Sight = await hands.ledger(shown)
    return sight


def _shows_nothing(reader: Contract | None, result: object) -> bool:
    """Whether a read failed by the word of its own contract, whatever its result looks like."""
    return reader is not None and (
        reader.proves_nothing(result) or reader.proves_nothing_ran(result)
    )


async def put(
    reason: str, call: Call, record: Record, site: Site, hands: Hands
) -> tuple[Record, bool]:
    """Put an unresolved action to the operator; return the record with the answer, if any.

    An `ask` that fails, or answers in another form, has reached nobody: the log says so. Something
    may have been sent, so nothing that an `Exception` says may stand for the call's outcome.
    """
    if site.ask is None:
        return record, False
    now = site.clock.now()
    missing = missing_in(call, record)
    question = Unresolved(about(record).id, reason, tool=call.contract.tool, missing=missing)
    question = replace(question, text=explain(question, lapsed=lapsed(call, record, site)))
    what = f"ask failed for an action of {call.contract.tool}, so no operator was reached"
    try:
        answer: Any = await hands.call(site.ask, question)
    except Exception as error:  # noqa: BLE001 - it is the user's
        log_failure(call.contract, what, error)
        return record, False
    if answer is None:
        return replace(record, asked_at=now.latest, answer=None), False
    if not isinstance(answer, Answer):
        kind = type(answer).__name__
        _log.warning("%s: it returned %s; return an Answer, or None for no answer", what, kind)
        return record, False
    return _answered(record, answer, now)


def _answered(record: Record, answer: Answer, now: Now) -> tuple[Record, bool]:
    """The record with what the operator said."""
    asked_at = inf if answer.final else now.earliest
    match answer.what:
        case "happened":
            value = encode_result(answer.result)
            return replace(record, state="done", value=value, asked_at=asked_at), True
        case "abandon":
            return replace(record, state="abandoned", asked_at=asked_at), True
        case "did_not_happen" | "again":
            return replace(record, answer=answer.what, asked_at=asked_at), True
