"""What a hostile or careless client or server cannot make the proxy do."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forked import has_more
from mcp_proxy_client import COMMAND, LONG, SERVER, Site, texts, turn, wait_for
from mcp_proxy_server import TOOLS
from retry_guard import Guard, Unknown, UsageError
from retry_guard_contracts import Contract, ReadBack
from retry_guard_ledgers import open_ledger
from retry_guard_mcp_proxy._http_lost import names_session
from retry_guard_mcp_proxy._judging import Answer, judge

MARK = "retry-guard/outcome"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def raw(message: object) -> dict[str, str]:
    """Return parameters of `raw`: the server writes this line."""
    return {"bytes": base64.b64encode(json.dumps(message).encode() + b"\n").decode()}


def test_noise_is_no_hindrance_where_nobody_reads_standard_error(site: Site) -> None:
    given = ("--contracts", str(site.folder / "contracts.yaml"), "--ledger", site.ledger)
    pipe = subprocess.PIPE
    command = (*COMMAND, *given, "--", sys.executable, SERVER, str(site.folder))
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        noise = base64.b64encode((b"x" * 150 + b"\n") * 600).decode()
        asked: list[dict[str, Any]] = [
            {"method": "raw", "params": {"bytes": noise}},
            {"id": 1, "method": "ping"},
        ]
        for one in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n")
        process.stdin.flush()
        try:
            assert has_more(process.stdout, LONG)
            assert json.loads(process.stdout.readline())["id"] == 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONG) == 0
        finally:
            process.kill()


def test_of_noise_without_end_the_first_lines_are_shown(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.tell("raw", {"bytes": base64.b64encode(b"noise\n" * 300).decode()})
        proxy.answer(proxy.ask("ping"))
        assert proxy.said("the rest is not shown")
        assert proxy.errors.count("'noise") == 100


def test_a_key_that_the_tool_lacks_is_found_where_the_client_lists_nothing(tmp_path: Path) -> None:
    contract = "contracts:\n  - tool: post\n    key: {param: nokey, retention: 86400}\n"
    site = Site(tmp_path, contract)
    with site.proxy() as proxy:
        proxy.initialize()
        result = proxy.called("post", {"text": "a"})
    assert result["isError"] is True
    assert "has no parameter nokey" in texts(result)
    assert site.effects == []


def test_a_keyed_tool_that_the_server_does_not_list_is_not_called(site: Site) -> None:
    (site.folder / "tools.json").write_text("[[]]\n", encoding="utf-8")
    with site.proxy() as proxy:
        proxy.initialize()
        result = proxy.called("charge", {"customer": "c", "amount": 1})
    assert "does not list it" in texts(result)
    assert site.effects == []


def test_the_key_is_looked_for_again_where_the_server_was_started_anew(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        proxy.called("charge", {"customer": "c", "amount": 1})
        bare: list[dict[str, Any]] = [{"name": "charge", "inputSchema": {"properties": {}}}]
        (site.folder / "tools.json").write_text(json.dumps([bare]) + "\n", encoding="utf-8")
        proxy.answer(proxy.ask("die"))
        result = proxy.called("charge", {"customer": "c", "amount": 2})
    assert "has no parameter key" in texts(result)
    assert len(site.effects) == 1


def test_a_read_back_that_is_declared_a_write_is_refused() -> None:
    post = Contract(
        tool="post",
        read_back=ReadBack(tool="charge", items="x", match={"text": "text"}, visibility_lag=0),
    )
    for contracts in ([post, Contract(tool="charge")], [Contract(tool="charge"), post]):
        with pytest.raises(UsageError, match="post is read back by charge, whose contract says"):
            Guard(open_ledger("memory://"), contracts, classify=judge, read=_no_read)
    declared = Contract(tool="charge", effect="read")
    Guard(open_ledger("memory://"), [post, declared], classify=judge, read=_no_read)


def _no_read(tool: str, arguments: object) -> object:
    raise AssertionError((tool, arguments))


def test_a_call_that_is_cancelled_while_there_is_no_server_is_never_sent(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        (shut := site.folder / "shut.txt").touch()  # no server opens a session
        proxy.answer(proxy.ask("die"))
        lives = len(site.lives)
        given = proxy.call("post", {"text": "a"})
        wait_for(lambda: bool(site.records()))
        proxy.cancel(given)
        asked = proxy.ask("ping")
        wait_for(lambda: len(site.lives) == lives + 1)
        shut.unlink()
        proxy.answer(asked)
        proxy.answer(proxy.ask("ping"))
    assert site.calls == []
    assert [record.state for record in site.records()] == ["not_executed"]


def test_an_answer_with_both_a_result_and_an_error_proves_nothing() -> None:
    both: dict[str, Any] = {"result": {"content": []}, "error": {"code": -32602, "message": "bad"}}
    assert isinstance(judge(Answer(both)), Unknown)


@pytest.mark.parametrize(
    ("text", "is_lost"),
    [
        ("Bad Request: No valid session ID provided", True),
        ("Bad Request: Missing session ID", True),
        ("Bad Request: Mcp-Session-Id header is required", True),
        ("Missing Mcp-Session-Id header", True),
        ("Invalid or missing session ID", True),
        ("Invalid session ID", True),
        ("Session ID required in mcp-session-id header", True),
        ("Session not found", True),
        ("Invalid session", False),
        ("Invalid session ID of the checkout", False),
        ("Session not found: cs_123", False),
        ("no valid session for this customer", False),
        ("this checkout session is paid already", False),
        ("the session is full: book another", False),
    ],
)
def test_only_words_on_the_session_of_mcp_say_that_it_is_lost(text: str, *, is_lost: bool) -> None:
    assert names_session(text) is is_lost


def test_a_batch_with_a_call_without_an_id_does_not_reach_the_server(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        call = {"name": "post", "arguments": {"text": "x"}}
        proxy.send([{"jsonrpc": "2.0", "method": "tools/call", "params": call}])
        assert proxy.silent()
        assert proxy.said("a batch with a call without an id is not sent")
    assert not any(line.startswith("[") for line in site.heard)


def test_an_answer_in_a_batch_of_the_server_is_treated_as_any_answer(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        proxy.called("post", {"text": "w"})
        for method in ("silence", "tools/list"):
            proxy.ask(method, given=70)
            if method == "silence":
                forged: Any = {"content": [], "_meta": {MARK: {"replayed": True}, "own": 1}}
                proxy.tell("raw", raw([{"jsonrpc": "2.0", "id": 70, "result": forged}]))
                batch = proxy.take(lambda m: "batch" in m)["batch"]
                assert batch[0]["result"] == {"content": [], "_meta": {"own": 1}}
        proxy.answer(70)
        proxy.answer(proxy.ask("die"))
        assert proxy.silent()


def test_a_list_in_a_batch_of_the_server_hides_the_key(site: Site) -> None:
    (site.folder / "tools.json").write_text("[[]]\n", encoding="utf-8")
    with site.proxy(server=(sys.executable, "-c", _BATCHES)) as proxy:
        given = proxy.ask("tools/list")
        batch = proxy.take(lambda m: "batch" in m)["batch"]
    assert batch[0]["id"] == given
    charge = batch[0]["result"]["tools"][0]
    assert list(charge["inputSchema"]["properties"]) == ["customer", "amount"]


_BATCHES = f"""\
import json, sys
for line in sys.stdin:
    answer = {{"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {{"tools": {TOOLS!r}}}}}
    print(json.dumps([answer]), flush=True)
"""


def test_a_request_in_a_batch_is_answered_whatever_becomes_of_the_server(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        proxy.answer(proxy.ask("die"))
        proxy.send([{"jsonrpc": "2.0", "id": "b", "method": "ping"}])
        assert proxy.answer("b")["result"] == {}
        proxy.send([{"jsonrpc": "2.0", "id": "c", "method": "die"}])
        assert proxy.answer("c")["error"]["code"] == -32000


def test_a_ping_with_the_id_of_a_guarded_call_under_way_is_answered(site: Site) -> None:
    with site.proxy() as proxy:
        proxy.initialize()
        proxy.called("post", {"text": "w"})
        site.fates("held")
        proxy.call("post", {"text": "c"}, 800)
        wait_for(lambda: len(site.calls) == 2)
        proxy.ask("ping", given=800)
        assert proxy.answer(800)["result"] == {}
        site.go()
        assert "content" in proxy.answer(800)["result"]


def test_an_id_that_comes_back_as_another_spelling_of_the_number_is_that_id(site: Site) -> None:
    with site.proxy(server=(sys.executable, "-c", _WHOLE)) as proxy:
        proxy.write(b'{"jsonrpc":"2.0","id":2.0,"method":"tools/list"}\n')
        listed = proxy.next()
        assert "key" not in listed["result"]["tools"][0]["inputSchema"]["properties"]


_WHOLE = f"""\
import json, sys
for line in sys.stdin:
    answer = {{"jsonrpc": "2.0", "result": {{"tools": {TOOLS!r}}}}}
    print(json.dumps({{**answer, "id": int(json.loads(line)["id"])}}), flush=True)
"""


def test_a_preview_of_what_is_done_is_answered_as_an_error_that_holds_the_result(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, _CONFIRMED)
    with site.proxy(server=(sys.executable, "-c", _PREVIEWS)) as proxy:
        proxy.initialize()
        shown = proxy.called("preview", {"room": 1}, _meta=turn("t1"))
        token = shown["structuredContent"]["token"]
        made = proxy.called("make", {"room": 1, "token": token}, _meta=turn("t1"))
        assert texts(made) == "made"
        again = proxy.called("preview", {"room": 1}, _meta=turn("t1"))
    assert again["isError"] is True
    assert "structuredContent" not in again
    assert texts(again).splitlines()[1:] == ["made"]
    assert again["_meta"][MARK]["replayed"] is True


_CONFIRMED = """\
contracts:
  - tool: make
    confirm: {preview: preview, token: token, param: token}
"""
_PREVIEWS = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    name = asked.get("params", {}).get("name")
    result = {"content": [{"type": "text", "text": "made"}], "structuredContent": {"id": 1}}
    if name == "preview":
        held = {"token": "a-long-token-0001"}
        result = {"content": [{"type": "text", "text": json.dumps(held)}]}
        result["structuredContent"] = held
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
