"""What the operator reads on standard error: short, and never in the server's own hand."""

import logging
from pathlib import Path

import pytest

from mcp_proxy_client import Json, Site, texts
from mcp_proxy_stated import KEYED, lists, tool
from retry_guard import Contract
from retry_guard_mcp_proxy import _notes
from retry_guard_mcp_proxy._known import Known
from retry_guard_mcp_proxy._naming import shown_all
from retry_guard_mcp_proxy._trust import Trust

FORGED = "\u001b[31mred\u001b[0m\nretry-guard mcp: all is well"
MANY = 1500


def test_no_word_of_a_server_is_obeyed_by_a_terminal_or_looks_like_ours(tmp_path: Path) -> None:
    """Its names of tools and fields, its errors, and its reasons, wherever they turn up."""
    site = Site(tmp_path, "contracts: []")
    stated: list[Json] = [
        {"key": {"param": f"k{FORGED}"}},
        {FORGED: 5},
        {"tool": FORGED},
        {"read_back": {"tool": FORGED}},
        {"key": {"param": "k", "format": FORGED}},
    ]
    named = [tool(f"t{n}{FORGED}", each) for n, each in enumerate(stated)]
    lists(site, [*named, tool(FORGED), tool(f"good{FORGED}", KEYED)])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        site.fates("kill_after")
        assert proxy.called(f"good{FORGED}", {"key": "\ud800"})["isError"]
        assert proxy.called(f"good{FORGED}", {"text": "x"})["isError"]
    assert "red" in proxy.errors
    assert "\u001b" not in proxy.errors
    assert not any(line.startswith("retry-guard mcp: all") for line in proxy.errors.splitlines())


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written, a note each."""
    found: list[str] = []

    class Notes:
        def add(self, line: str) -> None:
            found.append(line)

    monkeypatch.setattr(_notes, "_NOTES", Notes())
    return found


def test_a_note_of_several_lines_is_known_by_its_first(noted: list[str]) -> None:
    _notes.note(FORGED)
    assert noted == ["retry-guard mcp: \\x1b[31mred\\x1b[0m\n  retry-guard mcp: all is well\n"]


def test_what_is_logged_is_one_line_whatever_it_tells(noted: list[str]) -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 0, "%s: no", (FORGED,), None)
    _notes.Log().emit(record)
    assert noted == ["retry-guard mcp: \\x1b[31mred\\x1b[0m\\nretry-guard mcp: all is well: no\n"]


def test_of_many_names_the_first_are_shown_and_how_many_more_there_are(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: []")
    stated = [tool(f"s{n}", KEYED) for n in range(MANY)]
    wrong = [tool(f"w{n}", {f"field{n}": 1}) for n in range(MANY)]
    lists(site, [*stated, *wrong, *(tool(f"b{n}") for n in range(MANY))])
    with site.proxy() as proxy:
        assert len(proxy.result(proxy.ask("tools/list"))["tools"]) == 3 * MANY
        assert proxy.said("only the server states a contract")
        assert proxy.said("for yet other reasons")
    assert len(proxy.errors) < 6000
    assert "s0, s1, s2" in proxy.errors
    assert f"and {MANY - 20} more" in proxy.errors
    assert shown_all(["a" * 300]) == "a" * 120 + "…"


def test_of_many_tools_each_is_guarded_from_the_list_on(tmp_path: Path) -> None:
    """They are weighed a few at a time; one that is called before its turn, at once."""
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool(f"s{n}", KEYED) for n in range(MANY)])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.ask("tools/list", given="list")
        proxy.answer("list")
        lost = proxy.called(f"s{MANY - 1}", {"text": "x"})
        assert "It is not known" in texts(lost)
    assert len(site.calls) == 1


def test_what_is_listed_is_weighed_once_and_no_more_than_is_asked_for() -> None:
    contracts: dict[str, Contract] = {}

    def adopt(contract: Contract) -> None:
        contracts[contract.tool] = contract

    known = Known(contracts, Trust({}, {}), adopt)
    listed = [tool(f"s{n}", KEYED) for n in range(150)]
    known.learn(listed)
    assert contracts == {}
    known.weigh_now("s149")
    assert set(contracts) == {"s149"}
    assert known.weigh(10)
    assert len(contracts) == 11
    assert not known.weigh(1000)
    assert len(known.words) == 150
    contracts.clear()
    known.learn(listed)
    assert not known.weigh(0)
    assert contracts == {}
    known.learn([tool("s7", {"effect": "write"})])
    assert contracts == {"s7": Contract(tool="s7")}


def test_what_counts_for_a_tool_can_change_within_one_life_of_its_server_and_is_counted() -> None:
    """A send that waits for its connection looks at this number, and then at its contract."""
    contracts = {"post": Contract(tool="post")}
    known = Known(contracts, Trust({}, {}), lambda one: contracts.update({one.tool: one}))
    known.learn([tool("post", KEYED)])
    known.weigh_now("post")
    first = known.changes
    known.learn([tool("post", KEYED)])
    known.weigh_now("post")
    assert known.changes == first
    known.learn([tool("post", {"effect": "write"})])
    known.weigh_now("post")
    assert (known.changes, known.life) == (first + 1, 0)
