"""Calls that take longer than their client waits: they go on, and their result is not lost."""

import sqlite3
import time
from collections.abc import Generator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Proxy, Site, texts, turn, wait_for
from retry_guard_mcp_proxy._patience import Patience, patience_of

POST = {"text": "hello"}
MARK = "retry-guard/outcome"
WITHIN = ("--answer-within", "2")
RUNS = "The first call of `post` is still running (action "
DONE = [{"type": "text", "text": "done e1"}, {"type": "text", "text": "second block"}]
"""What the server answers first."""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    """A proxy whose client waits for less than a call takes that the server holds."""
    with site.proxy(*WITHIN) as proxy:
        ready(proxy)
        yield proxy
        site.go()


def ready(proxy: Proxy) -> None:
    """Let all be there that a call needs, so that its time is its own."""
    proxy.initialize()
    proxy.answer(proxy.ask("tools/list"))


def ended(site: Site) -> None:
    """Let what is held go on, and wait until its end is recorded."""
    site.go()
    wait_for(lambda: [record.state for record in site.records()] == ["done"])


def asks(name: object, **meta: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a client of that name, and a request of it."""
    request = {"id": 1, "method": "tools/call", "params": {"name": "post", "_meta": meta}}
    return {"name": name}, request


# How long a client waits


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("codex-mcp-client", 295.0),
        ("copilot-cli", 175.0),
        ("claude-code", inf),
        ("mcp", 50.0),
        (None, 50.0),
        (["codex-mcp-client"], 50.0),
    ],
)
def test_a_client_is_answered_before_its_own_limit(name: object, seconds: float) -> None:
    assert patience_of(*asks(name), None) == Patience(seconds=seconds)


def test_a_client_that_progress_keeps_waiting_gets_some_and_is_waited_for() -> None:
    expected = Patience(seconds=inf, beats=True)
    assert patience_of(*asks("copilot-cli", progressToken=7), None) == expected
    assert patience_of(*asks("codex-mcp-client", progressToken=7), None) == Patience(seconds=295.0)


def test_what_the_operator_says_counts_for_every_client() -> None:
    assert patience_of(*asks("claude-code"), 7.0) == Patience(seconds=7.0)
    expected = Patience(seconds=7.0, beats=True)
    assert patience_of(*asks("copilot-cli", progressToken=7), 7.0) == expected


# What happens at its end


def test_a_call_that_takes_longer_is_said_to_be_running_and_goes_on(
    proxy: Proxy, site: Site
) -> None:
    site.fates("held")
    answered = proxy.called("post", POST, _meta=turn("t1"))
    assert answered["isError"]
    assert texts(answered).startswith(RUNS)
    assert answered["_meta"][MARK]["reason"] == "still_running"
    assert site.effects == []
    ended(site)
    (record,) = site.records()
    assert not record.delivered
    assert proxy.silent()


@pytest.mark.parametrize("later", ["t1", "t2", None])
def test_its_result_goes_to_the_next_equal_call_in_any_turn(
    proxy: Proxy, site: Site, later: str | None
) -> None:
    site.fates("held")
    proxy.called("post", POST, _meta=turn("t1"))
    ended(site)
    result = proxy.called("post", POST, _meta={} if later is None else turn(later))
    assert result["content"] == DONE
    assert result["_meta"][MARK]["replayed"]
    assert (len(site.effects), len(site.calls)) == (1, 1)
    wait_for(lambda: site.records()[0].delivered)


def test_its_result_goes_to_the_next_equal_call_of_another_process_too(site: Site) -> None:
    site.fates("held")
    with site.proxy(*WITHIN) as proxy:
        proxy.called("post", POST, _meta=turn("t1"))
        site.go()
    with site.proxy() as other:
        assert other.called("post", POST, _meta=turn("t2"))["content"] == DONE
    assert len(site.effects) == 1


def test_repeats_meanwhile_join_and_are_each_answered_in_their_own_time(site: Site) -> None:
    """A server that takes long, a client that gives up early, and asks again before and after."""
    site.fates("held")
    with site.proxy(*WITHIN) as proxy:
        ready(proxy)
        first, second = (texts(proxy.called("post", POST)) for _ in range(2))
        assert first == second
        assert first.startswith(RUNS)
        ended(site)
        assert proxy.called("post", POST)["content"] == DONE
    assert (len(site.effects), len(site.calls)) == (1, 1)


def test_a_repeat_that_can_wait_gets_the_result_of_the_first_call(site: Site) -> None:
    site.fates("held")
    with site.proxy(*WITHIN) as hasty, site.proxy() as patient:
        ready(hasty)
        assert texts(hasty.called("post", POST)).startswith(RUNS)
        given = patient.call("post", POST)
        patient.answer(patient.ask("ping"))
        site.go()
        assert patient.result(given)["content"] == DONE
    assert len(site.effects) == 1


def test_a_call_that_ends_in_time_is_answered_once(site: Site) -> None:
    with site.proxy(*WITHIN) as proxy:
        ready(proxy)
        assert proxy.called("post", POST)["content"] == DONE
        time.sleep(2.1)
        assert proxy.silent()


def test_a_call_that_ends_unknown_after_its_client_was_answered_is_recorded(
    proxy: Proxy, site: Site
) -> None:
    site.fates("held_kill")
    assert texts(proxy.called("post", POST)).startswith(RUNS)
    site.go()
    wait_for(lambda: site.records()[0].ended is not None)
    again = proxy.called("post", POST)
    assert texts(again).startswith("It is not known whether `post` took effect")
    assert len(site.effects) == 1


def test_what_had_not_begun_in_time_is_not_sent(proxy: Proxy, site: Site) -> None:
    proxy.called("charge", {"customer": "c1", "amount": 5})
    blocker = sqlite3.connect(site.folder / "guard.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    late = proxy.called("post", POST)
    blocker.execute("ROLLBACK")
    blocker.close()
    assert texts(late).startswith("This call was not sent in the time for which its client waits.")
    time.sleep(1.0)
    assert [call["name"] for call in site.calls] == ["charge"]
    assert all(r.state != "open" for r in site.records())


def test_answers_of_the_newer_generation_are_complete_too(proxy: Proxy, site: Site) -> None:
    site.fates("held")
    answered = proxy.called("post", POST, _meta=META)
    assert (answered["resultType"], answered["isError"]) == ("complete", True)


def test_reads_and_calls_without_a_contract_are_not_cut_short(proxy: Proxy, site: Site) -> None:
    site.fates("held", "held")
    passes = proxy.call("union", POST)
    assert texts(proxy.called("post", POST)).startswith(RUNS)
    site.go()
    assert texts(proxy.result(passes)).startswith("done e")


# Cancelled


def test_a_client_that_has_cancelled_hears_of_neither_progress_nor_the_end_of_its_time(
    proxy: Proxy, site: Site
) -> None:
    site.fates("held", "held")
    given = proxy.call("post", POST, _meta={"progressToken": "a"})
    wait_for(lambda: len(site.calls) == 1)
    proxy.cancel(given)
    assert texts(proxy.called("post", {"text": "other"})).startswith(RUNS)  # so its time is over
    site.go()
    wait_for(lambda: [record.state for record in site.records()] == ["done", "done"])
    assert proxy.silent()
    assert not any("cancelled" in one for one in site.heard)
    assert texts(proxy.called("post", POST, _meta=turn("later"))).startswith("done e")
    assert (len(site.effects), len(site.calls)) == (2, 2)


# Progress


def test_progress_reaches_a_repeat_that_joins_with_its_own_token(site: Site) -> None:
    site.fates("held")
    with site.proxy() as proxy:
        first = proxy.call("post", POST, _meta={"progressToken": "a"})
        wait_for(lambda: len(site.calls) == 1)
        second = proxy.call("post", POST, _meta={"progressToken": 7})
        assert proxy.silent()
        site.go()
        beats = [proxy.asked("notifications/progress")["params"] for _ in range(2)]
        assert {beat["progressToken"] for beat in beats} == {"a", 7}
        assert [beat["progress"] for beat in beats] == [1, 1]
        assert {texts(proxy.result(given))[:7] for given in (first, second)} == {"done e1"}
    assert len(site.effects) == 1


def test_no_progress_comes_once_a_call_was_answered(proxy: Proxy, site: Site) -> None:
    site.fates("held")
    proxy.called("post", POST, _meta={"progressToken": "a"})
    ended(site)
    assert proxy.silent()


def test_progress_of_the_client_reaches_the_server_as_it_is(proxy: Proxy, site: Site) -> None:
    beat = {"progressToken": "its-own", "progress": 0.5}
    proxy.tell("notifications/progress", beat)
    proxy.silent()
    assert any("its-own" in one for one in site.heard)


# Bad input


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf"])
def test_a_time_that_is_none_is_refused(site: Site, given: str) -> None:
    proxy = site.proxy("--answer-within", given)
    assert proxy.wait() == 2
    assert proxy.said("--answer-within: give a number of seconds above 0")
    assert site.lives == []
