"""Carries out single steps: claim, save, send, read, wait, ask. No rule lives here."""

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, assert_never

from retry_guard._attempt import NOTHING, STOPPED, Attempt, judged, outgoing
from retry_guard._call import Call, Site
from retry_guard._clock import TICK
from retry_guard._going import Going
from retry_guard._hands import AwaitedError, Hands
from retry_guard._look import look, put
from retry_guard._sent import Extra, sending, unkeyed, without_key
from retry_guard_core import End, Now, Record, Reply, Step
from retry_guard_ledgers import LedgerError, Prompt, about, changed


class Performer(ABC):
    """Performs what the core asks for, and keeps what a driver has to know of it."""

    def __init__(self, call: Call, site: Site, hands: Hands) -> None:
        """Prepare; nothing is claimed yet."""
        self.call, self.site, self.hands = call, site, hands
        self.record, self.last, self.sent, self.claimed = call.draft, NOTHING, False, False
        self.told = Now(call.draft.sends[0], call.draft.claimed)
        self.stale, self.overtaken, self.extra = False, False, Extra()
        self.after: Record | None = None
        self.alias: Record | None = None
        self.halt: Exception | None = None

    async def perform(self, step: Step) -> Reply:
        """Carry out one step. Raises what stopped the call, unless it only has to be recorded."""
        stopped, record = self.hands.cancelled, step.record
        if stopped is not None and step.do not in ("hold", "save", "send"):
            raise stopped
        match step.do:
            case "claim":
                return await self._claim(record, step.detail)
            case "hold" | "save":
                return await self._save(record, hold=step.do == "hold")
            case "send":
                return await self._send(record)
            case "wait":
                await self.hands.sleep(self.site.clock, step.detail + TICK)
                return self.reply(await self._marked(record))
            case "read":
                return self.reply(await look(self.call, record, self.site, self.hands))
            case "ask":
                return await self._ask(record, step.detail)
            case "split":
                return await self.split(record)
            case _:
                assert_never(step.do)

    async def _ask(self, record: Record, reason: str) -> Reply:
        """Put it to an operator, unless another has taken the action over meanwhile."""
        self.last = NOTHING
        if self.site.ask is not None:
            now, record, held, _ = await self._save(record, hold=True)
            if not held:
                return now, record, False, End("unknown", note="still_running")
        return self.reply(*await put(reason, self.call, record, self.site, self.hands))

    @abstractmethod
    async def split(self, record: Record) -> Reply:
        """Guard what was absent of a batch, as a call of its own; the record is done if that is."""

    def reply(self, record: Record, ok: bool = True, end: End = NOTHING.end) -> Reply:  # noqa: FBT001, FBT002 - as the core orders it
        """What the core is told, at this moment."""
        self.record, self.told = record, self.moment()
        return self.told, record, ok, end

    def moment(self) -> Now:
        """The time at which a step ends."""
        return self.site.clock.now()

    async def _claim(self, draft: Record, after: Record | None) -> Reply:
        now, self.after = self.site.clock.now(), after
        if self.claimed:
            draft = self.call.stamped(draft, now, self.site)
        self.claimed = True
        record: Record = await self.hands.ledger(self._taken, draft, after, now)
        return self.reply(record)

    def _taken(self, draft: Record, after: Record | None, now: Now) -> Record:
        record = self.as_is(self.site.ledger.claim(self.named(draft), after, now))
        mine = record.state == "open" and record.owner == self.call.draft.owner
        if mine and self.site.heartbeat is not None:
            self.site.heartbeat.hold(record)
        if mine and self.alias is None and about(record).id == about(draft).id:
            self.halt = self._elder(record)
        return record

    def _elder(self, record: Record) -> Exception | None:
        """Why what was just begun may not be sent; the ledger's failure too, since it is held."""
        try:
            return self.site.strays.elder(self.call, record)
        except LedgerError as error:
            return error

    def named(self, draft: Record) -> Record:
        """The draft, by the name that its action has in the ledger. Raises `StrayError`."""
        if not self.sent:
            self.alias = self.site.strays.heed(self.call, self.site)
        if self.alias is None:
            return draft
        return changed(draft, about=changed(about(draft), identity=about(self.alias).identity))

    def as_is(self, record: Record) -> Record:
        """What the ledger returned for it, as this call is to be compared with it."""
        return record if self.alias is None else self.site.strays.as_is(self.call, record)

    async def _marked(self, record: Record) -> Record:
        """The record, marked where a newer write makes it harmful to repeat an idempotent one."""
        return changed(record, seen="superseded") if await self._superseded(record) else record

    async def _superseded(self, record: Record) -> bool:
        mine = record.state == "open" and record.owner == self.call.draft.owner
        if self.call.contract.effect != "idempotent" or not mine:
            return False
        newer: bool = await self.hands.ledger(self.site.ledger.newer, about(record).scope, record)
        return newer

    async def _save(self, record: Record, *, hold: bool) -> Reply:
        now = self.site.clock.now()
        self.stale = now.latest - self.told.latest > self.site.policy.lease / 3
        lease = now.latest + (self.site.policy.lease if hold else 0.0)
        settled_at = record.settled_at if record.state == "open" else now.latest
        if record.generation != self.record.generation:
            record = self.call.keyed(record, self.site)
        elif self.extra.unasked:
            record = without_key(record)
        self.record = record = changed(record, lease=lease, settled_at=settled_at)
        try:
            ok = await self._stored(record, hold)
        except LedgerError:
            # The core would claim anew, and then might send what no record shows.
            if hold or record.state == "not_executed":
                raise
            # What stays open loses nothing by it: the lease runs out by itself.
            ok = record.state == "open"
        if record.state == "open" and not (ok or hold):
            # Looked up again once; else two callers could take it from each other for ever.
            ok, self.overtaken = self.overtaken, True
        return self.reply(record, ok)

    async def _stored(self, record: Record, hold: bool) -> bool:  # noqa: FBT001 - as `_kept`
        """Save it: here and now where that takes no waiting, else where the ledger always works.

        There a cancellation strikes that is yet to come: nobody may have the result then.
        """
        if self.site.prompt is not None and record.state != "open" and not self.hands.pending:
            with suppress(LedgerError):  # it would have to wait: a thread does, below
                return self._kept_now(record, self.site.prompt)
        ok: bool = await self.hands.ledger(self._kept, record, hold)
        return ok

    def _kept_now(self, record: Record, prompt: Prompt) -> bool:
        """Save what has ended: no renewal changes it any more. Raises `LedgerError` to wait."""
        return prompt.save(record)

    def _kept(self, record: Record, hold: bool) -> bool:  # noqa: FBT001 - called by position
        if not hold and self.site.heartbeat is not None:
            self.site.heartbeat.release(self.call.draft.owner)
        return self.site.ledger.save(record)

    async def _send(self, record: Record) -> Reply:
        stale = record.tries > 0 and await self._superseded(record)
        packed = None if stale else self._packed(record)
        if packed is None:
            self.last = STOPPED
            return self.reply(record, end=STOPPED.end)
        self.sent, (arguments, self.extra) = True, packed
        try:
            with sending(self.extra):
                result = await self.hands.call(self.call.send, arguments, self.extra)
        except AwaitedError:
            raise
        except Exception as error:  # noqa: BLE001 - every exception is a fact to be judged
            result = error
        self.last = self.judged(record, result)
        if self.last.effect_id is not None:
            record = changed(record, about=changed(about(record), effect_id=self.last.effect_id))
        end = self.last.end
        if self.extra.unasked:
            record, end = unkeyed(self.call.contract, record, end)
        return self.reply(record, end=end)

    def judged(self, record: Record, result: Any) -> Attempt:
        """What came of a send."""
        return judged(self.call, record, self.site, result)

    def _packed(self, record: Record) -> tuple[dict[str, Any], Extra] | None:
        """What goes out; None: nothing may.

        The call is to stop, the lease is out, or the decision to send is older than a third of one.
        """
        self.hands.cancelled = self.hands.cancelled or self.halt
        if self.hands.cancelled is not None or self.stale:
            return None
        going = Going(record, self.call, self.site, self.hands, self._superseded)
        try:
            arguments, extra = outgoing(self.call, record, self.site)
            in_time = going.ordered(self.site.clock.now())
        except BaseException as error:  # noqa: BLE001 - raised once it is recorded that nothing left
            self.hands.cancelled = error
            return None
        extra.going = going
        return (arguments, extra) if in_time else None
