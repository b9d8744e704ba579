"""Third-party MCP servers: what each is asked to write, and how often it holds that afterwards."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import mcp_servers_installed as installed
from mcp_servers_client import STATEFUL, Client, Message, connected

BETWEEN = Path(__file__).with_name("mcp_servers_between.py")


def variables(folder: Path) -> dict[str, str]:
    """Return the environment of a server: a home of its own, and nothing of the person's."""
    here = {"HOME": str(folder), "MEMORY_FILE_PATH": str(folder / "memory.jsonl")}
    notes = {"MCP_NOTES_DB": str(folder / "notes.db"), "FASTMCP_CHECK_FOR_UPDATES": "off"}
    # Without a service of the test's own, nobody is asked, and not its vendor either.
    own = folder / "service"
    service = own.read_text(encoding="utf-8") if own.exists() else "http://127.0.0.1:9"
    booking = {"AGENTDRAFT_API_KEY": "avs_live_test", "AGENTDRAFT_BASE_URL": service}
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, **here, **notes, **booking}


@dataclass(frozen=True, slots=True)
class Site:
    """One server. `count`: how often its store holds what `arguments` asked for.

    `told`: what a caller is told of a call whose answer was lost, `done` or `unknown`.
    `meanwhile`: what a person does before the call is sent again. `beside`: what runs while the
    server may be started.
    """

    name: str
    command: Callable[[Path], list[str]]
    prepare: Callable[[Path], None]
    tool: str
    arguments: Callable[[Path], Message]
    count: Callable[[Path], int]
    contracts: str
    told: str
    meanwhile: Callable[[Path], None] = lambda _: None
    beside: Callable[[Path], AbstractContextManager[None]] = lambda _: nullcontext()


def nothing(folder: Path) -> None:
    """Prepare nothing."""


def run_git(folder: Path, *words: str) -> str:
    """Run git in the repository, without the person's configuration."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    command = [installed.git(), "-C", str(folder / "repository"), *words]
    done = subprocess.run(
        command, env=variables(folder) | quiet, check=True, capture_output=True, text=True
    )
    return done.stdout


def make_repository(folder: Path) -> None:
    (folder / "repository").mkdir()
    run_git(folder, "init", "-q")
    run_git(folder, "config", "user.name", "Test")
    run_git(folder, "config", "user.email", "test@example.org")
    stage(folder, "released")


def stage(folder: Path, name: str) -> None:
    (folder / "repository" / name).write_text("content\n", encoding="utf-8")
    run_git(folder, "add", name)


def make_orders(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "orders.db")) as database:
        database.execute("CREATE TABLE orders (customer TEXT, amount INTEGER)")
        database.commit()


def rows(file: Path, query: str) -> int:
    with closing(sqlite3.connect(file)) as database:
        (number,) = database.execute(query).fetchone()
    return int(number)


def entities(folder: Path) -> int:
    lines = (folder / "memory.jsonl").read_text(encoding="utf-8").splitlines()
    return sum(json.loads(line).get("name") == "Ada" for line in lines)


# Neither a key nor a list that a program could read: git_log answers in prose. A second commit
# needs something staged: somebody went on working.
GIT = Site(
    name="git",
    command=lambda folder: [
        str(installed.python("current") / "mcp-server-git"),
        "--repository",
        str(folder / "repository"),
    ],
    prepare=make_repository,
    tool="git_commit",
    arguments=lambda folder: {"repo_path": str(folder / "repository"), "message": "Release 1.0"},
    count=lambda folder: run_git(folder, "log", "--all", "--format=%s").count("Release 1.0"),
    contracts="contracts:\n  - tool: git_commit\n",
    told="unknown",
    meanwhile=lambda folder: stage(folder, "unfinished"),
)

# Neither: any statement in one text, and rows that are printed as Python prints them.
SQLITE = Site(
    name="sqlite",
    command=lambda folder: [
        str(installed.python("older") / "mcp-server-sqlite"),
        "--db-path",
        str(folder / "orders.db"),
    ],
    prepare=make_orders,
    tool="write_query",
    arguments=lambda _: {"query": "INSERT INTO orders VALUES ('Ada', 5)"},
    count=lambda folder: rows(folder / "orders.db", "SELECT count(*) FROM orders"),
    contracts="contracts:\n  - tool: write_query\n",
    told="unknown",
)

# A read-back: a list of all notes. That a title exists once is the operator's word; the times
# in it are cut to seconds, which is too coarse to say that a note came after the call.
NOTES = Site(
    name="notes",
    command=lambda _: [
        str(installed.python("current") / "sample-mcp-server"),
        "--transport",
        "stdio",
    ],
    prepare=nothing,
    tool="note_add",
    arguments=lambda _: {"title": "Invoice 2026-17", "body": "sent to Ada"},
    count=lambda folder: rows(folder / "notes.db", "SELECT count(*) FROM notes"),
    contracts="""
contracts:
  - tool: note_add
    read_back:
      tool: note_list
      args: {search: title}
      items: notes
      match: {title: title, body: body}
      id: id
      unique: true
      visibility_lag: 0
  - tool: note_list
    effect: read
""",
    told="done",
)

# A natural key: an entity's name exists once, and the server drops what it has already.
MEMORY = Site(
    name="memory",
    command=lambda _: installed.node("@modelcontextprotocol/server-memory"),
    prepare=nothing,
    tool="create_entities",
    arguments=lambda _: {
        "entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote notes"]}]
    },
    count=entities,
    contracts="""
contracts:
  - tool: create_entities
    batch:
      items: entities
      identity: [name]
    read_back:
      tool: read_graph
      items: entities
      match: {name: "entities[].name"}
      unique: true
      visibility_lag: 0
      result:
        entities[].name: name
        entities[].entityType: entityType
        entities[].observations: observations
  - tool: read_graph
    effect: read
""",
    told="done",
)

SITES = (GIT, SQLITE, NOTES, MEMORY)
HURT = (GIT, SQLITE, NOTES)
"""Those that hold a write twice when it is sent twice."""


def broken(folder: Path, site: Site, when: str) -> None:
    """Let the next call of the site's write find its server broken; see `mcp_servers_between`."""
    waiting = folder / "break.new"
    waiting.write_text(json.dumps({"tool": site.tool, "when": when}), encoding="utf-8")
    waiting.rename(folder / "break")


def direct(site: Site, folder: Path) -> list[str]:
    """Return the command of the server, with what can break it in between."""
    return [sys.executable, str(BETWEEN), str(folder), "--", *site.command(folder)]


def guarded(site: Site, folder: Path, *flags: str) -> list[str]:
    """Return the command of the proxy in front of that."""
    contracts = folder / "contracts.yaml"
    contracts.write_text(site.contracts, encoding="utf-8")
    return proxy(folder, contracts, direct(site, folder), *flags)


def proxy(folder: Path, contracts: Path, command: Sequence[str], *flags: str) -> list[str]:
    """Return the command of the proxy in front of a server."""
    ledger = f"sqlite:///{folder / 'guard.db'}"
    given = ["--contracts", str(contracts), "--ledger", ledger, *flags]
    return [sys.executable, "-m", "retry_guard_console", "mcp", *given, "--", *command]


@contextmanager
def session(command: Sequence[str], folder: Path, generation: str = STATEFUL) -> Generator[Client]:
    """Connect to it as a client without any capability does."""
    with connected(command, folder, variables(folder), generation) as client:
        yield client
