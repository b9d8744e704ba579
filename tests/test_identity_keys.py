"""The key: made, found among the arguments, placed, and honoured or not."""

import re
from itertools import product
from typing import Any
from uuid import RFC_4122, UUID, uuid4

import httpx
import pytest

from retry_guard_contracts import (
    ArgumentError,
    Contract,
    caller_key,
    key_ignored,
    make_key,
    place_key,
)

CHARGE = Contract(tool="charge", key={"param": "idempotency_key"})
HEX = Contract(tool="charge", key={"param": "header:Idempotency-Key", "format": "hex"})
ASKED: dict[str, Any] = {
    "secret": b"s" * 32,
    "scope": "acme",
    "identity": b"i" * 32,
    "turn": "turn-7",
    "ordinal": 0,
    "generation": 0,
}


def made(contract: Contract, **other: Any) -> str:  # noqa: ANN401 - passed on
    """Make a key as usual, but for what is given."""
    return make_key(contract, **{**ASKED, **other})


def test_a_key_that_is_derived_is_the_same_without_any_record() -> None:
    assert made(CHARGE) == made(CHARGE)


@pytest.mark.parametrize(
    "other",
    [
        {"secret": b"t" * 32},
        {"scope": "other"},
        {"identity": b"j" * 32},
        {"turn": "turn-8"},
        {"ordinal": 1},
        {"generation": 1},
    ],
)
def test_a_key_differs_with_everything_that_it_is_derived_from(other: dict[str, Any]) -> None:
    assert made(CHARGE, **other) != made(CHARGE)


def test_another_tool_gets_another_key_for_an_equal_identity() -> None:
    other = Contract(tool="refund", key={"param": "idempotency_key"})
    assert made(other) != made(CHARGE)


def test_fields_cannot_run_together() -> None:
    one = made(CHARGE, scope="a", turn="bc")
    assert one != made(CHARGE, scope="ab", turn="c")


def test_without_a_turn_every_key_is_new() -> None:
    keys = {made(CHARGE, turn=None) for _ in range(50)}
    assert len(keys) == 50


def test_a_uuid_key_is_a_version_4_uuid() -> None:
    for turn, generation in product(["a", None], range(20)):
        key = UUID(text := made(CHARGE, turn=turn, generation=generation))
        assert (key.version, key.variant, str(key)) == (4, RFC_4122, text)


@pytest.mark.parametrize(("limit", "length"), [(None, 64), (32, 32), (40, 40), (255, 64)])
def test_a_hex_key_honours_the_length_and_holds_128_bits(limit: int | None, length: int) -> None:
    key = {"param": "k", "format": "hex", "max_length": limit}
    text = made(Contract(tool="t", key=key))
    assert re.fullmatch("[0-9a-f]+", text)
    assert len(text) == length >= 32


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("k-1", "k-1"),
        (UUID(int=5), str(UUID(int=5))),
        ("", None),
        ("  ", None),
        (None, None),
    ],
)
def test_a_callers_own_key_is_found_unless_it_is_blank(value: object, key: str | None) -> None:
    assert caller_key(CHARGE, {"idempotency_key": value}) == key


@pytest.mark.parametrize("contract", [Contract(tool="t"), HEX])
def test_where_the_key_is_no_argument_a_caller_has_none(contract: Contract) -> None:
    assert caller_key(contract, {"idempotency_key": "k", "header:Idempotency-Key": "k"}) is None


def test_a_missing_key_is_none_and_an_odd_one_is_refused() -> None:
    assert caller_key(CHARGE, {}) is None
    with pytest.raises(ArgumentError, match=r"arguments\.idempotency_key: a key must be text"):
        caller_key(CHARGE, {"idempotency_key": ["k"]})


def test_the_key_is_placed_where_it_travels_and_the_original_is_left_alone() -> None:
    arguments = {"amount": 5, "options": {"x": 1}}
    deep = Contract(tool="t", key={"param": "options.key"})
    meta = Contract(tool="t", key={"param": "meta:io.example/key"})
    none = Contract(tool="t")
    assert place_key(CHARGE, arguments, "K") == ({**arguments, "idempotency_key": "K"}, {})
    assert place_key(deep, arguments, "K")[0]["options"] == {"x": 1, "key": "K"}
    assert place_key(HEX, arguments, "K") == (arguments, {"header:Idempotency-Key": "K"})
    assert place_key(meta, arguments, "K") == (arguments, {"meta:io.example/key": "K"})
    assert place_key(none, arguments, "K") == (arguments, {})
    assert arguments == {"amount": 5, "options": {"x": 1}}


def test_the_placed_key_replaces_the_callers() -> None:
    placed, _ = place_key(CHARGE, {"idempotency_key": "mine", "a": 1}, "K")
    assert placed == {"idempotency_key": "K", "a": 1}
    assert caller_key(CHARGE, placed) == "K"


def acked(ack: str) -> Contract:
    """A contract whose server says in every response whether it took notice of the key."""
    return Contract(tool="t", key={"param": "k", "ack": ack})


@pytest.mark.parametrize(
    ("result", "ignored"),
    [
        ({"meta": {"key_used": True}}, False),
        ({"meta": {"key_used": "k-1"}}, False),
        ({"meta": {"key_used": False}}, True),
        ({"meta": {"key_used": "false"}}, True),
        ({"meta": {"key_used": " No "}}, True),
        ({"meta": {"key_used": None}}, True),
        ({"meta": {"key_used": ""}}, True),
        ({"meta": {"key_used": 0}}, True),
        ({"meta": {}}, True),
        ({}, True),
        ("plain text", True),
        (None, True),
        ('{"meta": {"key_used": true}}', False),
        ({"content": [{"type": "text", "text": '{"meta": {"key_used": true}}'}]}, False),
        ({"content": [], "structuredContent": {"meta": {"key_used": True}}}, False),
    ],
)
def test_a_key_is_ignored_where_the_declared_sign_is_missing(
    result: object, *, ignored: bool
) -> None:
    assert key_ignored(acked("meta.key_used"), result) is ignored


@pytest.mark.parametrize(
    ("headers", "ignored"),
    [({"Key-Used": "true"}, False), ({"key-used": "false"}, True), ({}, True)],
)
def test_the_sign_may_be_a_header_in_any_case(headers: dict[str, str], *, ignored: bool) -> None:
    contract = acked("header:KEY-USED")
    assert key_ignored(contract, httpx.Response(200, headers=headers)) is ignored
    assert key_ignored(contract, {"headers": headers}) is ignored


@pytest.mark.parametrize("result", [None, {}, "x", {"ok": True}])
def test_without_a_declared_sign_no_key_counts_as_ignored(result: object) -> None:
    assert not key_ignored(CHARGE, result)
    assert not key_ignored(Contract(tool="t"), result)


def test_random_callers_keys_are_kept_to_the_letter() -> None:
    for key in (str(uuid4()), " padded ", "é", "e\u0301"):
        assert caller_key(CHARGE, {"idempotency_key": key}) == key
