"""Secret fields: a keyed hash is stored, and the caller's value must be what was hashed."""

from typing import Any, Literal
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retry_guard_contracts import (
    ArgumentError,
    Contract,
    decode,
    differing,
    encode_arguments,
    seal,
    unseal,
)
from retry_guard_contracts._paths import parse_path, put

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SECRET = b"s" * 32
LOGIN = Contract(tool="login", secret=["password", "card.number", "tokens[].value"])
FULL: dict[str, Any] = {
    "user": "u",
    "password": "hunter2-hunter2",
    "card": {"number": "4111111111111111", "name": "U"},
    "tokens": [{"value": "tok-aaaa", "id": 1}, {"id": 2}, {"value": "tok-bbbb"}],
}
PLAIN_VALUES = ("hunter2", "4111", "tok-aaaa", "tok-bbbb")


def test_a_sealed_record_holds_no_secret_value_and_everything_else() -> None:
    stored = encode_arguments(seal(LOGIN, FULL, SECRET)).decode()
    assert [value for value in PLAIN_VALUES if value in stored] == []
    sealed = decode(stored.encode())
    assert sealed["user"] == "u"
    assert sealed["card"]["name"] == "U"
    assert [token.get("id") for token in sealed["tokens"]] == [1, 2, None]


def test_sealing_leaves_the_original_alone() -> None:
    before = repr(FULL)
    seal(LOGIN, FULL, SECRET)
    assert repr(FULL) == before


def test_the_callers_values_open_it_again() -> None:
    sealed = decode(encode_arguments(seal(LOGIN, FULL, SECRET)))
    assert unseal(LOGIN, sealed, FULL, SECRET) == FULL


def test_what_is_not_secret_comes_from_the_record() -> None:
    sealed = seal(LOGIN, FULL, SECRET)
    assert unseal(LOGIN, sealed, {**FULL, "user": "other"}, SECRET) == FULL


@pytest.mark.parametrize(
    "other",
    [
        {**FULL, "password": "hunter3-hunter3"},
        {**FULL, "password": ["hunter2-hunter2"]},
        {**FULL, "password": None},
        {**FULL, "password": float("nan")},
        {**FULL, "card": {}},
        {**FULL, "tokens": []},
        {**FULL, "tokens": [{"value": "tok-bbbb"}, {"value": "tok-aaaa"}]},
        {key: value for key, value in FULL.items() if key != "password"},
        {},
    ],
)
def test_other_values_do_not_open_it(other: dict[str, Any]) -> None:
    assert unseal(LOGIN, seal(LOGIN, FULL, SECRET), other, SECRET) is None


def test_another_ledgers_secret_does_not_open_it() -> None:
    assert unseal(LOGIN, seal(LOGIN, FULL, SECRET), FULL, b"t" * 32) is None


Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD")
UNIT = chr(0x212A)  # the Kelvin sign, which is K in NFC


@pytest.mark.parametrize("recorded", FORMS)
@pytest.mark.parametrize("given_again", FORMS)
@pytest.mark.parametrize("stated", FORMS)
def test_a_secret_is_found_however_its_name_is_spelled(
    stated: Form, recorded: Form, given_again: Form
) -> None:
    def spelled(form: Form) -> dict[str, Any]:
        name, inner = normalize(form, "pässwort"), normalize(form, "clé")
        return {name: "hunter2", "rows": [{inner: "tok-aaaa"}], "user": "u"}

    paths = [normalize(stated, "pässwort"), f"rows[].{normalize(stated, 'clé')}"]
    contract = Contract(tool="t", secret=paths)
    sealed = seal(contract, spelled(recorded), SECRET)
    stored = encode_arguments(sealed).decode()
    assert [value for value in PLAIN_VALUES if value in stored] == []
    assert list(sealed) == list(spelled(recorded)), "the argument keeps its own spelling"
    assert unseal(contract, sealed, spelled(given_again), SECRET) == spelled(recorded)
    other = {**spelled(given_again), normalize(given_again, "pässwort"): "other"}
    assert unseal(contract, sealed, other, SECRET) is None
    assert differing(contract, sealed, spelled(given_again), SECRET) == ()


def test_a_value_is_put_where_the_name_stands_however_it_is_spelled() -> None:
    name = normalize("NFD", "clé")
    assert put({name: {"a": 1}}, parse_path("clé.b"), 2) == {name: {"a": 1, "b": 2}}


def test_a_secret_is_found_by_a_name_of_other_letters_that_is_the_same_in_nfc() -> None:
    contract = Contract(tool="t", secret=["Key"])
    assert "hunter2" not in repr(seal(contract, {f"{UNIT}ey": "hunter2"}, SECRET))


def test_every_spelling_of_a_secrets_name_is_sealed_where_two_stand_side_by_side() -> None:
    contract = Contract(tool="t", secret=["clé"])
    both = {normalize("NFD", "clé"): "tok-aaaa", "clé": "tok-bbbb"}
    assert [value for value in PLAIN_VALUES if value in repr(seal(contract, both, SECRET))] == []


def test_a_field_that_was_omitted_stays_omitted() -> None:
    sealed = seal(LOGIN, {"user": "u"}, SECRET)
    assert sealed == {"user": "u"}
    assert unseal(LOGIN, sealed, FULL, SECRET) == {"user": "u"}


def test_equal_values_of_two_fields_have_different_hashes() -> None:
    contract = Contract(tool="t", secret=["a", "b"])
    sealed = seal(contract, {"a": "x", "b": "x"}, SECRET)
    assert sealed["a"] != sealed["b"]


def test_a_caller_cannot_pass_a_hash_for_a_secret() -> None:
    sealed = seal(LOGIN, FULL, SECRET)
    assert unseal(LOGIN, sealed, sealed, SECRET) is None


def test_a_secret_without_a_stored_form_is_refused_and_not_shown() -> None:
    with pytest.raises(ArgumentError, match="password") as caught:
        seal(LOGIN, {"password": {"hunter2": float("nan")}, "user": "u"}, SECRET)
    assert "u" in FULL["user"]
    assert "NaN" in str(caught.value)


def test_a_secret_that_differs_is_named_and_an_equal_one_is_not() -> None:
    sealed = seal(LOGIN, FULL, SECRET)
    assert differing(LOGIN, sealed, FULL, SECRET) == ()
    assert differing(LOGIN, sealed, {**FULL, "password": "x"}, SECRET) == ("password",)
    assert differing(LOGIN, sealed, {**FULL, "password": "x", "user": "v"}) == ("user",)


@RELAXED
@given(value=st.one_of(st.text(), st.integers(), st.binary(), st.lists(st.text())))
def test_every_value_opens_what_it_sealed(value: object) -> None:
    arguments = {"password": value}
    opened = unseal(LOGIN, seal(LOGIN, arguments, SECRET), arguments, SECRET)
    assert opened == arguments
    assert opened is not None
    assert type(opened["password"]) is type(value)
