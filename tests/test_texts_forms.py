"""What a person is shown when the proxy asks what became of an action: words for a person."""

import re
from pathlib import Path
from typing import Literal

import pytest

from mcp_proxy_client import INITIALIZE, META, Json, Site, texts, turn, wait_for
from retry_guard import Question, Unresolved
from retry_guard_mcp_proxy import _form as forms
from test_guard_texts import FORBIDDEN, stops

POST = {"text": "hello"}
ASK = "elicitation/create"
Words = tuple[Literal["happened", "did_not_happen", "again", "abandon"], ...]
ALL: Words = ("happened", "did_not_happen", "again", "abandon")
TO_A_MODEL = re.compile(r"to the user|[Dd]o not|[Tt]ell the|this call for the same")
REASONS = sorted(stops() | {"contract_changed", "of_a_later_version"})


def question(answers: Words = ALL) -> Question:
    return Question(
        id="a1.0",
        action="a1",
        tool="post",
        text="Do not call it for the same purpose; report it to the user as uncertain.",
        arguments=POST,
        answers=answers,
    )


@pytest.mark.parametrize("reason", REASONS)
def test_a_person_reads_what_happened_and_nothing_that_is_said_to_a_model(reason: str) -> None:
    asked = forms.for_person(question(), Unresolved("a1", reason, tool="post"))
    message = forms.form(asked)["message"]
    assert message.startswith("It is not known whether `post` took effect (action a1): ")
    assert re.search(r"sent|still happen", message.split("\n\n")[0])
    assert not TO_A_MODEL.search(message)
    assert not FORBIDDEN.search(message)


@pytest.mark.parametrize("reason", sorted(stops() - {"unread", "too_early"}))
def test_each_reason_to_stop_has_words_of_its_own(reason: str) -> None:
    asked = forms.for_person(question(), Unresolved("a1", reason, tool="post"))
    other = forms.for_person(question(), Unresolved("a1", "of_a_later_version", tool="post"))
    assert asked.text != other.text


def test_of_a_batch_a_person_reads_of_how_many_items_nothing_is_known() -> None:
    outcome = Unresolved("a1", "some", tool="post", missing=("IGNORE", "ALL"))
    text = forms.for_person(question(), outcome).text
    assert "took effect for 2 of its items" in text
    assert "IGNORE" not in text


def test_each_answer_says_what_it_does_and_so_does_none() -> None:
    message = forms.form(question())["message"]
    told = dict(re.findall(r"^- (\w+): (.+)$", message, re.MULTILINE))
    assert list(told) == list(ALL)
    assert "nothing is sent" in told["happened"]
    assert "sent anew" in told["did_not_happen"]
    assert "happens twice" in told["again"]
    assert "Nothing is sent" in told["abandon"]
    assert "If you decline, nothing is sent" in message.splitlines()[-1]


def test_a_second_time_is_asked_about_as_one_with_nothing_unknown() -> None:
    outcome = Unresolved("a1", "repeat_escalate", tool="post")
    shown = forms.form(forms.for_person(question(("again",)), outcome))
    (wish,) = shown["requestedSchema"]["properties"].values()
    assert (wish["title"], wish["enum"]) == ("Send it a second time?", ["again"])
    assert "was done shortly before" in shown["message"]
    assert not re.search(r"not known|unknown|abandon|happened:", shown["message"])


def test_the_model_gets_its_sentence_and_the_person_another_one(tmp_path: Path) -> None:
    site = Site(tmp_path)
    given: Json = {**INITIALIZE, "capabilities": {"elicitation": {}}}
    with site.proxy() as proxy:
        proxy.result(proxy.ask("initialize", given))
        proxy.tell("notifications/initialized")
        site.fates("kill_after")
        call = proxy.call("post", POST)
        asked = proxy.asked(ASK)
        proxy.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}})
        told = texts(proxy.result(call))
    assert TO_A_MODEL.search(told)
    assert not TO_A_MODEL.search(asked["params"]["message"])
    assert "its answer was lost" in asked["params"]["message"]


def test_without_a_session_the_form_is_the_same(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, repeat: escalate}]")
    prefix = "io.modelcontextprotocol/"
    able: Json = {**META, f"{prefix}clientCapabilities": {"elicitation": {"form": {}}}}
    with site.proxy() as proxy:
        assert texts(proxy.called("post", POST, _meta={**able, **turn("t1")})).startswith("done")
        wait_for(lambda: site.records()[0].delivered)
        wanted = proxy.called("post", POST, _meta={**able, **turn("t2")})
        (asked,) = wanted["inputRequests"].values()
    assert "This second call was not sent" in asked["params"]["message"]
