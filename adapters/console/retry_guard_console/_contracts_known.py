"""What is known of tools: from a file, from what is trusted, and from what servers state."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retry_guard_console._shared import moment
from retry_guard_contracts import Contract, load_contracts
from retry_guard_ledgers import beside

if TYPE_CHECKING:
    from retry_guard_mcp_proxy import Sheet

NOT_TRUSTED, NOBODY = "the server", "nobody"


@dataclass(frozen=True, slots=True)
class Known:
    """What somebody says of a tool. `fields`: as a contract states them; `server`: whose it is."""

    tool: str
    server: str
    fields: dict[str, Any]
    who: str

    def settled_by(self) -> str:
        """Say what settles a write whose outcome is unknown."""
        if self.who == NOBODY:
            return ""
        if self.fields.get("effect", "write") == "read":
            return "reads"
        if self.who == NOT_TRUSTED:
            return "a person"
        key, read = self.fields.get("key"), self.fields.get("read_back")
        ways = [f"key {key.get('param', '')}"] if isinstance(key, dict) else []  # pyright: ignore[reportUnknownMemberType] - of any JSON
        ways += [f"read-back {read.get('tool', '')}"] if isinstance(read, dict) else []  # pyright: ignore[reportUnknownMemberType] - (the same)
        if self.fields.get("effect") == "idempotent":
            ways.append("harmless to repeat")
        return ", ".join(ways) or "a person"


def known(file: Path | None, ledger: str | None) -> list[Known]:
    """Return all that is said, by tool; what counts for a tool of a server comes first.

    Raises `ContractError` for a file that is wrong, and `KeptError`.
    """
    found = [] if file is None else [_of_file(one, file) for one in load_contracts(file)]
    folder = beside(ledger)
    kept = [] if folder is None else list(_of_servers(folder))
    return sorted([*found, *kept], key=lambda one: one.tool)


def _of_file(contract: Contract, file: Path) -> Known:
    fields = contract.model_dump(mode="json", exclude_defaults=True)
    return Known(contract.tool, contract.server or "", fields, str(file))


def _of_servers(folder: Path) -> Iterator[Known]:
    from retry_guard_mcp_proxy import all_kept

    for kept in all_kept(folder):
        trusted, seen = kept.trusted(), kept.seen()
        name = trusted.name
        server = f"{name} ({kept.server})" if name else kept.server
        counts = trusted.tools.keys() - set(trusted.unread()) - _dropped(trusted, seen)
        since = f"{name}, trusted since {moment(trusted.at)} UTC"
        for tool in counts:
            yield Known(tool, server, {"tool": tool, **trusted.tools[tool]["contract"]}, since)
        for tool, one in seen.tools.items():
            stated, who = _object(one, "stated"), one.get("who")
            if tool in counts or who == "file":
                continue
            if who in ("server", "trusted") or stated:
                yield Known(tool, server, {"tool": tool, **stated}, NOT_TRUSTED)
            elif who == "nobody":
                yield Known(tool, server, {"tool": tool}, NOBODY)


def _dropped(trusted: "Sheet", seen: "Sheet") -> set[str]:
    """Return the tools of which a proxy has seen, since they were trusted, that trust is over."""
    if seen.at < trusted.at:
        return set()
    return {tool for tool, one in seen.tools.items() if not _may_be_trusted(one)}


def _may_be_trusted(seen: dict[str, Any]) -> bool:
    """Whether trust counts for a tool, or still waits for the server to list it."""
    waits = seen.get("who") == "server" and seen.get("guarded") and not seen.get("note")
    return bool(waits) or seen.get("who") in ("trusted", "file")


def _object(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object; empty where there is none: the file may hold anything."""
    value: Any = holder.get(name)
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - of any JSON
