"""The retry guard on the pipe between any MCP client and any MCP server."""

from retry_guard_mcp_proxy._kept import Kept, KeptError, Sheet, all_kept, observed
from retry_guard_mcp_proxy._serve import kept_beside, look_at, serve
from retry_guard_mcp_proxy._settings import Settings
from retry_guard_mcp_proxy._surveyed import Offer, Surveyed

__all__ = [
    "Kept",
    "KeptError",
    "Offer",
    "Settings",
    "Sheet",
    "Surveyed",
    "all_kept",
    "kept_beside",
    "look_at",
    "observed",
    "serve",
]
