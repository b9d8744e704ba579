"""Which fields of a call name its effect, and which do not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pydantic import BaseModel

import retry_guard_ledgers
from retry_guard_contracts import (
    SCHEME,
    ArgumentError,
    Contract,
    Identity,
    differing,
    identify,
    place_key,
)

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = b"s" * 32
PLAIN = Contract(tool="create_room")
ROOM = Contract(
    tool="create_room", identity={"name": "fold", "capacity": "number"}, defaults={"capacity": 30}
)


def whole(contract: Contract, arguments: Mapping[str, Any], **more: Any) -> Identity:  # noqa: ANN401 - passed on
    """Identify with the usual scope and secret."""
    usual: dict[str, Any] = {"scope": "acme", "secret": SECRET}
    return identify(contract, arguments, **{**usual, **more})


def named(contract: Contract, arguments: Mapping[str, Any], **more: Any) -> bytes:  # noqa: ANN401 - passed on
    """Only what names the effect."""
    return whole(contract, arguments, **more).identity


def test_both_digests_have_32_bytes_and_depend_on_the_secret() -> None:
    one, other = whole(ROOM, {"name": "5A"}), whole(ROOM, {"name": "5A"}, secret=b"t" * 32)
    assert {len(part) for part in (*one, *other)} == {32}
    assert one.identity != other.identity
    assert one.content != other.content


def test_without_identity_fields_every_argument_names_the_effect_and_the_content_is_constant() -> (
    None
):
    one, other = whole(PLAIN, {"a": 1, "b": 2}), whole(PLAIN, {"a": 1, "b": 3})
    assert one.identity != other.identity
    assert one.content == other.content


def test_with_identity_fields_the_rest_is_content() -> None:
    one, other = whole(ROOM, {"name": "5A", "note": 1}), whole(ROOM, {"name": "5a", "note": 2})
    assert one.identity == other.identity
    assert one.content != other.content
    assert whole(ROOM, {"name": "5A", "note": 1.0}) == whole(ROOM, {"name": "5a", "note": 1})


@pytest.mark.parametrize(
    "arguments",
    [
        {"name": "5A"},
        {"name": "5a"},
        {"name": "5A", "capacity": None},
        {"name": "5A", "capacity": 30},
        {"name": "5A", "capacity": "30.0"},
        {"name": "５Ａ\u200b"},
    ],
)
def test_omitted_null_default_and_folded_spellings_are_one_action(
    arguments: dict[str, Any],
) -> None:
    assert whole(ROOM, arguments) == whole(ROOM, {"name": "5A"})


@pytest.mark.parametrize(
    "arguments", [{"name": "5B"}, {"name": "5A", "capacity": 31}, {"capacity": 30}, {"name": ""}]
)
def test_other_rooms_are_other_actions(arguments: dict[str, Any]) -> None:
    assert named(ROOM, arguments) != named(ROOM, {"name": "5A"})


def test_without_folding_a_label_in_another_case_is_another_action() -> None:
    assert named(PLAIN, {"name": "Room 5A"}) != named(PLAIN, {"name": "Room 5a"})


def test_null_members_count_as_omitted_at_every_depth_but_null_items_stay() -> None:
    nested = {"who": {"id": 1, "mail": None}, "rows": [{"a": 1, "b": None}]}
    assert named(PLAIN, nested) == named(PLAIN, {"who": {"id": 1}, "rows": [{"a": 1}]})
    assert named(PLAIN, {"rows": [None]}) != named(PLAIN, {"rows": []})
    assert named(PLAIN, {"note": None}) == named(PLAIN, {})
    assert named(PLAIN, {"note": ""}) != named(PLAIN, {})


def test_a_default_deep_in_an_object_counts_as_omitted() -> None:
    contract = Contract(tool="t", defaults={"room.seats": 30, "mode": "fast"})
    assert named(contract, {"room": {"seats": 30.0}}) == named(
        contract, {"room": {}, "mode": "fast"}
    )
    assert named(contract, {"room": {"seats": 31}}) != named(contract, {"room": {}})


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_is_refused_and_never_null(bad: float) -> None:
    with pytest.raises(ArgumentError, match=r"^arguments\.x: (NaN|Infinity) is not a number"):
        identify(PLAIN, {"x": bad}, scope="s", secret=SECRET)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [([], "a list"), ("x", "text"), (None, "null"), (5, "a number"), (True, "a boolean")],
)
def test_arguments_that_are_no_object_are_refused(arguments: Any, kind: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ArgumentError, match=f"^arguments must be an object, not {kind}$"):
        identify(PLAIN, arguments, scope="s", secret=SECRET)


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a key is not text"):
        identify(PLAIN, {1: 2}, scope="s", secret=SECRET)  # type: ignore[dict-item] # wrong on purpose


def test_scope_tool_server_and_resource_are_part_of_the_identity() -> None:
    arguments = {"x": 1}
    contracts = [
        Contract(tool="a"),
        Contract(tool="b"),
        Contract(tool="a", server="one"),
        Contract(tool="a", server="two"),
        Contract(tool="a", resource="a"),
        Contract(tool="a", resource="rooms"),
    ]
    found = [named(contract, arguments) for contract in contracts]
    found.append(named(contracts[0], arguments, scope="other"))
    assert len(set(found)) == len(found)


def test_two_tools_that_write_one_resource_name_one_effect() -> None:
    one, other = (Contract(tool=tool, resource="rooms") for tool in ("create", "upsert"))
    assert named(one, {"name": "5A"}) == named(other, {"name": "5A"})


def test_the_ordinal_counts_only_where_equal_calls_each_count() -> None:
    counting = Contract(tool="t", twins="count")
    assert named(counting, {}, ordinal=0) != named(counting, {}, ordinal=1)
    assert named(PLAIN, {}, ordinal=0) == named(PLAIN, {}, ordinal=1)
    assert named(counting, {}, ordinal=0) != named(Contract(tool="t"), {})


@pytest.mark.parametrize("param", ["idempotency_key", "options.key"])
def test_the_key_and_volatile_fields_never_count(param: str) -> None:
    contract = Contract(tool="t", key={"param": param}, volatile=["trace", "items[].at"])
    bare: dict[str, Any] = {"items": [{"id": 1}], "options": {}}
    keyed, _ = place_key(contract, bare, "k1")
    assert keyed != bare
    full = {**keyed, "trace": 1, "items": [{"id": 1, "at": 7}]}
    assert whole(contract, full) == whole(contract, bare)


def test_a_volatile_field_may_hold_what_has_no_canonical_form() -> None:
    contract = Contract(tool="t", volatile=["at"])
    assert named(contract, {"at": float("nan")}) == named(contract, {})


def test_the_same_name_given_twice_in_nfc_is_refused() -> None:
    with pytest.raises(ArgumentError, match="same in NFC"):
        identify(PLAIN, {"é": 1, "e\u0301": 2}, scope="s", secret=SECRET)


def test_a_field_is_found_whichever_way_its_name_is_composed() -> None:
    contract = Contract(tool="t", identity=["e\u0301"])
    assert whole(contract, {"é": 1}) == whole(contract, {"e\u0301": 1})
    assert named(contract, {"é": 1}) != named(contract, {"é": 2})


def test_fields_of_items_can_name_the_effect() -> None:
    contract = Contract(tool="t", identity={"lines[].sku": "fold", "customer.id": "exact"})
    one = {"customer": {"id": 1, "seen": 5}, "lines": [{"sku": "A", "n": 1}, {"sku": "B"}]}
    other = {"customer": {"id": 1, "seen": 6}, "lines": [{"sku": "a", "n": 2}, {"sku": "b"}]}
    assert named(contract, one) == named(contract, other)
    assert whole(contract, one).content != whole(contract, other).content
    other["lines"] = [{"sku": "a"}]
    assert named(contract, one) != named(contract, other)
    assert named(contract, {"lines": [{}, {"sku": "B"}]}) != named(
        contract, {"lines": [{"sku": "B"}]}
    )


class Colour(Enum):
    RED = "red"


@dataclass
class Address:
    street: str
    zip: Decimal


class Order(BaseModel):
    id: UUID
    on: date
    colour: Colour
    address: Address
    note: str | None = None


def order(street: str = "Main") -> Order:
    """One order; every call makes a new object."""
    address = Address(street, Decimal("10.0"))
    return Order(id=UUID(int=1), on=date(2024, 1, 2), colour=Colour.RED, address=address)


def test_models_with_every_kind_of_field_have_an_identity() -> None:
    assert named(PLAIN, {"order": order()}) == named(PLAIN, {"order": order()})
    assert named(PLAIN, {"order": order()}) != named(PLAIN, {"order": order("Side")})


def test_a_path_leads_into_a_model() -> None:
    contract = Contract(tool="t", identity=["order.address.zip"], volatile=["order.note"])
    one, other = {"order": order()}, {"order": order("Side")}
    assert named(contract, one) == named(contract, other)
    assert whole(contract, one).content != whole(contract, other).content


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=2)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["name", "capacity", "note", "b"]), JSON, max_size=4)


@RELAXED
@given(one=ARGUMENTS, other=ARGUMENTS)
def test_identity_and_content_are_equal_exactly_if_no_field_differs(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    for contract in (PLAIN, ROOM):
        same = whole(contract, one) == whole(contract, other)
        assert same is (differing(contract, one, other) == ())


def test_the_fields_that_differ_are_named() -> None:
    one = {"name": "5A", "capacity": 30, "note": "x", "amount": 10}
    other = {"name": "5a", "note": "y", "amount": 99, "extra": 1}
    assert differing(ROOM, one, other) == ("amount", "extra", "note")
    assert differing(PLAIN, one, other) == ("amount", "capacity", "extra", "name", "note")


def test_a_key_with_other_metadata_is_caught_and_the_metadata_named() -> None:
    contract = Contract(tool="charge", key={"param": "key"})
    one = {"amount": 1000, "key": "K"}
    assert differing(contract, one, {**one, "metadata": {"try": 2}}) == ("metadata",)
    assert differing(contract, one, {**one, "key": "L"}) == ()


def test_another_scheme_gives_other_identities(monkeypatch: pytest.MonkeyPatch) -> None:
    before = whole(ROOM, {"name": "5A", "note": 1})
    monkeypatch.setattr("retry_guard_contracts._identity.SCHEME", SCHEME + 1)
    after = whole(ROOM, {"name": "5A", "note": 1})
    assert before.identity != after.identity
    assert before.content != after.content


def test_records_carry_the_scheme_under_which_their_identity_was_made() -> None:
    assert retry_guard_ledgers.SCHEME == SCHEME


def test_the_identities_of_scheme_1_are_pinned() -> None:
    """A change here orphans the records of running actions: it needs a new scheme."""
    found = whole(ROOM, {"name": "Café 5A", "capacity": "31", "note": [1, 2.5]})
    assert (
        found.identity.hex() == "1eb38739cbed5749e4489814dfcf455cbc333ae160dfed9a1bf89090e7a7e318"
    )
    assert found.content.hex() == "c445009d38ff5ba14f38814731e0c3a7abc78da2f8a6143d32d159ad8b24aef4"
