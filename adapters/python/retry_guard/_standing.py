"""How an action stands, learnt without sending anything of it."""

from retry_guard._answers import Unresolved
from retry_guard._attempt import STOPPED
from retry_guard._driver import Driver
from retry_guard_core import End, Record, Reply, Step
from retry_guard_ledgers import about
from retry_guard_outcomes import Done, NotExecuted


class Due(BaseException):
    """The action would now go on by a send. `fresh`: since it is known that nothing ran."""

    def __init__(self, record: Record, *, fresh: bool) -> None:
        """Keep the record as it is."""
        super().__init__()
        self.record, self.fresh = record, fresh


class Standing(Driver):
    """A driver that reads back and asks, and never sends; what is new is not even recorded.

    An end `not_executed` means that nothing is in the way of a new action.
    """

    new = False

    async def perform(self, step: Step) -> Reply:
        """Carry out a step, or stop the call by `Due`."""
        match step.do:
            case "claim":
                return await self.meet(step.record, step.detail)
            case "hold":
                raise Due(self.record, fresh=step.record.generation != self.record.generation)
            case "send":
                return self.reply(step.record, end=STOPPED.end)
            case "save" if self.new:
                return self.reply(step.record)
            case _:
                return await super().perform(step)

    async def meet(self, draft: Record, after: Record | None) -> Reply:
        """Find what a claim would be answered with; hold it, if it is open and nobody does."""
        self.after = after
        known: Record | None = await self.hands.ledger(self._known, draft)
        self._obey()
        if known is None or (after is not None and about(known).id == about(after).id):
            self.new = True
            return self.reply(draft)
        if known.state == "open":
            return await self._claim(draft, after)
        return self.reply(known)

    def _known(self, draft: Record) -> Record | None:
        known = self.site.ledger.known(self.named(draft))
        return None if known is None else self.as_is(known)

    async def answered(self, end: End) -> Done | NotExecuted | Unresolved:
        """Return what to answer with; a result goes with the words that it is no preview."""
        self.notes = ("no_preview",) if end.kind == "done" else ()
        outcome = await self._answer(end)
        self._obey()
        return outcome

    async def learnt(self) -> End:
        """Return how the action stands. Raises `Due`, and what the ledger raises."""
        end = await self.steps()
        self._obey()
        return end
