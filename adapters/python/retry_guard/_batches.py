"""Of a batch: what is missing, as an action of its own, and what the whole then comes to."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from retry_guard._attempt import recorded
from retry_guard._call import Call, Site, key_of, stored_arguments
from retry_guard_contracts import (
    Sight,
    decode,
    effects_named,
    encode_result,
    items_in,
    joined,
    rest_identity,
    with_items,
)
from retry_guard_core import Record
from retry_guard_ledgers import Action, about


def noted(sight: Sight) -> bytes | None:
    """What a record keeps of a look that showed some items: which are missing, and the others."""
    missing = list(sight.missing)
    whole = encode_result({"missing": missing, "found": sight.value})
    return whole or encode_result({"missing": missing})


def missing_in(call: Call, record: Record) -> tuple[Any, ...]:
    """The items of which it is not known whether they happened, where something was seen."""
    if record.seen not in ("some", "split"):
        return ()
    items = items_in(call.contract, decode(about(record).arguments))
    return tuple(items[at] for at in _note(record)["missing"])


def rest_of(call: Call, record: Record, site: Site) -> tuple[Call, Site]:
    """What is missing of a batch as a call of its own, within what is left of this call's time.

    It is of one turn with nothing else, and the same action for whoever carries the batch on.
    Raises `UsageError` where the record needs a secret that this caller does not give.
    """
    batch, now, fields = about(record), site.clock.now(), site.policy
    arguments = with_items(call.contract, recorded(call, record, site), _note(record)["missing"])
    names, turn = os.urandom(16).hex(), f"rest of {batch.id}"
    action = Action(
        scope=batch.scope,
        id=names[:16],
        identity=rest_identity(batch.identity, batch.id, record.generation, site.secret),
        resource=batch.resource,
        ordinal=batch.ordinal,
        arguments=stored_arguments(call.contract, arguments, site.secret),
        contract=call.contract.digest,
    )
    draft = Record(
        tool=record.tool,
        turn=turn,
        content=b"",
        key=key_of(call.contract, action, turn, 0, site.secret),
        fresh=record.fresh + 1,
        owner=names[16:],
        claimed=now.latest,
        lease=now.latest + fields.lease,
        sends=(now.earliest,),
        about=action,
    )
    left = max(fields.deadline - (now.latest - record.claimed), 0.0)
    rest = replace(call, arguments=arguments, draft=draft, turn=turn)
    return rest, replace(site, policy=replace(fields, deadline=left))


def whole_of(call: Call, record: Record, rest: Any) -> Any:
    """The result of the whole batch, once what was missing has been done with this result."""
    note, read = _note(record), call.contract.read_back
    return rest if read is None else joined(read, note["missing"], note.get("found"), rest)


def ties(call: Call, record: Record, site: Site) -> Callable[[str], bool]:
    """Return what tells whether the ledger ties an effect to another action."""
    mine, ledger = about(record), site.ledger
    shared = call.contract.batch is not None or call.contract.resource is not None
    known: list[frozenset[str]] = []

    def theirs() -> frozenset[str]:
        """The effects of batches: the ledger finds an effect by its name where it stands alone."""
        if not known:
            actions = map(about, ledger.list(mine.scope) if shared else ())
            others = (o for o in actions if o.resource == mine.resource and o.id != mine.id)
            names = (name for other in others for name in effects_named(other.effect_id))
            known.append(frozenset(names))
        return known[0]

    def tied(effect: str) -> bool:
        other = ledger.find(mine.scope, effect_id=effect)
        return effect in theirs() if other is None else about(other).id != mine.id

    return tied


def _note(record: Record) -> dict[str, Any]:
    note: dict[str, Any] = decode(record.value or b"{}")
    return note
