"""A proxy is killed while calls outlast their client: the next one with its ledger goes on."""

import contextlib
import queue
import subprocess
from pathlib import Path

import pytest

from mcp_proxy_client import Given, Json, Proxy, Site, texts, turn, wait_for

CALLS: dict[str, Json] = {
    "charge": {"customer": "c", "amount": 1},  # takes a key
    "typed": {"text": "found"},  # can be read back
    "post": {"text": "neither"},
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(Proxy, "module", "mcp_proxy_brief")
    return Site(tmp_path)


def late(proxy: Proxy, given: Given) -> Json:
    """Return a result that comes once the lease of who was killed is over."""
    for _ in range(4):
        with contextlib.suppress(queue.Empty):
            return proxy.result(given)
    return proxy.result(given)


def is_there(pid: int) -> bool:
    """Whether it runs; what has ended and is not buried yet does not."""
    command = ("ps", "-o", "stat=", "-p", str(pid))
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def outlasted(site: Site, first: Proxy, *, cancelled: bool) -> None:
    """Make calls that have their effects and no answer, and let their client give up."""
    first.initialize()
    first.answer(first.ask("tools/list"))  # all is there, so the time of the calls is their own
    site.fates(*["hang_after"] * 3)
    asked = {first.call(tool, arguments): tool for tool, arguments in CALLS.items()}
    wait_for(lambda: len(site.effects) == len(CALLS))
    for given in asked:
        if cancelled:
            first.cancel(given)
        else:
            assert "still running" in texts(first.result(given))
    if cancelled:
        first.answer(first.ask("ping"))


@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "answered early"])
def test_what_outlasts_its_client_and_its_proxy_ends_as_the_guard_decides(
    site: Site, *, cancelled: bool
) -> None:
    options = () if cancelled else ("--answer-within", "3")
    with site.proxy(*options) as first:
        outlasted(site, first, cancelled=cancelled)
        assert [record.state for record in site.records()] == ["open"] * 3
        first.process.kill()
    wait_for(lambda: not any(map(is_there, site.lives)))
    before = len(site.calls)
    with site.proxy("--answer-within", "120") as second:
        asked = {
            tool: second.call(tool, arguments, None, _meta=turn("later"))
            for tool, arguments in CALLS.items()
        }
        results = {tool: late(second, given) for tool, given in asked.items()}
    assert texts(results["charge"]).startswith(f"done {effect(site, 'charge')['id']}")
    assert effect(site, "typed")["id"] in texts(results["typed"])
    assert not results["typed"].get("isError")
    assert results["post"]["isError"]
    assert "not known whether `post` took effect" in texts(results["post"])
    assert len(site.effects) == len(CALLS)
    sent = [one["name"] for one in site.calls[before:]]
    assert set(sent) == {"charge", "list_charges"}
    keys = {one["arguments"]["key"] for one in site.calls if one["name"] == "charge"}
    assert (sent.count("charge"), len(keys)) == (1, 1)
    states = {record.tool: record.state for record in site.records()}
    assert states == {"charge": "done", "typed": "done", "post": "open"}


def effect(site: Site, tool: str) -> Json:
    (found,) = (one for one in site.effects if one["tool"] == tool)
    return found
