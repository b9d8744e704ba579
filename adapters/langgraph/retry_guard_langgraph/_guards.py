"""The two guards behind one agent: for runs that block, and for those that are awaited."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.tools import BaseTool

from retry_guard import Contract, GuardPair
from retry_guard_langgraph._probe import Ran
from retry_guard_langgraph._reads import Reads
from retry_guard_langgraph._results import End, judge
from retry_guard_ledgers import Ledger


def guards_of(
    ledger: Ledger,
    contracts: Iterable[Contract],
    *,
    tools: Mapping[str, BaseTool],
    classify: Callable[[Any], End],
    read: Callable[[str, dict[str, Any]], Any] | None,
    rest: dict[str, Any],
) -> GuardPair:
    """Return both; they read back through the tools, where `read` is None."""

    def judged(result: Any) -> End:
        return judge(result, classify) if isinstance(result, Ran) else classify(result)

    own = Reads(tools)
    return GuardPair(
        ledger,
        contracts,
        classify=judged,
        read_now=own.now,
        read_awaited=own.awaited,
        read=read,
        **rest,
    )
