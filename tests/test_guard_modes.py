"""Modes `observe` and `off`: as if there were no guard; what it would have done is noted."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    READABLE,
    Args,
    Extra,
    Flaky,
    Lab,
    LabMaker,
    Operator,
    Send,
    Subject,
    every_guard,
)
from retry_guard import Contract, Observation
from retry_guard_outcomes import Done, Unknown

every_mode = pytest.mark.parametrize("mode", ["observe", "off"])


class Odd(Exception):  # noqa: N818 - an exception that counts as false
    def __bool__(self) -> bool:
        return False


class Stop(BaseException):
    """As an interrupt that goes through everything."""


ERROR, STOP, ODD = TimeoutError("lost"), Stop(), Odd()
RESULTS: list[Any] = [
    {"id": 1},
    None,
    Unknown(ERROR),
    Done({"id": 2}, replayed=True),
    "\ud800",
    object(),
    ERROR,
    STOP,
    ODD,
    ConnectionRefusedError("nobody"),
]
GIVEN: list[Any] = [
    ARGUMENTS,
    {**ARGUMENTS, "key": "K"},
    {**ARGUMENTS, "key": 7},
    {"x": float("nan")},
    {"x": object()},
    {"token": "secret"},
    {},
    [1, 2],
]


def replies(result: object, seen: list[Any]) -> Callable[[dict[str, Any], dict[str, str]], Any]:
    def send(arguments: Args, extra: Extra) -> object:
        seen.append((arguments, extra))
        if isinstance(result, BaseException):
            raise result
        return result

    return send


def what_comes(run: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "returned", run()
    except BaseException as error:  # noqa: BLE001 - what is compared
        return "raised", error


def unwrapped(guard: Subject, given: Args, send: Send) -> object:
    return guard.call(given, send=send).unwrap()


@every_guard
@every_mode
@pytest.mark.parametrize(
    "contract", [PLAIN, KEYED, READABLE, Contract(tool="charge", effect="read")]
)
def test_effects_arguments_results_and_exceptions_are_those_of_a_direct_call(
    make: LabMaker, mode: str, contract: Contract, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(contract, mode=mode, ask=Operator())
    for given in GIVEN:
        for result in RESULTS:
            direct, guarded = list[Any](), list[Any]()
            plain = what_comes(partial(replies(result, direct), given, {}))
            passed = what_comes(partial(unwrapped, guard, given, replies(result, guarded)))
            assert passed[0] == plain[0]
            assert passed[1] is plain[1]
            assert guarded == direct
    assert lab.clock.at == lab.clock.__class__().at
    assert lab.service.reads == 0


@every_guard
@every_mode
def test_a_wrong_use_stops_no_call_either(make: LabMaker, mode: str, tmp_path: Path) -> None:
    lab = make(tmp_path)
    guard = lab.guard(PLAIN, mode=mode)
    assert guard.done(tool="unlisted").value == {"id": "ch_1"}
    assert guard.done(scope="", turn="").value == {"id": "ch_2"}
    seen = [(note.would, note.reason) for note in guard.guard.observations]
    assert seen == [("refuse", "usage")] * (2 if mode == "observe" else 0)


@every_guard
@every_mode
def test_a_ledger_that_is_down_stops_no_call(make: LabMaker, mode: str, tmp_path: Path) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    guard = lab.guard(KEYED, ledger=flaky, mode=mode)
    for down in ("find", "claim", "save", "deliver"):
        flaky.down = {down}
        lab.service.meet("ok", TimeoutError("lost"))
        assert guard.done({**ARGUMENTS, "down": down, "key": "K"}).replayed is False
        with pytest.raises(TimeoutError, match="lost"):
            guard.call({**ARGUMENTS, "other": down})
    assert len(lab.service.requests) == 8


def notes(subject: Subject) -> list[tuple[str, str]]:
    return [(note.would, note.reason) for note in subject.guard.observations]


@every_guard
@pytest.mark.parametrize(
    ("contract", "would"),
    [
        (PLAIN, "ask"),
        (KEYED, "reissue"),
        (READABLE, "read"),
        (Contract(tool="charge", effect="idempotent"), "reissue"),
    ],
)
def test_what_a_guard_would_do_about_an_unknown_outcome_is_noted(
    make: LabMaker, contract: Contract, would: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    guard = lab.guard(contract, mode="observe", ask=Operator())
    with pytest.raises(TimeoutError):
        guard.call(send=replies(ERROR, []))
    assert notes(guard) == [(would, "")]
    lab.clock.sleep(1)
    assert guard.done().value == {"id": "ch_1"}
    assert notes(guard)[1] == ("carry_on", would)
    assert len(lab.service.requests) == 1


@every_guard
def test_sends_replays_refusals_and_reads_are_noted(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    page = Contract(tool="publish", identity={"slug": "exact"})
    status = Contract(tool="status", effect="read")
    guard = lab.guard(KEYED, page, status, mode="observe")
    guard.done()
    guard.done()
    guard.done(turn="t2")
    guard.done({"slug": "a", "text": "1"}, tool="publish")
    guard.done({"slug": "a", "text": "2"}, tool="publish")
    guard.done({"x": float("nan")})
    guard.done(tool="status")
    with pytest.raises(ConnectionRefusedError):
        guard.call({"n": 1}, send=replies(ConnectionRefusedError(), []))
    with pytest.raises(TimeoutError):
        guard.call({"n": 2, "key": "K"}, send=replies(ERROR, []))
    guard.done({"n": 3, "key": "K"})
    assert notes(guard) == [
        ("send", ""),
        ("replay", ""),
        ("send", "repeat_warn"),
        ("send", ""),
        ("refuse", "differs"),
        ("refuse", "arguments"),
        ("send", "read"),
        ("send", ""),
        ("reissue", ""),
        ("refuse", "key_conflict"),
    ]
    assert len(lab.service.requests) == 8
    names = {type(note) for note in guard.guard.observations}
    assert names == {Observation}


@every_guard
def test_a_call_that_meets_one_under_way_would_have_joined(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    inner = Lab("sync", "memory", tmp_path)
    inner.ledger, inner.clock = lab.ledger, lab.clock
    other = inner.guard(PLAIN, mode="observe")

    def send(arguments: Args, extra: Extra) -> object:
        assert other.done(send=replies("inner", [])).value == "inner"
        return "outer"

    assert lab.guard(PLAIN, mode="observe").done(send=send).value == "outer"
    assert notes(other) == [("join", "")]


@every_guard
def test_nothing_that_was_observed_ever_meets_a_guarded_call(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    observing, guard = lab.guard(KEYED, mode="observe"), lab.guard(KEYED)
    observing.done()
    with pytest.raises(TimeoutError):
        observing.call({**ARGUMENTS, "key": "K"}, send=replies(ERROR, []))
    first = guard.done()
    assert (first.replayed, first.warning) == (False, None)
    assert guard.done({**ARGUMENTS, "amount": 9, "key": "K"}).warning is None
    assert lab.service.keys[-1] == "K"
    assert len(lab.records("acme")) == 2
    assert {record.about.scope for record in lab.records(None)} == {"acme", "observed:acme"}


@every_guard
def test_mode_off_touches_no_ledger_and_notes_nothing(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    flaky = Flaky(lab.ledger)
    guard = lab.guard(KEYED, ledger=flaky, mode="off")
    guard.done()
    assert (flaky.calls, notes(guard)) == ([], [])
