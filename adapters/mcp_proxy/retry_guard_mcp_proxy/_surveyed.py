"""What an operator is shown of a server that was asked for its tools."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from retry_guard_mcp_proxy._kept import Kept

if TYPE_CHECKING:  # slow to import
    from retry_guard_contracts import Contract

Standing = Literal["new", "trusted", "changed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool whose server states a contract. `problems`: why it cannot be trusted; none: it can.

    `fields`: as they are stated. `mark`: the digest of what trust in it rests on. `standing`:
    whether it is trusted, has changed since, or is new.
    """

    tool: str
    fields: dict[str, Any]
    mark: str
    standing: Standing
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """A server's tools, what it offers of them, and where that is kept; None: nowhere.

    `misfits(contract, reads)`: what in a contract does not fit the server, a line each; `reads`:
    the tools that an operator knows to read only.
    """

    tools: Mapping[str, dict[str, Any]]
    offers: list[Offer]
    kept: Kept | None
    misfits: "Callable[[Contract, Collection[str]], list[str]]"
