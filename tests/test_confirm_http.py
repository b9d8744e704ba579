"""Two-phase tools over HTTP: real tokens, a real server, real processes that are killed."""

import json
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from confirm_school import ROOM
from confirm_server import HTTPSchool, http_school

WORKER = Path(__file__).parent / "confirm_worker.py"
LEASE = 2.0
"""Long enough that nobody who lives and has much to do loses it."""
KEY = {"param": "header:Idempotency-Key", "retention": 86400}


@pytest.fixture
def site() -> Generator[HTTPSchool]:
    with http_school() as made:
        yield made


class Agents:
    """Processes that share a ledger."""

    def __init__(self, site: HTTPSchool, folder: Path, *, one: bool = False, **stated: Any) -> None:  # noqa: ANN401 - handed on
        self.site, self.ledger, self.one = site, folder / "guard.db", one
        stated.setdefault("one", one)
        self.contract = site.contract(**stated).model_dump(mode="json", exclude_unset=True)
        self.preview = "/exam-rooms" if one else "/exam-rooms/preview"

    def start(self, turn: str | None, *steps: tuple[str, object]) -> subprocess.Popen[str]:
        """A process that makes these requests."""
        process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        told: dict[str, Any] = {"ledger": str(self.ledger), "contract": self.contract, "turn": turn}
        told |= {"url": self.site.url, "steps": steps, "lease": LEASE}
        process.stdin.write(json.dumps(told))
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, turn: str | None, *steps: tuple[str, object]) -> list[dict[str, Any]]:
        """What came of these requests, in a process of their own."""
        process = self.start(turn, *steps)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return [json.loads(line) for line in out.splitlines()]

    def token(self, turn: str | None = "t1", given: object = ROOM) -> str:
        (shown,) = self.run(turn, (self.preview, given))
        token: str = shown["body"]["confirm_token"]
        return token

    def killed(self, turn: str, token: str) -> None:
        """A process makes the room and is killed before it hears of that."""
        self.site.mute = 1
        self.site.made.clear()
        process = self.start(turn, ("/exam-rooms", {**ROOM, "confirm_token": token}))
        try:
            assert self.site.made.wait(30)
        finally:
            process.kill()
            process.communicate()
        time.sleep(LEASE + 0.1)


@pytest.mark.parametrize("one", [False, True], ids=["two", "one"])
def test_processes_share_token_result_and_refusal(
    site: HTTPSchool, one: bool, tmp_path: Path
) -> None:
    agents = Agents(site, tmp_path, one=one)
    token = agents.token()
    assert agents.token("t2", {**ROOM, "room": "room 5a"}) == token
    fresh = site.school.mint(ROOM)
    done, again, shown, other = agents.run(
        "t2",
        ("/exam-rooms", {**ROOM, "confirm_token": token}),
        ("/exam-rooms", {**ROOM, "confirm_token": fresh}),
        (agents.preview, ROOM),
        ("/exam-rooms", {**ROOM, "room": "Room 6B", "confirm_token": token}),
    )
    assert (done["status"], done["body"], done["replayed"]) == (201, {"id": "room_1"}, False)
    assert (again["status"], again["body"], again["replayed"]) == (201, {"id": "room_1"}, True)
    assert (shown["body"], shown["replayed"]) == ({"id": "room_1"}, True)
    assert other["raised"] == "ArgumentError"
    assert "other values in: body.room;" in other["text"]
    assert len(site.school.rooms) == len(site.school.previews) == 1


@pytest.mark.parametrize("one", [False, True], ids=["two", "one"])
def test_a_process_that_is_killed_after_its_write_leaves_no_way_to_a_second_one(
    site: HTTPSchool, one: bool, tmp_path: Path
) -> None:
    """ "Issued" is read as unknown: where nothing can settle it, nobody gets a token or sends."""
    agents = Agents(site, tmp_path, one=one)
    token = agents.token()
    agents.killed("t1", token)
    for turn in ("t1", "t2"):
        steps = [(agents.preview, ROOM)]
        steps += [
            ("/exam-rooms", {**ROOM, "confirm_token": t}) for t in (token, site.school.mint(ROOM))
        ]
        for outcome in agents.run(turn, *steps):
            assert outcome["raised"] == "nothing_can_tell"
    assert len(site.school.rooms) == len(site.school.previews) == 1


def test_a_process_that_is_killed_is_carried_on_by_its_key(
    site: HTTPSchool, tmp_path: Path
) -> None:
    agents = Agents(site, tmp_path, key=KEY)
    token = agents.token()
    agents.killed("t1", token)
    assert agents.token("t2") == token
    (done,) = agents.run("t2", ("/exam-rooms", {**ROOM, "confirm_token": token}))
    assert (done["status"], done["body"]) == (201, {"id": "room_1"})
    assert [r["confirm_token"] for r in site.school.requests] == [token, token]
    assert len(site.school.rooms) == len(site.school.previews) == 1


def test_a_process_that_is_killed_is_settled_by_a_read(site: HTTPSchool, tmp_path: Path) -> None:
    read = {
        "tool": f"GET {site.url}/exam-rooms",
        "items": "rooms",
        "match": {"room": "body.room"},
        "id": "id",
        "unique": True,
        "result": {"id": "id"},
    }
    agents = Agents(site, tmp_path, read_back=read)
    token = agents.token()
    agents.killed("t1", token)
    (shown,) = agents.run("t2", (agents.preview, ROOM))
    assert shown["body"] == {"id": "room_1"}
    assert "no preview" in shown["warning"]
    assert len(site.school.requests) == len(site.school.previews) == 1


def test_of_processes_that_begin_together_all_get_one_token_and_one_room(
    site: HTTPSchool, tmp_path: Path
) -> None:
    agents = Agents(site, tmp_path)
    with ThreadPoolExecutor(4) as pool:
        tokens = list(pool.map(agents.token, ["t1", "t1", "t2", None]))
        assert len(set(tokens)) == 1
        step = ("/exam-rooms", {**ROOM, "confirm_token": tokens[0]})
        ends = list(pool.map(agents.run, ["t1", "t1", "t2", "t3"], [step] * 4))
    for (end,) in ends:  # who comes after its result was handed over, in another turn, is refused
        assert end.get("body", {"id": "room_1"}) == {"id": "room_1"}
        assert "body" in end or "was last sent" in end["text"]
    assert sum("body" in end for (end,) in ends) >= 1
    assert len(site.school.rooms) == len(site.school.previews) == len(site.school.requests) == 1


def test_a_refusal_by_the_server_proves_that_nothing_ran(site: HTTPSchool, tmp_path: Path) -> None:
    """The token was used up beside the guard."""
    agents = Agents(site, tmp_path)
    token = agents.token()
    site.school.used.add(token.split(".")[0])
    (refused,) = agents.run("t1", ("/exam-rooms", {**ROOM, "confirm_token": token}))
    assert refused["status"] == 422
    other = agents.token()
    assert other != token
    (done,) = agents.run("t1", ("/exam-rooms", {**ROOM, "confirm_token": other}))
    assert done["body"] == {"id": "room_1"}
