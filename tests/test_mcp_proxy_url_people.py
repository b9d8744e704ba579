"""A person is asked what became of a call of a server over HTTP, in each generation's way."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import Json, texts, turn, wait_for
from mcp_proxy_works_sites import URLS, Caller, Works, works

CONTRACTS = "contracts: [{tool: plain}, {tool: other, repeat: escalate}]"
TEXT = {"text": "hello"}
MARK = "retry-guard/outcome"
UNKNOWN = "It is not known whether `plain` took effect"
ASK = "elicitation/create"
FATES = ("commit_die", "commit_drop")


@pytest.fixture(params=URLS)
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Works]:
    with works(tmp_path, CONTRACTS, request.param) as site:
        yield site


class Talk:
    """A call at whose end a person may be asked, in the way of the client's generation."""

    def __init__(self, caller: Caller, tool: str = "plain", meta: Json | None = None) -> None:
        self.caller, self.tool, self.more = caller, tool, meta or {}
        self.given = caller.begin(tool, TEXT, self.more)
        self.state: Json = {}
        self.asked = self._hear()

    def _hear(self) -> Json:
        """Return the question, as `elicitation/create` puts it."""
        if not self.caller.stateless:
            self.state = self.caller.proxy.asked(ASK)
            return self.state
        result = self.caller.proxy.result(self.given)
        assert result["resultType"] == "input_required"
        self.state = result
        (question,) = result["inputRequests"].values()
        assert question["method"] == ASK
        return dict(question)

    def answered(self, said: Json) -> Json:
        """Let the person say this; return the result of the call."""
        proxy = self.caller.proxy
        if not self.caller.stateless:
            proxy.send({"jsonrpc": "2.0", "id": self.state["id"], "result": said})
            return proxy.result(self.given)
        (name,) = self.state["inputRequests"]
        more = {"requestState": self.state["requestState"], "inputResponses": {name: said}}
        meta = {**self.caller.meta, **self.more}
        return proxy.result(proxy.call(self.tool, TEXT, None, _meta=meta, **more))


def accepted(word: str, **more: object) -> Json:
    return {"action": "accept", "content": {"outcome": word, **more}}


def states(site: Works) -> list[str]:
    return [record.state for record in site.records()]


@pytest.mark.parametrize("fate", FATES)
def test_what_happened_is_done_and_nothing_is_sent(site: Works, fate: str) -> None:
    site.fates(fate)
    with site.client(asks=True) as caller:
        talk = Talk(caller)
        assert talk.asked["params"]["message"].startswith(UNKNOWN)
        result = talk.answered(accepted("happened"))
        assert (result["isError"], result["_meta"][MARK]["replayed"]) == (False, True)
        assert caller.called("plain", TEXT)["isError"] is False
    assert (states(site), len(site.effects), len(site.calls)) == (["done"], 1, 1)


@pytest.mark.parametrize("fate", ["die", "drop"])
def test_what_can_no_longer_happen_is_sent_anew(site: Works, fate: str) -> None:
    site.fates(fate)
    with site.client(asks=True) as caller:
        result = Talk(caller).answered(accepted("did_not_happen", final=True))
        assert result["structuredContent"]["id"] == "e1"
    assert (len(site.effects), len(site.calls)) == (1, 2)
    assert not any("requestState" in str(line) for line in site.lines)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_where_nobody_says_it_the_text_is_given_and_nobody_is_asked_twice(
    site: Works, action: str
) -> None:
    site.fates("commit_die")
    with site.client(asks=True) as caller:
        assert texts(Talk(caller).answered({"action": action})).startswith(UNKNOWN)
        assert texts(caller.called("plain", TEXT)).startswith(UNKNOWN)
    with site.client(asks=True) as other:
        assert texts(other.called("plain", TEXT)).startswith(UNKNOWN)
    assert (states(site), len(site.effects), len(site.calls)) == (["open"], 1, 1)


def test_a_client_that_shows_no_forms_gets_the_text_and_no_ask_switches_them_off(
    site: Works,
) -> None:
    site.fates("commit_die")
    with site.client() as caller:
        assert texts(caller.called("plain", TEXT)).startswith(UNKNOWN)
    with site.client("--no-ask", asks=True) as caller:
        assert texts(caller.called("plain", TEXT)).startswith(UNKNOWN)
    assert site.records()[0].asked_at is None
    assert len(site.calls) == 1


@pytest.mark.parametrize(("said", "count"), [({"action": "decline"}, 1), (None, 2)])
def test_a_repeat_that_needs_a_persons_word_is_sent_with_it_and_not_without(
    site: Works, said: Json | None, count: int
) -> None:
    with site.client(asks=True) as caller:
        caller.made("other", TEXT, turn("t1"))
        wait_for(lambda: site.records()[0].delivered)
        made = Talk(caller, "other", turn("t2")).answered(said or accepted("again"))
        assert made["isError"] is (count == 1)
    assert len(site.effects) == len(site.calls) == count


@pytest.mark.parametrize("killed", [True, False])
def test_a_question_outlives_the_proxy(site: Works, killed: bool) -> None:
    site.fates("commit_drop")
    with site.client(asks=True) as caller:
        talk = Talk(caller)
        if killed:
            caller.proxy.process.kill()
    with site.client(asks=True) as other:
        if other.stateless:
            talk.caller = other  # the question that was put counts
        else:
            talk = Talk(other)
        assert talk.answered(accepted("happened"))["isError"] is False
    assert (states(site), len(site.effects), len(site.calls)) == (["done"], 1, 1)


def test_who_was_told_that_it_runs_is_asked_by_the_next_call_if_it_ended_unknown(
    site: Works,
) -> None:
    site.fates("commit_gate")
    with site.client("--answer-within", "3", asks=True) as caller:
        assert "still running" in texts(caller.called("plain", TEXT, turn("t1")))
        os.kill(site.lives[-1], signal.SIGKILL)
        wait_for(lambda: site.records()[0].ended is not None)
        assert caller.proxy.silent()
        talk = Talk(caller, "plain", turn("t2"))
        assert talk.answered(accepted("happened"))["isError"] is False
    assert (states(site), len(site.effects), len(site.calls)) == (["done"], 1, 1)


def test_in_the_time_for_which_a_client_waits_the_text_is_given(tmp_path: Path) -> None:
    """In a session: without one the question itself is the answer."""
    with works(tmp_path, CONTRACTS, "session") as site:
        site.fates("commit_drop")
        with site.client("--answer-within", "5", asks=True) as caller:
            talk = Talk(caller)
            assert texts(caller.proxy.result(talk.given)).startswith(UNKNOWN)
            gone = caller.proxy.asked("notifications/cancelled")["params"]["requestId"]
            assert gone == talk.state["id"]
        assert (len(site.effects), len(site.calls)) == (1, 1)
        assert not any(gone in str(line) for line in site.lines)
