"""Results come in many forms; what has not the declared shape shows nothing."""

import json
from typing import Any

import httpx
import pytest
import requests
from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel

from retry_guard_contracts import (
    ArgumentError,
    Contract,
    Sight,
    effect_of,
    judge,
    read_arguments,
    seal,
)

READ: dict[str, Any] = {
    "tool": "search",
    "items": "page.items",
    "match": {"title": "title"},
    "id": "id",
    "unique": True,
}


def contract(**more: Any) -> Contract:  # noqa: ANN401 - parts of a read-back
    """A contract with this read-back, but for what is given."""
    return Contract(tool="create", read_back={**READ, **more})


def judged(shown: object, /, title: object = "T", **more: Any) -> Sight:  # noqa: ANN401 - passed on
    """Judge a result for the write of one title."""
    return judge(
        contract(**more),
        arguments={"title": title},
        result=shown,
        first_send=0.0,
        tied=lambda _: False,
    )


FULL: dict[str, Any] = {"page": {"items": [{"id": 7, "title": "T"}]}, "more": False}
EMPTY: dict[str, Any] = {"page": {"items": []}, "more": False}


class Item(BaseModel):
    id: int
    title: str


class Page(BaseModel):
    items: tuple[Item, ...]


class Answer(BaseModel):
    page: Page
    more: bool = False


def forms(value: dict[str, Any]) -> dict[str, object]:
    """The same result as every kind of caller may hand it over."""
    text = json.dumps(value)
    answered = requests.Response()
    answered.status_code = 200
    answered._content = text.encode()
    block = {"type": "text", "text": text}
    return {
        "dict": value,
        "text": text,
        "bytes": text.encode(),
        "model": Answer.model_validate(value),
        "mcp text": {"content": [block]},
        "mcp text with null": {"content": [block], "structuredContent": None, "isError": False},
        "mcp structured": {"content": [{"type": "text", "text": "T!"}], "structuredContent": value},
        "mcp model": CallToolResult(content=[TextContent(type="text", text=text)]),
        "mcp structured model": CallToolResult(content=[], structured_content=value),
        "httpx": httpx.Response(200, json=value),
        "requests": answered,
    }


@pytest.mark.parametrize("form", forms(FULL))
def test_every_form_of_a_result_shows_the_same(form: str) -> None:
    assert judged(forms(FULL)[form]).seen == "ours"
    assert judged(forms(FULL)[form]).effect_id == "7"
    assert judged(forms(FULL)[form], title="U") == Sight("absent")
    assert judged(forms(EMPTY)[form]) == Sight("absent")


def test_a_list_may_be_the_result_itself() -> None:
    for items in (".", ""):
        assert judged([{"id": 1, "title": "T"}], items=items).seen == "ours"
        assert judged("[]", items=items) == Sight("absent")
        assert judged((), items=items) == Sight("absent")


def test_several_texts_of_an_mcp_result_are_a_list() -> None:
    blocks = [{"type": "text", "text": json.dumps({"id": n, "title": f"T{n}"})} for n in (1, 2)]
    assert judged({"content": blocks}, title="T2", items=".").effect_id == "2"


def test_a_mapping_with_content_of_its_own_is_no_mcp_result() -> None:
    result = {"content": [{"id": 1, "title": "T"}], "more": False}
    assert judged(result, items="content").seen == "ours"


SHAPELESS: list[object] = [
    None,
    5,
    "",
    "not json",
    '{"page": NaN}',
    '{"page": {"items": [], "items": []}}',
    b"\xff",
    {},
    [],
    {"page": {}},
    {"page": None},
    {"page": {"items": None}},
    {"page": {"items": {}}},
    {"page": {"items": "T"}},
    {"items": []},
    {"content": []},
    {"content": [{"type": "image", "data": "x"}]},
    {"content": [{"type": "text", "text": "no tickets found"}]},
    object(),
    "[" * 100_000,
]


@pytest.mark.parametrize("result", SHAPELESS, ids=range(len(SHAPELESS)))
def test_a_result_without_the_declared_list_is_never_absence(result: object) -> None:
    assert judged(result) == Sight("unbelieved")


@pytest.mark.parametrize("sign", ["isError", "is_error", "error", "errors", "timed_out"])
def test_a_result_that_reports_an_error_is_a_failed_read_whatever_it_lists(sign: str) -> None:
    assert judged({"page": {"items": []}, sign: ["index down"]}) == Sight("failed")
    assert judged(json.dumps({"page": {"items": []}, sign: True})) == Sight("failed")


@pytest.mark.parametrize("shown", [{}, {"id": 1}, {"name": "T"}, None, "T", 5, [], {"title": "T"}])
def test_an_item_without_the_declared_fields_is_never_absence(shown: object) -> None:
    assert judged({"page": {"items": [shown]}}, unique=False) == Sight("unbelieved")


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        ([{"sku": "a"}, {"sku": "b"}], "ours"),
        ([{"sku": "b"}, {"sku": "a"}], "absent"),
        ([{"sku": "a"}], "absent"),
        ([{"sku": "a"}, {}], "unbelieved"),
        ([{"code": "a"}, {"code": "b"}], "unbelieved"),
        (None, "unbelieved"),
    ],
)
def test_a_field_of_every_line_must_be_there_to_tell_items_apart(lines: object, seen: str) -> None:
    found = judge(
        contract(match={"lines[].sku": "items[].sku"}),
        arguments={"items": [{"sku": "a"}, {"sku": "b"}]},
        result={"page": {"items": [{"id": 1, "lines": lines}]}},
        first_send=0.0,
        tied=lambda _: False,
    )
    assert found.seen == seen


@pytest.mark.parametrize(
    "result",
    [
        {"content": [{"type": "text", "text": "[]"}], "isError": True},
        CallToolResult(content=[], is_error=True),
        httpx.Response(500, json=EMPTY),
        httpx.Response(404, json=EMPTY),
        httpx.Response(302, json=EMPTY),
    ],
)
def test_a_read_that_reports_an_error_has_failed(result: object) -> None:
    assert judged(result) == Sight("failed")


@pytest.mark.parametrize(
    ("path", "result", "seen"),
    [
        ("complete", {"complete": True}, "absent"),
        ("complete", {"complete": False}, "unbelieved"),
        ("complete", {"complete": "true"}, "unbelieved"),
        ("complete", {"complete": 1}, "unbelieved"),
        ("complete", {}, "unbelieved"),
        ("not more", {"more": False}, "absent"),
        ("not more", {"more": None}, "absent"),
        ("not more", {"more": ""}, "absent"),
        ("not more", {"more": True}, "unbelieved"),
        ("not more", {"more": "cursor"}, "unbelieved"),
        ("not more", {"more": "false"}, "unbelieved"),
        ("not more", {}, "unbelieved"),
        ("not page.next", {}, "unbelieved"),
        (None, {}, "absent"),
    ],
)
def test_nothing_in_a_list_that_may_be_cut_is_no_absence(
    path: str | None, result: dict[str, Any], seen: str
) -> None:
    assert judged({"page": {"items": []}, **result}, complete=path).seen == seen


def test_presence_counts_in_a_list_that_is_cut() -> None:
    assert judged({**FULL, "more": True}, complete="not more").seen == "ours"


def test_without_the_known_item_the_list_shows_nothing_not_even_presence() -> None:
    known = {"id": 1, "title": "canary"}
    for items, seen in (
        ([], "unbelieved"),
        ([{"id": 7, "title": "T"}], "unbelieved"),
        ([{"id": 2, "title": "canary"}], "unbelieved"),
        ([known], "absent"),
        ([known, {"id": 7, "title": "T"}], "ours"),
    ):
        assert judged({"page": {"items": items}}, control=known).seen == seen


def test_an_item_becomes_the_tools_own_result() -> None:
    shape = {"ticket.id": "id", "ticket.name": "title", "status": {"value": "created"}}
    found = judged(FULL, result=shape)
    assert found.value == {"ticket": {"id": 7, "name": "T"}, "status": "created"}
    assert judged(FULL, result={"url": "link"}) == Sight("unbelieved")


def test_the_name_of_an_effect_is_found_in_the_tools_own_result() -> None:
    shaped = contract(result={"ticket.id": "id"})
    assert effect_of(contract(), {"id": 7}) == "7"
    assert effect_of(contract(), '{"id": "t-7"}') == "t-7"
    assert effect_of(shaped, {"ticket": {"id": 7}, "id": 8}) == "7"
    for result in ({}, {"id": None}, {"id": True}, {"id": ""}, {"id": [1]}, "x", None, object()):
        assert effect_of(contract(), result) is None
    assert effect_of(Contract(tool="t"), {"id": 7}) is None
    assert effect_of(contract(id=None), {"id": 7}) is None


ARGS = Contract(
    tool="create",
    key={"param": "meta:key"},
    defaults={"queue": "general"},
    read_back={
        **READ,
        "args": {
            "query": "title",
            "who": "customer.id",
            "skus": "lines[].sku",
            "limit": {"value": 50},
            "cursor": {"value": None},
            "queue": "queue",
            "key": "meta:key",
        },
    },
)


def test_the_reads_arguments_come_from_the_writes_from_defaults_and_from_literals() -> None:
    arguments = {"title": "T", "customer": {"id": 4}, "lines": [{"sku": "a"}, {"sku": "b"}]}
    assert read_arguments(ARGS, arguments, "K") == {
        "query": "T",
        "who": 4,
        "skus": ["a", "b"],
        "limit": 50,
        "cursor": None,
        "queue": "general",
        "key": "K",
    }


def test_what_the_write_omitted_the_read_omits() -> None:
    expected = {"limit": 50, "cursor": None, "queue": "q"}
    assert read_arguments(ARGS, {"title": None, "queue": "q"}) == expected


def test_text_in_an_argument_is_never_taken_for_a_path() -> None:
    assert read_arguments(ARGS, {"title": "customer.id"})["query"] == "customer.id"


def test_a_key_that_is_an_argument_is_the_one_that_was_sent() -> None:
    read = {"tool": "r", "args": {"k": "k"}, "match": {"k": "k"}}
    own = Contract(tool="t", key={"param": "k"}, read_back=read)
    assert read_arguments(own, {"k": "caller's"}, "K") == {"k": "K"}
    assert read_arguments(own, {"k": "placed"}) == {"k": "placed"}


def test_without_a_read_back_there_is_nothing_to_ask_and_nothing_to_see() -> None:
    bare = Contract(tool="t")
    with pytest.raises(ArgumentError, match="its contract has no read_back; add one"):
        read_arguments(bare, {})
    found = judge(bare, arguments={}, result=[], first_send=0.0, tied=lambda _: False)
    assert found == Sight("unbelieved")


def test_a_hash_in_place_of_a_value_neither_reads_nor_matches() -> None:
    """A contract that was changed since the record was made may name a field that was secret."""
    sealed = seal(Contract(tool="create", secret=["title"]), {"title": "T"}, b"s")
    asking = contract(args={"query": "title"})
    with pytest.raises(ArgumentError, match=r"arguments\.title: was kept as a hash only"):
        read_arguments(asking, sealed)
    found = judge(asking, arguments=sealed, result=FULL, first_send=0.0, tied=lambda _: False)
    assert found == Sight("unbelieved")
