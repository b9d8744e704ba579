"""Servers that nobody here wrote, killed right after a write: what they hold is counted.

One takes an idempotency key (see also `test_mcp_servers_key`), two have a read-back, and two have
neither. At `memory` an entity's name is a natural key: the server drops what it has already.
"""

import json
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from mcp_servers_booking import BOOKING
from mcp_servers_client import STATELESS, EndedError, Message
from mcp_servers_sites import (
    GIT,
    HURT,
    MEMORY,
    NOTES,
    SITES,
    SQLITE,
    Site,
    broken,
    direct,
    guarded,
    session,
)

EVERY = (*SITES, BOOKING)
Prepare: TypeAlias = Callable[[Site, Path], None]


@pytest.fixture
def prepare() -> Generator[Prepare]:
    """Get a site ready in a folder; what runs beside its server ends with the test."""
    with ExitStack() as running:

        def ready(site: Site, folder: Path) -> None:
            site.prepare(folder)
            running.enter_context(site.beside(folder))

        yield ready


def written(site: Site, folder: Path) -> int:
    """Return how often the server was asked to write."""
    lines = (folder / "lines").read_bytes().splitlines()
    asked: list[Message] = [json.loads(line[1:]) for line in lines if line.startswith(b">")]
    calls = [one["params"]["name"] for one in asked if one.get("method") == "tools/call"]
    return calls.count(site.tool)


def content(result: Message) -> Any:  # noqa: ANN401 - blocks of any kind
    """Return what a caller is told, without what an answer of the guard is marked with."""
    return {name: value for name, value in result.items() if name != "_meta"}


@pytest.mark.parametrize("site", [*HURT, BOOKING], ids=lambda site: site.name)
def test_a_client_that_sends_a_lost_call_again_writes_twice(
    site: Site, tmp_path: Path, prepare: Prepare
) -> None:
    prepare(site, tmp_path)
    broken(tmp_path, site, "answered")
    with session(direct(site, tmp_path), tmp_path) as client, pytest.raises(EndedError):
        client.call(site.tool, site.arguments(tmp_path))
    assert site.count(tmp_path) == 1, "it was committed before the server was killed"
    site.meanwhile(tmp_path)
    with session(direct(site, tmp_path), tmp_path) as client:
        client.call(site.tool, site.arguments(tmp_path))
    assert site.count(tmp_path) == 2


def test_a_server_with_a_natural_key_tells_the_second_caller_that_nothing_was_made(
    tmp_path: Path,
) -> None:
    broken(tmp_path, MEMORY, "answered")
    with session(direct(MEMORY, tmp_path), tmp_path) as client, pytest.raises(EndedError):
        client.call(MEMORY.tool, MEMORY.arguments(tmp_path))
    with session(direct(MEMORY, tmp_path), tmp_path) as client:
        told = client.call(MEMORY.tool, MEMORY.arguments(tmp_path))
    assert MEMORY.count(tmp_path) == 1
    assert told["structuredContent"] == {"entities": []}


@pytest.mark.parametrize("site", EVERY, ids=lambda site: site.name)
def test_behind_the_proxy_a_lost_call_that_is_sent_again_is_written_once(
    site: Site, tmp_path: Path, prepare: Prepare
) -> None:
    prepare(site, tmp_path)
    broken(tmp_path, site, "answered")
    with session(guarded(site, tmp_path), tmp_path) as client:
        first = client.call(site.tool, site.arguments(tmp_path), seconds=60)
        assert not (tmp_path / "break").exists(), "the server was killed"
        site.meanwhile(tmp_path)
        second = client.call(site.tool, site.arguments(tmp_path))
    assert site.count(tmp_path) == 1
    assert first["isError"] is (site.told == "unknown")
    assert content(second) == content(first)


@pytest.mark.parametrize("site", [NOTES, MEMORY], ids=lambda site: site.name)
def test_what_a_read_finds_is_told_as_the_tool_tells_it(site: Site, tmp_path: Path) -> None:
    broken(tmp_path, site, "answered")
    with session(guarded(site, tmp_path), tmp_path) as client:
        told = client.call(site.tool, site.arguments(tmp_path), seconds=60)
    other = tmp_path / "other"
    other.mkdir()
    with session(direct(site, other), other) as client:
        own = client.call(site.tool, site.arguments(other))
    assert [block["type"] for block in told["content"]] == ["text"]
    if site is MEMORY:
        assert told["structuredContent"] == own["structuredContent"]
        return
    assert sorted(map(str, json.loads(told["content"][0]["text"]))) == sorted(
        map(str, json.loads(own["content"][0]["text"]))
    )


@pytest.mark.parametrize("site", [GIT, SQLITE], ids=lambda site: site.name)
def test_a_call_that_its_server_never_read_is_not_said_to_be_done(
    site: Site, tmp_path: Path, prepare: Prepare
) -> None:
    prepare(site, tmp_path)
    broken(tmp_path, site, "asked")
    with session(guarded(site, tmp_path), tmp_path) as client:
        told = client.call(site.tool, site.arguments(tmp_path))
        again = client.call(site.tool, site.arguments(tmp_path))
    assert told["isError"]
    assert again["isError"]
    assert site.count(tmp_path) == 0


@pytest.mark.parametrize("site", EVERY, ids=lambda site: site.name)
def test_a_call_whose_answer_comes_is_told_as_without_the_proxy(
    site: Site, tmp_path: Path, prepare: Prepare
) -> None:
    results: list[Message] = []
    for name, command in (("direct", direct), ("guarded", guarded)):
        folder = tmp_path / name
        folder.mkdir()
        prepare(site, folder)
        with session(command(site, folder), folder) as client:
            results.append(client.call(site.tool, site.arguments(folder)))
        assert site.count(folder) == 1
    if site is MEMORY:
        assert results[0] == results[1]
    assert [list(result) for result in results[:1]] == [list(result) for result in results[1:]]


def test_a_server_of_2026_is_guarded_too(tmp_path: Path) -> None:
    broken(tmp_path, NOTES, "answered")
    with session(guarded(NOTES, tmp_path), tmp_path, STATELESS) as client:
        told = client.call(NOTES.tool, NOTES.arguments(tmp_path), seconds=60)
        again = client.call(NOTES.tool, NOTES.arguments(tmp_path))
    assert NOTES.count(tmp_path) == 1
    assert not told["isError"]
    assert told["resultType"] == again["resultType"] == "complete"


def test_a_client_that_kills_the_proxy_and_starts_another_writes_once(tmp_path: Path) -> None:
    broken(tmp_path, NOTES, "silent")
    with session(guarded(NOTES, tmp_path), tmp_path) as client:
        client.send("tools/call", {"name": NOTES.tool, "arguments": NOTES.arguments(tmp_path)})
        while (tmp_path / "break").exists():
            time.sleep(0.02)
        client.process.kill()
    with session(guarded(NOTES, tmp_path), tmp_path) as client:
        told = client.call(NOTES.tool, NOTES.arguments(tmp_path), seconds=90)
    assert NOTES.count(tmp_path) == 1
    assert written(NOTES, tmp_path) == 1
    assert not told["isError"], told
