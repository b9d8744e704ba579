"""Odd and failed messages of a model: what is run of them, and what the history can carry."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import NOT_GIVEN

from adapter_suite import C1, CONTRACTS, World
from functions_tools import toolbox_of
from openai_loop_models import (
    Api,
    Model,
    Run_,
    Says,
    answers_in,
    blocking,
    call_chunk,
    calls_in,
    chunk,
    every_api,
    every_form,
    message,
    played,
    response,
    said,
    says,
    streamed,
    streamed_awaited,
)
from retry_guard import UsageError
from retry_guard_openai import calls_before

A = '{"customer": "c1", "amount": 1}'
HALF, OTHER_HALF = chr(0xD83D), chr(0xDE00)

every_stream = pytest.mark.parametrize("run", [streamed, streamed_awaited])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


@every_form
@pytest.mark.parametrize("finish", ["error", "abort", "cancelled", "MALFORMED_FUNCTION_CALL"])
def test_a_message_that_failed_runs_nothing(finish: str, run: Run_, world: World) -> None:
    says_it = message("", [("c1", "charge", A)], finish_reason=finish)
    ended, _ = played(world, run, "chat", says_it)
    assert (ended.end, world.requests, calls_in(ended.items)) == ("incomplete", 0, [])


@every_form
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call"])
def test_a_message_that_came_to_its_end_runs_its_calls(
    finish: str, run: Run_, world: World
) -> None:
    says_it = message("", [("c1", "charge", A)], finish_reason=finish)
    ended, _ = played(world, run, "chat", says_it)
    assert (ended.end, world.requests) == ("answered", 1)


@every_form
@pytest.mark.parametrize(
    "wrong",
    [{"error": {"code": "server_error", "message": "x"}}, {"incomplete_details": {"reason": "x"}}],
)
def test_a_response_that_names_an_error_runs_nothing(
    wrong: dict[str, Any], run: Run_, world: World
) -> None:
    ended, _ = played(world, run, "responses", response("", [("c1", "charge", A)], **wrong))
    assert (ended.end, world.requests) == ("incomplete", 0)


SINGLE: dict[str, tuple[str, tuple[str, str, str], int]] = {
    "text": (f"hi {HALF}", ("c1", "charge", A), 1),
    "an id": ("", (f"c{HALF}", "charge", A), 1),
    "a name": ("", ("c1", f"charge{HALF}", A), 0),
    "arguments": ("", ("c1", "charge", f'{{"customer": "{HALF}", "amount": 1}}'), 0),
}


@every_api
@every_form
@pytest.mark.parametrize("kind", SINGLE)
def test_half_a_character_does_not_end_a_run_after_its_effect(
    kind: str, run: Run_, api: Api, world: World
) -> None:
    text, call, effects = SINGLE[kind]
    made = (message if api == "chat" else response)(text, [call])
    ended, model = played(world, run, api, made)
    assert (ended.end, len(model.requests), world.requests) == ("answered", 2, effects)
    ended.text.encode()
    assert list(answers_in(ended.items)) == calls_in(ended.items)


@every_stream
def test_a_character_in_two_chunks_is_put_together(run: Run_, world: World) -> None:
    parts: Says = [
        chunk(role="assistant", content=HALF),
        chunk(content=OTHER_HALF),
        call_chunk(0, id="c1", name="charge", arguments=f'{{"amount": 1, "customer": "{HALF}'),
        call_chunk(0, arguments=f'{OTHER_HALF}"}}'),
        chunk("tool_calls"),
    ]
    ended, model = played(world, run, "chat", parts)
    assert world.effects[0]["customer"] == chr(0x1F600)
    assert ended.items[-2]["tool_call_id"] == "c1"
    assert (ended.end, len(model.requests)) == ("answered", 2)


@every_api
@every_form
def test_arguments_that_are_an_object_are_taken_as_one(run: Run_, api: Api, world: World) -> None:
    given: Any = {"customer": "c1", "amount": 1}
    says_it = said(api, [("c1", "charge", given)])
    if api == "chat" and run in (streamed, streamed_awaited):
        head = call_chunk(0, id="c1", type="function", name="charge", arguments=given)
        says_it = [head, chunk("tool_calls")]
    ended, _ = played(world, run, api, says_it)
    assert (ended.end, len(world.effects)) == ("answered", 1)


@pytest.mark.parametrize("calls", [["x"], 5, [5]])
def test_a_history_that_is_none_is_refused(calls: Any, world: World) -> None:
    with pytest.raises(UsageError, match="nothing was sent"):
        played(world, blocking, "chat", messages=[{"role": "assistant", "tool_calls": calls}])


CHOICES: list[tuple[Api, dict[str, Any]]] = [
    ("chat", {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}}),
    ("responses", {"type": "allowed_tools", "mode": "required", "tools": []}),
]


@pytest.mark.parametrize(("api", "choice"), CHOICES)
def test_a_choice_among_tools_forces_a_call_once(
    api: Api, choice: dict[str, Any], world: World
) -> None:
    _, model = played(world, blocking, api, says(api, "", C1), tool_choice=choice)
    first, second = (request["tool_choice"] for request in model.requests)
    assert first == choice
    assert "required" not in str(second)
    assert second["type"] == "allowed_tools"


@every_stream
def test_an_empty_id_in_a_later_chunk_is_none(run: Run_, world: World) -> None:
    parts: Says = [
        call_chunk(0, id="c1", name="charge", arguments=A[:9]),
        call_chunk(0, id="", name="", arguments=A[9:]),
        chunk("tool_calls"),
    ]
    ended, _ = played(world, run, "chat", parts)
    assert list(answers_in(ended.items)) == ["c1"]
    assert len(world.effects) == 1


@every_form
def test_a_number_and_a_truth_under_one_id_are_two_calls(run: Run_, world: World) -> None:
    def note(a: Any) -> str:
        return repr(a)

    model = Model("chat", [said("chat", [("c", "note", '{"a": 1}'), ("c", "note", '{"a": true}')])])
    ended = run(model, toolbox_of(world, [note], contracts=[]))
    assert [call.answer.text for call in ended.calls] == ["1", "True"]


@every_form
def test_the_old_form_of_a_call_is_handed_over(run: Run_, world: World) -> None:
    old = {"name": "charge", "arguments": A}
    says_it: Says = message("", [], finish_reason="function_call", function_call=old)
    if run in (streamed, streamed_awaited):
        says_it = [chunk(role="assistant", function_call=old), chunk("function_call")]
    ended, _ = played(world, run, "chat", says_it)
    assert (ended.end, world.requests) == ("handed_over", 0)
    assert ended.items[-1]["function_call"] == old


@every_stream
def test_a_second_answer_in_a_stream_is_not_run(run: Run_, world: World) -> None:
    other = call_chunk(0, id="z", name="charge", arguments='{"customer": "z", "amount": 9}')
    other["choices"][0]["index"] = 1
    mine = call_chunk(0, id="c1", name="charge", arguments=A)
    played(world, run, "chat", [mine, other, chunk("tool_calls")])
    assert [effect["customer"] for effect in world.effects] == ["c1"]


@every_api
def test_what_is_not_given_is_left_out(api: Api, world: World) -> None:
    more: dict[str, Any] = {"tools": NOT_GIVEN, "tool_choice": NOT_GIVEN}
    more |= {"previous_response_id": NOT_GIVEN} if api == "responses" else {"n": NOT_GIVEN}
    ended, _ = played(world, blocking, api, says(api, "", C1), **more)
    assert (ended.end, len(world.effects)) == ("answered", 1)
    assert calls_in(ended.items) == [C1.id]


@every_api
@every_form
def test_a_model_that_fails_after_an_unresolved_call_loses_no_call(
    run: Run_, api: Api, world: World
) -> None:
    world.fates.append("lost_ack")
    broken = httpx2.Response(400, json={"error": {"message": "x"}})
    with pytest.raises(Exception, match="400") as raised:
        played(world, run, api, says(api, "", C1), broken)
    (made,) = calls_before(raised.value)
    assert made.answer.unresolved is not None
    assert made.answer.unresolved.action in raised.value.__notes__[0]
