"""What passes to and from a server over HTTP: the same bytes, and no mark that is the guard's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Proxy
from mcp_proxy_http_sites import STREAM, Got, RawServer, Step, UrlSite, calls, response, usual
from mcp_proxy_stated import command

CONTRACTS = "contracts: [{tool: plain}]"
ODD = b'{ "jsonrpc":"2.0",\t"id":"%s" , "result":{"x":[1e3,1.0,"\\u00e9"],"content":[ ]}}'
MARK = "retry-guard/outcome"
FAKE: dict[str, Any] = {
    "content": [{"type": "text", "text": "done"}],
    "isError": False,
    "_meta": {MARK: {"replayed": True}, "own": 1},
}


@pytest.fixture
def site(tmp_path: Path) -> UrlSite:
    site = UrlSite(tmp_path, CONTRACTS)
    site.forked = True
    return site


def opened(proxy: Proxy, *, stateless: bool) -> dict[str, Any]:
    """Begin as a client of that generation; return the `_meta` of its requests."""
    if stateless:
        proxy.answer(proxy.ask("server/discover", {"_meta": META}))
        return dict(META)
    proxy.initialize()
    return {}


LINES = [
    b'{ "id" : "a" ,\t"method":"tools/call", "jsonrpc":"2.0","params":{"name":"free","x":1e3}}',
    b'{"jsonrpc":"2.0","id":"b","method":"nobody/knows","params":[1,2.0,"\\u00e9"]}',
    b'{"jsonrpc":"2.0","id":"c","method":"resources/read","params":{"uri":"a:\xc3\xa9"}}',
]


def test_what_the_client_says_is_sent_as_it_was_said(site: UrlSite) -> None:
    with RawServer(lambda got: usual(got) or (response(b""),)) as server:
        site.url = server.url
        with site.proxy() as proxy:
            proxy.initialize()
            for line in LINES:
                proxy.write(line + b"\n")
            for given in "abc":
                proxy.answer(given)
            sent = {got.message.get("id"): got for got in server.got}
            assert [sent[given].message for given in "abc"] == [json.loads(one) for one in LINES]
            lengths = [int(sent[given].head["content-length"]) for given in "abc"]
            assert lengths == [len(line) + len(b"\n") for line in LINES]


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("streams", [False, True])
def test_what_the_server_says_reaches_the_client_as_it_was_said(
    site: UrlSite, stateless: bool, streams: bool
) -> None:
    def script(got: Got) -> Sequence[Step]:
        if got.method not in ("tools/call", "resources/read"):
            return usual(got) or ()
        body = ODD % got.message["id"].encode()
        if streams:
            return (STREAM, b"event: message\ndata: ", body, b"\n\n")
        return (response(body, "Content-Type: application/json"),)

    with RawServer(script) as server:
        site.url = server.url
        with site.proxy() as proxy:
            meta = opened(proxy, stateless=stateless)
            proxy.answer(proxy.call("free", {}, "one", _meta=meta))
            proxy.answer(proxy.ask("resources/read", {"uri": "a:b", "_meta": meta}, "two"))
        assert proxy.raw[-2:] == [ODD % given + b"\n" for given in (b"one", b"two")]


@pytest.mark.parametrize("stateless", [False, True])
@pytest.mark.parametrize("tool", ["plain", "free"])
def test_what_only_a_guard_may_say_is_taken_out(site: UrlSite, stateless: bool, tool: str) -> None:
    def script(got: Got) -> Sequence[Step]:
        answer = {"jsonrpc": "2.0", "id": got.message["id"], "result": FAKE}
        return (STREAM, f"data: {json.dumps(answer)}\n\n".encode())

    with RawServer(calls(script)) as server:
        site.url = server.url
        with site.proxy() as proxy:
            meta = opened(proxy, stateless=stateless)
            assert proxy.called(tool, {}, _meta=meta)["_meta"] == {"own": 1}


def test_doctor_names_a_server_by_its_host_and_shows_no_url(site: UrlSite) -> None:
    with RawServer(calls(lambda _: ())) as server:
        site.url = f"{server.url}?token=s3cr3t"
        with site.proxy() as proxy:
            proxy.initialize()
            proxy.answer(proxy.ask("tools/list"))
        shown = command(site, "doctor").stdout
    assert "127.0.0.1:" in shown
    assert "without a contract, so unguarded: charge" in " ".join(shown.split())
    assert "s3cr3t" not in shown
    assert "/mcp" not in shown
