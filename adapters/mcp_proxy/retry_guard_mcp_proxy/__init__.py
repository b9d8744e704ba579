"""The retry guard on the pipe between any MCP client and any MCP server."""

from retry_guard_mcp_proxy._kept import Kept, KeptError, all_kept, observed
from retry_guard_mcp_proxy._serve import serve
from retry_guard_mcp_proxy._settings import Settings

__all__ = ["Kept", "KeptError", "Settings", "all_kept", "observed", "serve"]
