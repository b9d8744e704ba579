"""What happens to a result after the effect: stored if possible, and never in the way."""

from collections import OrderedDict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel

from retry_guard_contracts import decode, encode_result
from retry_guard_contracts._encoding import RESULT_LIMIT, encode

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Trap:
    """Fails the test if any of its code runs."""

    def __getattribute__(self, name: str) -> object:
        pytest.fail(f"the result was asked for {name}")

    def __iter__(self) -> Iterator[int]:
        pytest.fail("the result was iterated over")

    def __repr__(self) -> str:
        pytest.fail("the result was printed")

    def __len__(self) -> int:  # noqa: PLE0303 - a trap
        pytest.fail("the result was measured")

    def __eq__(self, other: object) -> bool:
        pytest.fail("the result was compared")

    def __hash__(self) -> int:  # noqa: PLE0309 - a trap
        pytest.fail("the result was hashed")


class TrapDict(dict[str, int]):
    def items(self) -> object:  # type: ignore[override] # a trap
        pytest.fail("the result was asked for its items")

    def __iter__(self) -> Iterator[str]:
        pytest.fail("the result was iterated over")


class Receipt(BaseModel):
    id: str
    total: Decimal


@pytest.mark.parametrize(
    "value", [None, "ok", 5, {"id": "ch_1"}, [1, (2, 3)], b"x", Decimal("1.0"), "", [], False]
)
def test_plain_results_come_back_the_same(value: object) -> None:
    stored = encode_result(value)
    assert stored is not None
    assert decode(stored) == value
    assert type(decode(stored)) is type(value)


def test_a_model_comes_back_as_a_model_or_as_its_data() -> None:
    stored = encode_result(receipt := Receipt(id="r", total=Decimal("1.10")))
    assert stored is not None
    assert decode(stored, {"Receipt": Receipt}) == receipt
    assert decode(stored) == {"id": "r", "total": Decimal("1.10")}


def test_what_cannot_be_stored_is_none(tmp_path: Path) -> None:
    loop: list[object] = []
    loop.append(loop)
    with (tmp_path / "file").open("w") as file:
        values: list[object] = [
            (n for n in [1]),
            file,
            float("nan"),
            "\ud800",
            loop,
            {1: 2},
            {"x": object()},
            OrderedDict(a=1),
            10**5000,
            object,
            ValueError("x"),
        ]
        assert [value for value in values if encode_result(value) is not None] == []


def test_no_code_of_an_unknown_class_runs() -> None:
    traps = (Trap(), [Trap()], {"x": (Trap(),)}, TrapDict(a=1), Trap)
    assert [stored for stored in map(encode_result, traps) if stored is not None] == []


def test_a_generator_is_not_consumed() -> None:
    numbers = iter([1, 2, 3])
    assert encode_result({"numbers": numbers}) is None
    assert list(numbers) == [1, 2, 3]


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("x" * (RESULT_LIMIT - 2), True),
        ("x" * (RESULT_LIMIT - 1), False),
        ("é" * (RESULT_LIMIT // 2 - 1), True),
        ("é" * (RESULT_LIMIT // 2), False),
        (b"x" * RESULT_LIMIT, False),
    ],
    ids=["text", "long text", "wide text", "long wide text", "bytes"],
)
def test_up_to_8_mib_are_stored(value: object, *, fits: bool) -> None:
    assert (encode_result(value) is not None) is fits


def test_a_result_of_exactly_the_limit_is_stored() -> None:
    assert encode_result(5, 1) == b"5"
    assert encode_result(55, 1) is None


@RELAXED
@given(
    value=st.recursive(
        st.one_of(st.integers(), st.text(max_size=9), st.binary(max_size=9), st.booleans()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(st.text(max_size=4), inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
        ),
        max_leaves=8,
    ),
    limit=st.integers(0, 60),
)
def test_a_result_is_stored_exactly_if_its_stored_form_is_within_the_limit(
    value: object, limit: int
) -> None:
    data = encode(value)
    assert encode_result(value, limit) == (data if len(data) <= limit else None)
