"""The folders keep their plain names; the installed names all start with `retry_guard`."""

import importlib
import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
NAME = "agent-retry-guard"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WHEEL: dict[str, list[str]] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
PACKAGES = [ROOT / package for package in WHEEL["packages"]]
DATA = {".py", ".typed", ".yaml", ".toml", ".json", ".html", ".css"}


def folders_in(folder: Path) -> list[Path]:
    """Return the folders directly in `folder`, without hidden and compiled ones."""
    return [
        entry
        for entry in sorted(folder.iterdir())
        if entry.is_dir() and not entry.name.startswith((".", "__"))
    ]


def files_in(folder: Path) -> list[Path]:
    """Return the files below `folder`, without hidden and compiled ones."""
    return [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not any(part.startswith((".", "__pycache__")) for part in file.parts[len(ROOT.parts) :])
    ]


ROOTS = [ROOT / "guard_core", ROOT / "sandbox", *folders_in(ROOT / "adapters")]


def is_editable() -> bool:
    """Whether the tests run against the checkout, and not against an installed wheel."""
    origin = json.loads(metadata.distribution(NAME).read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def package_of(root: Path) -> str:
    """Return the name that the one package of a source root must have."""
    own = {"guard_core": "retry_guard_core", "python": "retry_guard"}
    return own.get(root.name, f"retry_guard_{root.name}")


def test_every_folder_ships_one_prefixed_package() -> None:
    assert set(WHEEL) == {"packages"}
    assert sorted(PACKAGES) == sorted(root / package_of(root) for root in ROOTS)


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.name)
def test_a_source_root_holds_its_package_and_nothing_else_to_import(root: Path) -> None:
    assert [folder.name for folder in folders_in(root)] == [package_of(root)]
    assert list(root.glob("*.py*")) == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_is_regular_and_typed(package: Path) -> None:
    assert (package / "__init__.py").is_file()
    assert (package / "py.typed").read_bytes() == b""


def test_tests_are_no_packages() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []
    assert list((ROOT / "adapters").glob("*.py")) == []


def test_every_folder_with_python_in_it_is_type_checked() -> None:
    holds_python = {folder.name for folder in folders_in(ROOT) if any(folder.rglob("*.py"))}
    holds_python -= {"build", "dist"}
    assert set(PROJECT["tool"]["mypy"]["files"]) == holds_python
    assert set(PROJECT["tool"]["basedpyright"]["include"]) == holds_python


def test_installed_names_are_prefixed() -> None:
    files = metadata.distribution(NAME).files or []
    tops = {file.parts[0] for file in files} - {".."}
    prefixes = ("retry_guard", "agent_retry_guard", "_editable_impl_", "_agent_retry_guard.pth")
    assert [top for top in tops if not top.startswith(prefixes)] == []
    assert tops
    assert metadata.version(NAME) == PROJECT["project"]["version"]


def test_an_editable_install_makes_the_source_roots_importable_and_no_other_folder() -> None:
    files = metadata.distribution(NAME).files or []
    hooks = [Path(str(file.locate())) for file in files if file.name.endswith(".pth")]
    lines = [line for hook in hooks for line in hook.read_text(encoding="utf-8").splitlines()]
    assert {Path(line).resolve() for line in lines} == {root for root in ROOTS if is_editable()}


@pytest.mark.parametrize("folder", ["adapters", "guard_core", "sandbox", "tests", "docs"])
def test_a_folder_is_no_import_name(folder: str) -> None:
    run = subprocess.run(
        [sys.executable, "-I", "-c", f"import {folder}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"No module named '{folder}'" in run.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_packages_come_from_where_they_were_installed(package: Path) -> None:
    if os.environ.get("RETRY_GUARD_TEST_INSTALLED") == "wheel":
        assert not is_editable()
    file = importlib.import_module(package.name).__file__
    assert file is not None
    expected = package if is_editable() else Path(sysconfig.get_path("purelib"), package.name)
    assert Path(file).resolve() == (expected / "__init__.py").resolve()


def test_the_extra_all_holds_every_other_extra() -> None:
    extras: dict[str, list[str]] = dict(PROJECT["project"]["optional-dependencies"])
    every = {Requirement(line) for line in extras.pop("all")}
    assert every == {Requirement(line) for lines in extras.values() for line in lines}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel with the hatchling that is installed here: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    info = f"agent_retry_guard-{PROJECT['project']['version']}.dist-info/"
    shipped = {name for name in wheel.namelist() if not name.startswith(info)}
    source = {
        file.relative_to(package.parent).as_posix()
        for package in PACKAGES
        for file in files_in(package)
    }
    assert shipped == source
    assert {name.removeprefix(info) for name in wheel.namelist()} - shipped == {
        *("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    }


def test_the_wheel_holds_no_tests_and_no_waste(wheel: zipfile.ZipFile) -> None:
    for name in (Path(name) for name in wheel.namelist() if ".dist-info/" not in name):
        assert name.parts[0].startswith("retry_guard"), name
        assert name.suffix in DATA, name
        assert not name.name.startswith(("test_", "conftest")), name
        assert "tests" not in name.parts, name
