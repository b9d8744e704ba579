"""Equal values of a tool's parameters are one action, however and wherever they are spelled."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import pytest
from hypothesis import given as supposing, settings, strategies as st
from pydantic import BaseModel, Field, Json, SecretStr

from retry_guard import Contract
from retry_guard_contracts import canonical
from retry_guard_functions import FunctionTool, Toolbox
from retry_guard_functions._signatures import Signature
from retry_guard_ledgers import about, open_ledger

PLACE: dict[str, Any] = {"scope": "acme", "turn": "m1"}


class Order(BaseModel):
    ref: str
    tags: list[str] = Field(default_factory=list)
    price: Decimal = Decimal(1)
    id: str = Field(default_factory=lambda: uuid4().hex)


@dataclass
class Stamped:
    ref: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Login(BaseModel):
    token: SecretStr
    id: str = Field(default_factory=lambda: uuid4().hex)


def tool_of(hint: Any, *default: Any) -> Any:
    """A function with one parameter of this type, that counts its runs."""
    seen = list[Any]()

    def tool(a: Any) -> int:
        seen.append(a)
        return len(seen)

    tool.__annotations__["a"] = hint
    tool.__defaults__ = default or None
    return tool


def ran(function: Any, *spellings: Any, **contract: Any) -> list[Any]:
    """Return what each call tells, all in one turn."""
    made = [Contract(tool=function.__name__, **contract)]
    box = Toolbox(open_ledger("memory://"), made, tools=[function])
    answers = [box.call(function.__name__, each, **PLACE) for each in spellings]
    assert not any(answer.is_error for answer in answers), answers
    return [answer.value for answer in answers]


SAME: dict[str, tuple[Any, tuple[str, ...]]] = {
    "decimals": (tool_of(Decimal), ("5", "5.0", '"5.00"')),
    "decimals that may be none": (tool_of(Decimal | None, None), ("5", "5.0", '"5.00"')),
    "decimals in a list": (tool_of(list[Decimal]), ("[5]", "[5.0]", '["5.00"]')),
    "decimals in an object": (tool_of(dict[str, Decimal]), ('{"k": 1}', '{"k": 1.0}')),
    "decimals as names": (tool_of(dict[Decimal, int]), ('{"5": 1}', '{"5.00": 1}')),
    "decimals in a set": (tool_of(set[tuple[Decimal, int]]), ("[[1, 2]]", '[["1.0", 2]]')),
    "sets": (tool_of(set[int]), ("[1, 9]", "[9, 1]", '["9", 1, 1]')),
    "sets of text": (tool_of(frozenset[str]), ('["a", "b", "c"]', '["c", "a", "b"]')),
    "a default of none": (tool_of(str, None), ("null",)),
    "text that is JSON": (tool_of(Json), ('"{\\"x\\": 1}"', '"{\\"x\\":1}"')),
    "factories": (tool_of(Order), ('{"ref": "a"}', '{"ref": "a", "price": "1.0", "tags": []}')),
    "factories in a list": (tool_of(list[Order]), ('[{"ref": "a"}]', '[{"ref": "a"}]')),
    "factories of dataclasses": (tool_of(Stamped), ('{"ref": "a"}', '{"ref": "a"}')),
    "a secret beside a factory": (tool_of(Login), ('{"token": "t"}', '{"token": "t"}')),
}


@pytest.mark.parametrize("kind", SAME)
def test_equal_values_are_one_action(kind: str) -> None:
    """B27: Decimals, sets, and what a factory makes anew each time."""
    function, values = SAME[kind]
    spellings = [f'{{"a": {value}}}' for value in values]
    assert set(ran(function, *spellings, *spellings)) == {1}


def test_a_parameter_that_the_model_leaves_out_is_made_once() -> None:
    def ship(ref: str, id: str = Field(default_factory=lambda: uuid4().hex)) -> str:  # noqa: A002 - as users write
        return ref + id

    first, second = ran(ship, {"ref": "a"}, {"ref": "a"})
    assert first == second
    given_one, given_two = ran(ship, {"ref": "a", "id": "1"}, {"ref": "a", "id": "2"})
    assert (given_one, given_two) == ("a1", "a2")


OTHERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "a given value where a factory stands": (
        tool_of(Order),
        ('{"ref": "a", "id": "1"}', '{"ref": "a", "id": "2"}'),
    ),
    "a given time": (
        tool_of(Stamped),
        (
            '{"ref": "a", "at": "2026-01-01T00:00:00Z"}',
            '{"ref": "a", "at": "2026-01-02T00:00:00Z"}',
        ),
    ),
    "secrets beside a factory": (tool_of(Login), ('{"token": "one"}', '{"token": "two"}')),
    "decimals": (tool_of(Decimal), ("5", "5.01")),
    "sets": (tool_of(set[int]), ("[1, 9]", "[1, 9, 2]")),
    "iterators": (tool_of(Iterable[int]), ("[1]", "[2]")),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_values_are_other_actions(kind: str) -> None:
    function, values = OTHERS[kind]
    before, then = ran(function, *[f'{{"a": {value}}}' for value in values])
    assert before != then


def test_a_sent_order_goes_out_again_with_what_its_factory_made() -> None:
    sent = list[tuple[Order, str]]()

    def order(order: Order, key: str = "") -> str:
        sent.append((order, key))
        if len(sent) == 1:
            raise TimeoutError("no answer")
        return "done"

    contract = Contract(tool="order", key={"param": "key", "retention": 3600})
    box = Toolbox(open_ledger("memory://"), [contract], tools=[order])
    assert box.call("order", {"order": {"ref": "a"}}, **PLACE).text == "done"
    assert len(sent) == 2
    assert sent[0] == sent[1]


def test_a_field_as_a_default_says_more_of_the_parameter_and_is_no_value() -> None:
    def charge(ref: str, amount: int = Field(description="cents", ge=1)) -> str:
        return f"{ref}{amount}"

    box = Toolbox(open_ledger("memory://"), [Contract(tool="charge")], tools=[charge])
    shown = box.tools["charge"].parameters
    assert shown["required"] == ["ref", "amount"]
    assert shown["properties"]["amount"] == {
        "type": "integer",
        "minimum": 1,
        "description": "cents",
    }
    assert "amount: Field required" in box.call("charge", {"ref": "a"}, **PLACE).text
    assert box.call("charge", {"ref": "a", "amount": 5}, **PLACE).text == "a5"


def test_a_default_of_none_takes_null_and_keeps_what_the_model_is_told() -> None:
    def note(amount: int, text: Annotated[str, Field(description="A note.")] = None) -> int:  # type: ignore[assignment]  # noqa: RUF013 # pyright: ignore[reportArgumentType] - functions are written so
        return amount

    box = Toolbox(open_ledger("memory://"), [], tools=[note])
    assert box.tools["note"].parameters["properties"]["text"]["description"] == "A note."
    assert ran(note, {"amount": 5}, {"amount": "5", "text": None}) == [5, 5]


def test_a_check_of_the_users_own_that_fails_is_told_to_the_model(tmp_path: Path) -> None:
    from pydantic import AfterValidator

    def boom(value: int) -> int:
        return [5][value]

    function = tool_of(Annotated[int, AfterValidator(boom)])
    box = Toolbox(open_ledger("memory://"), [Contract(tool="tool")], tools=[function])
    answer = box.call("tool", {"a": 1}, **PLACE)
    assert answer.text.endswith("IndexError in a check of their types; nothing was sent")
    assert answer.outcome is None


def test_a_schema_of_ones_own_counts_the_functions_defaults() -> None:
    def ship(item: str, unit: str = "cm") -> str:
        return item + unit

    parameters = {"properties": {"item": {"type": "string"}, "unit": {"type": "string"}}}
    ledger = open_ledger("memory://")
    tool = FunctionTool(name="ship", function=ship, parameters=parameters)
    box = Toolbox(ledger, [Contract(tool="ship")], tools=[tool])
    for given in ({"item": "a"}, {"item": "a", "unit": "cm"}, {"item": "a", "unit": "in"}):
        box.call("ship", given, **PLACE)
    assert len(ledger.list("acme")) == 2


ELSEWHERE = """
import sys
sys.path[:0] = sys.argv[2:]
from retry_guard import Contract
from retry_guard_functions import Toolbox
from retry_guard_ledgers import open_ledger
from test_functions_spellings import Order
def tag(tags: set[str], order: Order): print("ran"); return "ok"
box = Toolbox(open_ledger(sys.argv[1]), [Contract(tool="tag")], tools=[tag])
given = {"tags": ["a", "b", "c", "d"], "order": {"ref": "a"}}
assert box.call("tag", given, scope="acme", turn="m1").text == "ok"
"""


def test_processes_with_other_hash_seeds_make_one_effect(tmp_path: Path) -> None:
    said = ""
    for seed in ("1", "2", "3"):
        command = [sys.executable, "-c", ELSEWHERE, f"sqlite:///{tmp_path}/g.db"]
        done = subprocess.run(
            [*command, str(Path(__file__).parent)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        said += done.stdout
    assert said == "ran\n"


class Item(BaseModel):
    sku: str
    price: Decimal
    id: str = Field(default_factory=lambda: uuid4().hex)


def buy(items: list[Item], tags: set[str], limit: Decimal | None = None) -> None: ...


@st.composite
def spelled_twice(draw: st.DrawFn) -> tuple[Any, Any]:
    """One purchase in two spellings."""
    cents = st.decimals(min_value=0, max_value=10**6, places=2)
    bought = draw(st.lists(st.tuples(st.text(st.characters(codec="utf-8")), cents), max_size=3))
    tags = draw(st.lists(st.sampled_from("abcde"), unique=True))
    limit = draw(st.none() | cents)
    one = {
        "items": [{"sku": sku, "price": str(price)} for sku, price in bought],
        "tags": tags,
        "limit": None if limit is None else f"{limit:.4f}",
    }
    other = {
        "items": [{"price": float(price), "sku": sku} for sku, price in bought],
        "tags": [*reversed(tags), *tags],
        **({} if limit is None else {"limit": float(limit)}),
    }
    return one, other


@supposing(spelled_twice())
@settings(max_examples=60, deadline=None)
def test_equal_purchases_are_written_in_equal_bytes(both: tuple[Any, Any]) -> None:
    shape = Signature("buy", buy, None)
    written = [shape.fit(json.loads(json.dumps(each))) for each in both]
    first, second = map(canonical, written)
    assert first == second
    assert canonical(shape.fit(dict(written[0]))) == first, "a record is read as it was written"


def test_a_record_of_a_decimal_is_sent_as_it_was_recorded(tmp_path: Path) -> None:
    ledger = open_ledger("memory://")
    box = Toolbox(ledger, [Contract(tool="tool")], tools=[tool_of(Decimal)])
    box.call("tool", '{"a": "5.00"}', **PLACE)
    (record,) = ledger.list("acme")
    assert b"5.00" in about(record).arguments
