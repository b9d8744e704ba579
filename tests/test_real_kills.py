"""The guarding process is killed with SIGKILL, and another process makes the same call.

Proof that the kill fired: the exit status -9, and what the server has in its files.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import killed_caller
from faulty import FaultyServer, faulty_server_in, until
from http_clients import SYNC
from real_calls import QUICK, WAYS, Caller, Way, caller, contract, guard
from retry_guard import Done, Outcome, Unresolved
from retry_guard_ledgers import about

LEASE = 0.4
BOUND = 1.5
DRAWS = 400 if os.environ.get("SOAK") else 12
"""Kills at random times, each way of beginning them."""


class Nursery:
    """The process whose children are killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, killed_caller.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, call: Caller, folder: Path, point: str, turn: str = "t1") -> int:
        """Let a child begin its call; return its process id."""
        command = {
            "folder": str(folder),
            "url": call.server.url,
            "way": call.way,
            "reference": call.reference,
            "point": point,
            "turn": turn,
            "bound": BOUND,
            "lease": LEASE,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        pid: int = self.hears()["pid"]
        return pid

    def hears(self) -> dict[str, Any]:
        """Return the next thing that happens."""
        assert self._process.stdout is not None
        line: dict[str, Any] = json.loads(self._process.stdout.readline())
        return line

    def kill(self, pid: int) -> list[dict[str, Any]]:
        """Kill a child; return what it said since, once it is dead of it."""
        os.kill(pid, signal.SIGKILL)
        said = [self.hears()]
        while "status" not in said[-1]:
            said.append(self.hears())
        assert said.pop() == {"status": -signal.SIGKILL}
        return said

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(40)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server_in(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


# What each contract lets the next process know, when the first was killed at that point.
AFTER = {
    "before_claim": {"key": "done 1", "read_back": "done 1", "neither": "done 1"},
    "after_claim": {"key": "done 1", "read_back": "done 1", "neither": "unresolved 0"},
    "after_send": {"key": "done 1", "read_back": "done 1", "neither": "unresolved 1"},
    "after_effect": {"key": "done 1", "read_back": "done 1", "neither": "unresolved 1"},
    "after_result": {"key": "done 1", "read_back": "done 1", "neither": "unresolved 1"},
    "before_save": {"key": "done 1", "read_back": "done 1", "neither": "unresolved 1"},
    "after_save": {"key": "done 1", "read_back": "done 1", "neither": "done 1"},
}
HELD = {"after_send": "hold_before", "after_effect": "hold_after"}
every_point = pytest.mark.parametrize("point", AFTER)
every_way = pytest.mark.parametrize("way", WAYS)


def killed_at(point: str, server: FaultyServer, nursery: Nursery, way: Way, folder: Path) -> Caller:
    """Kill a process that is exactly there; prove by the server's files that it was."""
    server.hold()
    call = caller(server, way, HELD.get(point, "ok"))
    pid = nursery.begin(call, folder, point)
    if point == "after_send":
        until(lambda: server.requests(call.reference))
    elif point == "after_effect":
        until(call.effects)
    else:
        assert nursery.hears() == {"at": point}
    assert nursery.kill(pid) == []
    sent = point not in ("before_claim", "after_claim")
    assert len(server.requests(call.reference)) == (1 if sent else 0)
    assert call.effects() == (1 if sent and point != "after_send" else 0)
    server.release()
    if sent:
        until(call.effects)
    return call


def second(call: Caller, folder: Path, turn: str) -> Outcome:
    """Make the same call in this process."""
    policy = replace(QUICK, lease=30.0)
    guarding = guard(call.server, folder, SYNC["httpx"], contract(call.way, BOUND), policy)
    send = call.send(SYNC["httpx"])
    return guarding.call("charge", call.arguments, send=send, scope="acme", turn=turn)


def in_words(outcome: Outcome, call: Caller) -> str:
    return f"{type(outcome).__name__.lower()} {call.effects()}"


@every_point
@every_way
@pytest.mark.parametrize("turn", ["t1", "t2"], ids=["same_turn", "other_turn"])
def test_a_process_killed_there_leaves_at_most_one_effect(
    server: FaultyServer, nursery: Nursery, way: Way, point: str, turn: str, tmp_path: Path
) -> None:
    """B61, B77, B114: an expired lease is never permission to run again."""
    call = killed_at(point, server, nursery, way, tmp_path)
    outcome = second(call, tmp_path, turn)
    assert in_words(outcome, call) == AFTER[point][way]
    if isinstance(outcome, Done):
        [effect] = server.effects(call.reference)
        assert outcome.value == effect["charge"]


@every_way
def test_a_process_that_is_killed_again_and_again_leaves_one_effect(
    server: FaultyServer, nursery: Nursery, way: Way, tmp_path: Path
) -> None:
    call = killed_at("after_effect", server, nursery, way, tmp_path)
    for _ in range(2):
        time.sleep(LEASE)
        again = nursery.begin(call, tmp_path, "after_claim")
        assert nursery.hears() == {"at": "after_claim"}
        assert nursery.kill(again) == []
    assert in_words(second(call, tmp_path, "t1"), call) == AFTER["after_effect"][way]


def test_what_was_killed_without_key_or_read_waits_for_an_operator(
    server: FaultyServer, nursery: Nursery, tmp_path: Path
) -> None:
    """B115: nothing is sent again at the next start, and it is listed."""
    call = killed_at("after_result", server, nursery, "neither", tmp_path)
    outcome = second(call, tmp_path, "t2")
    assert isinstance(outcome, Unresolved)
    assert outcome.reason == "nothing_can_tell"
    assert len(server.requests(call.reference)) == 1
    guarding = guard(server, tmp_path, SYNC["httpx"], contract("neither"))
    [listed] = guarding.ledger.list(state="open")
    assert about(listed).id == outcome.action
    guarding.ledger.resolve("acme", outcome.action, "happened", now=guarding.ledger.now())
    assert isinstance(second(call, tmp_path, "t3"), Done)
    assert call.effects() == 1


POSSIBLE = {
    "key": {"done 1"},
    "read_back": {"done 1"},
    "neither": {"done 1", "unresolved 0", "unresolved 1"},
}


@pytest.mark.parametrize("sent", [False, True], ids=["from_the_start", "once_it_was_sent"])
def test_a_process_killed_at_any_time_leaves_at_most_one_effect(
    server: FaultyServer, nursery: Nursery, sent: bool, tmp_path: Path
) -> None:
    """B114: at random times; with a key or a read the effect is there once in the end."""
    draw = random.Random(7)
    for number in range(DRAWS):
        folder = tmp_path / str(number)
        folder.mkdir()
        call = caller(server, WAYS[number % 3])
        pid = nursery.begin(call, folder, "nowhere")
        if sent:
            until(partial(server.requests, call.reference))
        time.sleep(draw.uniform(0, 0.02 if sent else 0.1))
        nursery.kill(pid)
        assert in_words(second(call, folder, "t1"), call) in POSSIBLE[call.way]
