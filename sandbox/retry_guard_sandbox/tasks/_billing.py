"""Tasks of the billing service."""

from retry_guard_sandbox.tasks._task import Intended, Made, Ref, Step, Task

_ADA = {"customer": "cus_ada", "amount": 4200, "currency": "eur", "description": "May invoice"}
_BEN = {"customer": "cus_ben", "amount": 1900, "currency": "eur", "description": "May invoice"}
_CLEO = {"customer": "cus_cleo", "amount": 9900, "currency": "eur", "description": "Workshop seat"}

TASKS = (
    Task(
        name="charge_invoice",
        service="billing",
        prompt="Charge customer cus_ada 42.00 eur for the May invoice.",
        steps=(Step("charge", _ADA),),
        intended=(Intended(tool="charge", identity=_ADA),),
    ),
    Task(
        name="charge_two_invoices",
        service="billing",
        prompt="Charge the May invoices: 42.00 eur to cus_ada and 19.00 eur to cus_ben.",
        steps=(Step("charge", _ADA), Step("charge", _BEN)),
        intended=(
            Intended(tool="charge", identity=_ADA),
            Intended(tool="charge", identity=_BEN),
        ),
    ),
    Task(
        name="refund_part",
        service="billing",
        prompt="Refund 15.00 eur of charge ch_1001: one seat of the plan was not used.",
        steps=(Step("refund", {"charge": "ch_1001", "amount": 1500, "reason": "Seat not used"}),),
        intended=(
            Intended(
                tool="refund",
                identity={"charge": "ch_1001", "amount": 1500},
                content={"reason": "Seat not used"},
            ),
        ),
    ),
    Task(
        name="find_and_refund",
        service="billing",
        prompt="Customer cus_emil has one charge. Find it and refund 60.00 eur of it: late start.",
        steps=(
            Step("list_charges", {"customer": "cus_emil"}),
            Step(
                "refund",
                {"charge": Ref(0, ("data", 0, "id")), "amount": 6000, "reason": "Late start"},
            ),
        ),
        intended=(
            Intended(
                tool="refund",
                identity={"charge": "ch_1002", "amount": 6000},
                content={"reason": "Late start"},
            ),
        ),
    ),
    Task(
        name="charge_then_refund",
        service="billing",
        prompt="Charge cus_cleo 99.00 eur for a workshop seat, then refund 9.00 eur of that "
        "charge as a discount.",
        steps=(
            Step("charge", _CLEO),
            Step("refund", {"charge": Ref(0), "amount": 900, "reason": "Discount"}),
        ),
        intended=(
            Intended(tool="charge", identity=_CLEO),
            Intended(
                tool="refund",
                identity={"charge": Made(0), "amount": 900},
                content={"reason": "Discount"},
            ),
        ),
    ),
)
