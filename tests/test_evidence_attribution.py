"""Whose is what a read-back shows? Presence counts only with a mark that nobody else has."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest

from retry_guard_contracts import Contract, Sight, judge

SENT = 1000.0
ARGUMENTS = {"customer": "c1", "amount": 5, "ref": "r-1"}
BASE: dict[str, Any] = {
    "tool": "list",
    "items": "data",
    "match": {"customer": "customer", "amount": "amount"},
    "id": "id",
    "created": "at",
    "skew": 2,
}
KEYED: dict[str, Any] = {"param": "header:Key"}
BY_KEY = {**BASE, "match": {"key": "header:Key", "amount": "amount"}, "marker": "header:Key"}
BY_REF = {**BASE, "match": {**BASE["match"], "ref": "ref"}, "marker": "ref"}


def item(name: str = "i1", **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any item
    """An item that matches, created long after the first send, but for what is given."""
    return {"id": name, "customer": "c1", "amount": 5, "at": SENT + 10.0} | fields


def sight(
    read: Mapping[str, Any],
    *items: object,
    tied: tuple[str, ...] = (),
    arguments: Mapping[str, Any] = ARGUMENTS,
    key: str | None = "K",
) -> Sight:
    """Judge a list of these items."""
    return judge(
        Contract(tool="t", key=KEYED, read_back=dict(read)),
        arguments=arguments,
        result={"data": list(items)},
        first_send=SENT,
        tied=tied.__contains__,
        key=key,
    )


def test_every_combination_of_facts_about_one_matching_item_has_the_right_verdict() -> None:
    """Exhaustive: when it was created, who else writes, whose the ledger says it is."""
    ages = {-2.001: "before", -2.0: "unclear", 0.0: "unclear", 1.999: "unclear", 2.0: "after"}
    facts = list(product(ages, (False, True), (False, True), (False, True)))
    assert len(facts) == 40
    for offset, exclusive, unique, tied in facts:
        read = {**BASE, "exclusive": exclusive, "unique": unique}
        seen = sight(read, item(at=SENT + offset), tied=("i1",) if tied else ()).seen
        if unique:
            right = "ours"
        elif tied or ages[offset] == "before":
            right = "absent"
        else:
            right = "ours" if exclusive and ages[offset] == "after" else "foreign"
        assert seen == right, (offset, exclusive, unique, tied)


@pytest.mark.parametrize("different", [{"customer": "c2"}, {"amount": 6}, {"amount": 5.5}])
@pytest.mark.parametrize("read", [{**BASE, "exclusive": True}, {**BASE, "unique": True}, BASE])
def test_an_item_in_which_one_field_differs_is_anothers(
    read: dict[str, Any], different: dict[str, Any]
) -> None:
    assert sight(read, item(**different)) == Sight("absent")


@pytest.mark.parametrize(
    "other_kind", [{"customer": None}, {"amount": "6"}, {"amount": "5"}, {"amount": True}]
)
def test_an_item_in_which_a_field_is_of_another_kind_decides_nothing(
    other_kind: dict[str, Any],
) -> None:
    """A server may spell a number as text, or hide it: that is no absence."""
    assert sight(BASE, item(**other_kind)) == Sight("unbelieved")


def test_nothing_at_all_is_absent() -> None:
    assert sight(BASE) == Sight("absent")


def test_what_is_ours_comes_with_its_result_and_name() -> None:
    found = sight({**BASE, "exclusive": True}, item("other", amount=6), item("mine"))
    assert found == Sight("ours", item("mine"), "mine")


def test_two_that_could_be_ours_are_several_unless_such_a_thing_exists_only_once() -> None:
    assert sight({**BASE, "exclusive": True}, item("a"), item("b")) == Sight("several")
    assert sight(BY_KEY, item("a", key="K"), item("b", key="K")) == Sight("several")
    assert sight({**BASE, "unique": True}, item("a"), item("b")).effect_id == "a"


def test_an_effect_of_another_action_beside_ours_is_no_second_one() -> None:
    read = {**BASE, "exclusive": True}
    assert sight(read, item("theirs"), item("mine"), tied=("theirs",)).effect_id == "mine"
    assert sight(read, item("old", at=SENT - 50), item("mine")).effect_id == "mine"


def test_an_effect_of_another_action_is_never_adopted() -> None:
    assert sight({**BASE, "exclusive": True}, item("theirs"), tied=("theirs",)) == Sight("absent")


def test_the_key_alone_makes_it_ours_whatever_the_server_did_to_the_rest() -> None:
    odd: list[dict[str, Any]] = [{}, {"amount": 6}, {"at": SENT - 999}, {"amount": None, "at": "?"}]
    for fields in odd:
        assert sight(BY_KEY, item(key="K", **fields)).seen == "ours"


@pytest.mark.parametrize("key", ["L", None, "", "k", 5])
def test_an_item_with_another_key_is_anothers(key: object) -> None:
    assert sight({**BY_KEY, "exclusive": True}, item(key=key)) == Sight("absent")


def test_our_key_on_an_effect_of_another_action_is_for_a_person_to_look_at() -> None:
    assert sight(BY_KEY, item(key="K"), tied=("i1",)) == Sight("foreign")


def test_an_item_that_bears_no_marker_field_decides_nothing_if_the_rest_is_equal() -> None:
    assert sight(BY_KEY, item()) == Sight("unbelieved")
    assert sight(BY_KEY, item(amount=6)) == Sight("absent")


def test_without_a_key_the_other_rules_apply() -> None:
    assert sight({**BY_KEY, "exclusive": True}, item(key="L"), key=None).seen == "ours"
    assert sight(BY_KEY, item(key="L"), key=None) == Sight("foreign")


@pytest.mark.parametrize(
    ("fields", "tied", "seen"),
    [
        ({"ref": "r-1"}, (), "ours"),
        ({"ref": "r-1", "at": SENT}, (), "ours"),
        ({"ref": "r-1", "at": SENT - 9}, (), "foreign"),
        ({"ref": "r-1", "amount": 6}, (), "foreign"),
        ({"ref": "r-1"}, ("i1",), "absent"),
        ({"ref": "r-2"}, (), "absent"),
        ({"ref": None}, (), "absent"),
        ({}, (), "unbelieved"),
        ({"amount": 6}, (), "absent"),
    ],
)
def test_a_reference_that_the_caller_chose_counts_with_everything_else_equal(
    fields: dict[str, Any], tied: tuple[str, ...], seen: str
) -> None:
    assert sight(BY_REF, item(**fields), tied=tied).seen == seen


def test_a_call_that_omitted_its_reference_is_judged_by_the_other_rules() -> None:
    arguments = {"customer": "c1", "amount": 5}
    assert sight(BY_REF, item(ref="r-9"), arguments=arguments) == Sight("foreign")
    read = {**BY_REF, "exclusive": True}
    assert sight(read, item(ref="r-9"), arguments=arguments).seen == "ours"


def test_without_a_time_or_other_mark_a_match_is_not_attributable() -> None:
    read = {"tool": "list", "items": "data", "match": BASE["match"]}
    assert sight(read, item()) == Sight("foreign")


@pytest.mark.parametrize(
    ("at", "seen"),
    [
        (SENT + 2.0, "ours"),
        (1002, "ours"),
        (1001, "foreign"),
        (998, "foreign"),
        (997, "foreign"),
        (996, "absent"),
        ("1970-01-01T00:16:42Z", "ours"),
        ("1970-01-01T01:16:42+01:00", "ours"),
        ("1970-01-01T00:16:37Z", "foreign"),
        ("1970-01-01T00:16:36Z", "absent"),
        ("1970-01-01T00:16:36.9Z", "absent"),
        ("1970-01-01T00:16:37.9Z", "foreign"),
        ("1970-01-01T00:16Z", "foreign"),
        (1_002_000_000_000, "unbelieved"),
        ("1970-01-01T00:16:42", "unbelieved"),
        (None, "unbelieved"),
        ("soon", "unbelieved"),
        (True, "unbelieved"),
    ],
)
def test_a_time_counts_only_as_exactly_as_it_is_written(at: object, seen: str) -> None:
    """A whole second may be anywhere in it; milliseconds and local times are no epoch seconds."""
    assert sight({**BASE, "exclusive": True}, item(at=at)).seen == seen


@pytest.mark.parametrize("skew", [0, 0.5])
def test_an_effect_in_the_very_moment_of_the_send_is_not_taken_for_older(
    skew: float,
) -> None:
    read = {**BASE, "exclusive": True, "skew": skew}
    assert sight(read, item(at=SENT + skew)).seen == "ours"
    assert sight(read, item(at=SENT - skew)).seen == ("ours" if skew == 0 else "foreign")


NORMALISED = Contract(
    tool="t",
    identity={"name": "fold", "price": "number", "starts": "time", "tags": "set", "title": "text"},
    defaults={"seats": 30},
    read_back={
        "tool": "list",
        "match": {
            path: path for path in ("name", "price", "starts", "tags", "title", "seats", "note")
        },
        "unique": True,
    },
)
CALL: dict[str, Any] = {
    "name": "Room 5A",
    "price": "19.90",
    "starts": "2024-05-01T12:00:00+02:00",
    "tags": ["b", "a"],
    "title": " Café ",
}
SHOWN: dict[str, Any] = {
    "name": "room 5a",
    "price": 19.9,
    "starts": "2024-05-01T10:00:00Z",
    "tags": ["a", "b"],
    "title": "Cafe\u0301",
    "seats": 30,
}


def seen(shown: object, arguments: Mapping[str, Any] = CALL) -> str:
    """Judge a list of one item under the contract with normalisers."""
    return judge(
        NORMALISED, arguments=arguments, result=[shown], first_send=SENT, tied=lambda _: False
    ).seen


def test_both_sides_go_through_the_same_normalisers() -> None:
    assert seen(SHOWN) == "ours"


@pytest.mark.parametrize(
    "other",
    [
        {"name": "room 5b"},
        {"price": 19.91},
        {"starts": "2024-05-01T12:00:00Z"},
        {"tags": ["a"]},
        {"title": "café"},
        {"seats": 31},
    ],
)
def test_what_differs_under_its_normaliser_is_anothers(other: dict[str, Any]) -> None:
    assert seen({**SHOWN, **other}) == "absent"


def test_what_the_caller_left_to_the_server_decides_nothing_once_the_server_filled_it_in() -> None:
    assert seen({**SHOWN, "note": None}) == "ours"
    assert seen({**SHOWN, "note": "by the server"}) == "unbelieved"
    assert seen({**SHOWN, "note": "by the server", "seats": 31}) == "absent"


def test_a_default_stands_for_what_was_omitted() -> None:
    assert seen({**SHOWN, "seats": 31}, {**CALL, "seats": 31}) == "ours"
    assert seen({**SHOWN, "seats": 31}, {**CALL, "seats": None}) == "absent"


def test_a_value_without_a_canonical_form_decides_nothing() -> None:
    assert seen({**SHOWN, "price": float("nan")}) == "unbelieved"


def test_what_the_ledger_raises_goes_through() -> None:
    def broken(_: str) -> bool:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        judge(
            Contract(tool="t", read_back=BASE),
            arguments=ARGUMENTS,
            result={"data": [item()]},
            first_send=SENT,
            tied=broken,
        )
