"""docs/sandbox.md names everything that can be chosen, and nothing that cannot."""

import re
from pathlib import Path

import pytest

from retry_guard_sandbox import CHOICES
from retry_guard_sandbox.services import TOOLS

TEXT = (Path(__file__).resolve().parents[1] / "docs" / "sandbox.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([a-z0-9_]+)`", TEXT))


@pytest.mark.parametrize(
    "names", ["contracts", "faults", "services", "agents", "conditions", "harness", "operators"]
)
def test_every_choice_is_described(names: str) -> None:
    assert set(CHOICES[names]) - NAMED == set()


def test_every_write_is_described() -> None:
    assert {name for name, tool in TOOLS.items() if tool.effect != "read"} - NAMED == set()
