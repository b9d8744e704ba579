"""The services: what each write and read does, and that nothing but writes has effects."""

from typing import cast, get_args

import pytest
from hypothesis import given, strategies as st

from retry_guard_sandbox.services import KEY, SERVICES, TOOLS, Alike, Field, normal
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._http import Json, Request
from sandbox_sites import CALLS, HOME, IDEMPOTENT, SHOWN, SINGLE, WRITES, Site, changed

every_write = pytest.mark.parametrize("tool", WRITES)
every_idempotent = pytest.mark.parametrize("tool", IDEMPOTENT)


def test_these_are_the_services_and_their_writes() -> None:
    writes = {
        name: {tool.name for tool in service.tools if tool.effect == "write"}
        for name, service in SERVICES.items()
    }
    assert writes == {
        "social": {"create_post", "send_dm"},
        "billing": {"charge", "refund"},
        "tickets": {"create_ticket", "add_comment"},
        "mail": {"send_email", "send_bulk"},
        "database": {"insert_row", "bulk_insert"},
        "deploy": {"trigger_deploy"},
    }
    assert [name for name in WRITES if TOOLS[name].keyed] == ["charge", "refund"]
    assert [name for name in WRITES if TOOLS[name].look is None] == ["send_dm"]
    assert [name for name in WRITES if TOOLS[name].bound is not None] == ["trigger_deploy"]
    assert {HOME[name] for name in IDEMPOTENT} == set(SERVICES)
    assert set(CALLS) == {*WRITES, *IDEMPOTENT}


@pytest.mark.parametrize("tool", SINGLE)
def test_a_write_without_a_key_runs_each_time(tool: str) -> None:
    site = Site(tool)
    first, second = site.write(), site.write()
    assert [effect.id for effect in site.made()] == [first.body["id"], second.body["id"]]
    assert first.body["id"] != second.body["id"]


@pytest.mark.parametrize("tool", [name for name in SINGLE if name in SHOWN])
def test_a_read_shows_an_effect_as_the_write_answered_it(tool: str) -> None:
    site = Site(tool)
    answer = site.write()
    assert answer.body in site.listed(at=TOOLS[tool].lag)
    assert answer.body["created"] == START
    assert site.made()[0].item == answer.body


def test_a_direct_message_is_shown_by_no_read() -> None:
    site = Site("send_dm")
    text = site.write().body["text"]
    for tool in SERVICES["social"].tools:
        if tool.effect == "read":
            answer = site.ask(Request(tool.name, {"account": "acme"}), at=1e6)
            assert text not in str(answer.body)


@every_idempotent
def test_an_idempotent_write_has_one_effect_and_answers_the_same_each_time(tool: str) -> None:
    site = Site(tool)
    assert site.write() == site.write() == site.write(at=9.0)
    assert len(site.made()) == 1


@every_idempotent
def test_an_idempotent_write_counts_again_once_another_came_between(tool: str) -> None:
    site, last = Site(tool), list(CALLS[tool])[-1]
    other = {**CALLS[tool], last: changed(CALLS[tool][last])}
    site.write()
    site.ask(Request(tool, other))
    site.write()
    assert len(site.made()) == 2


@every_idempotent
def test_a_read_shows_what_an_idempotent_write_set_last(tool: str) -> None:
    reads = {
        "set_bio": ("get_profile", {"account": "acme"}),
        "set_billing_email": ("get_customer", {"customer": "cus_ada"}),
        "set_status": ("get_ticket", {"ticket": "TCK-101"}),
        "mark_read": ("list_inbox", {"sender": "kim@example.com"}),
        "put_setting": ("get_setting", {"table": "invoices", "setting": "currency"}),
        "set_flag": ("get_flag", {"service": "shop", "flag": "new-basket"}),
    }
    read, arguments = reads[tool]
    site, (*_, value) = Site(tool), CALLS[tool].values()
    before = site.ask(Request(read, arguments)).body
    site.write()
    after = site.ask(Request(read, arguments)).body
    assert f"'{value}'" not in str(before)
    assert f"'{value}'" in str(after)


def test_no_more_is_refunded_than_was_charged() -> None:
    site = Site("refund")
    sums = [site.ask(Request("refund", {**CALLS["refund"], "amount": 7000})) for _ in range(2)]
    assert [answer.status_code for answer in sums] == [201, 400]
    assert len(site.effects.of("refund")) == 1


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("refund", "charge"),
        ("add_comment", "ticket"),
        ("set_status", "ticket"),
        ("mark_read", "mail"),
    ],
)
def test_what_does_not_exist_is_not_found(tool: str, name: str) -> None:
    site = Site(tool)
    answer = site.ask(Request(tool, {**CALLS[tool], name: "none"}))
    assert (answer.status_code, answer.body["error"]["param"]) == (404, name)
    assert site.effects.of(tool) == []


@pytest.mark.parametrize("tool", sorted(CALLS))
def test_arguments_that_do_not_fit_the_schema_are_refused_and_named(tool: str) -> None:
    given = CALLS[tool]
    for name, value in given.items():
        rest = {other: given[other] for other in given if other != name}
        for spoiled in (rest, *({**given, name: wrong} for wrong in _unfit(value))):
            site = Site(tool)
            answer = site.ask(Request(tool, spoiled))
            assert (answer.status_code, answer.body["error"]["param"]) == (400, name)
            assert site.effects.of(tool) == []
    answer = Site(tool).ask(Request(tool, {**given, "surprise": 1}))
    assert (answer.status_code, answer.body["error"]["param"]) == (400, "surprise")


def _unfit(value: object) -> list[object]:
    """Return values of other types, or of other parts."""
    wrong: list[object] = [None, True, 1.5, [], {}, [[]]]
    if isinstance(value, str):
        return [*wrong, 1, ["a list"]]
    if isinstance(value, list):
        first, *rest = cast("list[object]", value)
        return [*wrong, "text", *([other, *rest] for other in _unfit(first))]
    if isinstance(value, dict):
        held = cast("Json", value)
        first_name, *names = held
        less = {name: held[name] for name in names}
        return [*wrong, "text", less, {**held, "more": "x"}, {**held, first_name: 1}]
    return [*wrong, "text"]


def test_a_recipient_stands_in_a_bulk_mail_once() -> None:
    twice = {**CALLS["send_bulk"], "recipients": ["a@example.com", "a@example.com"]}
    assert Site("send_bulk").ask(Request("send_bulk", twice)).status_code == 400


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_a_service_starts_anew_each_time(name: str) -> None:
    for tool in (t.name for t in SERVICES[name].tools if t.effect == "write"):
        Site(tool).write("k")
        fresh = Site(tool)
        assert fresh.effects.of(tool) == []
        assert tool not in SHOWN or not any(fresh.shown(at=1e6))
        assert fresh.write("k").ok
        assert fresh.made()


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_reads_and_refused_writes_have_no_effect(name: str) -> None:
    for tool in SERVICES[name].tools:
        if tool.effect == "read":
            site = Site(tool.name)
            given = dict.fromkeys(tool.fields, "x")
            assert site.ask(Request(tool.name, given)).status_code in (200, 404)
            assert all(site.effects.of(other.name) == [] for other in SERVICES[name].tools)


def test_the_schema_of_a_tool_says_all_that_it_takes() -> None:
    schema = TOOLS["bulk_insert"].parameters
    assert schema["required"] == ["table", "rows"]
    rows: Json = schema["properties"]["rows"]
    assert (rows["type"], rows["minItems"]) == ("array", 1)
    assert rows["items"]["required"] == ["customer", "total", "due"]
    assert rows["items"]["additionalProperties"] is False
    assert TOOLS["send_bulk"].parameters["properties"]["recipients"]["uniqueItems"] is True
    assert KEY in TOOLS["charge"].parameters["properties"]
    assert KEY not in schema["properties"]


@pytest.mark.parametrize(
    ("field", "one", "other", "same"),
    [
        (Field(), "Caf\u00e9", "Cafe\u0301", True),
        (Field(), "a", "A", False),
        (Field(alike="text"), " a\n b", "a b", True),
        (Field(alike="text"), "a", "A", False),
        (Field(alike="fold"), "A\u200b \uff22", "a b", True),
        (Field(alike="fold"), "ab", "a b", False),
        (Field(alike="number"), "129.90", "129.9", True),
        (Field(alike="number"), "129.90", "129.09", False),
        (Field(alike="number", type="integer"), 1900, 1900.0, True),
        (Field(alike="number"), "twelve", "12", False),
        (Field(alike="time"), "2030-01-01T10:00:00+01:00", "2030-01-01T09:00:00Z", True),
        (Field(alike="time"), "2030-01-01T10:00:00", "2030-01-01T10:00:00Z", False),
        (Field(alike="time"), "noon", "noon", True),
        (Field(alike="set", type="array", each=Field()), ["b", "a"], ["a", "b"], True),
        (Field(type="array", each=Field()), ["b", "a"], ["a", "b"], False),
        (Field(type="object", fields={"a": Field(alike="fold")}), {"a": "X"}, {"a": "x"}, True),
        (Field(type="object", fields={"a": Field()}), {"a": "X"}, {"b": "X"}, False),
    ],
)
def test_which_spellings_say_the_same(field: Field, one: object, other: object, same: bool) -> None:
    assert field.same(one, other) == field.same(other, one) == same


@given(st.sampled_from(get_args(Alike)), st.text(max_size=12))
def test_what_says_the_same_as_itself_also_does_so_normalised(kind: Alike, text: str) -> None:
    field = Field(alike=kind)
    assert field.same(text, normal(kind, text))


@every_write
def test_every_spelling_of_an_action_has_its_name_and_no_other_action_has(tool: str) -> None:
    kind, calls = TOOLS[tool], CALLS[tool]
    names = {kind.action(calls)}
    for name, value in calls.items():
        names.add(kind.action({**calls, name: changed(value)}))
    assert len(names) == len(calls) + 1
    assert kind.action(dict(reversed(calls.items()))) == kind.action(calls)


@pytest.mark.parametrize(
    ("kind", "text"), [("number", "1e999999999999999999"), ("time", "0001-01-01T00:00:00+23:59")]
)
def test_what_no_number_or_time_can_hold_is_itself(kind: Alike, text: str) -> None:
    assert normal(kind, text) == text
