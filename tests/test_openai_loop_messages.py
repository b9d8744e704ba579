"""Which calls of a model's message are run, and what the history keeps of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage

from adapter_suite import C1, CONTRACTS, Call, World
from functions_tools import toolbox_of
from guards import PLAIN, changed
from openai_loop_models import (
    Api,
    Made,
    Model,
    Run_,
    answers_in,
    blocking,
    call_chunk,
    calls_in,
    chunk,
    every_api,
    every_form,
    played,
    said,
    says,
    streamed,
    streamed_awaited,
)
from retry_guard import Contract

A = '{"customer": "c1", "amount": 1}'
B = '{"customer": "c2", "amount": 2}'


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


# Ghosts and twins


GHOSTS: dict[str, tuple[Made, int, int]] = {
    "one id twice": ([("c1", "charge", A), ("c1", "charge", A)], 1, 1),
    "one id twice, in another spelling": (
        [("c1", "charge", A), ("c1", "charge", '{"amount":1,"customer":"c1"}')],
        1,
        1,
    ),
    "a trailing part without arguments": ([("c1", "charge", A), ("c1", "charge", "")], 1, 1),
    "a leading part without arguments": ([("c1", "charge", ""), ("c1", "charge", A)], 1, 1),
    "a second part without a name": ([("c1", "charge", A), ("c1", "", A)], 1, 1),
    "a first part without a name": ([("c1", "", A), ("c1", "charge", "")], 1, 1),
    "neither name nor id": ([("c1", "charge", A), ("", "", "")], 1, 1),
    "no name, but arguments": ([("c1", "charge", A), ("", "", "{}")], 1, 1),
    "no id": ([("", "charge", A)], 1, 1),
    "one id for two actions": ([("c1", "charge", A), ("c1", "charge", B)], 2, 2),
    "one id for two tools": ([("c1", "charge", A), ("c1", "list_charges", "")], 1, 2),
    "no id for two actions": ([("", "charge", A), ("", "charge", B)], 2, 2),
    "twins": ([("c1", "charge", A), ("c2", "charge", A)], 1, 2),
}


@every_api
@every_form
@pytest.mark.parametrize("kind", GHOSTS)
def test_a_call_that_is_shown_twice_runs_once_and_leaves_one_answer(
    kind: str, run: Run_, api: Api, world: World
) -> None:
    """B20, B22, B25: one call under two indexes, or twice in one stored message."""
    calls, effects, answers = GHOSTS[kind]
    ended, model = played(world, run, api, said(api, calls))
    assert (ended.end, len(world.effects), world.requests) == ("answered", effects, effects)
    for items in (model.sent(), ended.items):
        ids = calls_in(items)
        assert len(ids) == len(set(ids)) == answers
        assert list(answers_in(items)) == ids
        assert all(ids)


@every_api
@every_form
def test_a_message_of_ghosts_alone_calls_nothing(run: Run_, api: Api, world: World) -> None:
    ended, model = played(world, run, api, said(api, [("", "", ""), ("c1", "", "{}")]))
    assert (ended.end, ended.rounds, len(model.requests)) == ("answered", 1, 1)
    assert calls_in(ended.items) == []
    assert world.requests == 0


@every_api
@every_form
def test_equal_calls_count_where_the_contract_says_so(run: Run_, api: Api, tmp_path: Path) -> None:
    world = World(changed(PLAIN, twins="count"), tmp_path)
    calls = [("c1", "charge", A), ("c2", "charge", B), ("c3", "charge", A)]
    for _ in range(2):
        played(world, run, api, said(api, calls))
    assert sorted(effect["amount"] for effect in world.effects) == [1, 1, 2]


@every_api
@every_form
@pytest.mark.parametrize("given", ["", "  ", "null", "{}"])
def test_a_tool_without_parameters_is_called_with_none(
    given: str, run: Run_, api: Api, world: World
) -> None:
    """B27: and the history holds an object, which strict servers ask for."""
    ran = list[int]()

    def ping() -> str:
        ran.append(1)
        return "pong"

    model = Model(api, [said(api, [("c1", "ping", given)])])
    box = toolbox_of(world, [ping], contracts=[Contract(tool="ping")])
    assert answers_in(run(model, box).items) == {"c1": "pong"}
    assert len(ran) == 1
    assert '"arguments": "{}"' in json.dumps(model.sent())


@every_api
@every_form
@pytest.mark.parametrize("given", ['{"customer": "c1", "am', "[]", '{"customer": "c1"}'])
def test_arguments_that_are_none_are_answered_and_not_run(
    given: str, run: Run_, api: Api, world: World
) -> None:
    """B27: what is malformed is no empty object."""
    ended, model = played(world, run, api, said(api, [("c1", "charge", given)]))
    assert "nothing was sent" in answers_in(model.sent())["c1"]
    assert ended.calls[0].answer.is_error
    assert (world.requests, ended.unresolved) == (0, ())


@every_api
def test_a_tool_that_is_not_there_is_answered(api: Api, world: World) -> None:
    ended, _ = played(world, blocking, api, said(api, [("c1", "refund", "{}")]))
    assert "the tools are: charge, list_charges" in answers_in(ended.items)["c1"]


# What the history keeps


STORED: dict[Api, list[dict[str, Any]]] = {
    "chat": [
        {"role": "user", "content": "Charge c1, twice."},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": i, "type": "function", "function": {"name": "charge", "arguments": a}}
                for i, a in [("c1", A), ("c1", A), ("c2", B), ("c1", "")]
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And again."},
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "charge", "arguments": A}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "three"},
    ],
    "responses": [
        {"role": "user", "content": "Charge c1, twice."},
        {"type": "function_call", "call_id": "c1", "name": "charge", "arguments": A},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "charge", "arguments": A},
        {"type": "function_call", "call_id": "c2", "name": "charge", "arguments": B},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"role": "user", "content": "And again."},
        {"type": "function_call", "call_id": "c1", "name": "charge", "arguments": A},
        {"type": "function_call_output", "call_id": "c1", "output": "three"},
        {"type": "function_call_output", "call_id": "elsewhere", "output": "four"},
        {"type": "function_call_output", "call_id": "elsewhere", "output": "four"},
    ],
}


@every_api
@every_form
def test_a_stored_history_that_holds_a_call_twice_is_sent_with_it_once(
    run: Run_, api: Api, world: World
) -> None:
    """B25: strict servers refuse a message that holds one id twice."""
    name = "messages" if api == "chat" else "input"
    _, model = played(world, run, api, **{name: STORED[api]})
    sent = model.sent()
    assert calls_in(sent) == ["c1", "c2", "c1"]
    said = [item.get("output") or item.get("content") for item in sent if "role" not in item]
    said += [item["content"] for item in sent if item.get("role") == "tool"]
    answers = [text for text in said if text]
    assert answers == ["one", "two", "three", *["four"] * 2 * (api == "responses")]
    assert world.requests == 0


def test_messages_of_the_sdk_are_read_as_others_are(world: World) -> None:
    given = ChatCompletionMessage.model_validate(STORED["chat"][1])
    stored: list[Any] = [STORED["chat"][0], given, *STORED["chat"][2:]]
    _, model = played(world, blocking, "chat", messages=stored)
    assert calls_in(model.sent()) == ["c1", "c2", "c1"]
    whole = [{**STORED["chat"][1], "tool_calls": given.tool_calls}, *STORED["chat"][2:]]
    _, model = played(world, blocking, "chat", messages=whole)
    assert calls_in(model.sent()) == ["c1", "c2", "c1"]


@every_api
@every_form
def test_the_history_can_be_carried_on_with(run: Run_, api: Api, world: World) -> None:
    first, _ = played(world, run, api, says(api, "Now.", C1))
    name = "messages" if api == "chat" else "input"
    again = [*first.items, {"role": "user", "content": "And c2."}]
    c2 = Call("c9", {"customer": "c2", "amount": 2})
    _, model = played(world, run, api, says(api, "", c2), **{name: again}, turn="m2")
    assert model.sent()[: len(again)] == again
    assert list(answers_in(model.sent())) == ["c1", "c9"]
    json.dumps(first.items)


@every_form
def test_what_servers_add_to_a_message_is_given_back(run: Run_, world: World) -> None:
    whole = says("chat", "", C1, reasoning_content="Hm.")
    whole["choices"][0]["message"]["tool_calls"][0]["extra_content"] = {"signature": "s"}
    parts = [
        chunk(role="assistant", reasoning_content="H"),
        chunk(reasoning_content="m."),
        call_chunk(0, id="c1", name="charge", arguments=A, extra_content={"signature": "s"}),
        chunk("tool_calls"),
    ]
    _, model = played(world, run, "chat", parts if run in (streamed, streamed_awaited) else whole)
    kept = next(item for item in model.sent() if item.get("tool_calls"))
    assert kept["reasoning_content"] == "Hm."
    assert kept["tool_calls"][0]["extra_content"] == {"signature": "s"}


@every_form
def test_reasoning_is_carried_along_in_its_place(run: Run_, world: World) -> None:
    whole = says("responses", "", C1)
    whole["output"][0]["encrypted_content"] = "secret"
    _, model = played(world, run, "responses", whole, store=False)
    kinds = [item.get("type", "user") for item in model.sent()]
    assert kinds == ["user", "reasoning", "function_call", "function_call_output"]
    assert model.sent()[1]["encrypted_content"] == "secret"


@every_form
def test_a_server_that_keeps_the_conversation_is_sent_only_what_is_new(
    run: Run_, world: World
) -> None:
    double = says("responses", "", C1, C1, C1._replace(id="c2"), id="resp_2")
    ended, model = played(world, run, "responses", double, previous_response_id="resp_0")
    first, second = model.requests
    assert (first["previous_response_id"], second["previous_response_id"]) == ("resp_0", "resp_2")
    assert list(answers_in(second["input"])) == ["c1", "c2"]
    assert len(second["input"]) == 2
    assert (ended.items, ended.previous_response_id) == ([], "resp_1")
    assert len(world.effects) == 1


@every_form
def test_after_an_incomplete_response_the_chain_stays_where_it_was(run: Run_, world: World) -> None:
    cut = says("responses", "", C1, id="resp_3", status="incomplete")
    ended, model = played(
        world,
        run,
        "responses",
        says("responses", "", C1, id="resp_2"),
        cut,
        previous_response_id="resp_0",
    )
    assert (ended.end, ended.previous_response_id) == ("incomplete", "resp_2")
    assert ended.items == model.sent()
    assert list(answers_in(ended.items)) == ["c1"]


@every_form
def test_a_conversation_of_the_server_is_sent_only_what_is_new(run: Run_, world: World) -> None:
    ended, model = played(world, run, "responses", says("responses", "", C1), conversation="conv_1")
    assert [request["conversation"] for request in model.requests] == ["conv_1"] * 2
    assert "previous_response_id" not in model.requests[1]
    assert [item["type"] for item in model.sent()] == ["function_call_output"]
    assert ended.items == []


def test_the_caller_of_a_program_is_named_in_the_answer(world: World) -> None:
    whole = says("responses", "", C1)
    whole["output"][1]["caller"] = {"type": "program", "caller_id": "p1"}
    _, model = played(world, blocking, "responses", whole)
    assert model.sent()[-1]["caller"] == {"type": "program", "caller_id": "p1"}


@every_form
def test_a_refusal_is_the_text_of_the_run(run: Run_, world: World) -> None:
    ended, _ = played(world, run, "chat", says("chat", "", refusal="No."))
    assert (ended.end, ended.text) == ("refused", "No.")
    said_no = says("responses", "x")
    said_no["output"][-1]["content"] = [{"type": "refusal", "refusal": "No."}]
    ended, _ = played(world, run, "responses", said_no)
    assert (ended.end, ended.text) == ("refused", "No.")


@every_form
@pytest.mark.parametrize("beside", [False, True])
def test_a_tool_that_only_the_caller_can_run_ends_the_run(
    beside: bool, run: Run_, world: World
) -> None:
    whole = says("responses", "", *[C1] * beside)
    custom = {"type": "custom_tool_call", "id": "x1", "call_id": "x", "name": "sql", "input": "a"}
    whole["output"].append(custom)
    tools = [{"type": "custom", "name": "sql"}]
    ended, model = played(world, run, "responses", whole, tools=tools)
    assert (ended.end, len(model.requests)) == ("handed_over", 1)
    assert ended.items[-1 - beside] == custom
    assert len(world.effects) == len(answers_in(ended.items)) == beside


def test_a_custom_tool_of_chat_ends_the_run(world: World) -> None:
    whole = says("chat", "", C1)
    custom = {"id": "x", "type": "custom", "custom": {"name": "sql", "input": "a"}}
    whole["choices"][0]["message"]["tool_calls"].append(custom)
    tools = [{"type": "custom", "custom": {"name": "sql"}}]
    ended, _ = played(world, blocking, "chat", whole, tools=tools)
    assert ended.end == "handed_over"
    assert ended.items[1]["tool_calls"][1] == custom
    assert list(answers_in(ended.items)) == ["c1"]


def test_a_built_in_tool_that_the_server_ran_is_carried_along(world: World) -> None:
    whole = says("responses", "", C1)
    shell: list[dict[str, Any]] = [
        {"type": "shell_call", "id": "s1", "call_id": "s", "status": "completed", "action": {}},
        {"type": "shell_call_output", "id": "s2", "call_id": "s", "output": []},
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {}},
    ]
    whole["output"] += shell
    tools = [{"type": "web_search"}]
    ended, model = played(world, blocking, "responses", whole, tools=tools)
    assert ended.end == "answered"
    assert model.sent()[3:6] == shell
    assert [tool.get("name", tool["type"]) for tool in model.requests[0]["tools"]] == [
        "charge",
        "list_charges",
        "web_search",
    ]


@every_api
def test_a_model_is_told_of_the_toolboxs_tools(api: Api, tmp_path: Path) -> None:
    world = World(CONTRACTS["key"], tmp_path)
    _, model = played(world, blocking, api)
    tool = model.requests[0]["tools"][0]
    about = tool["function"] if api == "chat" else tool
    assert (tool["type"], about["name"]) == ("function", "charge")
    assert about["description"] == "Charge a customer."
    assert list(about["parameters"]["properties"]) == ["customer", "amount"]
    assert about.get("strict", False) is False
    model = Model(api)
    blocking(model, toolbox_of(world, [], contracts=[]))
    assert "tools" not in model.requests[0]


@every_api
@every_form
@pytest.mark.parametrize("forced", ["required", {"type": "function", "name": "charge"}])
def test_a_forced_call_is_forced_once(forced: Any, run: Run_, api: Api, world: World) -> None:
    _, model = played(world, run, api, says(api, "", C1), tool_choice=forced)
    assert [request.get("tool_choice") for request in model.requests] == [forced, None]
    allowed: dict[str, Any] = {"type": "allowed_tools", "mode": "auto", "tools": []}
    for free in ("auto", allowed):
        _, model = played(world, run, api, says(api, "", C1), tool_choice=free)
        assert [request["tool_choice"] for request in model.requests] == [free, free]
