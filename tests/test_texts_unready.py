"""A proxy whose guard cannot work says why: to the client that asks for tools, and at its end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_proxy_client import META, Proxy, Site, StartedSite
from mcp_proxy_http_sites import UrlSite
from mcp_proxy_works_sites import works

POST = {"text": "hello"}
BROKEN = "contracts: ["
WHY = "retry-guard mcp cannot guard this server, so no tool of it can be called: "
YAML = "contracts.yaml:1: is not valid YAML"
ASKS: dict[str, Callable[[Proxy], int | str]] = {
    "tools/list": lambda proxy: proxy.ask("tools/list", {"_meta": META}),
    "tools/call": lambda proxy: proxy.call("post", POST, _meta=META),
}
every_ask = pytest.mark.parametrize("ask", list(ASKS))


def refusal(proxy: Proxy, ask: str) -> str:
    """Ask, and return the message of the error that comes."""
    error = proxy.answer(ASKS[ask](proxy))["error"]
    assert error["code"] == -32603
    message: str = error["message"]
    return message


def ended(proxy: Proxy) -> str:
    """Wait for the end; return what was said on standard error, which is one line."""
    assert proxy.wait() == 2
    (line,) = [one for one in proxy.errors.splitlines() if one.startswith("retry-guard")]
    return line


@every_ask
def test_whoever_asks_for_tools_hears_what_is_wrong_with_the_contracts(
    tmp_path: Path, ask: str
) -> None:
    site = StartedSite(tmp_path, BROKEN)
    with site.proxy() as proxy:
        proxy.initialize()  # the server is there before the guard is
        assert refusal(proxy, ask).startswith(WHY)
        line = ended(proxy)
    assert YAML in line
    assert YAML in proxy.raw[-1].decode()
    assert site.calls == []


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "nonsense names no kind of ledger"),
        ("postgresql://u:hunter2@db/x", "names no kind of ledger"),
        ("sqlite:////no/where/l.db", "the folder /no/where does not exist"),
    ],
)
def test_whoever_asks_for_tools_hears_what_is_wrong_with_the_ledger(
    tmp_path: Path, url: str, said: str
) -> None:
    site = Site(tmp_path)
    with site.proxy("--ledger", url) as proxy:
        told = refusal(proxy, "tools/list")
        line = ended(proxy)
    for text in (told, line):
        assert said in text
        assert "hunter2" not in text
    assert site.calls == []


def test_what_is_wrong_in_several_places_is_one_line(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: a, key: 5, in_flight_bound: x}]")
    with site.proxy() as proxy:
        told = refusal(proxy, "tools/call")
        line = ended(proxy)
    for text in (told, line):
        assert "key: must hold fields, one per line; " in text
        assert "in_flight_bound: must be a number" in text


@every_ask
def test_a_server_at_a_url_is_not_called_unguarded_either(tmp_path: Path, ask: str) -> None:
    with works(tmp_path, BROKEN, "stateless") as site:
        assert isinstance(site, UrlSite)
        with site.client() as caller:
            assert refusal(caller.proxy, ask).startswith(WHY)
            assert YAML in ended(caller.proxy)
        assert site.effects == []


def test_a_server_that_takes_its_time_costs_the_client_no_reason(tmp_path: Path) -> None:
    """Its session is open only then: a client asks for tools after that, and not before."""
    site = Site(tmp_path, BROKEN)
    slow = ("sh", "-c", 'sleep 8; exec "$@"', "sh", *site.server)
    with site.proxy(server=slow) as proxy:
        proxy.initialize()
        assert refusal(proxy, "tools/list").startswith(WHY)
        assert YAML in ended(proxy)


def test_a_client_that_asks_for_nothing_sees_the_end_all_the_same(tmp_path: Path) -> None:
    with Site(tmp_path, BROKEN).proxy() as proxy:
        assert YAML in ended(proxy)


def test_a_client_that_is_gone_is_told_nothing(tmp_path: Path) -> None:
    with Site(tmp_path, BROKEN).proxy() as proxy:
        assert proxy.end() == 2
    assert proxy.raw == []


def test_a_proxy_that_guards_nothing_does_not_care(tmp_path: Path) -> None:
    with Site(tmp_path, BROKEN).proxy("--mode", "off", "--ledger", "nonsense") as proxy:
        assert not proxy.called("post", POST)["isError"]
