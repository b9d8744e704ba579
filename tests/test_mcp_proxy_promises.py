"""What the page of the proxy promises, where no other test says so: one test for each sentence."""

import json
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from mcp_proxy_client import COMMAND, META, Json, Proxy, Site, texts, turn, wait_for
from mcp_proxy_http_sites import RawServer, UrlSite, calls, done, said
from mcp_proxy_works_sites import Way, Works, works
from mcp_proxy_works_tls import secure
from retry_guard import load_contracts
from retry_guard_ledgers import beside
from retry_guard_mcp_proxy._exchange import PAUSE

PAGE = Path(__file__).parents[1] / "adapters" / "mcp_proxy" / "README.md"
TEXT = {"text": "hello"}
MARK = "retry-guard/outcome"
UNKNOWN = "It is not known whether `plain` took effect"
PLAIN = "contracts: [{tool: plain}]"
KEYED = "contracts: [{tool: write, key: {param: key, retention: 86400}}]"
BOTH: tuple[Way, ...] = ("process", "stateless")


@contextmanager
def site_of(folder: Path, way: Way, contracts: str = PLAIN) -> Generator[Works]:
    folder.mkdir(exist_ok=True)
    with works(folder, contracts, way) as site:
        yield site


def test_the_examples_can_be_used_as_they_stand(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"```(json|yaml)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
    (server,) = json.loads(blocks["json"])["mcpServers"].values()
    assert (server["command"], server["args"][0]) == ("retry-guard", "mcp")
    (tmp_path / "contracts.yaml").write_text(blocks["yaml"], encoding="utf-8")
    loaded = load_contracts(tmp_path / "contracts.yaml")
    assert [one.tool for one in loaded] == ["charge", "add_note", "list_charges"]
    assert len(yaml.safe_load(blocks["yaml"])["contracts"]) == 3


# Scope


def unnamed(site: Works, *options: str) -> Proxy:
    """Start a proxy that is told no scope."""
    given = (*site.options[:4], *options)
    if isinstance(site, UrlSite):
        return Proxy((*COMMAND, *given, "--url", site.url), forked=True)
    return Proxy((*COMMAND, *given, "--", *site.server), forked=True)


@pytest.mark.parametrize("way", BOTH)
def test_no_record_of_one_account_counts_for_another(tmp_path: Path, way: Way) -> None:
    with site_of(tmp_path, way) as site:
        site.fates("commit_die")
        with site.client() as caller:
            assert texts(caller.called("plain", TEXT)).startswith(UNKNOWN)
        for scope, made in (("globex", "e2"), ("globex", "e2"), ("initech", "e3")):
            with site.client("--scope", scope) as other:
                assert other.made("plain", TEXT)["id"] == made
        assert len(site.effects) == 3


def test_started_in_another_way_a_server_is_another_account(tmp_path: Path) -> None:
    with site_of(tmp_path, "process") as site:
        for command in (site.server, site.server, (*site.server, "another")):
            with Proxy((*COMMAND, *site.options[:4], "--", *command), forked=True) as proxy:
                proxy.called("plain", TEXT)
        assert len(site.effects) == 2


def test_headers_are_no_part_of_the_scope(tmp_path: Path) -> None:
    with site_of(tmp_path, "stateless") as site:
        for token in ("of-today", "of-tomorrow"):
            with unnamed(site, "--header", f"Authorization: {token}") as proxy:
                proxy.called("plain", TEXT, _meta=META)
        assert len(site.effects) == 1
        assert site.calls[0]["headers"]["authorization"] == "of-today"


# What the server wants first, and what it only accepts


@pytest.mark.parametrize("way", BOTH)
def test_the_call_that_gives_the_input_is_the_same_call_with_the_same_key(
    tmp_path: Path, way: Way
) -> None:
    with site_of(tmp_path, way, KEYED) as site, site.client(asks=True) as caller:
        site.fates("input", "commit_die")
        asked = caller.called("write", TEXT, META)
        assert asked["resultType"] == "input_required"
        assert site.effects == []
        given = {name: {"action": "accept"} for name in asked["inputRequests"]}
        more = {"requestState": asked["requestState"], "inputResponses": given}
        meta = {**META, **caller.meta}
        result = caller.proxy.result(caller.proxy.call("write", TEXT, None, _meta=meta, **more))
        assert result["structuredContent"]["id"] == "e1"
        assert len({one["key"] for one in site.sent("write")}) == 1
        assert [one.get("requestState") for one in site.calls] == [None, "state-1", "state-1"]
        assert (len(site.effects), len(site.records())) == (1, 1)


@pytest.mark.parametrize("way", BOTH)
def test_where_the_input_is_never_given_nothing_happened(tmp_path: Path, way: Way) -> None:
    with site_of(tmp_path, way) as site:
        site.fates("input")
        with site.client(asks=True) as caller:
            assert caller.called("plain", TEXT, META)["resultType"] == "input_required"
        assert [one.state for one in site.records()] == ["not_executed"]
        with site.client() as other:
            assert other.made("plain", TEXT)["id"] == "e1"
        assert len(site.effects) == 1


_HASTY = """\
import sys
from retry_guard_mcp_proxy import _exchange
_exchange.PAUSE = 0.5
from retry_guard_console import main
sys.exit(main())
"""


def test_input_that_comes_after_its_time_begins_another_call(tmp_path: Path) -> None:
    """The time is ten minutes, and half a second here."""
    assert PAUSE == 600
    with site_of(tmp_path, "process") as site:
        site.fates("input")
        command = (sys.executable, "-c", _HASTY, *COMMAND[3:], *site.options)
        with Proxy((*command, "--", *site.server)) as proxy:
            asked = proxy.called("plain", TEXT, _meta=META)
            wait_for(lambda: [one.state for one in site.records()] == ["not_executed"])
            more: Json = {"requestState": asked["requestState"], "inputResponses": {}}
            assert not proxy.called("plain", TEXT, _meta=META, **more)["isError"]
        assert len(site.effects) == 1


@pytest.mark.parametrize("way", BOTH)
@pytest.mark.parametrize("readable", [True, False])
def test_a_call_as_a_task_is_read_back_or_asked_of_a_person(
    tmp_path: Path, way: Way, readable: bool
) -> None:
    read = "tool: effects, items: effects, match: {text: text}, id: id, unique: true"
    more = f", read_back: {{{read}, visibility_lag: 0}}" if readable else ""
    contracts = f"contracts: [{{tool: plain{more}}}, {{tool: effects, effect: read}}]"
    with site_of(tmp_path, way, contracts) as site, site.client() as caller:
        site.fates("task")
        whole = {**caller.meta}
        given = caller.proxy.call("plain", TEXT, None, _meta=whole, task={"ttl": 60000})
        result = caller.proxy.result(given)
        assert result["isError"] is not readable
        assert readable or texts(result).startswith(UNKNOWN)
        assert site.calls[0]["task"] == {"ttl": 60000}
        assert len(site.effects) == len(site.calls) == 1


# An `isError`


def test_an_error_of_the_tool_is_met_with_a_few_more_sends_under_its_key(tmp_path: Path) -> None:
    with site_of(tmp_path, "process", KEYED) as site, site.client() as caller:
        site.fates(*["error"] * 9)
        assert caller.called("write", TEXT)["isError"]
        assert len({one["key"] for one in site.sent("write")}) == 1
        assert len(site.calls) == 5


def test_a_pattern_for_its_message_ends_that(tmp_path: Path) -> None:
    proof = KEYED.replace("}}]", "}, not_executed: [{message: ^it failed$}]}]")
    with site_of(tmp_path, "process", proof) as site, site.client() as caller:
        site.fates(*["error"] * 9)
        assert texts(caller.called("write", TEXT)) == "it failed"
        assert len(site.calls) == 1


# Progress


@pytest.mark.parametrize("way", BOTH)
def test_who_joins_sees_progress_only_where_the_first_call_asked_for_it(
    tmp_path: Path, way: Way
) -> None:
    with site_of(tmp_path, way) as site, site.client() as caller:
        site.fates("gate")
        first = caller.begin("plain", TEXT)
        wait_for(lambda: len(site.calls) == 1)
        second = caller.begin("plain", TEXT, {"progressToken": "mine"})
        assert caller.proxy.silent()
        site.switch("open")
        for given in (first, second):
            assert not caller.proxy.result(given)["isError"]
        assert caller.proxy.silent()
        assert len(site.effects) == 1


# A person's word


@pytest.mark.parametrize("way", ["process", "session"])
def test_after_happened_the_answer_says_that_its_result_could_not_be_kept(
    tmp_path: Path, way: Way
) -> None:
    with site_of(tmp_path, way) as site, site.client(asks=True) as caller:
        site.fates("commit_die")
        given = caller.begin("plain", TEXT)
        question = caller.proxy.asked("elicitation/create")
        said_so = {"action": "accept", "content": {"outcome": "happened"}}
        caller.proxy.send({"jsonrpc": "2.0", "id": question["id"], "result": said_so})
        result = caller.proxy.result(given)
        assert texts(result) == "It happened, but its result could not be kept."
        assert "structuredContent" not in result


# Modes


@pytest.mark.parametrize("way", ["session", "stateless"])
def test_mode_off_adds_nothing_and_notes_nothing_over_http_either(tmp_path: Path, way: Way) -> None:
    with site_of(tmp_path, way, KEYED) as site, site.client("--mode", "off") as caller:
        names = {tool["name"]: tool["inputSchema"] for tool in caller.listed()}
        assert "key" in names["write"]["properties"]
        for _ in range(2):
            assert "_meta" not in caller.called("write", TEXT, turn("t1"))
        assert site.sent("write") == [TEXT, TEXT]
        assert site.records() == []
        folder = beside(site.ledger)
        assert folder is not None
        assert not folder.exists()


def test_beside_a_ledger_in_memory_nothing_is_kept(tmp_path: Path) -> None:
    with site_of(tmp_path, "process") as site:
        before = {path.name for path in tmp_path.iterdir()}
        for mode in ("observe", "guard"):
            with site.client("--ledger", "memory://", "--mode", mode) as caller:
                caller.listed()
                caller.called("plain", TEXT)
        written = {path.name for path in tmp_path.iterdir()} - before
        kept = {"calls.jsonl", "effects.jsonl", "fates.jsonl", "heard.jsonl", "lives.txt"}
        assert written == kept


# Over HTTP


def test_without_sessions_the_end_of_the_proxy_cancels_what_is_under_way(tmp_path: Path) -> None:
    with site_of(tmp_path, "stateless") as site:
        site.fates("commit_gate")
        with site.client() as caller:
            caller.begin("plain", TEXT)
            wait_for(lambda: len(site.effects) == 1)
            caller.proxy.process.terminate()
            assert caller.proxy.wait() == 0
        site.switch("open")
        wait_for(lambda: "hung_up" in site.lines)
        (record,) = site.records()
        assert (record.state, record.ended is None) == ("open", False)
        with site.client() as other:
            assert texts(other.called("plain", TEXT)).startswith(UNKNOWN)
        assert len(site.effects) == len(site.calls) == 1


def test_a_proxy_that_the_environment_names_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = UrlSite(tmp_path, PLAIN)
    site.url = "http://nowhere.invalid/mcp"
    with RawServer(calls(lambda got: (said(done(got)),))) as between:
        for name in ("HTTP_PROXY", "http_proxy"):
            monkeypatch.setenv(name, between.url.removesuffix("/mcp"))
        with site.proxy() as proxy:
            proxy.initialize()
            assert texts(proxy.called("plain", TEXT)) == "done"
        assert {got.path for got in between.said("tools/call")} == {site.url}


@pytest.mark.parametrize("known", [True, False])
def test_a_certificate_counts_where_the_environment_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    site, certified = UrlSite(tmp_path, PLAIN), tmp_path / "certified.pem"
    if known:
        monkeypatch.setenv("SSL_CERT_FILE", str(certified))
    with secure(tmp_path, certified) as url:
        site.url = url
        with site.proxy() as proxy:
            result: Json = proxy.called("plain", TEXT, _meta=META)
        assert result["isError"] is not known
        assert known or texts(result).startswith("nothing was executed: ")
        assert len(site.effects) == known


# Noise


def test_an_answer_that_does_not_say_that_it_is_one_is_noise(tmp_path: Path) -> None:
    site = Site(tmp_path, PLAIN)
    with site.proxy(server=(sys.executable, "-c", _BARE)) as proxy:
        proxy.answer(proxy.ask("ping", given=1))
        assert proxy.said("bare")
        assert not any(b"bare" in line for line in proxy.raw)


_BARE = """\
import json, sys
for line in sys.stdin:
    given = json.loads(line)["id"]
    print(json.dumps({"id": given, "result": {"bare": True}}), flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": given, "result": {}}), flush=True)
"""
