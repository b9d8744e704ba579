"""Whether an escalation was needed, or something short of a person would have told.

Needed: the observations leave both "executed" and "not executed" possible, and neither a usable
key nor a decisive read fits before the deadline. A read is decisive if it is the first since the
last send's end and lag and would show the one effect that there is, or if finding none proves
that there will be none. Effects that are shown twice are for a person: no client can undo one.
All this follows from the contract; nothing here knows how the guard decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from retry_guard import Contract, Policy
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._wire import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When one call of a write was handed over.

    `seen`: all exchanges so far. `first`: how many there were when the call began, at `begun`.
    `now`: the moment. `made`: the effects that the action had until then.
    """

    tool: str
    arguments: Json
    seen: Sequence[Seen]
    first: int
    begun: float
    now: float
    made: Sequence[Effect]


def needed(contract: Contract, policy: Policy, moment: Moment) -> bool:
    """Whether nothing but a person could have told, before the deadline of the call."""
    sends = [s for s in moment.seen if _is_send(s, moment)]
    if not any(send.is_open for send in sends):
        return False
    shown = max((_shown(s, moment) for s in moment.seen if _is_read(s, contract)), default=0)
    if shown:
        return shown > 1
    return not (
        _key_is_usable(contract, policy, moment, sends)
        or _read_fits(contract, policy, moment, sends)
    )


def _key_is_usable(
    contract: Contract, policy: Policy, moment: Moment, sends: Sequence[Seen]
) -> bool:
    """Whether the same key can go out once more in this call."""
    keys = {send.request.key for send in sends}
    if not contract.terms.keyed or len(keys) != 1 or None in keys:
        return False
    here = sum(_is_send(s, moment) for s in moment.seen[moment.first :])
    again = here - (here == len(sends))
    pause = min(policy.backoff * 2**again, policy.backoff_limit)
    remembered = contract.terms.retention or 0.0
    in_time = moment.now + pause - sends[0].begun < remembered
    return again < policy.attempts and in_time and moment.now + pause <= _deadline(policy, moment)


def _read_fits(contract: Contract, policy: Policy, moment: Moment, sends: Sequence[Seen]) -> bool:
    """Whether a read that would have settled it was still to come in this call."""
    terms, last = contract.terms, sends[-1].ended
    if not terms.read_back:
        return False
    until = _deadline(policy, moment)
    looks = [seen.begun for seen in moment.seen if _is_read(seen, contract)]
    due = max(moment.now, last + terms.lag)
    would_show = len(moment.made) == 1 and moment.made[0].at + terms.lag <= due
    if would_show and due <= until and not any(look >= last + terms.lag for look in looks):
        return True
    return terms.conclusive and max(moment.now, last + terms.lag + terms.bound) <= until


def _deadline(policy: Policy, moment: Moment) -> float:
    return moment.begun + policy.deadline


def _is_send(seen: Seen, moment: Moment) -> bool:
    return (seen.request.tool, seen.request.arguments) == (moment.tool, moment.arguments)


def _is_read(seen: Seen, contract: Contract) -> bool:
    return contract.read_back is not None and seen.request.tool == contract.read_back.tool


def _shown(seen: Seen, moment: Moment) -> int:
    """How many effects of the action a read showed."""
    names = {effect.id for effect in moment.made}
    items: list[Json] = [] if seen.response is None else seen.response.body.get("data", [])
    return sum(item["id"] in names for item in items)
