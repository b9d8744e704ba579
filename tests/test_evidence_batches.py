"""What a read shows of a batch: a count of what is alike, and nothing that could be another's."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retry_guard_contracts import (
    Contract,
    Sight,
    effect_of,
    effects_named,
    items_in,
    joined,
    judge,
    read_arguments,
    rest_identity,
    with_items,
)

SENT = 1000.0
READ: dict[str, Any] = {
    "tool": "list",
    "items": "data",
    "match": {"to": "recipients[]", "subject": "subject"},
    "id": "id",
    "created": "at",
    "skew": 2,
    "exclusive": True,
}


def contract(read: dict[str, Any] = READ, **more: Any) -> Contract:  # noqa: ANN401 - any field
    return Contract(tool="t", **{"batch": {"items": "recipients"}, "read_back": read, **more})


def shown(to: object, **fields: object) -> dict[str, Any]:
    """An effect that is ours, but for what is given."""
    return {"id": f"m-{to}", "to": to, "subject": "s", "at": SENT + 10} | fields


def sight(
    sent: Sequence[object],
    *effects: object,
    given: Contract | None = None,
    tied: tuple[str, ...] = (),
    **result: object,
) -> Sight:
    return judge(
        given or contract(),
        arguments={"recipients": list(sent), "subject": "s"},
        result={"data": list(effects), **result},
        first_send=SENT,
        tied=tied.__contains__,
        key="K",
    )


letters = st.sampled_from("abc")


@given(st.lists(letters, min_size=1, max_size=5), st.lists(letters, max_size=6), st.randoms())
def test_the_difference_is_that_of_two_multisets(
    sent: list[str],
    there: list[str],
    order: Any,  # noqa: ANN401 - hypothesis' own random
) -> None:
    effects = [shown(to, id=str(n)) for n, to in enumerate(there)]
    order.shuffle(effects)
    found = sight(sent, *effects)
    wanted, have = Counter(sent), Counter(there)
    if any(have[item] > wanted[item] for item in wanted):
        assert found == Sight("several")
        return
    if not wanted & have:
        assert found == Sight("absent")
        return
    missing = [sent[at] for at in found.missing]
    assert Counter(missing) == wanted - have
    assert found.seen == ("some" if missing else "ours")
    assert [effect["to"] for effect in found.value] == [
        item for at, item in enumerate(sent) if at not in found.missing
    ]
    assert effects_named(found.effect_id) == tuple(effect["id"] for effect in found.value)


@pytest.mark.parametrize(
    ("effect", "seen"),
    [
        (shown("b", at=SENT - 9), "some"),
        (shown("b", at=SENT), "foreign"),
        (shown("b", id="theirs"), "some"),
        (shown("b", id=None), "unbelieved"),
        (shown("b", subject="other"), "some"),
        (shown("b", subject=5), "unbelieved"),
        (shown(5), "unbelieved"),
        ({"id": "x", "at": SENT + 10}, "unbelieved"),
        (shown("z"), "some"),
        (shown("b"), "ours"),
    ],
)
def test_whose_an_item_is_is_decided_for_each_of_them(effect: dict[str, Any], seen: str) -> None:
    assert sight("ab", shown("a"), effect, tied=("theirs",)).seen == seen


def test_what_is_doubtful_about_an_item_that_is_there_anyway_changes_nothing() -> None:
    assert sight("ab", shown("a"), shown("b"), shown("a", id="f", at=SENT)).seen == "ours"
    assert sight("ab", shown("a"), shown("a", id="f", at=SENT)).missing == (1,)


def test_a_list_that_is_cut_or_lacks_the_known_item_proves_no_absence_of_a_part() -> None:
    cut = contract({**READ, "complete": "whole", "permanent": True})
    assert sight("ab", shown("a"), given=cut, whole=False).seen == "unbelieved"
    assert sight("ab", shown("a"), shown("b"), given=cut, whole=False).seen == "ours"
    known = contract({**READ, "control": {"id": "known"}})
    assert sight("ab", shown("a"), given=known).seen == "unbelieved"


@pytest.mark.parametrize("items", [[], None, "ab", {"a": 1}])
def test_what_has_no_items_shows_nothing(items: object) -> None:
    found = judge(
        contract(),
        arguments={"recipients": items, "subject": "s"},
        result={"data": []},
        first_send=SENT,
        tied=lambda _: False,
    )
    assert found == Sight("unbelieved")


ROWS: dict[str, Any] = {**READ, "match": {"to": "recipients[].name"}}


@pytest.mark.parametrize(
    ("identity", "count", "seen"),
    [
        ((), 1, "unbelieved"),
        (("name",), 1, "some"),
        ((), 2, "ours"),
        ((), 0, "absent"),
        ((), 3, "several"),
    ],
)
def test_which_of_two_items_that_look_alike_is_missing_is_told_only_where_it_makes_no_difference(
    identity: tuple[str, ...], count: int, seen: str
) -> None:
    given = contract(ROWS, batch={"items": "recipients", "identity": identity})
    sent = [{"name": "a", "note": 1}, {"name": "a", "note": 2}]
    assert sight(sent, *(shown("a", id=str(n)) for n in range(count)), given=given).seen == seen


def test_the_key_marks_each_item_and_what_the_server_made_of_one_decides_nothing() -> None:
    read = {**READ, "match": {"to": "recipients[]", "key": "header:Key"}, "marker": "header:Key"}
    given = contract({**read, "exclusive": False}, key={"param": "header:Key"})
    ours, odd = shown("a", key="K"), shown("B!", key="K")
    assert sight("ab", ours, shown("b", key="L"), given=given).missing == (1,)
    assert sight("ab", ours, shown("b", key="K", subject="?"), given=given).seen == "ours"
    assert sight("ab", ours, odd, given=given).seen == "unbelieved"


def test_what_can_exist_only_once_is_there_whoever_made_it() -> None:
    given = contract({**READ, "exclusive": False, "unique": True})
    assert sight("ab", shown("a", at=SENT - 99), shown("a", id="2"), given=given).missing == (1,)
    assert sight("aab", shown("a"), shown("b"), given=given).seen == "ours"


def test_items_go_through_the_normalisers_of_their_fields() -> None:
    folded = contract(identity={"recipients": "fold"})
    assert sight(["Ä@X", "b"], shown("a\u0308@x"), given=folded).missing == (1,)
    fields = contract(ROWS, identity={"recipients[].name": "text"}, defaults={})
    assert sight([{"name": " a  b "}], shown("a b"), given=fields).seen == "ours"


SHAPES: list[tuple[dict[str, Any] | None, object, object, object]] = [
    ({"ids[]": "id"}, {"ids": ["m-a", "m-c"]}, {"ids": ["x"]}, {"ids": ["m-a", "x", "m-c"]}),
    (
        {"sent[].id": "id", "sent[].to": "to", "ok": {"value": True}},
        {"sent": [{"id": "m-a", "to": "a"}, {"id": "m-c", "to": "c"}], "ok": True},
        {"sent": [{"id": "x", "to": "b", "more": 1}], "ok": True},
        {
            "sent": [
                {"id": "m-a", "to": "a"},
                {"id": "x", "to": "b", "more": 1},
                {"id": "m-c", "to": "c"},
            ],
            "ok": True,
        },
    ),
    (None, [shown("a"), shown("c")], ["x"], [shown("a"), "x", shown("c")]),
]


@pytest.mark.parametrize(("result", "found", "rest", "whole"), SHAPES)
def test_a_result_has_the_tools_own_shape_also_where_it_is_put_together(
    result: dict[str, Any] | None, found: object, rest: object, whole: object
) -> None:
    given = contract({**READ, "result": result})
    seen = sight("abc", shown("a"), shown("c"), given=given)
    assert (seen.seen, seen.value, seen.missing) == ("some", found, (1,))
    assert given.read_back is not None
    assert joined(given.read_back, seen.missing, seen.value, rest) == whole
    assert joined(given.read_back, (1,), seen.value, {"odd": 1}) == [seen.value, {"odd": 1}]
    assert joined(given.read_back, (1,), seen.value, None) == [seen.value, None]


def test_the_names_of_the_effects_are_found_in_the_tools_own_result() -> None:
    ids = contract({**READ, "result": {"ids[]": "id"}})
    assert effects_named(effect_of(ids, {"ids": ["m1", 2]})) == ("m1", "2")
    assert effect_of(ids, {"ids": ["m1", None]}) is None
    assert effect_of(ids, {"n": 2}) is None
    assert effects_named(effect_of(contract(), [{"id": "m1"}])) == ("m1",)
    assert effects_named("m1") == ("m1",)
    assert effects_named(None) == ()


def test_the_items_of_a_call_are_found_and_chosen_wherever_the_list_stands() -> None:
    nested = Contract(tool="t", batch={"items": "body.rows"})
    arguments = {"body": {"rows": ("a", "b", "c"), "x": 1}}
    assert items_in(nested, arguments) == ["a", "b", "c"]
    assert with_items(nested, arguments, (0, 2)) == {"body": {"rows": ("a", "c"), "x": 1}}
    assert arguments["body"]["rows"] == ("a", "b", "c")
    assert items_in(Contract(tool="t"), arguments) == []


def test_a_read_takes_a_field_of_each_item_in_one_list() -> None:
    given = contract({**ROWS, "args": {"names": "recipients[].name"}})
    sent = {"recipients": [{"name": "a"}, {"name": "b"}]}
    assert read_arguments(given, sent) == {"names": ["a", "b"]}
    assert read_arguments(given, {"recipients": [{"name": "a"}]}) == {"names": ["a"]}


def test_the_identity_of_the_rest_is_that_of_its_batch_and_of_nothing_else() -> None:
    made = {
        rest_identity(identity, action, generation, secret)
        for identity in (b"i", b"j")
        for action in ("a", "b")
        for generation in (0, 1)
        for secret in (b"s" * 32, b"t" * 32)
    }
    assert len(made) == 16
    assert rest_identity(b"i", "a", 0, b"s" * 32) in made
