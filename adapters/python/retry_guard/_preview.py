"""The preview of a write that a token confirms: it changes nothing, and is recorded for its token.

A preview is an action of its own, whose turn is what was written before it. So, by the rules for
every action, an equal call in that turn gets the preview and the token that are there, in whichever
process, and callers at the same time wait for one answer. A preview whose token is gone, too old
or cannot be read counts as one that is repeated on purpose.
"""

import logging
import os
from dataclasses import replace
from typing import Any

from retry_guard._answers import Unresolved
from retry_guard._attempt import Attempt, asked
from retry_guard._call import Call, Request, Site, stored_arguments
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard._standing import Due, Standing
from retry_guard._texts import warn
from retry_guard._tokens import (
    is_expired,
    latest_write,
    mark_of,
    preview_name,
    preview_of,
    shown_by,
    since,
)
from retry_guard._words import heard, kept, unresolved
from retry_guard_contracts import (
    Confirm,
    Contract,
    encode_result,
    previewed,
    token_in,
    token_mark,
    token_of,
    veil,
)
from retry_guard_core import End, Now, Record, Reply
from retry_guard_ledgers import LedgerError, about, changed
from retry_guard_outcomes import Done, NotExecuted

_log = logging.getLogger("retry_guard")

_BARE = "%s: its result shows no token at %s, so nothing goes out on it: mend the contract"

Outcome = Done | NotExecuted | Unresolved


def previews(contract: Contract, request: Request) -> bool:
    """Return whether a call only asks what would be done.

    Raises `ArgumentError` for a token that is no text.
    """
    rule = contract.confirm
    if rule is None or request.tool != contract.tool:
        return rule is not None
    return rule.preview is None and token_in(rule, request.arguments) is None


async def preview(call: Call, rule: Confirm, site: Site, hands: Hands) -> Outcome:
    """Answer a call that asks what would be done.

    It is answered with the result of the action, where that is done, and as unresolved, where
    that is what it is; only where nothing is in the way, with a preview.
    """
    standing = Standing(call, site, hands)
    try:
        end = await standing.learnt()
    except Due as due:
        outcome = await _recorded(call, due, rule, site, hands)
        note = ""
    else:
        outcome = None if end.kind == "not_executed" else await standing.answered(end)
        note = heard(end.note, standing.after)
    if outcome is not None:
        return outcome
    asking: Call = await hands.ledger(_asking, call, site)
    issuing = Issuing(asking, rule, site, hands)
    issuing.notes = (note,)
    return await issuing.run()


async def _recorded(
    call: Call, due: Due, rule: Confirm, site: Site, hands: Hands
) -> Outcome | None:
    """The preview that an open action began with; None: nothing of it ran, and that is too old."""
    held = unresolved(call, due.record, site, End("unresolved", note="keyed"))
    if due.record.content != call.draft.content:
        return held
    mark = mark_of(due.record, rule)
    found: Record | None = await hands.ledger(preview_of, call, mark, site)
    shown = shown_by(found, site)
    old = found is None or shown is None or is_expired(found, rule, site.clock.now())
    if due.fresh and old:
        return None
    return held if shown is None else Done(kept(shown), replayed=True, warning=warn("open_token"))


def _asking(call: Call, site: Site) -> Call:
    """The call as one of the preview: another action, after what was written last."""
    now, names = site.clock.now(), os.urandom(16).hex()
    contract, turn = call.contract.previewing, since(latest_write(call, site))
    arguments = previewed(call.contract, call.arguments)
    action = changed(
        about(call.draft),
        id=names[:16],
        identity=preview_name(call, site),
        resource=contract.tool,
        arguments=stored_arguments(contract, arguments, site.secret),
    )
    draft = changed(
        call.draft,
        tool=contract.tool,
        turn=turn,
        content=b"",
        owner=names[16:],
        about=action,
        key=None,
    )
    asking = replace(call, contract=contract, arguments=arguments, turn=turn)
    return replace(asking, draft=asking.stamped(draft, now, site))


class Issuing(Driver):
    """A call of the preview. Whatever came of an earlier send of it, it may be sent."""

    def __init__(self, call: Call, rule: Confirm, site: Site, hands: Hands) -> None:
        """Prepare; nothing is claimed yet."""
        super().__init__(call, site, hands)
        self._rule = rule

    async def _claim(self, draft: Record, after: Record | None) -> Reply:
        now, record, _, _ = await super()._claim(draft, after)
        if record.state == "open" and record.owner == draft.owner and record.ended is not None:
            record = changed(record, ended=None, sends=(now.earliest,))
        elif record.state in ("done", "abandoned") and not self._is_current(record, now):
            record = changed(record, answer="again")
        return self.reply(record)

    def _is_current(self, record: Record, now: Now) -> bool:
        mine = record.state == "done" and record.turn == self.call.turn
        whole = about(record).effect_id is not None and shown_by(record, self.site) is not None
        return mine and whole and not is_expired(record, self._rule, now)

    def judged(self, record: Record, result: Any) -> Attempt:  # noqa: ARG002 - as for every send
        """What came of a preview: its result, or, as it changes nothing, nothing."""
        outcome = asked(self.call.contract, self.site, result)
        if outcome is None:
            outcome = NotExecuted(result) if isinstance(result, BaseException) else Done(result)
        if not isinstance(outcome, Done):
            error = outcome.error
            kind = encode_result(type(error).__name__)
            return Attempt(End("not_executed", kind), NotExecuted(error))
        token, stored = token_of(self._rule, outcome.value), encode_result(outcome.value)
        if token is None:
            _log.warning(_BARE, self.call.contract.tool, self._rule.token)
        mark = None if token is None else token_mark(self._rule, token, self.site.secret)
        value = None if stored is None else veil(stored, self.site.secret)
        return Attempt(End("done", value), outcome, mark)

    async def _done(self, end: End) -> Done:
        if end.note == "not_recorded":
            msg = "its token could not be recorded, so nothing goes out with it: ask for another"
            raise LedgerError(f"{self.call.contract.tool}: {msg}")
        shown = shown_by(self.record, self.site)
        return await super()._done(end._replace(value=shown or encode_result(None)))
