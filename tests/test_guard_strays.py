"""Rule 9 across a change of the contract or the secret: what is unresolved is not sent anew."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from guards import ARGUMENTS, Args, Extra
from retry_guard import AsyncGuard, Contract, Done, Guard, Unresolved
from retry_guard_ledgers import MemoryLedger, SQLiteLedger
from retry_guard_outcomes import classify

BEFORE: dict[str, Any] = {"tool": "charge"}
CHANGES: list[dict[str, Any]] = [
    {"identity": ["customer"]},
    {"defaults": {"amount": 5}, "identity": ["customer", "amount"]},
    {"resource": "money"},
    {"volatile": ["amount"]},
    {"twins": "count"},
    {"key": {"param": "idempotency_key", "retention": 86400}, "identity": ["customer"]},
]


class Lost:
    """A service that runs every call, and loses each answer."""

    def __init__(self) -> None:
        self.effects: list[Args] = []

    def send(self, arguments: Args, extra: Extra) -> object:
        self.effects.append(arguments)
        raise TimeoutError


def call(ledger: Any, service: Lost, secret: bytes | None = None, **change: Any) -> Any:  # noqa: ANN401 - any ledger, any outcome
    contract = Contract(**{**BEFORE, **change})
    guard = Guard(ledger, [contract], classify=classify, secret=secret)
    return guard.call("charge", ARGUMENTS, send=service.send, scope="acme", turn="t1")


@pytest.mark.parametrize("change", CHANGES, ids="+".join)
def test_an_unresolved_action_is_met_though_the_contract_names_it_otherwise_now(
    change: dict[str, Any], tmp_path: Path
) -> None:
    ledger, service = SQLiteLedger(tmp_path / "guard.db"), Lost()
    first = call(ledger, service)
    second = call(ledger, service, **change)
    assert isinstance(first, Unresolved)
    assert isinstance(second, Unresolved)
    assert (second.action, second.reason) == (first.action, "contract_changed")
    assert len(service.effects) == 1


def test_the_same_for_a_secret_that_is_set_later() -> None:
    ledger, service = MemoryLedger(), Lost()
    first = call(ledger, service)
    second = call(ledger, service, secret=b"s" * 32)
    assert (second.action, second.reason) == (first.action, "contract_changed")
    assert len(service.effects) == 1


def happens(arguments: Args, extra: Extra) -> str:
    return "done"


def test_once_an_operator_has_answered_the_call_is_a_new_action() -> None:
    ledger, service = MemoryLedger(), Lost()
    first = call(ledger, service)
    guard = Guard(ledger, [Contract(tool="charge", resource="money")], classify=classify)

    def again() -> object:
        return guard.call("charge", ARGUMENTS, send=happens, scope="acme", turn="t2")

    assert isinstance(again(), Unresolved)
    now = ledger.now()
    late = type(now)(now.earliest + 60, now.latest + 60)
    ledger.resolve("acme", first.action, "abandon", now=late)
    assert again() == Done("done")


def test_other_scopes_and_tools_and_other_arguments_are_not_concerned() -> None:
    ledger, service = MemoryLedger(), Lost()
    call(ledger, service)
    contracts = [Contract(tool="charge", resource="money"), Contract(tool="mail")]
    guard = Guard(ledger, contracts, classify=classify)

    def ok(tool: str, arguments: Args, scope: str) -> object:
        return guard.call(tool, arguments, send=happens, scope=scope, turn="t1")

    assert ok("charge", ARGUMENTS, "other") == Done("done")
    assert ok("mail", ARGUMENTS, "acme") == Done("done")
    assert ok("charge", {**ARGUMENTS, "amount": 6}, "acme") == Done("done")


async def test_a_call_that_is_cancelled_while_it_looks_for_them_is_cancelled(
    tmp_path: Path,
) -> None:
    """The look is carried to its end in a thread; the cancellation is obeyed after it."""
    inside, leave = threading.Event(), threading.Event()

    class Slow(SQLiteLedger):
        def list(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401 - as the ledger's
            inside.set()
            assert leave.wait(30)
            return super().list(*given, **named)

    service = Lost()
    call(SQLiteLedger(tmp_path / "guard.db"), service)
    changed = Contract(tool="charge", resource="money")
    guard = AsyncGuard(Slow(tmp_path / "guard.db"), [changed], classify=classify)
    work = asyncio.create_task(
        guard.call("charge", ARGUMENTS, send=service.send, scope="acme", turn="t1")
    )
    await asyncio.to_thread(inside.wait, 30)
    work.cancel()
    await asyncio.sleep(0)
    leave.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert len(service.effects) == 1


def test_an_unchanged_contract_meets_its_own_action_as_ever() -> None:
    ledger, service = MemoryLedger(), Lost()
    first, second = call(ledger, service), call(ledger, service)
    assert (second.action, second.reason) == (first.action, "nothing_can_tell")
    assert len(service.effects) == 1
