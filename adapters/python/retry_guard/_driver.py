"""Carries out what the core asks for, and tells it what came of it. No rule lives here."""

from dataclasses import replace
from typing import assert_never

from retry_guard._answers import Unresolved
from retry_guard._attempt import STOPPED, Attempt, judged, outgoing
from retry_guard._call import Call, Site
from retry_guard._clock import TICK
from retry_guard._hands import Hands
from retry_guard._look import kept, look, put
from retry_guard._texts import explain, warn
from retry_guard_contracts import decode, differing, place_key
from retry_guard_core import End, Record, Reply, Step, guarded
from retry_guard_ledgers import LedgerError, about
from retry_guard_outcomes import Done, NotExecuted

_NOTHING = Attempt(End("unknown"))


class Driver:
    """One guarded call on its way. Used once."""

    def __init__(self, call: Call, site: Site, hands: Hands) -> None:
        """Prepare; nothing is claimed yet."""
        self.call, self.site, self.hands = call, site, hands
        self.record, self.last, self.sent = call.draft, _NOTHING, False

    async def run(self) -> Done | NotExecuted | Unresolved:
        """Step the core until the call has its answer.

        Raises `LedgerError` if the ledger failed before anything was sent, and whatever stopped
        the call from outside (cancellation, an interrupt of the harness), once its lease is
        released.
        """
        try:
            end = await self.steps()
        except LedgerError:
            if not self.sent:
                raise
            end = End("unresolved", note="ledger_unavailable")
        finally:
            if self.site.heartbeat is not None:
                self.site.heartbeat.drop(self.call.draft.owner)
        if self.hands.cancelled is not None:
            raise self.hands.cancelled
        return await self._answer(end)

    async def steps(self) -> End:
        terms = self.call.contract.terms
        if terms.tool in self.site.ignored:
            terms = replace(terms, keyed=False)
        draft = self.call.stamped(self.call.draft, self.site.clock.now(), self.site)
        engine = guarded(draft, terms, self.site.policy)
        step = next(engine)
        try:
            while True:
                try:
                    reply = await self._perform(step)
                except BaseException as error:  # noqa: BLE001 - the core releases, and re-raises
                    step = engine.throw(error)
                else:
                    step = engine.send(reply)
        except StopIteration as stop:
            end: End = stop.value
            return end

    async def _perform(self, step: Step) -> Reply:
        stopped, record = self.hands.cancelled, step.record
        if stopped is not None and step.do not in ("save", "send"):
            raise stopped
        match step.do:
            case "claim":
                return await self._claim(record, step.detail)
            case "save":
                return await self._save(record, hold=step.hold)
            case "send":
                return await self._send(record)
            case "wait":
                await self.hands.sleep(self.site.clock, step.wait + TICK)
                return self.reply(record)
            case "read":
                return self.reply(await look(self.call, record, self.site, self.hands))
            case "ask":
                given = await put(step.detail, self.call, record, self.site, self.hands)
                return self.reply(*given)
            case _:
                assert_never(step.do)

    def reply(self, record: Record, ok: bool = True, end: End = _NOTHING.end) -> Reply:  # noqa: FBT001, FBT002 - as the core orders it
        self.record = record
        return self.site.clock.now(), record, ok, end

    async def _claim(self, draft: Record, after: Record | None) -> Reply:
        now, ledger = self.site.clock.now(), self.site.ledger
        draft = self.call.stamped(draft, now, self.site)
        record: Record = await self.hands.ledger(ledger.claim, draft, after, now)
        held = record.state == "open" and record.owner == draft.owner
        if held and self.site.heartbeat is not None:
            self.site.heartbeat.hold(record)
        if held and self.call.contract.effect == "idempotent" and record.ended is not None:
            newer = await self.hands.ledger(ledger.newer, about(record).scope, record)
            record = replace(record, seen="superseded") if newer else record
        return self.reply(record)

    async def _save(self, record: Record, *, hold: bool) -> Reply:
        now = self.site.clock.now()
        lease = now.latest + (self.site.policy.lease if hold else 0.0)
        settled_at = record.settled_at if record.state == "open" else now.latest
        record = replace(record, lease=lease, settled_at=settled_at)
        record = self.call.keyed(record, self.site)
        try:
            ok: bool = await self.hands.ledger(self.site.ledger.save, record)
        except LedgerError:
            if hold:
                raise
            ok = False
        return self.reply(record, ok)

    async def _send(self, record: Record) -> Reply:
        late = self.site.clock.now().latest >= record.lease
        if late or self.hands.cancelled is not None:
            self.last = STOPPED
            return self.reply(record, end=STOPPED.end)
        arguments = outgoing(self.call, record, self.site)
        arguments, extra = place_key(self.call.contract, arguments, record.key or "")
        self.sent = True
        try:
            result = await self.hands.call(self.call.send, arguments, extra)
        except Exception as error:  # noqa: BLE001 - every exception is a fact to be judged
            result = error
        self.last = judged(self.call, record, self.site, result)
        return self.reply(record, end=self.last.end)

    async def _answer(self, end: End) -> Done | NotExecuted | Unresolved:
        own = self.last.own
        match end.kind:
            case "done":
                return await self._done(end, own if isinstance(own, Done) else None)
            case "not_executed":
                return own if isinstance(own, NotExecuted) else NotExecuted(kept(end.value))
            case _:
                tool, action = self.call.contract.tool, about(self.record)
                answer = Unresolved(action.id, end.note, end.not_before, tool=tool)
                return replace(answer, text=explain(answer, self._differing()))

    async def _done(self, end: End, own: Done | None) -> Done:
        record, draft = self.record, self.call.draft
        action, notes = about(record), [end.note, self.call.warning]
        if record.turn != draft.turn and draft.turn is not None:
            notes.append("earlier_turn")
        if record.content != draft.content:
            notes.append("content_not_sent")
        if own is None and end.value is None:
            notes.append("result_not_stored")
        try:
            await self.hands.ledger(self.site.ledger.deliver, action.scope, action.id, draft.turn)
        except LedgerError:
            notes.append("not_recorded")
        value = kept(end.value) if own is None else own.value
        return Done(value, replayed=own is None, warning=warn(*dict.fromkeys(notes)))

    def _differing(self) -> tuple[str, ...]:
        """The names of the fields in which this call differs from the record."""
        recorded = decode(about(self.record).arguments)
        return differing(self.call.contract, recorded, self.call.arguments)
