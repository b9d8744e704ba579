"""The command with all imported that a proxy imports, or what looks after one; see `forks`."""

import importlib
import pkgutil

import retry_guard_console
import retry_guard_mcp_proxy
from retry_guard_console import main

__all__ = ["main"]

BESIDE = ("_contracts", "_doctor", "_ledger", "_mcp", "_observed", "_shared", "_tables")

for one in pkgutil.iter_modules(retry_guard_mcp_proxy.__path__):
    importlib.import_module(f"retry_guard_mcp_proxy.{one.name}")
for one in pkgutil.iter_modules(retry_guard_console.__path__):
    if one.name.startswith(BESIDE):
        importlib.import_module(f"retry_guard_console.{one.name}")
for name in ("rich.console", "rich.markup", "rich.table", "rich.text"):
    importlib.import_module(name)
