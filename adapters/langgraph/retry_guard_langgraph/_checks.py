"""What is refused when a guard is put into an agent."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain_core.tools import BaseTool, tool as as_tool

from retry_guard import Contract, UsageError, check_tools

Tools = Mapping[str, BaseTool]
Middleware = AgentMiddleware[Any, Any, Any]


def named(tools: Sequence[BaseTool | Callable[..., Any]]) -> dict[str, BaseTool]:
    """Return the agent's tools by name. Raises `UsageError` for what cannot be told apart."""
    found: dict[str, BaseTool] = {}
    for each in tools:
        tool = each if isinstance(each, BaseTool) else _made(each)
        if tool.name in found:
            raise UsageError(f"tools: two are named {tool.name!r}: give them different names")
        found[tool.name] = tool
    return found


def _made(given: Any) -> BaseTool:
    """A tool made of a function. What repeats its calls, as `with_retry()`, is none."""
    if not callable(given):
        msg = f"tools: give tools or functions, not {type(given).__name__}"
        raise UsageError(f"{msg}; what wraps a tool and calls it again would send it blindly")
    made: BaseTool = as_tool(given)
    return made


def check(
    contracts: Iterable[Contract], tools: Tools, pauses_first: Collection[str], *, reads: bool
) -> None:
    """Raise `UsageError` for a contract of a guard that does not fit the tools.

    `reads`: read-backs go through the tools.
    """
    given = list(contracts)
    check_tools(given, tools.keys(), reads=reads)
    for contract in given:
        key = key_parameter(contract)
        if key is not None and key not in _fields(tools[contract.tool]):
            msg = f"{contract.tool} must take the parameter {key!r}, which carries the key"
            raise UsageError(msg)
    unknown = sorted(set(pauses_first) - tools.keys())
    if unknown:
        known = ", ".join(sorted(tools)) or "none"
        raise UsageError(f"pauses_first: there is no tool {unknown[0]!r}, the tools are: {known}")


def key_parameter(contract: Contract) -> str | None:
    """Return the parameter that carries the key, or holds it; None where no parameter does."""
    if contract.key is None or contract.key.carried:
        return None
    return re.split(r"[.\[]", contract.key.param, maxsplit=1)[0]


def hidden_keys(contracts: Iterable[Contract], tools: Tools) -> dict[str, str]:
    """Return the parameters for keys that the model does not see, by tool."""
    keys = {contract.tool: key_parameter(contract) for contract in contracts}
    return {tool: key for tool, key in keys.items() if key and key not in tools[tool].args}


def _fields(tool: BaseTool) -> Collection[str]:
    schema: Any = tool.get_input_schema()
    fields: Mapping[str, object] = schema.model_fields
    return fields.keys()


def innermost(others: Iterable[Middleware], contracts: Mapping[str, Contract]) -> list[Middleware]:
    """Return them. Raises `UsageError` for one that calls a guarded write again blindly."""
    writes = sorted(name for name, each in contracts.items() if each.effect != "read")
    found = list(others)
    for each in found:
        if isinstance(each, ToolRetryMiddleware):
            only = _retried(each)
            hit = [name for name in writes if only is None or name in only]
            if hit:
                msg = f"ToolRetryMiddleware would repeat {hit[0]}: name in tools= what may repeat"
                raise UsageError(msg)
    return found


def _retried(middleware: Any) -> list[str] | None:
    """The names of the tools that it retries; None: all."""
    names: list[str] | None = getattr(middleware, "_tool_filter", None)
    return names
