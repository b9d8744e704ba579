"""The stored form gives back the same values, of the same types."""

import json
from dataclasses import FrozenInstanceError, dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, getcontext
from enum import Enum, Flag, IntEnum, StrEnum
from typing import Any, NamedTuple, Optional, cast
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    TypeAdapter,
    field_validator,
)

from retry_guard_contracts import ArgumentError, decode, encode_arguments, types_in
from retry_guard_contracts._encoding import encode

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
BERLIN = ZoneInfo("Europe/Berlin")


class Colour(Enum):
    RED = "red"
    PAIR = (1, 2)


class Size(IntEnum):
    SMALL = 1


class Name(StrEnum):
    A = "a"


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Money:
    amount: Decimal
    currency: str = "EUR"


@dataclass(slots=True)
class Line:
    sku: str
    price: Money
    total: Decimal = field(init=False)

    def __post_init__(self) -> None:
        self.total = self.price.amount * 2


class Order(BaseModel):
    id: UUID
    at: datetime
    colour: Colour = Colour.RED
    lines: tuple[Line, ...] = ()
    label: str | None = Field(default=None, alias="Label")

    @field_validator("label")
    @classmethod
    def grows(cls, value: str | None) -> str | None:
        """A validator that changes what it is given: it must not run again."""
        return None if value is None else value + "!"


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Names(RootModel[list[str]]):
    pass


TYPES = types_in(Colour, Size, Name, Right, Order, Loose, Names)
OFFSETS = st.integers(-23 * 60, 23 * 60).map(lambda m: timezone(timedelta(minutes=m)))
ZONES = st.one_of(st.none(), st.just(UTC), OFFSETS, st.just(BERLIN))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.uuids(),
    st.dates(),
    st.datetimes(timezones=ZONES),
    st.times(timezones=st.one_of(st.none(), OFFSETS)),
    st.sampled_from([*Colour, *Size, *Name, *Right, Right.READ | Right.WRITE, Right(0)]),
    st.builds(Money, st.decimals(allow_nan=False, allow_infinity=False)),
)
KEYS = st.one_of(st.text(), st.sampled_from(["$", "v", "class", "$sealed"]))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.frozensets(SCALARS, max_size=3),
        st.sets(SCALARS, max_size=3),
    ),
    max_leaves=8,
)


def anatomy(value: Any) -> object:  # noqa: ANN401 - any value at all
    """Everything that two values must share to be the same, as text."""
    if isinstance(value, datetime):
        zone = value.tzinfo.key if isinstance(value.tzinfo, ZoneInfo) else value.utcoffset()
        return ("datetime", value.replace(tzinfo=None).isoformat(), value.fold, str(zone))
    kind = cast("Any", type(value))
    if kind is dict:
        return (kind, [(key, anatomy(item)) for key, item in value.items()])
    if kind in (list, tuple):
        return (kind, [anatomy(item) for item in value])
    if kind in (set, frozenset):
        return (kind, sorted(repr(anatomy(item)) for item in value))
    return (kind, repr(value))


@RELAXED
@given(VALUES)
def test_every_value_comes_back_the_same_and_of_the_same_type(value: object) -> None:
    assert anatomy(decode(encode(value), TYPES)) == anatomy(value)


@RELAXED
@given(VALUES)
def test_the_stored_form_is_strict_json_and_stable(value: object) -> None:
    data = encode(value)
    json.loads(data, parse_constant=pytest.fail)
    assert encode(decode(data, TYPES)) == data


@RELAXED
@given(VALUES)
def test_without_classes_it_comes_back_as_plain_data(value: object) -> None:
    plain = decode(encode(value))
    assert not {"Colour", "Money", "Right"} & set(repr(plain).replace("(", " ").split())
    assert decode(encode(plain)) == plain


def test_plain_json_is_stored_as_it_is() -> None:
    assert encode({"b": [1, 1.0, "é", None, True], "a": {}}) == (
        '{"b":[1,1.0,"é",null,true],"a":{}}'.encode()
    )


def test_the_order_of_members_and_the_composition_of_text_are_kept() -> None:
    value = {"b": "e\u0301", "a": "é"}
    assert list(decode(encode(value)).items()) == list(value.items())


def order() -> Order:
    """A model with everything in it, made anew."""
    line = Line("s", Money(Decimal("1.50")))
    return Order(id=UUID(int=3), at=datetime(2024, 1, 2, tzinfo=BERLIN), lines=(line,), Label="x")


def test_models_come_back_as_instances_with_all_that_was_set_and_no_validator_run_again() -> None:
    one, back = order(), decode(encode(order()), TYPES)
    assert back == one
    assert back.label == "x!"
    assert back.model_fields_set == one.model_fields_set
    assert back.lines[0].total == Decimal("3.00")
    assert back.model_dump_json() == one.model_dump_json()


def test_a_frozen_dataclass_is_still_frozen_and_hashable() -> None:
    back = decode(encode({Money(Decimal(1))}), TYPES)
    assert back == {Money(Decimal(1))}
    with pytest.raises(FrozenInstanceError):
        next(iter(back)).amount = 2


def test_extra_fields_and_root_models_come_back() -> None:
    loose = Loose.model_validate({"a": 1, "b": [2]})
    back = decode(encode(loose), TYPES)
    assert back == loose
    assert back.model_extra == {"b": [2]}
    assert decode(encode(Names(["a"])), TYPES) == Names(["a"])


def test_a_time_that_comes_twice_a_year_keeps_its_side() -> None:
    twice = datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN)
    for value in (twice, twice.replace(fold=1)):
        assert decode(encode(value)).utcoffset() == value.utcoffset()


def test_a_time_that_pydantic_read_comes_back_equal() -> None:
    value = TypeAdapter(datetime).validate_json('"2024-01-02T03:04:05+01:30"')
    assert decode(encode(value)) == value


def test_the_decimal_context_of_a_process_does_not_show() -> None:
    context = getcontext().copy()
    one = encode(Decimal("1E+30"))
    getcontext().capitals, getcontext().prec = 0, 2
    try:
        other = encode(Decimal("1E+30"))
        assert decode(encode(Decimal("1.2345"))) == Decimal("1.2345")
    finally:
        getcontext().capitals, getcontext().prec = context.capitals, context.prec
    assert one == other


class Private(BaseModel):
    a: int
    _cache: dict[str, int] = PrivateAttr(default_factory=dict)


class Celsius(float):
    pass


class Point(NamedTuple):
    x: int


def twin() -> type:
    """Another class of the same qualified name each time."""

    @dataclass
    class Twin:
        a: int

    return Twin


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), r"arguments\.x: values of type object are not supported"),
        (Celsius(1), "Celsius"),
        (Point(1), "Point"),
        (bytearray(b"x"), "bytearray"),
        (1j, "complex"),
        (open, "builtin"),
        (Money, "type"),
        (float("nan"), r"arguments\.x: NaN is not a number"),
        ([1, {"y": float("-inf")}], r"arguments\.x\[1\]\.y: -Infinity"),
        ("\ud800", "lone surrogate"),
        ({"\ud800": 1}, "lone surrogate"),
        ({1: 2}, "a key is not text"),
        (Private(a=1), "private attributes"),
        ([twin()(1), twin()(1)], "two classes are both named"),
        (10**4000, "3,900 digits"),
    ],
)
def test_arguments_that_would_not_survive_are_refused_with_their_place(
    value: object, message: str
) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        encode_arguments({"x": value})
    assert str(caught.value).startswith("arguments.x")
    assert "\n" not in str(caught.value)


def test_arguments_that_are_no_object_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"^arguments must be an object, not a list$"):
        encode_arguments([1])  # type: ignore[arg-type] # wrong on purpose


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["again"] = loop
    with pytest.raises(ArgumentError, match=r"^arguments.*: nested deeper than 100 levels"):
        encode_arguments(loop)


def test_an_object_whose_fields_are_not_all_stored_is_refused() -> None:
    line = Line("s", Money(Decimal(1)))
    del line.total
    with pytest.raises(ArgumentError, match="the class Line has changed"):
        encode_arguments({"line": line})


def test_a_class_is_never_found_by_its_name() -> None:
    data = encode(Money(Decimal(1))).replace(b"Money", b"subprocess.Popen")
    assert decode(data) == {"amount": Decimal(1), "currency": "EUR"}
    with pytest.raises(ArgumentError, match=r"subprocess\.Popen is not known here"):
        decode(data, TYPES)


def test_with_classes_given_a_missing_one_is_an_error_and_never_plain_data() -> None:
    for value in (Colour.RED, Money(Decimal(1)), order()):
        with pytest.raises(ArgumentError, match="is not known here"):
            decode(encode(value), {})


@pytest.mark.parametrize(
    ("value", "types"),
    [
        (Money(Decimal(1)), {"Money": Line}),
        (Money(Decimal(1)), {"Money": Colour}),
        (Colour.RED, {"Colour": Money}),
        (Loose(a=1), {"Loose": Money}),
        (Loose(a=1), {"Loose": Order}),
        (
            Loose.model_validate({"a": 1, "b": 2}),
            {"Loose": type("Loose", (BaseModel,), {"__annotations__": {"a": int}})},
        ),
    ],
)
def test_a_class_that_has_changed_is_an_error(value: object, types: dict[str, type]) -> None:
    with pytest.raises(ArgumentError, match="has changed since it was recorded"):
        decode(encode(value), types)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'{"$":"decimal"}',
        b'{"$":"decimal","v":"x"}',
        b'{"$":"nothing","v":1}',
        b'{"$":"uuid","v":7}',
        b'{"$":"datetime","v":"2024","zone":"No/Where"}',
        b'{"$":"bytes","v":"*"}',
        b'{"$":"enum","v":1}',
        b'{"$":["list"],"v":1}',
        b"[" * 100_000,
    ],
)
def test_damaged_data_is_one_clear_error(data: bytes) -> None:
    with pytest.raises(ArgumentError, match="the record is damaged"):
        decode(data, TYPES)


def test_types_are_found_through_hints_and_fields() -> None:
    def tool(a: Optional[Order], b: dict[str, list[Right]], *, c: "Name | None" = None) -> None: ...  # noqa: UP045 - the old spelling

    hints = [Optional[Order], dict[str, list[Right]], Name | None]  # noqa: UP045 - the old spelling
    assert tool.__name__ == "tool"
    assert set(types_in(*hints)) == {"Order", "Colour", "Line", "Money", "Right", "Name"}
    assert types_in(int, Any, None, dict[str, Any], date, time) == {}
