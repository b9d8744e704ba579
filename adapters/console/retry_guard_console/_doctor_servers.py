"""What `retry-guard doctor` says of the MCP servers that proxies have seen."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from retry_guard_console._shared import moment
from retry_guard_ledgers import Finding, beside

if TYPE_CHECKING:
    from retry_guard_mcp_proxy import Kept, Sheet


def servers(url: str | None) -> list[Finding]:
    """Return what is guarded of each server, and what is not, as its proxy last saw it."""
    from retry_guard_mcp_proxy import KeptError, all_kept

    folder = beside(url)
    if folder is None:
        return []
    try:
        found = list(all_kept(folder))
        seen = [one for kept in found for one in _server(kept, kept.trusted())]
        return [*seen, *(one for kept in found for one in _unread(kept.server, kept.trusted()))]
    except KeptError as error:
        return [Finding("servers", well=False, text=str(error))]


def _server(kept: "Kept", trusted: "Sheet") -> Iterator[Finding]:
    seen, groups = kept.seen(), dict[str, list[str]]()
    for tool, known in seen.tools.items():
        is_withdrawn = known.get("who") == "trusted" and tool not in trusted.tools
        counts = {**known, "who": "server"} if is_withdrawn else known
        group = _group(counts)
        if seen.mode == "observe" and group in (_GUARDED, _UNTRUSTED):
            group = _OBSERVED
        groups.setdefault(group, []).append(tool)
    for group in (_GUARDED, _READS, _OBSERVED, _UNTRUSTED, _BARE, _UNLISTED):
        if group in groups:
            text = f"{group}: {', '.join(sorted(groups[group]))}"
            when = f" (seen {moment(seen.at)} UTC)"
            yield Finding(kept.server, well=group in (_GUARDED, _READS), text=text + when)


def _unread(name: str, trusted: "Sheet") -> Iterator[Finding]:
    odd = trusted.unread()
    if odd:
        text = f"trusted, says its file, which does not say in what, so it is not: {', '.join(odd)}"
        yield Finding(name, well=False, text=text)


_GUARDED, _READS = "guarded", "read, so they pass"
_OBSERVED = "only observed (--mode observe), so calls pass unguarded"
_UNTRUSTED = "guarded, and only a person settles them, since nobody trusts what the server states"
_BARE = "without a contract, so unguarded"
_UNLISTED = "with a contract, and the server lists no such tool"


def _group(known: Mapping[str, Any]) -> str:
    if known.get("listed") is False:
        return _UNLISTED
    if known.get("guarded"):
        return _UNTRUSTED if known.get("who") == "server" else _GUARDED
    return _READS if known.get("reads") or known.get("who") in ("file", "trusted") else _BARE
