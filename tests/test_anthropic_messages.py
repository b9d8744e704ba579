"""What a message of the model says: what of it is run, and what the history keeps."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapter_suite import CHARGE, Call, World
from anthropic_agents import (
    C1,
    C2,
    LIST,
    USER,
    Block,
    End,
    Kind,
    Runner,
    Say,
    Script,
    asks,
    calls_in,
    every_loop,
    every_run,
    results_in,
    tool_use,
    toolbox_of,
)
from guards import PLAIN


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


STOPS = (
    *("max_tokens", "end_turn", "stop_sequence", "refusal"),
    *("model_context_window_exceeded", "something_new", None),
)
UNTIL = ("content_block_delta", "content_block_stop", "message_delta", "message_stop")


@every_run
@every_loop
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


@every_run
@every_loop
def test_a_paused_turn_is_sent_back_as_it_is(kind: Kind, run: Runner, world: World) -> None:
    paused = Say([{"type": "text", "text": "Still searching."}], "pause_turn")
    script = Script(paused, asks(C1))
    end: End = run(kind, script, toolbox_of(world))
    assert script.sent[1]["messages"] == [*USER, {"role": "assistant", "content": paused.content}]
    assert (end.text, len(world.effects)) == ("I am done.", 1)


@every_run
@every_loop
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
@every_loop
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
@every_loop
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
@every_loop
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
