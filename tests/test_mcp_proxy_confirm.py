"""Writes in two steps through the proxy: a token is for an action, however many are had."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import Json, texts, tools, turn, wait_for
from mcp_proxy_works_sites import Caller, Way, Works, works

ROOM = {"room": "Room 5A", "starts": "2026-09-01T08:00:00Z"}
OTHER = {**ROOM, "room": "Room 6B"}
MARK = "retry-guard/outcome"
TWO, ONE = "two", "one"


def contracts(steps: str, more: str = "", expires: str = ", expires: 300") -> str:
    """A contract of the write; `more`: further fields of it."""
    tool, preview = ("make", "preview: preview, ") if steps == TWO else ("room", "")
    rule = f"{preview}token: confirm_token, param: confirm_token{expires}"
    fields = "identity: {room: fold, starts: time}, defaults: {capacity: 30}"
    proof = "not_executed: [{message: ^token_refused}]"
    reads = "{tool: effects, effect: read}"
    return f"contracts: [{{tool: {tool}, confirm: {{{rule}}}, {fields}, {proof}{more}}}, {reads}]"


KEY = ", key: {param: key, retention: 86400}"
READ = (
    ", read_back: {tool: effects, items: effects, match: {room: room}, id: id, unique: true, "
    "visibility_lag: 0, result: {id: id}}"
)


class Office:
    """Whoever makes rooms, through one proxy."""

    def __init__(self, caller: Caller, steps: str) -> None:
        self.caller = caller
        self.preview, self.make = ("preview", "make") if steps == TWO else ("room", "room")

    def previewed(self, room: Json = ROOM, at: str = "t1") -> Json:
        return self.caller.called(self.preview, room, turn(at))

    def token(self, room: Json = ROOM, at: str = "t1") -> str:
        result = self.previewed(room, at)
        assert result["isError"] is False, result
        return str(result["structuredContent"]["confirm_token"])

    def wrote(self, token: str, room: Json = ROOM, at: str = "t1") -> Json:
        return self.caller.called(self.make, {**room, "confirm_token": token}, turn(at))

    def room(self, token: str, room: Json = ROOM, at: str = "t1") -> str:
        result = self.wrote(token, room, at)
        assert result["isError"] is False, result
        return str(result["structuredContent"]["id"])


PAIRS: list[tuple[Way, str]] = [
    ("process", TWO),
    ("process", ONE),
    ("session", TWO),
    ("stateless", ONE),
]


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest) -> tuple[Way, str]:
    way, steps = request.param
    return way, steps


@pytest.fixture
def steps(pair: tuple[Way, str]) -> str:
    return pair[1]


@pytest.fixture
def way(pair: tuple[Way, str]) -> Way:
    return pair[0]


@pytest.fixture
def site(way: Way, steps: str, tmp_path: Path) -> Generator[Works]:
    with works(tmp_path, contracts(steps), way) as site:
        yield site


def writes(site: Works) -> list[Json]:
    """The writes that reached the server."""
    return [one for one in site.calls if "confirm_token" in one["arguments"]]


def assert_done(shown: Json, steps: str) -> None:
    """A preview of what is done has the result of that; where it is another tool, as an error."""
    assert shown["isError"] is (steps == TWO)
    assert shown["_meta"][MARK]["replayed"]
    assert ("the action is done already" in texts(shown)) is (steps == TWO)


def previews(site: Works) -> list[Json]:
    return [one for one in site.calls if "confirm_token" not in one["arguments"]]


def test_both_steps_reach_the_server_as_they_are_and_the_token_stays_in_sight(
    site: Works, steps: str
) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        schema = tools({"tools": caller.listed()})[office.make]["inputSchema"]
        assert "confirm_token" in schema["properties"]
        token = office.token()
        made = office.wrote(token)
        assert made["structuredContent"]["id"] == "e1"
        assert MARK not in made.get("_meta", {})
    assert [one["arguments"] for one in site.calls] == [ROOM, {**ROOM, "confirm_token": token}]
    assert len(site.effects) == 1


def test_equal_previews_get_one_token_also_in_another_process(site: Works, steps: str) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        first = office.token()
        spelled = {"starts": "2026-09-01T10:00:00+02:00", "room": "ROOM 5a", "capacity": "30"}
        assert office.token(dict(reversed(ROOM.items()))) == first
        assert office.token(OTHER) != first
        assert office.wrote(first, spelled)["isError"]
    with site.client() as other:
        assert Office(other, steps).token(at="t2") == first
    assert len(previews(site)) == 2
    assert site.effects == []


def test_a_token_outlives_the_proxy_and_the_server(site: Works, steps: str) -> None:
    with site.client() as caller:
        token = Office(caller, steps).token()
        caller.proxy.process.kill()
    if site.way != "process":
        os.kill(site.lives[-1], signal.SIGKILL)
    with site.client() as other:
        assert Office(other, steps).room(token) == "e1"
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_a_second_token_of_the_action_sends_nothing(site: Works, steps: str) -> None:
    """Each check of the server passes for it: without a guard it makes a second room."""
    with site.client() as caller:
        office = Office(caller, steps)
        office.room(office.token())
        fresh = "t-0123456789abcdef0123456789abcdef"
        site.append_token(fresh, ROOM)
        again = office.wrote(fresh)
        assert again["_meta"][MARK]["replayed"]
        assert again["structuredContent"]["id"] == "e1"
        assert_done(office.previewed(), steps)
    with site.client() as other:
        assert Office(other, steps).wrote(fresh)["_meta"][MARK]["replayed"]
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_a_token_is_refused_for_what_was_not_shown(site: Works, steps: str) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        token = office.token()
        for room in (OTHER, {**ROOM, "capacity": "40"}, {**ROOM, "starts": "2026-09-02"}):
            refused = office.wrote(token, room)
            assert refused["isError"], refused
            assert token not in texts(refused)
        never = office.wrote("t-made-up-by-a-model-0001")
        assert never["isError"]
        assert "t-made-up-by-a-model-0001" not in texts(never)
    assert len(previews(site)) == 1
    assert (writes(site), site.effects) == ([], [])


def test_a_stale_token_is_refused_by_the_server_and_the_next_preview_gives_another(
    site: Works, steps: str
) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        first = office.token()
        site.switch("stale")
        refused = office.wrote(first)
        assert texts(refused).startswith("token_refused")
        (site.folder / "stale").unlink()
        second = office.token()
        assert second != first
        office.room(second)
    assert (len(site.effects), len(writes(site))) == (1, 2)


def test_an_expired_token_is_asked_for_anew(way: Way, steps: str, tmp_path: Path) -> None:
    terms = contracts(steps, expires=", expires: 0.001")
    with works(tmp_path, terms, way) as site, site.client() as caller:
        office = Office(caller, steps)
        first, second = office.token(), office.token()
        assert first != second
        office.room(second)
        assert len(site.effects) == 1


@pytest.mark.parametrize("fate", ["commit_die", "commit_error"])
def test_after_a_lost_answer_no_preview_gives_a_way_to_a_second_room(
    site: Works, steps: str, fate: str
) -> None:
    site.fates(fate)
    with site.client() as caller:
        office = Office(caller, steps)
        token = office.token()
        lost = office.wrote(token)
        assert texts(lost).startswith(f"It is not known whether `{office.make}` took effect")
        assert office.previewed()["isError"]
    with site.client() as other:
        office = Office(other, steps)
        for at in ("t1", "t2"):
            shown = office.previewed(at=at)
            assert shown["isError"]
            assert "confirm_token" not in shown.get("structuredContent", {})
        fresh = "t-0123456789abcdef0123456789abcdef"
        site.append_token(fresh, ROOM)
        for each in (token, fresh):
            assert office.wrote(each, at="t2")["isError"]
    assert (len(site.effects), len(writes(site)), len(previews(site))) == (1, 1, 1)


@pytest.mark.parametrize("fate", ["commit_die", "die"])
def test_a_lost_answer_is_settled_by_the_key_with_the_token_that_went_out(
    way: Way,
    steps: str,
    fate: str,
    tmp_path: Path,
) -> None:
    with works(tmp_path, contracts(steps, KEY), way) as site:
        site.fates(fate)
        with site.client() as caller:
            office = Office(caller, steps)
            schema = tools({"tools": caller.listed()})[office.make]["inputSchema"]
            assert "key" not in schema["properties"]
            assert office.room(office.token()) == "e1"
        sent = [
            (one["arguments"]["key"], one["arguments"]["confirm_token"]) for one in writes(site)
        ]
        assert (len(sent), len(set(sent))) == (2, 1)
        assert not any("key" in one["arguments"] for one in previews(site))
        assert len(site.effects) == 1


def test_a_lost_answer_is_settled_by_a_read_before_a_preview_answers(
    way: Way,
    steps: str,
    tmp_path: Path,
) -> None:
    with works(tmp_path, contracts(steps, READ), way) as site:
        site.fates("commit_gate")
        with site.client() as caller:
            office = Office(caller, steps)
            token = office.token()
            caller.begin(office.make, {**ROOM, "confirm_token": token}, turn("t1"))
            wait_for(lambda: len(site.effects) == 1)
            caller.proxy.process.terminate()
            caller.proxy.wait()
        with site.client() as other:
            office = Office(other, steps)
            shown = office.previewed()
            assert_done(shown, steps)
            assert '"id": "e1"' in texts(shown)
            assert office.wrote(token)["_meta"][MARK]["replayed"]
        assert (len(site.effects), len(writes(site))) == (1, 1)


@pytest.mark.parametrize(("fate", "word"), [("commit_die", "happened"), ("die", "did_not_happen")])
@pytest.mark.parametrize("pair", PAIRS[:3], ids="-".join, indirect=True)
def test_a_preview_puts_an_open_action_to_the_person_at_the_client(
    site: Works, steps: str, fate: str, word: str
) -> None:
    site.fates(fate)
    with site.client("--no-ask", asks=True) as caller:
        office = Office(caller, steps)
        assert office.wrote(office.token())["isError"]
    with site.client(asks=True) as caller:
        office = Office(caller, steps)
        given = caller.begin(office.preview, ROOM, turn("t2"))
        question = caller.proxy.asked("elicitation/create")
        assert "t-" not in question["params"]["message"]
        said = {"action": "accept", "content": {"outcome": word, "final": True}}
        caller.proxy.send({"jsonrpc": "2.0", "id": question["id"], "result": said})
        shown = caller.proxy.result(given)
        if word == "happened":
            assert "its result could not be kept" in texts(shown)
            assert "confirm_token" not in str(shown)
        else:
            office.room(shown["structuredContent"]["confirm_token"], at="t2")
    assert len(site.effects) == 1


def test_a_preview_that_was_lost_is_asked_for_anew(site: Works, steps: str) -> None:
    site.shows("commit_die", "die")
    with site.client() as caller:
        office = Office(caller, steps)
        for _ in range(2):
            assert texts(office.previewed()).startswith("nothing was executed")
        office.room(office.token())
    assert len(site.effects) == 1
    assert len(previews(site)) == 3


def test_of_calls_at_once_all_have_one_token_and_one_room(site: Works, steps: str) -> None:
    with site.client() as caller, site.client() as other:
        both = [(one, Office(one, steps)) for one in (caller, other)]
        asked = [(one, one.begin(office.preview, ROOM, turn("t"))) for one, office in both * 2]
        shown = [one.proxy.result(given)["structuredContent"] for one, given in asked]
        (token,) = {each["confirm_token"] for each in shown}
        whole = {**ROOM, "confirm_token": token}
        asked = [(one, one.begin(office.make, whole, turn("t"))) for one, office in both * 2]
        made = [one.proxy.result(given)["structuredContent"]["id"] for one, given in asked]
    assert made == ["e1"] * 4
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_in_a_later_turn_it_is_another_action_with_a_token_of_its_own(
    site: Works, steps: str
) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        first = office.token()
        office.room(first)
        wait_for(lambda: all(one.delivered for one in site.records() if one.state == "done"))
        assert office.wrote(first, at="t2")["isError"]
        second = office.token(at="t2")
        assert second != first
        assert office.room(second, at="t2") == "e2"
    assert len(site.effects) == len(writes(site)) == 2


def test_no_file_and_no_line_holds_a_token(site: Works, steps: str) -> None:
    with site.client() as caller:
        office = Office(caller, steps)
        token = office.token()
        office.room(token)
        office.wrote("t-made-up-by-a-model-0001")
    kept = [path for path in site.folder.rglob("guard.db*") if path.is_file()]
    assert kept
    for path in kept:
        assert token.encode() not in path.read_bytes()
    assert token not in caller.proxy.errors


def test_an_observer_lets_both_steps_pass_each_time(site: Works, steps: str) -> None:
    with site.client("--mode", "observe") as caller:
        office = Office(caller, steps)
        tokens = [office.token(), office.token()]
        assert [office.room(token) for token in tokens] == ["e1", "e2"]
    assert len(site.calls) == 4
