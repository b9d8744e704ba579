"""The page of each adapter: its example needs nothing but what its extra installs."""

import ast
import re
import sys
from collections import defaultdict
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pages import ROOT, examples

NAME = "agent-retry-guard"
PAGES = sorted((ROOT / "adapters").glob("*/README.md"))


def installed_with(extra: str) -> set[str]:
    """The distributions that an extra brings, those that they require included."""
    found, waiting = set[str](), [Requirement(f"{NAME}[{extra}]")]
    while waiting:
        wanted = waiting.pop()
        found.add(canonicalize_name(wanted.name))
        for line in metadata.requires(wanted.name) or []:
            each = Requirement(line)
            marker, extras = each.marker, wanted.extras or {""}
            applies = marker is None or any(marker.evaluate({"extra": name}) for name in extras)
            if applies and canonicalize_name(each.name) not in found:
                waiting.append(each)
    return found


def imports_in(code: str) -> set[str]:
    """The packages of others that code imports."""
    names = set[str]()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    return {name for name in tops if not name.startswith("retry_guard")}


def brought(name: str, found: set[str]) -> bool:
    known = defaultdict[str, list[str]](list, metadata.packages_distributions())
    return any(canonicalize_name(each) in found for each in known[name])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_an_example_imports_nothing_that_its_extra_does_not_bring(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (extra,) = set(re.findall(rf"pip install '{NAME}\[([\w-]+)\]'", text))
    found = installed_with(extra)
    names = {name for code in examples(str(page.relative_to(ROOT))) for name in imports_in(code)}
    assert sorted(name for name in names if not brought(name, found)) == []


def test_what_an_extra_does_not_bring_is_seen() -> None:
    assert not brought("httpx", installed_with("anthropic"))
    assert brought("anthropic", installed_with("anthropic"))
    assert brought("mcp", installed_with("openai-agents"))
    assert imports_in("import httpx, asyncio\nfrom agents.mcp import a\nimport retry_guard") == {
        "agents",
        "httpx",
    }
