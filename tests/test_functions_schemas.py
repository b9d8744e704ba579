"""JSON schemas of callers' own: what is refused at once, and what is held against a call."""

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from adapter_suite import CONTRACTS, World
from functions_tools import toolbox_of
from retry_guard import UsageError
from retry_guard_functions import FunctionTool, Toolbox

PLACE: dict[str, Any] = {"scope": "acme", "turn": "m1"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def fine(**given: Any) -> str:
    return "fine"


def box_of(world: World, tool: FunctionTool) -> Toolbox:
    return toolbox_of(world, [tool], contracts=[])


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": 5}, {"parameters": None}, {"parameters": {"type": "string"}}],
)
def test_a_tool_of_ones_own_schema_is_looked_at(wrong: dict[str, Any], world: World) -> None:
    parts: dict[str, Any] = {"name": "a", "function": world.read, "parameters": {}, **wrong}
    with pytest.raises(UsageError, match="JSON schema"):
        box_of(world, FunctionTool(**parts))


SCHEMA = {
    "$defs": {"item": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "unit": {"enum": ["cm", "in"]},
        "kind": {"const": "a"},
        "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "both": {"allOf": [{"type": "object"}, {"required": ["x"]}]},
        "never": False,
        "list": {"type": ["array", "null"]},
        "flag": {"type": "boolean"},
        "rate": {"type": "number", "minimum": 0},
        "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 3},
        "one": {"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]},
    },
    "dependentRequired": {"code": ["rate"]},
    "additionalProperties": {"type": "string"},
}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"items": [{"sku": "a"}, {"sku": 1}]}, "items.1.sku: must be string"),
        ({"items": {}}, "items: must be array"),
        ({"unit": "m"}, "unit: must be one of those in the schema"),
        ({"kind": "b"}, "kind: must be the one in the schema"),
        ({"size": "big"}, "size: does not fit `anyOf` in the schema"),
        ({"both": {}}, "both.x: is required"),
        ({"never": 1}, ": not allowed"),
        ({"list": 5}, "list: must be array or null"),
        ({"other": 5}, "other: must be string"),
        ({"flag": 1}, "flag: must be boolean"),
        ({"rate": True}, "rate: must be number"),
        ({"size": 1.5}, "size: does not fit `anyOf`"),
        ({"rate": -1}, "rate: does not fit `minimum` in the schema"),
        ({"code": "IGNORE", "rate": 1}, "code: does not fit `"),
        ({"code": "a"}, "does not fit `dependentRequired` in the schema"),
        ({"one": 6}, "one: does not fit `oneOf` in the schema"),
        ({"unit": True}, "unit: must be one of those in the schema"),
        (
            {
                "items": [{"sku": "a"}],
                "unit": "cm",
                "kind": "a",
                "size": None,
                "both": {"x": 1},
                "list": None,
                "other": "text",
                "flag": False,
                "rate": 1,
            },
            "",
        ),
        ({"size": 2.0, "rate": 0.5}, ""),
    ],
)
def test_a_schema_of_ones_own_is_held_against_the_arguments(
    given: dict[str, Any], said: str, world: World
) -> None:
    tool = FunctionTool(name="tool", function=fine, parameters=SCHEMA)
    answer = box_of(world, tool).call("tool", given, **PLACE)
    assert answer.is_error == bool(said)
    assert said in answer.text
    assert "IGNORE" not in answer.text


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"properties": None}, "no JSON schema: properties: None is not of type 'object'"),
        ({"required": True}, "no JSON schema: required: "),
        ({"properties": {"a": {"type": "money"}}}, "no JSON schema: properties.a.type: 'money'"),
        ({"properties": {"a": {"pattern": "("}}}, "no JSON schema: properties.a.pattern: "),
        ({"properties": {"a": {"$ref": "#/$defs/b"}}}, r"refers to '#/\$defs/b', which is not in"),
        ({"properties": {"a": {"$ref": "file.json#/a"}}}, "refers to 'file.json#/a', which is not"),
        ({"items": {"$ref": "http://[a"}}, r"refers to 'http://\[a', which is not in it"),
    ],
)
def test_a_schema_that_is_none_is_refused_at_once(
    schema: dict[str, Any], said: str, world: World
) -> None:
    tool = FunctionTool(name="tool", function=world.read, parameters=schema)
    with pytest.raises(UsageError, match=said) as refused:
        box_of(world, tool)
    assert "\n" not in str(refused.value)


def hearing() -> tuple[HTTPServer, list[str]]:
    """A server on this machine that notes what is asked of it."""
    asked = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "integer"}')

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - its name there

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, asked


def test_a_schema_elsewhere_is_never_fetched(world: World) -> None:
    """Neither where it is seen at once, nor behind a part that is no schema in itself."""
    server, asked = hearing()
    away = {"$ref": f"http://127.0.0.1:{server.server_port}/schema"}
    parts = {"direct": {"a": away}, "hidden": {"a": {"$ref": "#/x-parts/b"}}}
    try:
        for named in parts.values():
            schema = {"properties": named, "x-parts": {"b": away}}
            tool = FunctionTool(name="tool", function=fine, parameters=schema)
            with pytest.raises(UsageError, match="/schema', which is not in it: write it out"):
                box_of(world, tool).call("tool", {"a": 1}, **PLACE)
    finally:
        server.shutdown()
        server.server_close()
    assert asked == []


def test_a_schema_may_refer_to_itself_by_its_own_name_and_hold_what_looks_like_a_reference(
    world: World,
) -> None:
    schema = {
        "$id": "https://example.com/order",
        "$defs": {"money": {"$id": "money", "$anchor": "top", "type": "integer"}},
        "properties": {
            "amount": {"$ref": "money#top"},
            "kept": {"const": {"$ref": "nowhere"}},
            "$ref": {"type": "string"},
            "parts": {"type": "array", "items": {"$ref": "#"}},
        },
    }
    tool = FunctionTool(name="tool", function=fine, parameters=schema)
    box = box_of(world, tool)
    given = {"amount": 1, "$ref": "a", "kept": {"$ref": "nowhere"}, "parts": [{"amount": 2}]}
    assert box.call("tool", given, **PLACE).text == "fine"
    assert "amount: must be integer" in box.call("tool", {"amount": "1"}, **PLACE).text
    answer = box.call("tool", {"parts": [{"amount": "2"}]}, **PLACE)
    assert "parts.0.amount: must be integer" in answer.text


@pytest.mark.parametrize("dialect", ["http://json-schema.org/draft-07/schema#", "urn:no-dialect"])
def test_an_older_dialect_is_read_as_such_and_one_that_nobody_knows_as_the_newest(
    dialect: str, world: World
) -> None:
    schema: dict[str, Any] = {
        "$schema": dialect,
        "definitions": {"money": {"type": "integer"}},
        "properties": {"amount": {"$ref": "#/definitions/money"}},
        "patternProperties": {"^x-": {}},
        "additionalProperties": False,
    }
    box = box_of(world, FunctionTool(name="tool", function=fine, parameters=schema))
    assert box.call("tool", {"amount": 1, "x-a": 1}, **PLACE).text == "fine"
    assert "amount: must be integer" in box.call("tool", {"amount": "1"}, **PLACE).text
    assert "not fit: not allowed" in box.call("tool", {"x-a": 1, "b": 1}, **PLACE).text


@pytest.mark.parametrize("endless", [True, False])
def test_what_goes_too_deep_is_told_to_the_model(endless: bool, world: World) -> None:
    schema = {"properties": {"a": {"$ref": "#" if not endless else "#/properties/a"}}}
    tool = FunctionTool(name="tool", function=fine, parameters=schema)
    given: dict[str, Any] = {}
    for _ in range(400):
        given = {"a": given}
    assert "go too deep; nothing was sent" in box_of(world, tool).call("tool", given, **PLACE).text


def test_without_the_library_a_schema_of_ones_own_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['jsonschema'] = None\n"
        "from retry_guard_functions import FunctionTool, Toolbox\n"
        "from retry_guard_ledgers import open_ledger\n"
        "def own(a: int) -> int: return a\n"
        "ledger = open_ledger('memory://')\n"
        "box = Toolbox(ledger, [], tools=[own])\n"
        "assert box.call('own', {'a': 1}, scope='s', turn='t').text == '1'\n"
        "tool = FunctionTool(name='own', function=own, parameters={})\n"
        "try: Toolbox(ledger, [], tools=[tool])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = "own has a schema of its own, and there is no jsonschema: pip install "
    assert done.stdout == f"UsageError {said}'agent-retry-guard[openai]' or [anthropic]\n"
