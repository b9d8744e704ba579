"""The retry guard in LangGraph's `ToolNode`, LangChain's `create_agent` and plain nodes."""

from retry_guard import sent_headers
from retry_guard_langgraph._calls import Scope
from retry_guard_langgraph._middleware import GuardMiddleware

__all__ = ["GuardMiddleware", "Scope", "sent_headers"]
