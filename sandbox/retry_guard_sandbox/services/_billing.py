"""Billing: both writes accept an idempotency key; its reads show every effect at once."""

from collections.abc import Mapping
from typing import ClassVar

from retry_guard_sandbox.services._service import Execution, Handler, Service, listing
from retry_guard_sandbox.services._tool import Field, Look, Tool
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json, Response, refusal
from retry_guard_sandbox.world._streams import Streams

_CHARGE = Tool(
    name="charge",
    description="Charge a customer's card once. list_charges shows every charge at once.",
    fields={
        "customer": Field(description="Id of the customer, such as cus_1."),
        "amount": Field(type="integer", description="Amount in cents."),
        "currency": Field(description="Three-letter code in lower case."),
        "description": Field(description="Shown on the receipt."),
    },
    keyed=True,
    look=Look(tool="list_charges", arguments={"customer": "customer"}),
)
_REFUND = Tool(
    name="refund",
    description="Refund part or all of a charge. list_refunds shows every refund at once.",
    fields={
        "charge": Field(description="Id of the charge."),
        "amount": Field(type="integer", description="Amount in cents."),
        "reason": Field(description="Shown to the customer."),
    },
    keyed=True,
    look=Look(tool="list_refunds", arguments={"charge": "charge"}),
)
_LIST_CHARGES = Tool(
    name="list_charges",
    description="List all charges of a customer, the oldest first.",
    fields={"customer": Field(description="Id of the customer.")},
    effect="read",
)
_LIST_REFUNDS = Tool(
    name="list_refunds",
    description="List all refunds of a charge, the oldest first.",
    fields={"charge": Field(description="Id of the charge.")},
    effect="read",
)


class Billing(Service):
    """Charges and refunds."""

    name: ClassVar[str] = "billing"
    tools: ClassVar[tuple[Tool, ...]] = (_CHARGE, _REFUND, _LIST_CHARGES, _LIST_REFUNDS)

    def __init__(self, effects: Effects, streams: Streams) -> None:
        """Two customers have been charged before."""
        super().__init__(effects, streams)
        self._charges = [
            _earlier("ch_1001", "cus_dora", 12_000, "Annual plan"),
            _earlier("ch_1002", "cus_emil", 36_000, "Conference pass"),
        ]
        self._refunds: list[Json] = []

    def handlers(self) -> Mapping[str, Handler]:
        """Return what executes each tool."""
        return {
            "charge": self._charge,
            "refund": self._refund,
            "list_charges": self._list_charges,
            "list_refunds": self._list_refunds,
        }

    def _charge(self, execution: Execution) -> Response:
        item = self.commit(execution, "ch_", status="succeeded")
        self._charges.append(item)
        return Response(200, item)

    def _refund(self, execution: Execution) -> Response:
        arguments = execution.request.arguments
        charge = next((c for c in self._charges if c["id"] == arguments["charge"]), None)
        if charge is None:
            return refusal(404, "not_found", "there is no such charge", param="charge")
        refunded = sum(r["amount"] for r in self._refunds if r["charge"] == charge["id"])
        if refunded + arguments["amount"] > charge["amount"]:
            return refusal(400, "too_much", "more than is left of the charge", param="amount")
        item = self.commit(execution, "re_", status="succeeded")
        self._refunds.append(item)
        return Response(200, item)

    def _list_charges(self, execution: Execution) -> Response:
        customer = execution.request.arguments["customer"]
        return listing([c for c in self._charges if c["customer"] == customer])

    def _list_refunds(self, execution: Execution) -> Response:
        charge = execution.request.arguments["charge"]
        return listing([r for r in self._refunds if r["charge"] == charge])


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
