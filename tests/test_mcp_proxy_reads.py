"""What a contract says of its read-back, its bound and its batch, on the wire of the proxy."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import Json, texts, wait_for
from mcp_proxy_works_sites import Way, Works, works

TEXT = {"text": "hello"}
MARK = "retry-guard/outcome"
READ: dict[str, Any] = {
    "tool": "effects",
    "items": "effects",
    "match": {"text": "text"},
    "id": "id",
    "unique": True,
    "complete": "complete",
    "permanent": True,
    "visibility_lag": 0,
}
BATCH: dict[str, Any] = {
    **READ,
    "match": {"table": "table", "name": "rows[].name"},
    "result": {"ids[]": "id"},
}
ROWS = {"table": "t", "rows": [{"name": name} for name in ("a", "b", "c")]}
ENDS: tuple[Way, ...] = ("process", "session")
READS = 3
"""So many reads show nothing: a proxy that believed the first would have sent again."""


@pytest.fixture(params=ENDS)
def way(request: pytest.FixtureRequest) -> Way:
    way: Way = request.param
    return way


@contextmanager
def stated(folder: Path, way: Way, tool: str, read: Json, **more: object) -> Generator[Works]:
    """The works, with a contract of one tool and of its read."""
    contract = {"tool": tool, "read_back": read, **more}
    reads = {"tool": "effects", "effect": "read"}
    with works(folder, yaml({"contracts": [contract, reads]}), way) as site:
        yield site


def yaml(value: object) -> str:
    return json.dumps(value)  # each JSON text is YAML


def unknown(result: Json) -> bool:
    return texts(result).startswith("It is not known whether `")


def without(*names: str) -> Json:
    return {name: value for name, value in READ.items() if name not in names}


# Present


@pytest.mark.parametrize("there", [True, False])
def test_a_read_is_believed_only_where_the_known_item_is_in_it(
    tmp_path: Path, way: Way, there: bool
) -> None:
    read = {**READ, "control": {"id": "seed"}}
    with stated(tmp_path, way, "plain", read) as site, site.client() as caller:
        if not there:
            site.switch("blind")
        site.fates("commit_die")
        result = caller.called("plain", TEXT)
        assert result["isError"] is not there
        assert there or result["_meta"][MARK]["reason"] == "unclear"
        assert len(site.effects) == len(site.calls) == 1


OWN: list[tuple[Json, bool]] = [
    ({"unique": True}, True),
    ({"match": {"text": "text", "note": "note"}, "marker": "note"}, True),
    ({"exclusive": True, "created": "created", "skew": 0.0}, True),
    ({}, False),
]


@pytest.mark.parametrize(("more", "ours"), OWN)
def test_what_is_there_settles_it_only_where_it_is_known_to_be_of_this_call(
    tmp_path: Path, way: Way, more: Json, ours: bool
) -> None:
    read = {**without("unique"), **more}
    with stated(tmp_path, way, "plain", read) as site, site.client() as caller:
        site.fates("commit_die")
        result = caller.called("plain", {**TEXT, "note": "of this call"})
        assert result["isError"] is not ours
        assert ours or result["_meta"][MARK]["reason"] == "unclear"
        assert len(site.effects) == len(site.calls) == 1


def test_a_read_is_asked_with_what_the_contract_says_and_shown_in_the_tools_own_shape(
    tmp_path: Path, way: Way
) -> None:
    args = {"text": "text", "most": {"value": 50}}
    read = {**READ, "args": args, "result": {"id": "id", "ok": {"value": True}}}
    with stated(tmp_path, way, "made", read) as site, site.client() as caller:
        site.fates("commit_die")
        result = caller.called("made", TEXT)
        assert result["structuredContent"] == {"id": "e1", "ok": True}
        asked = [line["params"] for line in site.lines if "'effects'" in str(line)]
        assert [one["arguments"] for one in asked] == [{"text": "hello", "most": 50}]


def test_what_shows_later_is_waited_for(tmp_path: Path, way: Way) -> None:
    """A read before the lag would show nothing, and nothing else is wanted for absence."""
    read = {**READ, "visibility_lag": 1.5}
    with stated(tmp_path, way, "plain", read, in_flight_bound=0) as site, site.client() as caller:
        site.switch("lag", 1.0)
        site.fates("commit_die")
        assert caller.made("plain", TEXT)["id"] == "e1"
        assert len(site.effects) == len(site.calls) == 1


def test_what_runs_later_is_waited_for(tmp_path: Path, way: Way) -> None:
    """The read shows nothing at first; a send before the bound would double it."""
    with stated(tmp_path, way, "plain", READ, in_flight_bound=4) as site, site.client() as caller:
        site.fates("late")
        assert caller.made("plain", TEXT)["id"] == "e1"
        assert len(site.effects) == len(site.calls) == 1


# Absent


def test_what_is_proven_not_to_have_run_is_sent_anew(tmp_path: Path, way: Way) -> None:
    with stated(tmp_path, way, "plain", READ, in_flight_bound=0) as site, site.client() as caller:
        site.fates("die")
        assert caller.made("plain", TEXT)["id"] == "e1"
        assert (len(site.effects), len(site.calls)) == (1, 2)


def test_a_second_generation_bears_another_key(tmp_path: Path, way: Way) -> None:
    """The retention is over before absence is known."""
    key = {"param": "key", "retention": 0.1}
    given = stated(tmp_path, way, "write", READ, in_flight_bound=0, key=key)
    with given as site, site.client() as caller:
        site.fates("die")
        assert caller.made("write", TEXT)["id"] == "e1"
        assert len({one["key"] for one in site.sent("write")}) == len(site.calls) == 2
        assert len(site.effects) == 1


LACKS = ["complete", "permanent", "visibility_lag", "in_flight_bound"]


@pytest.mark.parametrize("lack", LACKS)
def test_absence_proves_nothing_where_one_of_its_conditions_is_not_stated(
    tmp_path: Path, way: Way, lack: str
) -> None:
    """The request never ran, and that is not known: nothing is sent, however often it is read."""
    bound = {} if lack == "in_flight_bound" else {"in_flight_bound": 0}
    with stated(tmp_path, way, "plain", without(lack), **bound) as site:
        site.fates("die")
        look_on(site, "plain", TEXT)
        assert (site.effects, len(site.calls)) == ([], 1)
    assert [one.state for one in site.records()] == ["open"]


def look_on(site: Works, tool: str, arguments: Json) -> None:
    """Begin a call, and end the proxy once it has read a few times."""
    with site.client() as caller:
        caller.begin(tool, arguments)
        wait_for(lambda: len([line for line in site.lines if "'effects'" in str(line)]) >= READS)
        caller.proxy.process.terminate()
        caller.proxy.wait()


def test_the_proxy_that_is_started_next_reads_where_the_former_one_had_sent(
    tmp_path: Path, way: Way
) -> None:
    with stated(tmp_path, way, "plain", READ) as site:
        site.fates("commit_gate")
        with site.client() as caller:
            caller.begin("plain", TEXT)
            wait_for(lambda: len(site.effects) == 1)
            caller.proxy.process.terminate()
            caller.proxy.wait()
        with site.client() as other:
            assert other.made("plain", TEXT)["id"] == "e1"
        assert len(site.effects) == len(site.calls) == 1


# Batches


def named(site: Works) -> list[str]:
    return [one["name"] for one in site.effects]


def test_what_is_missing_of_a_batch_is_sent_and_nothing_else(tmp_path: Path, way: Way) -> None:
    batch = {"items": "rows", "identity": ["name"]}
    given = stated(tmp_path, way, "rows", BATCH, in_flight_bound=0, batch=batch)
    with given as site, site.client() as caller:
        site.fates("part")
        result = caller.called("rows", ROWS)
        assert json.loads(texts(result)) == {"ids": ["e1", "e2", "e3"]}
        assert named(site) == ["a", "b", "c"]
        sent = [[row["name"] for row in one["rows"]] for one in site.sent("rows")]
        assert sent == [["a", "b", "c"], ["b", "c"]]
        assert caller.called("rows", ROWS)["_meta"][MARK]["replayed"]
        assert len(site.calls) == 2


def test_without_a_bound_nothing_of_a_batch_is_sent_again(tmp_path: Path, way: Way) -> None:
    batch = {"items": "rows", "identity": ["name"]}
    with stated(tmp_path, way, "rows", BATCH, batch=batch) as site:
        site.fates("part")
        look_on(site, "rows", ROWS)
        assert named(site) == ["a"]
        assert len(site.calls) == 1


def test_a_batch_without_a_read_back_is_sent_once(tmp_path: Path, way: Way) -> None:
    contract = {"tool": "rows", "batch": {"items": "rows", "identity": ["name"]}}
    with works(tmp_path, yaml({"contracts": [contract]}), way) as site, site.client() as caller:
        site.fates("part")
        assert unknown(caller.called("rows", ROWS))
        assert unknown(caller.called("rows", ROWS))
        assert named(site) == ["a"]


@pytest.mark.parametrize(
    ("key", "fate", "sends"),
    [("atomic", "commit_die", 2), ("resumes", "part", 2), ("stored_partial", "part", 1)],
)
def test_a_key_of_a_batch_is_relied_on_as_far_as_the_contract_says(
    tmp_path: Path, way: Way, key: str, fate: str, sends: int
) -> None:
    batch = {"items": "rows", "identity": ["name"], "key": key}
    contract = {"tool": "rows", "batch": batch, "key": {"param": "key", "retention": 60}}
    with works(tmp_path, yaml({"contracts": [contract]}), way) as site, site.client() as caller:
        if key == "resumes":
            site.switch("resumes")
        site.fates(fate)
        assert unknown(caller.called("rows", ROWS)) is (sends == 1)
        assert len(site.calls) == sends
        assert len({one["key"] for one in site.sent("rows")}) == 1
        assert named(site) == (["a", "b", "c"] if sends == 2 else ["a"])
