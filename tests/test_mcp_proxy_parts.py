"""Single parts of the proxy, where a process would not show them."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from retry_guard import Contract, Done, NotExecuted, Unknown, Unresolved
from retry_guard_mcp_proxy._answers import answer_of
from retry_guard_mcp_proxy._judging import Answer, judge
from retry_guard_mcp_proxy._messages import name_of
from retry_guard_mcp_proxy._scope import scope_of
from retry_guard_mcp_proxy._streams import lines
from retry_guard_mcp_proxy._tools import Tools
from retry_guard_mcp_proxy._turns import call_id_of, turn_of

KEY = {"param": "key", "retention": 60}


def hidden(schema: dict[str, Any], param: str = "key") -> Any:  # noqa: ANN401 - a schema
    """Return what the client sees of a tool with that schema."""
    contract = Contract(tool="post", key={**KEY, "param": param})
    tools = Tools({"post": contract}, show_key=False)
    response = {"id": 1, "result": {"tools": [{"name": "post", "inputSchema": schema}]}}
    seen = tools.shown(response)
    return schema if seen is None else seen["result"]["tools"][0]["inputSchema"]


def test_a_tool_whose_only_parameter_is_the_key_needs_none_any_more() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"key": {}},
        "required": ["key"],
    }
    assert hidden(schema) == {"type": "object", "properties": {}}


def test_a_key_inside_another_parameter_is_hidden_there() -> None:
    inner: dict[str, Any] = {"properties": {"key": {}, "x": {}}, "required": ["x", "key"]}
    schema: dict[str, Any] = {"properties": {"options": inner}, "required": ["options"]}
    assert hidden(schema, "options.key") == {
        "properties": {"options": {"properties": {"x": {}}, "required": ["x"]}},
        "required": ["options"],
    }


SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "object"},
    {"properties": {"other": {}}},
    {"properties": []},
    {"properties": {"key": {}}, "required": "key", "x": 1},
    {"oneOf": [{"properties": {"key": {}}}]},
    {"$ref": "#/$defs/X", "$defs": {"X": {"properties": {"key": {}}}}},
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_schema_of_any_form_is_shown_without_harm(schema: dict[str, Any]) -> None:
    seen = hidden(schema)
    assert {name: seen[name] for name in seen if name != "properties"} == {
        name: schema[name] for name in schema if name != "properties"
    }


@pytest.mark.parametrize(
    "result", [None, [], {"tools": None}, {"tools": [None, 7, {"name": 8}, {"name": "post"}]}]
)
def test_a_list_of_tools_of_any_form_passes(result: object) -> None:
    tools = Tools({"post": Contract(tool="post", key=KEY)}, show_key=False)
    assert tools.shown({"id": 1, "result": result}) is None


def ok(**result: object) -> Answer:
    return Answer({"jsonrpc": "2.0", "id": 1, "result": {"content": [], **result}})


ENDS: list[tuple[Answer, object]] = [
    (ok(), Done),
    (ok(isError=False), Done),
    (ok(isError=True), Unknown),
    (
        ok(isError=True, content=[{"type": "text", "text": "Input validation error: x"}]),
        NotExecuted,
    ),
    (ok(resultType="complete"), Done),
    (ok(resultType="input_required"), Unknown),
    (Answer({"id": 1, "result": {"task": {"taskId": "t", "status": "working"}}}), Unknown),
    (Answer({"id": 1, "result": None}), Done),
    (Answer({"id": 1, "error": {"code": -32602, "message": "x"}}), NotExecuted),
    (Answer({"id": 1, "error": {"code": -32601, "message": "x"}}), NotExecuted),
    (Answer({"id": 1, "error": {"code": -32603, "message": "x"}}), Unknown),
    (Answer({"id": 1, "error": {"code": -32001, "message": "x"}}), Unknown),
    (Answer({"id": 1, "error": {"code": -32000, "message": "x"}}), Unknown),
    (Answer({"id": 1, "error": "x"}), Unknown),
    (Answer({"id": 1, "error": None, "result": {}}), Done),
    (Answer({"id": 1}), Unknown),
]


@pytest.mark.parametrize(("answer", "end"), ENDS)
def test_only_what_proves_it_counts_as_not_executed(answer: Answer, end: type) -> None:
    assert type(judge(answer)) is end


def test_a_task_that_was_accepted_is_not_done() -> None:
    end = judge(Answer({"id": 1, "result": {"task": {"taskId": "t"}}}))
    assert isinstance(end, Unknown)
    assert end.hint == "accepted"


VALUES: list[tuple[object, bool, dict[str, Any]]] = [
    ({"id": 1}, False, {"content": [{"type": "text", "text": '{"id": 1}'}], "isError": False}),
    ("plain", False, {"content": [{"type": "text", "text": "plain"}], "isError": False}),
    ("plain", True, {"content": [{"type": "text", "text": "plain"}], "isError": True}),
    ([1], True, {"content": [{"type": "text", "text": "[1]"}], "isError": True}),
]


@pytest.mark.parametrize(("value", "structured", "result"), VALUES)
def test_what_is_no_result_of_a_tool_is_put_into_one(
    value: object, structured: bool, result: dict[str, Any]
) -> None:
    assert answer_of(Done(value), None, structured=structured) == {"result": result}


def test_where_no_result_is_known_the_guards_sentence_stands_for_it() -> None:
    answer = answer_of(Done(None, replayed=True, warning="It happened."), None, structured=False)
    assert answer["result"]["content"] == [{"type": "text", "text": "It happened."}]


def test_an_unresolved_call_never_has_structured_content() -> None:
    unknown = Unresolved("a1", "unclear", text="Unknown.")
    assert answer_of(unknown, None, structured=True)["result"] == {
        "content": [{"type": "text", "text": "Unknown."}],
        "isError": True,
        "_meta": {"retry-guard/outcome": {"action": "a1", "reason": "unclear", "not_before": None}},
    }


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
async def test_lines_are_the_same_however_the_bytes_arrive(size: int) -> None:
    whole = b"one\n\ntwo and more\r\nhalf"

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(whole), size):
            yield whole[at : at + size]
            await asyncio.sleep(0)

    found = [line async for line in lines(pieces())]
    assert found == [b"one\n", b"\n", b"two and more\r\n", b"half"]


def test_ids_of_other_types_are_other_ids_and_numbers_are_named_by_value() -> None:
    assert len({name_of(1), name_of(1.5), name_of("1")}) == 3
    assert name_of(1) == name_of(1.0)
    odd: tuple[object, ...] = (True, None, [1], {"a": 1})
    assert [name_of(each) for each in odd] == [None] * 4


def call(meta: object, given: object = 7) -> dict[str, Any]:
    return {"id": given, "method": "tools/call", "params": {"_meta": meta}}


@pytest.mark.parametrize(
    ("meta", "turn"),
    [
        ({"x-codex-turn-metadata": {"turn_id": "t"}}, "t"),
        ({"x-codex-turn-metadata": {"turn_id": ""}}, None),
        ({"x-codex-turn-metadata": {"turn_id": 7}}, None),
        ({"x-codex-turn-metadata": "t"}, None),
        ({"callId": "c", "threadId": "t", "sessionId": "s", "claudecode/toolUseId": "u"}, None),
        ("nonsense", None),
        (None, None),
    ],
)
def test_only_the_turn_of_a_user_is_a_turn(meta: object, turn: str | None) -> None:
    assert turn_of(call(meta)) == turn


@pytest.mark.parametrize(
    ("meta", "given", "found"),
    [
        ({"callId": "c"}, 7, "c"),
        ({"claudecode/toolUseId": "u"}, 7, "u"),
        ({"callId": 3}, 7, 7),
        ({}, "id", "id"),
        ({}, 1.5, "1.5"),
    ],
)
def test_the_models_id_of_a_call_is_kept_for_the_audit(
    meta: object, given: object, found: object
) -> None:
    assert call_id_of(call(meta, given)) == found


def test_a_scope_names_the_user_the_server_and_the_folder_and_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LOGNAME", "ada")
    (tmp_path / "link").symlink_to(tmp_path)
    command = ("/usr/bin/npx", "-y", "pay-server", "--token", "s3cret")
    whole = "\0".join((os.path.realpath(tmp_path), *command))
    digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
    for folder in (tmp_path, tmp_path / "link"):
        monkeypatch.chdir(folder)
        assert scope_of(command) == f"ada@npx:{digest}"
    assert scope_of(command) != scope_of((*command[:-1], "other"))


def test_a_folder_that_is_gone_stops_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "@x:" in scope_of(("x",))


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError("no such user")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert scope_of(("x",)).startswith(f"uid-{os.getuid()}@x:")
