"""Whether an escalation was needed, or something short of a person would have told.

Needed: the observations leave both "executed" and "not executed" possible, and before the
deadline there is room neither for a usable key, nor for a repeat that does no harm, nor for a
decisive read. A read is decisive if it would show, at the latest just before the deadline, each
effect that should be there once, and as nobody else's, or if finding none proves that there will
be none and it can still be sent anew. A read that failed showed nothing, and leaves room for
another. What is there twice is for a person: no client can undo it. Of a batch, each item is an
effect of its own.
All this follows from the contract; nothing here knows how the guard decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from retry_guard import Contract, Policy
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._wire import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When one call of a write was handed over.

    `seen`: all exchanges so far. `first`: how many there were when the call began, at `begun`.
    `now`: the moment. `since`: when the action that it is about was sent first; what was sent
    before is settled. `made`: the effects that it had until now. `lost`: what a process began
    that is dead or stands still: whether it was sent, and what it was answered, nobody knows.
    """

    tool: str
    arguments: Json
    seen: Sequence[Seen]
    first: int
    begun: float
    now: float
    made: Sequence[Effect]
    since: float = 0.0
    lost: Sequence[Seen] = ()


def needed(contract: Contract, policy: Policy, moment: Moment) -> bool:
    """Whether nothing but a person could have told, before the deadline of the call."""
    about = [s for s in moment.seen if _is_about(s, moment)]
    sends = [s for s in about if s.begun >= moment.since]
    lost = [s for s in moment.lost if s.begun >= moment.since and _is_about(s, moment)]
    if not lost and not any(send.is_open for send in sends):
        return False
    made, reads = _by_part(moment), _reads(contract, moment)
    shown = [max((_shown(read, part) for read in reads), default=0) for part in made]
    if max(shown) > 1:
        return True
    if min(shown) == 1 and _shows_whose(contract):
        return False
    return not (
        _repeat_fits(contract, policy, moment, sends or lost)
        or _read_fits(contract, policy, moment, [*sends, *lost], made, about)
    )


def _repeat_fits(contract: Contract, policy: Policy, moment: Moment, sends: Sequence[Seen]) -> bool:
    """Whether it can go out once more in this call, under the same key or without harm."""
    keys = {send.request.key for send in sends if send not in moment.lost}
    keyed = contract.terms.keyed and None not in keys and len(keys) <= 1
    if not keyed and (contract.effect != "idempotent" or _is_superseded(moment, sends)):
        return False
    here = sum(_is_send(s, moment) for s in moment.seen[moment.first :])
    again = here - (here == len(sends))
    pause = min(policy.backoff * 2**again, policy.backoff_limit)
    remembered = (contract.terms.retention or 0.0) if keyed else inf
    in_time = moment.now + pause - sends[0].begun < remembered
    return again < policy.attempts and in_time and moment.now + pause <= _deadline(policy, moment)


def _is_superseded(moment: Moment, sends: Sequence[Seen]) -> bool:
    """Whether another write of the same tool went out since, which a repeat would undo."""
    return any(
        seen.request.tool == moment.tool and not _is_about(seen, moment)
        for seen in moment.seen
        if seen.begun > sends[0].begun
    )


def _read_fits(
    contract: Contract,
    policy: Policy,
    moment: Moment,
    sends: Sequence[Seen],
    made: Sequence[Sequence[Effect]],
    about: Sequence[Seen],
) -> bool:
    """Whether a read that would have settled it was still to come in this call."""
    terms, latest = contract.terms, _deadline(policy, moment) - policy.poll
    if not terms.read_back:
        return False
    visible = [[e for e in part if e.at + terms.lag <= latest] for part in made]
    if moment.now <= latest and all(len(part) == 1 for part in visible):
        return _shows_whose(contract)
    if not terms.conclusive or _fresh_sends(about) >= policy.fresh_sends:
        return False
    last = max(send.ended for send in sends)
    return max(moment.now, last + terms.lag + terms.bound) <= latest


def _shows_whose(contract: Contract) -> bool:
    """Whether what a read shows cannot be somebody else's."""
    read = contract.read_back
    return read is not None and bool(read.exclusive or read.unique or read.marker)


def _fresh_sends(about: Sequence[Seen]) -> int:
    """How often it was sent anew: a re-issue under the same key is no new send."""
    keys = [seen.request.key for seen in about]
    return len({key for key in keys if key is not None}) + keys.count(None) - 1


def _deadline(policy: Policy, moment: Moment) -> float:
    return moment.begun + policy.deadline


def _is_send(seen: Seen, moment: Moment) -> bool:
    """Whether it is a send of this action since it was settled last."""
    return seen.begun >= moment.since and _is_about(seen, moment)


def _is_about(seen: Seen, moment: Moment) -> bool:
    """Whether it is a send of this write, or of some items of its batch."""
    request = seen.request
    if request.tool != moment.tool:
        return False
    tool = TOOLS[moment.tool]
    return request.arguments == moment.arguments or any(
        tool.same(one, other)
        for one in tool.parts(request.arguments)
        for other in tool.parts(moment.arguments)
    )


def _by_part(moment: Moment) -> list[list[Effect]]:
    """Return the effects of each item of a batch; of any other write, all of them."""
    tool = TOOLS[moment.tool]
    return [
        [effect for effect in moment.made if tool.same(effect.arguments, part)]
        for part in tool.parts(moment.arguments)
    ]


def _reads(contract: Contract, moment: Moment) -> list[Seen]:
    name = None if contract.read_back is None else contract.read_back.tool
    return [seen for seen in moment.seen if seen.request.tool == name]


def _shown(seen: Seen, part: Sequence[Effect]) -> int:
    """How many of these effects a read showed."""
    names = {effect.id for effect in part}
    items: list[Json] = [] if seen.response is None else seen.response.body.get("data", [])
    return sum(item["id"] in names for item in items)
