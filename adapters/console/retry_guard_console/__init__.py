"""The `retry-guard` command."""
