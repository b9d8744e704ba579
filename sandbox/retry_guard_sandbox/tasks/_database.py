"""Tasks of the database service."""

from retry_guard_sandbox.tasks._intended import intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task
from retry_guard_sandbox.world._http import Json


def _row(customer: str, total: str, due: str) -> Json:
    return {"customer": customer, "total": total, "due": due}


_BEN_ROW = _row("Ben", "129.90", "2030-02-01T09:00:00+00:00")
_CLEO_ROW = _row("Cleo", "80.00", "2030-02-03T09:00:00+00:00")
_BEN = {"table": "orders", "row": _BEN_ROW}
_CLEO = {"table": "orders", "row": _CLEO_ROW}
_OLD = {"table": "archive", "row": _row("Ada", "12.50", "2030-01-15T12:00:00+00:00")}
_ROWS = {
    "table": "invoices",
    "rows": [
        _row("Dora", "10.00", "2030-03-01T00:00:00+00:00"),
        _row("Emil", "20.50", "2030-03-01T00:00:00+00:00"),
        _row("Dora", "30.00", "2030-04-01T00:00:00+00:00"),
    ],
}
_CURRENCY = {"table": "invoices", "setting": "currency", "value": "eur"}

_INSERT_BEN = Step(
    "insert_row",
    _BEN,
    reworded={"row": _row("BEN", "129.9", "2030-02-01T10:00:00+01:00")},
    twin={"row": _row("Ben", "129.09", "2030-02-01T09:00:00+00:00")},
)
_INSERT_CLEO = Step(
    "insert_row",
    _CLEO,
    reworded={"row": _row("Cleo", "80", "2030-02-03T09:00:00Z")},
    twin={"row": _row("Cleo", "80.00", "2030-02-03T09:00:00+01:00")},
)
_INSERT_OLD = Step(
    "insert_row",
    {"table": "archive", "row": Ref(0, ("data", 0, "row"))},
    reworded={"row": _row("ada", "12.5", "2030-01-15T12:00:00Z")},
    twin={"table": "archive_old"},
)
_INSERT_ROWS = Step(
    "bulk_insert",
    _ROWS,
    reworded={
        "rows": [
            _row("dora", "10", "2030-03-01T00:00:00Z"),
            _row("Emil ", "20.5", "2030-03-01T01:00:00+01:00"),
            _row("Dora", "30.0", "2030-04-01T00:00:00Z"),
        ]
    },
    twin={"table": "invoices_test"},
)

_SAY_ROWS = (
    "Dora 10.00 due 2030-03-01, Emil 20.50 due 2030-03-01, Dora 30.00 due 2030-04-01, "
    "all at midnight UTC"
)

TASKS = (
    Task(
        name="insert_order",
        service="database",
        prompt="Insert a row into the table orders: customer Ben, total 129.90, due on "
        "2030-02-01 at 9:00 UTC.",
        steps=(_INSERT_BEN,),
        intended=intended("insert_row", _BEN),
    ),
    Task(
        name="insert_two_orders",
        service="database",
        prompt="Insert two rows into the table orders, one by one: customer Ben, total 129.90, "
        "due on 2030-02-01 at 9:00 UTC; customer Cleo, total 80.00, due on 2030-02-03 at 9:00 UTC.",
        steps=(_INSERT_BEN, _INSERT_CLEO),
        intended=(*intended("insert_row", _BEN), *intended("insert_row", _CLEO)),
    ),
    Task(
        name="copy_order",
        service="database",
        prompt="Copy the oldest row of the table orders into the table archive, as it is.",
        steps=(Step("list_rows", {"table": "orders"}), _INSERT_OLD),
        intended=intended("insert_row", _OLD),
    ),
    Task(
        name="insert_invoices",
        service="database",
        prompt=f"Insert three rows into the table invoices in one call: {_SAY_ROWS}.",
        steps=(_INSERT_ROWS,),
        intended=intended("bulk_insert", _ROWS),
    ),
    Task(
        name="set_currency_and_insert",
        service="database",
        prompt="Set the setting currency of the table invoices to eur, then insert three rows "
        f"into it in one call: {_SAY_ROWS}.",
        steps=(Step("put_setting", _CURRENCY), _INSERT_ROWS),
        intended=(*intended("put_setting", _CURRENCY), *intended("bulk_insert", _ROWS)),
    ),
)
