"""The operators: who is right, who is right for now, and who never answers."""

import pytest

from retry_guard import Answer
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import (
    OPERATORS,
    Operator,
    fencing,
    silent,
    snapshot,
)
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import World, build

COMMENT: Json = {"ticket": "TCK-101", "text": "t"}


def called(fault: str) -> World:
    """Return a world in which one comment was sent, and nobody knows what came of it."""
    world = build("tickets", "native", fault, Streams(0, "operators"))
    with pytest.raises(TimeoutError):
        world.wire.call("add_comment", COMMENT)
    return world


def made(world: World) -> int:
    """Let everything happen, and count."""
    world.clock.settle()
    return len(world.effects.of("add_comment"))


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("lost_request", "did_not_happen"),
        ("late_commit", "did_not_happen"),
        ("lost_ack", "happened"),
        ("redelivery", "abandon"),
    ],
)
def test_fencing_is_right_for_good_and_a_snapshot_only_for_now(fault: str, says: str) -> None:
    for operator, final in ((fencing, True), (snapshot, False)):
        world = called(fault)
        answer = operator(world.network, world.effects, "add_comment", COMMENT)
        assert (answer.what, answer.final) == (says, final)
        if says == "happened":
            assert answer.result == world.effects.of("add_comment")[0].item
        happened = made(world)
        if final:
            assert happened == {"did_not_happen": 0, "happened": 1, "abandon": 2}[says]
        elif fault == "late_commit":
            assert happened == 1


def test_a_snapshot_stops_nothing_and_a_silent_operator_does_nothing() -> None:
    operators: tuple[Operator, ...] = (snapshot, silent)
    for operator in operators:
        world = called("late_commit")
        answer = operator(world.network, world.effects, "add_comment", COMMENT, 0.0)
        assert (answer is None) == (operator is silent)
        assert made(world) == 1


def test_what_happened_before_the_action_was_sent_is_another_action() -> None:
    world = called("lost_ack")
    assert fencing(world.network, world.effects, "add_comment", COMMENT).what == "happened"
    world.clock.sleep(1)
    answer = fencing(world.network, world.effects, "add_comment", COMMENT, world.clock.time)
    assert answer == Answer("did_not_happen", final=True)


BATCH: Json = {"recipients": ["a@x", "b@x", "c@x"], "subject": "s", "body": "b"}


@pytest.mark.parametrize(
    ("fault", "says"),
    [("lost_request", "did_not_happen"), ("lost_ack", "happened"), ("partial_batch", "abandon")],
)
def test_of_a_batch_all_items_happened_or_none_or_it_is_given_up(fault: str, says: str) -> None:
    world = build("mail", "native", fault, Streams(0, "operators"))
    with pytest.raises(TimeoutError):
        world.wire.call("send_bulk", BATCH)
    answer = fencing(world.network, world.effects, "send_bulk", BATCH)
    assert answer.what == says
    if says == "happened":
        names = [effect.id for effect in world.effects.of("send_bulk")]
        assert answer.result == {"ids": names}
        assert len(names) == 3


def test_every_operator_is_known_by_its_name() -> None:
    assert dict(OPERATORS) == {"fencing": fencing, "snapshot": snapshot, "silent": silent}
    assert Effects().of("add_comment") == []
