"""What a server over HTTP may do to a call, byte by byte, and what the guard makes of it."""

import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_proxy_client import LONG, META, Given, Json, Proxy, texts, turn, wait_for
from mcp_proxy_http_sites import (
    STREAM,
    Got,
    RawServer,
    Script,
    Step,
    UrlSite,
    calls,
    done,
    event,
    opened,
    response,
    result,
    said,
    usual,
)

POST = {"text": "hello"}
BEAT = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}


@pytest.fixture
def site(tmp_path: Path) -> UrlSite:
    return UrlSite(tmp_path)


@contextmanager
def between(site: UrlSite, script: Script) -> Generator[tuple[Proxy, RawServer]]:
    """Start a proxy in front of a scripted server, in a session."""
    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            proxy.initialize()
            yield proxy, server


def head(status: str, *more: str) -> Callable[[Got], Sequence[Step]]:
    return lambda _: (response(b"", *more, status=status),)


PLACE = "Location: /elsewhere"
LOST: dict[str, Callable[[Got], Sequence[Step]]] = {
    "closed": lambda _: (),
    "reset": lambda _: ("reset",),
    "stream cut": lambda _: (STREAM, event(BEAT)),
    "event cut": lambda got: (STREAM, event(done(got))[:-9]),
    "stream reset": lambda _: (STREAM, event(BEAT), 0.2, "reset"),
    "body cut": lambda got: (said(done(got))[:-5],),
    "garbage": lambda _: (b"\x00\xff\r\n\r\n",),
    "no JSON": lambda _: (response(b"{oops", "Content-Type: application/json"),),
    "no message": lambda _: (response(b"[1, {}]", "Content-Type: application/json"),),
    "a page": lambda _: (response(b"<p>hello", "Content-Type: text/html"),),
    "nothing": head("200 OK"),
    "another answer": lambda got: (said({**done(got), "id": "another"}),),
    "accepted": head("202 Accepted"),
    "moved": head("302 Found", PLACE),
    "moved for good": head("308 Permanent Redirect", PLACE),
    "500": head("500 Internal Server Error"),
    "502": lambda _: (response(b"<p>bad gateway", status="502 Bad Gateway"),),
    "503": head("503 Service Unavailable", "Retry-After: 1"),
    "504": head("504 Gateway Timeout"),
    "408": head("408 Request Timeout"),
    "409": head("409 Conflict"),
    "internal error": lambda got: (
        said({**answered(got), "error": {"code": -32603, "message": "?"}}, status="500 Oops"),
    ),
}


def answered(got: Got) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": got.message["id"]}


@pytest.mark.parametrize("fault", LOST)
def test_an_answer_that_is_lost_leaves_the_outcome_unknown_and_nothing_is_sent_again(
    site: UrlSite, fault: str
) -> None:
    with between(site, calls(LOST[fault])) as (proxy, server):
        unknown = proxy.called("post", POST)
        assert unknown["isError"]
        assert "not known whether `post` took effect" in texts(unknown)
        assert proxy.called("post", POST, _meta=turn("later"))["isError"]
        assert len(server.said("tools/call")) == 1
        assert {one.path for one in server.got} == {"/mcp"}
        free = proxy.answer(proxy.call("free", {}))
        assert free["error"]["code"] in (-32000, -32603)
        assert "/mcp" not in free["error"]["message"]
    assert len(server.said("tools/call")) == 2
    assert "Traceback" not in proxy.errors


def test_a_lost_answer_is_asked_for_again_with_the_same_key(site: UrlSite) -> None:
    faults = [LOST["stream cut"], LOST["503"], LOST["reset"]]
    script = calls(lambda got: faults.pop()(got) if faults else (STREAM, event(done(got))))
    with between(site, script) as (proxy, server):
        assert texts(proxy.called("charge", {"customer": "c"})) == "done"
        keys = [one.message["params"]["arguments"]["key"] for one in server.said("tools/call")]
        ids = [one.message["id"] for one in server.said("tools/call")]
    assert (len(keys), len(set(keys)), len(set(ids))) == (4, 1, 4)


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "401 Unauthorized", "403 Forbidden", "429 Too Many Requests"]
)
def test_a_refusal_proves_that_nothing_ran(site: UrlSite, status: str) -> None:
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "not so"}}
    faults = [said(refusal, status=status)]
    with between(site, calls(lambda got: (faults.pop() if faults else said(done(got)),))) as pair:
        proxy, server = pair
        refused = texts(proxy.called("post", POST))
        assert refused == f"nothing was executed: the server answered with HTTP {status}: not so"
        assert texts(proxy.called("post", POST)) == "done"
        assert len(server.said("tools/call")) == 2


def test_an_error_that_answers_the_request_is_passed_on_whatever_the_status(site: UrlSite) -> None:
    error = {"code": -32602, "message": "amount must be above 0", "data": [1]}
    script = calls(lambda got: (said({**answered(got), "error": error}, status="400 Bad Request"),))
    with between(site, script) as (proxy, server):
        for tool in ("post", "free"):
            assert proxy.answer(proxy.call(tool, {}))["error"] == error
        assert len(server.said("tools/call")) == 2


def test_a_server_that_is_gone_proves_that_nothing_ran(site: UrlSite) -> None:
    with RawServer(calls(lambda got: (said(done(got)),))) as server:
        site.url = server.url
        with site.proxy() as proxy:
            proxy.initialize()
            server.__exit__()
            assert texts(proxy.called("post", POST)).startswith("nothing was executed")
            error = proxy.answer(proxy.call("free", {}))["error"]
            assert (error["code"], error["message"][:18]) == (-32000, "Connection closed:")
    assert site.records()[0].state == "not_executed"


class Forgetful:
    """A server that forgets its session before the second call."""

    def __init__(self, refusal: bytes) -> None:
        self.refusal, self.known, self.asked = refusal, set[str](), 0

    def __call__(self, got: Got) -> Sequence[Step]:
        if got.method == "initialize":
            answer = opened(got)
            name = answer.partition(b"Mcp-Session-Id: ")[2].partition(b"\r\n")[0]
            self.known = {name.decode()}
            return (answer,)
        self.asked += got.method == "tools/call"
        if self.asked == 2:
            self.known.clear()
            self.asked += 1
        if got.head.get("mcp-session-id") not in self.known:
            return (self.refusal,)
        return usual(got) or (said(done(got)),)


NO_SESSION = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"},
}

OF_A_TOOL = {"code": -32000, "message": "Invalid session: cs_1 was paid"}


@pytest.mark.parametrize(
    "refusal",
    [
        response(b"", status="404 Not Found"),
        said(NO_SESSION, status="400 Bad Request"),
        response(
            b"Invalid or missing session ID\n", "Content-Type: text/plain", status="400 Bad Request"
        ),
    ],
    ids=["404", "400", "400 in plain text"],
)
@pytest.mark.parametrize("tool", ["post", "free"])
def test_a_call_that_was_refused_for_want_of_a_session_goes_into_the_next_one(
    site: UrlSite, tool: str, refusal: bytes
) -> None:
    with between(site, Forgetful(refusal)) as (proxy, server):
        assert texts(proxy.called(tool, {"text": "1"})) == "done"
        assert texts(proxy.called(tool, {"text": "2"})) == "done"
        assert len(server.said("initialize")) == 2
        first, second = (one.message["params"] for one in server.said("initialize"))
        assert first == second
        assert len(server.said("notifications/initialized")) == 2
        assert len({one.head["mcp-session-id"] for one in server.said("tools/call")}) == 2


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"error": "invalid session: cs_1 was paid"}', "application/json"),
        (b"Invalid session: cs_1 was paid", "text/plain; charset=utf-8"),
        (json.dumps({**NO_SESSION, "error": OF_A_TOOL}).encode(), "application/json"),
    ],
)
def test_a_refusal_that_speaks_of_a_session_of_the_tool_stands_and_is_shown(
    site: UrlSite, body: bytes, kind: str
) -> None:
    refusal = response(body, f"Content-Type: {kind}", status="400 Bad Request")
    with between(site, calls(lambda _: (refusal,))) as (proxy, server):
        shown = texts(proxy.called("post", POST))
        assert shown.startswith("nothing was executed: the server answered with HTTP 400")
        assert "nvalid session: cs_1 was paid" in shown
        error = proxy.answer(proxy.call("free", POST))["error"]["message"]
        assert "nvalid session: cs_1 was paid" in error
        assert (len(server.said("tools/call")), len(server.said("initialize"))) == (2, 1)


def echoed(got: Got, code: int, words: str) -> bytes:
    """Return the refusal of a request that names its id."""
    error = {"code": code, "message": words}
    answer = {"jsonrpc": "2.0", "id": got.message.get("id"), "error": error}
    return said(answer, status="404 Not Found")


@pytest.mark.parametrize(
    ("code", "words"),
    [(-32001, "Session not found"), (-32000, "gone"), (-32603, "Session s-1 was not found")],
)
@pytest.mark.parametrize("tool", ["post", "free"])
def test_a_refusal_for_want_of_a_session_may_name_the_request(
    site: UrlSite, tool: str, code: int, words: str
) -> None:
    forgets = Forgetful(b"")

    def script(got: Got) -> Sequence[Step]:
        steps = forgets(got)
        return (echoed(got, code, words),) if steps == (b"",) else steps

    with between(site, script) as (proxy, server):
        for text in ("1", "2"):
            assert texts(proxy.called(tool, {"text": text})) == "done"
        assert len(server.said("initialize")) == 2
        assert len(server.said("tools/call")) == 3


@pytest.mark.parametrize(("code", "opened"), [(-32001, 2), (-32601, 1), (-32602, 1), (-32603, 1)])
def test_an_error_that_a_server_says_again_in_a_new_session_is_its_answer(
    site: UrlSite, code: int, opened: int
) -> None:
    with between(site, calls(lambda got: (echoed(got, code, "no such tool"),))) as (proxy, server):
        error = proxy.answer(proxy.call("free", {}))["error"]
        assert error == {"code": code, "message": "no such tool"}
        assert len(server.said("tools/call")) == opened
        assert len(server.said("initialize")) == opened


def test_all_that_waits_for_a_session_ends_with_one_try_to_open_it(site: UrlSite) -> None:
    tries: list[Got] = []

    def script(got: Got) -> Sequence[Step]:
        if got.method == "initialize":
            tries.append(got)
            if len(tries) > 1:
                return (3.0, response(b"", status="503 Service Unavailable"))
        return usual(got) or (response(b"", status="404 Not Found"),)

    with between(site, script) as (proxy, server):
        asked = [proxy.call("free", {"n": number}) for number in range(6)]
        for given in asked:
            error = proxy.answer(given)["error"]["message"]
            assert "session was not opened again" in error
        assert len(server.said("tools/call")) == 6
        assert len(tries) == 2


def test_what_a_client_was_granted_is_asked_for_in_the_next_session_too(site: UrlSite) -> None:
    forgets = Forgetful(response(b"", status="404 Not Found"))

    def script(got: Got) -> Sequence[Step]:
        refuses = got.method == "logging/setLevel" and len(server.said("initialize")) == 2
        return (response(b"", status="400 Bad Request"),) if refuses else forgets(got)

    with between(site, script) as (proxy, server):
        for method, params in (
            ("resources/subscribe", {"uri": "a:b"}),
            ("resources/subscribe", {"uri": "a:left"}),
            ("resources/unsubscribe", {"uri": "a:left"}),
            ("logging/setLevel", {"level": "debug"}),
        ):
            proxy.result(proxy.ask(method, params))
        for text in ("1", "2"):
            assert texts(proxy.called("post", {"text": text})) == "done"
        assert proxy.said("does not grant logging/setLevel again")
        assert proxy.silent()
        known = [one.head.get("mcp-session-id") for one in server.said("tools/call")][-1]
        again = [one for one in server.got if one.head.get("mcp-session-id") == known]
        asked = [one.message for one in again if one.http == "POST"]
        assert [one["method"] for one in asked][:4] == [
            "notifications/initialized",
            "resources/subscribe",
            "logging/setLevel",
            "tools/call",
        ]
        assert [one["params"] for one in asked[1:3]] == [{"uri": "a:b"}, {"level": "debug"}]


def test_a_session_that_is_lost_twice_ends_in_the_words_of_the_server(site: UrlSite) -> None:
    refusal = said(NO_SESSION, status="400 Bad Request")
    with between(site, calls(lambda _: (refusal,))) as (proxy, server):
        shown = texts(proxy.called("post", POST))
        assert shown.startswith("nothing was executed")
        assert "No valid session ID provided" in shown
        assert (len(server.said("tools/call")), len(server.said("initialize"))) == (2, 2)
    assert site.records()[0].state == "not_executed"


@pytest.mark.parametrize("fault", ["503", "stream cut", "internal error", "reset"])
def test_a_session_that_cannot_be_opened_again_costs_nothing(site: UrlSite, fault: str) -> None:
    methods: list[str] = []

    def script(got: Got) -> Sequence[Step]:
        methods.append(got.method)
        if got.method == "initialize" and "tools/call" in methods:
            return LOST[fault](got)
        return usual(got) or (response(b"", status="404 Not Found"),)

    with between(site, script) as (proxy, server):
        refused = texts(proxy.called("post", POST))
        assert refused.startswith("nothing was executed: the session was not opened again")
        error = proxy.answer(proxy.call("free", {}))["error"]
        assert "session was not opened again" in error["message"]
        assert len(server.said("tools/call")) == 1
    assert site.records()[0].state == "not_executed"


def resumed(rest: Callable[[Got], Sequence[Step]]) -> Script:
    """Return a script whose answers break off after an event with a number."""
    asked: list[Got] = []

    def script(got: Got) -> Sequence[Step]:
        if got.http == "GET" and "last-event-id" in got.head:
            return rest(asked[-1])
        if got.method == "tools/call":
            asked.append(got)
            return (STREAM, b"id: 7\nretry: 100\ndata:\n\n")
        return usual(got) or ()

    return script


def test_the_rest_of_an_answer_is_asked_for_by_its_last_event(site: UrlSite) -> None:
    with between(site, resumed(lambda got: (STREAM, event(done(got), "8")))) as (proxy, server):
        assert texts(proxy.called("post", POST)) == "done"
        assert len(server.said("tools/call")) == 1
        rests = [one for one in server.got if "last-event-id" in one.head]
        assert [one.head["last-event-id"] for one in rests] == ["7"]
        assert rests[0].head["mcp-session-id"]


def test_a_rest_that_does_not_come_leaves_the_outcome_unknown(site: UrlSite) -> None:
    with between(site, resumed(lambda _: (STREAM,))) as (proxy, server):
        assert "not known" in texts(proxy.called("post", POST))
        assert len(server.said("tools/call")) == 1
        assert len([one for one in server.got if "last-event-id" in one.head]) == 3


def test_what_was_said_before_a_request_is_taken_before_it(site: UrlSite) -> None:
    taken: list[str] = []

    def script(got: Got) -> Sequence[Step]:
        if "id" not in got.message and got.http == "POST":
            time.sleep(0.3)
        taken.append(got.method)
        return usual(got) or (said(done(got)),)

    with between(site, script) as (proxy, _):
        proxy.tell("notifications/roots/list_changed")
        proxy.called("post", POST)
    assert [one for one in taken if one][:4] == [
        "initialize",
        "notifications/initialized",
        "notifications/roots/list_changed",
        "tools/call",
    ]


def test_a_cancelled_request_without_a_guard_is_cancelled_as_its_generation_does(
    site: UrlSite,
) -> None:
    told = threading.Event()

    def script(got: Got) -> Sequence[Step]:
        if got.method == "notifications/cancelled":
            told.set()
        if got.method != "tools/call":
            return usual(got) or ()
        stateless = "_meta" in got.message["params"]
        if not stateless:
            assert told.wait(LONG)
            return (said(done(got)),)
        beats: list[Step] = [b": beat\n\n", 0.05]
        return (STREAM, *beats * 2000)

    with between(site, script) as (proxy, server):
        asked = proxy.call("free", {})
        proxy.cancel(asked)
        proxy.answer(asked)
        assert len(server.said("notifications/cancelled")) == 1
        proxy.result(proxy.ask("tools/list", {"_meta": META}))
        asked = proxy.call("free", {}, _meta=META)
        wait_for(lambda: len(server.said("tools/call")) == 2)
        proxy.cancel(asked)
        assert proxy.silent()
        assert len(server.said("notifications/cancelled")) == 1
        assert server.left()


@pytest.mark.parametrize("batched", [False, True])
def test_what_a_server_asked_in_a_lost_session_is_not_answered_in_the_next(
    site: UrlSite, *, batched: bool
) -> None:
    asking: Json = {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {}}
    forgets = Forgetful(response(b"", status="404 Not Found"))

    def script(got: Got) -> Sequence[Step]:
        steps = forgets(got)
        if got.method == "tools/call" and steps != (forgets.refusal,):
            return (STREAM, event([asking] if batched else asking), 0.2, event(done(got)))
        return steps

    with between(site, script) as (proxy, server):
        asked: list[Given] = []
        for text in ("1", "2"):
            proxy.called("free", {"text": text})
            asked.append(proxy.take(lambda m: m.get("method") == "elicitation/create")["id"])
        assert asked[0] == 0 != asked[1]
        for given, action in zip(asked, ("accept", "decline"), strict=True):
            proxy.send({"jsonrpc": "2.0", "id": given, "result": {"action": action}})
        proxy.answer(proxy.ask("ping"))
        answers = [one.message for one in server.got if one.message.get("result")]
        assert [(one["id"], one["result"]["action"]) for one in answers] == [(0, "decline")]


def test_large_and_odd_answers_come_as_one_line_each(site: UrlSite) -> None:
    long = "x\u2028é" * 2_000_000

    def script(got: Got) -> Sequence[Step]:
        answer = result(got, {"content": [{"type": "text", "text": long}]})
        pretty = json.dumps(answer, indent=1, ensure_ascii=False).encode()
        match got.message["params"]["name"]:
            case "pretty":
                return (response(pretty, "Content-Type: application/json; charset=utf-8"),)
            case "lines":
                lines = b"".join(b"data: %s\r\n" % line for line in pretty.split(b"\n"))
                return (STREAM, b"event: other\ndata: 1\n\n", b": beat\n\n", lines, b"\r\n")
            case _:
                return (STREAM, event(answer))

    with between(site, calls(script)) as (proxy, _):
        for tool in ("pretty", "lines", "event", "post"):
            assert texts(proxy.called(tool, {})) == long
        assert all(line.endswith(b"}\n") for line in proxy.raw)


def test_a_stream_of_the_server_that_ends_is_opened_again(site: UrlSite) -> None:
    opened_so_often = 0

    def script(got: Got) -> Sequence[Step]:
        nonlocal opened_so_often
        if got.http != "GET":
            return usual(got) or ()
        opened_so_often += 1
        if opened_so_often == 2:
            return (response(b"", status="409 Conflict"),)
        return (STREAM, event(BEAT, str(opened_so_often)))

    with between(site, script) as (proxy, server):
        for _ in range(2):
            assert proxy.take(lambda m: m.get("method") == BEAT["method"]) == BEAT
        gets = [one for one in server.got if one.http == "GET"]
        assert [one.head.get("last-event-id") for one in gets[:3]] == [None, "1", "1"]


def test_the_next_request_after_a_broken_notification_is_sent(site: UrlSite) -> None:
    def script(got: Got) -> Sequence[Step]:
        return () if got.method.endswith("list_changed") else usual(got) or ()

    with between(site, script) as (proxy, _):
        proxy.tell("notifications/roots/list_changed")
        assert proxy.result(proxy.ask("ping")) == {}
        assert proxy.said("a message was not sent")


def test_a_key_travels_as_a_header_and_is_the_same_in_each_send(tmp_path: Path) -> None:
    contract = "{tool: post, key: {param: 'header:Idempotency-Key', retention: 60}}"
    site = UrlSite(tmp_path, f"contracts: [{contract}]")
    faults = [LOST["reset"]]
    script = calls(lambda got: faults.pop()(got) if faults else (said(done(got)),))
    with between(site, script) as (proxy, server):
        assert texts(proxy.called("post", POST)) == "done"
        sent = server.said("tools/call")
        keys = {one.head["idempotency-key"] for one in sent}
        assert (len(sent), len(keys)) == (2, 1)
        assert all(one.message["params"] == {"name": "post", "arguments": POST} for one in sent)
        proxy.called("free", POST)
        assert "idempotency-key" not in server.said("tools/call")[-1].head
