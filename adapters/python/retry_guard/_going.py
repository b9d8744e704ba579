"""Whether a send may still begin: it may have to wait, long after the guard has ordered it.

A connection that is opened first, a server that is started again, a person whose input is wanted:
meanwhile the lease can run out, and what a re-issue rests on (a key that its server remembers).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from retry_guard._call import Call, Site
from retry_guard._hands import Hands, run_sync
from retry_guard._sent import Extra
from retry_guard_core import Now, Record, Terms, decide
from retry_guard_ledgers import LedgerError, changed

_log = logging.getLogger("retry_guard")


@dataclass(slots=True)
class Going:
    """One send that was ordered. `until`: the ledger's time at which that has to be asked anew."""

    record: Record
    call: Call
    site: Site
    hands: Hands
    superseded: Callable[[Record], Awaitable[bool]]
    until: float = 0.0

    def ordered(self, now: Now) -> bool:
        """Note that it was ordered now; return whether the lease is still good for it."""
        self.until = min(self.record.lease, now.latest + self.site.policy.lease / 3)
        return now.latest < self.until

    def is_due(self) -> bool:
        """Whether it may begin at this moment, by what is known here."""
        now = self.site.clock.now()
        return now.latest < self.until and self._stands(now)

    def _stands(self, now: Now) -> bool:
        """Whether the core would order it now. What no answer was lost of rests on no time."""
        record, policy = self.record, self.site.policy
        if record.tries == 0:
            return True
        paused = now.earliest - policy.backoff_limit
        before = changed(record, tries=record.tries - 1, sends=record.sends[:-1], ended=paused)
        verdict = decide(terms_of(self.call, self.site), before, now, policy)
        return verdict.act == "reissue" and not verdict.stop

    async def hold(self) -> bool:
        """Hold the record for it anew; return whether it may begin, if it does so at once."""
        now = self.site.clock.now()
        record = changed(self.record, lease=now.latest + self.site.policy.lease)
        try:
            mine: bool = await self.hands.ledger(self.site.ledger.save, record)
            stale = record.tries > 0 and mine and await self.superseded(record)
        except LedgerError as error:
            _log.warning("a send of %s that had to wait is not made: %s", record.tool, error)
            return False
        if not mine or stale or self.hands.cancelled is not None:
            return False
        self.record = record
        return self.ordered(now) and self.is_due()


def terms_of(call: Call, site: Site) -> Terms:
    """Return what a decision reads of the contract; a key that its server ignores counts not."""
    terms = call.contract.terms
    return replace(terms, keyed=False) if terms.tool in site.ignored else terms


def may_go(extra: Mapping[str, str]) -> bool:
    """Whether this send may begin at this moment; if not, `hold` can tell. For adapters.

    To be asked right before the first byte leaves, wherever `send` may have waited. `extra`: what
    the guard gave to `send`, itself. Looks at the clock only.
    """
    going = extra.going if isinstance(extra, Extra) else None
    return going is None or going.is_due()


async def hold(extra: Mapping[str, str]) -> bool:
    """Hold the action for this send anew; return whether it may begin at once. For adapters.

    False: another has taken the action over, it has ended, what the order rested on has lapsed,
    the ledger fails, or the call is to stop. Then `send` has to raise what `classify` takes as
    `NotExecuted`, and the guard decides anew.
    """
    going = extra.going if isinstance(extra, Extra) else None
    return going is None or await going.hold()


def hold_now(extra: Mapping[str, str]) -> bool:
    """Do the same in this thread, for a `Guard`."""
    mine: bool = run_sync(hold(extra))
    return mine
