"""For whom a call counts where nobody says it: the user, the server, and where that works."""

import sys
from pathlib import Path

import pytest

from mcp_proxy_client import COMMAND, SERVER, Proxy, Site, texts


def call_in(folder: Path, site: Site, patch: pytest.MonkeyPatch, *options: str) -> bool:
    """Call in a folder by a command that is the same in each; return whether it was a replay."""
    patch.chdir(folder)
    given = ("--contracts", str(site.folder / "contracts.yaml"), "--ledger", site.ledger)
    with Proxy((*COMMAND, *given, *options, "--", sys.executable, SERVER, ".")) as proxy:
        result = proxy.called("post", {"text": "hello"})
        assert texts(result).startswith("done e1")
    return "_meta" in result


def test_the_same_words_in_two_folders_are_two_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is not told done by the word of the first, which works on other things."""
    site = Site(tmp_path, "contracts: [{tool: post}]")
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
        assert not call_in(folder, site, monkeypatch)
        assert len((folder / "effects.jsonl").read_text().splitlines()) == 1
    (tmp_path / "link").symlink_to(folders[0])
    for folder in (*folders, tmp_path / "link"):
        assert call_in(folder, site, monkeypatch)


def test_where_an_account_is_named_the_folder_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, "contracts: [{tool: post}]")
    found: list[bool] = []
    for name in "ab":
        (tmp_path / name).mkdir()
        found.append(call_in(tmp_path / name, site, monkeypatch, "--scope", "acme"))
    assert found == [False, True]
    assert not (tmp_path / "b" / "effects.jsonl").exists()
