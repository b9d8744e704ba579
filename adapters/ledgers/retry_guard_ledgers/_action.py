"""What names an action: the `about` of every record."""

from dataclasses import dataclass, replace

from retry_guard_core import Record

SCHEME = 1
"""Version of the way in which identities are made and arguments are stored."""

_OBSERVED = "observed:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What names an action and what is kept beside it: every record's `about`.

    `scope`: the tenant or account for whom the tool acts. `id`: the record's own name.
    `identity`: digest of what names the effect. `resource`: what the tool writes.
    `ordinal`: which of several equal calls that each count. `arguments`: as they were sent, but
    for the key, in the stored form. `effect_id`: the service's name for the effect, once known.
    `call_ids`: the harness's names for the calls, for the audit only. `contract`: its digest.
    """

    scope: str
    id: str
    identity: bytes
    resource: str
    ordinal: int = 0
    arguments: bytes = b""
    effect_id: str | None = None
    call_ids: tuple[str, ...] = ()
    contract: str = ""
    scheme: int = SCHEME


def as_observed(action: Action) -> Action:
    """Return an action as it is recorded of a call that is only observed.

    Its scope is its own, so no guarded call ever meets it, and nobody has to settle it.
    """
    return replace(action, scope=_OBSERVED + action.scope)


def account_of(action: Action) -> str:
    """Return the scope that an action was named in, also where it was only observed."""
    return action.scope.removeprefix(_OBSERVED)


def is_observed(record: Record) -> bool:
    """Whether a record is of a call that was only observed."""
    return about(record).scope.startswith(_OBSERVED)


def about(record: Record) -> Action:
    """Return a record's `about` as what it is in every ledger."""
    action = record.about
    if not isinstance(action, Action):
        msg = f"a record's `about` must be an Action, not {type(action).__name__}"
        raise TypeError(msg)
    return action
