"""Which of the equal calls in one model message a call is, for `twins: count`."""

from collections.abc import Iterable, Mapping
from typing import Any

from retry_guard_contracts import ArgumentError, Contract, identify

_ANY = b"only compared within this process"


def ordinal_of(
    contract: Contract, arguments: Mapping[str, Any], earlier: Iterable[Mapping[str, Any]]
) -> int:
    """Return how many of the earlier calls of this tool in the message were equal; 0 for `join`.

    `earlier`: the arguments of the calls of the same tool that stand before it in the message.
    Calls whose arguments cannot be named are equal to none.
    """
    if contract.twins != "count":
        return 0
    mine = _identity(contract, arguments)
    return sum(mine is not None and _identity(contract, each) == mine for each in earlier)


def _identity(contract: Contract, arguments: Mapping[str, Any]) -> bytes | None:
    try:
        return identify(contract, arguments, scope="-", secret=_ANY).identity
    except ArgumentError:
        return None
