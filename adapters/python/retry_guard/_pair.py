"""The two guards behind one adapter: for harnesses that block, and for those that await."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

from retry_guard._answers import Unresolved, UsageError
from retry_guard._call import Classify
from retry_guard._checks import listed_contracts
from retry_guard._guard import AsyncGuard, Guard
from retry_guard._policy import Policy
from retry_guard_contracts import Contract
from retry_guard_ledgers import Ledger


class GuardPair:
    """A `Guard` and an `AsyncGuard` on one ledger, with equal contracts; for adapters.

    `read_now`, `read_awaited`: how the harness itself runs a read-back; `read` replaces both.
    `rest`: what both guards take beside these.
    """

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract],
        *,
        classify: Classify,
        read_now: Callable[[str, dict[str, Any]], Any],
        read_awaited: Callable[[str, dict[str, Any]], Awaitable[Any]],
        read: Callable[[str, dict[str, Any]], Any] | None = None,
        ask: Callable[[Unresolved], Any] | None = None,
        policy: Policy | None = None,
        mode: Any = "guard",
        secret: bytes | None = None,
    ) -> None:
        """Set both up. Raises `UsageError` for parts that do not fit together."""
        listed = listed_contracts(contracts)
        rest: dict[str, Any] = {
            "classify": classify,
            "ask": ask,
            "policy": policy,
            "mode": mode,
            "secret": secret,
        }
        self.awaiting = AsyncGuard(ledger, listed, read=read or read_awaited, **rest)
        self._awaited = [name for name, f in (("read", read), ("ask", ask)) if _is_awaited(f)]
        self._blocking = (
            None if self._awaited else Guard(ledger, listed, read=read or read_now, **rest)
        )
        self.contracts: Mapping[str, Contract] = self.awaiting.contracts

    def blocking(self) -> Guard:
        """Return the guard for harnesses that block.

        Raises `UsageError` where `read` or `ask` must be awaited.
        """
        if self._blocking is None:
            parts = " and ".join(self._awaited)
            raise UsageError(f"{parts} must be awaited: run the agent's async form")
        return self._blocking


def _is_awaited(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is looked at
    )


def check_tools(contracts: Iterable[Contract], tools: Collection[str], *, reads: bool) -> None:
    """Raise `UsageError` for a contract whose tools are not all among these; for adapters.

    `contracts`: those of the guard, so that what previews a write counts. `reads`: read-backs go
    through these tools.
    """
    for contract in contracts:
        reader = contract.read_back.tool if reads and contract.read_back else None
        preview = contract.confirm.preview if contract.confirm else None
        if contract.tool not in tools:
            known = ", ".join(sorted(tools)) or "none"
            raise UsageError(f"a contract is for {contract.tool!r}, but the tools are: {known}")
        if reader is not None and reader not in tools:
            msg = f"{contract.tool} is read back by {reader!r}: add it to tools=, or give read="
            raise UsageError(msg)
        if preview is not None and preview not in tools:
            raise UsageError(f"{contract.tool} is previewed by {preview!r}: add it to tools=")
