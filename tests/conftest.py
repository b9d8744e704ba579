"""What the whole run says at its end."""

from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Sum what the interleaving tests noted of themselves, also where workers ran them."""
    notes: list[dict[str, Any]] = [
        dict(report.user_properties)
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    played = [note for note in notes if "schedules" in note]
    if not played:
        return
    sums = {
        name: sum(int(note.get(name, 0)) for note in played) for name in ("schedules", "states")
    }
    said = "".join(f", {count:,} {name}" for name, count in sums.items() if count)
    terminalreporter.write_line(f"interleavings: {len(played)} scenarios{said}")
