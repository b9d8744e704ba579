"""One call, as the guard is given it and as its record will name it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from retry_guard._clock import Clock
from retry_guard._heartbeat import Heartbeat
from retry_guard._policy import Policy
from retry_guard._strays import Strays
from retry_guard._workers import Workers
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
from retry_guard_ledgers import Action, Ledger, Prompt, about, changed
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
    call_id: str | int | None = None
    ordinal: int = 0

    @property
    def plain(self) -> dict[str, Any]:
        """The arguments as they came, in a dict that may be changed; a non-mapping as it is."""
        given: Any = self.arguments
        return {**self.arguments} if isinstance(given, Mapping) else given


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What all calls of a guard share.

    `ignored`: tools whose server was seen to ignore a key. `workers`: threads for a ledger that may
    block; None: it works where it is called. `prompt`: what it does without waiting, where it would
    else need a thread. `contracts`: those of all tools, as they count now. `strays`: what is open
    under another name than it would have today.
    """

    ledger: Ledger
    classify: Classify
    read: Callable[[str, dict[str, Any]], Any] | None
    ask: Callable[..., Any] | None
    policy: Policy
    clock: Clock
    heartbeat: Heartbeat | None
    secret: bytes
    strays: Strays
    ignored: set[str]
    workers: Workers | None
    prompt: Prompt | None
    contracts: Mapping[str, Contract]


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
        key = record.key if record.generation == 0 else None
        return changed(
            record,
            claimed=now.latest,
            lease=now.latest + site.policy.lease,
            sends=(now.earliest,),
            key=self._key(record, site) if key is None else key,
        )

    def keyed(self, record: Record, site: Site) -> Record:
        """The record with a key made for its generation, if the tool takes one."""
        return changed(record, key=self._key(record, site))

    def _key(self, record: Record, site: Site) -> str | None:
        action, generation = about(record), record.generation
        return key_of(self.contract, action, record.turn, generation, site.secret)


_FIXED = frozenset({type(None), bool, int, float, str, bytes, Decimal, UUID, date, datetime})


def is_as_given(call: Call) -> bool:
    """Whether nobody can have changed its arguments since: no value in them can change itself."""
    return all(type(value) in _FIXED for value in call.arguments.values())


def begin(contract: Contract, request: Request, site: Site) -> Call:
    """Name the action, as of now. Raises `ArgumentError` for what cannot be named or kept."""
    scope, secret, ordinal = request.scope, site.secret, request.ordinal
    name = identify(contract, request.arguments, scope=scope, secret=secret, ordinal=ordinal)
    given, names = request.plain, os.urandom(16).hex()
    action = Action(
        scope=scope,
        id=names[:16],
        identity=name.identity,
        resource=contract.writes,
        ordinal=ordinal,
        arguments=stored_arguments(contract, given, secret),
        call_ids=() if request.call_id is None else (str(request.call_id),),
        contract=contract.digest,
    )
    now = site.clock.now()
    draft = Record(
        tool=contract.tool,
        turn=request.turn,
        content=name.content,
        key=key_of(contract, action, request.turn, 0, secret),
        owner=names[16:],
        claimed=now.latest,
        lease=now.latest + site.policy.lease,
        sends=(now.earliest,),
        about=action,
    )
    return Call(
        contract=contract, arguments=given, draft=draft, send=request.send, turn=request.turn
    )


def key_of(
    contract: Contract, action: Action, turn: str | None, generation: int, secret: bytes
) -> str | None:
    """Make the key of one generation of an action; None if the tool takes none."""
    if contract.key is None:
        return None
    return make_key(
        contract,
        secret=secret,
        scope=action.scope,
        identity=action.identity,
        turn=turn,
        ordinal=action.ordinal,
        generation=generation,
    )


def stored_arguments(contract: Contract, arguments: dict[str, Any], secret: bytes) -> bytes:
    """The arguments in their stored form: sealed, and without the key.

    Raises `ArgumentError` for what has no stored form, and for a key that is not text.
    """
    sealed = seal(contract, arguments, secret) if contract.sealed else arguments
    if contract.key is not None and caller_key(contract, sealed) is not None:
        sealed, _ = place_key(contract, sealed, "")
    return encode_arguments(sealed)
