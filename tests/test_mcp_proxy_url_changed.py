"""A server at a URL says that its list has changed, on whatever stream it can be heard.

Nothing breaks off in these tests: an answer says that the call failed, which proves nothing.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mcp_proxy_client import META, Json, texts, wait_for
from mcp_proxy_http_sites import (
    STREAM,
    Got,
    RawServer,
    Step,
    UrlSite,
    done,
    event,
    result,
    said,
    usual,
)
from mcp_proxy_stated import KEYED, POST, command_of, reading, tool

CHANGED: Json = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
FAILED: Json = {"content": [{"type": "text", "text": "it failed"}], "isError": True}
STREAMS = ("of an answer", "of the session", "of who listens")


class Changing:
    """States a contract until it is another version, and says so on one of its streams."""

    def __init__(self, stream: str) -> None:
        self.stream, self.stated = stream, True
        self.lists: int = 0
        self.opened: int = 0

    def __call__(self, got: Got) -> Sequence[Step]:
        name = got.message.get("params", {}).get("name")
        if got.method == "tools/list":
            self.lists += 1
            listed = [tool("post", KEYED if self.stated else None), reading()]
            return (said(result(got, {"tools": listed})),)
        if got.http == "GET" and self.stream == "of the session":
            return self.tells()
        if got.method == "subscriptions/listen":
            return self.tells()
        if name == "change" and self.stream == "of an answer":
            self.stated = False
            return (STREAM, event(CHANGED), event(done(got)))
        if name == "post":
            return (said(result(got, FAILED)),)
        return usual(got) or (said(done(got)),)

    def tells(self) -> Sequence[Step]:
        """Say it on a stream that stays open, a while after that was opened."""
        self.opened += 1
        self.stated = False
        return (STREAM, 1.0, event(CHANGED), 60.0)


def asked(site: UrlSite) -> None:
    words = ("contracts", "trust", "there", "--ledger", site.ledger, "--url", site.url)
    done = command_of(*words)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("stream", STREAMS)
def test_a_server_that_says_that_its_list_has_changed_is_asked_for_it(
    tmp_path: Path, stream: str
) -> None:
    site, server = UrlSite(tmp_path, "contracts: []"), Changing("of an answer")
    stateless = stream == "of who listens"
    meta: Json = dict(META) if stateless else {}
    with RawServer(server) as raw:
        site.url = raw.url
        asked(site)
        server.stream = stream
        with site.proxy() as proxy:
            if stateless:
                proxy.answer(proxy.ask("server/discover", {"_meta": META}))
            else:
                proxy.initialize()
            proxy.answer(proxy.ask("tools/list", {"_meta": meta}))
            if stateless:
                proxy.ask("subscriptions/listen", {"_meta": META, "notifications": {}})
            elif stream == "of an answer":
                proxy.called("change", {})
            proxy.asked(CHANGED["method"])
            before = server.lists
            unknown = proxy.called("post", POST, _meta=meta)
            assert "not known whether `post` took effect" in texts(unknown)
            assert proxy.said("so it is not trusted any more: post")
            assert server.lists == before + 1
        posts = [one for one in raw.said("tools/call") if one.message["params"]["name"] == "post"]
        assert len(posts) == 1


class Breaking(Changing):
    """Is another version once the stream of its session has broken off, which says nothing."""

    def tells(self) -> Sequence[Step]:
        self.opened += 1
        self.stated = self.opened == 1
        return (STREAM, 1.0, "reset") if self.stated else (STREAM, 60.0)


def test_a_stream_of_the_session_that_broke_off_may_have_said_that_the_list_has_changed(
    tmp_path: Path,
) -> None:
    site, server = UrlSite(tmp_path, "contracts: []"), Breaking("of an answer")
    with RawServer(server) as raw:
        site.url = raw.url
        asked(site)
        server.stream = "of the session"
        with site.proxy() as proxy:
            proxy.initialize()
            proxy.answer(proxy.ask("tools/list"))
            wait_for(lambda: server.opened == 2)
            assert "not known whether `post` took effect" in texts(proxy.called("post", POST))
            assert proxy.said("so it is not trusted any more: post")
        posts = [one for one in raw.said("tools/call") if one.message["params"]["name"] == "post"]
        assert len(posts) == 1


def test_who_hears_nothing_of_a_change_relies_on_what_was_listed(tmp_path: Path) -> None:
    """The other way round, so that the tests above are about what they say."""
    site, server = UrlSite(tmp_path, "contracts: []"), Changing("of an answer")
    with RawServer(server) as raw:
        site.url = raw.url
        asked(site)
        with site.proxy() as proxy:
            proxy.initialize()
            proxy.answer(proxy.ask("tools/list"))
            assert proxy.called("post", POST)["isError"]
        posts = [one for one in raw.said("tools/call") if one.message["params"]["name"] == "post"]
        assert len(posts) > 1
        assert len({one.message["params"]["arguments"]["key"] for one in posts}) == 1
