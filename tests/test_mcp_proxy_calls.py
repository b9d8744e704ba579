"""Guarded calls: one effect, whatever the client and the server do, and the tool's own answer."""

import base64
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

import mcp_proxy_client
from forked import has_more
from mcp_proxy_client import COMMAND, LONG, META, Proxy, Site, texts, tools, turn, wait_for
from retry_guard_ledgers import about

CHARGE = {"customer": "c1", "amount": 5}
POST = {"text": "hello"}
MARK = "retry-guard/outcome"
OWN = {
    "content": [{"type": "text", "text": "done e1"}, {"type": "text", "text": "second block"}],
    "isError": False,
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


def test_a_first_answer_is_the_servers_own(proxy: Proxy, site: Site) -> None:
    given = proxy.call("charge", CHARGE, "my-id", _meta={"own": [1]})
    assert proxy.answer(given) == {"jsonrpc": "2.0", "id": "my-id", "result": OWN}
    (call,) = site.calls
    assert call["_meta"] == {"own": [1]}
    assert call["arguments"] == {**CHARGE, "key": site.effects[0]["key"]}


def test_a_repeat_is_answered_block_for_block_and_marked(proxy: Proxy, site: Site) -> None:
    proxy.called("post", POST)
    again = proxy.called("post", {"text": "hello"})
    assert again == {**OWN, "_meta": {MARK: {"replayed": True, "warning": None}}}
    assert len(site.effects) == 1


@pytest.mark.parametrize("kept", [True, False])
def test_a_repeat_is_met_in_another_process_too(site: Site, kept: bool) -> None:
    with site.proxy() as first:
        first.called("post", POST)
        if not kept:
            first.process.kill()
    with site.proxy() as second:
        assert second.called("post", POST)["_meta"][MARK]["replayed"]
    assert len(site.effects) == 1


def test_a_key_travels_in_meta_where_the_contract_says_so(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: 'meta:key', retention: 60}}]")
    site.fates("kill_after")
    with site.proxy() as proxy:
        assert proxy.called("post", POST) == OWN
    first, second = site.calls
    assert first["_meta"]["key"] == second["_meta"]["key"] == site.effects[0]["key"]
    assert first["arguments"] == POST
    assert len(site.effects) == 1


@pytest.mark.parametrize("fate", ["kill_after", "kill_before", "error_after", "rpc_after", "close"])
def test_with_a_key_a_lost_answer_costs_no_second_effect(
    proxy: Proxy, site: Site, fate: str
) -> None:
    site.fates(fate)
    assert proxy.called("charge", CHARGE) == OWN
    keys = {call["arguments"]["key"] for call in site.calls}
    assert (len(site.effects), len(site.calls), len(keys)) == (1, 2, 1)


@pytest.mark.parametrize("fate", ["kill_after", "error_after", "rpc_after", "close"])
def test_without_key_and_read_back_a_lost_answer_is_said_to_be_unknown(
    site: Site, fate: str
) -> None:
    site.fates(fate)
    with site.proxy() as proxy:
        first, second = proxy.called("post", POST), proxy.called("post", POST)
    with site.proxy() as other:
        third = other.called("post", POST)
    assert len(site.effects) == 1
    assert first == second == third
    assert first["isError"]
    assert "structuredContent" not in first
    assert first["_meta"][MARK]["reason"] == "nothing_can_tell"
    assert texts(first).startswith("It is not known whether `post` took effect (action ")


def test_what_a_read_back_shows_is_given_as_the_tools_result(proxy: Proxy, site: Site) -> None:
    site.fates("kill_after")
    result = proxy.called("typed", POST)
    assert not result["isError"]
    assert json.loads(texts(result))["id"] == "e1"
    assert len(site.effects) == 1


def test_a_tool_with_an_output_schema_gets_what_was_read_as_structured_content(
    proxy: Proxy, site: Site
) -> None:
    proxy.answer(proxy.ask("tools/list"))
    site.fates("kill_after")
    result = proxy.called("typed", POST)
    assert result["structuredContent"] == json.loads(texts(result)) == site.effects[0]


def test_a_refusal_of_the_server_passes_and_the_next_call_is_sent(proxy: Proxy, site: Site) -> None:
    site.fates("refuse")
    refused = proxy.answer(proxy.call("post", POST))
    assert refused["error"] == {"code": -32602, "message": "amount must be above 0"}
    assert proxy.called("post", POST) == OWN
    assert len(site.effects) == 1


def test_a_contract_says_which_errors_prove_that_nothing_ran(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, not_executed: [{message: 'Error executing'}]}]")
    site.fates("error_before")
    with site.proxy() as proxy:
        failed = proxy.called("post", POST)
        assert failed == {
            "content": [{"type": "text", "text": "Error executing tool"}],
            "isError": True,
        }
        assert proxy.called("post", POST) == OWN


def test_a_client_that_cancels_is_not_answered_and_the_call_goes_on(
    proxy: Proxy, site: Site
) -> None:
    site.fates("held")
    given = proxy.call("post", POST, _meta={"progressToken": 5})
    wait_for(lambda: len(site.calls) == 1)
    proxy.cancel(given)
    assert proxy.silent()
    site.go()
    wait_for(lambda: [r.state for r in site.records()] == ["done"])
    assert proxy.silent()
    assert not any("cancelled" in one for one in site.heard)
    assert not site.records()[0].delivered
    result = proxy.called("post", POST, _meta=turn("later"))
    assert result["content"] == OWN["content"]
    assert result["_meta"][MARK]["replayed"]
    assert len(site.effects) == 1


def test_a_call_that_is_cancelled_before_it_was_sent_is_not_sent(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.called("charge", CHARGE)
        blocker = sqlite3.connect(site.folder / "guard.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        given = proxy.call("post", POST)
        proxy.answer(proxy.ask("ping"))
        proxy.cancel(given)
        proxy.answer(proxy.ask("ping"))
        blocker.execute("ROLLBACK")
        blocker.close()
    assert len(site.calls) == 1
    with site.proxy() as other:
        assert other.called("post", POST) == {**OWN, "content": [*done("e2")]}
    assert len(site.calls) == 2


def done(name: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": f"done {name}"}, {"type": "text", "text": "second block"}]


def test_a_result_counts_as_delivered_once_the_client_has_it(proxy: Proxy, site: Site) -> None:
    proxy.called("post", POST)
    wait_for(lambda: site.records()[0].delivered)


def test_what_the_server_says_to_a_call_that_was_answered_passes(proxy: Proxy) -> None:
    """The guard keeps an id to itself only for as long as its client waits for it."""
    given = proxy.call("post", POST)
    proxy.result(given)
    line = json.dumps({"jsonrpc": "2.0", "id": given, "result": {"late": True}}).encode() + b"\n"
    proxy.ask("raw", {"bytes": base64.b64encode(line).decode()})
    assert proxy.result(given) == {"late": True}


def test_a_result_that_nobody_reads_is_not_delivered_and_goes_to_the_next_turn(
    site: Site,
) -> None:
    read, write = os.pipe()
    given = ("--contracts", str(site.folder / "contracts.yaml"), "--ledger", site.ledger)
    command = (*COMMAND, *given, "--scope", "acme", "--", *site.server)
    blind = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.close(read)
    params = {"name": "post", "arguments": POST, "_meta": turn("t1")}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    blind.communicate(json.dumps(call).encode() + b"\n", timeout=LONG)
    assert [(r.state, r.delivered) for r in site.records()] == [("done", False)]
    with site.proxy() as proxy:
        result = proxy.called("post", POST, _meta=turn("t2"))
    assert result["_meta"][MARK]["replayed"]
    assert len(site.effects) == 1


def test_calls_that_are_dispatched_twice_have_one_effect_and_one_answer(
    proxy: Proxy, site: Site
) -> None:
    site.fates("held")
    given = [proxy.call("post", POST, _meta={"claudecode/toolUseId": f"u{n}"}) for n in (1, 2)]
    wait_for(lambda: len(site.calls) == 1)
    assert proxy.silent()
    site.go()
    results = [proxy.result(one) for one in given]
    assert [one["content"] for one in results] == [OWN["content"]] * 2
    assert (len(site.effects), len(site.calls)) == (1, 1)
    assert about(site.records()[0]).call_ids[0] in ("u1", "u2")


def test_a_client_that_gave_up_without_a_word_joins_its_own_call(proxy: Proxy, site: Site) -> None:
    site.fates("held")
    proxy.call("post", POST)
    wait_for(lambda: len(site.calls) == 1)
    given = proxy.call("post", POST)
    assert proxy.silent()
    site.go()
    assert proxy.result(given)["content"] == OWN["content"]
    assert len(site.effects) == 1


def test_sixty_four_calls_at_once_each_get_their_own_answer(proxy: Proxy, site: Site) -> None:
    asked = {
        proxy.call("charge", {"customer": f"c{n}", "amount": n}, f"call-{n}"): n for n in range(64)
    }
    results = {n: texts(proxy.result(given)).split()[1] for given, n in asked.items()}
    real = {effect["id"]: effect["arguments"]["amount"] for effect in site.effects}
    assert {n: real[name] for n, name in results.items()} == {n: n for n in range(64)}
    assert len(site.effects) == 64


def test_in_a_turn_an_equal_call_is_a_repeat_and_in_the_next_one_an_action_with_a_warning(
    proxy: Proxy, site: Site
) -> None:
    first = proxy.called("post", POST, _meta=turn("t1"))
    again = proxy.called("post", POST, _meta={**turn("t1"), "callId": "other"})
    later = proxy.called("post", POST, _meta=turn("t2"))
    assert MARK not in first.get("_meta", {})
    assert again["_meta"][MARK]["replayed"]
    assert later["content"] == done("e2")
    assert later["_meta"][MARK]["warning"].startswith("An equal action was done shortly before")
    assert [r.turn for r in site.records()] == ["t1", "t2"]


@pytest.mark.parametrize("meta", [{}, {"claudecode/toolUseId": "u"}, {"threadId": "x"}])
def test_where_no_turn_is_shown_time_decides(
    proxy: Proxy, site: Site, meta: dict[str, Any]
) -> None:
    proxy.called("post", POST, _meta=meta)
    proxy.called("post", POST, _meta={**meta, "progressToken": 5})
    assert [r.turn for r in site.records()] == [None]
    assert len(site.effects) == 1


def test_what_only_a_guard_may_say_is_taken_out_of_what_the_server_says(
    proxy: Proxy, site: Site
) -> None:
    site.fates("fake", "fake")
    assert proxy.called("post", POST)["_meta"] == {"own": 1}
    assert proxy.called("union", POST)["_meta"] == {"own": 1}
    assert proxy.called("post", POST)["_meta"] == {
        "own": 1,
        MARK: {"replayed": True, "warning": None},
    }


def test_arguments_that_are_missing_are_an_empty_object_and_null_is_refused(
    proxy: Proxy, site: Site
) -> None:
    missing = proxy.result(proxy.ask("tools/call", {"name": "post.dotted"}))
    empty = proxy.called("post.dotted", {})
    assert (missing, empty["content"]) == (OWN, OWN["content"])
    assert [call["arguments"] for call in site.calls] == [{}]
    for wrong in (None, [1], "x", 7):
        assert proxy.answer(proxy.call("post", wrong))["error"]["code"] == -32602
    assert len(site.calls) == 1


def test_names_are_exact_and_dots_in_them_are_names(proxy: Proxy, site: Site) -> None:
    for tool in ("post.dotted", "post/dotted", "post_dotted", "POST"):
        proxy.called(tool, {})
        proxy.called(tool, {})
    assert [call["name"] for call in site.calls].count("post.dotted") == 1
    assert len(site.calls) == 7


def test_a_key_of_a_callers_own_is_kept(proxy: Proxy, site: Site) -> None:
    proxy.called("charge", {**CHARGE, "key": "mine"})
    assert site.effects[0]["key"] == "mine"
    proxy.called("charge", {**CHARGE, "key": "other"})
    assert len(site.effects) == 1


def test_a_call_without_an_id_is_not_sent_and_one_with_an_odd_id_is_refused(
    proxy: Proxy, site: Site
) -> None:
    proxy.tell("tools/call", {"name": "post", "arguments": POST})
    odd = {"jsonrpc": "2.0", "id": None, "method": "tools/call", "params": {"name": "post"}}
    proxy.send(odd)
    assert proxy.answer(None)["error"]["code"] == -32600
    assert proxy.silent()
    assert site.calls == []


def test_one_id_for_two_calls_at_once_gets_two_answers(proxy: Proxy, site: Site) -> None:
    for text in ("a", "b"):
        proxy.call("post", {"text": text}, "same")
    assert {texts(proxy.result("same"))[:7] for _ in range(2)} == {"done e1", "done e2"}


def test_a_server_cannot_answer_a_call_that_it_never_got(proxy: Proxy, site: Site) -> None:
    site.fates("held")
    given = proxy.call("post", POST)
    wait_for(lambda: len(site.calls) == 1)
    forged: dict[str, Any] = {"jsonrpc": "2.0", "id": given, "result": {"content": []}}
    proxy.send({"jsonrpc": "2.0", "method": "raw", "params": {"bytes": base64_of(forged)}})
    proxy.answer(proxy.ask("ping"))
    site.go()
    assert proxy.result(given) == OWN


def base64_of(message: object) -> str:
    return base64.b64encode(json.dumps(message).encode() + b"\n").decode()


def test_progress_is_relayed_with_the_clients_own_token(proxy: Proxy) -> None:
    given = proxy.call("post", POST, _meta={"progressToken": "mine"})
    beat = proxy.asked("notifications/progress")
    assert beat["params"] == {"progressToken": "mine", "progress": 1}
    proxy.result(given)


def test_a_tool_that_lacks_the_parameter_for_the_key_is_not_called(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: token, retention: 60}}]")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        refused = proxy.called("post", POST)
    assert "post has no parameter token" in texts(refused)
    assert refused["isError"]
    assert site.calls == []


def test_without_a_ledger_nothing_is_written_and_reads_pass(proxy: Proxy, site: Site) -> None:
    proxy.called("charge", CHARGE)
    for name in ("guard.db", "guard.db-wal", "guard.db-shm"):
        (site.folder / name).unlink(missing_ok=True)
    (site.folder / "guard.db").mkdir()
    before = len(site.effects)
    refused = proxy.called("post", POST)
    assert refused["isError"]
    assert len(site.effects) == before
    assert proxy.called("echo", {"x": 1})["content"] == [{"type": "text", "text": '{"x": 1}'}]


def test_a_result_too_long_to_be_kept_reaches_its_caller(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: echo}]")
    with site.proxy() as proxy:
        result = proxy.called("echo", {"text": "x" * 20_000_000})
        assert len(texts(result)) > 20_000_000
        assert proxy.called("echo", {"text": "y"})["content"]


def test_reads_and_tools_without_a_contract_pass_as_they_are(proxy: Proxy, site: Site) -> None:
    for tool in ("list_charges", "echo", "union"):
        for _ in range(2):
            assert MARK not in proxy.called(tool, {}).get("_meta", {})
    assert len(site.calls) == 6
    assert site.records() == []


def test_what_a_server_says_of_itself_loosens_nothing(proxy: Proxy, site: Site) -> None:
    """`post` says of itself that it is idempotent; its contract does not."""
    site.fates("kill_after")
    assert proxy.called("post", POST)["isError"]
    assert len(site.calls) == 1


def test_a_result_that_does_not_fit_its_schema_passes_and_is_repeated_as_it_was(
    proxy: Proxy, site: Site
) -> None:
    """`typed` declares structured content, and gives none: none is made up."""
    listed = proxy.result(proxy.ask("tools/list"))
    assert "outputSchema" in tools(listed)["typed"]
    assert proxy.called("typed", POST) == OWN
    assert {**proxy.called("typed", POST), "_meta": None} == {**OWN, "_meta": None}


def test_answers_of_the_newer_generation_say_that_they_are_complete(
    proxy: Proxy, site: Site
) -> None:
    site.fates("kill_after")
    unknown = proxy.called("post", POST, _meta=META)
    assert (unknown["resultType"], unknown["isError"]) == ("complete", True)
    site.fates("kill_after")
    read = proxy.called("typed", POST, _meta=META)
    assert read["resultType"] == "complete"
    asked = [call for call in site.calls if call["name"] == "list_charges"]
    assert asked[0]["_meta"] == META


_LARGE = """\
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    with open(os.path.join(sys.argv[1], "heard.jsonl"), "a") as heard:
        heard.write(json.dumps(line) + "\\n")
    result = {"tools": [{"name": "post", "inputSchema": {"type": "object"}}]}
    if asked.get("method") == "tools/call":
        result = {"content": [{"type": "text", "text": "x" * 2_000_000}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


class Slow(Proxy):
    """A client that reads nothing before it is told to."""

    def __init__(self, command: Sequence[str], *, forked: bool = False) -> None:
        self.reads = threading.Event()
        super().__init__(command, forked=forked)

    def _hear(self) -> None:
        self.reads.wait()
        super()._hear()


def test_a_result_that_is_cancelled_while_it_is_written_is_for_the_next_turn(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_proxy_client, "Proxy", Slow)
    server = (sys.executable, "-c", _LARGE, str(site.folder))
    with site.proxy(server=server) as proxy:
        assert isinstance(proxy, Slow)
        given = proxy.call("post", {"text": "a"}, _meta=turn("t1"))
        output = proxy.process.stdout
        assert output is not None
        wait_for(lambda: has_more(output, 0))
        proxy.cancel(given)
        proxy.ask("ping", given="behind it")
        wait_for(lambda: any("behind it" in one for one in site.heard))
        proxy.reads.set()
        proxy.answer("behind it")
        again = proxy.called("post", {"text": "a"}, _meta=turn("t2"))
    assert again["_meta"][MARK]["replayed"]
    assert not any("notifications/cancelled" in one for one in site.heard)
    assert len(site.calls) == 1
