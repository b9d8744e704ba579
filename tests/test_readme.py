"""What the README says is true: its example runs, its links lead somewhere, its fields exist."""

import re
from pathlib import Path

import pytest

from pages import ROOT, every_fault, example_that_charges_once, examples
from retry_guard import Done, check_declared
from retry_guard_contracts import Batch, Confirm, Contract, Key, ReadBack, parse_contracts

CONTRACTS = (ROOT / "docs/contracts.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@every_fault
def test_the_example_charges_once_on_a_real_server(fault: str, tmp_path: Path) -> None:
    with example_that_charges_once("README.md", fault, tmp_path) as names:
        names["client"].close()
        assert isinstance(names["outcome"], Done)


def test_the_example_contracts_file_is_valid() -> None:
    (text,) = examples("docs/contracts.md", "yaml")
    contracts = parse_contracts(text)
    writes = [contract.tool for contract in contracts if contract.effect == "write"]
    assert writes == ["charge", "bulk_insert", "create_exam_room", "send_dm"]
    check_declared(contracts)


def test_each_contract_field_is_documented_and_no_other() -> None:
    parts = ("key", "read_back", "batch", "confirm")
    fields = {name for name in Contract.model_fields if name not in parts}
    fields |= {f"batch.{name}" for name in Batch.model_fields}
    fields |= {f"confirm.{name}" for name in Confirm.model_fields}
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
