"""The retry guard in the OpenAI Agents SDK: around function tools and MCP servers."""

from retry_guard import sent_headers
from retry_guard_openai_agents._guard import AgentGuard
from retry_guard_openai_agents._notes import Watch, unresolved_in
from retry_guard_openai_agents._places import Scope, Turn

__all__ = ["AgentGuard", "Scope", "Turn", "Watch", "sent_headers", "unresolved_in"]
