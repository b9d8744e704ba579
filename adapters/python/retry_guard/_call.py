"""One call, as the guard is given it and as its record will name it."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from retry_guard._clock import Clock
from retry_guard._heartbeat import Heartbeat
from retry_guard._policy import Policy
from retry_guard_contracts import (
    ArgumentError,
    Contract,
    caller_key,
    decode,
    differing,
    encode_arguments,
    identify,
    make_key,
    seal,
)
from retry_guard_core import Now, Record
from retry_guard_ledgers import Action, Ledger, about
from retry_guard_outcomes import Done, NotExecuted, Unknown

Send = Callable[[dict[str, Any], dict[str, str]], Any]
Classify = Callable[[Any], Done | NotExecuted | Unknown]
Mode = Literal["guard", "observe", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all calls of a guard share. `ignored`: tools whose server was seen to ignore a key."""

    ledger: Ledger
    classify: Classify
    read: Callable[[str, dict[str, Any]], Any] | None
    ask: Callable[..., Any] | None
    policy: Policy
    clock: Clock
    heartbeat: Heartbeat | None
    secret: bytes
    ignored: set[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call: the tool's contract, the arguments as given, and the record that would be new."""

    contract: Contract
    arguments: dict[str, Any]
    draft: Record
    send: Send
    warning: str = ""

    def stamped(self, record: Record, now: Now, site: Site) -> Record:
        """The record as a claim would insert it now: leased, marked as sent, with its key."""
        lease = now.latest + site.policy.lease
        key = record.key if record.generation == 0 else None
        record = replace(record, claimed=now.latest, lease=lease, sends=(now.earliest,), key=key)
        return self.keyed(record, site)

    def keyed(self, record: Record, site: Site) -> Record:
        """The record with the key of its generation, which is made here if there is none."""
        if self.contract.key is None or record.key is not None:
            return record
        action = about(record)
        key = make_key(
            self.contract,
            secret=site.secret,
            scope=action.scope,
            identity=action.identity,
            turn=record.turn,
            ordinal=action.ordinal,
            generation=record.generation,
        )
        return replace(record, key=key)


def begin(
    contract: Contract,
    arguments: Mapping[str, Any],
    site: Site,
    *,
    send: Send,
    scope: str,
    turn: str | None,
    call_id: str | None,
    ordinal: int,
) -> Call:
    """Name the action. Raises `ArgumentError` for arguments that cannot be named or kept."""
    if not isinstance(arguments, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(arguments).__name__
        msg = f"the arguments of {contract.tool} must be an object of names and values, not {kind}"
        raise ArgumentError(msg)
    given = dict(arguments)
    name = identify(contract, given, scope=scope, secret=site.secret, ordinal=ordinal)
    action = Action(
        scope=scope,
        id=secrets.token_hex(8),
        identity=name.identity,
        resource=contract.resource or contract.tool,
        ordinal=ordinal,
        arguments=stored_arguments(contract, given, site.secret),
        call_ids=() if call_id is None else (call_id,),
        contract=contract.digest,
    )
    draft = Record(
        tool=contract.tool,
        turn=turn,
        content=name.content,
        owner=secrets.token_hex(8),
        claimed=0.0,
        lease=0.0,
        sends=(0.0,),
        about=action,
    )
    return Call(contract=contract, arguments=given, draft=draft, send=send)


def stored_arguments(contract: Contract, arguments: dict[str, Any], secret: bytes) -> bytes:
    """The arguments in their stored form: sealed, and without the key."""
    sealed = seal(contract, arguments, secret) if contract.secret else arguments
    if contract.key is not None and contract.key.param in sealed:
        sealed = {name: value for name, value in sealed.items() if name != contract.key.param}
    return encode_arguments(sealed)


def with_own_key(call: Call, site: Site) -> Call | tuple[Record, tuple[str, ...]]:
    """Keep the caller's own key where the contract allows it.

    Kept: no other action knows it, or it is the same action (then of the turn that began it).
    Replaced by the guard's own: an action that ended knows it, and has other arguments.
    Returns the holder and the fields that differ where an unresolved action holds it: refused.
    """
    key = caller_key(call.contract, call.arguments)
    rule = call.contract.key
    if key is None or rule is None or rule.mismatch != "refused":
        return call
    action = about(call.draft)
    holder = site.ledger.find(action.scope, key=key)
    if holder is None:
        return replace(call, draft=replace(call.draft, key=key))
    theirs = about(holder)
    same = (holder.tool, theirs.identity) == (call.contract.tool, action.identity)
    if same and theirs.arguments == action.arguments:
        return replace(call, draft=replace(call.draft, key=key, turn=holder.turn))
    if holder.state == "open":
        return holder, differing(call.contract, decode(theirs.arguments), call.arguments)
    return replace(call, warning="key_replaced")
