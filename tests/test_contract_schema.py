"""A contract says what fits together, or is refused with one clear line."""

from math import inf
from typing import Any

import pytest
from pydantic import ValidationError

from retry_guard_contracts import Contract, Key, ReadBack
from retry_guard_core import Terms

READ: dict[str, Any] = {"tool": "list_charges", "match": {"amount": "amount"}}
OWN: dict[str, Any] = {**READ, "id": "id", "created": "created", "skew": 5}


def test_a_key_and_its_retention_are_enough() -> None:
    contract = Contract(tool="charge", key={"param": "idempotency_key", "retention": 86400})
    assert contract.terms == Terms(tool="charge", keyed=True, retention=86400.0)


def test_a_contract_that_states_nothing_promises_nothing() -> None:
    assert Contract(tool="t").terms == Terms(tool="t")
    terms = Contract(tool="t").terms
    assert (terms.keyed, terms.read_back, terms.conclusive, terms.bound) == (
        False,
        False,
        False,
        inf,
    )


def test_every_stated_term_reaches_the_core() -> None:
    contract = Contract(
        tool="t",
        effect="idempotent",
        key={"param": "k", "errors": "stored"},
        read_back={**READ, "visibility_lag": 7, "complete": "not more", "permanent": True},
        in_flight_bound=30,
        repeat="escalate",
        repeat_window=5,
    )
    assert contract.terms == Terms(
        tool="t",
        effect="idempotent",
        keyed=True,
        errors_stored=True,
        read_back=True,
        lag=7.0,
        conclusive=True,
        bound=30.0,
        repeat="escalate",
        repeat_window=5.0,
    )


CONCLUSIVE: dict[str, Any] = {"visibility_lag": 0, "complete": "not more", "permanent": True}


@pytest.mark.parametrize("missing", [None, *CONCLUSIVE])
def test_absence_is_only_conclusive_if_lag_completeness_and_permanence_are_stated(
    missing: str | None,
) -> None:
    stated = {name: value for name, value in CONCLUSIVE.items() if name != missing}
    terms = Contract(tool="t", read_back={**READ, **stated}).terms
    assert terms.conclusive is (missing is None)


def test_terms_and_digest_are_computed_once() -> None:
    contract = Contract(tool="t")
    assert contract.terms is contract.terms
    assert contract.digest is contract.digest


def test_a_contract_cannot_be_changed() -> None:
    contract = Contract(tool="t", key={"param": "k"})
    for holder, name in ((contract, "tool"), (contract.key, "param")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(holder, name, "x")


TOKEN: dict[str, Any] = {"token": "token", "param": "token"}
BATCH: dict[str, Any] = {
    "tool": "t",
    "batch": {"items": "rows"},
    "read_back": {"tool": "list_rows", "match": {"name": "rows[].name", "table": "table"}},
}

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "Field required"),
    ({"tool": ""}, "must not be empty"),
    ({"tool": " t"}, "nor begin or end with white space"),
    ({"tool": 5}, "valid string"),
    ({"tool": "t", "keys": {}}, "Extra inputs"),
    ({"tool": "t", "batch": {}}, "Field required"),
    ({"tool": "t", "batch": {"items": "rows", "keys": "x"}}, "Extra inputs"),
    ({"tool": "t", "batch": {"items": "rows[]"}}, "names no list of items"),
    ({"tool": "t", "batch": {"items": "rows[0]"}}, "names no argument"),
    (
        {"tool": "t", "batch": {"items": "rows", "key": "atomic"}},
        "batch.key: the tool takes no key",
    ),
    (
        {"tool": "t", "batch": {"items": "rows", "key": "all"}, "key": {"param": "k"}},
        "'atomic', 'resumes' or 'stored_partial'",
    ),
    ({"tool": "t", "batch": {"items": "k"}, "key": {"param": "k"}}, "batch.items: k is the key"),
    ({"tool": "t", "batch": {"items": "rows"}, "effect": "read"}, "batch: a read needs none"),
    ({"tool": "t", "batch": {"items": "rows"}, "secret": ["rows"]}, "batch.items: rows is secret"),
    (
        {"tool": "t", "batch": {"items": "rows"}, "read_back": READ},
        r"read_back.match: says nothing of an item; take a field from rows\[\].NAME",
    ),
    (
        {**BATCH, "read_back": {**BATCH["read_back"], "result": {"id": "id"}}},
        r"read_back.result: id needs one \[\]",
    ),
    (
        {**BATCH, "read_back": {**BATCH["read_back"], "result": {"a[].b[]": "id"}}},
        r"read_back.result: a\[\].b\[\] needs one \[\]",
    ),
    ({**BATCH, "secret": ["rows[].name"]}, r"read_back: rows\[\].name is secret"),
    ({"tool": "t", "effect": "writes"}, "'read', 'idempotent' or 'write'"),
    ({"tool": "t", "effect": "read", "key": {"param": "k"}}, "key: a read needs none"),
    ({"tool": "t", "effect": "read", "read_back": READ}, "read_back: a read needs none"),
    ({"tool": "t", "key": {"param": "k", "name": "x"}}, "Extra inputs"),
    ({"tool": "t", "key": {"ack": "meta.used"}}, "Field required"),
    ({"tool": "t", "key": {"param": ""}}, "names no argument"),
    ({"tool": "t", "key": {"param": "keys[].k"}}, "one argument, not one for each item"),
    ({"tool": "t", "key": {"param": "header:"}}, "write header:NAME or meta:NAME"),
    ({"tool": "t", "key": {"param": "header:A\nB: c"}}, "write header:NAME or meta:NAME"),
    ({"tool": "t", "key": {"param": "k", "retention": -1}}, "greater than or equal to 0"),
    ({"tool": "t", "key": {"param": "k", "retention": inf}}, "finite"),
    ({"tool": "t", "key": {"param": "k", "retention": float("nan")}}, "finite|greater"),
    ({"tool": "t", "key": {"param": "k", "retention": "86400"}}, "valid number"),
    ({"tool": "t", "key": {"param": "k", "retention": True}}, "valid number"),
    ({"tool": "t", "key": {"param": "k", "errors": "kept"}}, "'stored' or 'not_stored'"),
    ({"tool": "t", "key": {"param": "k", "mismatch": "ok"}}, "'refused' or 'ignored'"),
    ({"tool": "t", "key": {"param": "k", "ack": "a..b"}}, "is no path"),
    (
        {"tool": "t", "key": {"param": "k", "max_length": 35}},
        "128 bits as uuid need 36; format: hex",
    ),
    (
        {"tool": "t", "key": {"param": "k", "format": "hex", "max_length": 31}},
        "128 bits as hex need 32",
    ),
    ({"tool": "t", "key": {"param": "k"}, "identity": ["k"]}, "identity: k is the key"),
    ({"tool": "t", "key": {"param": "o.k"}, "identity": ["o"]}, "identity: o is the key"),
    ({"tool": "t", "in_flight_bound": -0.1}, "greater than or equal to 0"),
    ({"tool": "t", "repeat_window": -1}, "greater than or equal to 0"),
    ({"tool": "t", "repeat": "never"}, "'allow', 'warn' or 'escalate'"),
    ({"tool": "t", "twins": "both"}, "'join' or 'count'"),
    ({"tool": "t", "identity": []}, "at least 1"),
    ({"tool": "t", "identity": {"a": "lower"}}, "'exact', 'text', 'fold'"),
    ({"tool": "t", "identity": [["a"]]}, "valid dictionary"),
    ({"tool": "t", "identity": ["a", "a.b"]}, "identity: a(.b)? and a(.b)? overlap"),
    ({"tool": "t", "identity": ["a"], "volatile": ["a"]}, "volatile: a also names the effect"),
    ({"tool": "t", "identity": ["a"], "volatile": ["a.at"]}, "volatile: a.at also names"),
    ({"tool": "t", "volatile": ["a["]}, "is no path"),
    ({"tool": "t", "volatile": ["a[0]"]}, "names no argument"),
    ({"tool": "t", "secret": "password"}, "valid tuple"),
    ({"tool": "t", "defaults": {"a": float("nan")}}, "defaults.a: NaN is not a number"),
    ({"tool": "t", "not_executed": [{}]}, "state a status, code, exception or message"),
    ({"tool": "t", "not_executed": [{"message": "("}]}, "is no regular expression"),
    ({"tool": "t", "not_executed": [{"status": "404"}]}, "valid integer"),
    ({"tool": "t", "read_back": {**READ, "tool": "t"}}, "read_back.tool: is the tool itself"),
    ({"tool": "t", "read_back": {"tool": "r"}}, "Field required"),
    ({"tool": "t", "read_back": {"tool": "r", "match": {}}}, "at least 1"),
    ({"tool": "t", "read_back": {**READ, "created": "at"}}, "skew: state it together with created"),
    ({"tool": "t", "read_back": {**READ, "skew": 1}}, "skew: state it together with created"),
    ({"tool": "t", "read_back": {**READ, "exclusive": True}}, "exclusive: needs id and created"),
    ({"tool": "t", "read_back": {**OWN, "id": None, "exclusive": True}}, "exclusive: needs id"),
    ({"tool": "t", "read_back": {**READ, "marker": "ref"}}, "marker: match must say"),
    ({"tool": "t", "read_back": {**READ, "unique": "yes"}}, "valid boolean"),
    ({"tool": "t", "read_back": {**READ, "control": {}}}, "at least 1"),
    ({"tool": "t", "read_back": {**READ, "complete": "not not["}}, "is no path"),
    ({"tool": "t", "read_back": {**READ, "args": {"a": {"path": "x"}}}}, "Field required"),
    ({"tool": "t", "read_back": {**READ, "args": {"a": 5}}}, "Fixed"),
    ({"tool": "t", "read_back": READ, "secret": ["amount"]}, "read_back: amount is secret"),
    (
        {"tool": "t", "read_back": {**READ, "args": {"k": "header:Key"}}},
        "read_back: header:Key is not where the key travels",
    ),
    ({"tool": "t", "confirm": {"param": "token"}}, "token\n  Field required"),
    ({"tool": "t", "confirm": {"token": "token"}}, "param\n  Field required"),
    ({"tool": "t", "confirm": {**TOKEN, "phase": "preview"}}, "Extra inputs"),
    ({"tool": "t", "confirm": "preview_t"}, "valid dictionary"),
    ({"tool": "t", "confirm": {**TOKEN, "expires": 0}}, "greater than 0"),
    ({"tool": "t", "confirm": {**TOKEN, "expires": inf}}, "finite"),
    ({"tool": "t", "confirm": {**TOKEN, "expires": "300"}}, "valid number"),
    ({"tool": "t", "confirm": {**TOKEN, "outside": "ok"}}, "'refused' or 'accepted'"),
    ({"tool": "t", "confirm": {**TOKEN, "token": "tokens[]"}}, "a token is one value"),
    ({"tool": "t", "confirm": {**TOKEN, "param": "tokens[].t"}}, "names no argument"),
    ({"tool": "t", "confirm": {**TOKEN, "param": "."}}, "names no argument"),
    ({"tool": "t", "confirm": {**TOKEN, "param": "header:Token"}}, "header:Token is no argument"),
    ({"tool": "t", "confirm": {**TOKEN, "preview": "t"}}, "confirm.preview: is the tool itself"),
    (
        {"tool": "t", "confirm": {**TOKEN, "preview": "list_charges"}, "read_back": READ},
        "confirm.preview: is the read-back",
    ),
    ({"tool": "t", "confirm": TOKEN, "effect": "read"}, "confirm: only a write is done once"),
    ({"tool": "t", "confirm": TOKEN, "effect": "idempotent"}, "confirm: only a write is done once"),
    ({"tool": "t", "confirm": TOKEN, "batch": {"items": "rows"}}, "remove batch or confirm"),
    ({"tool": "t", "confirm": TOKEN, "key": {"param": "token"}}, "key.param: token is the token"),
    ({"tool": "t", "confirm": TOKEN, "identity": ["token"]}, "identity: token is the token"),
    ({"tool": "t", "confirm": TOKEN, "defaults": {"token": ""}}, "defaults: token is the token"),
    ({"tool": "t", "confirm": TOKEN, "volatile": ["token.at"]}, "volatile: token.at is the token"),
    ({"tool": "t", "confirm": TOKEN, "secret": ["token"]}, "secret: token is the token"),
    (
        {"tool": "t", "confirm": TOKEN, "read_back": {**READ, "match": {"t": "token"}}},
        "read_back: token is secret",
    ),
]


@pytest.mark.parametrize(("stated", "message"), REFUSED)
def test_what_does_not_fit_together_is_refused(stated: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Contract(**stated)


@pytest.mark.parametrize(
    ("semantics", "keyed"),
    [("atomic", True), ("resumes", True), ("stored_partial", False), (None, False)],
)
def test_a_key_counts_for_a_batch_only_where_a_re_issue_completes_it(
    semantics: str | None, keyed: bool
) -> None:
    batch = {"items": "rows", "key": semantics}
    contract = Contract(tool="t", key={"param": "k", "retention": 60}, batch=batch)
    assert contract.terms.keyed is keyed
    assert contract.terms.retention == 60


def test_the_contract_of_one_item_reads_it_where_the_list_was() -> None:
    contract = Contract(
        **BATCH, identity={"rows[].name": "fold", "table": "exact"}, defaults={"rows[].name": "x"}
    )
    one = contract.of_one_item
    assert (one.batch, one.defaults) == (None, {"rows.name": "x"})
    assert one.identity == {"rows.name": "fold", "table": "exact"}
    assert one.read_back is not None
    assert one.read_back.match == {"name": "rows.name", "table": "table"}
    assert Contract(tool="t").of_one_item == Contract(tool="t")


@pytest.mark.parametrize("param", ["header:Idempotency-Key", "meta:io.example/key", "o.k", "clé"])
def test_a_key_may_travel_in_an_argument_a_header_or_metadata(param: str) -> None:
    contract = Contract(tool="t", key={"param": param})
    assert contract.key is not None
    assert contract.key.carried is param.startswith(("header:", "meta:"))


def test_parts_may_be_given_as_objects_or_as_mappings() -> None:
    read = ReadBack(tool="list_charges", match={"amount": "amount"})
    one = Contract(tool="t", key=Key(param="k"), read_back=read)
    assert one == Contract(tool="t", key={"param": "k"}, read_back=READ)


SPELLINGS: list[dict[str, Any]] = [
    {"tool": "t", "key": {"param": "k", "retention": 60}, "identity": ["b", "a"]},
    {
        "tool": "t",
        "key": {"retention": 60.0, "param": "k"},
        "identity": {"a": "exact", "b": "exact"},
    },
    {
        "tool": "t",
        "key": {"param": "k", "retention": 60, "errors": "not_stored", "ack": None},
        "identity": {"b": "exact", "a": "exact"},
        "effect": "write",
        "server": None,
    },
]


def test_the_digest_does_not_depend_on_the_spelling() -> None:
    digests = {Contract(**stated).digest for stated in SPELLINGS}
    assert len(digests) == 1
    assert digests == {Contract(**SPELLINGS[0]).digest}


@pytest.mark.parametrize(
    "other",
    [
        {"tool": "u"},
        {"server": "s"},
        {"effect": "idempotent"},
        {"resource": "r"},
        {"key": {"param": "k", "retention": 61}},
        {"key": None},
        {"identity": {"a": "exact", "b": "fold"}},
        {"identity": None},
        {"defaults": {"a": 1}},
        {"volatile": ["c"]},
        {"secret": ["c"]},
        {"not_executed": [{"status": 404}]},
        {"twins": "count"},
        {"repeat": "allow"},
        {"repeat_window": 1},
        {"in_flight_bound": 1},
        {"read_back": READ},
        {"read_back": {**READ, "permanent": True}},
        {"batch": {"items": "rows"}},
        {"batch": {"items": "rows", "key": "atomic"}},
        {"confirm": TOKEN},
        {"confirm": {**TOKEN, "preview": "p"}},
    ],
)
def test_the_digest_changes_with_every_term(other: dict[str, Any]) -> None:
    assert Contract(**{**SPELLINGS[0], **other}).digest != Contract(**SPELLINGS[0]).digest


def test_the_digest_is_pinned() -> None:
    contract = Contract(tool="charge", key={"param": "idempotency_key", "retention": 86400})
    assert contract.digest == "bf84fc30cca94ee3d822268880bdc3b3401a9dfa160eb76e31b9a9e37d93df15"


def test_a_copy_with_other_terms_is_a_contract_of_its_own() -> None:
    first = Contract(tool="t", key={"param": "k"}, in_flight_bound=30)
    copy = first.model_copy(update={"in_flight_bound": 7, "key": {"param": "k", "retention": 60}})
    assert copy == Contract(tool="t", key={"param": "k", "retention": 60}, in_flight_bound=7)
    assert copy.terms == Terms(tool="t", keyed=True, retention=60.0, bound=7.0)
    assert copy.digest != first.digest
    assert copy.model_fields_set == {"tool", "key", "in_flight_bound"}


@pytest.mark.parametrize("deep", [False, True])
def test_a_copy_with_the_same_terms_is_equal(deep: bool) -> None:
    first = Contract(tool="t", defaults={"a": [1]}, read_back=READ)
    copy = first.model_copy(deep=deep)
    assert copy == first
    assert copy.digest == first.digest
    assert (copy.defaults["a"] is first.defaults["a"]) is not deep


@pytest.mark.parametrize(
    "update",
    [
        {"effect": "raed"},
        {"effect": "read"},
        {"unknown": 1},
        {"in_flight_bound": -1},
        {"volatile": ["amount"]},
        {"key": {"param": "amount"}},
    ],
)
def test_a_copy_that_does_not_fit_together_is_refused(update: dict[str, Any]) -> None:
    first = Contract(tool="t", key={"param": "k"}, identity=["amount"])
    with pytest.raises(ValidationError):
        first.model_copy(update=update)


@pytest.mark.parametrize(("named", "tool"), [("preview_t", "preview_t"), (None, "t (preview)")])
def test_the_contract_of_a_preview_names_the_action_and_has_no_key(
    named: str | None, tool: str
) -> None:
    stated: dict[str, Any] = {"tool": "t", "server": "s", "identity": {"room": "fold"}}
    stated["defaults"] = {"n": 1}
    more: dict[str, Any] = {"twins": "count", "volatile": ["at"], "secret": ["pin"]}
    write = Contract(
        **stated,
        **more,
        resource="rooms",
        key={"param": "body.key"},
        read_back=READ,
        in_flight_bound=5,
        confirm={**TOKEN, "preview": named},
    )
    assert write.unnamed == ("body.key", "token")
    assert write.sealed == ("pin", "token")
    fields: dict[str, Any] = {**stated, **more, "tool": tool, "repeat": "allow"}
    fields |= {"volatile": ["at", "body.key", "token"], "secret": ["pin", "token"]}
    assert write.previewing == Contract(**fields)


def test_what_a_tool_writes_is_itself_unless_a_resource_is_stated() -> None:
    assert Contract(tool="t").writes == "t"
    assert Contract(tool="t", resource="rooms").writes == "rooms"
