"""When two spellings of one field count as equal, and when they do not."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from unicodedata import normalize
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retry_guard_contracts import ArgumentError
from retry_guard_contracts._instants import instant
from retry_guard_contracts._normal import Normaliser, normal

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
KINDS: tuple[Normaliser, ...] = ("exact", "text", "fold", "number", "time", "set")
BERLIN = ZoneInfo("Europe/Berlin")

EQUAL: list[tuple[Normaliser, Any, Any]] = [
    ("exact", "Café", "Cafe\u0301"),
    ("exact", 5, Decimal("5.0")),
    ("text", " a  b\n", "a b"),
    ("text", "a\u00a0b", "a b"),
    ("text", ["a ", {"x": "b  c"}], ["a", {"x": "b c"}]),
    ("fold", "Room 5A", "room  5a"),
    ("fold", "a@x", "a@x\u200b"),
    ("fold", "a@x", "a@x\ufeff"),
    ("fold", "a@x", "\u202ea@x\u2066"),
    ("fold", "a@x", "a\u00ad@x"),
    ("fold", "a\ufe0f", "a"),
    ("fold", "４２", "42"),
    ("fold", "ＡＢＣ", "abc"),
    ("fold", "Straße", "STRASSE"),
    ("fold", "ﬁ", "FI"),
    ("number", "5.00", 5),
    ("number", " 19.99 ", Decimal("19.990")),
    ("number", "19.99", 19.99),
    ("number", "1e3", 1000),
    ("number", "-0", 0),
    ("number", ["1", "2.0"], [1, 2]),
    ("time", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00"),
    ("time", "2024-05-01T10:00:00Z", "2024-05-01 10:00:00.000 +0000"),
    ("time", "2024-05-01T10:00Z", datetime(2024, 5, 1, 10, tzinfo=UTC)),
    ("time", "2024-05-01T10:00:00Z", datetime(2024, 5, 1, 12, tzinfo=BERLIN)),
    ("time", "2024-05-01T10:00:00Z", 1714557600),
    ("time", "2024-05-01T10:00:00.5Z", 1714557600.5),
    ("time", "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
    ("set", ["b", "a"], ["a", "b", "b"]),
    ("set", ["a", 1.0], ("a", 1)),
    ("set", {"a"}, ["a"]),
    ("set", [{"x": 1, "y": 2}], [{"y": 2, "x": 1}]),
]

DIFFERENT: list[tuple[Normaliser, Any, Any]] = [
    ("exact", "Café", "café"),
    ("exact", "a@x", "a@x\u200b"),
    ("exact", "a", "a\n"),
    ("exact", "４２", "42"),
    ("exact", "5", 5),
    ("exact", ["a", "b"], ["b", "a"]),
    ("exact", datetime(2024, 5, 1, 10, tzinfo=UTC), datetime(2024, 5, 1, 12, tzinfo=BERLIN)),
    ("text", "Room 5A", "Room 5a"),
    ("text", "a@x", "a@x\u200b"),
    ("text", "ab", "a b"),
    ("fold", "Hi", "Hi!"),
    ("fold", "a b", "ab"),
    ("fold", "раypal", "paypal"),
    ("fold", "résumé", "resume"),
    ("number", "5 EUR", 5),
    ("number", "1,000", 1000),
    ("number", "", 0),
    ("number", True, 1),
    ("number", "0x10", 16),
    ("number", "nan", "NaN "),
    ("number", "1" * 20, "1" * 19 + "2"),
    ("time", "2024-05-01T10:00:00", "2024-05-01T10:00:00Z"),
    ("time", "2024-05-01T10:00:00.0000001Z", "2024-05-01T10:00:00.0000002Z"),
    ("time", "2024-05-01", "2024-05-01T00:00:00Z"),
    ("time", "2024-02-30T10:00:00Z", "2024-03-01T10:00:00Z"),
    ("time", "2024-05-01T24:00:00Z", "2024-05-02T00:00:00Z"),
    ("time", True, 1),
    ("set", ["a"], ["a", "b"]),
    ("set", "ab", "ba"),
]


@pytest.mark.parametrize(("kind", "one", "other"), EQUAL)
def test_these_spellings_are_equal(kind: Normaliser, one: object, other: object) -> None:
    assert normal(kind, one) == normal(kind, other)


@pytest.mark.parametrize(("kind", "one", "other"), DIFFERENT)
def test_these_values_stay_different(kind: Normaliser, one: object, other: object) -> None:
    assert normal(kind, one) != normal(kind, other)


@pytest.mark.parametrize("kind", KINDS)
@RELAXED
@given(text=st.text())
def test_no_normaliser_tells_nfc_from_nfd(kind: Normaliser, text: str) -> None:
    assert normal(kind, normalize("NFC", text)) == normal(kind, normalize("NFD", text))


@RELAXED
@given(text=st.text())
def test_folding_does_not_depend_on_case_compatibility_or_space_around(text: str) -> None:
    folded = normal("fold", text)
    assert folded == normal("fold", text.casefold()) == normal("fold", normalize("NFKC", text))
    assert folded == normal("fold", f"\n{text} ") == normal("fold", "\u200b".join(text))


@RELAXED
@given(value=st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_equals_its_spelling_and_no_other_kind_of_field_says_so(value: float) -> None:
    assert normal("number", str(value)) == normal("number", value)
    assert normal("exact", str(value)) != normal("exact", value)


@RELAXED
@given(
    moment=st.datetimes(
        min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
        timezones=st.integers(-23 * 60, 23 * 60)
        .map(lambda m: st.just(_zone(m)))
        .flatmap(lambda s: s),
    )
)
def test_an_instant_is_the_same_in_every_spelling(moment: datetime) -> None:
    spellings = {normal("time", moment), normal("time", moment.isoformat())}
    utc = moment.astimezone(UTC)
    spellings |= {normal("time", utc), normal("time", utc.isoformat().replace("+00:00", "Z"))}
    assert len(spellings) == 1
    later = moment + timedelta(microseconds=1)
    assert normal("time", later) not in spellings


def _zone(minutes: int) -> timezone:
    return timezone(timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("value", "seconds", "resolution"),
    [
        (1714557600, "1714557600", "1"),
        (1714557600.25, "1714557600.25", "0"),
        ("2024-05-01T10:00Z", "1714557600", "60"),
        ("2024-05-01T10:00:00Z", "1714557600", "1"),
        ("2024-05-01T10:00:00.250Z", "1714557600.25", "0.001"),
        ("1969-12-31T23:59:59.5Z", "-0.5", "0.1"),
    ],
)
def test_a_moment_is_as_fine_as_its_spelling(value: object, seconds: str, resolution: str) -> None:
    moment = instant(value)
    assert moment is not None
    assert (moment.seconds, moment.resolution) == (Decimal(seconds), Decimal(resolution))


@pytest.mark.parametrize(
    "value", [1714557600000, 1e12, "1714557600", "yesterday", "", None, [], float("inf")]
)
def test_what_counts_milliseconds_or_names_no_moment_is_none(value: object) -> None:
    assert instant(value) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [float("nan"), "\ud800", object(), [float("inf")]])
def test_what_has_no_canonical_form_has_no_normal_form(kind: Normaliser, value: object) -> None:
    with pytest.raises(ArgumentError, match=r"^arguments"):
        normal(kind, value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_that_holds_itself_is_refused(kind: Normaliser) -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ArgumentError, match="nested deeper"):
        normal(kind, loop)
