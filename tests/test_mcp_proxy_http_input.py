"""What an operator says of a server over HTTP, what stays secret of it, and time that runs out."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import COMMAND, LONG, META, Json, texts
from mcp_proxy_http_sites import RawServer, UrlSite, calls, done, said
from retry_guard import Unknown
from retry_guard_mcp_proxy import Settings
from retry_guard_mcp_proxy._child import Patience
from retry_guard_mcp_proxy._http import HttpUpstream
from retry_guard_mcp_proxy._http_headers import Headers, wrapped
from retry_guard_mcp_proxy._judging import judge
from retry_guard_mcp_proxy._messages import Message
from retry_guard_mcp_proxy._scope import scope_of_url
from retry_guard_mcp_proxy._session import Session
from retry_guard_mcp_proxy._upstream import Ears

SECRET = "Bearer s3cr3t-t0ken"
URL = "http://127.0.0.1:9/mcp"


def said_of(*options: str) -> str:
    """Run the command; return what it says when it refuses."""
    done = subprocess.run(
        (*COMMAND, *options), capture_output=True, text=True, timeout=LONG, check=False, input=""
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--url", "ftp://host/mcp"), "--url is no http:// or https:// URL"),
        (("--url", "http://"), "--url is no http:// or https:// URL"),
        (("--url", "http://host:port/"), "--url is no http:// or https:// URL"),
        (("--url", "http://[::1/"), "--url is no http:// or https:// URL"),
        (("--url", "http://host/a b"), "--url is no http:// or https:// URL"),
        (("--url", URL, "--", "cat"), "say --url or -- CMD…, not both"),
        ((), "or --url URL"),
        (("--header", "A: b", "--", "cat"), "are for a server at --url"),
        (("--url", URL, "--header", SECRET), "write --header 'NAME: VALUE'"),
        (("--url", URL, "--header", f"a b: {SECRET}"), "letters, digits and hyphens"),
        (("--url", URL, "--header", f"X: {SECRET}\r\nY: z"), "header X is empty, or no plain text"),
        (("--url", URL, "--header", f"X: {SECRET}é"), "header X is empty, or no plain text"),
        (("--url", URL, "--header", "X:"), "header X is empty, or no plain text"),
        (("--url", URL, "--header", "mcp-session-id: 1"), "mcp-session-id is the proxy's own"),
        (("--url", URL, "--header-env", "X"), "write --header-env NAME=VAR"),
        (("--url", URL, "--header-env", "X=NOT_THERE_1"), "no environment variable NOT_THERE_1"),
    ],
)
def test_bad_input_is_one_line_that_shows_no_secret(options: tuple[str, ...], words: str) -> None:
    error = said_of(*options)
    assert words in error
    assert "s3cr3t" not in error


@pytest.mark.parametrize(
    ("name", "value", "url"),
    [
        ("ALL_PROXY", "gopher://127.0.0.1:1", URL),
        ("SSL_CERT_FILE", "/nowhere.pem", URL),
        ("OF_A_TEST", "1", "http://a\u2603.xn--\u0300/mcp"),
    ],
)
def test_what_the_client_library_cannot_use_is_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, url: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "the server at --url cannot be reached" in said_of("--url", url)


def test_a_client_library_that_is_missing_is_one_line() -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None; from retry_guard_console import main; "
        f"sys.exit(main(['mcp', '--url', {URL!r}]))"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=LONG, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "retry-guard: --url needs the extra mcp-proxy, or httpx2 alone: pip install httpx2\n"
    )


def test_a_server_that_is_a_process_needs_no_client_library() -> None:
    code = "import sys; import retry_guard_mcp_proxy._run; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run((sys.executable, "-c", code), check=False).returncode == 0


def test_headers_go_with_each_request_and_are_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_A_TEST", f" {SECRET} ")
    site = UrlSite(tmp_path)
    own = ("--header-env", "Authorization=OF_A_TEST", "--header", "X-Team: blue ")
    with RawServer(calls(lambda got: (said(done(got)),))) as server:
        site.url = f"{server.url}?token=s3cr3t"
        with site.proxy(*own) as proxy:
            proxy.initialize()
            assert texts(proxy.called("post", {"text": "1"})) == "done"
            server.__exit__()
            proxy.called("post", {"text": "2"})
            proxy.answer(proxy.call("free", {}))
        assert {one.http for one in server.got} >= {"POST", "GET"}
        for got in server.got:
            assert (got.head["authorization"], got.head["x-team"]) == (SECRET, "blue")
    written = [path.read_bytes() for path in tmp_path.iterdir()]
    assert not any(b"s3cr3t" in text for text in (*written, *proxy.raw, proxy.errors.encode()))
    assert "blue" not in repr(Settings(url=URL, headers=(("X-Team", "blue"),)))


def test_the_scope_tells_urls_apart_and_shows_none() -> None:
    scopes = {scope_of_url(f"https://host/mcp?token=s3cr3t{n}") for n in range(2)}
    assert len(scopes) == 2
    assert all("@host:" in scope and "s3cr3t" not in scope for scope in scopes)


def test_what_no_header_can_hold_is_wrapped() -> None:
    assert [wrapped(text) for text in ("a b", "", "x\t", " x", "é", "=?base64?eA==?=")] == [
        "a b",
        "",
        "=?base64?eAk=?=",
        "=?base64?IHg=?=",
        "=?base64?w6k=?=",
        "=?base64?PT9iYXNlNjQ/ZUE9PT89?=",
    ]


def test_arguments_that_the_schema_marks_become_headers() -> None:
    marked = {"type": "boolean", "x-mcp-header": "Dry-Run"}
    inner = {"properties": {"id": {"type": "integer", "x-mcp-header": "Id"}}}
    bad = {"x-mcp-header": "no token"}
    schema = {"properties": {"dry": marked, "to": inner, "bad": bad, "odd": 1}}
    headers = Headers()
    headers.learn({"result": {"tools": [{"name": "send", "inputSchema": schema}, {"name": 1}, 2]}})
    params = {"name": "send", "_meta": META}
    arguments: Json = {"dry": False, "to": {"id": 7}, "bad": "x", "odd": "y"}
    found = headers.of({"method": "tools/call", "params": {**params, "arguments": arguments}})
    assert {name: value for name, value in found.items() if "Param" in name} == {
        "Mcp-Param-Dry-Run": "false",
        "Mcp-Param-Id": "7",
    }
    for arguments in ({}, {"to": 1, "dry": None}, {"dry": [1]}):
        found = headers.of({"method": "tools/call", "params": {**params, "arguments": arguments}})
        assert sorted(found) == ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]
    found = headers.of({"method": "resources/read", "params": {"uri": "a://b", "_meta": META}})
    assert found["Mcp-Name"] == "a://b"
    assert headers.of({"method": "tools/call", "params": {"name": "send"}}) == {}


async def nothing(*_: object) -> None:
    """Hear nothing."""


def note(line: bytes, message: Message) -> None:
    """Note nothing."""


DEAF = Ears(said=nothing, asked=note, refused=nothing, ended=nothing, again=list)


@pytest.mark.parametrize("begins", [False, True])
async def test_a_server_that_falls_silent_leaves_the_outcome_unknown(begins: bool) -> None:
    first = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: beat\n\n"
    with RawServer(lambda _: (*([first] if begins else []), LONG)) as server:
        upstream = HttpUpstream(server.url, {}, Session(), DEAF, silence=0.3)
        error = await failed(lambda: upstream.request(upstream.new_id(), "tools/call", {}))
        assert type(error).__name__ == "ReadTimeout"
        assert isinstance(judge(error), Unknown)
        assert await asyncio.to_thread(server.heard)
        assert len(server.got) == 1
        await upstream.close(Patience())


async def test_a_call_that_is_under_way_at_the_end_is_unknown_and_none_begins_after_it() -> None:
    with RawServer(lambda _: (LONG,)) as server:
        upstream = HttpUpstream(server.url, {}, Session(), DEAF)

        async def ask() -> Message:
            return await upstream.request(upstream.new_id(), "tools/call", {})

        asking = asyncio.create_task(failed(ask))
        assert await asyncio.to_thread(server.heard)
        await upstream.close(Patience())
        assert isinstance(judge(await asking), Unknown)
        assert str(await failed(ask)) == "the proxy is closing"
        assert len(server.got) == 1


async def failed(work: Callable[[], Any]) -> BaseException:
    """Return what the work raises."""
    try:
        await work()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("it did not fail")
