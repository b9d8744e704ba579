"""A key that only a server names: calls that differ in nothing else are neither sent nor done."""

from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Json, Proxy, Site, texts, turn, wait_for
from mcp_proxy_stated import KEYED, lists, tool
from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._stated import strict

ANN, BOB = ({"key": "k", "text": text} for text in ("pay Ann", "pay Bob"))
LIES: Json = {"key": {"param": "text"}}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server that calls the field that says what is done its key."""
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", LIES)])
    return site


def opened(proxy: Proxy) -> None:
    proxy.initialize()
    proxy.answer(proxy.ask("tools/list"))


def refused(result: Json, field: str) -> bool:
    """Whether it is said that this call was not sent, and in what it differs."""
    said = texts(result)
    return result["isError"] and f"with other values in: {field}. This call was not sent" in said


@pytest.mark.parametrize("shown", [{}, {"_meta": turn("one")}], ids=["by time", "in a turn"])
def test_another_text_is_not_told_done_by_the_word_of_a_server(
    site: Site, shown: dict[str, Any]
) -> None:
    with site.proxy() as proxy:
        opened(proxy)
        assert not proxy.called("post", ANN, **shown)["isError"]
        assert refused(proxy.called("post", BOB, **shown), "text")
        again = proxy.called("post", ANN, **shown)
        assert not again["isError"]
        assert "retry-guard/outcome" in again["_meta"]
    assert [call["arguments"] for call in site.calls] == [ANN]


def test_nor_is_it_while_the_other_runs(site: Site) -> None:
    site.fates("held")
    with site.proxy() as proxy:
        opened(proxy)
        first = proxy.call("post", ANN)
        wait_for(lambda: len(site.calls) == 1)
        second = proxy.call("post", BOB)
        proxy.answer(proxy.ask("ping"))
        site.go()
        assert not proxy.result(first)["isError"]
        assert refused(proxy.result(second), "text")
    assert len(site.calls) == 1


def test_what_is_unresolved_holds_up_both_and_a_person_settles_the_first_alone(site: Site) -> None:
    site.fates("kill_after")
    with site.proxy() as proxy:
        opened(proxy)
        for each in (ANN, BOB):
            assert "It is not known whether `post` took effect" in texts(proxy.called("post", each))
    (record,) = site.records()
    assert record.state == "open"
    assert len(site.calls) == 1


def test_input_for_one_is_not_given_to_the_other(site: Site) -> None:
    site.fates("input", "input")
    given: dict[str, Any] = {"inputResponses": {"confirm": {}}, "requestState": "state-1"}
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list", {"_meta": META}))
        first = proxy.called("post", ANN, _meta=META)
        assert first["resultType"] == "input_required"
        second = proxy.call("post", BOB, None, _meta=META, **given)
        third = proxy.called("post", ANN, _meta=META, **given)
        assert not third["isError"]
        told = texts(proxy.result(second))
        assert told.startswith("This call was not sent: the input that it gives was asked for")
    assert [effect["arguments"] for effect in site.effects] == [ANN]


def test_a_new_key_of_a_model_makes_no_second_send(tmp_path: Path) -> None:
    """It may be no new action, so it is not sent; it may be one, so it is not told done."""
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", KEYED)])
    with site.proxy() as proxy:
        opened(proxy)
        proxy.called("post", ANN)
        assert refused(proxy.called("post", {**ANN, "key": "model-2"}), "key")
    assert len(site.calls) == 1


def test_a_key_that_is_said_to_be_secret_counts_since_it_cannot_be_compared(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", {**LIES, "secret": ["text"]})])
    with site.proxy() as proxy:
        opened(proxy)
        for each in (ANN, BOB):
            assert not proxy.called("post", each)["isError"]
    assert [call["arguments"] for call in site.calls] == [ANN, BOB]
    for key, secret in (("a.b", "a"), ("a", "a.b"), ("a", "a[].b")):
        assert strict(Contract(tool="x", key={"param": key}, secret=[secret])).volatile == ()
    assert strict(Contract(tool="x", key={"param": "a"}, secret=["ab"])).volatile == ("a",)


def test_a_contract_of_an_operator_says_which_it_is(tmp_path: Path) -> None:
    """Then a new key is no new action, and the repeat gets the first result."""
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key}}]")
    lists(site, [tool("post", KEYED)])
    with site.proxy("--show-key") as proxy:
        opened(proxy)
        first = proxy.called("post", ANN, _meta=turn("one"))
        assert not first["isError"]
        again = proxy.called("post", {"text": "pay Ann"}, _meta=turn("one"))
        assert again["content"] == first["content"]
    assert len(site.calls) == 1


def test_who_is_told_that_it_differs_has_not_got_the_result_of_the_other(site: Site) -> None:
    """So the first call's own repeat gets it, in whatever turn, and nothing is sent again."""
    site.fates("held")
    with site.proxy() as proxy:
        opened(proxy)
        first = proxy.call("post", ANN, _meta=turn("one"))
        wait_for(lambda: len(site.calls) == 1)
        proxy.cancel(first)
        second = proxy.call("post", BOB, _meta=turn("two"))
        proxy.answer(proxy.ask("ping"))
        site.go()
        assert refused(proxy.result(second), "text")
        again = proxy.called("post", ANN, _meta=turn("three"))
        assert texts(again).startswith("done e1")
    assert len(site.calls) == 1
