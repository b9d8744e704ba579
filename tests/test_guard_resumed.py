"""Calls that meet what an earlier one left: still running, vanished, or spelled otherwise."""

from pathlib import Path
from typing import Any

import pytest

from guards import (
    ARGUMENTS,
    KEYED,
    PLAIN,
    Args,
    Extra,
    Flaky,
    HandClock,
    Lab,
    LabMaker,
    every_guard,
)
from retry_guard import Contract, Guard, Policy, Unresolved
from retry_guard_outcomes import classify


@every_guard
def test_a_repeat_joins_while_the_first_call_runs_and_replays_after_it(
    make: LabMaker, tmp_path: Path
) -> None:
    """B28, B57, B6: the tool takes 90 s, the client repeats at 65 s and at 120 s."""
    lab = make(tmp_path)
    policy = Policy(lease=1000.0, deadline=20.0)
    running = list[Unresolved]()

    def send(arguments: Args, extra: Extra) -> object:
        lab.clock.sleep(65)
        other = Guard(lab.open(), [PLAIN], classify=classify, clock=lab.clock, policy=policy)
        outcome = other.call("charge", ARGUMENTS, send=lab.service.send, scope="acme", turn="t1")
        assert isinstance(outcome, Unresolved)
        running.append(outcome)
        lab.clock.sleep(5)
        return lab.service.send(arguments, extra)

    assert lab.guard(PLAIN, policy=policy).done(send=send).value == {"id": "ch_1"}
    assert [(outcome.reason, outcome.tool) for outcome in running] == [("still_running", "charge")]
    assert running[0].not_before is not None
    assert "still running" in running[0].text
    lab.clock.sleep(30)
    assert lab.guard(PLAIN).done().replayed
    assert len(lab.service.requests) == 1


def vanish(lab: Lab, contract: Contract) -> None:
    """Let a holder die in mid send: nothing of what it learnt reaches the ledger."""
    flaky = Flaky(lab.ledger)

    def send(arguments: Args, extra: Extra) -> object:
        lab.service.send(arguments, extra)
        flaky.down = {"all"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lab.guard(contract, ledger=flaky).call(send=send)
    assert lab.only().state == "open"
    assert lab.only().lease > lab.clock.at


@every_guard
def test_a_holder_that_vanished_is_waited_for_and_then_investigated(
    make: LabMaker, tmp_path: Path
) -> None:
    """B61, B62, B115, B117: an expired lease is an unknown, and never free to run."""
    lab = make(tmp_path)
    vanish(lab, PLAIN)
    early = lab.guard(PLAIN, policy=Policy(deadline=5.0)).unresolved()
    assert early.reason == "still_running"
    assert early.not_before == lab.only().lease
    lab.clock.sleep(3600)
    assert lab.guard(PLAIN).unresolved().reason == "nothing_can_tell"
    lab.resolve("happened")
    assert lab.guard(PLAIN).done().replayed
    assert len(lab.service.effects) == 1


@every_guard
def test_with_a_key_the_next_caller_carries_on_for_one_that_vanished(
    make: LabMaker, tmp_path: Path
) -> None:
    """B78: kill after the effect, restart."""
    lab = make(tmp_path)
    vanish(lab, KEYED)
    lab.clock.sleep(31)
    outcome = lab.guard(KEYED, ledger=lab.open()).done()
    assert (outcome.value, len(lab.service.effects)) == ({"id": "ch_1"}, 1)
    assert len(set(lab.service.keys)) == 1


@every_guard
@pytest.mark.parametrize("error", [RuntimeError("503"), ValueError("the receipt bounced")])
def test_an_error_after_the_effect_pins_nothing_and_frees_nothing(
    make: LabMaker, error: Exception, tmp_path: Path
) -> None:
    """B75, B77, B42: an exception is no proof that nothing ran, and no result either."""
    lab = make(tmp_path)

    def send(arguments: Args, extra: Extra) -> object:
        result = lab.service.send(arguments, extra)
        if len(lab.service.requests) == 1:
            raise error
        return result

    assert lab.guard(KEYED).done(send=send).value == {"id": "ch_1"}
    assert len(lab.service.effects) == 1
    lab.guard(PLAIN).call({"n": 1}, send=_raises)
    assert lab.guard(PLAIN).unresolved({"n": 1}).reason == "nothing_can_tell"
    assert len(lab.service.requests) == 2


def _raises(arguments: Args, extra: Extra) -> None:
    raise ValueError("after the charge")


ROOM = Contract(
    tool="create",
    identity={"name": "fold", "at": "time", "tags": "set"},
    defaults={"capacity": 30},
)


@every_guard
@pytest.mark.parametrize(
    "again",
    [
        {"name": "cafe\u0301 5a"},
        {"name": "CAFÉ  5A"},
        {"name": "caf\u200bé 5a"},
        {"at": "2026-01-01T13:00:00+01:00"},
        {"tags": ["b", "a", "b"]},
        {"capacity": None},
        {"capacity": 30.0},
    ],
)
def test_a_call_that_is_spelled_otherwise_meets_the_unresolved_one(
    make: LabMaker, again: dict[str, Any], tmp_path: Path
) -> None:
    """B96, B97, B101, B106, B63, B93: by the contract's own normalisers."""
    lab = make(tmp_path)
    room: Args = {"name": "Café 5A", "at": "2026-01-01T12:00:00Z", "tags": ["a", "b"]}
    lab.service.meet("lost_ack")
    first = lab.guard(ROOM).unresolved(room, tool="create")
    later = lab.guard(ROOM, ledger=lab.open()).unresolved({**room, **again}, tool="create")
    assert later.action == first.action
    assert "were not sent" not in later.text
    assert lab.service.requests == [room]


@every_guard
@pytest.mark.parametrize("exact", [{"a": 1, "b": "x"}, {"b": "x", "a": 1.0}, {"b": "x", "a": 1}])
def test_the_order_of_fields_and_the_spelling_of_numbers_never_count(
    make: LabMaker, exact: dict[str, Any], tmp_path: Path
) -> None:
    """B63, B93, B12."""
    lab = make(tmp_path)
    lab.guard(PLAIN).done({"a": 1, "b": "x"})
    assert lab.guard(PLAIN).done(exact).replayed


@every_guard
def test_a_task_that_is_tried_again_from_its_top_replays_what_it_did(
    make: LabMaker, tmp_path: Path
) -> None:
    """B9, B122, B42: pay, then a step that fails; the whole is run again."""
    lab = make(tmp_path)
    tries = list[int]()

    def task() -> object:
        paid = lab.guard(PLAIN).done().value["id"]
        tries.append(1)
        if len(tries) < 3:
            raise ConnectionError("the next step")
        return paid

    for _ in range(2):
        with pytest.raises(ConnectionError):
            task()
    assert task() == "ch_1"
    assert len(lab.service.effects) == 1


@every_guard
def test_a_child_that_is_dead_before_the_write_and_one_that_dies_after_it(
    make: LabMaker, tmp_path: Path
) -> None:
    """B33, B32: only what is proven never to have left is free to run."""
    lab = make(tmp_path)
    lab.service.meet("refused", "ok", "lost_ack")
    assert lab.guard(PLAIN).not_executed({"n": 1}).rejected is False
    assert lab.guard(PLAIN).done({"n": 1}).replayed is False
    lab.guard(PLAIN).unresolved({"n": 2})
    lab.guard(PLAIN).unresolved({"n": 2})
    assert [effect["n"] for effect in lab.service.effects] == [1, 2]


@every_guard
def test_a_guard_can_be_called_inside_the_send_of_another(make: LabMaker, tmp_path: Path) -> None:
    """B42: the guard stands at the step that writes, and around the whole as well."""
    lab = make(tmp_path)
    inner = Guard(
        lab.open(), [Contract(tool="inner")], classify=classify, clock=HandClock(lab.clock.at)
    )

    def send(arguments: Args, extra: Extra) -> object:
        outcome = inner.call("inner", arguments, send=lab.service.send, scope="acme", turn="t1")
        if len(lab.service.fates) == 0:
            lab.service.meet("ok")
            raise TimeoutError
        return outcome.unwrap()

    outer = Contract(tool="charge", effect="idempotent")
    assert lab.guard(outer).done(send=send).value == {"id": "ch_1"}
    assert len(lab.service.effects) == 1
