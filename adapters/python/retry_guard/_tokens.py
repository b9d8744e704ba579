"""Tokens that confirm a write: what each is good for. The ledger holds no token, only its hash.

A token is for one tool, effect and content, and for one time: what was open, done or given up
since its preview was asked for is nothing that its holder agreed to.
"""

from dataclasses import replace

from retry_guard._call import Call, Site, stored_arguments
from retry_guard._own_key import turn_of
from retry_guard._texts import refuse
from retry_guard_contracts import (
    ArgumentError,
    Confirm,
    Identity,
    as_previewed,
    decode,
    differing,
    preview_identity,
    previewed,
    recorded_mark,
    token_in,
    token_mark,
    token_of,
    unseal,
    unveil,
    with_token,
)
from retry_guard_core import Now, Record
from retry_guard_ledgers import about, changed


def mark_in(call: Call, rule: Confirm, site: Site) -> str | None:
    """Return what stands in records for the token of a call; None if it carries none."""
    token = token_in(rule, call.arguments)
    return None if token is None else token_mark(rule, token, site.secret)


def mark_of(record: Record, rule: Confirm) -> str | None:
    """Return what stands in a recorded write for the token that it went out with."""
    return recorded_mark(rule, decode(about(record).arguments))


def preview_of(call: Call, mark: str | None, site: Site) -> Record | None:
    """Return the preview that gave a token; None where none did, or not through a guard.

    A server may give equal tokens for several actions: the preview of this one comes first.
    """
    if mark is None:
        return None
    action = changed(about(call.draft), identity=preview_name(call, site))
    latest = site.ledger.known(changed(call.draft, turn=None, about=action))
    if latest is not None and about(latest).effect_id == mark:
        return latest
    return site.ledger.find(action.scope, effect_id=mark)


def preview_name(call: Call, site: Site) -> bytes:
    """Return the identity of the preview of this very call."""
    name = Identity(about(call.draft).identity, call.draft.content)
    return preview_identity(call.contract, name, site.secret)


def latest_write(call: Call, site: Site) -> Record | None:
    """Return the write of this action that is open or ended last, of whichever turn."""
    return site.ledger.known(changed(call.draft, turn=None))


def since(write: Record | None) -> str:
    """Return the turn of a preview: what was written before. A write begins one, and its end."""
    if write is None:
        return "before any write"
    return _during(write) if write.state == "open" else f"after {about(write).id}"


def _during(write: Record) -> str:
    return f"during {about(write).id}"


def is_expired(preview: Record, rule: Confirm, now: Now) -> bool:
    """Return whether its token may be too old: the server made it at the earliest when asked."""
    return rule.expires is not None and now.latest - preview.sends[0] >= rule.expires


def bound(call: Call, rule: Confirm, site: Site) -> Call:
    """Return the call with the arguments of the preview that gave its token, as they were shown.

    Outside of turns it is one of the turn in which its token was used up, if that is so; a token
    that was given again since then is for a new action.
    Raises `ArgumentError` for a token that was given for another tool or other arguments, and
    `StrayError` where the action is open by the name that an older contract gave it.
    """
    mark = mark_in(call, rule, site)
    if mark is None:
        return call
    preview, write = preview_of(call, mark, site), latest_write(call, site)
    if preview is not None and about(preview).identity != preview_name(call, site):
        site.strays.heed(call, site)  # what is open comes first
        raise _refused("other_token", call, rule, _differing(preview, call, site))
    call = call if preview is None else _as_shown(call, preview, site)
    if write is None or write.state != "done" or mark_of(write, rule) != mark:
        return call
    given_again = preview is not None and preview.turn == since(write)
    if call.turn is not None or given_again:
        return call
    draft = changed(call.draft, turn=turn_of(write, used(mark), call, site))
    return replace(call, draft=call.stamped(draft, site.clock.now(), site))


def used(mark: str) -> str:
    """Return the name of the turn in which a token was used up, where there are no turns."""
    return f"token {mark}"


def _as_shown(call: Call, preview: Record, site: Site) -> Call:
    """The call in the words of its preview, which mean the same: a token is for what was shown."""
    contract, shown = call.contract, about(preview).arguments
    own = stored_arguments(contract.previewing, previewed(contract, call.arguments), site.secret)
    if own == shown:
        return call
    opened = unseal(contract.previewing, decode(shown), call.arguments, site.secret)
    if opened is None:
        return call
    arguments = as_previewed(contract, opened, call.arguments)
    stored = stored_arguments(contract, arguments, site.secret)
    draft = changed(call.draft, about=changed(about(call.draft), arguments=stored))
    return replace(call, arguments=arguments, draft=draft)


def _differing(preview: Record, call: Call, site: Site) -> tuple[str, ...]:
    if preview.tool != call.contract.previewing.tool:
        return ("tool",)
    recorded = decode(about(preview).arguments)
    return differing(call.contract, recorded, call.arguments, site.secret)


def admit(call: Call, rule: Confirm, site: Site) -> None:
    """Raise `ArgumentError` unless the token of a call lets a new write out."""
    mark = mark_in(call, rule, site)
    if mark is None:
        raise _refused("no_token", call, rule)
    preview, write = preview_of(call, mark, site), latest_write(call, site)
    if preview is None and rule.outside == "refused":
        raise _refused("unknown_token", call, rule)
    if preview is not None and not _counts(preview, mark, write, rule):
        raise _refused("old_token", call, rule)


def _counts(preview: Record, mark: str, write: Record | None, rule: Confirm) -> bool:
    """Return whether nothing was done or given up since a preview. `mark`: of its token.

    A write that did not run takes nothing from the token that it carried, nor from one that was
    given while it was open.
    """
    if write is None or write.state == "open" or preview.turn == since(write):
        return True
    spared = mark_of(write, rule) == mark or preview.turn == _during(write)
    return write.state == "not_executed" and spared


def with_recorded_token(call: Call, record: Record, rule: Confirm, site: Site) -> Call:
    """Return the call with the token that is recorded, where that can be known."""
    mark = mark_of(record, rule)
    if mark is None or mark == mark_in(call, rule, site):
        return call
    shown = shown_by(preview_of(call, mark, site), site)
    token = None if shown is None else token_of(rule, decode(shown))
    if token is None:
        return call
    return replace(call, arguments=with_token(rule, call.arguments, token))


def shown_by(preview: Record | None, site: Site) -> bytes | None:
    """Return the stored form of a preview's result; None where it is not kept any more."""
    return None if preview is None else unveil(preview.value, site.secret)


def _refused(why: str, call: Call, rule: Confirm, fields: tuple[str, ...] = ()) -> ArgumentError:
    tool = call.contract.tool
    ask = f"`{rule.preview}`" if rule.preview else f"`{tool}` without {rule.param}"
    return ArgumentError(refuse(why, tool, param=rule.param, ask=ask, fields=fields))
