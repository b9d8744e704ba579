"""The parts of a guard, put together."""

from collections.abc import Callable, Mapping
from typing import Any

from retry_guard._answers import Unresolved
from retry_guard._call import Classify, Site
from retry_guard._checks import check_function, check_ledger, check_policy, the_secret
from retry_guard._clock import Clock, LedgerClock
from retry_guard._heartbeat import Heartbeat
from retry_guard._policy import Policy
from retry_guard._strays import Strays
from retry_guard._workers import Workers
from retry_guard_contracts import Contract
from retry_guard_ledgers import Ledger, Prompt


def site_of(
    ledger: Ledger,
    *,
    classify: Classify,
    read: Callable[[str, dict[str, Any]], Any] | None,
    ask: Callable[[Unresolved], Any] | None,
    policy: Policy | None,
    clock: Clock | None,
    secret: bytes | None,
    awaits: bool,
    contracts: Mapping[str, Contract],
) -> Site:
    """Return what all calls of a guard share. `awaits`: it can await what reads and answers.

    Raises `UsageError` for a part that cannot be used.
    """
    check_ledger(ledger)
    check_function("classify", classify)
    for name, function in (("read", read), ("ask", ask)):
        if function is not None:
            check_function(name, function, awaited=awaits)
    policy = Policy() if policy is None else policy
    ticking = LedgerClock(ledger) if clock is None else clock
    check_policy(policy, ticking)
    threaded, hmac_key = awaits and ledger.durable, the_secret(secret, ledger.secret)
    return Site(
        ledger=ledger,
        classify=classify,
        read=read,
        ask=ask,
        policy=policy,
        clock=ticking,
        heartbeat=Heartbeat(ledger, policy) if clock is None else None,
        secret=hmac_key,
        strays=Strays(ledger, hmac_key),
        ignored=set(),
        workers=Workers() if threaded else None,
        prompt=_prompt_of(ledger) if threaded else None,
        contracts=contracts,
    )


def _prompt_of(ledger: Any) -> Prompt | None:
    """What it does without waiting, unless it has a `save` or `deliver` that this would pass by.

    What a class made of another, or a single ledger, does in its own way is done by none but them;
    and what only a ledger inside of it does so is not its own.
    """
    defined: list[Mapping[str, Any]] = [
        getattr(ledger, "__dict__", {}),
        *map(vars, type(ledger).__mro__),
    ]
    first = {name: _place(name, defined) for name in ("prompt", "save", "deliver")}
    if first["prompt"] > min(first["save"], first["deliver"], len(defined) - 1):
        return None
    prompt: Prompt | None = ledger.prompt
    return prompt


def _place(name: str, defined: list[Mapping[str, Any]]) -> int:
    """Return the place of the first that has the name; if none has, one after them all."""
    places = (place for place, names in enumerate(defined) if name in names)
    return next(places, len(defined))
