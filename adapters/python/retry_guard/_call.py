"""One call, as the guard is given it and as its record will name it."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from retry_guard._clock import Clock
from retry_guard._heartbeat import Heartbeat
from retry_guard._policy import Policy
from retry_guard_contracts import (
    Contract,
    caller_key,
    encode_arguments,
    identify,
    make_key,
    place_key,
    seal,
)
from retry_guard_core import Now, Record
from retry_guard_ledgers import Action, Ledger, about
from retry_guard_outcomes import Done, NotExecuted, Unknown

Send = Callable[[dict[str, Any], dict[str, str]], Any]
Classify = Callable[[Any], Done | NotExecuted | Unknown]
Mode = Literal["guard", "observe", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller asks for."""

    tool: str
    arguments: Mapping[str, Any]
    send: Send
    scope: str
    turn: str | None
    call_id: str | None = None
    ordinal: int = 0

    @property
    def plain(self) -> dict[str, Any]:
        """The arguments as they came, in a dict that may be changed; a non-mapping as it is."""
        given: Any = self.arguments
        return {**self.arguments} if isinstance(given, Mapping) else given


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
    """One call: the tool's contract, the arguments as given, and the record that would be new.

    `turn`: the turn of the caller, also where the caller's key names an action of another one.
    """

    contract: Contract
    arguments: dict[str, Any]
    draft: Record
    send: Send
    turn: str | None

    def stamped(self, record: Record, now: Now, site: Site) -> Record:
        """The record as a claim would insert it now: leased, marked as sent, with its key."""
        lease = now.latest + site.policy.lease
        key = record.key if record.generation == 0 else None
        record = replace(record, claimed=now.latest, lease=lease, sends=(now.earliest,), key=key)
        return record if key is not None else self.keyed(record, site)

    def keyed(self, record: Record, site: Site) -> Record:
        """The record with a key made for its generation, if the tool takes one."""
        if self.contract.key is None:
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


def begin(contract: Contract, request: Request, site: Site) -> Call:
    """Name the action. Raises `ArgumentError` for arguments that cannot be named or kept."""
    scope, secret, ordinal = request.scope, site.secret, request.ordinal
    name = identify(contract, request.arguments, scope=scope, secret=secret, ordinal=ordinal)
    given = request.plain
    action = Action(
        scope=scope,
        id=secrets.token_hex(8),
        identity=name.identity,
        resource=contract.writes,
        ordinal=ordinal,
        arguments=stored_arguments(contract, given, secret),
        call_ids=() if request.call_id is None else (request.call_id,),
        contract=contract.digest,
    )
    draft = Record(
        tool=contract.tool,
        turn=request.turn,
        content=name.content,
        owner=secrets.token_hex(8),
        claimed=0.0,
        lease=0.0,
        sends=(0.0,),
        about=action,
    )
    return Call(
        contract=contract, arguments=given, draft=draft, send=request.send, turn=request.turn
    )


def stored_arguments(contract: Contract, arguments: dict[str, Any], secret: bytes) -> bytes:
    """The arguments in their stored form: sealed, and without the key.

    Raises `ArgumentError` for what has no stored form, and for a key that is not text.
    """
    sealed = seal(contract, arguments, secret) if contract.secret else arguments
    if contract.key is not None and caller_key(contract, sealed) is not None:
        sealed, _ = place_key(contract, sealed, "")
    return encode_arguments(sealed)
