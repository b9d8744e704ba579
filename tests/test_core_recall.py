"""What an action that has ended, or that another call holds, says to an equal call."""

from itertools import product
from typing import Any, Literal

import pytest

from retry_guard_core import End, Now, Policy, Record, Terms
from toy_hand import START, Hand, call_of

NEVER = 10_000.0  # longer ago than any window
POLICY = Policy()


def ended(**facts: Any) -> Record:  # noqa: ANN401 - any field of a record
    usual: dict[str, Any] = {"owner": "B", "state": "done", "value": "v", "ended": START - 100}
    return call_of(**{**usual, "about": "B1", **facts})


def recalled(record: Record, terms: Terms, **call: Any) -> Hand:  # noqa: ANN401 - any field of a record
    """Claim, and be given that record."""
    hand = Hand(call_of(**call), terms)
    return hand.give((Now(START, START), record, True, End("unknown")))


def inserts(hand: Hand, after: Record) -> bool:
    """Whether the call goes on to a new action, after the one that it was shown."""
    return hand.step is not None and hand.step[:3:2] == ("claim", after)


Repeat = Literal["allow", "warn", "escalate"]
REPEATS: tuple[Repeat, ...] = ("allow", "warn", "escalate")
AGES = (1.0, 599.0, 600.0, NEVER)


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_repeat_within_its_turn_replays_the_first_result_however_long_ago(repeat: Repeat) -> None:
    for age, delivered in product(AGES, (False, True)):
        record = ended(settled_at=START - age, delivered=delivered)
        assert recalled(record, Terms(tool="t", repeat=repeat)).end == End("done", "v")


@pytest.mark.parametrize(("repeat", "age"), tuple(product(REPEATS, AGES)))
def test_a_repeat_in_a_later_turn_is_a_new_action_within_the_policy(
    repeat: Repeat, age: float
) -> None:
    record = ended(settled_at=START - age, delivered=True)
    hand = recalled(record, Terms(tool="t", repeat=repeat), turn="t2")
    if repeat == "escalate" and age < 600:
        assert hand.end == End("unresolved", note="repeat_escalate")
        return
    assert inserts(hand, record)
    hand.tell(START).tell(START + 1, end=End("done", "w")).tell(START + 1)
    assert hand.end is not None
    warned = hand.end.note == "repeat_warn"
    assert warned == (repeat == "warn" and age < 600)


@pytest.mark.parametrize(("repeat", "age"), tuple(product(REPEATS, AGES)))
def test_a_result_that_nobody_received_is_told_in_any_turn(repeat: Repeat, age: float) -> None:
    record = ended(settled_at=START - age)
    hand = recalled(record, Terms(tool="t", repeat=repeat), turn="t2")
    assert hand.end == End("done", "v", "earlier_turn")


@pytest.mark.parametrize(("age", "replays"), [(0.0, True), (59.5, True), (60.0, False)])
def test_where_no_turn_is_shown_calls_within_the_window_are_one_turn(
    age: float, replays: bool
) -> None:
    record = ended(turn=None, settled_at=START - age, delivered=True)
    hand = recalled(record, Terms(tool="t"), turn=None)
    assert (hand.end == End("done", "v")) is replays
    assert inserts(hand, record) is not replays


def test_what_was_settled_in_the_future_counts_as_just_now() -> None:
    record = ended(turn=None, settled_at=START + 3_600, delivered=True)
    assert recalled(record, Terms(tool="t"), turn=None).end == End("done", "v")


def test_an_idempotent_action_never_replays() -> None:
    terms = Terms(tool="t", effect="idempotent")
    for turn, delivered, age in product(("t1", "t2", None), (False, True), AGES):
        record = ended(settled_at=START - age, delivered=delivered)
        assert inserts(recalled(record, terms, turn=turn), record)


@pytest.mark.parametrize("delivered", [False, True])
def test_the_same_identity_with_other_content_is_refused(delivered: bool) -> None:
    record = ended(settled_at=START - 1, delivered=delivered, content=b"other")
    assert recalled(record, Terms(tool="t")).end == End("unresolved", note="differs")
    other_turn = recalled(record, Terms(tool="t"), turn="t2")
    if delivered:
        assert inserts(other_turn, record)
    else:
        assert other_turn.end == End("unresolved", note="differs")


def test_what_another_tool_did_to_the_resource_is_no_result_of_this_one() -> None:
    record = ended(settled_at=START - 1, tool="u")
    assert recalled(record, Terms(tool="t")).end == End("unresolved", note="differs")


def test_an_abandoned_action_stays_refused_in_its_turn_and_starts_anew_later() -> None:
    record = ended(state="abandoned", value=None, settled_at=START - 1)
    assert recalled(record, Terms(tool="t")).end == End("unresolved", note="abandoned")
    hand = recalled(record, Terms(tool="t"), turn="t2")
    assert inserts(hand, record)
    hand.tell(START).tell(START + 1, end=End("done", "w")).tell(START + 1)
    assert hand.end == End("done", "w", "abandoned")


@pytest.mark.parametrize("turn", ["t1", "t2"])
def test_an_operators_again_starts_one_more(turn: str) -> None:
    record = ended(settled_at=START - 1, delivered=True, answer="again")
    hand = recalled(record, Terms(tool="t", repeat="escalate"), turn=turn)
    assert inserts(hand, record)
    assert hand.record.answer is None


def test_after_a_refusal_the_next_call_starts_a_new_generation_with_what_it_has_left() -> None:
    record = ended(state="not_executed", settled_at=START - 1, generation=2, fresh=1)
    hand = recalled(record, Terms(tool="t"))
    assert inserts(hand, record)
    assert (hand.record.generation, hand.record.fresh, hand.record.key) == (3, 1, None)


@pytest.mark.parametrize("turn", ["t1", "t2", None])
@pytest.mark.parametrize("state", ["done", "not_executed"])
@pytest.mark.parametrize("effect", ["write", "idempotent"])
def test_who_waited_for_a_live_call_is_told_its_end(
    effect: Literal["write", "idempotent"],
    state: Literal["done", "not_executed"],
    turn: str | None,
) -> None:
    """Also in another turn, also where the first caller has received it, also a refusal."""
    hand = Hand(call_of(turn=turn), Terms(tool="t", effect=effect)).tell(START, owner="B")
    assert (hand.does, hand.step and hand.step.detail) == ("wait", POLICY.poll)
    hand.tell(START + 1)
    assert hand.does == "claim"
    told: dict[str, Any] = {"turn": "t1", "state": state, "value": "v", "settled_at": START + 0.5}
    hand.tell(START + 1, owner="B", delivered=state == "done", **told)
    assert hand.end is not None
    assert hand.end[:2] == (state, "v")


def test_who_waited_until_the_deadline_says_that_it_is_still_running() -> None:
    hand, time = Hand(call_of(), Terms(tool="t"), Policy(poll=20.0)), START
    for _ in range(3):
        hand.tell(time, owner="B", lease=START + 90)
        time += 20
        hand.tell(time)
    hand.tell(time, owner="B", lease=START + 90)
    assert hand.end == End("unresolved", note="still_running", not_before=START + 90)


def test_an_expired_lease_opens_an_investigation_and_never_a_send() -> None:
    for terms in (
        Terms(tool="t"),
        Terms(tool="t", read_back=True),
        Terms(tool="t", read_back=True, conclusive=True, bound=10.0),
        Terms(tool="t", keyed=True, retention=None),
        Terms(tool="t", keyed=True, retention=10.0),
    ):
        hand = Hand(call_of(claimed=START + 40), terms)
        hand.tell(START + 40, key="k", ended=START + 30, sends=(START,), claimed=START + 40)
        assert hand.does in ("ask", "read", "wait"), terms
        assert hand.record.state == "open"


def test_a_call_that_finds_its_record_settled_after_a_refused_save_tells_that_end() -> None:
    hand = Hand(call_of(), Terms(tool="t", keyed=True, retention=900.0)).sent(key="k")
    hand.tell(START + 2).tell(START + 2, ok=False)
    assert hand.does == "claim"
    hand.tell(START + 3, owner="B", state="done", value="v", settled_at=START + 2)
    assert hand.end == End("done", "v")
