"""A server without its blind re-sends, which stay on for whatever else it does."""

import copy

from agents.mcp import MCPServer

from retry_guard import UsageError
from retry_guard_openai_agents._delegates import Delegate

_SETTING = "max_retry_attempts"


def sending_once(server: MCPServer) -> MCPServer:
    """Return a server that sends each call of a tool once, as far as can be seen.

    Raises `UsageError` where an application's own server hides one that re-sends.
    """
    if isinstance(server, Delegate):
        return server.before(sending_once(server.real))
    if not _re_sends(server):
        return server
    if _SETTING not in vars(server):
        msg = f"the MCP server {server.name} sends calls again behind another one, which no guard"
        raise UsageError(f"{msg} can stop: give the one inside {_SETTING}=0; nothing sent")
    once = copy.copy(server)
    vars(once)[_SETTING] = 0
    return once


def _re_sends(server: MCPServer) -> bool:
    """Whether it says so, or a server that it holds does."""
    if getattr(server, _SETTING, 0):
        return True
    return any(_re_sends(each) for each in vars(server).values() if isinstance(each, MCPServer))
