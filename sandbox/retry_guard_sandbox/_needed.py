"""Whether an escalation was needed, judged by what the client had seen, not by what was hidden.

Needed: the observations leave both "executed" and "not executed" possible, and neither a usable
key nor a decisive read fits before the deadline. This is written from the contract alone; it
knows nothing of how the guard decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from retry_guard import Contract, Policy
from retry_guard_sandbox._http import Json
from retry_guard_sandbox._wire import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When one call of a write was handed over.

    `seen`: all exchanges so far. `first`: how many there were when the call began, at `begun`.
    `now`: the moment. `names`: ids of the effects of this action, to recognise what was shown.
    """

    tool: str
    arguments: Json
    seen: Sequence[Seen]
    first: int
    begun: float
    now: float
    names: frozenset[str]


def needed(contract: Contract, policy: Policy, moment: Moment) -> bool:
    """Whether nothing but a person could have told, before the deadline of the call."""
    sends = [s for s in moment.seen if _is_send(s, moment)]
    if not any(send.is_open for send in sends):
        return False
    shown = max((_shown(s, moment.names) for s in moment.seen if _is_read(s, contract)), default=0)
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
    """Whether a read that could settle it was still to come in this call."""
    terms, last = contract.terms, sends[-1].ended
    if not terms.read_back:
        return False
    looked = max((s.begun for s in moment.seen if _is_read(s, contract)), default=-inf)
    if looked < last + terms.lag:
        return max(moment.now, last + terms.lag) <= _deadline(policy, moment)
    if not terms.conclusive or looked >= last + terms.bound + terms.lag:
        return False
    return last + terms.bound + terms.lag <= _deadline(policy, moment)


def _deadline(policy: Policy, moment: Moment) -> float:
    return moment.begun + policy.deadline


def _is_send(seen: Seen, moment: Moment) -> bool:
    return (seen.request.tool, seen.request.arguments) == (moment.tool, moment.arguments)


def _is_read(seen: Seen, contract: Contract) -> bool:
    return contract.read_back is not None and seen.request.tool == contract.read_back.tool


def _shown(seen: Seen, names: frozenset[str]) -> int:
    """How many effects of the action a read showed."""
    items: list[Json] = [] if seen.response is None else seen.response.body.get("data", [])
    return sum(item["id"] in names for item in items)
