"""What the README says is true: its example runs, its links lead somewhere, its fields exist."""

import re
from pathlib import Path
from typing import Any

import pytest

from faulty import faulty_server_in
from retry_guard import Done
from retry_guard_contracts import Batch, Contract, Key, ReadBack, parse_contracts

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRACTS = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("fault", ["ok", "lost_ack", "error_after", "reset_before"])
def test_the_example_charges_once_on_a_real_server(fault: str, tmp_path: Path) -> None:
    (code,) = blocks(README, "python")
    with faulty_server_in(tmp_path / "server") as server:
        server.plan("order-7", fault)
        code = code.replace("http://127.0.0.1:8080", server.url)
        code = code.replace("sqlite:///guard.db", f"sqlite:///{tmp_path}/guard.db")
        names: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own README
        names["client"].close()
        assert isinstance(names["outcome"], Done)
        assert [effect["body"]["amount"] for effect in server.effects("order-7")] == [1200]


def test_the_example_contracts_file_is_valid() -> None:
    (text,) = blocks(CONTRACTS, "yaml")
    tools = [contract.tool for contract in parse_contracts(text)]
    assert tools == ["charge", "bulk_insert", "get_charge", "send_dm"]


def test_each_contract_field_is_documented_and_no_other() -> None:
    parts = ("key", "read_back", "batch")
    fields = {name for name in Contract.model_fields if name not in parts}
    fields |= {f"batch.{name}" for name in Batch.model_fields}
    fields |= {f"key.{name}" for name in Key.model_fields}
    fields |= {f"read_back.{name}" for name in ReadBack.model_fields}
    documented: set[str] = set()
    for row in re.findall(r"^\| (`.*?) \|", CONTRACTS, re.MULTILINE):
        names = re.findall(r"`([^`]+)`", row)
        prefix = names[0].partition(".")[0] if "." in names[0] else ""
        documented |= {prefix + name if name.startswith(".") else name for name in names}
    assert documented == fields


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    prose = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []
