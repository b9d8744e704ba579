"""A write that a token confirms: made once, however many tokens there are for it.

What names the action is what it does. A token never names it: it only lets a call send that
nothing else answers.
"""

from retry_guard._answers import Unresolved
from retry_guard._call import Call, Site
from retry_guard._driver import Driver
from retry_guard._hands import Hands
from retry_guard._tokens import admit, bound, mark_in, used, with_recorded_token
from retry_guard_contracts import ArgumentError, Confirm
from retry_guard_core import Record, Reply
from retry_guard_ledgers import about
from retry_guard_outcomes import Done, NotExecuted


class Confirming(Driver):
    """A guarded call that carries a token, or should."""

    def __init__(self, call: Call, rule: Confirm, site: Site, hands: Hands) -> None:
        """Prepare; nothing is claimed yet."""
        super().__init__(call, site, hands)
        self._rule = rule

    async def _claim(self, draft: Record, after: Record | None) -> Reply:
        """Claim it, once it is clear that a record that is new here would be let out."""
        await self.hands.ledger(self._let_out, draft, after)
        self._obey()
        return await super()._claim(draft, after)

    def _let_out(self, draft: Record, after: Record | None) -> None:
        """Raise `ArgumentError` for what would be new, and may not be."""
        if not self._is_new(draft, after):
            return
        try:
            admit(self.call, self._rule, self.site)
        except ArgumentError:
            if self._is_new(draft, after):
                raise  # else an equal call was let out meanwhile, and this one is met by that

    def _is_new(self, draft: Record, after: Record | None) -> bool:
        counts = self.site.ledger.known(draft)
        return counts is None or (after is not None and about(counts).id == about(after).id)

    async def _send(self, record: Record) -> Reply:
        """Send what is recorded, with the token that is recorded."""
        parts = self.call, record, self._rule, self.site
        self.call = await self.hands.ledger(with_recorded_token, *parts)
        return await super()._send(record)


async def confirmed(
    call: Call, rule: Confirm, site: Site, hands: Hands
) -> Done | NotExecuted | Unresolved:
    """Carry out a call of the tool that commits.

    Raises `ArgumentError`, before anything is sent, for a token that lets nothing out.
    """
    own: Call = await hands.ledger(bound, call, rule, site)
    driver = Confirming(own, rule, site, hands)
    mark, turn = mark_in(own, rule, site), own.draft.turn
    moved = turn != call.draft.turn and (mark is None or turn != used(mark))
    driver.notes = ("earlier_turn",) if moved else ()
    return await driver.run()
