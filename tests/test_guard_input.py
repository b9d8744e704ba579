"""Wrong input of every kind: one clear line, nothing sent, nothing lost."""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    HandClock,
    Lab,
    LabMaker,
    Send,
    changed,
    every_guard,
    gives,
)
from retry_guard import (
    ArgumentError,
    AsyncGuard,
    Contract,
    Guard,
    GuardError,
    Outcome,
    Policy,
    UnresolvedError,
    UsageError,
)
from retry_guard_core import Now, Policy as CorePolicy
from retry_guard_ledgers import MemoryLedger, SQLiteLedger, about
from retry_guard_outcomes import classify

Kind = type[Guard] | type[AsyncGuard]

CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE


@every_guard
@pytest.mark.parametrize(
    "given",
    [
        [1, 2],
        "text",
        None,
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": object()},
        {"x": {1: 2}},
        {"x": "\ud800"},
        {1: 2},
        CYCLE,
        {"key": 7},
        {"x": 10**5000},
        {"x": print},
    ],
    ids=lambda given: type(given).__name__,
)
def test_arguments_that_cannot_be_named_or_kept_are_refused(
    make: LabMaker, given: Args, tmp_path: Path
) -> None:
    """B105, B64."""
    lab = make(tmp_path)
    with pytest.raises(ArgumentError) as caught:
        lab.guard(KEYED).call(given)
    assert "\n" not in str(caught.value)
    assert "argument" in str(caught.value)
    assert (lab.service.requests, lab.records(None)) == ([], [])


@every_guard
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tool": "unlisted"}, "no contract for the tool 'unlisted' .there are: charge."),
        ({"scope": ""}, "scope .the account it acts for. and turn must be text"),
        ({"turn": ""}, "must be text that is not empty"),
        ({"scope": 7}, "must be text that is not empty"),
        ({"turn": 7}, "must be text that is not empty"),
    ],
)
def test_a_call_without_tool_scope_or_turn_is_refused(
    make: LabMaker, wrong: dict[str, Any], message: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    with pytest.raises(UsageError, match=message) as caught:
        lab.guard(PLAIN).call(**wrong)
    assert "\n" not in str(caught.value)
    assert (lab.service.requests, lab.records(None)) == ([], [])


@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
def test_parts_that_do_not_fit_are_refused_at_once(kind: Kind) -> None:
    def build(*contracts: Contract, mode: Any = "guard") -> Guard | AsyncGuard:  # noqa: ANN401 - also wrong ones
        return kind(MemoryLedger(), contracts, classify=classify, mode=mode)

    with pytest.raises(UsageError, match="give one of guard, observe, off"):
        build(mode="on")
    with pytest.raises(UsageError, match="give the guard read="):
        build(READABLE)
    with pytest.raises(UsageError, match="charge has two different contracts: keep one"):
        build(PLAIN, KEYED)
    with pytest.raises(UsageError, match="charge has two equal contracts: keep one"):
        build(PLAIN, Contract(tool="charge"))
    guard = build(PLAIN)
    guard.add(Contract(tool="charge"))
    with pytest.raises(UsageError, match="two different contracts"):
        guard.add(KEYED)
    with pytest.raises(UsageError):
        guard.add(changed(READABLE, tool="other"))
    assert guard.contracts == {"charge": PLAIN}


NO_NUMBERS = ["4", "x\ny", None, True, [1], float("nan"), float("inf"), -1, -1.0, 1j]
POLICY = [field.name for field in fields(Policy)]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("field", POLICY)
def test_a_policy_that_no_call_could_live_with_is_refused(field: str, value: object) -> None:
    with pytest.raises(UsageError, match=rf"Policy\({field}=.*\): give a ") as caught:
        Policy(**{field: value})  # type: ignore[arg-type] # any field
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["attempts", "fresh_sends"])
def test_only_a_whole_number_counts_sends(field: str) -> None:
    with pytest.raises(UsageError, match="a whole number"):
        Policy(**{field: 1.5})  # type: ignore[arg-type] # any field


@pytest.mark.parametrize("field", POLICY)
def test_only_a_lease_and_a_poll_need_some_time(field: str) -> None:
    if field in ("lease", "poll"):
        with pytest.raises(UsageError, match=f"{field}=0.*above 0"):
            Policy(**{field: 0})
    else:
        assert getattr(Policy(**{field: 0}), field) == 0


WRONG_PARTS: list[tuple[dict[str, Any], str]] = [
    ({"classify": None}, "classify: give a function, not NoneType"),
    ({"classify": "done"}, "classify: give a function, not str"),
    ({"read": 5}, "read: give a function, not int"),
    ({"ask": "me"}, "ask: give a function, not str"),
    ({"ledger": None}, "ledger: NoneType lacks now, claim"),
    ({"ledger": "sqlite:///guard.db"}, "ledger: str lacks now"),
    ({"ledger": HandClock()}, "ledger: HandClock lacks claim, .*, secret, durable"),
    ({"contracts": PLAIN}, "a single Contract was given: put it into a list"),
    ({"contracts": None}, "give a list of Contract, not NoneType"),
    ({"contracts": [{"tool": "charge"}]}, "give Contract objects, not dict"),
    ({"contracts": "charge"}, "give Contract objects, not str"),
    ({"policy": {"attempts": 1}}, "policy: give a retry_guard.Policy, not dict"),
    ({"policy": CorePolicy()}, "policy: give a retry_guard.Policy, not Policy"),
    ({"clock": 5}, "clock: int lacks now"),
    ({"secret": "a secret that is long enough"}, "secret: give bytes, not str"),
    ({"secret": bytearray(32)}, "secret: give bytes, not bytearray"),
    ({"secret": b"x" * 15}, "secret is too short: give at least 16 random bytes"),
    ({"secret": b""}, "secret is too short"),
]


@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
@pytest.mark.parametrize(("parts", "message"), WRONG_PARTS, ids=lambda part: str(part)[:30])
def test_a_part_of_the_wrong_kind_is_refused_when_the_guard_is_made(
    kind: Kind, parts: dict[str, Any], message: str
) -> None:
    good: dict[str, Any] = {"ledger": MemoryLedger(), "classify": classify}
    with pytest.raises(UsageError, match=message) as caught:
        kind(**{**good, **parts})
    assert "\n" not in str(caught.value)
    kind(**good, secret=b"x" * 16)


@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
def test_what_is_added_later_is_a_contract_too(kind: Kind) -> None:
    guard = kind(MemoryLedger(), classify=classify)
    with pytest.raises(UsageError, match="give Contract objects, not dict"):
        guard.add({"tool": "charge"})  # type: ignore[arg-type] # wrong on purpose  # pyright: ignore[reportArgumentType]


def test_a_classifier_that_has_to_be_awaited_is_refused() -> None:
    for kind in (Guard, AsyncGuard):
        with pytest.raises(UsageError, match="classify: an async function"):
            kind(MemoryLedger(), classify=later)  # type: ignore[arg-type] # wrong on purpose  # pyright: ignore[reportArgumentType]


def test_a_secret_of_the_environment_that_is_too_short_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RETRY_GUARD_SECRET", "short")
    with pytest.raises(UsageError, match=r"RETRY_GUARD_SECRET is too short: .* 16") as caught:
        Guard(MemoryLedger(), classify=classify)
    assert "short'" not in str(caught.value)
    Guard(MemoryLedger(), classify=classify, secret=b"x" * 16)
    monkeypatch.setenv("RETRY_GUARD_SECRET", "")
    Guard(MemoryLedger(), classify=classify)


class Unreadable(Mapping[str, Any]):
    """A mapping whose access fails, with a text that says too much."""

    def __getitem__(self, name: str) -> object:
        raise RuntimeError("hunter2")

    def __iter__(self) -> Iterator[str]:
        return iter(["x"])

    def __len__(self) -> int:
        return 1


WRONG_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"tool": ["charge"]}, "tool: give its name as text, not list"),
    ({"tool": None}, "tool: give its name as text, not NoneType"),
    ({"send": None}, "send: give a function, not NoneType"),
    ({"send": "charge"}, "send: give a function, not str"),
    *(({"ordinal": bad}, "ordinal must be") for bad in ("x", 1.5, -1, None, True, [1])),
    *(({"call_id": bad}, "call_id must be") for bad in (b"x", True, 1.5, ["x"], object())),
    ({"call_id": 10**5000}, "call_id must be"),
    ({"arguments": Unreadable()}, r"arguments cannot be read \(RuntimeError\)"),
]


@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize(
    ("wrong", "message"), WRONG_CALLS, ids=lambda part: str(next(iter(part)))[:30]
)
@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
def test_a_call_that_is_put_wrongly_is_refused_before_it_is_claimed(
    kind: Kind,
    wrong: dict[str, Any],
    message: str,
    effect: Literal["write", "read"],
    tmp_path: Path,
) -> None:
    ledger, sent = SQLiteLedger(tmp_path / "guard.db"), list[Args]()
    guard = kind(ledger, [Contract(tool="charge", effect=effect)], classify=classify)

    def send(arguments: Args, extra: Extra) -> None:
        sent.append(arguments)

    call: dict[str, Any] = {
        "tool": "charge",
        "arguments": ARGUMENTS,
        "send": send,
        "scope": "acme",
    }
    with pytest.raises(UsageError, match=message) as caught:
        finished(guard.call(**{**call, **wrong}))
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert (sent, ledger.list()) == ([], [])


@every_guard
def test_a_call_id_that_is_a_number_is_kept_as_text(make: LabMaker, tmp_path: Path) -> None:
    """The ids of JSON-RPC are numbers or text."""
    lab = make(tmp_path)
    lab.guard(PLAIN).done(call_id=5)
    assert about(lab.only()).call_ids == ("5",)


@every_guard
def test_any_mapping_that_can_be_read_is_taken(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    assert lab.guard(PLAIN).done(MappingProxyType(ARGUMENTS)).value == {"id": "ch_1"}
    assert lab.guard(PLAIN).done(ARGUMENTS).replayed
    assert lab.service.requests == [ARGUMENTS]


def broken(outcome: object) -> object:
    raise RuntimeError("the classifier has a fault")


def says(value: object) -> Callable[[object], object]:
    return lambda outcome: value


@every_guard
@pytest.mark.parametrize(
    "faulty",
    [broken, says(None), says("done"), says(True)],
    ids=["raises", "none", "text", "true"],
)
def test_a_classifier_that_fails_proves_nothing_and_says_so(
    make: LabMaker,
    faulty: Callable[[object], object],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = make(tmp_path)
    outcome = lab.guard(PLAIN, classify=faulty).unresolved()
    assert outcome.reason == "nothing_can_tell"
    assert any("classify" in record.message for record in caplog.records)
    with pytest.raises(UnresolvedError, match="not known whether"):
        outcome.unwrap()
    assert lab.guard(PLAIN).unresolved().action == outcome.action
    assert len(lab.service.requests) == 1


def leaking(outcome: object) -> object:
    raise RuntimeError("cannot read hunter2")


@every_guard
@pytest.mark.parametrize("effect", ["write", "read"])
@pytest.mark.parametrize("hidden", [True, False])
def test_what_a_classifier_says_when_it_fails_is_logged_only_where_no_field_is_secret(
    make: LabMaker,
    hidden: bool,
    effect: Literal["write", "read"],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lab = make(tmp_path)
    secret = ["token"] if hidden else []
    contract = Contract(tool="charge", effect=effect, secret=secret)
    lab.guard(contract, classify=leaking).call({**ARGUMENTS, "token": "hunter2"})
    assert "classify failed" in caplog.text
    assert "RuntimeError" in caplog.text
    assert ("hunter2" in caplog.text) is not hidden


@every_guard
@pytest.mark.parametrize("hidden", [True, False])
def test_what_keeps_an_observer_from_noting_is_logged_only_where_no_field_is_secret(
    make: LabMaker, hidden: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)

    class Talking(HandClock):
        def now(self) -> Now:
            raise RuntimeError("cannot tell when hunter2 came")

    contract = Contract(tool="charge", secret=["token"] if hidden else [])
    guard = lab.guard(contract, mode="observe", clock=Talking())
    assert guard.done({**ARGUMENTS, "token": "hunter2"}).value == {"id": "ch_1"}
    assert "a call of charge was not observed" in caplog.text
    assert "RuntimeError" in caplog.text
    assert ("hunter2" in caplog.text) is not hidden


@every_guard
@pytest.mark.parametrize("faulty", [broken, says(None)], ids=["raises", "none"])
def test_a_classifier_that_fails_stops_no_read(
    make: LabMaker, faulty: Callable[[object], object], tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(Contract(tool="charge", effect="read"), classify=faulty)
    assert guard.done(send=gives(7)).value == 7


async def later(arguments: Args, extra: Extra) -> None:
    raise AssertionError("it ran")


class Awaited:
    """An object that has to be awaited when it is called."""

    async def __call__(self, arguments: Args, extra: Extra) -> None:
        raise AssertionError("it ran")


@pytest.mark.parametrize(
    "send", [later, functools.partial(later), Awaited()], ids=["function", "partial", "object"]
)
def test_an_async_send_is_refused_by_the_guard_that_blocks(send: Send, tmp_path: Path) -> None:
    lab = Lab("sync", "memory", tmp_path)
    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(PLAIN).call(send=send)
    assert lab.records(None) == []


def test_a_send_that_returns_something_to_await_is_refused_and_proves_nothing(
    tmp_path: Path,
) -> None:
    """What the function did before it returned is not known."""
    lab = Lab("sync", "memory", tmp_path)
    with pytest.raises(UsageError, match="use AsyncGuard"):
        lab.guard(PLAIN).call(send=lambda arguments, extra: [later(arguments, extra)][0])
    assert lab.only().state == "open"


def test_async_reads_and_questions_are_refused_by_the_guard_that_blocks(tmp_path: Path) -> None:
    lab = Lab("sync", "memory", tmp_path)
    lab.service.meet("lost_ack")

    async def awaited(*given: object) -> None:
        raise AssertionError("it ran")

    with pytest.raises(UsageError, match="read: an async function was given: use AsyncGuard"):
        lab.guard(READABLE, read=awaited)
    with pytest.raises(UsageError, match="ask: an async function"):
        lab.guard(PLAIN, ask=functools.partial(awaited))

    def returns_one(tool: str, given: Args) -> object:
        return awaited(tool, given)

    assert lab.guard(READABLE, read=returns_one).unresolved().reason == "too_late"
    assert lab.guard(READABLE).done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 1


def finished(outcome: Outcome | Coroutine[Any, Any, Outcome]) -> None:
    if inspect.iscoroutine(outcome):
        asyncio.run(outcome)


def numbers(arguments: Args, extra: Extra) -> object:
    yield 1


async def async_numbers(arguments: Args, extra: Extra) -> object:
    yield 1


@every_guard
@pytest.mark.parametrize("send", [numbers, async_numbers], ids=["sync", "async"])
def test_a_generator_is_refused_as_a_send(make: LabMaker, send: Send, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(PLAIN).guard
    with pytest.raises(UsageError, match="is a generator"):
        finished(guard.call("charge", ARGUMENTS, send=send, scope="acme"))
    assert lab.records(None) == []


@every_guard
def test_a_usage_error_inside_a_send_proves_nothing(make: LabMaker, tmp_path: Path) -> None:
    """A guard that is used wrongly inside the send says nothing about what the send did."""
    lab = make(tmp_path)

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.send(arguments, extra)
        raise UsageError("an inner guard")

    assert lab.guard(PLAIN).unresolved(send=send).reason == "nothing_can_tell"
    assert len(lab.service.effects) == 1


def test_hints_authorise_nothing(tmp_path: Path) -> None:
    """B34, B32: there is no input that a server's own words or a tool's name could go into."""
    lab = Lab("sync", "memory", tmp_path)
    for name in ("get_or_create_issue", "search_and_delete", "read_and_store"):
        lab.service.meet("lost_ack")
        guard = lab.guard(Contract(tool=name))
        assert guard.unresolved(tool=name).reason == "nothing_can_tell"
        assert guard.unresolved(tool=name).reason == "nothing_can_tell"
    assert len(lab.service.effects) == 3
    taken = {*inspect.signature(Guard.call).parameters, *inspect.signature(Guard).parameters}
    assert not any("hint" in name or "annotation" in name for name in taken)
    with pytest.raises(ValueError, match="idempotentHint"):
        Contract.model_validate({"tool": "charge", "idempotentHint": True})


def test_every_error_of_the_guard_has_one_base() -> None:
    for error in (ArgumentError, UsageError, UnresolvedError):
        assert issubclass(error, GuardError)
    assert HandClock().now().earliest > 0
