"""What is refused before anything is claimed or sent: parts and calls that cannot work."""

import inspect
import os
from collections.abc import Iterable, Mapping
from typing import Any

from retry_guard._answers import UsageError
from retry_guard._call import Request
from retry_guard._functions import called
from retry_guard._policy import Policy
from retry_guard_contracts import ArgumentError, Contract

VERBS = ("now", "claim", "known", "save", "deliver", "renew", "get", "list", "find", "newer")

LONGEST_NUMBER = 999
"""Bits of a call id: far below what Python refuses to write out."""

SHORTEST_SECRET = 16
"""Bytes; below that, whoever sees a key could find out what it was made of."""


def check_ledger(ledger: Any) -> None:
    """Raise `UsageError` for what is no ledger."""
    lacking = [verb for verb in VERBS if not callable(getattr(ledger, verb, None))]
    lacking += [name for name in ("secret", "durable") if not hasattr(ledger, name)]
    if lacking:
        kind, what = type(ledger).__name__, ", ".join(lacking)
        raise UsageError(f"ledger: {kind} lacks {what}: give a ledger, such as open_ledger(url)")


def check_function(name: str, function: Any, *, awaited: bool = False) -> None:
    """Raise `UsageError` for what cannot be called, or would only run if it were awaited."""
    if not callable(function):
        raise UsageError(f"{name}: give a function, not {type(function).__name__}; nothing sent")
    if not awaited and inspect.iscoroutinefunction(called(function)):
        raise UsageError(f"{name}: an async function was given: use AsyncGuard, or a plain one")


def check_policy(policy: Any, clock: Any) -> None:
    """Raise `UsageError` for a policy that is none, and a clock that tells or lets pass no time."""
    if not isinstance(policy, Policy):
        raise UsageError(f"policy: give a retry_guard.Policy, not {type(policy).__name__}")
    for verb in ("now", "sleep"):
        if not callable(getattr(clock, verb, None)):
            raise UsageError(f"clock: {type(clock).__name__} lacks {verb}(): give it, or no clock")


def the_secret(given: Any, default: bytes) -> bytes:
    """The HMAC key that counts: what was given, or `RETRY_GUARD_SECRET`, or the default."""
    name = "secret"
    if given is None:
        name, text = "RETRY_GUARD_SECRET", os.environ.get("RETRY_GUARD_SECRET", "")
        given = text.encode("utf-8", "surrogateescape")
        if not given:
            return default
    if not isinstance(given, bytes):
        raise UsageError(f"secret: give bytes, not {type(given).__name__}")
    if len(given) < SHORTEST_SECRET:
        raise UsageError(f"{name} is too short: give at least {SHORTEST_SECRET} random bytes")
    return given


def listed_contracts(contracts: Iterable[Any]) -> list[Contract]:
    """The contracts, of which each is one and names a tool of its own."""
    if isinstance(contracts, Contract):
        raise UsageError("contracts: a single Contract was given: put it into a list")
    if not hasattr(contracts, "__iter__"):
        raise UsageError(f"contracts: give a list of Contract, not {type(contracts).__name__}")
    found: dict[str, Contract] = {}
    for contract in contracts:
        check_contract(contract)
        if contract.tool in found:
            equal = "two equal" if found[contract.tool] == contract else "two different"
            raise UsageError(f"{contract.tool} has {equal} contracts: keep one")
        found[contract.tool] = contract
    return list(found.values())


def check_contract(contract: Any) -> None:
    """Raise `UsageError` for what is no contract."""
    if not isinstance(contract, Contract):
        kind = type(contract).__name__
        raise UsageError(f"contracts: give Contract objects, not {kind}: Contract(tool=...)")


def check_reads(contract: Contract, others: Mapping[str, Contract]) -> None:
    """Raise `UsageError` where a read-back of these contracts is declared a write."""
    for one in (contract, *others.values()):
        reader = None if one.read_back is None else one.read_back.tool
        known = contract if reader == contract.tool else others.get(reader or "")
        if known is not None and known.effect != "read":
            raise UsageError(
                f"{one.tool} is read back by {reader}, whose contract says that it writes: "
                "name a tool that only reads, or state effect: read for it"
            )


def check_declared(contracts: Iterable[Contract]) -> None:
    """Raise `UsageError` where no contract declares the tool of a read-back a read; for adapters.

    For those that call that tool themselves, by its name: nobody else answers for what it does.
    """
    listed = list(contracts)
    reads = {one.tool for one in listed if one.effect == "read"}
    for one in listed:
        if one.read_back is not None and one.read_back.tool not in reads:
            reader = one.read_back.tool
            raise UsageError(
                f"{one.tool} is read back by {reader}, which no contract declares to be a read: "
                f"if it only reads, add a contract with tool: {reader}, effect: read"
            )


def two_contracts(tool: str, write: Contract | None) -> str:
    """Return what is wrong where a tool has two contracts. `write`: what the tool previews."""
    if write is None:
        return f"{tool} has two different contracts: keep one"
    return f"{tool} previews {write.tool}, whose contract covers it: state no other for it"


def check_request(request: Request) -> None:
    """Raise `UsageError` for a call that could not run, or would have no place."""
    tool: Any = request.tool
    if not isinstance(tool, str):
        raise UsageError(f"tool: give its name as text, not {type(tool).__name__}; nothing sent")
    check_function("send", request.send, awaited=True)
    places: tuple[Any, Any] = (request.scope, "-" if request.turn is None else request.turn)
    if not all(isinstance(place, str) and place for place in places):
        msg = f"{tool}: scope (the account it acts for) and turn must be text that is not empty"
        raise UsageError(msg)
    _check_numbers(tool, request.call_id, request.ordinal)


def _check_numbers(tool: str, call_id: Any, ordinal: Any) -> None:
    if isinstance(ordinal, bool) or not isinstance(ordinal, int) or ordinal < 0:
        raise UsageError(f"{tool}: ordinal must be 0 or a greater whole number; nothing sent")
    if isinstance(call_id, int) and not isinstance(call_id, bool):
        fits = call_id.bit_length() < LONGEST_NUMBER
    else:
        fits = call_id is None or isinstance(call_id, str)
    if not fits:
        raise UsageError(f"{tool}: call_id must be text, or a whole number; nothing sent")


def readable(tool: str, given: Any) -> dict[str, Any]:
    """The arguments in a plain dict.

    Raises `ArgumentError` for what is no mapping, `UsageError` for one that cannot be read.
    """
    if type(given) is dict:
        return given  # pyright: ignore[reportUnknownVariableType] - what is in it is looked at later
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise ArgumentError(f"{tool}: arguments must be an object, not {kind}; nothing sent")
    try:
        return {**given}
    except Exception as error:
        kind = type(error).__name__
        msg = f"{tool}: the arguments cannot be read ({kind}): give a plain dict; nothing sent"
        raise UsageError(msg) from error
