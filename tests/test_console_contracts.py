"""`retry-guard contracts`: what is known, who says so, and what an operator trusts."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Site, texts, tools, wait_for
from mcp_proxy_stated import (
    KEYED,
    POST,
    READ_BACK,
    command,
    command_of,
    lists,
    reading,
    tool,
    trust,
)
from retry_guard_ledgers import beside

KEY = {"text": "hello", "key": "model-1"}
STATELESS = """\
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if "io.modelcontextprotocol/protocolVersion" in said.get("params", {}).get("_meta", {}):
        found = {"result": {"tools": TOOLS, "resultType": "complete"}}
    else:
        found = {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": said["id"], **found}), flush=True)
"""
READS_BACK = {"read_back": READ_BACK}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server that states contracts, and an operator who has none."""
    made = Site(tmp_path, "contracts: []")
    lists(made, [tool("post", KEYED), tool("typed", READS_BACK), tool("del"), reading()])
    return made


def folder(site: Site) -> Path:
    found = beside(site.ledger)
    assert found is not None
    return found


def pinned(site: Site) -> dict[str, Any]:
    """What is trusted."""
    (file,) = folder(site).glob("*.trust.json")
    kept: dict[str, dict[str, Any]] = json.loads(file.read_text())
    return kept["tools"]


def test_what_is_trusted_is_sent_again_with_its_key_and_read_back(site: Site) -> None:
    done = trust(site)
    assert (done.returncode, done.stderr) == (0, "the server says this on standard error\n")
    assert "2 trusted" in done.stdout
    assert site.calls == []
    with site.proxy() as proxy:
        shown = tools(proxy.result(proxy.ask("tools/list")))
        assert "key" not in shown["post"]["inputSchema"]["properties"]
        for name in ("post", "typed"):
            site.fates("kill_after")
            assert not proxy.called(name, POST)["isError"]
    called = [call["name"] for call in site.calls]
    assert called == ["post", "post", "typed", "list_charges"]
    assert len(site.effects) == 2
    assert "trusted" not in proxy.errors


def test_trust_counts_also_where_no_client_asks_for_the_list(site: Site) -> None:
    trust(site)
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.initialize()
        assert not proxy.called("post", POST)["isError"]
    assert len(site.effects) == 1
    assert len(site.calls) == 2


def test_where_the_server_lists_nothing_what_was_trusted_is_guarded_and_not_relied_on(
    site: Site,
) -> None:
    trust(site)
    lists(site)
    (site.folder / "tools.json").write_text("[{}]")  # no list, but an error of the server
    site.fates("kill_after")
    with site.proxy() as proxy:
        assert proxy.called("post", KEY)["isError"]
        assert proxy.said("not trusted while its server lists no tools")
    assert len(site.calls) == 1


CHANGES: list[list[dict[str, Any]]] = [
    [tool("post", {"key": {"param": "key", "retention": 999999}})],
    [tool("post", KEYED, outputSchema={"type": "object"})],
    [{**tool("post", KEYED), "inputSchema": {"type": "object"}}],
    [tool("post", KEYED, annotations={"idempotentHint": True})],
    [tool("post")],
]


@pytest.mark.parametrize("listed", CHANGES)
def test_a_change_of_contract_or_schema_drops_the_trust_with_one_line(
    site: Site, listed: list[dict[str, Any]]
) -> None:
    trust(site)
    lists(site, listed)
    with site.proxy() as proxy:
        for _ in range(3):
            assert tools(proxy.result(proxy.ask("tools/list")))["post"] == listed[0]
        site.fates("kill_after")
        lost = proxy.called("post", KEY)
        assert lost["isError"]
        assert "post" in texts(lost)
        assert proxy.said("not trusted any more")
    assert len(site.calls) == 1


def test_trust_is_dropped_in_the_middle_of_a_session_too(site: Site) -> None:
    trust(site)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        proxy.called("post", POST)
        lists(site, [tool("post", {**KEYED, "twins": "count"})])
        proxy.answer(proxy.ask("tools/list"))
        site.fates("kill_after")
        assert proxy.called("post", {"text": "other", "key": "k"})["isError"]
        assert "retry-guard/outcome" in proxy.called("post", POST)["_meta"]
    assert [call["arguments"]["text"] for call in site.calls] == ["hello", "other"]


def test_a_change_of_the_tool_that_reads_back_drops_the_trust(site: Site) -> None:
    trust(site)
    lists(site, [tool("typed", READS_BACK), tool("list_charges")])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("typed", POST)["isError"]
    assert [call["name"] for call in site.calls] == ["typed"]


def test_a_list_in_pages_is_trusted_once_all_of_it_is_known(site: Site) -> None:
    pages = [[tool("typed", READS_BACK)], [reading()]]
    lists(site, *pages)
    assert trust(site).returncode == 0
    site.fates("kill_after")
    with site.proxy() as proxy:
        first = proxy.result(proxy.ask("tools/list"))
        proxy.result(proxy.ask("tools/list", {"cursor": first["nextCursor"]}))
        assert not proxy.called("typed", POST)["isError"]
    assert "any more" not in proxy.errors


def test_trust_is_of_one_command_alone(site: Site) -> None:
    trust(site)
    site.fates("kill_after")
    with site.proxy(server=(*site.server, "another")) as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", KEY)["isError"]
    assert len(site.calls) == 1


def test_a_contract_of_a_file_counts_before_what_is_trusted(site: Site) -> None:
    trust(site)
    (site.folder / "contracts.yaml").write_text("contracts: [{tool: post}]")
    site.fates("kill_after")
    with site.proxy() as proxy:
        shown = tools(proxy.result(proxy.ask("tools/list")))
        assert shown["post"] == tool("post", KEYED)
        assert proxy.called("post", KEY)["isError"]
    assert len(site.calls) == 1


def test_a_dry_run_shows_it_and_changes_nothing(site: Site) -> None:
    done = trust(site, "--dry-run")
    assert done.returncode == 0
    assert "nothing was changed" in done.stdout
    assert "not trusted yet" in done.stdout
    assert "trusted from now on" not in done.stdout
    assert "key key" in done.stdout
    assert "read-back list_charges" in done.stdout
    assert not folder(site).exists()


def test_some_of_it_can_be_trusted_and_none_of_it_any_more(site: Site) -> None:
    assert trust(site, "--tool", "post").returncode == 0
    assert [*pinned(site)] == ["post"]
    assert trust(site, "--none").returncode == 0
    assert pinned(site) == {}
    wrong = trust(site, "--tool", "nothing")
    assert (wrong.returncode, "states no contract of nothing" in wrong.stderr) == (2, True)


def test_trust_is_withdrawn_where_the_server_and_the_ledger_are_broken(site: Site) -> None:
    """Neither is needed: both may be what the trust is withdrawn for."""
    assert trust(site).returncode == 0
    (site.folder / "tools.json").write_text("[{}]", encoding="utf-8")  # an error of the server
    (site.folder / "guard.db").write_bytes(b"no ledger" * 999)
    lives = site.lives
    assert trust(site, "--none", "--dry-run").returncode == 0
    assert [*pinned(site)] == ["post", "typed"]
    done = trust(site, "--none")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("trusted no more") == 2
    assert pinned(site) == {}
    assert site.lives == lives
    assert trust(site, "--none").returncode == 0


def test_trust_is_withdrawn_of_a_server_that_is_gone(site: Site) -> None:
    words = ("contracts", "trust", "x", "--ledger", site.ledger, "--none", "--")
    gone = site.folder / "gone"
    gone.symlink_to(sys.executable)
    server = (str(gone), *site.server[1:])
    assert command_of("contracts", "trust", "x", "--ledger", site.ledger, "--", *server).stdout
    assert pinned(site)
    gone.unlink()
    assert command_of(*words, *server).returncode == 0
    assert pinned(site) == {}
    never = command_of(*words, "/another/server")
    assert (never.returncode, never.stderr.count("\n")) == (2, 1)
    assert "was ever trusted" in never.stderr


def test_trust_in_one_tool_is_withdrawn_alone(site: Site) -> None:
    trust(site)
    done = trust(site, "--none", "--tool", "post")
    assert (done.returncode, "1 trusted: " in done.stdout) == (0, True)
    assert [*pinned(site)] == ["typed"]
    again = trust(site, "--none", "--tool", "post")
    assert (again.returncode, "not trusted in any case: post" in again.stderr) == (2, True)
    assert [*pinned(site)] == ["typed"]


def test_tools_that_are_not_named_any_more_are_said_to_be_trusted_no_more(site: Site) -> None:
    trust(site)
    said = trust(site, "--tool", "post").stdout
    assert [*pinned(site)] == ["post"]
    (line,) = (line for line in said.splitlines() if "typed" in line)
    assert "trusted no more" in line
    assert "typed" not in trust(site, "--tool", "post").stdout


def test_list_and_doctor_say_that_trust_was_dropped_or_withdrawn(site: Site) -> None:
    def who() -> tuple[str, bool]:
        listed = json.loads(command(site, "contracts", "list", "--json").stdout)
        (said,) = (one["who"].partition(" since")[0] for one in listed if one["tool"] == "post")
        untrusted = "only a person settles them, since nobody trusts what the server states: post"
        return said, untrusted in " ".join(command(site, "doctor").stdout.split())

    def seen() -> None:
        with site.proxy() as proxy:
            proxy.answer(proxy.ask("tools/list"))

    lists(site, [tool("post", KEYED)])
    trust(site)
    seen()
    assert who() == ("scripted, trusted", False)
    trust(site, "--none")
    assert who() == ("the server", True)
    trust(site)
    assert who() == ("scripted, trusted", False)
    lists(site, [tool("post", {"key": {"param": "key", "retention": 1}})])
    seen()
    assert who() == ("the server", True)
    trust(site)
    seen()
    assert who() == ("scripted, trusted", False)


UNFIT: list[tuple[list[dict[str, Any]], str]] = [
    ([{**tool("post", KEYED), "inputSchema": {"properties": {}}}], "has no parameter key"),
    ([tool("post", {"key": {"param": "header:Key"}})], "gets no headers"),
    ([tool("post", READS_BACK)], "list_charges, which the server does not list"),
    ([tool("post", READS_BACK), tool("list_charges")], "is not declared to read only"),
    ([tool("post", {"retry": "yes"})], "is no contract: retry"),
    ([tool("post", {"tool": "other"})], "contract of another tool"),
]


@pytest.mark.parametrize(("listed", "why"), UNFIT)
def test_what_does_not_fit_is_not_trusted_and_exit_code_1(
    site: Site, listed: list[dict[str, Any]], why: str
) -> None:
    lists(site, [*listed, tool("good", KEYED)])
    done = trust(site)
    assert done.returncode == 1
    assert why in " ".join(done.stdout.split())
    assert [*pinned(site)] == ["good"]


def test_a_server_that_states_nothing_leaves_nothing_to_trust(site: Site) -> None:
    lists(site, [tool("post")])
    done = trust(site)
    assert done.returncode == 1
    assert "1 tools, 0 with a contract" in done.stdout


def test_a_server_of_the_generation_without_sessions_is_asked_too(site: Site) -> None:
    script = site.folder / "stateless.py"
    script.write_text(STATELESS.replace("TOOLS", json.dumps([tool("post", KEYED)])))
    words = ("contracts", "trust", "new", "--ledger", site.ledger, "--", sys.executable)
    done = command_of(*words, str(script))
    assert (done.returncode, done.stderr) == (0, "")
    assert [*pinned(site)] == ["post"]


def test_what_is_trusted_is_a_file_of_its_owner_and_others_may_not_write_it(site: Site) -> None:
    trust(site)
    (file,) = folder(site).glob("*.trust.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o666)
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", KEY)["isError"]
        assert proxy.said("nothing that the server states is trusted")
    assert len(site.calls) == 1


@pytest.mark.parametrize("text", ["{", "[]", '{"tools": []}', '{"tools": {"post": {"mark": 1}}}'])
def test_a_damaged_file_of_trust_trusts_nothing(site: Site, text: str) -> None:
    trust(site)
    (file,) = folder(site).glob("*.trust.json")
    file.write_text(text)
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", KEY)["isError"]
    assert len(site.calls) == 1


WRONG: list[tuple[tuple[str, ...], str]] = [
    (("trust",), "first: see --help"),
    (("trust", "--", "cat"), "first: see --help"),
    (("trust", "pay"), "say which server"),
    (("trust", "pay", "cat"), "write -- before a command"),
    (("trust", "pay", "--nonsense", "--", "cat"), "unrecognized"),
    (("trust", "pay", "--", "/no/such/server"), "cannot be started"),
    (("trust", "pay", "--", "false"), "did not list its tools"),
    (("trust", "pay", "--url", "ftp://x"), "no http://"),
    (("trust", "pay", "--url", "http://127.0.0.1:9/mcp"), "did not list its tools"),
    (("trust", "pay", "--url", "http://x", "--", "cat"), "not both"),
    (("check", "/no/such/file"), "cannot be read"),
    (("show", "nothing"), "nothing is known"),
    (("list", "--contracts", "/no/such/file"), "cannot be read"),
]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setenv("RETRY_GUARD_LEDGER", f"sqlite:///{tmp_path}/guard.db")
    done = command_of("contracts", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


def test_a_ledger_in_memory_keeps_no_trust(site: Site) -> None:
    done = command_of("contracts", "trust", "x", "--ledger", "memory://", "--", *site.server)
    assert done.returncode == 2
    assert "on no disk" in done.stderr


def test_list_says_what_is_known_and_who_says_so(site: Site) -> None:
    (site.folder / "contracts.yaml").write_text("contracts: [{tool: charge, server: pay}]")
    lists(site, [tool("post", KEYED), tool("send", READS_BACK), tool("del"), reading()])
    trust(site, "--tool", "post")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        wait_for(lambda: any(folder(site).glob("*.seen.json")))
    file = str(site.folder / "contracts.yaml")
    listed = json.loads(command(site, "contracts", "list", "--contracts", file, "--json").stdout)
    assert {one["tool"]: one["who"].partition(" since")[0] for one in listed} == {
        "charge": file,
        "del": "nobody",
        "list_charges": "nobody",
        "post": "scripted, trusted",
        "send": "the server",
    }
    said = command(site, "contracts", "list", "--contracts", file).stdout
    assert "key key" in said
    assert "a person" in said
    shown = command(site, "contracts", "show", "send")
    assert shown.returncode == 0
    assert "read_back" in shown.stdout
    assert '"visibility_lag": 0' in shown.stdout


CHECKED: list[tuple[str, int, str]] = [
    ("contracts: [{tool: post, key: {param: key}}]", 0, "without a contract: del"),
    ("contracts: [{tool: gone, key: {param: key}}]", 1, "lists no such tool"),
    ("contracts: [{tool: post, key: {param: other}}]", 1, "no parameter other"),
    ("contracts: [{tool: post}]", 1, "neither key nor read-back"),
]


@pytest.mark.parametrize(("text", "code", "said"), CHECKED)
def test_check_says_what_is_wrong_with_a_file_and_what_does_not_fit_the_server(
    site: Site, text: str, code: int, said: str
) -> None:
    file = site.folder / "contracts.yaml"
    file.write_text(text)
    done = command_of("contracts", "check", str(file), "--", *site.server)
    assert done.returncode == code
    assert said in " ".join(done.stdout.split())
    assert site.calls == []
