"""Calls for which the server wants input first: one call in several requests, not several calls."""

from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import META, Json, Proxy, Site, texts, turn, wait_for

CHARGE = {"customer": "c1", "amount": 5}
GIVEN = {"requestState": "state-1", "inputResponses": {"confirm": {"action": "accept"}}}
META_T1 = {**META, **turn("t1")}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


def ask(proxy: Proxy, site: Site) -> Json:
    site.fates("input", "input")
    return proxy.called("charge", CHARGE, _meta=META)


def test_what_the_server_wants_reaches_the_client_and_nothing_is_done(
    proxy: Proxy, site: Site
) -> None:
    asked = ask(proxy, site)
    assert (asked["resultType"], asked["requestState"]) == ("input_required", "state-1")
    assert "_meta" not in asked
    assert site.effects == []
    assert [record.state for record in site.records()] == ["open"]


def test_the_call_that_gives_it_goes_on_with_the_key_and_is_no_repeat(
    proxy: Proxy, site: Site
) -> None:
    ask(proxy, site)
    done = proxy.called("charge", CHARGE, _meta=META, **GIVEN)
    assert "retry-guard/outcome" not in done.get("_meta", {})
    first, second = site.calls
    assert first["arguments"] == second["arguments"]
    assert second["inputResponses"] == GIVEN["inputResponses"]
    assert (len(site.effects), len(site.records())) == (1, 1)
    again = proxy.called("charge", CHARGE, _meta=META, **GIVEN)
    assert again["_meta"]["retry-guard/outcome"]["replayed"]
    assert len(site.calls) == 2


def test_a_call_that_begins_anew_gives_the_former_one_up(proxy: Proxy, site: Site) -> None:
    ask(proxy, site)
    again = proxy.called("charge", CHARGE, _meta=META)
    assert again["resultType"] == "input_required"
    proxy.called("charge", CHARGE, _meta=META, **GIVEN)
    assert (len(site.effects), len(site.calls)) == (1, 3)
    assert [record.state for record in site.records()][-1] == "done"


def test_another_call_is_not_taken_for_the_one_that_waits(proxy: Proxy, site: Site) -> None:
    ask(proxy, site)
    other = proxy.called("charge", {**CHARGE, "amount": 6}, _meta=META, **GIVEN)
    assert texts(other).startswith("This call was not sent: the input that it gives was asked for")
    assert (site.effects, len(site.calls)) == ([], 1)
    proxy.called("charge", CHARGE, _meta=META, **GIVEN)
    assert [effect["arguments"]["amount"] for effect in site.effects] == [5]


def test_where_the_client_has_cancelled_meanwhile_nobody_is_asked(proxy: Proxy, site: Site) -> None:
    site.fates("held_input")
    first = proxy.call("charge", CHARGE, _meta=META)
    wait_for(lambda: len(site.calls) == 1)
    proxy.cancel(first)
    assert proxy.silent()
    site.go()
    wait_for(lambda: [record.state for record in site.records()] != ["open"])
    assert [record.state for record in site.records()] == ["not_executed"]
    assert proxy.silent()
    assert len(site.calls) == 1


def test_what_waits_for_input_when_the_client_goes_away_did_not_happen(site: Site) -> None:
    with site.proxy() as proxy:
        ask(proxy, site)
    assert [record.state for record in site.records()] == ["not_executed"]
    with site.proxy() as other:
        done = other.called("charge", CHARGE, _meta=META, **GIVEN)
    assert not done["isError"]
    assert len(site.effects) == 1
