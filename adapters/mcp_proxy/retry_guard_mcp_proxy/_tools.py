"""The server's tools: which are guarded, and what the client sees of them."""

from collections.abc import Mapping
from typing import Any

from retry_guard import Contract, UsageError
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, object_in


class Tools:
    """Contracts, and what the server has said of its tools."""

    def __init__(self, contracts: Mapping[str, Contract], *, show_key: bool) -> None:
        """Know the contracts only. `show_key`: the client sees the parameter for the key too."""
        self._contracts, self._show_key = contracts, show_key
        self._known: dict[str, Message] = {}

    def guarded(self, name: object) -> Contract | None:
        """Return the contract of a tool that writes; None: its calls pass as they are."""
        contract = self._contracts.get(name) if isinstance(name, str) else None
        return None if contract is None or contract.effect == "read" else contract

    def has_output_schema(self, name: str) -> bool:
        """Whether clients will look for structured content in its results."""
        return is_object(self._known.get(name, {}).get("outputSchema"))

    def check(self, contract: Contract) -> None:
        """Raise `UsageError` for a contract whose key the tool has no parameter for."""
        path = _key_path(contract)
        schema = object_in(self._known.get(contract.tool, {}), "inputSchema")
        if path is None or not _is_plain(schema):
            return
        if path[0] not in object_in(schema, "properties"):
            name = contract.tool
            raise UsageError(
                f"{name} has no parameter {path[0]}, which its contract names for the key: an "
                "operator has to mend the contract; nothing was sent"
            )

    def shown(self, response: Message) -> Message | None:
        """Learn from a list of tools; return it without the parameters for keys.

        None: nothing has to be hidden.
        """
        result = object_in(response, "result")
        listed = result.get("tools")
        if not is_list(listed):
            return None
        seen = [self._seen(tool) for tool in listed]
        if all(new is old for new, old in zip(seen, listed, strict=True)):
            return None
        return {**response, "result": {**result, "tools": seen}}

    def _seen(self, tool: Any) -> Any:
        name = tool.get("name") if is_object(tool) else None
        if not is_object(tool) or not isinstance(name, str):
            return tool
        self._known[name] = tool
        contract = self.guarded(name)
        path = None if contract is None or self._show_key else _key_path(contract)
        schema = None if path is None else _without(object_in(tool, "inputSchema"), path)
        return tool if schema is None else {**tool, "inputSchema": schema}


def _key_path(contract: Contract) -> list[str] | None:
    """The argument that is the key; None: there is none, or it travels beside the arguments."""
    key = contract.key
    if key is None or key.carried or any(mark in key.param for mark in "[\\"):
        return None
    return key.param.split(".")


def _is_plain(schema: Message) -> bool:
    """Whether its properties are all that it may have."""
    elsewhere = {"$ref", "allOf", "anyOf", "oneOf", "if", "patternProperties"} & schema.keys()
    return isinstance(schema.get("properties"), dict) and not elsewhere


def _without(schema: Message, path: list[str]) -> Message | None:
    """The schema without a property; None: it does not have it there."""
    properties = object_in(schema, "properties")
    name, *rest = path
    if name not in properties:
        return None
    if rest:
        inner = _without(object_in(properties, name), rest)
        return inner and {**schema, "properties": {**properties, name: inner}}
    kept = {n: value for n, value in properties.items() if n != name}
    required = schema.get("required")
    if not is_list(required) or name not in required:
        return {**schema, "properties": kept}
    needed = [each for each in required if each != name]
    bare = {n: value for n, value in schema.items() if n != "required"}
    return {**bare, "properties": kept, **({"required": needed} if needed else {})}
