"""The `retry-guard` command."""

from retry_guard_console._main import main

__all__ = ["main"]
