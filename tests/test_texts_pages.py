"""Each command that a page shows is one that there is, and those that can be run end as it says."""

import contextlib
import re
import shlex
from pathlib import Path

import pytest

from ledger_suite import began, new
from pages import ROOT, examples
from retry_guard_console import main
from retry_guard_console._main import _parser as parser_of
from retry_guard_ledgers import SQLiteLedger

PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "adapters").glob("*/README.md")]
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(retry-guard (?:[^#]|#\S)*?)(?:\s+#\s+(.*)|\s+\|\|.*)?$")
"""A command, and what its comment says."""
INLINE = re.compile(r"`(retry-guard [^`]+)`")
STATED = re.compile(r"exit code (\d)")


def shown(page: Path) -> list[tuple[str, str]]:
    """The commands in the blocks of a page, each with what its comment says."""
    text = page.read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for _, block in BLOCK.findall(text) for line in block.splitlines()]
    bare = [line.removeprefix("$ ") for line in lines]
    cut = [
        re.match(r"(retry-guard (?:[^#]|#\S)*?)(?:\s+#\s+(.*)|\s+\|\|.*)?$", one) for one in bare
    ]
    return [(one[1], one[2] or "") for one in cut if one is not None]


def prose(page: Path) -> list[str]:
    """The commands in the sentences of a page."""
    return INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


COMMANDS = [(page, line) for page in PAGES for line, _ in shown(page)]
NAMED = [(page, line) for page in PAGES for line in prose(page)]


def name_of(given: object) -> str:
    return given.parent.name + "/" + given.name if isinstance(given, Path) else str(given)


@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=name_of)
def test_a_command_that_a_page_shows_is_understood(
    page: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line)[1:]
    if "--help" in words:
        assert main(words) == 0
        return
    with contextlib.suppress(SystemExit):
        parser_of(words[0]).parse_args(words)
    assert capsys.readouterr().err == "", page.name


@pytest.mark.parametrize(("page", "line"), NAMED, ids=name_of)
def test_a_command_that_a_sentence_names_is_there(
    page: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = line.partition(" -- ")[0].split()[1:]
    path = words[: 2 if words[0] in ("ledger", "contracts") else 1]
    assert main([*path, "--help"]) == 0, page.name
    known = capsys.readouterr().out
    assert [word for word in words if word.startswith("--") and word not in known] == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where somebody has followed the pages: an action is unresolved, contracts are written."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETRY_GUARD_LEDGER", "sqlite:///guard.db")
    ledger = SQLiteLedger(tmp_path / "guard.db")
    began(ledger, new(id="5259aa"))
    ledger.close()
    return tmp_path


def test_the_commands_for_an_operator_end_as_their_page_says(folder: Path) -> None:
    """One after the other, as they stand there; but for the one that needs a server of others."""
    page = ROOT / "docs" / "operating.md"
    ran = [(line, said) for line, said in shown(page) if " trust " not in line]
    assert len(ran) == 7
    for line, said in ran:
        stated = STATED.search(said)
        assert main(shlex.split(line)[1:]) == int(stated[1] if stated else 0), line
    assert (folder / "records.jsonl").exists()


def test_the_check_of_the_contracts_on_the_proxys_page_ends_as_it_says(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "adapters" / "mcp_proxy" / "README.md"
    (text,) = examples("adapters/mcp_proxy/README.md", "yaml")
    (folder / "contracts.yaml").write_text(text, encoding="utf-8")
    ((line, said),) = [one for one in shown(page) if " check " in one[0]]
    stated = STATED.search(said)
    assert stated is not None
    assert main(shlex.split(line)[1:]) == int(stated[1])
    (mend,) = [one for one in capsys.readouterr().out.splitlines() if "MEND" in one]
    assert mend.split()[1] in said


def test_the_page_of_contracts_says_what_the_check_of_its_example_finds(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = "docs/contracts.md"
    (text,) = examples(page, "yaml")
    (folder / "contracts.yaml").write_text(text, encoding="utf-8")
    (said,) = re.findall(
        r"exit code (\d)\nfor `(\w+)` and `(\w+)`", (ROOT / page).read_text(encoding="utf-8")
    )
    assert main(["contracts", "check", "contracts.yaml"]) == int(said[0])
    mends = [one.split()[1] for one in capsys.readouterr().out.splitlines() if "MEND" in one]
    assert mends == list(said[1:])
