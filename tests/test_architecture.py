"""Who may import what: decisions inside, facts outside, and nobody looks into another package."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE, OUTSIDE = "retry_guard_core", frozenset({"pydantic", "yaml", "rich"})

# What the core must never touch: clocks, chance, machines, files, networks, concurrency.
IMPURE = """
asyncio builtins concurrent contextvars ctypes datetime fileinput glob http importlib io logging
mmap multiprocessing os pathlib pickle platform queue random sched secrets select selectors shelve
shutil signal socket socketserver sqlite3 ssl subprocess sys sysconfig tempfile threading time
urllib uuid warnings
"""
IMPURE_CALLS = frozenset({"__import__", "eval", "exec", "input", "open", "print"})


class Allowed(NamedTuple):
    """What a package may import: ours, and packages of others (the standard library always)."""

    ours: frozenset[str]
    theirs: frozenset[str] = frozenset()


def allowed(*names: str) -> Allowed:
    """Sort names into ours and theirs."""
    ours = frozenset(name for name in names if name.startswith("retry_guard"))
    return Allowed(ours, frozenset(names) - ours)


EDGE = ("retry_guard", "retry_guard_contracts", "retry_guard_ledgers", "retry_guard_outcomes")
DIRECTIONS = {
    CORE: allowed(),
    "retry_guard_outcomes": allowed(CORE),
    "retry_guard_ledgers": allowed(CORE),
    "retry_guard_contracts": allowed(CORE, "pydantic", "yaml"),
    "retry_guard": allowed(CORE, *EDGE[1:]),
    "retry_guard_httpx": allowed("retry_guard", "retry_guard_contracts", "httpx", "httpx2"),
    "retry_guard_langgraph": allowed(
        "retry_guard", *EDGE[2:], "langchain", "langchain_core", "langgraph"
    ),
    "retry_guard_functions": allowed(
        "retry_guard", *EDGE[1:], "jsonschema", "pydantic", "referencing"
    ),
    "retry_guard_openai": allowed("retry_guard", "retry_guard_functions", *EDGE[1:], "openai"),
    "retry_guard_openai_agents": allowed(
        "retry_guard", *EDGE[1:], "agents", "mcp", "openai", "pydantic"
    ),
    "retry_guard_anthropic": allowed(
        "retry_guard", "retry_guard_functions", *EDGE[1:], "anthropic"
    ),
    "retry_guard_mcp_proxy": allowed(CORE, *EDGE, "httpx2"),
    "retry_guard_sandbox": allowed(
        CORE, *EDGE, "anthropic", "numpy", "openai", "pydantic", "scipy"
    ),
    "retry_guard_console": allowed(
        CORE, *EDGE, "retry_guard_mcp_proxy", "retry_guard_sandbox", "pytest", *OUTSIDE
    ),
}


def packages() -> dict[str, Path]:
    """Return every package that is shipped, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    paths: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return {Path(path).name: ROOT / path for path in paths}


class Import(NamedTuple):
    """One name that a module imports: `from module import name`, or `import module`."""

    place: str
    module: str
    name: str = ""

    @property
    def top(self) -> str:
        """The import package that it comes from."""
        return self.module.partition(".")[0]


def imports_of(package: Path) -> Iterator[Import]:
    """Yield what the modules of a package import, wherever the statement stands."""
    for file in sorted(package.rglob("*.py")):
        parents = file.relative_to(package.parent).parts[:-1]
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Import():
                    yield from (Import(place, alias.name) for alias in node.names)
                case ast.ImportFrom(level=0):
                    yield from (Import(place, str(node.module), a.name) for a in node.names)
                case ast.ImportFrom(level=level):
                    base = ".".join(parents[: len(parents) - level + 1])
                    module = f"{base}.{node.module}" if node.module else base
                    yield from (Import(place, module, alias.name) for alias in node.names)
                case _:
                    pass


PACKAGES = packages()
every_package = pytest.mark.parametrize("package", sorted(PACKAGES))


def test_every_package_has_a_row_that_says_what_it_may_import() -> None:
    assert set(DIRECTIONS) == set(PACKAGES)


@every_package
def test_imports_point_in_the_allowed_direction(package: str) -> None:
    rule = DIRECTIONS[package]
    known = rule.ours | rule.theirs | sys.stdlib_module_names | {package}
    assert [item for item in imports_of(PACKAGES[package]) if item.top not in known] == []


@every_package
def test_other_packages_are_imported_by_their_public_name_only(package: str) -> None:
    for item in imports_of(PACKAGES[package]):
        if item.top in PACKAGES and item.top != package:
            assert item.module == item.top, f"{item.place} reaches into {item.module}"
            assert not item.name.startswith("_"), f"{item.place} takes {item.name}"


@every_package
def test_nobody_takes_a_private_name_through_a_public_package(package: str) -> None:
    for file in PACKAGES[package].rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(value=ast.Name(id=top), attr=attr) if top in PACKAGES:
                    place = f"{file.relative_to(ROOT)}:{node.lineno}"
                    assert not attr.startswith("_"), f"{place} takes {top}.{attr}"
                case _:
                    pass


def test_the_core_imports_the_standard_library_only() -> None:
    tops = {item.top for item in imports_of(PACKAGES[CORE])}
    assert tops <= sys.stdlib_module_names | {CORE}


def test_the_core_has_no_clock_no_chance_and_no_outside() -> None:
    assert [item for item in imports_of(PACKAGES[CORE]) if item.top in IMPURE.split()] == []


def test_the_core_opens_prints_and_evaluates_nothing() -> None:
    for file in PACKAGES[CORE].rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            name = node.id if isinstance(node, ast.Name) else ""
            assert name not in IMPURE_CALLS, f"{file.name}:{getattr(node, 'lineno', 0)}: {name}"
