"""What a server at a URL states of its tools, and the trust in that."""

import json
import sys
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mcp_proxy_client import COMMAND, Json, Proxy, Site, tools
from mcp_proxy_stated import KEYED, command_of, tool

TOKEN = "Bearer s3cr3t"


class Handler(BaseHTTPRequestHandler):
    """Lists one tool, whose contract it states, to whoever has the token."""

    listed: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != TOKEN:
            self.answer(401, {})
        elif "id" not in message:
            self.answer(202, {})
        elif message["method"] == "initialize":
            said: Json = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            named = {"serverInfo": {"name": "x", "version": "1"}}
            self.answer(200, {"id": message["id"], "result": {**said, **named}})
        else:
            self.answer(200, {"id": message["id"], "result": {"tools": self.listed}})

    def do_GET(self) -> None:
        self.answer(405, {})

    def answer(self, status: int, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode() if message else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - as it is overridden
        """Say nothing."""


@pytest.fixture
def url() -> Generator[str]:
    Handler.listed = [tool("post", KEYED)]
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()


def test_a_server_at_a_url_is_trusted_with_its_headers_and_for_that_url_alone(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_HERE", TOKEN)
    site = Site(tmp_path, "contracts: []")
    header = ("--header-env", "Authorization=TOKEN_HERE")
    words = ("contracts", "trust", "there", "--ledger", site.ledger, "--url", url)
    refused = command_of(*words)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    done = command_of(*words, *header)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 trusted" in done.stdout
    for where, is_trusted in ((url, True), (f"{url}?other=1", False)):
        given = ("--ledger", site.ledger, *header, "--url", where)
        with Proxy((*COMMAND, *given)) as proxy:
            proxy.initialize()
            shown = tools(proxy.result(proxy.ask("tools/list")))
            properties = shown["post"]["inputSchema"]["properties"]
            assert ("key" not in properties) is is_trusted
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"s3cr3t" in text for text in files)


def test_without_the_client_library_trust_is_one_line(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "import retry_guard_console; sys.exit(retry_guard_console.main())"
    )
    words = ("contracts", "trust", "x", "--ledger", f"sqlite:///{tmp_path}/g.db")
    done = command_of(*words, "--url", "http://127.0.0.1:9/", run=(sys.executable, "-c", code))
    assert done.returncode == 2
    assert "pip install httpx2" in done.stderr
    assert done.stderr.count("\n") == 1
