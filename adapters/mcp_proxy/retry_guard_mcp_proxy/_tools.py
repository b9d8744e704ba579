"""The server's tools: which are guarded, and what the client sees of them."""

from collections.abc import Callable, Mapping
from typing import Any

from retry_guard import Contract, UsageError
from retry_guard_mcp_proxy._known import Known
from retry_guard_mcp_proxy._messages import Message, is_list, is_object, object_in
from retry_guard_mcp_proxy._naming import line
from retry_guard_mcp_proxy._notes import note
from retry_guard_mcp_proxy._schemas import is_plain, key_path, misfit, without
from retry_guard_mcp_proxy._trust import Trust


class Tools(Known):
    """Contracts, and what the server has said of its tools."""

    def __init__(
        self,
        contracts: Mapping[str, Contract],
        *,
        show_key: bool,
        trust: Trust | None = None,
        adopt: Callable[[Contract], None] | None = None,
    ) -> None:
        """Know the contracts only. `show_key`: the client sees the parameter for the key too."""
        super().__init__(contracts, trust, adopt)
        self._show_key = show_key
        self._told = set[str]()

    def guarded(self, name: object) -> Contract | None:
        """Return the contract of a tool that writes; None: its calls pass as they are."""
        if not isinstance(name, str):
            return None
        self.weigh_now(name)
        return self._counts(name)

    def _counts(self, name: str) -> Contract | None:
        contract = self.contracts.get(name)
        return None if contract is None or contract.effect == "read" else contract

    def has_output_schema(self, name: str) -> bool:
        """Whether clients will look for structured content in its results."""
        return is_object(self.known.get(name, {}).get("outputSchema"))

    def check(self, contract: Contract) -> None:
        """Raise `UsageError` for a key that the tool has, or may have, no parameter for."""
        path = key_path(contract)
        if path is not None and contract.tool not in self.fresh:
            why = f"its server's list of tools could not be had ({self.failed})"
            raise UsageError(
                f"{contract.tool}: {why if self.failed else 'its server does not list it'}, so "
                f"nobody knows whether it has a parameter {path[0]} for the key; nothing was sent"
            )
        schema = object_in(self.known.get(contract.tool, {}), "inputSchema")
        if path is None or not is_plain(schema):
            return
        if path[0] not in object_in(schema, "properties"):
            name = contract.tool
            raise UsageError(
                f"{name} has no parameter {path[0]}, which its contract names for the key: an "
                "operator has to mend the contract; nothing was sent"
            )

    def heed(self, name: str, result: object) -> None:
        """Say once on standard error that a tool's result is not what it declares."""
        wrong = misfit(self.known.get(name, {}), result)
        if wrong is not None and name not in self._told:
            self._told.add(name)
            note(line(f"{name} {wrong}: passed on as it is"))

    def shown(self, response: Message, *, is_old: bool = False) -> Message | None:
        """Learn from a list of tools; return it without the parameters for keys.

        None: nothing has to be hidden. `is_old`: nothing is trusted for it, since it may be
        outdated.
        """
        result = object_in(response, "result")
        listed = result.get("tools")
        if not is_list(listed):
            return None
        self.learn(listed, whole=not result.get("nextCursor"), is_old=is_old)
        seen = [self._seen(tool) for tool in listed]
        if all(new is old for new, old in zip(seen, listed, strict=True)):
            return None
        return {**response, "result": {**result, "tools": seen}}

    def _seen(self, tool: Any) -> Any:
        name = tool.get("name") if is_object(tool) else None
        if not is_object(tool) or not isinstance(name, str):
            return tool
        contract = self._counts(name)  # what is not weighed yet hides nothing: only trust does
        path = None if contract is None or self._show_key else key_path(contract)
        schema = None if path is None else without(object_in(tool, "inputSchema"), path)
        return tool if schema is None else {**tool, "inputSchema": schema}
