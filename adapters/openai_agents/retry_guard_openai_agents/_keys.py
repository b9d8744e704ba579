"""The parameter that carries a key, which a model does not see."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from retry_guard import Contract, UsageError


def key_parameter(contract: Contract) -> str | None:
    """Return the parameter that carries the key, or holds it; None where no parameter does."""
    if contract.key is None or contract.key.carried:
        return None
    return re.split(r"[.\[]", contract.key.param, maxsplit=1)[0]


def hidden_key(contract: Contract) -> str | None:
    """Return the parameter that is the key, which no model is to see; None where none is."""
    parameter = key_parameter(contract)
    return parameter if contract.key is not None and contract.key.param == parameter else None


def check_key(contract: Contract, schema: Mapping[str, Any]) -> None:
    """Raise `UsageError` where the tool has no parameter for the key."""
    key = key_parameter(contract)
    if key is not None and key not in schema.get("properties", {}):
        raise UsageError(f"{contract.tool} must take the parameter {key!r}, which carries the key")


def without_key(contract: Contract, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's schema as a model is to see it."""
    key = contract.key.param if contract.key is not None else None
    if key not in schema.get("properties", {}):
        return schema
    shown = copy.deepcopy(schema)
    del shown["properties"][key]
    if "required" in shown:
        shown["required"] = [name for name in shown["required"] if name != key]
    return shown
