"""What an operator is told of contracts that do nothing, and a caller of what cannot be had."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Site, texts, wait_for
from mcp_proxy_stated import KEYED, POST, command, lists, tool, trust
from retry_guard_ledgers import beside

UNLISTED = "retry-guard mcp: a contract, but the server lists no such tool: "
GONE = "contracts: [{tool: post}, {tool: Gone}, {tool: away, effect: read}]"


def named(errors: str, what: str) -> list[str]:
    return [line.removeprefix(what) for line in errors.splitlines() if line.startswith(what)]


@pytest.mark.parametrize("options", [(), ("--mode", "observe")])
def test_a_contract_for_a_tool_that_is_not_listed_is_named_once(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    site = Site(tmp_path, GONE)
    lists(site, [tool("post"), tool("gone")])
    with site.proxy(*options) as proxy:
        for _ in range(2):
            proxy.answer(proxy.ask("tools/list"))
    assert named(proxy.errors, UNLISTED) == ["Gone, away"]


def test_a_list_in_pages_names_nothing_before_its_last_page(tmp_path: Path) -> None:
    site = Site(tmp_path, GONE)
    lists(site, [tool("post")], [tool("Gone")], [tool("x")])
    with site.proxy() as proxy:
        given: dict[str, Any] = {}
        for page in range(3):
            shown = proxy.result(proxy.ask("tools/list", given))
            assert ("nextCursor" in shown) is (page < 2)
            given = {"cursor": shown.get("nextCursor")}
            if page == 1:
                proxy.answer(proxy.ask("ping"))
                assert named(proxy.errors, UNLISTED) == []
    assert named(proxy.errors, UNLISTED) == ["away"]


def test_a_list_that_the_proxy_asks_for_itself_names_them_too(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key}}, {tool: gone}]")
    lists(site, [tool("x")], [tool("post")])
    with site.proxy() as proxy:
        proxy.initialize()
        assert not proxy.called("post", POST)["isError"]
    assert named(proxy.errors, UNLISTED) == ["gone"]


def test_without_a_list_and_where_nothing_is_guarded_nothing_is_named(tmp_path: Path) -> None:
    site = Site(tmp_path, GONE)
    lists(site, [tool("post")])
    with site.proxy() as proxy:
        proxy.called("post", POST)
    with site.proxy("--mode", "off") as off:
        off.answer(off.ask("tools/list"))
    assert named(proxy.errors + off.errors, UNLISTED) == []


def test_doctor_names_them_until_they_are_listed(tmp_path: Path) -> None:
    site, folder = Site(tmp_path, "contracts: [{tool: post}, {tool: gone}]"), None
    for listed, mends in (([tool("post")], True), ([tool("post"), tool("gone")], False)):
        lists(site, listed)
        with site.proxy() as proxy:
            proxy.answer(proxy.ask("tools/list"))
        folder = beside(site.ledger)
        assert folder is not None
        done = command(site, "doctor")
        said = " ".join(done.stdout.split())
        assert ("with a contract, and the server lists no such tool: gone" in said) is mends
        assert done.returncode == int(mends)
        kept = command(site, "contracts", "list", "--json")
        assert [one["tool"] for one in json.loads(kept.stdout)] == []


def test_what_is_trusted_and_listed_no_more_is_named(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", KEYED)])
    trust(site)
    lists(site, [tool("other")])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
    assert named(proxy.errors, UNLISTED) == ["post"]


def test_where_the_list_cannot_be_had_the_refusal_says_so_and_why(tmp_path: Path) -> None:
    """The server's own words reach the operator, and no model."""
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key}}]")
    lists(site, [tool("post")])
    (site.folder / "tools.json").write_text("[{}]", encoding="utf-8")  # an error of the server
    with site.proxy() as proxy:
        proxy.initialize()
        refused = proxy.called("post", POST)
        assert refused["isError"]
        why = "its server's list of tools could not be had (it answered without one), so nobody"
        said = texts(refused)
        assert said.startswith(
            f"nothing was executed: post: {why} knows whether it has a parameter"
        )
        assert proxy.said("post: not called while its server lists no tools: it answered")
        assert proxy.said("post: its server's list of tools could not be had")
        assert "post: post" not in proxy.errors
        lists(site, [tool("other")])
        proxy.answer(proxy.ask("tools/list"))
        assert "its server does not list it" in texts(proxy.called("post", POST))
        lists(site, [tool("post")])
        proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", POST)["isError"]
    assert len(site.calls) == 1


def test_equal_calls_that_count_are_named_at_start_since_they_do_not_here(tmp_path: Path) -> None:
    count = "twins: count"
    site = Site(tmp_path, f"contracts: [{{tool: post, {count}}}, {{tool: charge}}]")
    what = "retry-guard mcp: twins: count counts nothing here, so equal calls in one turn are one "
    with site.proxy() as proxy:
        assert proxy.said(what)
        first, again = (proxy.called("post", POST) for _ in range(2))
        assert again["content"] == first["content"]
    with site.proxy("--mode", "off") as off:
        off.answer(off.ask("ping"))
    assert named(proxy.errors, what) == ["action: post"]
    assert named(off.errors, what) == []
    assert len(site.calls) == 1


def test_trusted_calls_that_count_are_named_at_start_too(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", {"twins": "count"})])
    assert trust(site).returncode == 0
    with site.proxy() as proxy:
        assert proxy.said("equal calls in one turn are one action: post")


def test_a_key_beyond_its_retention_is_not_sent_and_the_reason_names_that(tmp_path: Path) -> None:
    """B35: whatever a hint promises, beyond the window a person has to say what happened."""
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key, retention: 0.5}}]")
    lists(site, [tool("post", annotations={"idempotentHint": True})])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", POST)["isError"]
        (record,) = site.records()
        wait_for(lambda: time.time() > record.sends[0] + 0.6)
        late = texts(proxy.called("post", POST))
    assert "Its key is remembered for 0.5 s, and that has passed." in late
    assert "It is not known whether `post` took effect" in late
    assert len(site.calls) == 1
