"""Trust in what a server at a URL states: nobody sees it end, and another one may be there.

The works of another version state nothing of what they were trusted for.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from mcp_proxy_client import LONG, Json, texts, turn, wait_for
from mcp_proxy_http_sites import ServedSite
from mcp_proxy_stated import KEY_SCHEMA, KEYED, STATED, command_of
from mcp_proxy_works_sites import URLS, Caller, UrlWorks, Way, Works, works
from retry_guard_mcp_proxy._http_signs import Signs

TEXT: Json = {"text": "hello"}
CHARGE: Json = {"customer": "c", "amount": 1}
READ_BACK: Json = {
    "tool": "effects",
    "items": "effects",
    "match": {"text": "text"},
    "id": "id",
    "unique": True,
    "visibility_lag": 0,
}
READS: Json = {"read_back": READ_BACK, "in_flight_bound": 0.1}
CHANGED = "has changed, so it is not trusted any more: plain"
LOST = "It is not known whether `plain` took effect"
WAY = pytest.mark.parametrize("way", URLS)
KINDS = pytest.mark.parametrize("contract", [KEYED, READS], ids=["a key", "a read-back"])


def lists(site: Works, contract: Json | None, **more: object) -> None:
    """Let the server state that of its tool from now on; None: nothing."""
    stated = {} if contract is None else {"_meta": {STATED: contract}}
    tools = [
        {"name": "plain", "inputSchema": KEY_SCHEMA, **stated},
        {"name": "effects", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
    ]
    site.switch("listed", {"tools": tools, **more})


def trusted(site: Works, contract: Json, **more: object) -> None:
    lists(site, contract, **more)
    assert isinstance(site, UrlWorks)
    words = ("contracts", "trust", "there", "--ledger", site.ledger, "--url", site.url)
    done = command_of(*words)
    assert done.returncode == 0, done.stderr


def asked(site: Works) -> int:
    """How often the server was asked for its list."""
    return [one["method"] for one in site.lines if "method" in one].count("tools/list")


def lost(caller: Caller, site: Works, name: str = "t1") -> None:
    """Call, and see that the outcome is not known, and that nothing more was sent."""
    result = caller.called("plain", TEXT, turn(name))
    assert result["isError"]
    assert LOST in texts(result)
    assert caller.proxy.said(CHANGED)
    assert (len(site.sent("plain")), len(site.effects)) == (1, 1)


@WAY
@KINDS
def test_a_server_that_dies_in_a_call_and_comes_back_as_another_is_not_trusted_in_it(
    tmp_path: Path, way: Way, contract: Json
) -> None:
    with works(tmp_path, "contracts: []", way) as site:
        trusted(site, contract)
        with site.client() as caller:
            caller.listed()
            lists(site, None)
            site.fates("commit_die")
            lost(caller, site)
            assert "key" not in site.sent("plain")[0] or contract is KEYED


@WAY
@KINDS
def test_trust_counts_on_where_the_server_that_answers_next_states_the_same(
    tmp_path: Path, way: Way, contract: Json
) -> None:
    with works(tmp_path, "contracts: []", way) as site:
        trusted(site, contract)
        with site.client() as caller:
            caller.listed()
            before = asked(site)
            site.fates("commit_die")
            assert not caller.called("plain", TEXT)["isError"]
            assert asked(site) in (before + 1, before + 2)  # once more where a session began in it
        assert len(site.effects) == 1
        assert len(site.sent("plain")) == (2 if contract is KEYED else 1)


@pytest.mark.parametrize("word", ["streams", "json"])
def test_a_list_that_nobody_is_there_to_give_is_asked_for_until_it_comes(
    tmp_path: Path, word: str
) -> None:
    """That it could not be had while the server was away is not held against the server."""
    with ServedSite(tmp_path, word) as site, site.proxy() as proxy:
        caller = Caller(proxy, stateless=word == "json", asks=False)
        caller.listed()
        site.fates("kill_after")
        given = caller.begin("charge", CHARGE)
        site.died()
        wait_for(lambda: "while its server lists no tools" in proxy.errors)
        site.start()
        assert texts(proxy.result(given)).startswith("done e1")
        assert len(site.effects) == 1


@WAY
def test_another_version_that_answers_is_asked_for_its_list(tmp_path: Path, way: Way) -> None:
    """Nothing breaks off: only the name in an answer, or the session, tells the new server."""
    with works(tmp_path, "contracts: []", way) as site:
        site.switch("named", {"name": "works", "version": "1"})
        trusted(site, KEYED)
        with site.client() as caller:
            caller.listed()
            lists(site, None)
            site.switch("named", {"name": "works", "version": "2"})
            if way == "session":
                restarted(site)
            site.fates("commit_error")
            lost(caller, site)


def restarted(site: Works) -> None:
    """Let the server end where nobody looks, and begin anew."""
    count = len(site.lives)
    os.kill(site.lives[-1], signal.SIGKILL)
    wait_for(lambda: len(site.lives) > count)


def test_a_list_that_is_too_old_is_asked_for_before_anything_rests_on_it(tmp_path: Path) -> None:
    """The server says how long it lasts, and gives no sign that it is another one by then."""
    with works(tmp_path, "contracts: []", "stateless") as site:
        trusted(site, KEYED, ttlMs=0)
        with site.client() as caller:
            caller.listed()
            lists(site, None)
            time.sleep(1.1)
            site.fates("commit_error")
            lost(caller, site)


def test_a_list_lasts_no_longer_than_the_proxy_lets_it() -> None:
    signs = Signs(lambda: None)
    for said, lasts in ((None, 30), (3_600_000, 30), (5000, 5), (0, 1), (-1, 1), (True, 30)):
        signs.listed({"result": {"tools": [], "ttlMs": said}})
        assert signs.lasts == lasts


CONTRACTS = "contracts: [{tool: write, key: {param: key, retention: 86400}}]"


@WAY
@pytest.mark.parametrize("has_key", [True, False])
def test_a_re_issue_goes_only_to_a_server_whose_list_has_the_key(
    tmp_path: Path, way: Way, has_key: bool
) -> None:
    """Also where an operator says that the tool takes it: the next server may lack it."""
    with works(tmp_path, CONTRACTS, way) as site:
        only: Json = {"text": {"type": "string"}}
        schema: Json = KEY_SCHEMA if has_key else {**KEY_SCHEMA, "properties": only}
        with site.client("--answer-within", str(LONG / 2)) as caller:
            caller.listed()
            site.switch("listed", {"tools": [{"name": "write", "inputSchema": schema}]})
            site.fates("commit_die")
            result = caller.called("write", TEXT)
            assert result["isError"] is not has_key
            assert len(site.sent("write")) == (2 if has_key else 1)
        assert len(site.effects) == 1


@pytest.mark.parametrize("word", ["streams", "json"])
def test_what_is_known_is_answered_while_no_server_is_there(tmp_path: Path, word: str) -> None:
    """The list that a send would need cannot be had; nothing is sent, and nothing has to be."""
    other = {"customer": "other", "amount": 1}
    with ServedSite(tmp_path, word) as site, site.proxy() as proxy:
        caller = Caller(proxy, stateless=word == "json", asks=False)
        caller.listed()
        assert texts(caller.called("charge", CHARGE)).startswith("done e1")
        site.fates("kill_after")
        lost = caller.called("charge", other)
        site.died()
        assert "not known whether `charge` took effect" in texts(lost)
        assert texts(caller.called("charge", CHARGE)).startswith("done e1")
        assert "not known whether `charge` took effect" in texts(caller.called("charge", other))
        fresh = texts(caller.called("charge", {"customer": "fresh", "amount": 1}))
        assert fresh.startswith("nothing was executed")
        assert "list of tools could not be had" in fresh
        site.start()
        assert texts(caller.called("charge", other)).startswith("done e2")
        assert len(site.effects) == 2
