"""What is refused before a tool is called."""

import inspect
import re
from collections.abc import Iterable, Mapping

from retry_guard import Contract, UsageError, check_tools
from retry_guard_functions._signatures import body_of, signature_of
from retry_guard_functions._tools import Fitted


def check(contracts: Iterable[Contract], tools: Mapping[str, Fitted], *, reads: bool) -> None:
    """Raise `UsageError` for a contract of a guard that does not fit the tools.

    `reads`: read-backs go through the tools.
    """
    given = list(contracts)
    check_tools(given, tools.keys(), reads=reads)
    for contract in given:
        _check_function(contract, tools[contract.tool])


def _check_function(contract: Contract, one: Fitted) -> None:
    name, body = contract.tool, body_of(one.tool.function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        msg = f"{name} is a generator, which would run after it was recorded: return the whole"
        raise UsageError(msg)
    key = _head(contract)
    if key is not None and not _takes(one, key):
        raise UsageError(f"{name} must take the parameter {key!r}, which carries the key")


def _takes(one: Fitted, parameter: str) -> bool:
    given = signature_of(one.tool.name, one.tool.function).parameters
    takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in given.values())
    return takes_any or parameter in given


def key_parameter(contract: Contract) -> str | None:
    """Return the parameter that is the key, and that no model sees; None where there is none."""
    head = _head(contract)
    return head if contract.key is not None and contract.key.param == head else None


def _head(contract: Contract) -> str | None:
    """Return the parameter that is the key, or holds it."""
    if contract.key is None or contract.key.carried:
        return None
    return re.split(r"[.\[]", contract.key.param, maxsplit=1)[0]
