"""`run_tools` with the real SDK on a scripted server: what is run, what is kept, what is told."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anthropic import APIError

from adapter_suite import CHARGE, Call, World
from anthropic_agents import (
    USER,
    Block,
    End,
    Kind,
    Runner,
    Say,
    Script,
    asks,
    awaited,
    blocking,
    loop,
    results_in,
    says,
    tool_use,
    toolbox_of,
    tools_of,
)
from guards import KEYED, PLAIN, Operator, changed
from retry_guard import Answer, Contract
from retry_guard_anthropic import run_tools

every_run = pytest.mark.parametrize("run", [blocking, awaited], ids=["sync", "async"])
every_kind = pytest.mark.parametrize("kind", ["loop", "loop-stream"])
C1 = Call("toolu_1", CHARGE)
C2 = Call("toolu_2", {"customer": "c2", "amount": 7})
LIST = Call("toolu_3", {}, "list_charges")
STOPS = (
    *("max_tokens", "end_turn", "stop_sequence", "refusal"),
    *("model_context_window_exceeded", "something_new", None),
)
UNTIL = ("content_block_delta", "content_block_stop", "message_delta", "message_stop")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


def calls_in(messages: list[Any]) -> list[Block]:
    return [
        block
        for message in messages
        if message["role"] == "assistant"
        for block in message["content"]
        if block["type"] == "tool_use"
    ]


@every_run
@every_kind
def test_all_results_of_a_message_stand_in_one_message_in_the_order_of_its_calls(
    kind: Kind, run: Runner, world: World
) -> None:
    script = Script(asks(C2, C1, LIST), says("Both are charged."))
    end: End = run(kind, script, toolbox_of(world))
    user, asked, answered, last = end.messages
    assert (user, last["content"][0]["text"]) == (USER[0], end.text)
    assert end.text == "Both are charged."
    assert asked["content"] == [tool_use(C2), tool_use(C1), tool_use(LIST)]
    assert [each["tool_use_id"] for each in answered["content"]] == [
        "toolu_2",
        "toolu_1",
        "toolu_3",
    ]
    assert "is_error" not in {name for each in answered["content"] for name in each}
    assert json.loads(answered["content"][0]["content"]).keys() == {"id"}
    assert end.messages[:3] == script.sent[1]["messages"]
    assert len(world.effects) == 2


@every_run
@every_kind
def test_the_history_of_a_run_is_data_to_carry_on_with(
    kind: Kind, run: Runner, world: World
) -> None:
    first: End = run(kind, Script(asks(C1)), toolbox_of(world))
    kept = json.loads(json.dumps(first.messages))
    more = [*kept, {"role": "user", "content": "And the other one."}]
    script = Script(asks(C2))
    second: End = run(kind, script, toolbox_of(world), "human-2", messages=more)
    assert script.sent[0]["messages"] == more
    assert second.messages[: len(more)] == more
    assert len(world.effects) == 2


@every_run
@every_kind
def test_thinking_server_tools_and_unknown_blocks_are_carried_along_unchanged(
    kind: Kind, run: Runner, world: World
) -> None:
    others: list[Block] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "text", "text": "I search."},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srv_1",
            "content": [
                {
                    "type": "web_search_result",
                    "url": "https://example.com",
                    "title": "A page",
                    "encrypted_content": "zz",
                    "page_age": None,
                }
            ],
        },
    ]
    search: Any = {"type": "web_search_20250305", "name": "web_search"}
    script = Script(Say([*others, tool_use(C1)]))
    end: End = run(kind, script, toolbox_of(world), tools=[search])
    assert script.sent[1]["messages"][1]["content"] == [*others, tool_use(C1)]
    assert [tool["name"] for tool in script.sent[0]["tools"]] == [
        "charge",
        "list_charges",
        "web_search",
    ]
    assert [each["tool_use_id"] for each in results_in(end.messages)] == ["toolu_1"]


@pytest.mark.parametrize("contract", [KEYED, PLAIN], ids=["keyed", "plain"])
def test_the_model_is_told_of_the_tools_but_not_of_the_key(
    contract: Contract, tmp_path: Path
) -> None:
    script = Script()
    blocking("loop", script, toolbox_of(World(contract, tmp_path)), system="Be brief.")
    charge = script.sent[0]["tools"][0]
    assert charge["name"] == "charge"
    assert charge["description"] == "Charge a customer."
    assert charge["input_schema"]["properties"].keys() == {"customer", "amount"}
    assert (script.sent[0]["system"], script.sent[0]["max_tokens"]) == ("Be brief.", 100)


@every_run
@every_kind
def test_a_paused_turn_is_sent_back_as_it_is(kind: Kind, run: Runner, world: World) -> None:
    paused = Say([{"type": "text", "text": "Still searching."}], "pause_turn")
    script = Script(paused, asks(C1))
    end: End = run(kind, script, toolbox_of(world))
    assert script.sent[1]["messages"] == [*USER, {"role": "assistant", "content": paused.content}]
    assert (end.text, len(world.effects)) == ("I am done.", 1)


@every_run
@every_kind
@pytest.mark.parametrize("stop", STOPS)
def test_a_message_that_did_not_stop_for_its_calls_has_none_of_them_run_and_is_not_kept(
    stop: str | None, kind: Kind, run: Runner, world: World
) -> None:
    script = Script(Say([{"type": "text", "text": "I"}, tool_use(C1), tool_use(C2)], stop))
    end: End = run(kind, script, toolbox_of(world))
    assert (world.requests, len(script.sent)) == (0, 1)
    assert (end.messages, end.text) == (USER, "I")
    assert end.run.end == ("refused" if stop == "refusal" else "incomplete")


ENDS = {
    "end_turn": ("answered", 2),
    "stop_sequence": ("answered", 2),
    "tool_use": ("answered", 2),
    "something_new": ("answered", 2),
    "max_tokens": ("incomplete", 1),
    "refusal": ("refused", 1),
}


@every_run
@every_kind
@pytest.mark.parametrize(("stop", "told"), ENDS.items(), ids=ENDS)
def test_a_message_without_calls_ends_the_run(
    stop: str, told: tuple[str, int], kind: Kind, run: Runner, world: World
) -> None:
    end: End = run(kind, Script(Say([{"type": "text", "text": "I"}], stop)), toolbox_of(world))
    assert (end.run.end, len(end.messages)) == told
    assert (end.text, end.run.message.stop_reason, end.run.rounds) == ("I", stop, 1)


@every_run
@pytest.mark.parametrize("until", UNTIL)
@pytest.mark.parametrize("breaks", [True, False])
def test_a_stream_that_ends_too_soon_has_nothing_run(
    breaks: bool, until: str, run: Runner, world: World
) -> None:
    script = Script(Say([tool_use(C1)], until=until, breaks=breaks))
    if breaks:
        with pytest.raises(httpx2.RemoteProtocolError):
            run("loop-stream", script, toolbox_of(world))
    else:
        end: End = run("loop-stream", script, toolbox_of(world))
        assert (end.run.end, end.messages) == ("incomplete", USER)
    assert (world.requests, len(script.sent)) == (0, 1)
    again = Script(asks(Call("toolu_9", CHARGE)))
    run("loop-stream", again, toolbox_of(world))
    assert len(world.effects) == 1


@every_run
@pytest.mark.parametrize("raw", ['{"customer": "c1", "amount": 5', '{"customer": "c1"', '{"', "[]"])
def test_arguments_that_are_no_json_object_are_an_error_and_not_run_as_far_as_they_go(
    raw: str, run: Runner, world: World
) -> None:
    script = Script(Say([tool_use(C1)], raw={0: raw}))
    end: End = run("loop-stream", script, toolbox_of(world))
    (result,) = results_in(end.messages)
    assert result["is_error"]
    assert world.requests == 0


@every_run
@pytest.mark.parametrize("raw", ["", "{}"])
def test_no_arguments_are_an_empty_object(raw: str, run: Runner, world: World) -> None:
    script = Script(Say([tool_use(LIST)], raw={0: raw}))
    end: End = run("loop-stream", script, toolbox_of(world))
    (result,) = results_in(end.messages)
    assert json.loads(result["content"]) == {"charges": [], "complete": True}
    assert calls_in(end.messages)[0]["input"] == {}


@every_run
@pytest.mark.parametrize("raw", ["  ", "nothing", '{"customer": "\\ud800", "amount": 1}'])
def test_what_the_sdk_cannot_read_at_all_it_tells_the_application_and_nothing_is_run(
    raw: str, run: Runner, world: World
) -> None:
    with pytest.raises(ValueError, match="JSON"):
        run(
            "loop-stream",
            Script(Say([tool_use(C1), tool_use(C2)], raw={1: raw})),
            toolbox_of(world),
        )
    assert world.requests == 0


@every_run
@pytest.mark.parametrize("given", [None, "", {}, "{}"])
def test_no_arguments_in_a_whole_message_are_an_empty_object(
    given: Any, run: Runner, world: World
) -> None:
    script = Script(Say([{**tool_use(LIST), "input": given}]))
    end: End = run("loop", script, toolbox_of(world))
    (result,) = results_in(end.messages)
    assert json.loads(result["content"]) == {"charges": [], "complete": True}
    assert calls_in(end.messages)[0]["input"] == {}


TWINS: dict[str, list[Block]] = {
    "whole": [tool_use(C1), tool_use(C1)],
    "the second is empty": [tool_use(C1), {**tool_use(C1), "input": {}}],
    "the first is empty": [{**tool_use(C1), "input": {}}, tool_use(C1)],
    "without a name": [tool_use(C1), {**tool_use(C1), "name": ""}],
    "spelled otherwise": [tool_use(C1), {**tool_use(C1), "input": {"amount": 5, "customer": "c1"}}],
}


@every_run
@every_kind
@pytest.mark.parametrize("blocks", TWINS.values(), ids=TWINS)
def test_a_call_that_is_shown_twice_runs_once_and_leaves_one_block_and_one_result(
    blocks: list[Block], kind: Kind, run: Runner, world: World
) -> None:
    """B20, B22, B25."""
    script = Script(Say(blocks))
    end: End = run(kind, script, toolbox_of(world))
    assert calls_in(end.messages) == [tool_use(C1)]
    (result,) = results_in(end.messages)
    assert result == {"type": "tool_result", "tool_use_id": "toolu_1", "content": '{"id": "ch_1"}'}
    assert world.requests == 1


@every_run
@every_kind
def test_different_calls_under_one_id_are_all_run_and_get_ids_of_their_own(
    kind: Kind, run: Runner, world: World
) -> None:
    same = C2._replace(id=C1.id)
    script = Script(asks(C1, same), asks(LIST._replace(id=C1.id)))
    end: End = run(kind, script, toolbox_of(world))
    ids = [block["id"] for block in calls_in(end.messages)]
    assert ids == [each["tool_use_id"] for each in results_in(end.messages)]
    assert len(set(ids)) == len(ids) == 3
    assert sorted(effect["customer"] for effect in world.effects) == ["c1", "c2"]


@every_run
def test_a_call_without_an_id_gets_one(run: Runner, world: World) -> None:
    script = Script(Say([{**tool_use(C1), "id": None}, {**tool_use(C2), "id": ""}]))
    end: End = run("loop", script, toolbox_of(world))
    ids = [block["id"] for block in calls_in(end.messages)]
    assert ids == [each["tool_use_id"] for each in results_in(end.messages)] == ["call", "call_2"]
    assert len(world.effects) == 2


@every_run
def test_a_stored_history_that_holds_a_call_twice_is_sent_with_one_block_and_one_result(
    run: Runner, world: World
) -> None:
    """B25."""
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    stored: list[Any] = [
        *USER,
        {"role": "assistant", "content": [tool_use(C1), tool_use(C1)]},
        {"role": "user", "content": [result, result, {"type": "text", "text": "And now?"}]},
    ]
    script = Script()
    run("loop", script, toolbox_of(world), messages=stored)
    _, asked, answered = script.sent[0]["messages"]
    assert asked["content"] == [tool_use(C1)]
    assert answered["content"] == [result, {"type": "text", "text": "And now?"}]
    assert world.requests == 0


@every_run
@every_kind
def test_the_model_is_asked_no_more_than_it_may_and_its_last_calls_have_results(
    kind: Kind, run: Runner, world: World
) -> None:
    script = Script(asks(C1), asks(C2))
    end: End = run(kind, script, toolbox_of(world), max_rounds=2)
    assert (len(script.sent), end.run.rounds, end.run.end) == (2, 2, "max_rounds")
    assert [each["tool_use_id"] for each in results_in(end.messages)] == ["toolu_1", "toolu_2"]
    assert [call.call_id for call in end.run.calls] == ["toolu_1", "toolu_2"]
    assert len(world.effects) == 2


@every_run
@every_kind
def test_a_call_that_only_the_caller_can_run_is_handed_over_beside_the_results_of_the_others(
    kind: Kind, run: Runner, world: World
) -> None:
    shell: Any = {"type": "bash_20250124", "name": "bash"}
    script = Script(asks(C1, Call("toolu_5", {"command": "ls"}, "bash")))
    end: End = run(kind, script, toolbox_of(world), tools=[shell])
    assert (end.run.end, len(script.sent), len(world.effects)) == ("handed_over", 1, 1)
    assert len(calls_in(end.messages)) == 2
    assert [each["tool_use_id"] for each in end.messages[-1]["content"]] == ["toolu_1"]


@every_run
@every_kind
@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "charge"}])
def test_a_choice_that_forces_a_call_counts_once_or_no_run_would_end(
    choice: dict[str, Any], kind: Kind, run: Runner, world: World
) -> None:
    script, forced = Script(asks(C1)), {**choice, "disable_parallel_tool_use": True}
    run(kind, script, toolbox_of(world), tool_choice=forced)
    first, second = (body["tool_choice"] for body in script.sent)
    assert first == forced
    assert second == {"type": "auto", "disable_parallel_tool_use": True}


def test_the_calls_of_one_message_run_together_where_they_are_awaited(world: World) -> None:
    both = asyncio.Barrier(2)

    async def charge(customer: str, amount: int) -> dict[str, Any]:
        await asyncio.wait_for(both.wait(), 10)
        return world.charge(customer, amount)

    end = awaited("loop", Script(asks(C1, C2)), toolbox_of(world, [charge, *tools_of(world)[1:]]))
    assert [each.get("is_error") for each in results_in(end.messages)] == [None, None]
    assert len(world.effects) == 2


def test_a_call_that_is_stopped_does_not_leave_its_siblings_behind(world: World) -> None:
    class Stop(BaseException):
        pass

    async def charge(customer: str, amount: int) -> dict[str, Any]:
        if customer == "c1":
            raise Stop
        await asyncio.sleep(0.05)
        return world.charge(customer, amount)

    tools = [charge, *tools_of(world)[1:]]
    with pytest.raises(Stop):
        awaited("loop", Script(asks(C1, C2)), toolbox_of(world, tools))
    assert [effect["customer"] for effect in world.effects] == ["c2"]
    end = awaited("loop", Script(asks(C1, C2)), toolbox_of(world, tools_of(world)))
    assert [each.get("is_error") for each in results_in(end.messages)] == [True, None]
    assert len(world.effects) == 1


@every_run
@every_kind
def test_equal_calls_of_one_message_are_one_action_or_each_counts_as_the_contract_says(
    kind: Kind, run: Runner, tmp_path: Path
) -> None:
    for twins, effects in (("join", 1), ("count", 2)):
        folder = tmp_path / twins
        folder.mkdir()
        world = World(changed(PLAIN, twins=twins), folder)
        for ids in ("ab", "cd"):  # the second run of the turn replays both
            calls = [Call(f"toolu_{name}", CHARGE) for name in ids]
            end: End = run(kind, Script(asks(*calls)), toolbox_of(world))
            given = {each["content"] for each in results_in(end.messages)}
            assert len(given) == len(world.effects) == effects


@every_run
@every_kind
def test_what_is_unresolved_reaches_the_application_and_the_model(
    kind: Kind, run: Runner, world: World
) -> None:
    world.fates.append("lost_ack")
    script = Script(asks(C1), asks(C1._replace(id="toolu_7"), C2))
    end: End = run(kind, script, toolbox_of(world))
    (unresolved,) = end.unresolved
    first, again, other = results_in(end.messages)
    assert (first["is_error"], first["content"]) == (True, unresolved.text)
    assert again["content"] == unresolved.text
    assert (other.get("is_error"), unresolved.reason) == (None, "nothing_can_tell")
    assert len(world.effects) == 2


@every_run
def test_an_operator_is_asked_once_and_the_answer_is_the_result(run: Runner, world: World) -> None:
    world.fates.append("lost_ack")
    operator = Operator(Answer("happened", result={"id": "ch_1"}))
    for name in ("toolu_1", "toolu_2"):
        toolbox = toolbox_of(world, ask=operator)
        end: End = run("loop", Script(asks(C1._replace(id=name))), toolbox)
        (result,) = results_in(end.messages)
        assert (result.get("is_error"), json.loads(result["content"])) == (None, {"id": "ch_1"})
        assert end.unresolved == ()
    assert (len(operator.asked), len(world.effects)) == (1, 1)


@every_run
@every_kind
def test_a_run_that_fails_after_its_tools_acted_is_begun_anew_and_nothing_runs_twice(
    kind: Kind, run: Runner, world: World
) -> None:
    """B18, B127."""
    down = httpx2.Response(400, json={"type": "error", "error": {"type": "e", "message": "m"}})
    with pytest.raises(APIError):
        run(kind, Script(asks(C1, C2), down), toolbox_of(world))
    renamed = [C1._replace(id="toolu_8"), C2._replace(id="toolu_9")]
    end: End = run(kind, Script(asks(*renamed)), toolbox_of(world))
    given = [json.loads(each["content"])["id"] for each in results_in(end.messages)]
    made = {effect["customer"]: effect["id"] for effect in world.effects}
    assert given == [made["c1"], made["c2"]]
    assert len(world.effects) == 2


def test_a_stream_that_is_closed_runs_nothing_more(world: World) -> None:
    script = Script(asks(C1))
    stream = loop(script, toolbox_of(world), streams=True)
    next(stream)
    stream.close()
    assert list(stream) == []
    assert (world.requests, len(script.sent)) == (0, 1)


def test_an_awaited_stream_that_is_closed_runs_nothing_more(world: World) -> None:
    script = Script(asks(C1))

    async def one_event() -> list[Any]:
        stream = loop(script, toolbox_of(world), blocks=False, streams=True)
        await anext(stream)
        await stream.aclose()
        return [event async for event in stream]

    assert asyncio.run(one_event()) == []
    assert (world.requests, len(script.sent)) == (0, 1)


@every_run
def test_a_stream_gives_the_events_of_all_messages(run: Runner, world: World) -> None:
    end: End = run("loop-stream", Script(asks(C1)), toolbox_of(world))
    types = [event.type for event in end.events]
    assert types.count("message_start") == types.count("message_stop") == 2
    assert "text" in types
    assert "input_json" in types


def test_the_beta_resource_works_alike(world: World) -> None:
    script = Script(asks(C1))
    run = run_tools(
        script.client().beta.messages,
        toolbox_of(world),
        scope="acme",
        turn="t",
        model="scripted",
        max_tokens=100,
        messages=USER,
        betas=["some-beta"],
    )
    assert (run.text, len(world.effects)) == ("I am done.", 1)


@every_run
def test_records_keep_the_call_ids_for_the_audit(run: Runner, world: World) -> None:
    run("loop", Script(asks(C1)), toolbox_of(world))
    (record,) = world.ledger().list("acme")
    assert "toolu_1" in repr(record.about)
