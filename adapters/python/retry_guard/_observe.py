"""Mode `observe`: every call goes out as it came, and what a guard would have done is noted."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from retry_guard._answers import UsageError
from retry_guard._attempt import judged
from retry_guard._call import Call, Request, Site
from retry_guard._clock import TICK
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard._own_key import Conflict, named
from retry_guard._sent import sending
from retry_guard._strays import StrayError
from retry_guard_contracts import ArgumentError
from retry_guard_core import End, Now, Record, Reply, Step
from retry_guard_ledgers import LedgerError, about, as_observed
from retry_guard_outcomes import Done


@dataclass(frozen=True, slots=True)
class Observation:
    """What the guard would have done with one call.

    `would`: `send` (as it was), `replay`, `refuse` or `join` instead of sending; `carry_on`
    instead, where an earlier call is unresolved (`reason`: `read`, `ask` or `reissue`); or `read`,
    `ask`, `reissue` after the send, whose outcome was unknown. `reason`: a code, or empty.
    """

    tool: str
    action: str
    would: str
    reason: str = ""


class _Enough(BaseException):
    """The guard would now do what an observer must not."""


class Direct:
    """Sends a request as if there were no guard, once."""

    def __init__(self, request: Request, hands: Hands) -> None:
        """Send nothing yet."""
        self._request, self._hands, self.sent = request, hands, False
        self.result: Any = None

    async def send(self) -> Any:
        """Send it, and return the value, or the exception that it raised."""
        self.sent = True
        try:
            with sending({}):
                self.result = await self._hands.call(self._request.send, self._request.plain, {})
        except Exception as error:  # noqa: BLE001 - handed on as it is, once it was noted
            self.result = _Raised(error)
            return error
        return self.result

    async def done(self) -> Done:
        """Return what came of it, sending it now if that was not done; raise what it raised."""
        if not self.sent:
            if self._hands.cancelled is not None:
                raise self._hands.cancelled
            await self.send()
        if isinstance(self.result, _Raised):
            raise self.result.error
        return Done(self.result)


@dataclass(frozen=True, slots=True)
class _Raised:
    error: Exception


class _Shadow(Driver):
    """A driver that sends once, as the call came, and stops where the guard would do more.

    A wait after the send takes no time: its own clock is moved on. Where the guard would send an
    unresolved action again, this call is taken for that send: so its end settles the action, as
    the guard's own would have. `carries`: how the guard would carry such an action on.
    """

    ahead, carries = 0.0, ""

    def __init__(self, call: Call, site: Site, hands: Hands, direct: Direct) -> None:
        """Share the one send."""
        super().__init__(call, site, hands)
        self.direct = direct

    async def perform(self, step: Step) -> Reply:
        match step.do:
            case "send" if self.hands.cancelled is None:
                return await self._pass(step)
            case "wait" if not self.held(step.record):
                raise _Enough("join")
            case "wait":
                self.ahead += step.detail + TICK
                return self.reply(step.record)
            case "read" | "ask":
                raise _Enough(step.do)
            case "hold" if not self.sent:
                self.carries = "reissue"
                return await super().perform(step)
            case "hold":
                raise _Enough("reissue")
            case _:
                return await super().perform(step)

    def held(self, record: Record) -> bool:
        return record.owner == self.call.draft.owner

    def moment(self) -> Now:
        now = super().moment()
        return Now(now.earliest + self.ahead, now.latest + self.ahead)

    async def _pass(self, step: Step) -> Reply:
        self.sent = True
        self.last = judged(self.call, step.record, self.site, await self.direct.send())
        return self.reply(step.record, end=self.last.end)


async def observe(
    request: Request,
    begin: Callable[[Request], Call | None],
    site: Site,
    hands: Hands,
    direct: Direct,
) -> Observation:
    """Send the call as it came, unless a guard would not, and return what that would do."""
    try:
        call = begin(request)
    except (UsageError, ArgumentError) as error:
        code = "arguments" if isinstance(error, ArgumentError) else "usage"
        return Observation(request.tool, "", "refuse", code)
    if call is None:
        return Observation(request.tool, "", "send", "read")
    call = replace(call, draft=replace(call.draft, about=as_observed(about(call.draft))))
    try:
        known = await named(call, site, hands)
        if isinstance(known, Conflict):
            return Observation(request.tool, about(known.record).id, "refuse", "key_conflict")
        shadow = _Shadow(known, site, hands, direct)
        would, reason = await _followed(shadow)
    except StrayError as stray:
        return Observation(request.tool, about(stray.record).id, "refuse", "contract_changed")
    except LedgerError:
        return Observation(
            request.tool, "", "send" if direct.sent else "refuse", "ledger_unavailable"
        )
    return Observation(request.tool, about(shadow.record).id, would, reason)


async def _followed(shadow: _Shadow) -> tuple[str, str]:
    """What a guard would do, and why."""
    try:
        end: End = await shadow.steps()
    except _Enough as stop:
        how = shadow.carries or str(stop)
        is_first = shadow.sent and not shadow.carries
        return (how, "") if is_first or how == "join" else ("carry_on", how)
    if end.kind == "done":
        action, deliver = about(shadow.record), shadow.site.ledger.deliver
        await shadow.hands.ledger(deliver, action.scope, action.id, shadow.call.turn)
    if shadow.carries:
        return "carry_on", shadow.carries
    if end.kind == "done":
        return ("send" if shadow.sent else "replay"), end.note
    if shadow.sent:
        return "send", end.note
    return "refuse", end.note
