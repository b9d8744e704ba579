"""Mode `observe`: every call goes out as it came, and what a guard would have done is noted."""

import logging
from dataclasses import dataclass, replace
from typing import Any

from retry_guard._attempt import judged
from retry_guard._call import Call, Site
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard_core import Reply, Step
from retry_guard_ledgers import LedgerError, about
from retry_guard_outcomes import Done

PREFIX = "observed:"
"""What is observed is recorded under this and the scope, so no guarded call ever meets it."""

_log = logging.getLogger("retry_guard")


@dataclass(frozen=True, slots=True)
class Observation:
    """What the guard would have done with one call.

    `would`: `send` (as it was), `replay`, `refuse` or `join` instead of sending; or `read`,
    `ask`, `reissue` after the send, whose outcome was unknown. `reason`: a code, or empty.
    """

    tool: str
    action: str
    would: str
    reason: str = ""


class _Enough(BaseException):
    """The guard would now do what an observer must not."""


class _Shadow(Driver):
    """A driver that sends once, as the call came, and stops where the guard would do more."""

    result: Any = None
    error: Exception | None = None

    async def _perform(self, step: Step) -> Reply:
        match step.do:
            case "send":
                return await self._pass(step)
            case "wait" if not self.sent:
                raise _Enough("join")
            case "wait" | "read" | "ask":
                raise _Enough(step.do if step.do != "wait" else "later")
            case "save" if step.hold:
                raise _Enough("reissue")
            case _:
                return await super()._perform(step)

    async def _pass(self, step: Step) -> Reply:
        await self.pass_on()
        attempt = judged(self.call, step.record, self.site, self.error or self.result)
        self.last = attempt
        return self.reply(step.record, end=attempt.end)

    async def pass_on(self) -> None:
        """Send as if there were no guard."""
        self.sent = True
        try:
            self.result = await self.hands.call(self.call.send, dict(self.call.arguments), {})
        except Exception as error:  # noqa: BLE001 - handed on as it is, once it was noted
            self.error = error


async def observe(call: Call, site: Site, hands: Hands) -> tuple[Done, Observation]:
    """Send the call as it came; return its value, or raise what it raised, and the note."""
    action = about(call.draft)
    hidden = replace(action, scope=PREFIX + action.scope)
    shadow = _Shadow(replace(call, draft=replace(call.draft, about=hidden)), site, hands)
    would, reason = "send", ""
    try:
        end = await shadow.steps()
        if not shadow.sent:
            would, reason = ("replay", "") if end.kind == "done" else ("refuse", end.note)
        if end.kind == "done":
            site.ledger.deliver(hidden.scope, about(shadow.record).id, call.draft.turn)
    except _Enough as stop:
        would = str(stop)
    except LedgerError:
        would, reason = "refuse", "ledger_unavailable"
    if not shadow.sent:
        await shadow.pass_on()
    note = Observation(call.contract.tool, about(shadow.record).id, would, reason)
    _log.info("observed %s (%s): would %s %s", note.tool, note.action, would, reason)
    if shadow.error is not None:
        raise shadow.error
    return Done(shadow.result), note
