"""Database: no write accepts a key. A read shows every row at once."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Batch, Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response

_TABLE = Field(description="Name of the table.")
_ROW = Field(
    type="object",
    description="One row.",
    fields={
        "customer": Field(description="Name of the customer.", alike="fold"),
        "total": Field(description="A decimal number, such as 129.90.", alike="number"),
        "due": Field(description="ISO 8601 with an offset.", alike="time"),
    },
)
_INSERT_ROW = Tool(
    name="insert_row",
    description="Insert one row. Equal rows are allowed. list_rows shows it at once.",
    fields={"table": _TABLE, "row": _ROW},
    look=Look(tool="list_rows", arguments={"table": "table"}),
)
_BULK_INSERT = Tool(
    name="bulk_insert",
    description="Insert several rows, one after the other; what was inserted before an error "
    "stays. list_rows shows each row at once.",
    fields={
        "table": _TABLE,
        "rows": Field(type="array", description="The rows, in their order.", each=_ROW),
    },
    look=Look(tool="list_rows", arguments={"table": "table"}),
    batch=Batch(items="rows", one="row", key="resumes"),
)
_PUT_SETTING = Tool(
    name="put_setting",
    description="Set a setting of a table. Repeating it changes nothing.",
    fields={
        "table": _TABLE,
        "setting": Field(description="Its name."),
        "value": Field(description="Its value.", alike="text"),
    },
    effect="idempotent",
)
_GET_SETTING = Tool(
    name="get_setting",
    description="Read a setting of a table, as it was set last.",
    fields={"table": _TABLE, "setting": Field(description="Its name.")},
    effect="read",
)
_LIST_ROWS = Tool(
    name="list_rows",
    description="List all rows of a table, the oldest first. Rows cannot be deleted.",
    fields={"table": _TABLE},
    effect="read",
)


class Database(Service):
    """Tables of rows. One has a row from yesterday."""

    name: ClassVar[str] = "database"
    tools: ClassVar[tuple[Tool, ...]] = (
        _INSERT_ROW,
        _BULK_INSERT,
        _PUT_SETTING,
        _GET_SETTING,
        _LIST_ROWS,
    )
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {
        "insert_row": (
            {
                "id": "row-301",
                "table": "orders",
                "row": {"customer": "Ada", "total": "12.50", "due": "2030-01-15T12:00:00+00:00"},
                "created": START - 86_400.0,
            },
        )
    }

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "insert_row": lambda e: self.make(e, "row-"),
            "bulk_insert": lambda e: self.make_each(e, "row-"),
            "put_setting": lambda e: self.put(e, "table", "setting"),
            "get_setting": self._get_setting,
            "list_rows": lambda e: self.listing(
                e.now, "insert_row", "bulk_insert", **e.request.arguments
            ),
        }

    def _get_setting(self, execution: Execution) -> Response:
        given = execution.request.arguments
        state = self._store.state("put_setting", given["table"], given["setting"])
        return Response(200, {**given, "value": state.get("value")})
