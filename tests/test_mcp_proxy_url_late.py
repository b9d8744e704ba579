"""Calls of a server over HTTP that take longer than their client waits, in both generations."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import Given, texts, turn, wait_for
from mcp_proxy_works_sites import URLS, Caller, Works, works

CONTRACTS = """\
contracts:
  - tool: plain
  - {tool: write, key: {param: key, retention: 86400}}
"""
TEXT = {"text": "hello"}
MARK = "retry-guard/outcome"
RUNS = "The first call of `plain` is still running (action "
UNKNOWN = "It is not known whether `plain` took effect"
SOON = ("--answer-within", "3")


@pytest.fixture(params=URLS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Works]:
    with works(tmp_path, CONTRACTS, request.param) as site:
        yield site


def begun(caller: Caller, site: Works, **meta: object) -> Given:
    """Begin a call that waits at the server; return its id."""
    site.fates("gate")
    given = caller.begin("plain", TEXT, meta)
    wait_for(lambda: len(site.calls) == 1)
    return given


def states(site: Works) -> list[str]:
    return [record.state for record in site.records()]


@pytest.mark.parametrize("later", ["t1", "t2", None])
def test_a_call_that_takes_longer_goes_on_and_its_result_goes_to_the_next_equal_call(
    site: Works, later: str | None
) -> None:
    with site.client(*SOON) as caller:
        answered = caller.proxy.result(begun(caller, site, **turn("t1")))
        assert texts(answered).startswith(RUNS)
        assert answered["isError"]
        assert answered["_meta"][MARK]["reason"] == "still_running"
        assert answered.get("resultType") == ("complete" if caller.stateless else None)
        assert site.effects == []
        site.switch("open")
        wait_for(lambda: states(site) == ["done"])
        assert not site.records()[0].delivered
        result = caller.called("plain", TEXT, {} if later is None else turn(later))
        assert result["structuredContent"]["id"] == "e1"
        assert result["_meta"][MARK]["replayed"]
        wait_for(lambda: site.records()[0].delivered)
    assert (len(site.effects), len(site.calls)) == (1, 1)
    assert "hung_up" not in site.lines


def test_its_result_goes_to_another_process_too(site: Works) -> None:
    with site.client(*SOON) as caller:
        assert texts(caller.proxy.result(begun(caller, site))).startswith(RUNS)
        site.switch("open")
        wait_for(lambda: states(site) == ["done"])
    with site.client() as other:
        assert other.made("plain", TEXT, turn("t2"))["id"] == "e1"
    assert len(site.effects) == 1


def test_the_call_goes_on_when_the_client_closes_its_end(site: Works) -> None:
    with site.client(*SOON) as caller:
        assert texts(caller.proxy.result(begun(caller, site))).startswith(RUNS)
        assert caller.proxy.process.stdin is not None
        caller.proxy.process.stdin.close()
        site.switch("open")
        assert caller.proxy.end() == 0
    assert (states(site), len(site.effects)) == (["done"], 1)


def test_repeats_meanwhile_join_and_each_is_answered_in_its_own_time(site: Works) -> None:
    with site.client(*SOON) as hasty, site.client() as patient:
        first = texts(hasty.proxy.result(begun(hasty, site)))
        assert texts(hasty.called("plain", TEXT)) == first
        given = patient.begin("plain", TEXT)
        assert patient.proxy.silent()
        site.switch("open")
        assert patient.proxy.result(given)["structuredContent"]["id"] == "e1"
        assert hasty.made("plain", TEXT)["id"] == "e1"
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_a_client_that_cancels_is_not_answered_and_the_server_is_not_told(site: Works) -> None:
    with site.client() as caller:
        given = begun(caller, site)
        caller.proxy.cancel(given)
        assert caller.proxy.silent()
        site.switch("open")
        wait_for(lambda: states(site) == ["done"])
        assert caller.made("plain", TEXT, turn("later"))["id"] == "e1"
        assert not [line for line in caller.proxy.raw if f'"id":{given},'.encode() in line]
    assert (len(site.effects), len(site.calls)) == (1, 1)
    assert "hung_up" not in site.lines
    assert not any("cancelled" in str(line) for line in site.lines)


def test_progress_reaches_each_who_joined_under_a_token_of_its_own(site: Works) -> None:
    with site.client() as caller:
        first = begun(caller, site, progressToken="a")
        beat = caller.proxy.asked("notifications/progress")["params"]
        assert beat == {"progressToken": "a", "progress": 1}
        second = caller.begin("plain", TEXT, {"progressToken": 7})
        assert caller.proxy.silent()
        site.switch("open")
        beats = [caller.proxy.asked("notifications/progress")["params"] for _ in range(2)]
        assert all(one["progress"] == 2 for one in beats)
        assert {one["progressToken"] for one in beats} == {"a", 7}
        ids = {caller.proxy.result(one)["structuredContent"]["id"] for one in (first, second)}
        assert ids == {"e1"}
    assert len(site.calls) == 1


def test_a_server_that_dies_after_its_client_was_answered_leaves_the_outcome_unknown(
    site: Works,
) -> None:
    with site.client(*SOON) as caller:
        assert texts(caller.proxy.result(begun(caller, site))).startswith(RUNS)
        life = site.lives[-1]
        caller.called("effects", {})
        end(life)
        wait_for(lambda: site.records()[0].ended is not None)
        assert texts(caller.called("plain", TEXT)).startswith(UNKNOWN)
    assert (len(site.effects), len(site.calls)) == (0, 1)


def test_with_a_key_a_server_that_dies_meanwhile_is_asked_again(site: Works) -> None:
    site.fates("gate")
    with site.client(*SOON) as caller:
        given = caller.begin("write", TEXT)
        assert texts(caller.proxy.result(given)).startswith("The first call of `write`")
        end(site.lives[-1])
        wait_for(lambda: states(site) == ["done"])
        assert caller.made("write", TEXT, turn("later"))["id"] == "e1"
    assert (len(site.effects), len(site.calls)) == (1, 2)
    assert len({one["key"] for one in site.sent("write")}) == 1


def end(life: int) -> None:
    os.kill(life, signal.SIGKILL)
