"""A key that the caller chose."""

from dataclasses import dataclass, replace

from retry_guard._call import Call, Site, is_as_given
from retry_guard._hands import Hands
from retry_guard_contracts import caller_key, decode, differing
from retry_guard_core import Record
from retry_guard_ledgers import about, changed


@dataclass(frozen=True, slots=True)
class Conflict:
    """An unresolved action holds the key that the caller gave; `fields`: what differs."""

    record: Record
    fields: tuple[str, ...]


def with_own_key(call: Call, site: Site) -> Call | Conflict:
    """Keep the caller's own key where the contract allows it.

    Kept: no other action knows it, or it is the same action (then of the turn that began it).
    Replaced by the guard's own: an action that ended knows it, and is another one.
    Refused, by the conflict that is returned: an unresolved action holds it.
    """
    key = offered(call)
    if key is None:
        return call
    site.strays.heed(call, site)
    scope = about(call.draft).scope
    holder = site.ledger.find(scope, key=key)
    if holder is None:
        return _keeping(call, key, call.draft.turn, site)
    if _same(holder, call.draft):
        return _keeping(call, key, turn_of(holder, f"key {key}", call, site), site)
    if holder.state == "open":
        return Conflict(holder, differing_from(holder, call, site))
    return replace(call, draft=call.stamped(call.draft, site.clock.now(), site))


async def named(call: Call, site: Site, hands: Hands) -> Call | Conflict:
    """Do the same, as far as the ledger is needed for it."""
    if offered(call) is None:
        return call
    answer: Call | Conflict = await hands.ledger(with_own_key, call, site)
    return answer


def _keeping(call: Call, key: str, turn: str | None, site: Site) -> Call:
    """The call, as of now, with the caller's key."""
    draft = changed(call.draft, key=key, turn=turn)
    return replace(call, draft=call.stamped(draft, site.clock.now(), site))


def offered(call: Call) -> str | None:
    """The caller's own key, where the server tells calls that differ apart in spite of it."""
    rule = call.contract.key
    keeps = rule is not None and rule.mismatch == "refused"
    return caller_key(call.contract, call.arguments) if keeps else None


def differing_from(record: Record, call: Call, site: Site) -> tuple[str, ...]:
    """The names of the fields in which this call differs from a record."""
    if record.tool != call.contract.tool:
        return ("tool",)
    if is_as_given(call) and about(record).arguments == about(call.draft).arguments:
        return ()
    recorded = decode(about(record).arguments)
    return differing(call.contract, recorded, call.arguments, site.secret)


def _same(holder: Record, draft: Record) -> bool:
    theirs, ours = about(holder).identity, about(draft).identity
    return (holder.tool, theirs, holder.content) == (draft.tool, ours, draft.content)


def turn_of(holder: Record, name: str, call: Call, site: Site) -> str | None:
    """Return the turn in which the holder answers.

    Where it was done outside of turns that is one of its own, with this name.
    """
    if holder.turn is not None or holder.state != "done" or not holder.delivered:
        return holder.turn or call.turn
    site.ledger.deliver(about(holder).scope, about(holder).id, name)
    return name
