"""Billing: both writes accept an idempotency key; its reads show every effect at once."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._execution import Execution, Handler
from retry_guard_sandbox.services._field import Field
from retry_guard_sandbox.services._service import Service
from retry_guard_sandbox.services._tool import Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Response, refusal

_CUSTOMER = Field(description="Id of the customer, such as cus_1.")
_CENTS = Field(type="integer", description="Amount in cents.", alike="number")
_CHARGE_ID = Field(description="Id of the charge.")
_CHARGE = Tool(
    name="charge",
    description="Charge a customer's card once. list_charges shows every charge at once.",
    fields={
        "customer": _CUSTOMER,
        "amount": _CENTS,
        "currency": Field(description="Three-letter code, in any case.", alike="fold"),
        "description": Field(description="Shown on the receipt.", alike="fold"),
    },
    keyed=True,
    look=Look(tool="list_charges", arguments={"customer": "customer"}),
)
_REFUND = Tool(
    name="refund",
    description="Refund part or all of a charge. list_refunds shows every refund at once.",
    fields={
        "charge": _CHARGE_ID,
        "amount": _CENTS,
        "reason": Field(description="Shown to the customer.", alike="fold"),
    },
    keyed=True,
    look=Look(tool="list_refunds", arguments={"charge": "charge"}),
)
_SET_EMAIL = Tool(
    name="set_billing_email",
    description="Set the address that a customer's receipts go to. Repeating it changes nothing.",
    fields={"customer": _CUSTOMER, "email": Field(description="The address.", alike="fold")},
    effect="idempotent",
)
_GET_CUSTOMER = Tool(
    name="get_customer",
    description="Read a customer: the address for receipts, as it was set last.",
    fields={"customer": _CUSTOMER},
    effect="read",
)
_LIST_CHARGES = Tool(
    name="list_charges",
    description="List all charges of a customer, the oldest first. Nothing is ever removed.",
    fields={"customer": _CUSTOMER},
    effect="read",
)
_LIST_REFUNDS = Tool(
    name="list_refunds",
    description="List all refunds of a charge, the oldest first. Nothing is ever removed.",
    fields={"charge": _CHARGE_ID},
    effect="read",
)


def _earlier(name: str, customer: str, amount: int, description: str) -> Json:
    """A charge that was made a month before the episode."""
    return {
        "id": name,
        "customer": customer,
        "amount": amount,
        "currency": "eur",
        "description": description,
        "status": "succeeded",
        "created": START - 30 * 86_400.0,
    }


class Billing(Service):
    """Charges and refunds. Two customers have been charged before."""

    name: ClassVar[str] = "billing"
    tools: ClassVar[tuple[Tool, ...]] = (
        _CHARGE,
        _REFUND,
        _SET_EMAIL,
        _GET_CUSTOMER,
        _LIST_CHARGES,
        _LIST_REFUNDS,
    )
    earlier: ClassVar[Mapping[str, tuple[Json, ...]]] = {
        "charge": (
            _earlier("ch_1001", "cus_dora", 12_000, "Annual plan"),
            _earlier("ch_1002", "cus_emil", 36_000, "Conference pass"),
        )
    }

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "charge": lambda e: self.make(e, "ch_", status="succeeded"),
            "refund": self._refund,
            "set_billing_email": lambda e: self.put(e, "customer"),
            "get_customer": self._get_customer,
            "list_charges": lambda e: self.listing(e.now, "charge", **e.request.arguments),
            "list_refunds": lambda e: self.listing(e.now, "refund", **e.request.arguments),
        }

    def _refund(self, execution: Execution) -> Response:
        arguments, store = execution.request.arguments, self._store
        charge = store.known("charge", arguments["charge"])
        if charge is None:
            return refusal(404, "not_found", "there is no such charge", param="charge")
        refunded = sum(r["amount"] for r in store.of("refund", charge=charge["id"]))
        if refunded + arguments["amount"] > charge["amount"]:
            return refusal(400, "too_much", "more than is left of the charge", param="amount")
        return self.make(execution, "re_", status="succeeded")

    def _get_customer(self, execution: Execution) -> Response:
        customer = execution.request.arguments["customer"]
        state = self._store.state("set_billing_email", customer)
        return Response(200, {"customer": customer, "email": state.get("email")})
