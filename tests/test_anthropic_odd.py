"""Odd messages and results with Anthropic: what the history can carry, what a replay looks like."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import NOT_GIVEN
from anthropic.lib.bedrock import AnthropicBedrock
from anthropic.types import TextBlock

from adapter_suite import CHARGE, Call, World
from anthropic_agents import (
    C1,
    Kind,
    Runner,
    Say,
    Script,
    asks,
    blocking,
    calls_in,
    every_loop,
    every_run,
    results_in,
    says,
    toolbox_of,
)
from guards import PLAIN, changed
from retry_guard import Done, UsageError
from retry_guard_anthropic import calls_before, run_tools

HALF = chr(0xD83D)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


@every_run
@every_loop
@pytest.mark.parametrize("where", ["an id", "a name", "text"])
def test_half_a_character_does_not_end_a_run_after_its_effect(
    where: str, kind: Kind, run: Runner, world: World
) -> None:
    call = {
        "an id": C1._replace(id=f"toolu_{HALF}"),
        "a name": C1._replace(tool=f"charge{HALF}"),
        "text": C1,
    }[where]
    said = Say([{"type": "text", "text": HALF * (where == "text") or "hi"}, *asks(call).content])
    script = Script(said)
    end = run(kind, script, toolbox_of(world))
    assert len(script.sent) == 2
    assert world.requests == (where != "a name")
    (result,) = results_in(end.messages)
    assert [result["tool_use_id"]] == [block["id"] for block in calls_in(end.messages)]


@every_run
def test_a_character_in_two_pieces_is_put_together(run: Runner, world: World) -> None:
    raw = f'{{"customer": "{chr(0xD83D)}{chr(0xDE00)}", "amount": 1}}'
    run("loop-stream", Script(Say(asks(C1).content, raw={0: raw})), toolbox_of(world))
    assert world.effects[0]["customer"] == chr(0x1F600)


@every_run
@pytest.mark.parametrize("kind", ["loop", "runner"])
def test_blocks_of_the_sdk_look_the_same_in_a_replay(kind: Kind, run: Runner, world: World) -> None:
    def charge(customer: str, amount: int) -> list[TextBlock]:
        world.charge(customer, amount)
        return [TextBlock(type="text", text="paid")]

    seen = list[Any]()
    for _ in range(2):
        end = run(kind, Script(asks(C1)), toolbox_of(world, [charge]))
        (result,) = results_in(end.messages)
        seen.append(result["content"])
    assert seen[0] == seen[1] == [{"type": "text", "text": "paid"}]
    assert len(world.effects) == 1


@every_run
@every_loop
def test_a_model_that_fails_after_an_unresolved_call_loses_no_call(
    kind: Kind, run: Runner, world: World
) -> None:
    world.fates.append("lost_ack")
    broken = httpx2.Response(400, json={"type": "error", "error": {"type": "x", "message": "x"}})
    with pytest.raises(anthropic.BadRequestError) as raised:
        run(kind, Script(asks(C1), broken), toolbox_of(world))
    (made,) = calls_before(raised.value)
    assert made.answer.unresolved is not None
    assert made.answer.unresolved.action in raised.value.__notes__[0]


@every_run
@every_loop
def test_a_twin_that_is_done_settles_no_other_that_is_lost(
    kind: Kind, run: Runner, tmp_path: Path
) -> None:
    world = World(changed(PLAIN, twins="count"), tmp_path)
    world.fates.append("lost_ack")
    script = Script(asks(C1, C1._replace(id="toolu_9")))
    end = run(kind, script, toolbox_of(world))
    assert len(end.unresolved) == 1


@every_run
@every_loop
def test_one_number_in_two_spellings_is_one_action(kind: Kind, run: Runner, world: World) -> None:
    def charge(customer: str, amount: Decimal) -> Any:
        return world.charge(customer, int(amount))

    other = Call("toolu_2", {**CHARGE, "amount": f"{CHARGE['amount']}.00"})
    run(kind, Script(asks(C1), asks(other)), toolbox_of(world, [charge]))
    assert len(world.effects) == 1


@every_loop
def test_what_is_not_given_is_left_out_and_warnings_are_the_applications(
    kind: Kind, world: World
) -> None:
    toolbox = toolbox_of(world)
    for turn in ("m1", "m2"):
        end = blocking(kind, Script(asks(C1), says()), toolbox, turn, tools=NOT_GIVEN)
    outcome = end.run.calls[0].answer.outcome
    assert isinstance(outcome, Done)
    assert "Tell the user" in (outcome.warning or "")
    assert len(world.effects) == 2


def test_a_resource_that_is_not_anthropics_own_is_named_in_full(world: World) -> None:
    client: Any = AnthropicBedrock(aws_region="r", aws_access_key="a", aws_secret_key="s")
    ask: dict[str, Any] = {"model": "m", "max_tokens": 1, "messages": []}
    with pytest.raises(UsageError, match=r"not anthropic\.lib\.bedrock\S*Messages"):
        run_tools(client.beta.messages, toolbox_of(world), scope="acme", turn="t", **ask)
