"""The canonical form: equal values give equal bytes, different ones different bytes."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, Flag, IntEnum
from fractions import Fraction
from itertools import combinations
from typing import Any, cast
from unicodedata import normalize
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel

from retry_guard_contracts import ArgumentError, canonical

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1


class Right(Flag):
    READ = 1
    WRITE = 2


@dataclass(frozen=True)
class Circle:
    width: int


@dataclass(frozen=True, slots=True)
class Square:
    width: int


class Room(BaseModel):
    name: str
    seats: int | None = None
    id: UUID | None = None


def same_number(one: float | Decimal, other: float | Decimal) -> bool:
    """Whether two numbers have one decimal value, as it is written."""
    return Fraction(str(one)) == Fraction(str(other))


def same(one: Any, other: Any) -> bool:  # noqa: ANN401 - any value at all
    """The reference: the stated equalities, and no other."""
    kinds: set[Any] = {type(one), type(other)}
    if kinds <= {int, float, Decimal}:
        return same_number(one, other)
    if kinds <= {list, tuple}:
        return len(one) == len(other) and all(map(same, one, other))
    if kinds <= {set, frozenset}:
        return all(any(same(a, b) for b in other) for a in one) and all(
            any(same(a, b) for a in one) for b in other
        )
    if len(kinds) > 1:
        return False
    if isinstance(one, str):
        return normalize("NFC", one) == normalize("NFC", other)
    if isinstance(one, dict):
        first = {normalize("NFC", k): v for k, v in cast("dict[str, Any]", one).items()}
        second = {normalize("NFC", k): v for k, v in cast("dict[str, Any]", other).items()}
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(one, datetime | time):
        return str(one) == str(other)
    return bool(one == other)


TEXTS = st.text(st.sampled_from("aAé\u0301e1 :\U0001f600\uff5e\u212bsdl"), max_size=3)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.integers(2**53 - 2, 2**53 + 2),
    st.sampled_from([10**20, 10**20 + 1, 0.1, 0.5, -0.0, 1.0, 1e20, 1e-7, 2.0**53, 5e-324]),
    st.decimals(-3, 3, places=1),
    st.sampled_from([Decimal("1E+20"), Decimal("0.10"), Decimal("1E-7"), Decimal("-0.00")]),
)
OFFSETS = st.sampled_from([None, UTC, timezone(timedelta(hours=1)), UTC])
TIMES = st.one_of(
    st.sampled_from([date(2024, 1, 1), time(10), time(10, tzinfo=UTC)]),
    st.builds(datetime, st.just(2024), st.just(1), st.just(1), st.integers(9, 10), tzinfo=OFFSETS),
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXTS,
    st.binary(max_size=2),
    TIMES,
    st.sampled_from([UUID(int=1), UUID(int=2), *Colour, *Size, *Right, Circle(1), Square(1)]),
)
HASHABLE = st.one_of(NUMBERS, TEXTS, st.none(), st.booleans(), st.binary(max_size=1))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=2).map(tuple),
        st.dictionaries(TEXTS.map(lambda text: normalize("NFC", text)), inner, max_size=3),
        st.sets(HASHABLE, max_size=3),
        st.frozensets(HASHABLE, max_size=2),
    ),
    max_leaves=6,
)


@RELAXED
@given(one=VALUES, other=VALUES)
def test_two_values_have_the_same_bytes_exactly_if_they_are_equal(
    one: object, other: object
) -> None:
    assert (canonical(one) == canonical(other)) is same(one, other)


@RELAXED
@given(one=LEAVES, other=LEAVES)
def test_two_leaves_have_the_same_bytes_exactly_if_they_are_equal(
    one: object, other: object
) -> None:
    assert (canonical(one) == canonical(other)) is same(one, other)


def every(items: Any) -> list[Any]:  # noqa: ANN401 - any container
    """Its items."""
    return list(items)


def respelled(value: Any) -> Any:  # noqa: ANN401 - any value at all
    """An equal value, spelled otherwise wherever that is possible."""
    match value:
        case bool() | Enum():
            return value
        case int() if abs(value) < 2**53:
            return float(value)
        case int():
            return Decimal(value)
        case float() | Decimal():
            return Decimal(str(value)) + Decimal("0.00")
        case str():
            return normalize("NFD", value)
        case dict():
            held = cast("dict[str, Any]", value)
            return {normalize("NFD", k): respelled(held[k]) for k in reversed(held)}
        case list():
            return tuple(map(respelled, every(value)))
        case tuple():
            return list(map(respelled, every(value)))
        case set():
            return frozenset(map(respelled, every(value)))
        case _:
            return value


@RELAXED
@given(VALUES)
def test_a_value_spelled_otherwise_has_the_same_bytes(value: object) -> None:
    assert canonical(value) == canonical(respelled(value))


# Each row is one value; every two rows differ. With strings only, a plain sorted dump would pass.
VECTORS: tuple[tuple[Any, ...], ...] = (
    (5, 5.0, 5e0, Decimal("5.00"), Decimal("5E0")),
    (0, 0.0, -0.0, Decimal(-0)),
    (1e20, 10**20, Decimal("1E+20")),
    (10**20 + 1,),
    (2**53, float(2**53)),
    (2**53 + 1,),
    (0.1, Decimal("0.1"), Decimal("0.10")),
    (1e-7, Decimal("0.0000001")),
    (0.1 + 0.2,),
    (1, 1.0),
    (True,),
    ("1",),
    (b"1",),
    (None,),
    ("",),
    ([],),
    ([[]],),
    ({},),
    (set[int](), frozenset[int]()),
    ("Café", "Cafe\u0301"),
    ("café",),
    ("Café ",),
    ({"a": {"x": 1, "y": 2}}, {"a": {"y": 2.0, "x": 1.0}}),
    ({"a": '{"x":1,"y":2}'},),
    ({"a": '{"y":2,"x":1}'},),
    ({"\U0001f600": 1, "\uff5e": 2}, {"\uff5e": 2, "\U0001f600": 1}),
    ({"a": None},),
    (["ab", "c"], ("ab", "c")),
    (["a", "bc"],),
    (["abc"],),
    (["as:c"], ("as:c",)),
    (["as1:c"],),
    (["a", "c"],),
    ({"b", "a"}, frozenset({"a", "b"})),
    (["a", "b"],),
    ({"x": (None, 1)}, {"x": [None, 1]}),
    (UUID(int=7),),
    (str(UUID(int=7)),),
    (date(2024, 1, 2),),
    (datetime(2024, 1, 2),),  # noqa: DTZ001 - a naive time is a value of its own
    (datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=ZoneInfo("UTC"))),
    (datetime(2024, 1, 2, 1, tzinfo=timezone(timedelta(hours=1))),),
    (time(1),),
    (Colour.RED,),
    ("red",),
    (Size.SMALL,),
    (Right.READ,),
    (Right.READ | Right.WRITE,),
    (Circle(1),),
    (Square(1),),
    ({"width": 1},),
    (Room(name="5A"), Room(name="5A", seats=None)),
    (Room(name="5A", id=UUID(int=7)),),
    ({"line": "a\nb", "quote": '"'},),
)


def test_every_spelling_of_a_vector_has_the_same_bytes_and_no_two_vectors_have() -> None:
    forms = [{canonical(value) for value in row} for row in VECTORS]
    assert [row for row, form in zip(VECTORS, forms, strict=True) if len(form) != 1] == []
    assert [pair for pair in combinations(forms, 2) if pair[0] & pair[1]] == []


def test_a_plain_sorted_dump_would_not_pass_these_vectors() -> None:
    def dump(value: object) -> str:
        return json.dumps(value, sort_keys=True, default=str)

    spread = [row for row in VECTORS if len({dump(value) for value in row}) > 1]
    forms = [{dump(value) for value in row} for row in VECTORS]
    assert len(spread) >= 6
    assert any(one & other for one, other in combinations(forms, 2))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": float("nan")}, r"arguments\.x: NaN is not a number; pass a finite one"),
        ({"x": float("inf")}, r"arguments\.x: Infinity is not a number"),
        ({"x": -float("inf")}, r"arguments\.x: -Infinity is not a number"),
        ({"x": Decimal("sNaN")}, r"arguments\.x: NaN is not a number"),
        ({"x": Decimal("Infinity")}, r"arguments\.x: Infinity is not a number"),
        ({"items": [1, 2, {"price": float("nan")}]}, r"^arguments\.items\[2\]\.price: NaN"),
        ({"x": "\ud800"}, r"arguments\.x: holds a lone surrogate"),
        ({"\ud800": 1}, r"arguments: holds a lone surrogate"),
        ({"x": {1: 2}}, r"arguments\.x: a key is not text"),
        ({"é": 1, "e\u0301": 2}, r"arguments: two keys are both 'é' in NFC"),
        ({"x": object()}, r"arguments\.x: values of type object are not supported"),
        ({"x": 1j}, r"values of type complex"),
        ({"x": iter([])}, r"values of type list_iterator"),
        ({"x": 10**4000}, r"more than 3,900 digits"),
        ({"x": Decimal("1" * 4000)}, r"more than 3,900 digits"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        canonical(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ArgumentError, match="nested deeper than 100 levels"):
        canonical(loop)


def test_a_subclass_of_a_plain_type_is_refused_since_it_may_mean_more() -> None:
    class Money(float):
        pass

    with pytest.raises(ArgumentError, match="Money"):
        canonical(Money(1))


def test_an_unknown_time_zone_class_is_refused() -> None:
    class Odd(tzinfo):
        utcoffset = tzname = dst = None  # type: ignore[assignment] # nothing may call them

    with pytest.raises(ArgumentError, match="time zones of type Odd"):
        canonical(datetime(2024, 1, 1, tzinfo=Odd()))


def test_no_code_of_an_unknown_class_runs() -> None:
    class Trap:
        def __repr__(self) -> str:
            raise AssertionError

        __iter__ = __hash__ = __len__ = __bool__ = __repr__  # type: ignore[assignment]

        def __getattribute__(self, name: str) -> object:
            raise AssertionError(name)

    with pytest.raises(ArgumentError, match="Trap"):
        canonical({"x": Trap()})


PROGRAM = """
import locale, time
from datetime import UTC, date, datetime
from decimal import Decimal, getcontext
from uuid import UUID
from retry_guard_contracts import Contract, canonical, identify
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
time.tzset()
getcontext().prec = 3
value = {
    "tags": {"b", "a", "c"}, "pair": (None, 1), "price": 1234567.5, "exact": Decimal("1.230"),
    "id": UUID(int=7), "on": date(2024, 1, 2), "at": datetime(2024, 7, 2, tzinfo=UTC),
    "naive": datetime(2024, 7, 2), "text": "Straße İi", "big": 10**30,
}
contract = Contract(tool="t", identity={"text": "fold", "at": "time", "price": "number"})
found = identify(contract, value, scope="s", secret=b"k")
print(canonical(value).hex(), found.identity.hex(), found.content.hex())
"""


def test_bytes_are_equal_whatever_zone_locale_and_hash_seed_a_process_has() -> None:
    zones = ("UTC", "Europe/Berlin", "Pacific/Auckland")
    settings = [
        {"TZ": zone, "LANG": lang, "LC_ALL": lang, "PYTHONHASHSEED": seed}
        for zone, lang, seed in zip(zones, ("C", "de_DE.UTF-8", "tr_TR.UTF-8"), "012", strict=True)
    ]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, **setting},
            stdout=subprocess.PIPE,
            text=True,
        )
        for setting in settings
    ]
    outputs = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(outputs)) == 1
    assert len(outputs[0].split()) == 3


def test_the_bytes_of_scheme_1_are_pinned() -> None:
    value = {"b": [1, 2.5, None, True], "a": {"t": "Cafe\u0301"}, "x": b"\x00", "d": Decimal("1e3")}
    assert canonical(value) == (
        b"d67:s1:ad12:s1:ts5:Caf\xc3\xa9s1:bl21:i3:1e0i5:19e-1n0:b1:1s1:di3:1e3s1:xx1:\x00"
    )
