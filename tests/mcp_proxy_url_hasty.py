"""The command with a policy whose leases and pauses are short; see `mcp_proxy_loaded`."""

from functools import partial

from mcp_proxy_loaded import main
from retry_guard import Policy
from retry_guard_mcp_proxy import _prepare
from retry_guard_mcp_proxy._parts import Parts

__all__ = ["main"]

HASTY = Policy(lease=3.0, backoff=0.1, deadline=3.0)

setattr(_prepare, "Parts", partial(Parts, policy=HASTY))  # noqa: B010 - it is a class elsewhere
