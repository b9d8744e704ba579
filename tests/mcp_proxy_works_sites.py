"""The works behind the proxy, as a process or at a URL, and a client of either generation."""

import json
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from forked import Forked
from mcp_proxy_client import INITIALIZE, LONG, META, Given, Json, Proxy, Site, texts
from mcp_proxy_http_sites import UrlSite

SERVER = str(Path(__file__).with_name("mcp_proxy_works_server.py"))
ABLE = "io.modelcontextprotocol/clientCapabilities"
FORMS: Json = {"elicitation": {"form": {}}}
Way = Literal["process", "session", "stateless"]
"""How the server is reached: as a process; at a URL, in a session or without one."""
WAYS: tuple[Way, ...] = ("process", "session", "stateless")
URLS: tuple[Way, ...] = ("session", "stateless")


class Works(Site):
    """The works as a process of the proxy."""

    way: Way = "process"

    @property
    def server(self) -> tuple[str, ...]:
        # Without `site`, which it does not need, it starts faster.
        return (sys.executable, "-S", SERVER, str(self.folder))

    @property
    def options(self) -> tuple[str, ...]:
        """What a proxy here is told: the contracts, the ledger, and for whom it acts."""
        contracts = str(self.folder / "contracts.yaml")
        return ("--contracts", contracts, "--ledger", self.ledger, "--scope", "acme")

    @property
    def calls(self) -> list[Json]:
        """The writes and previews that reached the server, with the headers of each."""
        return self._lines("calls.jsonl")

    def sent(self, tool: str) -> list[Json]:
        """The arguments of the calls of one tool that reached the server."""
        return [one["arguments"] for one in self.calls if one["name"] == tool]

    @property
    def lines(self) -> list[Any]:
        """The messages that reached the server."""
        return self._lines("heard.jsonl")

    def shows(self, *fates: str) -> None:
        """Say how the next previews go."""
        lines = "".join(json.dumps(one) + "\n" for one in fates)
        (self.folder / "shown.jsonl").write_text(lines, encoding="utf-8")

    def append_token(self, token: str, arguments: Json) -> None:
        """Let the server have given a token, for a preview that nobody saw."""
        with (self.folder / "tokens.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"token": token, "for": arguments}) + "\n")

    def switch(self, name: str, value: object = "") -> None:
        (self.folder / name).write_text(json.dumps(value) + "\n", encoding="utf-8")

    @contextmanager
    def client(self, *options: str, asks: bool = False) -> Generator["Caller"]:
        """Start a proxy, and a client of it."""
        with self.proxy(*options) as proxy:
            yield Caller(proxy, stateless=self.way == "stateless", asks=asks)


class UrlWorks(Works, UrlSite):
    """The works at a URL."""

    def __init__(self, folder: Path, contracts: str, way: Way) -> None:
        super().__init__(folder, contracts)
        self.way = way
        self._process = Forked("mcp_proxy_works_http", (str(folder),), os.environ)
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/mcp"

    def proxy(self, *options: str, server: Sequence[str] | None = None) -> Proxy:
        return UrlSite.proxy(self, *options, server=server)

    def end(self) -> None:
        self._process.end(LONG)


@contextmanager
def works(folder: Path, contracts: str, way: Way) -> Generator[Works]:
    """The works with these contracts, until the end of the block."""
    if way == "process":
        yield Works(folder, contracts)
        return
    site = UrlWorks(folder, contracts, way)
    try:
        yield site
    finally:
        site.end()


class Caller:
    """A client of one of the generations. `asks`: it shows forms to a person."""

    def __init__(self, proxy: Proxy, *, stateless: bool, asks: bool) -> None:
        self.proxy, self.stateless = proxy, stateless
        able = FORMS if asks else {}
        self.meta: Json = {**META, ABLE: able} if stateless else {}
        if stateless:
            proxy.result(proxy.ask("server/discover", {"_meta": self.meta}))
        else:
            proxy.result(proxy.ask("initialize", {**INITIALIZE, "capabilities": able}))
            proxy.tell("notifications/initialized")

    def listed(self) -> list[Json]:
        """Ask for the list of tools."""
        result = self.proxy.result(self.proxy.ask("tools/list", {"_meta": self.meta}))
        tools: list[Json] = result["tools"]
        return tools

    def begin(self, tool: str, arguments: Json, meta: Json | None = None) -> Given:
        """Begin a call; return its id."""
        whole = {**self.meta, **(meta or {})}
        return self.proxy.call(tool, arguments, None, **({"_meta": whole} if whole else {}))

    def called(self, tool: str, arguments: Json, meta: Json | None = None) -> Json:
        return self.proxy.result(self.begin(tool, arguments, meta))

    def made(self, tool: str, arguments: Json, meta: Json | None = None) -> Json:
        """Call a tool; return what it made."""
        result = self.called(tool, arguments, meta)
        assert result["isError"] is False, result
        made: Json = json.loads(texts(result))
        return made
