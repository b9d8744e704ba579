"""Connections to a server at a URL: kept, broken, refused, slow, and what is read on them.

An effect is a call that came in: whatever a connection does, none comes in twice by itself.
"""

import gzip
import json
import signal
import zlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from socket import AF_INET6, socket

import pytest

from mcp_proxy_client import INITIALIZE, META, Json, Proxy, texts, turn, wait_for
from mcp_proxy_http_sites import (
    STREAM,
    Got,
    KeptServer,
    RawServer,
    Script,
    Step,
    UrlSite,
    calls,
    done,
    event,
    kept,
    response,
    said,
    usual,
)
from raw_servers import full, refused
from tls_servers import plain_text, tls_server

POST = {"text": "hello"}
BEAT = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}


@pytest.fixture
def site(tmp_path: Path) -> UrlSite:
    found = UrlSite(tmp_path)
    found.forked = True
    return found


def begin(proxy: Proxy, *, stateless: bool = False) -> Json:
    """Begin as a client of a generation; return its `_meta`."""
    if stateless:
        proxy.answer(proxy.ask("server/discover", {"_meta": META}))
        return dict(META)
    proxy.initialize()
    return {}


# Connections that are kept


def keeping(ends: Callable[[Got], Sequence[Step]]) -> Script:
    """Keep each connection, until the first call on it ends so."""

    def script(got: Got) -> Sequence[Step]:
        steps = usual(got)
        if steps is None:
            return ends(got)
        return [kept(step) if isinstance(step, bytes) else step for step in steps]

    return script


ENDS: dict[str, Callable[[Got], Sequence[Step]]] = {
    "closed": lambda _: ("close",),
    "reset": lambda _: ("reset",),
    "closed in the head": lambda _: (b"HTTP/1.1 200 O", "close"),
    "closed in the body": lambda got: (kept(said(done(got)))[:-9], "close"),
    "closed in the stream": lambda got: (STREAM, event(done(got))[:-9], "close"),
}


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_a_kept_connection_that_ends_under_a_call_does_not_send_it_again(
    site: UrlSite, end: str, stateless: bool
) -> None:
    with KeptServer(keeping(ENDS[end])) as server:
        site.url = server.url
        with site.proxy() as proxy:
            meta = begin(proxy, stateless=stateless)
            for tool in ("post", "free"):
                proxy.result(proxy.ask("resources/list", {"_meta": meta}))
                found = proxy.answer(proxy.call(tool, POST, _meta={**meta, **turn("a")}))
                assert "error" in found or "not known" in texts(found["result"])
                (at,) = (
                    number
                    for number, got in enumerate(server.got)
                    if got.message.get("params", {}).get("name") == tool
                )
                former = server.connections[:at]
                assert server.connections[at] in former  # it was a connection that had been kept
            assert proxy.called("post", POST, _meta={**meta, **turn("b")})["isError"]
            assert len(server.said("tools/call")) == 2


def test_a_kept_connection_that_has_ended_meanwhile_is_not_used(site: UrlSite) -> None:
    """The server closes it after its answer, and says nothing of that before."""

    def script(got: Got) -> Sequence[Step]:
        steps = usual(got) or (said(done(got)),)
        return [*(kept(step) if isinstance(step, bytes) else step for step in steps), "close"]

    with KeptServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            for number in range(5):
                assert texts(proxy.called("post", {"text": str(number)})) == "done"
                proxy.result(proxy.ask("ping"))
            assert len(server.said("tools/call")) == 5


def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next_one(site: UrlSite) -> None:
    """A second response follows the first, on a connection that is kept."""

    def script(got: Got) -> Sequence[Step]:
        stale = {**done(got), "result": {"content": [{"type": "text", "text": "stale"}]}}
        return (kept(said(done(got))) + kept(said(stale)),)

    with KeptServer(keeping(script)) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            for number in range(3):
                shown = texts(proxy.called("post", {"text": str(number)}))
                assert shown == "done" or "not known" in shown
            assert len(server.said("tools/call")) == 3


# Connections that are never made


def nobody(_: Path) -> AbstractContextManager[str]:
    return refused()


UNMADE: dict[str, tuple[str, Callable[[Path], AbstractContextManager[str]]]] = {
    "nobody listens": ("http", nobody),
    "it is no TLS": ("https", lambda _: plain_text()),
    "its certificate is signed by nobody": ("https", tls_server),
}


@pytest.mark.parametrize("case", UNMADE)
def test_where_no_connection_is_made_nothing_ran(site: UrlSite, case: str) -> None:
    scheme, place = UNMADE[case]
    with place(site.folder) as address:
        site.url = f"{scheme}://{address}/mcp"
        unsent(site)


@pytest.mark.parametrize("url", ["http://nothing.invalid/mcp", "http://[::1]:1/mcp"])
def test_where_there_is_no_such_host_nothing_ran(site: UrlSite, url: str) -> None:
    site.url = url
    unsent(site)


def test_where_no_connection_is_made_in_time_nothing_ran(site: UrlSite) -> None:
    with full() as address:
        site.url = f"http://{address}/mcp"
        unsent(site)


def unsent(site: UrlSite) -> None:
    with site.proxy() as proxy:
        assert texts(proxy.called("post", POST)).startswith("nothing was executed")
        error = proxy.answer(proxy.ask("ping"))["error"]
        assert (error["code"], error["message"][:18]) == (-32000, "Connection closed:")
        assert site.url not in error["message"]
    assert [one.state for one in site.records()] == ["not_executed"]
    assert "Traceback" not in proxy.errors


def has_ipv6() -> bool:
    try:
        with closing(socket(AF_INET6)) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


# IPv6 is the kernel's to have: neither a checkout nor CI can install it.
@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_a_server_at_an_address_of_ipv6_is_reached(site: UrlSite) -> None:
    with RawServer(calls(lambda got: (said(done(got)),)), "::1") as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", POST)) == "done"
            assert len(server.said("tools/call")) == 1


# Answers that come whole, however they come


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(body: bytes, size: int) -> list[Step]:
    cut = (body[at : at + size] for at in range(0, len(body), size))
    return [CHUNKED, *(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in cut), b"0\r\n\r\n"]


def packed(kind: str, body: bytes, coding: str) -> bytes:
    head = (f"Content-Type: {kind}", f"Content-Encoding: {coding}")
    return response((gzip.compress if coding == "gzip" else zlib.compress)(body), *head)


def dripping(answer: bytes) -> list[Step]:
    """Give an answer byte by byte, with a comment now and then."""
    steps: list[Step] = [STREAM]
    for at in range(0, len(answer), 7):
        steps += [answer[at : at + 7], 0.01]
    return steps


WHOLE: dict[str, Callable[[Got], Sequence[Step]]] = {
    "in small chunks": lambda got: chunked(json.dumps(done(got)).encode(), 3),
    "gzip": lambda got: (packed("application/json", json.dumps(done(got)).encode(), "gzip"),),
    "deflate": lambda got: (packed("application/json", json.dumps(done(got)).encode(), "deflate"),),
    "a stream in gzip": lambda got: (packed("text/event-stream", event(done(got)), "gzip"),),
    "drop by drop": lambda got: dripping(event(BEAT) + b": still here\n\n" + event(done(got))),
    "after a while": lambda got: (0.5, said(done(got))),
    "in a batch": lambda got: (said([BEAT, done(got)]),),
    "after early hints": lambda got: (b"HTTP/1.1 103 Early Hints\r\n\r\n" + said(done(got)),),
    "as HTTP/1.0 without a length": lambda got: (
        b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n",
        json.dumps(done(got)).encode(),
    ),
    "with a mark of its order": lambda got: (
        response(b"\xef\xbb\xbf" + json.dumps(done(got)).encode()),
    ),
}


@pytest.mark.parametrize("form", WHOLE)
def test_an_answer_is_read_in_whatever_form_it_comes(site: UrlSite, form: str) -> None:
    with RawServer(calls(WHOLE[form])) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            for tool in ("post", "free"):
                assert texts(proxy.called(tool, POST)) == "done"
            assert len(server.said("tools/call")) == 2
    assert "Traceback" not in proxy.errors


# Answers that do not


def broken(got: Got) -> bytes:
    return packed("application/json", json.dumps(done(got)).encode(), "gzip")[:-8] + b"\xff" * 8


GARBAGE: dict[str, Callable[[Got], Sequence[Step]]] = {
    "a chunk of no size": lambda _: (CHUNKED, b"zz\r\n"),
    "a chunk too few": lambda got: chunked(json.dumps(done(got)).encode(), 30)[:-1],
    "broken gzip": lambda got: (broken(got),),
    "what only says that it is gzip": lambda got: (said(done(got), "Content-Encoding: gzip"),),
    "a head without end": lambda _: (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000,),
    "a length below zero": lambda _: (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",),
    "two lengths": lambda _: (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    ),
    "another protocol": lambda _: (b"SSH-2.0-OpenSSH_9.6\r\n",),
    "a switch of the protocol": lambda _: (b"HTTP/1.1 101 Switching Protocols\r\n\r\n",),
    "moved for good, to itself": lambda got: (
        response(b"", f"Location: {got.path}", status="307 Temporary Redirect"),
    ),
    "accepted, late": lambda _: (0.5, response(b"", status="202 Accepted")),
    "a page of a gateway": lambda _: (
        response(b"<html>504", "Content-Type: text/html", status="504 Gateway Timeout"),
    ),
    "not yet": lambda _: (response(b"", "Retry-After: 1", status="503 Service Unavailable"),),
}


@pytest.mark.parametrize("form", GARBAGE)
def test_what_is_no_answer_leaves_the_outcome_unknown_and_nothing_is_sent_again(
    site: UrlSite, form: str
) -> None:
    with RawServer(calls(GARBAGE[form])) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert "not known whether `post` took effect" in texts(proxy.called("post", POST))
            assert "error" in proxy.answer(proxy.call("free", POST))
            assert len(server.said("tools/call")) == 2
    assert "Traceback" not in proxy.errors


@pytest.mark.parametrize(
    "status", ["401 Unauthorized", "403 Forbidden", "429 Too Many Requests", "413 Too Large"]
)
def test_a_refusal_is_not_waited_out_and_the_next_call_is_sent(site: UrlSite, status: str) -> None:
    head = ("Retry-After: 3600", 'WWW-Authenticate: Bearer realm="x"')
    faults = [response(b"<p>no", *head, "Content-Type: text/html", status=status)]
    with RawServer(calls(lambda got: (faults.pop() if faults else said(done(got)),))) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", POST)).startswith("nothing was executed")
            assert texts(proxy.called("post", POST)) == "done"
            assert len(server.said("tools/call")) == 2


# What a server says to what wants no answer


def never_ending(got: Got) -> Sequence[Step]:
    """Take a notification, and then go on to speak for ever."""
    if got.http == "POST" and "id" not in got.message:
        beats: list[Step] = [b": beat\n\n", 0.2]
        return (STREAM, event(BEAT), *beats * 5000)
    return usual(got) or (said(done(got)),)


def test_who_goes_on_to_speak_after_a_notification_holds_nobody_up(site: UrlSite) -> None:
    with RawServer(never_ending) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", POST)) == "done"
            assert proxy.result(proxy.ask("ping")) == {}
            assert proxy.take(lambda m: m.get("method") == BEAT["method"]) == BEAT
            assert not server.over.is_set()


def test_a_session_that_is_open_and_never_hears_that_it_is_is_opened_once_more(
    site: UrlSite,
) -> None:
    """`initialize` is answered, and the word that the client is ready is lost."""
    known = set[str]()
    faults = list[str]()

    def script(got: Got) -> Sequence[Step]:
        session = got.head.get("mcp-session-id", "")
        if got.method == "notifications/initialized":
            if faults:
                faults.pop()
                return ("reset",)
            known.add(session)
        elif got.method == "tools/call" and session not in known:
            return (response(b"not ready", status="500 Internal Server Error"),)
        elif got.method == "tools/call" and got.message["params"]["arguments"] == {"text": "2"}:
            faults.append("lost")
            known.clear()
            return (response(b"", status="404 Not Found"),)
        return usual(got) or (said(done(got)),)

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", {"text": "1"})) == "done"
            assert texts(proxy.called("post", {"text": "2"})).startswith("nothing was executed")
            assert texts(proxy.called("post", {"text": "3"})) == "done"
            assert len(server.said("initialize")) == 3


def test_who_listens_without_a_session_is_heard_again_behind_a_gateway(site: UrlSite) -> None:
    """While the server is started anew, the gateway before it answers in its place."""
    down = response(b"<p>bad gateway", "Content-Type: text/html", status="502 Bad Gateway")
    listens: list[Sequence[Step]] = [(STREAM, event(BEAT)), (down,), (STREAM, event(BEAT), 9.0)]

    def script(got: Got) -> Sequence[Step]:
        if got.method == "subscriptions/listen":
            return listens.pop(0)
        return usual(got) or ()

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy, stateless=True)
            proxy.ask("subscriptions/listen", {"_meta": META, "notifications": {}})
            for _ in range(2):
                assert proxy.take(lambda m: m.get("method") == BEAT["method"]) == BEAT
            assert not [line for line in proxy.raw if b'"error"' in line]
            assert len(server.said("subscriptions/listen")) == 3


def test_who_is_refused_to_listen_is_told(site: UrlSite) -> None:
    def script(got: Got) -> Sequence[Step]:
        if got.method == "subscriptions/listen":
            return (response(b"", status="503 Service Unavailable"),)
        return usual(got) or ()

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy, stateless=True)
            given = proxy.ask("subscriptions/listen", {"_meta": META, "notifications": {}})
            assert "503" in proxy.answer(given)["error"]["message"]


@pytest.mark.parametrize("name", ["é\u2028☃", "7 8", "a" * 5000])
def test_the_rest_is_asked_for_by_whatever_name_its_event_has(site: UrlSite, name: str) -> None:
    def script(got: Got) -> Sequence[Step]:
        if got.http == "GET" and "last-event-id" in got.head:
            last = server.said("tools/call")[-1]
            return (STREAM, event(done(last), "8"))
        if got.method == "tools/call":
            return (STREAM, f"id: {name}\nretry: 100\ndata:\n\n".encode())
        return usual(got) or ()

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", POST)) == "done"
            assert len(server.said("tools/call")) == 1
            (rest,) = (one for one in server.got if "last-event-id" in one.head)
            assert rest.head["last-event-id"] == name


def test_a_server_that_dies_while_its_answer_is_resumed_leaves_the_outcome_unknown(
    site: UrlSite,
) -> None:
    """The rest of the answer is asked for in vain, whatever stands in its place."""

    def script(got: Got) -> Sequence[Step]:
        if got.http == "GET" and "last-event-id" in got.head:
            return (response(b"", status="404 Not Found"),)
        if got.method == "tools/call":
            return (STREAM, b"id: 1\nretry: 50\ndata:\n\n", 0.1, "reset")
        return usual(got) or ()

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert "not known" in texts(proxy.called("post", POST))
            assert len(server.said("tools/call")) == 1


def test_a_client_that_is_refused_may_open_a_session_later(site: UrlSite) -> None:
    ups = list[bool]()

    def script(got: Got) -> Sequence[Step]:
        if not ups:
            return (response(b"<p>down", status="503 Service Unavailable"),)
        return usual(got) or (said(done(got)),)

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            assert "503" in proxy.answer(proxy.ask("initialize", INITIALIZE))["error"]["message"]
            wait_for(lambda: bool(server.said("initialize")))
            ups.append(True)
            begin(proxy)
            assert texts(proxy.called("post", POST)) == "done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_too(site: UrlSite, number: signal.Signals) -> None:
    with RawServer(lambda got: usual(got) or (said(done(got)),)) as server:
        site.url = server.url
        with site.proxy() as proxy:
            begin(proxy)
            assert texts(proxy.called("post", POST)) == "done"
            proxy.process.send_signal(number)
            assert proxy.wait() == 0
        last = server.got[-1]
        assert (last.http, bool(last.head["mcp-session-id"])) == ("DELETE", True)
    assert "Traceback" not in proxy.errors
