"""The tool list without keys: what an agent is shown where the guard alone makes them."""

from collections.abc import Mapping
from dataclasses import replace

from retry_guard_sandbox.services import Tool


def without_keys(tools: Mapping[str, Tool]) -> Mapping[str, Tool]:
    """Return the same tools without the parameter for a key."""
    return {name: replace(tool, keyed=False) for name, tool in tools.items()}
