"""The fault sandbox: what a retry guard changes, counted from effects that really happened."""

from retry_guard_sandbox._episode import Spec, run
from retry_guard_sandbox._grid import CHOICES, EVERY, Grid, GridError
from retry_guard_sandbox._running import CutShortError, Meter, WorkerError, run_all
from retry_guard_sandbox.grading._census import Cell, Census, Draw
from retry_guard_sandbox.grading._rows import Row, RowError, read_rows
from retry_guard_sandbox.grading._statistics_terms import END_POINTS, EndPoint
from retry_guard_sandbox.grading._tally import Tally
from retry_guard_sandbox.reports._bounds import Bound, BoundError, read_bounds
from retry_guard_sandbox.reports._junit import junit
from retry_guard_sandbox.reports._lines import COLUMNS, Line, Spread, Summary
from retry_guard_sandbox.reports._models import Models
from retry_guard_sandbox.reports._page import page
from retry_guard_sandbox.reports._report import HEADING, Report, report
from retry_guard_sandbox.reports._verdict import AB, Frame, Left

__all__ = [
    "AB",
    "CHOICES",
    "COLUMNS",
    "END_POINTS",
    "EVERY",
    "HEADING",
    "Bound",
    "BoundError",
    "Cell",
    "Census",
    "CutShortError",
    "Draw",
    "EndPoint",
    "Frame",
    "Grid",
    "GridError",
    "Left",
    "Line",
    "Meter",
    "Models",
    "Report",
    "Row",
    "RowError",
    "Spec",
    "Spread",
    "Summary",
    "Tally",
    "WorkerError",
    "junit",
    "page",
    "read_bounds",
    "read_rows",
    "report",
    "run",
    "run_all",
]
