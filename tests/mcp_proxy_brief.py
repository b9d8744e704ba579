"""The command with leases that are short, so that they run out soon; see `mcp_proxy_loaded`."""

from functools import partial

from mcp_proxy_loaded import main
from retry_guard import Policy
from retry_guard_mcp_proxy import _prepare
from retry_guard_mcp_proxy._parts import Parts

__all__ = ["main"]

BRIEF = Policy(lease=6.0)

setattr(_prepare, "Parts", partial(Parts, policy=BRIEF))  # noqa: B010 - it is a class elsewhere
