"""A tool that reads back: who declares that it only reads, and what its server says of it."""

from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Site
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
from retry_guard import Contract, UsageError, check_declared
from retry_guard_mcp_proxy._stated import fingerprint, is_said_to_read, is_said_to_write

READS_BACK = """\
contracts:
  - tool: post
    read_back:
      tool: list_charges
      items: charges
      match: {arguments.text: text}
      id: id
      unique: true
      visibility_lag: 0
"""
DECLARED = READS_BACK + "  - {tool: list_charges, effect: read}\n"
MISSING = (
    "retry-guard: post is read back by list_charges, which no contract declares to be a read: "
    "if it only reads, add a contract with tool: list_charges, effect: read"
)


@pytest.mark.parametrize("hints", [{}, {"annotations": {"readOnlyHint": True}}])
@pytest.mark.parametrize("options", [(), ("--mode", "observe")])
def test_a_read_back_that_no_contract_declares_a_read_is_refused_at_start(
    tmp_path: Path, hints: dict[str, Any], options: tuple[str, ...]
) -> None:
    """Rule 16: it is itself declared `read`, and a hint of the server's is no declaration."""
    site = Site(tmp_path, READS_BACK)
    lists(site, [tool("post"), tool("list_charges", **hints)])
    with site.proxy(*options) as proxy:
        assert proxy.wait() == 2
    assert proxy.errors.splitlines()[-1] == MISSING
    assert site.calls == []


def test_with_the_line_that_it_asks_for_it_reads_back(tmp_path: Path) -> None:
    site = Site(tmp_path, DECLARED)
    lists(site, [tool("post"), tool("list_charges")])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", POST)["isError"]
    assert [call["name"] for call in site.calls] == ["post", "list_charges"]
    assert len(site.effects) == 1


def test_a_contract_of_another_server_declares_nothing_here(tmp_path: Path) -> None:
    others = "  - {tool: list_charges, server: b, effect: read}\n  - {tool: other, server: a}\n"
    site = Site(tmp_path, READS_BACK + others)
    with site.proxy("--server", "a") as proxy:
        assert proxy.wait() == 2
    assert proxy.errors.splitlines()[-1] == MISSING


SERVERS = "contracts: [{tool: post, server: a}, {tool: x, server: b}, {tool: free}]"
UNKNOWN = "retry-guard: --server: no contract is of A: the file names a, b"
EMPTY = "retry-guard: --server: it names no server: "
OTHERS: list[tuple[str, str, str]] = [
    (SERVERS, "A", UNKNOWN),
    (SERVERS, "", f"{EMPTY}the file names a, b"),
    ("contracts: [{tool: post}]", " ", f"{EMPTY}leave it out, or name one"),
]


@pytest.mark.parametrize(("contracts", "server", "said"), OTHERS)
@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_a_server_that_the_file_does_not_know_is_refused_since_its_guards_would_be_gone(
    tmp_path: Path, contracts: str, server: str, said: str, mode: str
) -> None:
    with Site(tmp_path, contracts).proxy("--server", server, "--mode", mode) as proxy:
        assert proxy.wait() == 2
    assert [one for one in proxy.errors.splitlines() if one.startswith("retry-guard")] == [said]


def test_a_server_of_which_a_file_says_nothing_at_all_has_its_contracts(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: post}]")
    with site.proxy("--server", "a") as proxy:
        for _ in range(2):
            assert not proxy.called("post", POST)["isError"]
    assert len(site.calls) == 1


def test_what_is_declared_otherwise_than_a_read_is_refused() -> None:
    post = Contract(tool="post", **KEYED, read_back=READ_BACK)
    for others in ([], [Contract(tool="list_charges", effect="idempotent")]):
        with pytest.raises(UsageError, match="which no contract declares to be a read"):
            check_declared([post, *others])
    check_declared([Contract(tool="list_charges", effect="read"), post])
    check_declared([Contract(tool="list_charges")])


DOUBTED: list[dict[str, Any]] = [
    tool("list_charges", annotations={"readOnlyHint": False}),
    tool("list_charges", annotations={"destructiveHint": True}),
    tool("list_charges", KEYED),
    tool("list_charges", KEYED, annotations={"readOnlyHint": True}),
]


@pytest.mark.parametrize("said", DOUBTED)
def test_a_read_of_the_operators_that_its_server_says_to_write_is_named_once(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    """The operator's word counts, and the operator is told."""
    site = Site(tmp_path, DECLARED)
    lists(site, [tool("post"), said])
    site.fates("kill_after")
    with site.proxy() as proxy:
        for _ in range(2):
            proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", POST)["isError"]
    told = [line for line in proxy.errors.splitlines() if "its server that it writes" in line]
    assert [line.rpartition(": ")[2] for line in told] == ["list_charges"]


@pytest.mark.parametrize(
    ("said", "reads", "writes"),
    [
        (reading(), True, False),
        (tool("x"), False, False),
        (tool("x", annotations={"readOnlyHint": True, "destructiveHint": True}), True, False),
        (tool("x", {"effect": "read"}), True, False),
        (tool("x", {"effect": "read"}, annotations={"readOnlyHint": False}), True, True),
        (tool("x", "nonsense", annotations={"readOnlyHint": True}), True, False),
        *((one, False, True) for one in DOUBTED),
    ],
)
def test_a_contract_that_a_server_states_counts_before_its_hint(
    said: dict[str, Any], reads: bool, writes: bool
) -> None:
    assert (is_said_to_read(said), is_said_to_write(said)) == (reads, writes)


CONTRADICTS = tool("list_charges", KEYED, annotations={"readOnlyHint": True})


def test_who_reads_back_with_a_tool_that_is_stated_to_write_is_not_trusted(tmp_path: Path) -> None:
    """B32: contradictory statements fail closed, and the stated write stays guarded."""
    site = Site(tmp_path, "contracts: []")
    post = tool("post", {"read_back": READ_BACK})
    lists(site, [CONTRADICTS, post])
    done = trust(site)
    assert done.returncode == 1
    assert "which is not declared to read only" in " ".join(done.stdout.split())
    assert fingerprint(post, {"list_charges": CONTRADICTS}) is None
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        for _ in range(2):
            assert proxy.called("post", POST)["isError"]
            assert not proxy.called("list_charges", POST)["isError"]
    assert [call["name"] for call in site.calls] == ["post", "list_charges"]


@pytest.mark.parametrize("order", [1, -1])
def test_a_trusted_read_back_whose_tool_is_stated_to_write_later_is_dropped_and_that_guarded(
    tmp_path: Path, order: int
) -> None:
    """In whatever order they are listed, what is stricter counts at once."""
    site = Site(tmp_path, "contracts: []")
    post = tool("post", {"read_back": READ_BACK})
    lists(site, [post, reading()][::order])
    assert trust(site).returncode == 0
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        lists(site, [post, tool("list_charges", KEYED)][::order])
        proxy.answer(proxy.ask("tools/list"))
        site.fates("kill_after")
        for _ in range(2):
            assert proxy.called("post", POST)["isError"]
            assert not proxy.called("list_charges", POST)["isError"]
    assert [call["name"] for call in site.calls] == ["post", "list_charges"]
    assert "is not used" not in proxy.errors


def test_who_is_trusted_to_read_back_with_what_a_file_calls_a_write_is_not_relied_on(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, "contracts: [{tool: list_charges}]")
    lists(site, [tool("post", {"read_back": READ_BACK}), reading()])
    assert trust(site).returncode == 0
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        for _ in range(2):
            assert proxy.called("post", POST)["isError"]
        assert proxy.said("whose contract says that it writes")
    assert [call["name"] for call in site.calls] == ["post"]
    said = " ".join(command(site, "doctor").stdout.split())
    assert "since nobody trusts what the server states: post" in said


def test_a_file_is_checked_by_its_own_declarations(tmp_path: Path) -> None:
    site = Site(tmp_path, READS_BACK)
    lists(site, [tool("post"), reading()])
    file = site.folder / "contracts.yaml"
    words = ("contracts", "check", str(file), "--", *site.server)
    undeclared = command_of(*words)
    file.write_text(DECLARED, encoding="utf-8")
    declared = command_of(*words)
    assert (undeclared.returncode, declared.returncode) == (1, 0)
    assert "list_charges, which is not declared" in " ".join(undeclared.stdout.split())
