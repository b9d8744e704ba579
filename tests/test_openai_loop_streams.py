"""How the calls of a stream are put together, and messages that are cut off."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from adapter_suite import C1, CONTRACTS, World
from functions_tools import toolbox_of
from openai_loop_models import (
    Api,
    Model,
    Run_,
    blocking,
    call_chunk,
    calls_in,
    chunk,
    events_of,
    every_api,
    every_form,
    played,
    says,
    streamed,
    streamed_events,
)
from retry_guard_openai import Run

A = '{"customer": "c1", "amount": 1}'
B = '{"customer": "c2", "amount": 2}'


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Streams


CHUNKS: dict[str, list[dict[str, Any]]] = {
    "all under index 0": [
        call_chunk(0, id="c1", name="charge", arguments=A),
        call_chunk(0, id="c2", name="charge", arguments=B),
    ],
    "no index": [
        call_chunk(None, id="c1", name="charge", arguments=A[:9]),
        call_chunk(None, arguments=A[9:]),
        call_chunk(None, id="c2", name="charge", arguments=B),
    ],
    "id and name in each chunk": [
        call_chunk(0, id="c1", name="charge", arguments=A[:9]),
        call_chunk(0, id="c1", name="charge", arguments=A[9:]),
        call_chunk(1, id="c2", name="charge", arguments=B),
    ],
    "in turns": [
        call_chunk(0, id="c1", name="charge"),
        call_chunk(1, id="c2", name="charge"),
        call_chunk(0, arguments=A[:9]),
        call_chunk(1, arguments=B[:5]),
        call_chunk(0, arguments=A[9:]),
        call_chunk(1, arguments=B[5:]),
    ],
    "a name in parts": [
        call_chunk(0, id="c1", name="cha"),
        call_chunk(0, name="rge", arguments=A),
        call_chunk(1, id="c2", name="charge", arguments=B),
    ],
    "a ghost index": [
        call_chunk(0, id="c1", name="charge", arguments=A),
        call_chunk(1, id="c2", name="charge", arguments=B),
        chunk(tool_calls=[{"index": 2}]),
        call_chunk(3, id="c1", name="charge"),
        {**chunk(), "choices": []},
    ],
}


@pytest.mark.parametrize("kind", CHUNKS)
def test_calls_are_put_together_however_the_chunks_show_them(kind: str, world: World) -> None:
    """B20, B22."""
    parts = [chunk(role="assistant"), *CHUNKS[kind], chunk("tool_calls")]
    ended, _ = played(world, streamed, "chat", parts)
    assert [(call.call_id, call.arguments) for call in ended.calls] == [("c1", A), ("c2", B)]
    assert [effect["amount"] for effect in world.effects] == [1, 2]
    assert calls_in(ended.items) == ["c1", "c2"]


CALL = [call_chunk(0, id="c1", name="charge", arguments=A)]
CUT_OFF: dict[str, tuple[Api, list[dict[str, Any]]]] = {
    "chat: no end": ("chat", CALL),
    "chat: too long": ("chat", [*CALL, chunk("length")]),
    "chat: filtered": ("chat", [*CALL, chunk("content_filter")]),
    "chat: nothing": ("chat", []),
    "responses: no end": ("responses", events_of(says("responses", "", C1))[:-1]),
    "responses: incomplete": (
        "responses",
        events_of(says("responses", "", C1, status="incomplete")),
    ),
    "responses: failed": ("responses", events_of(says("responses", "", C1, status="failed"))),
    "responses: nothing": ("responses", []),
}


@pytest.mark.parametrize("kind", CUT_OFF)
def test_a_stream_that_is_cut_off_runs_nothing(kind: str, world: World) -> None:
    api, parts = CUT_OFF[kind]
    ended, model = played(world, streamed, api, parts)
    assert (ended.end, ended.calls, world.requests) == ("incomplete", (), 0)
    assert ended.items == model.sent()


@every_api
@every_form
@pytest.mark.parametrize("why", ["length", "content_filter"])
def test_a_message_that_is_cut_off_runs_nothing(
    why: str, run: Run_, api: Api, world: World
) -> None:
    cut: dict[str, Any] = {"finish_reason": why} if api == "chat" else {"status": "incomplete"}
    ended, model = played(world, run, api, says(api, "I am", C1, **cut))
    assert (ended.end, ended.text, world.requests) == ("incomplete", "I am", 0)
    assert ended.items == model.sent()


@every_api
@pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": None, "error": "busy"}, "text"])
def test_an_answer_that_is_none_runs_nothing(body: Any, api: Api, world: World) -> None:
    answer = httpx2.Response(200, text=body) if body == "text" else httpx2.Response(200, json=body)
    ended, _ = played(world, blocking, api, answer)
    assert (ended.end, ended.text, world.requests) == ("incomplete", "", 0)


@every_form
def test_a_response_with_a_call_that_is_cut_off_runs_nothing(run: Run_, world: World) -> None:
    whole = says(
        "responses", "", C1, C1._replace(id="c2", arguments={"customer": "c2", "amount": 2})
    )
    whole["output"][-1]["status"] = "incomplete"
    assert played(world, run, "responses", whole)[0].end == "incomplete"
    assert world.requests == 0


def test_items_that_only_their_own_events_show_are_taken(world: World) -> None:
    events = events_of(says("responses", "", C1))
    events[-1] = {**events[-1], "response": {**events[-1]["response"], "output": []}}
    ended, _ = played(world, streamed, "responses", events)
    assert (ended.end, len(world.effects)) == ("answered", 1)


@every_api
def test_a_stream_gives_the_sdks_own_events_and_at_last_the_run(api: Api, world: World) -> None:
    model = Model(api, [says(api, "", C1)])
    *events, last = streamed_events(model, toolbox_of(world))
    assert isinstance(last, Run)
    assert len(events) > 10
    kinds = {type(event).__module__.rpartition(".")[0] for event in events}
    assert kinds == {"openai.types.chat" if api == "chat" else "openai.types.responses"}
