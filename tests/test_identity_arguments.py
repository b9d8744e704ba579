"""Arguments as harnesses hand them over."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retry_guard_contracts import ArgumentError, Contract, identify, parse_arguments

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLAIN = Contract(tool="t")


@pytest.mark.parametrize("given_text", ["", "  ", "\n\t", "{}", " { } ", b"", b"{}", {}, None])
def test_blank_and_missing_arguments_are_an_empty_object_with_one_identity(
    given_text: str | bytes | Mapping[str, Any] | None,
) -> None:
    assert parse_arguments(given_text) == {}
    found = identify(PLAIN, parse_arguments(given_text), scope="s", secret=b"k")
    assert found == identify(PLAIN, {}, scope="s", secret=b"k")


@pytest.mark.parametrize("null", ["null", " null ", b"null", None])
def test_null_is_empty_where_the_harness_means_that_and_else_an_error(null: str | None) -> None:
    assert parse_arguments(null) == {}
    with pytest.raises(ArgumentError, match=r"^arguments must be an object, not null$"):
        parse_arguments(null, null_is_empty=False)


@pytest.mark.parametrize("blank", ["", "  ", {}])
def test_blank_arguments_are_empty_even_where_null_is_an_error(blank: str) -> None:
    assert parse_arguments(blank, null_is_empty=False) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":', "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a":1} {"b":2}', "not valid JSON: it goes wrong at character 9"),
        ("[]", "must be an object, not a list"),
        ('[{"a":1}]', "must be an object, not a list"),
        ("5", "must be an object, not a number"),
        ("5.5", "must be an object, not a number"),
        ("true", "must be an object, not a boolean"),
        ('"{}"', "must be an object, not text"),
        ('{"a":NaN}', "NaN is not a JSON number"),
        ('{"a":[-Infinity]}', "-Infinity is not a JSON number"),
        ('{"a":1e999}', "1e999 is too large"),
        ('{"a":1,"a":2}', "the key 'a' is given twice"),
        ('{"a":{"b":1,"b":1}}', "the key 'b' is given twice"),
        (b'{"a":"\xff"}', "not UTF-8"),
        ("[" * 100_000, "nested too deep"),
        ('{"a":' + "9" * 5000 + "}", "a number has 5000 digits, which is too many"),
        ([], "must be an object, not a list"),
        (5, "must be an object, not a number"),
        ({1: 2}, "a key is not text"),
    ],
)
def test_what_is_no_json_object_is_one_clear_line(text: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ArgumentError, match=message) as caught:
        parse_arguments(text)
    assert "\n" not in str(caught.value)


def test_numbers_stay_what_they_are() -> None:
    parsed = parse_arguments('{"big": 90071992547409931, "whole": 5.0, "small": 1e-7, "n": 5}')
    assert parsed == {"big": 90071992547409931, "whole": 5.0, "small": 1e-7, "n": 5}
    assert [type(value) for value in parsed.values()] == [int, float, float, int]


def test_json_inside_a_string_is_left_alone() -> None:
    assert parse_arguments(r'{"a": "{\"x\":1}"}') == {"a": '{"x":1}'}


def test_a_mapping_is_copied() -> None:
    held = {"a": 1}
    parsed = parse_arguments(MappingProxyType(held))
    parsed["a"] = 2
    assert held == {"a": 1}


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=9),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@RELAXED
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=3))
def test_json_comes_through_as_the_same_values(arguments: dict[str, Any]) -> None:
    assert repr(parse_arguments(json.dumps(arguments))) == repr(arguments)
