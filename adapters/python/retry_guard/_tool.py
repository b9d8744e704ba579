"""Plain functions as guarded tools: `@guard.tool(contract)`, inside `with guard.turn(...)`."""

import inspect
from collections.abc import Callable
from typing import Any

from retry_guard._answers import UsageError
from retry_guard._functions import refuse_generator
from retry_guard_contracts import Contract


def refuse_count(contract: Contract, guard: str) -> None:
    """Raise `UsageError` where equal calls each count: a function's arguments do not tell which."""
    if contract.twins == "count":
        msg = (
            f"{contract.tool}: with `twins: count` use {guard}.call with ordinal=, not a decorator"
        )
        raise UsageError(msg)


class Signature:
    """How a function's arguments become a tool's, and back."""

    def __init__(self, function: Callable[..., Any], contract: Contract) -> None:
        """Read the signature. Raises `UsageError` for a function that cannot be a tool."""
        refuse_generator(contract.tool, function)
        self._tool, self._signature = contract.tool, inspect.signature(function)
        self._kinds = {p.name: p.kind for p in self._signature.parameters.values()}
        if inspect.Parameter.VAR_POSITIONAL in self._kinds.values():
            msg = f"{contract.tool} takes *args: a tool's arguments need names"
            raise UsageError(msg)
        self._key = contract.key.param if contract.key is not None else None
        self._extra = self._key is not None and ":" in self._key
        takes_any = inspect.Parameter.VAR_KEYWORD in self._kinds.values()
        needed = "extra" if self._extra else self._key
        if needed is not None and needed not in self._kinds and not takes_any:
            msg = f"{contract.tool} must take the parameter {needed!r}, which carries the key"
            raise UsageError(msg)

    def arguments(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Name the arguments, defaults included. Raises `TypeError` as the function would."""
        if self._extra:
            kwargs["extra"] = {}
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            if self._kinds[name] is not inspect.Parameter.VAR_KEYWORD:
                named[name] = value
                continue
            twice = sorted(named.keys() & value.keys())
            if twice:
                raise UsageError(f"{self._tool} was given two values for {twice[0]!r}")
            named.update(value)
        if self._extra:
            del named["extra"]
        return named

    def send(self, function: Callable[..., Any]) -> Callable[[dict[str, Any], dict[str, str]], Any]:
        """Return the send that calls the function with named arguments."""

        def call(arguments: dict[str, Any], extra: dict[str, str]) -> Any:
            rest = {**arguments, "extra": extra} if self._extra else dict(arguments)
            kind = inspect.Parameter.POSITIONAL_ONLY
            first = [rest.pop(name) for name in self._kinds if self._kinds[name] is kind]
            return function(*first, **rest)

        return call
