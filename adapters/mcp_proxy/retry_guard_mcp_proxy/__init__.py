"""The retry guard on the pipe between any MCP client and any MCP server."""

from retry_guard_mcp_proxy._serve import serve
from retry_guard_mcp_proxy._settings import Settings

__all__ = ["Settings", "serve"]
