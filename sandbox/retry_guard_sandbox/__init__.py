"""The fault sandbox: what a retry guard changes, counted from effects that really happened."""

from retry_guard_sandbox._episode import Spec, run
from retry_guard_sandbox._grid import CHOICES, Grid, GridError, run_all
from retry_guard_sandbox.grading._rows import Row, RowError, read_rows
from retry_guard_sandbox.reports._report import COLUMNS, HEADING, Report, report

__all__ = [
    "CHOICES",
    "COLUMNS",
    "HEADING",
    "Grid",
    "GridError",
    "Report",
    "Row",
    "RowError",
    "Spec",
    "read_rows",
    "report",
    "run",
    "run_all",
]
