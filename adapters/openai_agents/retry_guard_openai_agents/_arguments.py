"""What a model gave, as the tool's function gets it: equal for all that it cannot tell apart."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from agents import FunctionTool, Tool
from pydantic import BaseModel, TypeAdapter

from retry_guard import ArgumentError, Contract
from retry_guard_openai_agents._keys import hidden_key
from retry_guard_openai_agents._sdk import parameters

Fit = Callable[[dict[str, Any]], dict[str, Any]]
_ANY = TypeAdapter[Any](Any)


def fit_of(contract: Contract, tool: Tool | None, *, hides: bool) -> Fit:
    """Return how arguments for a tool are written; it raises `ArgumentError` for a hidden key.

    `tool`: None for one of a server. `hides`: a model is not shown the parameter for the key.
    """
    key = hidden_key(contract)
    model = parameters(tool, key) if isinstance(tool, FunctionTool) else None

    def fit(given: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in given.items() if name == key}
        if own and hides:
            raise ArgumentError(f"{contract.tool}: {key} is not to be given; nothing was sent")
        if model is None:
            return given
        rest = {name: value for name, value in given.items() if name != key}
        return {**_written(model, rest), **own}

    return fit


def _written(model: type[BaseModel], given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments as the function's types write them, defaults included.

    As given, where the function does not take them, or would get something else.
    """
    try:
        data = model(**given)
        dumped: Any = data.model_dump(by_alias=True, warnings="none")
        written: dict[str, Any] = _ANY.dump_python(_plain(dumped), mode="json")
        same: object = vars(model(**written)) == vars(data)
    except Exception:  # noqa: BLE001 - types of the user's own may do anything
        return given
    return written if same is True else given


def _plain(value: Any) -> Any:
    """Write numbers and sets in one way each."""
    if isinstance(value, Decimal) and value.is_finite():
        return format(value.normalize(), "f") if value else "0"
    if isinstance(value, dict):
        items: dict[Any, Any] = {**value}
        return {name: _plain(each) for name, each in items.items()}
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_plain(each) for each in list[Any](value)]  # pyright: ignore[reportUnknownArgumentType] - of anything
        return sorted(parts, key=repr) if isinstance(value, set | frozenset) else parts
    return value
