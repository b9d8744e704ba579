"""What an application says when the user said no: the action is given up before it was sent."""

from collections.abc import Mapping
from typing import Any

from retry_guard._call import Call, Request, Site
from retry_guard._hands import Hands
from retry_guard._standing import Due, Standing
from retry_guard_core import Record, Reply
from retry_guard_ledgers import changed


class Rejecting(Standing):
    """Learns whether it is too late. What is open has been sent, so nothing is asked or read."""

    async def meet(self, draft: Record, after: Record | None) -> Reply:
        """Find what a claim would be answered with."""
        known: Record | None = await self.hands.ledger(self.site.ledger.known, draft)
        if known is not None and known.state == "open":
            raise Due(known, fresh=False)
        return await super().meet(draft, after)


def rejection(
    tool: str,
    arguments: Mapping[str, Any],
    scope: str,
    turn: str | None,
    call_id: str | int | None,
    ordinal: int,
) -> Request:
    """Return what names an action that is to be given up."""
    return Request(
        tool=tool,
        arguments=arguments,
        send=_never,
        scope=scope,
        turn=turn,
        call_id=call_id,
        ordinal=ordinal,
    )


def _never(_arguments: dict[str, Any], _extra: dict[str, str]) -> None:
    """Send nothing."""


async def reject(call: Call, site: Site, hands: Hands) -> bool:
    """Give an action up for its turn; return whether nothing of it was sent, or will be in it."""
    asking = Rejecting(call, site, hands)
    try:
        end = await asking.learnt()
    except Due:
        return False
    if end.kind == "unresolved" and end.note == "abandoned":
        return not asking.record.sends
    if asking.alias is not None:
        return False  # it was sent, under another name
    after = asking.record if end.kind == "unresolved" else asking.after
    done: bool = await hands.ledger(_given_up, call, after, site)
    if hands.cancelled is not None:
        raise hands.cancelled
    return done


def _given_up(call: Call, after: Record | None, site: Site) -> bool:
    """Record it; False: another call began it meanwhile."""
    now = site.clock.now()
    draft = call.stamped(call.draft, now, site)
    record = site.ledger.claim(draft, after, now)
    if record.state != "open" or record.owner != draft.owner:
        return False
    ended = {"sends": (), "ended": now.latest, "settled_at": now.latest, "lease": now.latest}
    return site.ledger.save(changed(record, state="abandoned", **ended))
