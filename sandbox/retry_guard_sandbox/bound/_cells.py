"""The cells: writes of the sandbox's services, by what their contracts say of them.

A tool of the game is read off its contract, so both players know the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from retry_guard import Contract
from retry_guard_sandbox.bound._game import Tool
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._variants import variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A write of a service, with its contract, and the same as a tool of the game."""

    service: str
    variant: str
    tool: str
    arguments: Json
    contract: Contract
    known: Tool


_CHARGE: Json = {
    "customer": "cus_ada",
    "amount": 4200,
    "currency": "eur",
    "description": "Invoice 7",
}
_ROWS: Json = {
    "table": "orders",
    "rows": [
        {"customer": "Ben", "total": "19.00", "due": "2030-02-01T12:00:00+00:00"},
        {"customer": "Cleo", "total": "99.00", "due": "2030-02-02T12:00:00+00:00"},
    ],
}
_COMMENT: Json = {"ticket": "TCK-101", "text": "Reproduced on staging."}
_TICKET: Json = {"project": "mobile", "title": "Login fails", "body": "Error 17."}
_DEPLOY: Json = {"service": "web", "version": "1.2.3", "note": "Fix"}
_MESSAGE: Json = {"account": "acme", "to": "ben", "text": "On my way"}

_WRITES: Mapping[str, tuple[str, str, str, Json]] = MappingProxyType(
    {
        "key_and_read": ("billing", "native", "charge", _CHARGE),
        "key": ("billing", "native", "charge", _CHARGE),
        "key_batch": ("database", "keys_everywhere", "bulk_insert", _ROWS),
        "batch": ("database", "native", "bulk_insert", _ROWS),
        "bounded_batch": ("database", "native", "bulk_insert", _ROWS),
        "read": ("tickets", "native", "add_comment", _COMMENT),
        "lagging_read": ("tickets", "native", "create_ticket", _TICKET),
        "bounded_read": ("deploy", "native", "trigger_deploy", _DEPLOY),
        "nothing": ("social", "native", "send_dm", _MESSAGE),
    }
)
SUBJECTS = tuple(_WRITES)
"""What the cells are about: which of key, read-back and in-flight bound a contract states."""
_STATED: Mapping[str, Json] = MappingProxyType(
    {
        "key": {"read_back": None},
        "key_batch": {"read_back": None},
        "bounded_batch": {"in_flight_bound": 15.0},
    }
)
"""What is stated otherwise than by the service's own contract."""


def subject(name: str) -> Subject:
    """Return the write that stands for a kind of contract."""
    service, side, tool, arguments = _WRITES[name]
    contract = variant(side, service).contracts[tool]
    if name in _STATED:
        contract = contract.model_copy(update=_STATED[name])
    terms = contract.terms
    known = Tool(
        keyed=terms.keyed,
        retention=terms.retention or 0.0,
        lag=terms.lag if terms.read_back else None,
        bound=terms.bound,
        parts=len(TOOLS[tool].parts(arguments)),
    )
    return Subject(
        service=service,
        variant=side,
        tool=tool,
        arguments=arguments,
        contract=contract,
        known=known,
    )
