"""Third-party MCP servers at pinned versions, in `build/servers/`: installed once, then found.

`python tests/mcp_servers_installed.py [NAME…]` installs them, or some; `make servers` does that.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "build" / "servers"
NODE = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "@modelcontextprotocol/server-memory": "2026.8.31",
}
# Two environments: a server that knows only the first SDK cannot share one with the second.
PYTHON = {
    "current": ("fastmcp==4.1.6", "fastmcp-sample-server==0.4.1", "mcp-server-git==2026.10.19"),
    "older": (
        "agentdraft==0.1.3",
        "agentdraft-mcp==0.1.1",
        "mcp==1.30.0",
        "mcp-server-sqlite==2025.4.25",
    ),
}


@dataclass(frozen=True, slots=True)
class Place:
    """What is installed together. `pins` says which versions, and where it was installed."""

    name: str
    pins: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.name

    @property
    def stamp(self) -> Path:
        return self.folder / ".installed"

    @property
    def ready(self) -> bool:
        return self.stamp.is_file() and self.stamp.read_text(encoding="utf-8") == self.pins

    def begin(self) -> None:
        """Make an empty folder of it: what an interrupted installation left behind is gone."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def end(self) -> None:
        self.stamp.write_text(self.pins, encoding="utf-8")


def python(name: str) -> Path:
    """Return the folder of the programs in one of the Python environments, installed if need be."""
    pins = PYTHON[name]
    place = Place(name, json.dumps([pins, sys.version, str(FOLDER)]))
    with _locked():
        if not place.ready:
            place.begin()
            _run(sys.executable, "-m", "venv", str(place.folder))
            pip = (str(place.folder / "bin" / "python"), "-m", "pip", "install", "-qq")
            _run(*pip, "--disable-pip-version-check", *pins)
            place.end()
    return place.folder / "bin"


def node(package: str) -> list[str]:
    """Return the command of a server that runs on Node, installed if need be.

    Without Node the calling test is skipped on a developer's machine, and fails in CI.
    """
    npm, program = shutil.which("npm"), shutil.which("node")
    if not npm or not program:
        if os.environ.get("CI"):
            pytest.fail("no node and npm here: CI needs them, for the third-party MCP servers")
        # Node is no Python package, so a checkout alone cannot bring it; CI installs it.
        pytest.skip("no node and npm here: install them to run the third-party MCP servers")
    place = Place("node", json.dumps([NODE, str(FOLDER)]))
    with _locked():
        if not place.ready:
            place.begin()
            (place.folder / "package.json").write_text('{"private": true}', encoding="utf-8")
            wanted = [f"{name}@{version}" for name, version in NODE.items()]
            flags = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
            _run(npm, "install", "--prefix", str(place.folder), *flags, *wanted)
            place.end()
    return [program, str(place.folder / "node_modules" / package / "dist" / "index.js")]


class _locked:  # noqa: N801 - used like a function
    """One installation at a time, also among the processes of one test run."""

    def __enter__(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        self.file = (FOLDER / ".lock").open("w")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()[-5:]
        raise RuntimeError(f"{' '.join(command)} failed:\n" + "\n".join(said))


@cache
def git() -> str:
    """Return the program that makes and reads repositories."""
    found = shutil.which("git")
    assert found, "install git: a server of these tests commits to a repository"
    return found


def main(names: Sequence[str]) -> int:
    """Install these places, or all; without Node, say so and go on."""
    for name in names or (*PYTHON, "node"):
        if name != "node":
            python(name)
            continue
        try:
            node("@modelcontextprotocol/server-memory")
        # Outside of a test nobody else turns these into a line and an exit code.
        except (pytest.skip.Exception, pytest.fail.Exception) as refused:
            sys.stderr.write(f"{refused}\n")
            return int(isinstance(refused, pytest.fail.Exception))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
