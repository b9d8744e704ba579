"""Trust in what a server states counts for one life of it, and as long as an operator says so."""

import base64
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Json, Proxy, Site, texts, wait_for
from mcp_proxy_stated import KEYED, POST, READ_BACK, lists, reading, tool, trust

READS: Json = {"read_back": READ_BACK, "in_flight_bound": 0.1}
CHANGED = "has changed, so it is not trusted any more: post"
KINDS = pytest.mark.parametrize("contract", [KEYED, READS], ids=["a key", "a read-back"])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server whose tools have no contract of the operator's."""
    return Site(tmp_path, "contracts: []")


def trusted(site: Site, contract: Json) -> None:
    lists(site, [tool("post", contract), reading()])
    assert trust(site).returncode == 0


def upgraded(site: Site) -> None:
    """Let the server's next list be that of another version, which promises nothing."""
    lists(site, [tool("post"), reading()])


def withdrawn(site: Site) -> None:
    """Let the operator trust nothing any more, as `contracts trust --none` does."""
    (path,) = (site.folder / "guard.db.servers").glob("*.trust.json")
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps({**json.loads(path.read_text()), "tools": {}}))
    draft.chmod(0o600)
    draft.replace(path)


def left_to_others(site: Site) -> None:
    """Let others write the file: what stands there is not believed any more."""
    (path,) = (site.folder / "guard.db.servers").glob("*.trust.json")
    path.chmod(0o666)


def die(site: Site, proxy: Proxy) -> None:
    """End the server between two calls, once the proxy knows it."""
    given = proxy.ask("silence")
    os.kill(site.lives[-1], signal.SIGKILL)
    assert "error" in proxy.answer(given)


def names(site: Site) -> list[str]:
    return [call["name"] for call in site.calls]


def asked(site: Site) -> int:
    """How often the server was asked for its list, since trust was given."""
    return len([one for one in site.heard if '"tools/list"' in one])


@KINDS
def test_after_a_restart_with_another_contract_nothing_is_trusted(
    site: Site, contract: Json
) -> None:
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        upgraded(site)
        die(site, proxy)
        site.fates("kill_after")
        assert proxy.called("post", POST)["isError"]
        assert proxy.said(CHANGED)
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
def test_a_server_that_dies_in_a_call_and_comes_back_with_another_contract_is_not_trusted_in_it(
    site: Site, contract: Json
) -> None:
    """Neither is the key sent again to it, nor its list believed, by the word of the last one."""
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        upgraded(site)
        site.fates("kill_after")
        lost = proxy.called("post", POST)
        assert lost["isError"]
        assert "It is not known whether `post` took effect" in texts(lost)
        assert proxy.said(CHANGED)
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
def test_a_server_that_says_that_its_list_has_changed_is_asked_for_it(
    site: Site, contract: Json
) -> None:
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        upgraded(site)
        changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        line = json.dumps(changed).encode() + b"\n"
        proxy.ask("raw", {"bytes": base64.b64encode(line).decode()})
        proxy.asked("notifications/tools/list_changed")
        site.fates("error_after")
        assert proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
def test_a_list_that_was_asked_for_before_it_changed_does_not_count_after_that(
    site: Site, contract: Json
) -> None:
    """Its answer comes last, and tells of what was."""
    trusted(site, contract)
    with site.proxy() as proxy:
        given = proxy.ask("tools/list", {"_meta": {"held": "the test gives its answer"}})
        wait_for(lambda: asked(site) == 2)
        was = json.loads((site.folder / "tools.json").read_text())[0]
        upgraded(site)
        said = [
            {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
            {"jsonrpc": "2.0", "id": given, "result": {"tools": was}},
        ]
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in said)
        proxy.ask("raw", {"bytes": base64.b64encode(lines).decode()})
        assert len(proxy.answer(given)["result"]["tools"]) == 2
        site.fates("error_after")
        assert proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)


def test_a_list_that_may_be_outdated_still_makes_the_guard_stricter(site: Site) -> None:
    lists(site, [tool("post", KEYED), reading()])
    (site.folder / "restless.txt").write_text("before")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.said("only the server states a contract")
        site.fates("error_after")
        for _ in range(2):
            assert proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
def test_trust_counts_again_in_a_life_that_states_the_same(site: Site, contract: Json) -> None:
    """The proxy asks for the list of that life itself, before anything rests on it."""
    trusted(site, contract)
    before = asked(site)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        die(site, proxy)
        site.fates("kill_after")
        assert not proxy.called("post", POST)["isError"]
    assert len(site.effects) == 1
    assert names(site)[0] == "post"
    assert len(names(site)) == 2
    assert asked(site) - before == 3  # of the client, and in each life that came after


@KINDS
def test_a_reader_on_a_page_that_the_client_does_not_read_is_asked_for(
    site: Site, contract: Json
) -> None:
    lists(site, [tool("post", contract)], [reading()])
    assert trust(site).returncode == 0
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        site.fates("kill_after")
        assert not proxy.called("post", POST)["isError"]
    assert len(site.effects) == 1


@KINDS
@pytest.mark.parametrize("change", [withdrawn, left_to_others])
def test_trust_that_is_taken_away_counts_for_no_call_of_a_proxy_that_runs(
    site: Site, contract: Json, change: Callable[[Site], None]
) -> None:
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        change(site)
        site.fates("kill_after")
        assert proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
def test_trust_that_is_taken_away_within_a_call_does_not_send_again(
    site: Site, contract: Json
) -> None:
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        site.fates("hang_after")
        given = proxy.call("post", POST)
        wait_for(lambda: len(site.effects) == 1)
        withdrawn(site)
        os.kill(site.lives[-1], signal.SIGKILL)
        assert proxy.result(given)["isError"]
        again = proxy.called("post", POST)
        assert "It is not known whether `post` took effect" in texts(again)
    assert (names(site), len(site.effects)) == (["post"], 1)


@KINDS
@pytest.mark.parametrize("change", [withdrawn, left_to_others])
def test_trust_that_is_taken_away_while_a_step_waits_for_the_server_does_not_send_again(
    site: Site, contract: Json, change: Callable[[Site], None]
) -> None:
    """The server is being started again, and takes its time for its list."""
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        before = asked(site)
        shut = site.folder / "shut.txt"
        shut.touch()
        site.fates("kill_after")
        given = proxy.call("post", POST)
        wait_for(lambda: asked(site) > before)
        change(site)
        shut.unlink()
        assert proxy.result(given)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)


def test_trust_that_is_given_while_a_proxy_runs_counts_for_its_next_call(site: Site) -> None:
    lists(site, [tool("post", KEYED), reading()])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert trust(site).returncode == 0
        site.fates("kill_after")
        assert not proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post", "post"], 1)


def test_a_list_that_cannot_be_had_is_not_asked_for_at_each_step(site: Site) -> None:
    """A server that lists no more is asked once; then nothing of it is trusted for a while."""
    trusted(site, READS)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        before = asked(site)
        (site.folder / "tools.json").write_text(json.dumps([{"there is": "no list"}]))
        die(site, proxy)
        began = time.monotonic()
        for count in range(3):
            assert not proxy.called("post", {"text": f"hello {count}"})["isError"]
        assert asked(site) - before <= 1 + (time.monotonic() - began) / 10


def test_what_was_trusted_is_met_after_trust_was_taken_away(site: Site) -> None:
    """An action that is unresolved stays so, whatever is trusted by now."""
    contract: dict[str, Any] = {**KEYED, "identity": ["text"]}
    trusted(site, contract)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        site.fates("hang_after")
        given = proxy.call("post", {**POST, "key": "a"})
        wait_for(lambda: len(site.effects) == 1)
        withdrawn(site)
        os.kill(site.lives[-1], signal.SIGKILL)
        assert proxy.result(given)["isError"]
        assert proxy.called("post", {**POST, "key": "b"})["isError"]
    assert len(site.effects) == 1


@KINDS
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_says_each_time_that_its_list_has_changed_is_believed_once_it_lists_the_same(
    site: Site, contract: Json, when: str
) -> None:
    trusted(site, contract)
    (site.folder / "restless.txt").write_text(when)
    with site.proxy() as proxy:
        site.fates("kill_after")
        assert not proxy.called("post", POST)["isError"]
    assert len(site.effects) == 1


def test_a_list_that_is_another_one_each_time_is_not_believed(site: Site) -> None:
    trusted(site, KEYED)
    (site.folder / "restless.txt").write_text("grows")
    with site.proxy() as proxy:
        site.fates("kill_after")
        assert proxy.called("post", POST)["isError"]
    assert (names(site), len(site.effects)) == (["post"], 1)
