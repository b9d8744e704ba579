"""What stands beside the ledger: believed only where nobody else can have written it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Site
from mcp_proxy_stated import KEYED, POST, command, lists, tool, trust
from retry_guard_mcp_proxy import Kept, KeptError, all_kept
from retry_guard_mcp_proxy._pins import Pins

STRANGER = 12345


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server that an operator trusts."""
    site = Site(tmp_path, "contracts: []")
    lists(site, [tool("post", KEYED)])
    assert trust(site).returncode == 0
    return site


def folder(site: Site) -> Path:
    return site.folder / "guard.db.servers"


def file(site: Site) -> Path:
    (path,) = folder(site).glob("*.trust.json")
    return path


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    whole = json.loads(path.read_text())
    change(whole)
    path.write_text(json.dumps(whole))


ODD: list[Callable[[dict[str, Any]], None]] = [
    lambda whole: whole["tools"]["post"].pop("mark"),
    lambda whole: whole["tools"]["post"].update(mark=7),
    lambda whole: whole["tools"]["post"].pop("contract"),
    lambda whole: whole["tools"]["post"].update(contract=5),
    lambda whole: whole["tools"]["post"].update(contract={"read_back": 5}),
    lambda whole: whole["tools"].update(post=5),
    lambda whole: whole["tools"].update(post=None),
]


@pytest.mark.parametrize("change", ODD)
def test_an_entry_that_cannot_be_read_is_one_line_and_no_trust(
    site: Site, change: Callable[[dict[str, Any]], None]
) -> None:
    rewritten(file(site), change)
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", POST)["isError"]
        assert proxy.said("nothing can be read of what the file of trust says of it")
    assert "Traceback" not in proxy.errors
    assert len(site.calls) == 1
    said = command(site, "doctor")
    assert (said.returncode, "which does not say in what, so it is not: post" in said.stdout) == (
        1,
        True,
    )
    assert command(site, "contracts", "list").returncode == 0
    assert trust(site).returncode == 0


WHOLES: list[Any] = [
    {"server": "x", "name": 5, "at": [], "tools": 7},
    {"server": 5, "at": True},
    {"server": "x", "at": 10**400, "tools": {"a": 5, "b": {"who": 5, "guarded": [], "note": 7}}},
    {"server": "x", "tools": {"a": {"who": "server"}, "b": {"who": "server", "stated": [1]}}},
    {"server": "x", "tools": {"a": {"stated": {"key": 5, "read_back": "z", "effect": {}}}}},
    {"server": "x", "tools": {"a": {"contract": {"key": 5}, "mark": "m"}}},
]
DAMAGED = ["", "x", "[]", "[" * 5000, '{"server": "x"', "\x00"]


@pytest.mark.parametrize("end", ["seen", "trust"])
@pytest.mark.parametrize("text", [*map(json.dumps, WHOLES), *DAMAGED])
def test_whatever_stands_in_a_file_no_command_breaks(site: Site, end: str, text: str) -> None:
    (folder(site) / f"x.{end}.json").write_text(text)
    for words in (("doctor",), ("contracts", "list"), ("contracts", "list", "--json")):
        done = command(site, *words)
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stdout + done.stderr
        assert done.stderr.count("\n") <= 1


ODD_FILES: list[Callable[[Path], None]] = [
    os.mkfifo,
    Path.mkdir,
    lambda path: path.symlink_to("/etc/hosts"),
]


@pytest.mark.parametrize("end", ["seen.json", "trust.json", "observed.jsonl"])
@pytest.mark.parametrize("make", ODD_FILES)
def test_what_is_no_file_is_named_and_not_waited_for(
    site: Site, end: str, make: Callable[[Path], None]
) -> None:
    path = folder(site) / f"x.{end}"
    make(path)
    words = ("ledger", "list", "--observed") if "observed" in end else ("contracts", "list")
    done = command(site, *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert path.name in done.stderr


def test_a_pipe_in_the_place_of_trust_does_not_hold_a_proxy_up(site: Site) -> None:
    path = file(site)
    path.unlink()
    os.mkfifo(path, 0o600)
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.said("nothing that the server states is trusted")


def of_another(path: Path, patch: pytest.MonkeyPatch) -> None:
    """Let it belong to a user who is neither root nor who reads it."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
    else:
        patch.setattr("os.geteuid", lambda: STRANGER)


@pytest.mark.parametrize("which", [file, folder])
def test_what_belongs_to_another_user_is_not_believed(
    site: Site, which: Callable[[Site], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept,) = all_kept(folder(site))
    assert kept.trusted().tools
    of_another(which(site), monkeypatch)
    with pytest.raises(KeptError, match="belongs to another user"):
        kept.trusted()
    with pytest.raises(KeptError, match="belongs to another user"):
        list(all_kept(folder(site)))


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o720, 0o702])
@pytest.mark.parametrize("which", [file, folder])
def test_what_others_can_write_is_not_believed(
    site: Site, which: Callable[[Site], Path], mode: int
) -> None:
    which(site).chmod(mode)
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", POST)["isError"]
        assert proxy.said("nothing that the server states is trusted")
    assert len(site.calls) == 1


def test_nothing_is_kept_in_a_folder_that_others_can_write(site: Site) -> None:
    folder(site).chmod(0o777)
    done = trust(site)
    assert done.returncode == 2
    assert "others can write it" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    kept = Kept(folder(site), "x")
    with pytest.raises(KeptError, match="others can write it"):
        kept.see({}, 1.0)
    with pytest.raises(KeptError, match="others can write it"):
        kept.observe({"at": 1.0})


def test_a_folder_that_is_a_link_is_not_believed(site: Site) -> None:
    elsewhere = site.folder / "elsewhere"
    folder(site).rename(elsewhere)
    folder(site).symlink_to(elsewhere)
    with pytest.raises(KeptError, match="is a link"):
        list(all_kept(folder(site)))


def test_pins_are_read_anew_only_where_the_file_is_another_one(site: Site) -> None:
    (kept,) = all_kept(folder(site))
    pins = Pins(kept)
    assert set(pins.now) == {"post"}
    assert not pins.are_old()
    kept.trust("x", {}, 1.0)
    assert pins.are_old()
    pins.read()
    assert (dict(pins.now), pins.are_old()) == ({}, False)
    file(site).unlink()
    assert pins.are_old()
    pins.read()
    assert (dict(pins.now), pins.are_old()) == ({}, False)
