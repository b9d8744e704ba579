"""Rule 3: the key on the wire, and what goes out on every re-issue."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    LISTED,
    Args,
    Extra,
    HandClock,
    LabMaker,
    Operator,
    changed,
    every_guard,
)
from retry_guard import Guard, Policy, Unknown
from retry_guard_contracts import Contract, Key, ReadBack
from retry_guard_ledgers import MemoryLedger, about
from retry_guard_outcomes import classify

HOUR = 3600.0


@every_guard
@pytest.mark.parametrize("param", ["key", "options.key", "header:Idempotency-Key", "meta:key"])
def test_the_key_is_on_the_wire_from_the_first_send_on(
    make: LabMaker, param: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", "lost_ack")
    sent: list[tuple[Any, dict[str, str]]] = []

    def send(arguments: Args, extra: Extra) -> object:
        sent.append((arguments, extra))
        return lab.service.send(arguments, extra)

    contract = Contract(tool="charge", key=Key(param=param, retention=86400.0))
    lab.guard(contract).done(send=send)
    record = lab.only()
    assert record.key is not None
    assert UUID(record.key).version == 4
    expected: dict[str, tuple[Any, dict[str, str]]] = {
        "key": ({**ARGUMENTS, "key": record.key}, {}),
        "options.key": ({**ARGUMENTS, "options": {"key": record.key}}, {}),
    }
    assert sent == [expected.get(param, (ARGUMENTS, {param: record.key}))] * 3
    assert record.key.encode() not in about(record).arguments


@every_guard
def test_every_re_issue_sends_what_was_recorded_whatever_became_of_the_arguments(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", "lost")
    given: dict[str, Any] = {"customer": "c1", "lines": [{"sku": "a"}], "amount": 5}
    wanted = {"customer": "c1", "lines": [{"sku": "a"}], "amount": 5}

    def send(arguments: Args, extra: Extra) -> object:
        try:
            return lab.service.send(arguments, extra)
        finally:
            arguments["amount"] = 99
            arguments["lines"][0]["sku"] = object()
            arguments["lines"].append(1)

    lab.guard(KEYED).done(given, send=send)
    assert [{**r, "key": None} for r in lab.service.requests] == [{**wanted, "key": None}] * 3
    assert len(set(lab.service.keys)) == 1


@every_guard
def test_a_second_caller_sends_the_arguments_and_the_key_of_the_first(
    make: LabMaker, tmp_path: Path
) -> None:
    """The fields that do not name the effect are those of the record."""
    lab = make(tmp_path)
    contract = Contract(
        tool="charge",
        key=KEYED.key,
        identity={"order": "fold"},
        volatile=("at",),
    )
    lab.service.meet("lost", times=5)
    lab.guard(contract).unresolved({"order": "Ö 1", "note": "a", "at": 1})
    other = lab.guard(contract, ledger=lab.open())
    outcome = other.done({"order": "ö  1", "note": "b", "at": 2}, turn="t2", call_id="call_9")
    assert outcome.warning is not None
    assert "were not sent" in outcome.warning
    sent = [{name: r[name] for name in ("order", "note", "at")} for r in lab.service.requests]
    assert sent == [{"order": "Ö 1", "note": "a", "at": 1}] * 6
    assert len(set(lab.service.keys)) == 1


@every_guard
@pytest.mark.parametrize(
    ("turns", "same"), [(("t1", "t1"), True), (("t1", "t2"), False), ((None, None), False)]
)
def test_guards_that_share_only_a_secret_ask_with_one_key_in_one_turn(
    make: LabMaker, turns: tuple[str | None, str | None], same: bool, tmp_path: Path
) -> None:
    """A lost or unshared ledger: the server still recognises the repeat."""
    lab = make(tmp_path)
    for turn in turns:
        guard = lab.guard(KEYED, ledger=MemoryLedger(), secret=b"s" * 32)
        guard.done(turn=turn)
    assert len(set(lab.service.keys)) == (1 if same else 2)
    assert len(lab.service.effects) == (1 if same else 2)


def test_the_secret_comes_from_the_environment_else_from_the_ledger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys: list[str] = []

    def send(arguments: Args, extra: Extra) -> None:
        keys.append(arguments["key"])

    def call() -> None:
        guard = Guard(MemoryLedger(), [KEYED], classify=classify)
        guard.call("charge", ARGUMENTS, send=send, scope="acme", turn="t1")

    call()
    monkeypatch.setenv("RETRY_GUARD_SECRET", "a long secret of the operator")
    call()
    call()
    monkeypatch.setenv("RETRY_GUARD_SECRET", "another one, as long")
    call()
    assert keys[1] == keys[2]
    assert len(set(keys)) == 3


@every_guard
@pytest.mark.parametrize("retention", [86400.0, None])
def test_beyond_its_retention_a_key_is_not_sent_again(
    make: LabMaker, retention: float | None, tmp_path: Path
) -> None:
    """B83, B35, B84: lost at 0, resumed at 25 h; with no stated retention not even after 1 h."""
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=Key(param="key", retention=retention))
    lab.service.meet("lost_ack", times=5)
    guard = lab.guard(contract)
    guard.unresolved()
    sent = len(lab.service.requests)
    lab.clock.sleep(25 * HOUR if retention else HOUR)
    assert lab.guard(contract).unresolved().reason == "nothing_can_tell"
    assert len(lab.service.requests) == sent


LAPSED = [
    (86400.0, 25 * HOUR, "remembered for 86400 s, and that has passed."),
    (86400.0, 23 * HOUR, "remembered for 86400 s, and what is left of that is too short"),
    (None, HOUR, "not stated how long its key is remembered"),
    (86400.0, HOUR, None),
]


@every_guard
@pytest.mark.parametrize(("retention", "later", "said"), LAPSED)
@pytest.mark.parametrize("read", [None, LISTED])
def test_who_is_stopped_by_a_key_that_lapsed_is_told_so(
    make: LabMaker,
    retention: float | None,
    later: float,
    said: str | None,
    read: ReadBack | None,
    tmp_path: Path,
) -> None:
    """B35: same key at 0 and beyond the window; the caller, and the person who is asked."""
    lab = make(tmp_path)
    key = Key(param="key", retention=retention)
    contract = changed(Contract(tool="charge", key=key), read_back=read)
    lab.service.meet("lost", times=20)
    asked = Operator(None)
    first = lab.guard(contract).unresolved()
    lab.clock.sleep(later)
    last = lab.guard(contract, ask=asked).unresolved()
    assert "remembered" not in first.text
    assert asked.asked or read
    for text in (last.text, *(question.text for question in asked.asked)):
        assert (said or "") in text
        assert ("remembered" in text) is (said is not None)


@every_guard
def test_inside_its_retention_a_later_call_goes_on_with_the_key(
    make: LabMaker, tmp_path: Path
) -> None:
    """B16, B35, B78: another turn, another call id, another process."""
    lab = make(tmp_path)
    lab.service.meet("lost_ack", times=5)
    lab.guard(KEYED).unresolved(call_id="c1")
    lab.clock.sleep(HOUR)
    outcome = lab.guard(KEYED, ledger=lab.open()).done(turn="t2", call_id="c9")
    assert outcome.warning is not None
    assert "earlier turn" in outcome.warning
    assert len(lab.service.effects) == 1
    assert len(set(lab.service.keys)) == 1
    assert about(lab.only()).call_ids == ("c1", "c9")


@every_guard
def test_a_re_issue_without_the_declared_sign_is_a_possible_duplicate(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    contract = Contract(
        tool="charge", key=Key(param="key", retention=86400.0, ack="idempotent_replay")
    )
    guard = lab.guard(contract)
    lab.service.meet("lost_ack")
    assert guard.unresolved().reason == "unclear"
    assert len(lab.service.requests) == 2
    guard.unresolved(turn="t2")
    assert len(lab.service.requests) == 2
    lab.service.meet("lost")
    other = guard.unresolved({**ARGUMENTS, "amount": 6})
    assert other.reason == "nothing_can_tell"  # the tool counts as keyless in this process
    assert len(lab.service.requests) == 3


@every_guard
def test_a_response_with_the_declared_sign_keeps_the_key_in_use(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    contract = Contract(tool="charge", key=Key(param="key", retention=86400.0, ack="honoured"))
    sent: list[str] = []

    def send(arguments: Args, extra: Extra) -> object:
        sent.append(arguments["key"])
        return Unknown(TimeoutError()) if len(sent) == 1 else {"honoured": True}

    assert lab.guard(contract).done(send=send).value == {"honoured": True}
    assert len(set(sent)) == 1


class StoresAll:
    """A fake service whose answer to a known key is whatever it said first."""

    def __init__(self, mode: str, clock: HandClock) -> None:
        self.mode, self.clock, self.effects = mode, clock, 0
        self.known: dict[str, Any] = {}

    def send(self, arguments: Args, extra: Extra) -> object:
        key = arguments["key"]
        if key in self.known:
            if self.mode == "409":
                return Unknown(RuntimeError("409 already exists"), hint="exists")
            return self.known[key]
        self.effects += 1
        lost = Unknown(RuntimeError("500 after the effect"))
        self.known[key] = lost if self.mode == "stores all" else {"id": self.effects}
        self.clock.sleep(1)
        return lost


@every_guard
@pytest.mark.parametrize(
    ("mode", "ends"),
    [("stores all", "nothing_can_tell"), ("stores 2xx", "done"), ("409", "nothing_can_tell")],
)
def test_no_rules_of_one_provider_are_assumed(
    make: LabMaker, mode: str, ends: str, tmp_path: Path
) -> None:
    """B86, B81: stores-all replays its 500, stores-2xx completes, 409-on-repeat is evidence."""
    lab = make(tmp_path)
    service = StoresAll(mode, lab.clock)
    guard = lab.guard(KEYED, policy=Policy(attempts=3))
    if ends == "done":
        assert guard.done(send=service.send).value == {"id": 1}
    else:
        assert guard.unresolved(send=service.send).reason == ends
    assert service.effects == 1
    assert list(service.known) == [lab.only().key]
