"""Tasks of the billing service."""

from retry_guard_sandbox.tasks._intended import Intended, Made, intended
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.tasks._task import Task

_ADA = {"customer": "cus_ada", "amount": 4200, "currency": "eur", "description": "May invoice"}
_BEN = {"customer": "cus_ben", "amount": 1900, "currency": "eur", "description": "May invoice"}
_CLEO = {"customer": "cus_cleo", "amount": 9900, "currency": "eur", "description": "Workshop seat"}
_SEAT = {"charge": "ch_1001", "amount": 1500, "reason": "Seat not used"}
_EMAIL = {"customer": "cus_ada", "email": "ada@example.com"}

_CHARGE_ADA = Step(
    "charge",
    _ADA,
    reworded={"currency": "EUR", "description": "may invoice"},
    twin={"description": "June invoice"},
)
_CHARGE_BEN = Step(
    "charge", _BEN, reworded={"amount": 1900.0, "currency": "EUR"}, twin={"amount": 9100}
)
_CHARGE_CLEO = Step(
    "charge",
    _CLEO,
    reworded={"description": "Workshop  seat"},
    twin={"description": "Workshop seat 2"},
)

TASKS = (
    Task(
        name="charge_invoice",
        service="billing",
        prompt="Charge customer cus_ada 42.00 eur for the May invoice.",
        steps=(_CHARGE_ADA,),
        intended=intended("charge", _ADA),
    ),
    Task(
        name="charge_two_invoices",
        service="billing",
        prompt="Charge the May invoices: 42.00 eur to cus_ada and 19.00 eur to cus_ben.",
        steps=(_CHARGE_ADA, _CHARGE_BEN),
        intended=(*intended("charge", _ADA), *intended("charge", _BEN)),
    ),
    Task(
        name="refund_part",
        service="billing",
        prompt="Refund 15.00 eur of charge ch_1001: one seat of the plan was not used.",
        steps=(Step("refund", _SEAT, reworded={"reason": "seat not used"}, twin={"amount": 1600}),),
        intended=intended("refund", _SEAT, "reason"),
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
                reworded={"amount": 6000.0, "reason": "Late  start"},
                twin={"amount": 600},
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
            _CHARGE_CLEO,
            Step(
                "refund",
                {"charge": Ref(0), "amount": 900, "reason": "Discount"},
                reworded={"reason": "DISCOUNT"},
                twin={"amount": 90},
            ),
        ),
        intended=(
            *intended("charge", _CLEO),
            Intended(
                tool="refund",
                identity={"charge": Made(0), "amount": 900},
                content={"reason": "Discount"},
            ),
        ),
    ),
    Task(
        name="new_email_and_charge",
        service="billing",
        prompt="Send the receipts of cus_ada to ada@example.com from now on, then charge her "
        "42.00 eur for the May invoice.",
        steps=(Step("set_billing_email", _EMAIL), _CHARGE_ADA),
        intended=(*intended("set_billing_email", _EMAIL), *intended("charge", _ADA)),
    ),
)
