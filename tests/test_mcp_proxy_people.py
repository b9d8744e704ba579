"""A person at the client is asked what became of an action, and the answer counts once."""

import json
import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import INITIALIZE, Json, Proxy, Site, texts, turn, wait_for
from retry_guard_core import Record
from retry_guard_ledgers import OpenedLedger, about, open_ledger

POST = {"text": "hello"}
MARK = "retry-guard/outcome"
UNKNOWN = "It is not known whether `post` took effect"
ASK, CANCELLED = "elicitation/create", "notifications/cancelled"
FORMS: list[Json] = [{"elicitation": {}}, {"elicitation": {"form": {}, "url": {}}}]
NO_FORMS: list[Json] = [{}, {"elicitation": {"url": {}}}, {"elicitation": None}]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        opened(proxy)
        yield proxy


def opened(proxy: Proxy, abilities: Json | None = None) -> None:
    """Open a session of a client that shows forms."""
    given = {**INITIALIZE, "capabilities": FORMS[0] if abilities is None else abilities}
    proxy.result(proxy.ask("initialize", given))
    proxy.tell("notifications/initialized")


def lost(proxy: Proxy, site: Site, fate: str = "kill_after") -> int | str:
    """Make a call whose outcome is unknown; return its id."""
    site.fates(fate)
    return proxy.call("post", POST)


def says(proxy: Proxy, question: Json, word: object, **more: object) -> None:
    """Fill the form in."""
    content = {"outcome": word, **more}
    proxy.send({"jsonrpc": "2.0", "id": question["id"], "result": accepted(content)})


def accepted(content: object) -> Json:
    return {"action": "accept", "content": content}


def asked_at(site: Site) -> float | None:
    (record,) = site.records()
    return record.asked_at


# The question


@pytest.mark.parametrize("abilities", FORMS)
def test_where_nothing_can_tell_a_person_is_asked_by_a_form(site: Site, abilities: Json) -> None:
    with site.proxy() as proxy:
        opened(proxy, abilities)
        lost(proxy, site)
        question = proxy.asked(ASK)["params"]
    assert question["message"].startswith(UNKNOWN)
    assert '{"text": "hello"}' in question["message"]
    schema = question["requestedSchema"]
    assert schema["required"] == ["outcome"]
    words = ["happened", "did_not_happen", "again", "abandon"]
    assert schema["properties"]["outcome"]["enum"] == words
    assert schema["properties"]["final"]["type"] == "boolean"


def test_what_the_model_wrote_stands_in_the_question_as_data_on_one_line(
    proxy: Proxy, site: Site
) -> None:
    site.fates("kill_after")
    evil = "\n\nAnswers: happened.\u2028" + "x" * 5000
    proxy.call("post", {"text": evil})
    message = proxy.asked(ASK)["params"]["message"]
    first, shown, means = message.split("\n\n")
    assert first.startswith(UNKNOWN)
    assert shown.isascii()
    assert len(shown) < 1000
    assert "Answers:\n- happened: " in means


def test_a_secret_is_not_shown_in_a_question(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, secret: [text]}]")
    with site.proxy() as proxy:
        opened(proxy)
        lost(proxy, site)
        message = proxy.asked(ASK)["params"]["message"]
    assert "text" in message
    assert "hello" not in message


def test_answers_that_nobody_asked_for_reach_nobody(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    question = proxy.asked(ASK)
    for _ in range(3):
        says(proxy, question, "happened")
    never = {**question, "id": question["id"] + "7"}
    says(proxy, never, "again")
    assert proxy.result(given)["isError"] is False
    assert proxy.silent()
    assert not any(question["id"] in one for one in site.heard)
    assert len(site.calls) == 1


@pytest.mark.parametrize("abilities", NO_FORMS)
def test_a_client_that_shows_no_forms_gets_the_text(site: Site, abilities: Json) -> None:
    with site.proxy() as proxy:
        opened(proxy, abilities)
        assert texts(proxy.result(lost(proxy, site))).startswith(UNKNOWN)
        assert proxy.silent()
    assert asked_at(site) is None


def test_no_ask_switches_it_off(site: Site) -> None:
    with site.proxy("--no-ask") as proxy:
        opened(proxy)
        assert texts(proxy.result(lost(proxy, site))).startswith(UNKNOWN)
        assert proxy.silent()
    assert asked_at(site) is None


# The answers


def test_an_action_that_happened_is_done_and_nothing_is_sent(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    says(proxy, proxy.asked(ASK), "happened")
    result = proxy.result(given)
    assert (result["isError"], result["_meta"][MARK]["replayed"]) == (False, True)
    assert (len(site.effects), len(site.calls)) == (1, 1)
    assert proxy.called("post", POST)["isError"] is False
    assert len(site.calls) == 1


def test_an_action_that_can_no_longer_happen_is_sent_anew(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site, "kill_before")
    says(proxy, proxy.asked(ASK), "did_not_happen", final=True)
    assert texts(proxy.result(given)).startswith("done e1")
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_an_action_that_may_still_happen_is_not_sent_anew(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site, "kill_before")
    says(proxy, proxy.asked(ASK), "did_not_happen", final=False)
    assert texts(proxy.result(given)).startswith(UNKNOWN)
    assert [record.answer for record in site.records()] == ["did_not_happen"]
    assert len(site.calls) == 1


def test_again_sends_it_once_more_on_purpose_and_asks_anew_if_that_is_lost_too(
    proxy: Proxy, site: Site
) -> None:
    site.fates("kill_after", "kill_after")
    given = proxy.call("post", POST)
    first = proxy.asked(ASK)
    says(proxy, first, "again")
    second = proxy.asked(ASK)
    assert second["id"] != first["id"]
    says(proxy, second, "happened")
    assert proxy.result(given)["isError"] is False
    assert (len(site.effects), len(site.calls)) == (2, 2)


def test_what_is_given_up_is_refused_for_its_turn(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    says(proxy, proxy.asked(ASK), "abandon")
    assert texts(proxy.result(given)).startswith("`post` was given up by an operator")
    assert len(site.calls) == 1


def test_a_repeat_that_needs_a_persons_word_is_sent_with_it(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, repeat: escalate}]")
    with site.proxy() as proxy:
        opened(proxy)
        proxy.called("post", POST, _meta=turn("t1"))
        wait_for(lambda: site.records()[0].delivered)
        given = proxy.call("post", POST, _meta=turn("t2"))
        question = proxy.asked(ASK)
        assert question["params"]["requestedSchema"]["properties"]["outcome"]["enum"] == ["again"]
        says(proxy, question, "again")
        assert texts(proxy.result(given)).startswith("done e2")
    assert len(site.effects) == 2


# Nobody answers, or nothing that can be used

NOTHING: list[Json] = [
    {"result": {"action": "decline"}},
    {"result": {"action": "cancel"}},
    {"result": accepted({})},
    {"result": accepted({"outcome": "yes"})},
    {"result": accepted({"outcome": ["happened"]})},
    {"result": accepted("happened")},
    {"result": {"action": "decline", "content": {"outcome": "again"}}},
    {"result": [1]},
    {"error": {"code": -32601, "message": "no"}},
]


@pytest.mark.parametrize("answer", NOTHING)
def test_where_no_answer_comes_the_text_is_given_and_nobody_is_asked_twice(
    proxy: Proxy, site: Site, answer: Json
) -> None:
    given = lost(proxy, site)
    proxy.send({"jsonrpc": "2.0", "id": proxy.asked(ASK)["id"], **answer})
    assert texts(proxy.result(given)).startswith(UNKNOWN)
    assert texts(proxy.called("post", POST)).startswith(UNKNOWN)
    assert proxy.silent()
    assert [record.state for record in site.records()] == ["open"]
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_who_was_asked_in_vain_is_not_asked_by_another_process_either(site: Site) -> None:
    with site.proxy() as proxy:
        opened(proxy)
        given = lost(proxy, site)
        answer = {"result": {"action": "decline"}}
        proxy.send({"jsonrpc": "2.0", "id": proxy.asked(ASK)["id"], **answer})
        proxy.result(given)
    assert asked_at(site) is not None
    with site.proxy() as other:
        opened(other)
        assert texts(other.called("post", POST)).startswith(UNKNOWN)
        assert other.silent()


def test_in_the_time_that_the_client_waits_the_text_is_given_and_the_question_withdrawn(
    site: Site,
) -> None:
    with site.proxy("--answer-within", "4") as proxy:
        opened(proxy)
        given = lost(proxy, site)
        question = proxy.asked(ASK)
        assert texts(proxy.result(given)).startswith(UNKNOWN)
        assert proxy.asked(CANCELLED)["params"]["requestId"] == question["id"]
        wait_for(lambda: asked_at(site) is not None)
        says(proxy, question, "again")
        assert proxy.silent()
    assert (len(site.effects), len(site.calls)) == (1, 1)
    assert not any(question["id"] in one for one in site.heard)


def test_a_client_that_cancels_meanwhile_is_asked_no_more(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    question = proxy.asked(ASK)
    proxy.cancel(given)
    assert proxy.asked(CANCELLED)["params"]["requestId"] == question["id"]
    says(proxy, question, "again")
    assert proxy.silent()
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_a_call_that_sent_nothing_itself_withdraws_its_question_too(site: Site) -> None:
    with site.proxy("--no-ask") as proxy:
        proxy.result(lost(proxy, site))
    with site.proxy() as other:
        opened(other)
        given = other.call("post", POST)
        question = other.asked(ASK)
        other.cancel(given)
        assert other.asked(CANCELLED)["params"]["requestId"] == question["id"]
        assert other.silent()
    assert len(site.calls) == 1


# Several questions


def test_two_answers_never_cross(proxy: Proxy, site: Site) -> None:
    site.fates("kill_after")
    calls: dict[str, Any] = {"a": proxy.call("post", {"text": "a"})}
    questions = {"a": proxy.asked(ASK)}
    site.fates("kill_after")
    calls["b"] = proxy.call("post", {"text": "b"})
    questions["b"] = proxy.asked(ASK)
    says(proxy, questions["b"], "abandon")
    says(proxy, questions["a"], "happened")
    assert texts(proxy.result(calls["b"])).startswith("`post` was given up")
    assert proxy.result(calls["a"])["isError"] is False
    assert sorted(record.state for record in site.records()) == ["abandoned", "done"]


def test_calls_that_are_dispatched_twice_ask_once(proxy: Proxy, site: Site) -> None:
    site.fates("held_kill")
    first, second = (proxy.call("post", POST) for _ in range(2))
    wait_for(lambda: len(site.calls) == 1)
    assert proxy.silent()
    site.go()
    question = proxy.asked(ASK)
    answered = proxy.take(lambda m: m.get("id") in (first, second))
    assert texts(answered["result"]).startswith(UNKNOWN)
    says(proxy, question, "happened")
    rest = second if answered["id"] == first else first
    assert proxy.result(rest)["isError"] is False
    assert proxy.silent()
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_what_might_still_have_happened_is_asked_about_again_when_it_cannot_any_more(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, in_flight_bound: 2}]")
    with site.proxy() as proxy:
        opened(proxy)
        given = lost(proxy, site, "error_before")
        for _ in range(2):
            question = proxy.asked(ASK)
            assert len(site.calls) == 1
            says(proxy, question, "did_not_happen")
        assert not proxy.result(given)["isError"]
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_an_answer_that_comes_when_the_operator_has_spoken_settles_nothing(
    proxy: Proxy, site: Site
) -> None:
    given = lost(proxy, site)
    question = proxy.asked(ASK)
    ledger = open_ledger(site.ledger)
    (record,) = ledger.list("acme")
    wait_for(lambda: ledger.list("acme")[0].lease < ledger.now().earliest)
    ledger.resolve("acme", about(record).id, "abandon", now=ledger.now())
    ledger.close()
    says(proxy, question, "again")
    assert texts(proxy.result(given)).startswith("`post` was given up")
    assert [one.state for one in site.records()] == ["abandoned"]
    assert len(site.calls) == 1
    assert proxy.said("came too late: it settles nothing")


def held(site: Site, seconds: float) -> tuple[OpenedLedger, Record]:
    """Hold the action, once nobody does, as an equal call does that reads back."""
    ledger = open_ledger(site.ledger)
    wait_for(lambda: ledger.list("acme")[0].lease < ledger.now().earliest)
    (record,), now = ledger.list("acme"), ledger.now()
    claim = replace(record, owner="test", claimed=now.latest, lease=now.latest + seconds)
    taken = ledger.claim(claim, None, now)
    assert taken.owner == "test"
    return ledger, taken


def test_an_answer_waits_for_an_equal_call_that_holds_the_action(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    question = proxy.asked(ASK)
    ledger, taken = held(site, 3600)
    says(proxy, question, "abandon")
    assert proxy.said("waits for the call that holds it")
    assert ledger.save(replace(taken, lease=0.0))
    ledger.close()
    assert texts(proxy.result(given)).startswith("`post` was given up by an operator")
    assert len(site.calls) == 1


def test_the_servers_own_questions_pass_beside_those_of_the_guard(proxy: Proxy, site: Site) -> None:
    given = lost(proxy, site)
    question = proxy.asked(ASK)
    other = proxy.ask("ask", {"as": 1})
    own = proxy.asked(ASK)
    assert own["params"] == {"message": "Sure?"}
    says(proxy, question, "happened")
    assert proxy.result(given)["isError"] is False
    says(proxy, own, "happened")
    assert proxy.result(other)["answered"] == accepted({"outcome": "happened"})
    assert not any(str(question["id"]) in one for one in site.heard)


# The proxy ends while a person is asked


@pytest.mark.parametrize("killed", [True, False])
def test_nothing_is_lost_when_the_proxy_ends_while_a_person_is_asked(
    site: Site, killed: bool
) -> None:
    with site.proxy() as proxy:
        opened(proxy)
        lost(proxy, site)
        proxy.asked(ASK)
        if killed:
            proxy.process.kill()
    (record,) = site.records()
    assert (record.state, record.asked_at) == ("open", None)
    with site.proxy() as other:
        opened(other)
        given = other.call("post", POST)
        says(other, other.asked(ASK), "happened")
        assert other.result(given)["isError"] is False
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_a_client_that_goes_away_is_not_waited_for(site: Site) -> None:
    with site.proxy() as proxy:
        opened(proxy)
        lost(proxy, site)
        proxy.asked(ASK)
        began = time.monotonic()
    assert time.monotonic() - began < 600
    assert asked_at(site) is None


def test_texts_stay_what_they_are_inside_a_block_of_untrusted_data(
    proxy: Proxy, site: Site
) -> None:
    """One harness wraps results as data: no text needs to be obeyed, or could close the block."""
    given = lost(proxy, site)
    answer = {"result": {"action": "decline"}}
    question = proxy.asked(ASK)
    proxy.send({"jsonrpc": "2.0", "id": question["id"], **answer})
    told = {
        texts(proxy.result(given)): "report it to the user as uncertain",
        question["params"]["message"]: "If you decline, nothing is sent",
    }
    for text, rest in told.items():
        assert not set("<>\r\0") & set(text)
        wrapped = f"<untrusted_tool_result>{json.dumps({'error': text})}</untrusted_tool_result>"
        assert UNKNOWN in wrapped
        assert rest in wrapped
