"""What is put into a toolbox, and what models give to its tools."""

import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from adapter_suite import CONTRACTS, World
from confirm_school import CONFIRM
from functions_tools import coroutines_of, functions_of, toolbox_of
from guards import KEYED, LISTED, PLAIN, changed
from retry_guard import Contract, Done, UsageError
from retry_guard_functions import FunctionTool, Toolbox, sent_headers

PLACE: dict[str, Any] = {"scope": "acme", "turn": "m1"}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def box_of(world: World, *tools: Any, **options: Any) -> Toolbox:
    return toolbox_of(world, tools, contracts=options.pop("contracts", []), **options)


# Parts that do not fit


def test_a_contract_for_a_tool_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(UsageError, match=r"'refund', but the tools are: charge, list_charges"):
        toolbox_of(world, contracts=[Contract(tool="refund")])


def test_a_preview_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    two_phase = changed(PLAIN, confirm={**CONFIRM, "preview": "preview_charge"})
    with pytest.raises(UsageError, match="charge is previewed by 'preview_charge': add it"):
        toolbox_of(world, contracts=[two_phase])


def test_a_preview_that_would_run_after_it_was_recorded_is_refused(world: World) -> None:
    def preview_charge(customer: str, amount: int) -> Iterator[str]:
        yield f"{customer}: {amount}"

    two_phase = changed(PLAIN, confirm={**CONFIRM, "preview": "preview_charge"})
    with pytest.raises(UsageError, match="preview_charge is a generator"):
        toolbox_of(world, [*functions_of(world), preview_charge], contracts=[two_phase])


def test_two_tools_with_one_name_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="two are named 'charge'"):
        toolbox_of(world, [*functions_of(world), *functions_of(world)])


def test_two_contracts_for_one_tool_are_refused(world: World) -> None:
    with pytest.raises(UsageError, match="two equal contracts"):
        toolbox_of(world, contracts=[PLAIN, PLAIN])


@pytest.mark.parametrize("param", ["key", "options.key"])
def test_a_tool_that_takes_no_key_is_refused(param: str, world: World) -> None:
    head = param.partition(".")[0]
    contract = Contract(tool="charge", key={"param": param})
    with pytest.raises(UsageError, match=f"charge must take the parameter '{head}'"):
        toolbox_of(world, contracts=[contract])


def test_a_read_back_by_a_tool_that_is_not_there_is_refused(world: World) -> None:
    contract = changed(PLAIN, read_back=LISTED)
    only = functions_of(world)[:1]
    with pytest.raises(UsageError, match="read back by 'list_charges'"):
        toolbox_of(world, only, contracts=[contract])
    toolbox_of(world, only, contracts=[contract], read=world.read)


@pytest.mark.parametrize("given", [5, None, "charge", functools.partial(print), [print]])
def test_what_is_no_tool_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="tools: "):
        box_of(world, given)


@pytest.mark.parametrize("given", [5, None, PLAIN, [PLAIN, "charge"]])
def test_what_is_no_contract_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="contracts: "):
        toolbox_of(world, contracts=given)


@pytest.mark.parametrize("given", [5, None, print])
def test_what_is_no_list_of_tools_is_refused(given: Any, world: World) -> None:
    with pytest.raises(UsageError, match="tools: give a list of functions"):
        Toolbox(world.ledger(), [], tools=given)


def test_functions_that_no_schema_fits_are_refused(world: World) -> None:
    def starred(*amounts: int) -> None: ...
    def unnamed(amount: int, /) -> None: ...
    def odd(file: "Path | Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821 # pyright: ignore[reportUndefinedVariable, reportUnknownParameterType] - that is the point
    def opaque(world: World, made: Callable[[], Iterator[int]]) -> None: ...
    def generated(n: int) -> Iterator[int]:
        yield n

    refused: list[tuple[Any, str]] = [
        (starred, r"takes \*amounts: int: a tool's arguments need names"),
        (unnamed, "need names"),
        (odd, r"annotations cannot be read \(NameError"),
        (opaque, "no JSON schema fits its parameters"),
    ]
    for function, said in refused:
        with pytest.raises(UsageError, match=said):
            box_of(world, function)
    with pytest.raises(UsageError, match="generated is a generator"):
        box_of(world, generated, contracts=[Contract(tool="generated")])


def test_an_async_tool_is_refused_where_nobody_awaits(world: World) -> None:
    async def ask(question: object) -> None: ...

    box = toolbox_of(world, coroutines_of(world))
    with pytest.raises(UsageError, match="charge is an async function: use the async form"):
        box.call("charge", {"customer": "a", "amount": 1}, **PLACE)
    with pytest.raises(UsageError, match="async function"):
        box.check_run(**PLACE, blocking=True)
    box.check_run(**PLACE, blocking=False)
    with pytest.raises(UsageError, match="ask must be awaited"):
        toolbox_of(world, ask=ask).check_run(**PLACE, blocking=True)
    reading = [functions_of(world)[0], coroutines_of(world)[1]]
    box = toolbox_of(world, reading, contracts=[changed(PLAIN, read_back=LISTED)])
    with pytest.raises(UsageError, match="list_charges is an async function"):
        box.call("charge", {"customer": "a", "amount": 1}, **PLACE)
    assert world.requests == 0


@pytest.mark.parametrize("guarded", [False, True])
def test_a_function_that_returns_what_must_be_awaited_is_refused(
    guarded: bool, world: World
) -> None:
    charging = coroutines_of(world)[0]

    def charge(customer: str, amount: int) -> Any:
        return charging(customer, amount)

    box = toolbox_of(world, [charge], contracts=[PLAIN] * guarded)
    with pytest.raises(UsageError, match="async"):
        box.call("charge", {"customer": "a", "amount": 1}, **PLACE)
    assert world.requests == 0


@pytest.mark.parametrize(
    "place",
    [{"scope": ""}, {"scope": None}, {"scope": 5}, {"turn": ""}, {"turn": 5}],
)
async def test_a_call_without_a_place_sends_nothing(place: dict[str, Any], world: World) -> None:
    box, arguments = toolbox_of(world), {"customer": "a", "amount": 1}
    with pytest.raises(UsageError, match=r"(scope|turn): give"):
        box.call("charge", arguments, **{**PLACE, **place})
    with pytest.raises(UsageError, match=r"(scope|turn): give"):
        await box.call_awaited("list_charges", {}, **{**PLACE, **place})
    with pytest.raises(UsageError, match=r"(scope|turn): give"):
        box.check_run(**{**PLACE, **place}, blocking=True)
    assert world.requests == 0


# What a model is told of a tool


def test_a_model_sees_no_parameter_for_the_key(world: World) -> None:
    def charge(
        customer: Annotated[str, Field(description="Whom.")], amount: int = 5, key: str = ""
    ) -> None:
        """Charge a customer.

        At once.
        """

    box = box_of(world, charge, contracts=[KEYED])
    assert box.tools["charge"].description == "Charge a customer.\n\nAt once."
    assert box.tools["charge"].parameters == {
        "type": "object",
        "properties": {
            "customer": {"type": "string", "description": "Whom."},
            "amount": {"type": "integer", "default": 5},
        },
        "required": ["customer"],
        "additionalProperties": False,
    }


def test_a_schema_of_ones_own_is_shown_as_it_is_but_for_the_key(world: World) -> None:
    properties = {"customer": {"type": "string"}, "amount": {}, "key": {"type": "string"}}
    own = {"properties": properties, "required": ["customer", "key"]}

    def function(**given: Any) -> Any:
        return world.charge(**given)

    tool = FunctionTool(name="charge", function=function, parameters=own, description="d")
    box = box_of(world, tool, contracts=[KEYED])
    assert box.tools["charge"].parameters == {
        "type": "object",
        "properties": {"customer": {"type": "string"}, "amount": {}},
        "required": ["customer"],
    }
    world.fates.append("lost_ack")
    answer = box.call("charge", {"customer": "a", "amount": 1}, **PLACE)
    assert answer.value == {"id": "ch_1"}
    assert (world.requests, len(world.effects)) == (2, 1)


def test_names_that_a_pydantic_model_uses_itself_can_be_parameters(world: World) -> None:
    def odd(copy: int, model_config: int, _a: int, f0: int, self: int = 5) -> list[int]:
        return [copy, model_config, _a, f0, self]

    box = box_of(world, odd)
    given = {"copy": 1, "model_config": 2, "_a": 3, "f0": 4}
    assert box.call("odd", given, **PLACE).value == [1, 2, 3, 4, 5]


# What a model gives


@pytest.mark.parametrize("given", ["", "  ", "null", None, "{}", {}, b""])
def test_blank_arguments_are_none_at_all(given: Any, world: World) -> None:
    """B27."""

    def ping() -> str:
        return "pong"

    box = box_of(world, ping, contracts=[Contract(tool="ping")])
    assert box.call("ping", given, **PLACE).text == "pong"
    again = box.call("ping", "{}", **PLACE)
    assert isinstance(again.outcome, Done)
    assert again.outcome.replayed


MISFITS: dict[str, tuple[Any, str]] = {
    "cut off": ('{"customer": "a", "amount": ', "not valid JSON"),
    "a list": ("[1]", "must be an object, not a list"),
    "text": ('"a"', "must be an object, not text"),
    "twice": ('{"amount": 1, "amount": 2}', "is given twice"),
    "not a number": ('{"customer": "a", "amount": NaN}', "not valid JSON"),
    "missing": ('{"customer": "a"}', "amount: "),
    "another type": ('{"customer": "a", "amount": "much"}', "amount: "),
    "unknown": ('{"customer": "a", "amount": 1, "currency": "EUR"}', "currency: "),
    "a sentence": ('{"customer": "a", "amount": 1, "obey me": 1}', "some field: "),
    "a key": ('{"customer": "a", "amount": 1, "key": "mine"}', "key: "),
    "lone surrogate": ('{"customer": "\\ud800", "amount": 1}', ""),
}


@pytest.mark.parametrize("kind", MISFITS)
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("guarded", [False, True])
async def test_arguments_that_do_not_fit_are_told_to_the_model_and_nothing_is_sent(
    guarded: bool, own: bool, kind: str, tmp_path: Path
) -> None:
    if kind == "lone surrogate" and not guarded:
        return  # it fits, and nothing has to be recorded
    world = World(CONTRACTS["key"], tmp_path)
    function = functions_of(world)[0]
    schema = {
        "properties": {"customer": {"type": "string"}, "amount": {"type": "integer"}},
        "required": ["customer", "amount"],
        "additionalProperties": False,
    }
    tool = FunctionTool(name="charge", function=function, parameters=schema)
    box = box_of(world, tool if own else function, contracts=[KEYED] * guarded)
    if kind == "a key" and not guarded:
        return  # without a contract it is a parameter like any other
    given, said = MISFITS[kind]
    for answer in (
        box.call("charge", given, **PLACE),
        await box.call_awaited("charge", given, **PLACE),
    ):
        assert (answer.is_error, answer.outcome) == (True, None)
        assert said in answer.text
        assert "nothing" in answer.text
        assert "obey" not in answer.text
        answer.text.encode()
    assert world.requests == 0


def test_a_function_that_lacks_a_parameter_of_its_schema_does_not_run(world: World) -> None:
    schema: dict[str, Any] = {"properties": {"customer": {}, "currency": {}}}
    tool = FunctionTool(name="charge", function=functions_of(world)[0], parameters=schema)
    box = box_of(world, tool, contracts=[PLAIN])
    assert "does not take these names" in box.call("charge", {"currency": "EUR"}, **PLACE).text
    assert world.requests == 0


class Colour(Enum):
    RED = "red"


class Address(BaseModel):
    city: str
    zip: str = "0"


@dataclass
class Size:
    width: int


def test_what_a_function_cannot_tell_apart_is_one_action(world: World) -> None:
    """B27: also where the arguments are spelled in another way."""
    seen = list[tuple[Any, ...]]()

    def ship(
        to: Address, at: datetime, price: Decimal, colour: Colour, size: Size, unit: str = "cm"
    ) -> int:
        seen.append((to, at, price, colour, size, unit))
        return len(seen)

    box = box_of(world, ship, contracts=[Contract(tool="ship")])
    first = {
        "to": {"city": "Bonn"},
        "at": "2026-01-02T03:04:05Z",
        "price": "1.50",
        "colour": "red",
        "size": {"width": 3},
    }
    second = {**first, "to": {"city": "Bonn", "zip": "0"}, "unit": "cm", "size": {"width": "3"}}
    assert [box.call("ship", each, **PLACE).value for each in (first, second)] == [1, 1]
    ((to, at, price, colour, size, unit),) = seen
    assert (to, price, colour, size, unit) == (
        Address(city="Bonn"),
        Decimal("1.50"),
        Colour.RED,
        Size(3),
        "cm",
    )
    assert at.isoformat() == "2026-01-02T03:04:05+00:00"
    assert box.call("ship", {**first, "unit": "in"}, **PLACE).value == 2


def test_a_value_that_its_type_would_hide_goes_out_as_it_is(world: World) -> None:
    seen = list[str]()

    def login(token: SecretStr) -> str:
        seen.append(token.get_secret_value())
        return "in"

    box = box_of(world, login, contracts=[Contract(tool="login")])
    for token in ("one", "two", "one"):
        assert box.call("login", {"token": token}, **PLACE).text == "in"
    assert seen == ["one", "two"]


def test_defaults_that_no_json_can_say_are_the_functions_own(world: World) -> None:
    missing: Any = object()

    def charge(customer: str, amount: Any = missing, note: str = None) -> Any:  # type: ignore[assignment]  # noqa: RUF013 # pyright: ignore[reportArgumentType] - functions are written so
        return world.charge(customer, 5 if amount is missing else amount)

    box = box_of(world, charge, contracts=[PLAIN])
    assert box.call("charge", {"customer": "a"}, **PLACE).value == {"id": "ch_1"}
    assert box.call("charge", {"customer": "a"}, **PLACE).value == {"id": "ch_1"}
    assert world.effects[0]["amount"] == 5


def test_a_key_that_travels_as_a_header_reaches_the_body_of_the_tool(world: World) -> None:
    keys = list[str]()

    def charge(customer: str, amount: int) -> Any:
        keys.append(sent_headers()["Idempotency-Key"])
        return world.charge(customer, amount, keys[-1])

    world.fates.append("lost_ack")
    key = {"param": "header:Idempotency-Key", "retention": 3600}
    box = box_of(world, charge, contracts=[Contract(tool="charge", key=key)])
    assert not box.call("charge", {"customer": "a", "amount": 1}, **PLACE).is_error
    assert len(keys) == 2
    assert len(set(keys)) == len(world.effects) == 1
    with pytest.raises(UsageError, match="outside of a tool's run"):
        sent_headers()


def test_equal_calls_of_a_message_are_counted_in_any_spelling(world: World) -> None:
    box = toolbox_of(world, contracts=[changed(PLAIN, twins="count")])
    one, other = '{"customer": "a", "amount": 1}', {"amount": "1", "customer": "a"}
    calls: list[tuple[str, Any]] = [
        ("charge", one),
        ("list_charges", ""),
        ("charge", "{broken"),
        ("charge", other),
        ("nobody", other),
        ("charge", {"customer": "b", "amount": 1}),
        ("charge", one),
    ]
    ordinals = box.ordinals(calls)
    assert ordinals == [0, 0, 0, 1, 0, 0, 2]
    for (name, given), ordinal in zip(calls, ordinals, strict=True):
        box.call(name, given, **PLACE, ordinal=ordinal)
    assert [effect["customer"] for effect in world.effects] == ["a", "a", "b", "a"]
    assert toolbox_of(world).ordinals(calls) == [0] * 7


def test_importing_it_imports_no_sdk() -> None:
    code = (
        "import sys, retry_guard_functions\n"
        "others = {'openai', 'anthropic', 'agents', 'mcp', 'httpx', 'httpx2', 'jsonschema'}\n"
        "print(sorted(others & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
