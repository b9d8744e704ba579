"""The two guards behind one agent: for runs that block, and for those that are awaited."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool

from retry_guard import AsyncGuard, Contract, Guard, Unresolved, UsageError
from retry_guard_langgraph._checks import check_reads
from retry_guard_langgraph._probe import Ran
from retry_guard_langgraph._reads import Reads
from retry_guard_langgraph._results import End, judge
from retry_guard_ledgers import Ledger


class Guards:
    """Both, on one ledger, with equal contracts."""

    def __init__(
        self,
        ledger: Ledger,
        contracts: Iterable[Contract],
        *,
        tools: Mapping[str, BaseTool],
        classify: Callable[[Any], End],
        read: Callable[[str, dict[str, Any]], Any] | None,
        ask: Callable[[Unresolved], Any] | None,
        rest: dict[str, Any],
    ) -> None:
        """Read back through the tools, where `read` is None."""
        listed, self._classify = list(contracts), classify
        if read is None:
            check_reads(listed, tools)
        own = Reads(tools)
        rest = {**rest, "ask": ask, "classify": self._judged}
        self.awaiting = AsyncGuard(ledger, listed, read=read or own.awaited, **rest)
        self._awaited = [name for name, f in (("read", read), ("ask", ask)) if _is_awaited(f)]
        self._blocking = (
            None if self._awaited else Guard(ledger, listed, read=read or own.now, **rest)
        )
        self.contracts: Mapping[str, Contract] = self.awaiting.contracts

    def blocking(self) -> Guard:
        """The guard for runs that block. Raises `UsageError` where its parts must be awaited."""
        if self._blocking is None:
            parts = " and ".join(self._awaited)
            raise UsageError(f"{parts} must be awaited: run the graph with ainvoke or astream")
        return self._blocking

    def _judged(self, result: Any) -> End:
        return judge(result, self._classify) if isinstance(result, Ran) else self._classify(result)


def _is_awaited(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is looked at
    )
