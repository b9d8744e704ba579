"""One guarded call on its way: steps the core, and says how it ended. No rule lives here."""

from contextlib import suppress
from dataclasses import replace
from functools import partial

from retry_guard._answers import Unresolved
from retry_guard._attempt import NOTHING, Attempt
from retry_guard._batches import missing_in, rest_of, whole_of
from retry_guard._going import terms_of
from retry_guard._perform import Performer
from retry_guard._texts import explain
from retry_guard._windows import lapsed
from retry_guard._words import done, error_of, heard, unresolved
from retry_guard_contracts import encode_result
from retry_guard_core import End, Record, Reply, guarded
from retry_guard_ledgers import Ledger, LedgerError, Prompt, about, changed
from retry_guard_outcomes import Done, NotExecuted


class Driver(Performer):
    """One guarded call on its way. Used once.

    `notes`: further warnings that go with a result. `answers`: a result goes to the caller as soon
    as it is saved. `noted`: whether it could be noted that the caller has it; None: not tried.
    """

    rest: Unresolved | None = None
    notes: tuple[str, ...] = ()
    answers: bool = False
    noted: bool | None = None

    async def run(self) -> Done | NotExecuted | Unresolved:
        """Step the core until the call has its answer.

        Raises `LedgerError` if the ledger failed before anything was sent, and whatever stopped
        the call from outside (cancellation, an interrupt of the harness), once its lease is
        released.
        """
        self.answers = self.site.workers is not None
        try:
            end = await self.steps()
        except LedgerError:
            if not self.sent:
                raise
            return self._without_ledger()
        if not self.noted:
            self._obey()
        outcome = await self._answer(end)
        self._obey()
        return outcome

    def _obey(self) -> None:
        """Stop here, if the call was to stop while the ledger worked."""
        if self.hands.cancelled is not None:
            raise self.hands.cancelled

    async def steps(self) -> End:
        """Step the core to its end."""
        terms = terms_of(self.call, self.site)
        engine = guarded(self.call.draft, terms, self.site.policy)
        try:
            step = next(engine)
            while True:
                try:
                    reply = await self.perform(step)
                except BaseException as error:  # noqa: BLE001 - the core releases, and re-raises
                    step = engine.throw(error)
                else:
                    step = engine.send(reply)
        except StopIteration as stop:
            end: End = stop.value
            return end
        finally:
            if self.site.heartbeat is not None:
                self.site.heartbeat.drop(self.call.draft.owner)

    async def split(self, record: Record) -> Reply:
        """Guard what was absent of a batch, as a call of its own."""
        self.rest = None
        rest = Driver(*rest_of(self.call, record, self.site), self.hands)
        outcome = await rest.run()
        match outcome:
            case Done(value):
                whole = whole_of(self.call, record, value)
                self.last = Attempt(NOTHING.end, Done(whole))
                return self.reply(changed(record, state="done", value=encode_result(whole)))
            case Unresolved(reason=reason, not_before=moment, missing=missing):
                left = replace(outcome, missing=missing or missing_in(self.call, record))
                key = lapsed(rest.call, rest.record, self.site)
                self.rest = replace(left, text=explain(left, lapsed=key))
                return self.reply(record, ok=False, end=End("unresolved", None, reason, moment))
            case NotExecuted():
                return self.reply(record, ok=False)

    async def _answer(self, end: End) -> Done | NotExecuted | Unresolved:
        own, record = self.last.own, self.record
        match end.kind:
            case "done":
                return await self._done(end)
            case "not_executed":
                return own if isinstance(own, NotExecuted) else NotExecuted(error_of(end.value))
            case _:
                return self.rest or unresolved(self.call, record, self.site, end)

    async def _done(self, end: End) -> Done:
        """Note that the caller has the result, and take that back if the call was stopped."""
        notes = [*self.notes, heard(end.note, self.after)]
        if self.noted is None:
            self.noted = await self.hands.ledger(self._note)
        if not self.noted:
            notes.append("not_recorded")
        if self.hands.cancelled is not None and not self.record.delivered:
            await self.hands.ledger(partial(self._deliver, back=True))
        own = self.last.own if isinstance(self.last.own, Done) else None
        return done(self.call, self.record, end.value, own, notes, sent=self.sent)

    def _deliver(self, to: Ledger | Prompt | None = None, *, back: bool = False) -> None:
        action, ledger = about(self.record), to or self.site.ledger
        ledger.deliver(action.scope, action.id, self.call.turn, back=back)

    def _note(self) -> bool:
        try:
            self._deliver()
        except LedgerError:
            return False
        return True

    def _kept(self, record: Record, hold: bool) -> bool:  # noqa: FBT001 - called by position
        """Save it; in a thread, note the delivery on the same way, unless the call is to stop."""
        saved = super()._kept(record, hold)
        if saved and self.answers and record.state == "done" and not self.hands.stopping:
            self.noted = self._note()
        return saved

    def _kept_now(self, record: Record, prompt: Prompt) -> bool:
        """Do the same without waiting; a delivery that would have to wait is noted later."""
        saved = super()._kept_now(record, prompt)
        if saved and self.answers and record.state == "done" and not self.hands.stopping:
            with suppress(LedgerError):  # it would have to wait: `_note` does it in a thread
                self._deliver(prompt)
                self.noted = True
        return saved

    def _without_ledger(self) -> NotExecuted | Unresolved:
        """What is known all the same, though the ledger failed after a send."""
        if self.record.state == "not_executed" and isinstance(self.last.own, NotExecuted):
            return self.last.own
        end = End("unresolved", note="ledger_unavailable")
        return unresolved(self.call, self.record, self.site, end)
