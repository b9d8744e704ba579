"""Input that a server wants goes out with the arguments for which it was wanted, and no others."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Json, Proxy, Site, texts, turn
from retry_guard_ledgers import about, open_ledger

CONTRACTS = """\
contracts:
  - tool: note
    identity: [id]
"""
X, Y = ({"id": 1, "text": text} for text in "xy")
META_T1 = {**META, **turn("t1")}
GIVEN = {"confirm": {"action": "accept"}}
NOT_SENT = "This call was not sent: the input that it gives was asked for by a call with other"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, CONTRACTS)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


def paused(proxy: Proxy, site: Site, arguments: Json) -> str:
    """Call, and return the state that comes with the question."""
    site.fates("own_input")
    asked = proxy.called("note", arguments, _meta=META_T1)
    state: str = asked["requestState"]
    assert json.loads(state) == arguments
    return state


def go_on(proxy: Proxy, arguments: Json, state: str) -> Json:
    more: dict[str, Any] = {"requestState": state, "inputResponses": GIVEN}
    return proxy.called("note", arguments, _meta=META_T1, **more)


def pairs(site: Site) -> list[tuple[Any, Any]]:
    """The arguments and the state of each call that gave the server input."""
    given = [call for call in site.calls if "inputResponses" in call]
    return [(call["arguments"], json.loads(call["requestState"])) for call in given]


def test_of_two_calls_for_the_same_purpose_each_goes_on_with_its_own_arguments(
    proxy: Proxy, site: Site
) -> None:
    x, y = paused(proxy, site, X), paused(proxy, site, Y)
    assert texts(go_on(proxy, X, x)).startswith("done e1")
    refused = go_on(proxy, Y, y)
    assert refused["isError"]
    assert "with other values in: text" in texts(refused)
    assert pairs(site) == [(X, X)]
    assert [effect["arguments"] for effect in site.effects] == [X]


def test_the_second_of_two_calls_for_the_same_purpose_is_not_told_what_became_of_the_first(
    proxy: Proxy, site: Site
) -> None:
    paused(proxy, site, X)
    y = paused(proxy, site, Y)
    assert texts(go_on(proxy, Y, y)).startswith("done e1")
    assert pairs(site) == [(Y, Y)]


@pytest.mark.parametrize("is_over", [False, True])
def test_a_state_with_the_arguments_of_another_call_is_not_sent(
    proxy: Proxy, site: Site, is_over: bool
) -> None:
    """Also once the call that it belongs to is over."""
    x = paused(proxy, site, X)
    if is_over:
        go_on(proxy, X, x)
    answer = go_on(proxy, Y, x)
    assert (answer["isError"], texts(answer).startswith(NOT_SENT)) == (True, True)
    assert pairs(site) == ([(X, X)] if is_over else [])
    assert not go_on(proxy, X, x)["isError"]
    assert len(site.effects) == 1


def test_where_a_call_carries_another_one_on_its_state_stays_behind(
    proxy: Proxy, site: Site
) -> None:
    """What is sent are the recorded arguments, and the input was asked for with others."""
    y = paused(proxy, site, Y)
    site.fates("kill_after")
    assert proxy.called("note", X, _meta=META_T1)["isError"]
    ledger = open_ledger(site.ledger)
    (record,) = [one for one in ledger.list("acme") if one.state == "open"]
    ledger.resolve("acme", about(record).id, "again", now=ledger.now())
    ledger.close()
    go_on(proxy, Y, y)
    last = site.calls[-1]
    assert (last["arguments"], pairs(site)) == (X, [])
    assert len(site.effects) == 2
