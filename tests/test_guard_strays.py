"""Rule 9 across a change of the contract or the secret: what is unresolved is not sent anew."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from guards import ARGUMENTS, Args, Extra
from retry_guard import AsyncGuard, Contract, Done, Guard, Policy, Unresolved
from retry_guard_core import Now, Record
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
        self.result: str | None = None

    def send(self, arguments: Args, extra: Extra) -> object:
        self.effects.append(arguments)
        if self.result is None:
            raise TimeoutError
        return self.result


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


def test_once_it_was_given_up_a_later_turn_begins_a_new_action_with_a_warning() -> None:
    ledger, service = MemoryLedger(), Lost()
    first = call(ledger, service)
    guard = Guard(ledger, [Contract(tool="charge", resource="money")], classify=classify)

    def again() -> object:
        return guard.call("charge", ARGUMENTS, send=happens, scope="acme", turn="t2")

    assert isinstance(again(), Unresolved)
    now = ledger.now()
    late = type(now)(now.earliest + 60, now.latest + 60)
    ledger.resolve("acme", first.action, "abandon", now=late)
    outcome = again()
    assert isinstance(outcome, Done)
    assert (outcome.value, outcome.replayed) == ("done", False)
    assert "given up before" in str(outcome.warning)


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


class Watched:
    """A guard that lives on while what it goes by changes, and a service that loses answers."""

    def __init__(self, ledger: Any, hmac: bytes | None = None, **stated: Any) -> None:  # noqa: ANN401 - any ledger
        self.service = Lost()
        contract = Contract(**{**BEFORE, **stated})
        policy = Policy(attempts=0)
        self.guard = Guard(ledger, [contract], classify=classify, secret=hmac, policy=policy)

    def goes_by(self, **stated: Any) -> None:  # noqa: ANN401 - fields of a contract
        self.guard.contracts.clear()
        self.guard.add(Contract(**{**BEFORE, **stated}))

    def call(self, **more: Any) -> Any:  # noqa: ANN401 - any outcome
        given = {**ARGUMENTS, **more}
        return self.guard.call("charge", given, send=self.service.send, scope="acme", turn="t1")


@pytest.mark.parametrize("change", CHANGES, ids="+".join)
@pytest.mark.parametrize("kind", [MemoryLedger, SQLiteLedger])
def test_it_is_met_by_a_guard_whose_contract_changes_while_it_lives(
    kind: Any,  # noqa: ANN401 - either ledger
    change: dict[str, Any],
    tmp_path: Path,
) -> None:
    ledger = kind(tmp_path / "guard.db") if kind is SQLiteLedger else kind()
    one = Watched(ledger)
    first = one.call()
    one.goes_by(**change)
    assert (one.call().action, one.call().reason) == (first.action, "contract_changed")
    one.goes_by()
    assert (one.call().action, one.call().reason) == (first.action, "nothing_can_tell")
    assert len(one.service.effects) == 1


@pytest.mark.parametrize("change", CHANGES, ids="+".join)
@pytest.mark.parametrize("kind", [MemoryLedger, SQLiteLedger])
def test_it_is_met_where_another_guard_began_it_after_this_one_had_looked(
    kind: Any,  # noqa: ANN401 - either ledger
    change: dict[str, Any],
    tmp_path: Path,
) -> None:
    ledger = kind(tmp_path / "guard.db") if kind is SQLiteLedger else kind()
    older, newer = Watched(ledger), Watched(ledger, **change)
    newer.call(customer="other")
    first = older.call()
    again = newer.call()
    assert (again.action, again.reason) == (first.action, "contract_changed")
    assert len(newer.service.effects) == 1


def test_it_is_met_where_another_guard_with_another_secret_began_it_meanwhile() -> None:
    ledger = MemoryLedger()
    one, other = Watched(ledger, hmac=b"s" * 32), Watched(ledger)
    one.call(customer="other")
    first = other.call()
    assert (one.call().action, one.call().reason) == (first.action, "contract_changed")


def test_among_many_that_came_since_it_is_met_too(tmp_path: Path) -> None:
    ledger = SQLiteLedger(tmp_path / "guard.db", synchronous="normal")
    older, newer = Watched(ledger), Watched(ledger, resource="money")
    newer.call(customer="other")
    first = older.call()
    for at in range(1100):
        assert isinstance(
            older.guard.call("charge", {"at": at}, send=happens, scope="acme", turn="t1"), Done
        )
    assert (newer.call().action, newer.call().reason) == (first.action, "contract_changed")


@pytest.mark.parametrize("first", [{"secret": ("customer",)}, {"secret": ("amount", "lines[].by")}])
def test_what_keeps_a_secret_only_as_a_hash_is_met_once_that_is_none_any_more(
    first: dict[str, Any],
) -> None:
    one = Watched(MemoryLedger(), **first)
    lines = [{"by": "ada", "sku": 1}, {"sku": 2}, {"by": "bob"}]
    before = one.call(lines=lines)
    one.goes_by(resource="money")
    again = one.call(lines=lines)
    assert (again.action, again.reason) == (before.action, "contract_changed")
    assert len(one.service.effects) == 1
    one.call(customer="other", lines=lines)
    one.call(amount=7, lines=lines)
    one.call(lines=[*lines, {}])
    assert len(one.service.effects) == 4


@pytest.mark.parametrize("mismatch", ["refused", "ignored"])
def test_what_was_sent_with_a_key_is_met_once_that_is_an_argument_like_others(
    mismatch: str,
) -> None:
    key = {"param": "reference", "mismatch": mismatch}
    one = Watched(MemoryLedger(), key=key)
    before = one.call(reference="k-1")
    one.goes_by()
    again = one.call(reference="k-1")
    assert (again.action, again.reason) == (before.action, "contract_changed")
    sent = len(one.service.effects)
    one.call(reference="k-1", customer="other")
    assert len(one.service.effects) == sent + 1


def test_an_observer_says_that_it_would_be_refused() -> None:
    ledger, service = MemoryLedger(), Lost()
    guard = Guard(ledger, [Contract(tool="charge")], classify=classify, mode="observe")

    def seen() -> tuple[str, str]:
        with pytest.raises(TimeoutError):
            guard.call("charge", ARGUMENTS, send=service.send, scope="acme", turn="t1")
        return guard.observations[-1].would, guard.observations[-1].reason

    seen()
    guard.contracts.clear()
    guard.add(Contract(tool="charge", resource="money"))
    assert seen() == ("refuse", "contract_changed")
    assert len(service.effects) == 2


def test_what_is_met_is_not_turned_down() -> None:
    one = Watched(MemoryLedger())
    one.call()
    one.goes_by(resource="money")
    assert one.guard.reject("charge", ARGUMENTS, scope="acme", turn="t1") is False


# What a person answers to it


def answered(ledger: Any, action: str, what: Any, **more: Any) -> None:  # noqa: ANN401 - any ledger
    now = ledger.now()
    late = type(now)(now.earliest + 60, now.latest + 60)
    ledger.resolve("acme", action, what, now=late, **more)


@pytest.mark.parametrize("kind", [MemoryLedger, SQLiteLedger])
@pytest.mark.parametrize("is_anew", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids="+".join)
def test_what_a_person_says_of_it_counts_for_the_call_that_was_refused(
    change: dict[str, Any],
    is_anew: bool,
    kind: Any,  # noqa: ANN401 - either ledger
    tmp_path: Path,
) -> None:
    ledger = kind(tmp_path / "guard.db") if kind is SQLiteLedger else kind()
    said = {"happened": b'"paid"', "abandon": None, "again": None, "did_not_happen": None}
    for what, value in said.items():
        one, other = Watched(ledger), Watched(ledger, **change)
        first = one.call(customer=what)
        assert other.call(customer=what).reason == "contract_changed"
        answered(ledger, first.action, what, value=value, final=what == "did_not_happen")
        then = Watched(ledger, **change) if is_anew else other
        then.service.result = "done"
        outcome = then.call(customer=what)
        sent = len(then.service.effects)
        if what == "happened":
            assert (outcome.value, outcome.replayed, sent) == ("paid", True, 0)
        elif what == "abandon":
            assert (outcome.action, outcome.reason, sent) == (first.action, "abandoned", 0)
        else:
            assert (outcome.value, sent) == ("done", 1)
            assert then.call(customer=what).value == "done"
            assert len(then.service.effects) == 1


def test_what_it_was_answered_counts_for_no_call_with_other_content() -> None:
    ledger = MemoryLedger()
    one, other = Watched(ledger), Watched(ledger, identity=["customer"])
    first = one.call(memo="x")
    assert other.call(memo="x").reason == "contract_changed"
    answered(ledger, first.action, "happened", value=b'"paid"')
    assert other.call(memo="y").reason == "differs"
    assert other.call(memo="x").value == "paid"
    assert other.service.effects == []


def test_an_action_that_was_sent_anew_and_lost_again_is_asked_about_again() -> None:
    ledger = MemoryLedger()
    one, other = Watched(ledger), Watched(ledger, resource="money")
    first = one.call()
    other.call()
    answered(ledger, first.action, "again")
    assert isinstance(other.call(), Unresolved)
    assert len(other.service.effects) == 1
    assert other.call().reason == "contract_changed"
    assert len(other.service.effects) == 1


def test_a_later_turn_begins_anew_and_its_own_lost_call_is_met_as_ever() -> None:
    ledger = MemoryLedger()
    one, other = Watched(ledger), Watched(ledger, resource="money")
    first = one.call()
    other.call()
    answered(ledger, first.action, "abandon")

    def later() -> Any:  # noqa: ANN401 - any outcome
        guard, send = other.guard, other.service.send
        return guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t2")

    begun = later()
    assert (begun.reason, begun.action == first.action) == ("nothing_can_tell", False)
    assert (later().reason, later().action) == ("nothing_can_tell", begun.action)
    assert len(other.service.effects) == 1


def test_what_holds_a_secret_of_before_is_not_sent_anew() -> None:
    """Its hash would go out in its place."""
    ledger = MemoryLedger()
    one, other = Watched(ledger, secret=("customer",)), Watched(ledger, resource="money")
    first = one.call()
    other.call()
    answered(ledger, first.action, "again")
    assert other.call().reason == "contract_changed"
    answered(ledger, first.action, "happened", value=b'"paid"')
    assert other.call().value == "paid"
    assert other.service.effects == []


class Overtaken(SQLiteLedger):
    """Another guard begins the action after the look at what is open, and before the claim."""

    def __init__(self, path: Path, another: Any) -> None:  # noqa: ANN401 - a call of any kind
        super().__init__(path)
        self.another: Any = another
        self.came = list[Unresolved]()

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        if self.another is not None:
            another, self.another = self.another, None
            self.came.append(another())
        return super().claim(record, after, now)


@pytest.mark.parametrize("change", CHANGES, ids="+".join)
def test_of_two_guards_that_begin_it_at_once_by_two_names_the_later_one_gives_way(
    change: dict[str, Any], tmp_path: Path
) -> None:
    path, service = tmp_path / "guard.db", Lost()
    ledger = Overtaken(path, lambda: call(SQLiteLedger(path), service))
    second = call(ledger, service, **change)
    (first,) = ledger.came
    assert first.reason == "nothing_can_tell"
    assert (second.action, second.reason) == (first.action, "contract_changed")
    assert len(service.effects) == 1
    assert [record.state for record in ledger.list("acme")] == ["open", "not_executed"]
    third = call(ledger, service, **change)
    assert (third.action, third.reason, len(service.effects)) == (
        *(first.action, "contract_changed"),
        1,
    )


def test_of_many_guards_that_race_by_three_names_one_sends(tmp_path: Path) -> None:
    service, barrier = Lost(), threading.Barrier(3)
    contracts = [Contract(**BEFORE, **change) for change in ({}, CHANGES[2], CHANGES[0])]
    outcomes: list[list[str]] = [[], [], []]

    def work(place: int) -> None:
        ledger = SQLiteLedger(tmp_path / "guard.db")
        guard = Guard(ledger, [contracts[place]], classify=classify)
        for number in range(20):
            given = {**ARGUMENTS, "customer": f"c{number}"}
            barrier.wait()
            outcome = guard.call("charge", given, send=service.send, scope="acme", turn="t1")
            assert isinstance(outcome, Unresolved)
            outcomes[place].append(outcome.reason)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({given["customer"] for given in service.effects}) == len(service.effects) == 20
    for reasons in zip(*outcomes, strict=True):
        assert sorted(reasons) == ["contract_changed", "contract_changed", "nothing_can_tell"]
