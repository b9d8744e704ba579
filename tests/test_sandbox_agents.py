"""The scripted agents: each does one simple thing, and claims nothing that it was not told."""

import json
from collections.abc import Sequence
from itertools import product

import pytest

from retry_guard_sandbox.agents import AGENTS, Sight, ToolCall
from retry_guard_sandbox.services import KEY, Tool
from retry_guard_sandbox.tasks import Ref, Step
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._variants import variant

CHARGE: Json = {"customer": "c", "amount": 1, "currency": "eur", "description": "d"}
COMMENT: Json = {"ticket": "T", "text": "t"}
REFUND: Json = {"charge": Ref(0), "amount": 1, "reason": "r"}
OK, LOST, BUSY, REFUSED = (
    '{"id": "x"}',
    '{"error": "no response within 10 s"}',
    '{"error": "409 a request with this idempotency key is still running"}',
    '{"error": "422 this idempotency key was used with different parameters"}',
)
EMPTY = '{"data": []}'


def listed(arguments: Json, *names: str) -> str:
    """Return the text of a read that shows these."""
    return json.dumps({"data": [{"id": name, **arguments} for name in names]})


def sight(*steps: Step, service: str = "billing") -> Sight:
    """Return what an agent sees; its keys are a, b, c; other words are in capitals."""
    keys = iter("abcdefghijklmnopqrstuvwxyz")

    def reworded(_tool: str, arguments: Json) -> Json:
        return {n: v.upper() for n, v in arguments.items() if n in ("description", "text")}

    tools = variant("native", service).tools
    return Sight(steps, tools, lambda: next(keys), reworded=reworded)


def played(agent: str, seen: Sight, answers: Sequence[str]) -> list[tuple[ToolCall, ...]]:
    """Let an agent send messages; each call takes the next answer, the last one for ever."""
    told, moving = list(answers), AGENTS[agent](seen)
    messages = [next(moving)]
    while messages[-1][0].tool != "finish":
        texts = tuple(told.pop(0) if len(told) > 1 else told[0] for _ in messages[-1])
        messages.append(moving.send(texts))
        assert len(messages) < 40
    with pytest.raises(StopIteration):
        moving.send(())
    return messages


def summary(messages: Sequence[tuple[ToolCall, ...]]) -> list[str]:
    """Return tool, key and wording of each call, message by message; last, how it finished."""
    return [" + ".join(map(_named, message)) for message in messages]


def _named(call: ToolCall) -> str:
    if call.tool == "finish":
        return str(call.arguments["status"])
    words = str(call.arguments.get("description", call.arguments.get("text", "")))
    return " ".join(filter(None, (call.tool, call.arguments.get(KEY, ""), words)))


CHARGED = Step("charge", CHARGE)
COMMENTED = Step("add_comment", COMMENT)


@pytest.mark.parametrize(
    ("agent", "step", "answers", "does"),
    [
        ("retry", CHARGED, [LOST], ["charge a d"] * 3 + ["uncertain"]),
        ("retry", CHARGED, [LOST, BUSY, OK], ["charge a d"] * 3 + ["done"]),
        ("retry", CHARGED, [REFUSED], ["charge a d", "failed"]),
        ("rephrase_and_retry", CHARGED, [OK], ["charge a d", "done"]),
        (
            "rephrase_and_retry",
            CHARGED,
            [LOST],
            ["charge a d", "charge a D", "charge a D", "uncertain"],
        ),
        ("rephrase_and_retry", CHARGED, [LOST, REFUSED], ["charge a d", "charge a D", "failed"]),
        ("rephrase_and_retry", COMMENTED, [LOST, OK], ["add_comment t", "add_comment T", "done"]),
        ("forget_key", CHARGED, [LOST], ["charge a d", "charge d", "charge d", "uncertain"]),
        ("forget_key", COMMENTED, [LOST, OK], ["add_comment t", "add_comment t", "done"]),
        ("new_key", CHARGED, [LOST], ["charge a d", "charge b d", "charge c d", "uncertain"]),
        ("double_emit", CHARGED, [OK], ["charge a d + charge a d", "done"]),
        ("double_emit", CHARGED, [LOST, OK], ["charge a d + charge a d", "done"]),
        ("double_emit", CHARGED, [LOST], ["charge a d + charge a d", "uncertain"]),
        ("double_emit", CHARGED, [REFUSED, LOST], ["charge a d + charge a d", "uncertain"]),
        ("give_up", CHARGED, [LOST], ["charge a d", "uncertain"]),
        ("escalate", CHARGED, [LOST], ["charge a d", "uncertain"]),
        ("escalate", CHARGED, [REFUSED], ["charge a d", "failed"]),
        (
            "read_then_retry",
            CHARGED,
            [LOST, listed(CHARGE, "x")],
            ["charge a d", "list_charges", "done"],
        ),
        (
            "read_then_retry",
            CHARGED,
            [LOST, listed(CHARGE, "x", "y")],
            ["charge a d", "list_charges", "uncertain"],
        ),
        (
            "read_then_retry",
            CHARGED,
            [LOST, EMPTY, OK],
            ["charge a d", "list_charges", "charge a d", "done"],
        ),
        (
            "read_then_retry",
            CHARGED,
            [LOST, LOST, OK],
            ["charge a d", "list_charges", "charge a d", "done"],
        ),
    ],
)
def test_each_agent_does_what_its_name_says(
    agent: str, step: Step, answers: list[str], does: list[str]
) -> None:
    service = "billing" if step is CHARGED else "tickets"
    assert summary(played(agent, sight(step, service=service), answers)) == does


def test_giving_up_leaves_out_what_is_left_and_escalating_goes_on() -> None:
    steps = (CHARGED, Step("charge", {**CHARGE, "customer": "e"}))
    assert len(played("give_up", sight(*steps), [LOST, OK])) == 2
    went_on = played("escalate", sight(*steps), [LOST, OK])
    assert [call.arguments.get("customer") for (call,) in went_on] == ["c", "e", None]
    assert summary(went_on)[-1] == "uncertain"


def test_reads_are_neither_doubled_nor_reworded_nor_given_keys() -> None:
    step = Step("list_charges", {"customer": "c"})
    for agent in AGENTS:
        for message in played(agent, sight(step), [LOST, LOST, OK])[:-1]:
            assert message == (ToolCall("list_charges", {"customer": "c"}),)


ANSWERS = (OK, LOST, BUSY, REFUSED)


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_whatever_is_answered_done_is_claimed_only_of_what_was_said_to_be_done(agent: str) -> None:
    """Every sequence of answers to the three tries at each of two steps, the second one's
    arguments from the first one's result."""
    steps = (CHARGED, Step("refund", REFUND))
    for answers in product(ANSWERS, repeat=5):
        messages = played(agent, sight(*steps), answers)
        status = messages[-1][0].arguments["status"]
        told = list(zip([c for m in messages[:-1] for c in m], _padded(answers), strict=False))
        done = {call.tool for call, text in told if text == OK}
        assert (status == "done") == (done >= {"charge", "refund"}), (answers, summary(messages))
        if "charge" not in done:
            assert "refund" not in {call.tool for call, _ in told}
        assert all(call.arguments["charge"] == "x" for call, _ in told if call.tool == "refund")


def _padded(answers: Sequence[str]) -> list[str]:
    return [*answers, *[answers[-1]] * 40]


def test_what_earlier_turns_did_is_not_done_again() -> None:
    for agent in AGENTS:
        seen = sight(CHARGED, Step("refund", REFUND))
        seen.known[0] = {"id": "earlier"}
        first = played(agent, seen, [OK])[0]
        assert {call.tool for call in first} == {"refund"}
        assert first[0].arguments["charge"] == "earlier"


def test_an_agent_attaches_a_key_exactly_where_the_tool_offers_one() -> None:
    tools = dict[str, Tool](variant("keys_everywhere", "tickets").tools)
    for agent in AGENTS:
        seen = Sight((COMMENTED,), tools, lambda: "k")
        assert KEY in played(agent, seen, [OK])[0][0].arguments
