"""A person is asked in a result, and answers in the call that is made again (2026-07-28)."""

from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import META, Json, Proxy, Site, texts
from retry_guard_ledgers import about

POST = {"text": "hello"}
MARK = "retry-guard/outcome"
UNKNOWN = "It is not known whether `post` took effect"
ABILITIES = "io.modelcontextprotocol/clientCapabilities"
FORMS: Json = {**META, ABILITIES: {"elicitation": {"form": {}}}}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


def asked(proxy: Proxy, site: Site, text: str = "hello", fate: str = "kill_after") -> Json:
    """Make a call whose outcome is unknown; return the result that asks."""
    site.fates(fate)
    return proxy.called("post", {"text": text}, _meta=FORMS)


def accepted(word: object, **more: object) -> Json:
    return {"action": "accept", "content": {"outcome": word, **more}}


def given(question: Json, said: object, *, text: str = "hello", tool: str = "post") -> Json:
    """Return the call that is made again, with what a person says."""
    (name,) = question["inputRequests"]
    state = {"requestState": question["requestState"], "inputResponses": {name: said}}
    return {"name": tool, "arguments": {"text": text}, "_meta": FORMS, **state}


def again(proxy: Proxy, question: Json, said: object, *, text: str = "hello") -> Json:
    """Make the call again with what a person says; return its result."""
    return proxy.result(proxy.ask("tools/call", given(question, said, text=text)))


def states(site: Site) -> list[str]:
    return sorted(record.state for record in site.records())


def test_the_question_is_a_result_that_wants_input(proxy: Proxy, site: Site) -> None:
    question = asked(proxy, site)
    assert question["resultType"] == "input_required"
    (request,) = question["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["message"].startswith(UNKNOWN)
    assert about(site.records()[0]).id in question["requestState"]


def test_the_answer_settles_it_and_no_server_sees_anything_of_it(proxy: Proxy, site: Site) -> None:
    question = asked(proxy, site, fate="kill_before")
    result = again(proxy, question, accepted("again"))
    assert texts(result).startswith("done e1")
    assert result["resultType"] == "complete"
    assert [call.keys() & {"requestState", "inputResponses"} for call in site.calls] == [set()] * 2
    assert not any("retry-guard.question" in one for one in site.heard)


def test_an_action_that_happened_is_not_sent_again(proxy: Proxy, site: Site) -> None:
    result = again(proxy, asked(proxy, site), accepted("happened"))
    assert (result["isError"], result["_meta"][MARK]["replayed"]) == (False, True)
    assert (len(site.effects), len(site.calls)) == (1, 1)


@pytest.mark.parametrize(
    "said",
    [{"action": "decline"}, {"action": "cancel"}, accepted("yes"), None, "happened", [], {}],
)
def test_where_no_answer_comes_the_text_is_given_and_nobody_is_asked_twice(
    proxy: Proxy, site: Site, said: object
) -> None:
    question = asked(proxy, site)
    assert texts(again(proxy, question, said)).startswith(UNKNOWN)
    assert texts(proxy.called("post", POST, _meta=FORMS)).startswith(UNKNOWN)
    with site.proxy() as other:
        assert texts(other.called("post", POST, _meta=FORMS)).startswith(UNKNOWN)
    assert (states(site), len(site.calls)) == (["open"], 1)


def test_a_client_that_makes_the_call_anew_without_an_answer_is_not_asked_twice(
    proxy: Proxy, site: Site
) -> None:
    asked(proxy, site)
    assert texts(proxy.called("post", POST, _meta=FORMS)).startswith(UNKNOWN)


@pytest.mark.parametrize("abilities", [{}, {"elicitation": {"url": {}}}])
def test_a_client_that_shows_no_forms_gets_the_text(
    proxy: Proxy, site: Site, abilities: Json
) -> None:
    site.fates("kill_after")
    result = proxy.called("post", POST, _meta={**META, ABILITIES: abilities})
    assert (texts(result)[: len(UNKNOWN)], result["resultType"]) == (UNKNOWN, "complete")


def test_an_answer_counts_once(proxy: Proxy, site: Site) -> None:
    question = asked(proxy, site)
    assert texts(again(proxy, question, accepted("again"))).startswith("done e2")
    for _ in range(2):
        assert texts(again(proxy, question, accepted("again"))).startswith("done e2")
    assert (len(site.effects), len(site.calls)) == (2, 2)


def test_an_answer_goes_to_its_own_question_whichever_call_brings_it(
    proxy: Proxy, site: Site
) -> None:
    first, second = (asked(proxy, site, text) for text in ("a", "b"))
    crossed = again(proxy, first, accepted("abandon"), text="b")
    assert texts(crossed).startswith(UNKNOWN)
    named = {r.state: about(r).id for r in site.records()}
    assert named.keys() == {"abandoned", "open"}
    assert named["abandoned"] in first["requestState"]
    assert again(proxy, second, accepted("happened"), text="b")["isError"] is False
    assert states(site) == ["abandoned", "done"]


def forged(state: str) -> list[str]:
    mark, _, seal = state.rpartition(".")
    other = "0" if seal[0] != "0" else "1"
    renamed = mark.replace("retry-guard.question.", "retry-guard.question.0")
    return [
        f"{mark}.{other}{seal[1:]}",
        mark,
        f"{mark}.",
        f"{renamed}.{seal}",
        f"{mark}.\u00e9",
        f"{mark}\ud800.\ud800",
    ]


@pytest.mark.parametrize("at", range(6))
def test_a_state_that_was_made_up_settles_nothing(proxy: Proxy, site: Site, at: int) -> None:
    question = asked(proxy, site)
    false = {**question, "requestState": forged(question["requestState"])[at]}
    assert texts(again(proxy, false, accepted("again"))).startswith(UNKNOWN)
    assert (states(site), len(site.calls)) == (["open"], 1)
    assert again(proxy, question, accepted("happened"))["isError"] is False
    assert "Traceback" not in proxy.errors


def test_responses_of_another_form_settle_nothing(proxy: Proxy, site: Site) -> None:
    question = asked(proxy, site)
    params = {**given(question, None), "inputResponses": [accepted("again")]}
    assert texts(proxy.result(proxy.ask("tools/call", params))).startswith(UNKNOWN)
    assert (states(site), len(site.calls)) == (["open"], 1)


def test_a_state_is_none_for_another_tool_or_for_another_account(proxy: Proxy, site: Site) -> None:
    question = asked(proxy, site)
    other = given(question, accepted("abandon"), tool="typed")
    proxy.result(proxy.ask("tools/call", other))
    with site.proxy("--scope", "other") as elsewhere:
        again(elsewhere, question, accepted("abandon"))
    assert "abandoned" not in states(site)


@pytest.mark.parametrize("killed", [True, False])
def test_an_answer_counts_also_where_the_proxy_ended_meanwhile(site: Site, killed: bool) -> None:
    with site.proxy() as proxy:
        question = asked(proxy, site)
        if killed:
            proxy.process.kill()
    with site.proxy() as other:
        assert again(other, question, accepted("happened"))["isError"] is False
    assert (states(site), len(site.effects), len(site.calls)) == (["done"], 1, 1)


def test_what_the_server_asks_itself_still_goes_to_the_server(proxy: Proxy, site: Site) -> None:
    """A call that is sent once more on purpose begins anew at its server."""
    question = asked(proxy, site)
    site.fates("input", "input")
    own = again(proxy, question, accepted("again"))
    assert own["requestState"] == "state-1"
    (name,) = own["inputRequests"]
    assert name == "confirm"
    assert texts(again(proxy, own, {"action": "accept"})).startswith("done e2")
    assert site.calls[-1]["requestState"] == "state-1"
    assert len(site.effects) == 2
