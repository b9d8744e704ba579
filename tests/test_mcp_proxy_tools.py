"""Lists of tools of every form, and results that do not fit what is declared, on their way."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Site, texts, tools, wait_for
from mcp_proxy_stated import KEY_SCHEMA, KEYED, POST, lists, tool
from retry_guard import Contract
from retry_guard_mcp_proxy._respelling import respelled
from retry_guard_mcp_proxy._schemas import misfit
from retry_guard_mcp_proxy._tools import Tools

CONTRACTS = """\
contracts:
  - {tool: first, key: {param: key, retention: 86400}}
  - {tool: third, key: {param: key, retention: 86400}}
  - {tool: gmail.send}
  - {tool: typed}
  - {tool: bare, key: {param: key, retention: 86400}}
"""
ITEM = {"type": "object", "properties": {"next": {"$ref": "#/definitions/Item"}}}


def schema(**more: object) -> dict[str, Any]:
    """A schema with the parameter for the key, and something else."""
    return {**KEY_SCHEMA, **more}


ODD = {
    "definitions": schema(definitions={"Item": ITEM}),
    "defs": schema(
        **{"$defs": {"Item": ITEM}, "$schema": "http://json-schema.org/draft-07/schema#"}
    ),
    "recursive": schema(definitions={"Item": {"$ref": "#/definitions/Item"}}),
    "dangling": schema(additionalProperties={"$ref": "#/$defs/Gone"}),
    "vendor": schema(**{"x-fastmcp-wrap-result": True, "x-google": {"format": "google-datetime"}}),
    "formats": schema(patternProperties={"^n": {"format": "uint64", "maximum": 2**64 - 1}}),
    "conditions": schema(**{"if": {"const": 1}, "then": {"const": None}, "else": False}),
    "union": schema(oneOf=[{"required": ["text"]}, {"required": ["key"]}], allOf=[True]),
    "unicode": schema(title="naïve \u2028 \U0001f600", examples=["\U0001f600 \u00e9"]),
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, CONTRACTS)


def without_key(given: dict[str, Any]) -> dict[str, Any]:
    """The schema as a client shall see it."""
    properties = {n: value for n, value in given["properties"].items() if n != "key"}
    return {**given, "properties": properties, "required": ["text"]}


@pytest.mark.parametrize("form", ODD)
def test_of_a_schema_of_any_form_the_key_alone_is_taken_out(site: Site, form: str) -> None:
    """B45, B53, B55: references, unions and keywords of a vendor's own stay where they are."""
    own = ODD[form]
    lists(site, [tool("first") | {"inputSchema": own}, tool("other") | {"inputSchema": own}])
    with site.proxy() as proxy:
        shown = tools(proxy.result(proxy.ask("tools/list")))
        assert shown["first"]["inputSchema"] == without_key(own)
        assert shown["other"]["inputSchema"] == own
        assert not proxy.called("first", POST)["isError"]
    assert site.effects[0]["key"]


BROKEN: list[Any] = [
    {"inputSchema": {"$ref": "#/$defs/Gone"}},
    {"inputSchema": {"type": "object", "properties": ["key"], "required": {"key": 1}}},
    {"inputSchema": None},
    {"inputSchema": "nonsense"},
    {"inputSchema": KEY_SCHEMA, "outputSchema": {"$ref": "#/$defs/Gone"}},
    {"inputSchema": KEY_SCHEMA, "annotations": "none", "_meta": [1]},
    {},
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_tool_whose_schema_is_broken_does_not_cost_the_others(
    site: Site, broken: dict[str, Any]
) -> None:
    """B46: three tools, the second with something wrong; the others are served and guarded."""
    lists(site, [tool("first"), {"name": "second", **broken}, tool("third")])
    site.fates("kill_after", "ok", "ok", "kill_after")
    with site.proxy() as proxy:
        shown = tools(proxy.result(proxy.ask("tools/list")))
        assert shown["second"] == {"name": "second", **broken}
        assert [*shown] == ["first", "second", "third"]
        for name in ("first", "second", "third"):
            assert not proxy.called(name, POST)["isError"]
    assert [effect["tool"] for effect in site.effects] == ["first", "second", "third"]


def test_what_is_no_tool_in_a_list_passes_between_those_that_are(site: Site) -> None:
    odd: list[Any] = [None, 7, "first", {"name": 7}, {"title": "x"}, ["first"]]
    lists(site, [*odd, tool("first")])
    with site.proxy() as proxy:
        shown = proxy.result(proxy.ask("tools/list"))["tools"]
    assert shown[:-1] == odd
    assert "key" not in shown[-1]["inputSchema"]["properties"]


def test_names_that_look_alike_are_other_tools_and_reach_the_server_as_they_are(
    site: Site,
) -> None:
    """B47: of `gmail.send`, `gmail/send` and `gmail_send` one has a contract."""
    names = ["gmail.send", "gmail/send", "gmail_send"]
    lists(site, [tool(name) for name in names])
    with site.proxy() as proxy:
        assert [*tools(proxy.result(proxy.ask("tools/list")))] == names
        for name in names:
            for _ in range(2):
                assert not proxy.called(name, POST)["isError"]
    called = [call["name"] for call in site.calls]
    assert [called.count(name) for name in names] == [1, 2, 2]
    assert [record.tool for record in site.records()] == ["gmail.send"]


@pytest.mark.parametrize("own", [{"type": "object", "additionalProperties": False}, {}])
def test_a_tool_without_parameters_stays_as_it_is_and_needs_none(
    tmp_path: Path, own: dict[str, Any]
) -> None:
    """B49, B52: absent arguments and empty ones are one call, and null is refused."""
    site = Site(tmp_path, "contracts: [{tool: bare}]")
    lists(site, [{"name": "bare", "inputSchema": own}])
    with site.proxy() as proxy:
        assert tools(proxy.result(proxy.ask("tools/list")))["bare"]["inputSchema"] == own
        first = proxy.result(proxy.ask("tools/call", {"name": "bare"}))
        assert proxy.called("bare", {})["content"] == first["content"]
        assert proxy.answer(proxy.call("bare", None))["error"]["code"] == -32602
    assert [call["arguments"] for call in site.calls] == [{}]


def test_only_the_key_as_a_parameter_leaves_an_object_that_needs_nothing(site: Site) -> None:
    only = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}
    lists(site, [{"name": "bare", "inputSchema": only}])
    with site.proxy() as proxy:
        shown = tools(proxy.result(proxy.ask("tools/list")))["bare"]["inputSchema"]
        assert shown == {"type": "object", "properties": {}}
        assert not proxy.result(proxy.ask("tools/call", {"name": "bare"}))["isError"]
    assert site.effects[0]["key"]


def test_pages_of_a_list_are_shown_as_they_come(site: Site) -> None:
    lists(site, [tool("first")], [tool("second"), tool("third")])
    with site.proxy() as proxy:
        one = proxy.result(proxy.ask("tools/list"))
        two = proxy.result(proxy.ask("tools/list", {"cursor": one["nextCursor"]}))
        assert [*tools(one), *tools(two)] == ["first", "second", "third"]
        assert "key" not in tools(two)["third"]["inputSchema"]["properties"]
        assert "nextCursor" not in two


def test_a_result_that_does_not_fit_passes_with_one_warning_and_is_repeated_as_it_was(
    site: Site,
) -> None:
    """B44, B53: nothing is made up, and no write fails on what is declared of its result."""
    lists(site, [tool("typed", outputSchema={"type": "object", "required": ["id"]})])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        first, again = proxy.called("typed", POST), proxy.called("typed", POST)
        other = proxy.called("typed", {"text": "other"})
        assert proxy.said("typed declares structured content and gave none: passed on as it is")
    for result in (first, again, other):
        assert not result["isError"]
        assert "structuredContent" not in result
    assert again["content"] == first["content"]
    assert len(site.calls) == 2


DECLARED = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
FITS: list[tuple[Any, Any, bool]] = [
    (DECLARED, {"structuredContent": {"id": 1}}, True),
    (DECLARED, {"structuredContent": {"id": None}}, True),
    (DECLARED, {"structuredContent": {}}, False),
    (DECLARED, {"structuredContent": [1]}, False),
    (DECLARED, {"content": []}, False),
    (DECLARED, {"content": [], "isError": True}, True),
    ({"$id": "x"}, {"content": []}, False),
    ({"type": ["object", "null"]}, {"structuredContent": None}, True),
    ({"type": "array"}, {"structuredContent": [1]}, True),
    (None, {"content": []}, True),
    ("nonsense", {"content": []}, True),
    (DECLARED, "no result", True),
]


@pytest.mark.parametrize(("declared", "result", "fits"), FITS)
def test_what_a_strict_client_would_refuse_is_known(
    declared: object, result: object, fits: bool
) -> None:
    assert (misfit({"name": "x", "outputSchema": declared}, result) is None) is fits


def test_a_strict_list_is_passed_byte_for_byte_in_both_generations(tmp_path: Path) -> None:
    """B45, B55: numbers, escapes and order stay those of the server where nothing is hidden."""
    site = Site(tmp_path, "contracts: [{tool: gmail.send}]")
    lists(site, [tool(name) | {"inputSchema": own} for name, own in ODD.items()])
    with site.direct() as direct, site.proxy() as proxy:
        for each in (direct, proxy):
            each.answer(each.ask("tools/list"))
        assert proxy.raw == direct.raw


def test_nothing_of_a_schema_reaches_standard_output(site: Site) -> None:
    """B55: whatever is odd in a list, each line that the client reads is a message."""
    lists(site, [tool(name) | {"inputSchema": own} for name, own in ODD.items()], [tool("first")])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert texts(proxy.called("first", POST))
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in proxy.raw)


def test_a_list_can_be_asked_for_while_calls_run(site: Site) -> None:
    lists(site, [tool("first")])
    site.fates("held")
    with site.proxy() as proxy:
        given = proxy.call("first", POST)
        wait_for(lambda: len(site.calls) == 1)
        assert tools(proxy.result(proxy.ask("tools/list")))
        site.go()
        assert not proxy.result(given)["isError"]


SPELLED = (
    '{ "jsonrpc":"2.0","id":1, "result" : {"tools":[ {"name":"first","inputSchema":'
    '{"properties":{"text":{"maximum":1E400,"minimum":-0.0,"x":1.50,"y":12345678901234567890123},'
    ' "key":{"type":"string"} , "\\u0061b":{"const":"\\ud83d\\ude00 \\/ \u00e9"}},'
    '"required":["text", "key"] ,"$ref":"#/a"}} ,{"name":"other","n":1e3}],"_meta":{ }} }\r\n'
)


def test_what_is_not_taken_out_keeps_its_very_bytes() -> None:
    """B45, B55: numbers, escapes, order and space are the server's own."""
    old = json.loads(SPELLED)
    known = Tools({"first": Contract(tool="first", **KEYED)}, show_key=False)
    new = known.shown(old)
    assert new is not None
    wanted = SPELLED.replace(', "key":{"type":"string"}', "").replace('"text", "key"]', '"text"]')
    assert respelled(SPELLED.encode(), old, new).rstrip() == wanted.encode().rstrip()


@pytest.mark.parametrize(
    ("line", "taken", "wanted"),
    [
        ('{"a":1,"b":2,"c":3}', ["a"], '{"b":2,"c":3}'),
        ('{"a":1 , "b":2}', ["b"], '{"a":1}'),
        ('{ "a":1 }', ["a"], "{  }"),
        ('{"a":1,"b":2,"c":3}', ["a", "b"], '{"c":3}'),
        ('{"a":1,"b":2,"c":3}', ["a", "c"], '{"b":2}'),
        ('{"a":"}\\"]","b":[[],{}]}', ["a"], '{"b":[[],{}]}'),
        ('{"a":1,"b":2,"a":3}', ["b"], '{"a":3}'),
        ("{}", [], "{}"),
    ],
)
def test_members_are_taken_out_wherever_they_stand(
    line: str, taken: list[str], wanted: str
) -> None:
    old = json.loads(line)
    new = {name: value for name, value in old.items() if name not in taken}
    assert respelled(line.encode(), old, new) == wanted.encode() + b"\n"


@pytest.mark.parametrize("line", [b"\xff", b"", b"[1]", b'{"a"', b'{"a":1}{', b'{"b":1,"a":2}'])
def test_a_line_that_says_something_else_costs_the_spelling_alone(line: bytes) -> None:
    assert json.loads(respelled(line, {"a": 1, "b": [2]}, {"b": [3]})) == {"b": [3]}
