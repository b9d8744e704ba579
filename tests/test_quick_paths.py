"""What was made quick gives what the plain way gives."""

import hmac
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from retry_guard import Done, Guard, UsageError
from retry_guard_contracts import Contract, canonical, decode, encode, identify, make_key
from retry_guard_core import Now, Record
from retry_guard_ledgers import Action, MemoryLedger, changed
from retry_guard_outcomes import Unknown, classify

RECORD = Record(tool="t", turn=None, content=b"c", owner="o", claimed=1.0, lease=2.0, sends=(1.0,))
ACTION = Action(scope="acme", id="1", identity=b"i", resource="t", call_ids=("call_1",))
NAMES = [field.name for field in fields(Record)]
CHARGE = Contract(tool="charge", key={"param": "key"})
TEXT = st.text(st.characters(codec="utf-8"), max_size=9)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abé", max_size=3), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from(NAMES), st.integers()))
def test_a_changed_record_is_what_replace_makes_and_the_old_one_stays(
    values: dict[str, Any],
) -> None:
    before = replace(RECORD)
    assert changed(RECORD, **values) == replace(RECORD, **values)
    assert before == RECORD


@given(st.dictionaries(st.sampled_from([field.name for field in fields(Action)]), st.integers()))
def test_so_is_what_names_its_action(values: dict[str, Any]) -> None:
    before = replace(ACTION)
    assert changed(ACTION, **values) == replace(ACTION, **values)
    assert before == ACTION


@pytest.mark.parametrize("whole", [RECORD, ACTION])
def test_neither_has_other_fields_to_change(whole: Any) -> None:  # noqa: ANN401 - one of two
    with pytest.raises(TypeError, match="'sent'"):
        changed(whole, sent=1)


@given(TEXT, TEXT, st.sampled_from((None, "billing")), st.integers(0, 99))
def test_a_derived_key_is_the_digest_of_everything_that_names_its_generation(
    scope: str, turn: str, server: str | None, ordinal: int
) -> None:
    named = [server, "charge", scope, b"identity", turn, ordinal, 1]
    digest = hmac.digest(b"secret", canonical(["key", *named]), "sha256")
    contract = CHARGE.model_copy(update={"server": server})
    key = make_key(
        contract,
        secret=b"secret",
        scope=scope,
        identity=b"identity",
        turn=turn,
        ordinal=ordinal,
        generation=1,
    )
    assert key == str(UUID(bytes=digest[:16], version=4))


@pytest.mark.parametrize("tag", [b"$", rb"\u0024"])
def test_a_tagged_value_is_read_as_what_it_was_however_the_tag_is_spelled(tag: bytes) -> None:
    assert decode(b'[{"%b":"decimal","v":"1.50"}]' % tag) == [Decimal("1.50")]


@given(st.recursive(st.text("$u0024\\"), lambda inner: st.dictionaries(st.text("$\\u0"), inner)))
def test_text_that_looks_like_a_tag_comes_back_as_it_was(value: object) -> None:
    assert decode(encode(value)) == value


@given(st.dictionaries(st.text("abc", min_size=1), PLAIN, max_size=4), TEXT, st.binary())
def test_an_identity_is_the_keyed_digest_of_its_parts_also_the_second_time(
    arguments: dict[str, Any], scope: str, secret: bytes
) -> None:
    held = {name: value for name, value in arguments.items() if value is not None}
    forms = {name: canonical(without_nulls(value)) for name, value in held.items()}
    head = canonical([1, "identity", scope, ["tool", None, "charge"], None])
    named = hmac.digest(secret, head + canonical(forms), "sha256")
    content = hmac.digest(secret, canonical([1, "content"]) + canonical({}), "sha256")
    contract = Contract(tool="charge")
    for _ in range(2):
        assert identify(contract, arguments, scope=scope, secret=secret) == (named, content)


def without_nulls(value: object) -> object:
    if isinstance(value, dict):
        held = cast("dict[str, object]", value)
        return {name: without_nulls(item) for name, item in held.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[object]", value)]
    return value


@given(st.binary(min_size=32, max_size=32), st.integers(0, 9))
def test_a_key_is_the_uuid_of_the_first_half_of_its_digest(
    identity: bytes, generation: int
) -> None:
    key = make_key(
        CHARGE,
        secret=b"secret",
        scope="acme",
        identity=identity,
        turn="turn-1",
        ordinal=0,
        generation=generation,
    )
    data = canonical(["key", None, "charge", "acme", identity, "turn-1", 0, generation])
    digest = hmac.digest(b"secret", data, "sha256")
    assert key == str(UUID(bytes=digest[:16], version=4))


@pytest.mark.parametrize("kind", [dict[str, Any], MappingProxyType[str, Any]])
def test_a_mapping_that_says_it_is_an_error_is_one_whatever_its_class(
    kind: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> None:
    failed = kind({"isError": True, "content": []})
    assert classify(failed) == Unknown(failed)


@given(PLAIN)
def test_data_that_says_nothing_of_its_end_is_done(value: object) -> None:
    assert classify(value) == Done(value)


async def awaited(arguments: dict[str, Any], extra: dict[str, str]) -> None:
    """Would have to be awaited."""


def iterated(arguments: dict[str, Any], extra: dict[str, str]) -> Generator[None]:
    """Would have to be iterated."""
    yield


async def both(arguments: dict[str, Any], extra: dict[str, str]) -> AsyncGenerator[None]:
    """Would have to be both."""
    yield


@pytest.mark.parametrize("send", [awaited, iterated, both])
def test_a_function_that_would_not_run_when_it_is_called_is_refused_before_the_claim(
    send: Callable[[dict[str, Any], dict[str, str]], object],
) -> None:
    ledger = MemoryLedger()
    guard = Guard(ledger, [CHARGE], classify=classify)
    with pytest.raises(UsageError):
        guard.call("charge", {}, send=send, scope="acme", turn="turn-1")
    assert ledger.list() == []


@pytest.mark.parametrize("nested", [False, True])
def test_what_goes_out_is_what_is_recorded_though_the_caller_changes_its_own_meanwhile(
    nested: bool,
) -> None:
    """Another one changes a list inside the arguments between the claim and the send."""
    lines: list[int] = [1]
    arguments: dict[str, Any] = {"amount": 5, **({"lines": lines} if nested else {})}

    class Changing(MemoryLedger):
        def claim(self, record: Record, after: Record | None, now: Now) -> Record:
            counts = super().claim(record, after, now)
            lines.append(2)
            arguments["amount"] = 6
            return counts

    sent: list[dict[str, Any]] = []
    guard = Guard(Changing(), [Contract(tool="charge")], classify=classify)
    guard.call(
        "charge",
        arguments,
        send=lambda given, _extra: sent.append(given),
        scope="acme",
        turn="turn-1",
    )
    assert sent == [{"amount": 5, **({"lines": [1]} if nested else {})}]
