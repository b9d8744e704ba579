"""Mode `observe` in front of a server over HTTP: nothing changes, and what would be is kept."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import turn, wait_for
from mcp_proxy_works_sites import URLS, Works, works
from retry_guard_ledgers import beside
from retry_guard_mcp_proxy import observed

CONTRACTS = """\
contracts:
  - tool: plain
  - {tool: write, key: {param: key, retention: 86400}}
  - tool: other
    key: {param: "header:Idempotency-Key", retention: 86400}
"""
TEXT = {"text": "hello"}
KEYED = {**TEXT, "key": "of-the-model"}
OBSERVE = ("--mode", "observe")


@pytest.fixture(params=URLS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Works]:
    with works(tmp_path, CONTRACTS, request.param) as site:
        yield site


def would(site: Works, count: int) -> list[tuple[str, str]]:
    folder = beside(site.ledger)
    assert folder is not None
    wait_for(lambda: len(observed(folder)) >= count)
    return [(one["tool"], one["would"]) for one in observed(folder)]


def test_no_key_is_added_nothing_is_hidden_and_repeats_reach_the_server(site: Works) -> None:
    with site.client(*OBSERVE) as caller:
        tools: dict[str, Any] = {tool["name"]: tool for tool in caller.listed()}
        assert "key" in tools["write"]["inputSchema"]["properties"]
        for tool, given in (("write", KEYED), ("other", TEXT), ("plain", TEXT)):
            assert "_meta" not in caller.called(tool, given, turn("t1"))
        assert "_meta" not in caller.called("plain", TEXT, turn("t1"))
        expected = [("write", "send"), ("other", "send"), ("plain", "send"), ("plain", "replay")]
        assert would(site, 4) == expected
    assert [one["arguments"] for one in site.calls] == [KEYED, TEXT, TEXT, TEXT]
    assert not any("idempotency-key" in one["headers"] for one in site.calls)
    assert len(site.effects) == 4
    assert site.records() == []


def test_what_is_lost_is_an_error_and_nothing_is_sent_again(site: Works) -> None:
    site.fates("commit_die", "commit_drop")
    with site.client(*OBSERVE) as caller:
        for tool, given in (("plain", TEXT), ("write", KEYED)):
            answer = caller.proxy.answer(caller.begin(tool, given))
            assert answer["error"]["code"] == -32000
        assert would(site, 2) == [("plain", "ask"), ("write", "reissue")]
    assert len(site.effects) == len(site.calls) == 2


def test_a_call_that_the_client_cancels_is_cancelled_at_the_server(site: Works) -> None:
    site.fates("gate")
    with site.client(*OBSERVE) as caller:
        given = caller.begin("plain", TEXT)
        wait_for(lambda: len(site.calls) == 1)
        caller.proxy.cancel(given)
        assert would(site, 1) == [("plain", "ask")]
        if not caller.stateless:
            wait_for(lambda: any("notifications/cancelled" in str(line) for line in site.lines))
        site.switch("open")
        if caller.stateless:
            wait_for(lambda: "hung_up" in site.lines)
