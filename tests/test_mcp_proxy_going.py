"""A guarded call that had to wait is sent only by whose it still is, to a server that takes it."""

import json
import os
import signal
import sqlite3
from collections.abc import Generator
from pathlib import Path

import pytest

import mcp_proxy_client
from mcp_proxy_client import INITIALIZE, META, Json, Proxy, Site, texts, wait_for
from retry_guard import LedgerError
from retry_guard_mcp_proxy._answers import refused

CONTRACTS = """\
contracts:
  - tool: charge
    key: {param: key, retention: 86400}
  - tool: post
    in_flight_bound: 1
    read_back:
      tool: list_charges
      items: charges
      match: {arguments.text: text}
      id: id
      created: created
      skew: 0
      exclusive: true
      permanent: true
      complete: complete
      visibility_lag: 0
  - {tool: list_charges, effect: read}
"""
CHARGE, POST = {"customer": "c1", "amount": 5}, {"text": "hello"}
GIVEN = {"requestState": "state-1", "inputResponses": {"confirm": {"action": "accept"}}}
PATIENT = ("--answer-within", "250")
MARK = "retry-guard/outcome"
KEYED: Json = {"type": "object", "properties": {"customer": {}, "amount": {}, "key": {}}}
KEYLESS: Json = {"type": "object", "properties": {"customer": {}, "amount": {}}}
FORMS: Json = {**META, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path, CONTRACTS)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lease has to run out."""
    monkeypatch.setattr(mcp_proxy_client, "LONG", 240.0)
    monkeypatch.setattr(Proxy, "module", "mcp_proxy_brief")


def lists(site: Site, schema: Json) -> None:
    """Let the server list this charge from now on."""
    tools = [{"name": "charge", "inputSchema": schema}]
    site.put("tools.json", json.dumps([tools]))


@pytest.mark.usefixtures("patient")
def test_a_call_that_was_taken_over_while_it_was_paused_is_not_sent(site: Site) -> None:
    """Its proxy is suspended beyond the lease, and its client gives the input after that."""
    with site.proxy(*PATIENT) as first, site.proxy(*PATIENT) as second:
        site.fates("input")
        assert first.called("post", POST, _meta=META)["resultType"] == "input_required"
        os.kill(first.process.pid, signal.SIGSTOP)
        assert texts(second.called("post", POST, _meta=META)).startswith("done e1")
        os.kill(first.process.pid, signal.SIGCONT)
        late = first.called("post", POST, _meta=META, **GIVEN)
    assert late["_meta"][MARK]["replayed"]
    assert len(site.effects) == 1


def test_a_re_issue_goes_only_to_a_server_whose_list_has_the_key(proxy: Proxy, site: Site) -> None:
    """It is another version that was started in the middle of the call."""
    lists(site, KEYED)
    proxy.initialize()
    proxy.result(proxy.ask("tools/list"))
    site.fates("held_kill")
    given = proxy.call("charge", CHARGE)
    wait_for(lambda: len(site.calls) == 1)
    lists(site, KEYLESS)
    site.go()
    answer = proxy.result(given)
    assert texts(answer).startswith("It is not known whether `charge` took effect")
    assert (len(site.calls), len(site.effects)) == (1, 1)


def test_a_re_issue_goes_to_a_server_that_still_lists_the_key(proxy: Proxy, site: Site) -> None:
    lists(site, KEYED)
    site.fates("kill_after")
    assert texts(proxy.called("charge", CHARGE)).startswith("done e1")
    assert (len(site.calls), len(site.effects)) == (2, 1)
    asked = [one for one in site.heard if '"tools/list"' in one]
    assert len(asked) == len(site.lives) == 2


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), ("1", 1)])
def test_paused_calls_that_only_look_alike_are_two(
    one: object, other: object, proxy: Proxy, site: Site
) -> None:
    site.fates("input", "input")
    for value in (one, other):
        asked = proxy.called("post", {"text": value}, _meta=META)
        assert asked["resultType"] == "input_required"
    for value in (one, other):
        proxy.called("post", {"text": value}, _meta=META, **GIVEN)
    sent = [json.dumps(effect["arguments"]["text"]) for effect in site.effects]
    assert sent == [json.dumps(one), json.dumps(other)]


def test_a_paused_call_goes_on_whatever_way_its_client_writes_a_number(
    proxy: Proxy, site: Site
) -> None:
    site.fates("input")
    proxy.called("charge", CHARGE, _meta=META)
    done = proxy.called("charge", {**CHARGE, "amount": 5.0}, _meta=META, **GIVEN)
    assert (done["isError"], len(site.effects), len(site.records())) == (False, 1, 1)


def test_an_answer_that_a_client_gives_many_times_at_once_counts_once(site: Site) -> None:
    """To a proxy that has just been started, so that each call looks at the question itself."""
    with Proxy(proxy_of(site)) as proxy:
        site.fates("kill_after")
        asked = proxy.called("wire", POST, _meta=FORMS)
    said = {"retry-guard": {"action": "accept", "content": {"outcome": "again"}}}
    more = {"requestState": asked["requestState"], "inputResponses": said}
    with Proxy(proxy_of(site)) as proxy:
        calls = [proxy.call("wire", POST, None, _meta=FORMS, **more) for _ in range(8)]
        done = [proxy.result(given) for given in calls]
    assert {texts(one).split("\n")[0] for one in done} == {"done e2"}
    assert len(site.effects) == 2


def proxy_of(site: Site, *options: str) -> tuple[str, ...]:
    """Return the command of a proxy for a tool that nothing but a person can settle."""
    plain = site.folder / "plain.yaml"
    plain.write_text("contracts:\n  - tool: wire\n", encoding="utf-8")
    given = ("--contracts", str(plain), "--ledger", site.ledger, "--scope", "acme")
    return (*mcp_proxy_client.COMMAND, *given, *options, "--", *site.server)


def test_a_word_that_crosses_the_end_of_its_call_is_for_the_next_equal_call(site: Site) -> None:
    """The client has cancelled, and nobody would get what is sent for it."""
    with Proxy(proxy_of(site)) as proxy:
        proxy.result(proxy.ask("initialize", {**INITIALIZE, "capabilities": {"elicitation": {}}}))
        site.fates("kill_after")
        given = proxy.call("wire", POST)
        asked = proxy.asked("elicitation/create")
        word = {"action": "accept", "content": {"outcome": "again"}}
        cancel = {"method": "notifications/cancelled", "params": {"requestId": given}}
        both = (cancel, {"id": asked["id"], "result": word})
        proxy.write(
            b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in both)
        )
        wait_for(lambda: site.records()[0].answer == "again")
        assert len(site.effects) == 1
        assert texts(proxy.called("wire", POST)).startswith("done e2")
    assert len(site.effects) == 2


def test_a_ledger_that_does_not_answer_is_no_proof_that_an_earlier_call_did_nothing(
    site: Site,
) -> None:
    with Proxy(proxy_of(site, "--answer-within", "2")) as proxy:
        proxy.initialize()
        site.fates("kill_after")
        proxy.called("wire", POST)
        proxy.called("wire", {"text": "another"})
        locked = sqlite3.connect(site.folder / "guard.db", isolation_level=None)
        locked.execute("BEGIN EXCLUSIVE")
        try:
            told = texts(proxy.called("wire", POST))
        finally:
            locked.close()
    assert told.startswith("This call was not sent")
    assert "an earlier equal call of `wire` took effect is not known" in told
    assert "nothing was executed" not in told


def test_a_ledger_that_fails_is_no_proof_either_and_its_words_are_for_the_operator() -> None:
    told = refused("wire", LedgerError("the ledger /home/me/guard.db is locked: try later"))
    (block,) = told["result"]["content"]
    assert block["text"].startswith("This call was not sent: the guard's ledger failed.")
    assert "an earlier equal call of `wire` took effect is not known" in block["text"]
    assert "guard.db" not in block["text"]
