"""The command with all imported that a proxy imports while it starts and runs; see `forks`."""

import importlib
import pkgutil

import retry_guard_mcp_proxy
from retry_guard_console import main

__all__ = ["main"]

importlib.import_module("retry_guard_console._mcp")
for one in pkgutil.iter_modules(retry_guard_mcp_proxy.__path__):
    importlib.import_module(f"retry_guard_mcp_proxy.{one.name}")
