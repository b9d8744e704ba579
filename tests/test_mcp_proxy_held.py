"""A server's process is gone, and another one still holds its pipes."""

import asyncio
import contextlib
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import LONG, SERVER, Given, Json, Proxy, Site, texts, wait_for
from retry_guard_mcp_proxy._child import start
from retry_guard_mcp_proxy._errors import ClosedError
from retry_guard_mcp_proxy._pulse import GRACE, Pulse

CHARGE, POST = {"customer": "c", "amount": 1}, {"text": "hello"}

FORKS = """
import os, sys, time
child = os.fork()
if child == 0:
    os.close(2)
    time.sleep(600)
    os._exit(0)
with open(sys.argv[2] + "/children.txt", "a") as file:
    print(child, file=file)
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"))
"""
"""The scripted server, with a child that holds its pipes, and neither reads nor writes."""
LAUNCHES = """
import os, sys, time
if os.fork() == 0:
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
with open(sys.argv[3] + "/launcher.txt", "w") as file:
    print(os.getpid(), file=file)
time.sleep(float(sys.argv[1]))
"""
"""The scripted server as the child of a process that ends, by itself or when it is killed."""
LAST = """
import json, os, sys, time
child = os.fork()
if child == 0:
    os.close(2)
    time.sleep(600)
    os._exit(0)
with open(sys.argv[1] + "/children.txt", "a") as file:
    print(child, file=file)
for line in sys.stdin:
    asked = json.loads(line)
    result = {"content": [{"type": "text", "text": "x" * 300000}]}
    os.write(1, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())
    os.write(1, b"\\n")
    os.kill(os.getpid(), 9)
"""
"""Dies with its first answer; a child holds its pipes."""


@pytest.fixture
def site(tmp_path: Path) -> Generator[Site]:
    site = Site(tmp_path)
    yield site
    for pid in children(site):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def children(site: Site) -> list[int]:
    path = site.folder / "children.txt"
    return [int(one) for one in path.read_text().split()] if path.exists() else []


def forking(site: Site) -> Proxy:
    return site.proxy(server=(sys.executable, "-c", FORKS, SERVER, str(site.folder)))


def launched(site: Site, after: str) -> Proxy:
    return site.proxy(server=(sys.executable, "-c", LAUNCHES, after, SERVER, str(site.folder)))


def late(proxy: Proxy, given: Given) -> Json:
    """Return an answer for which it had to show first that nobody serves."""
    with contextlib.suppress(queue.Empty):
        return proxy.answer(given)
    return proxy.answer(given)


def is_there(pid: int) -> bool:
    """Whether it runs; what has ended and is not buried yet does not."""
    command = ("ps", "-o", "stat=", "-p", str(pid))
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


def test_with_a_key_a_call_goes_to_the_next_life_though_a_child_holds_the_pipes(
    site: Site,
) -> None:
    site.fates("kill_after")
    with forking(site) as proxy:
        proxy.initialize()
        answer = late(proxy, proxy.call("charge", CHARGE))
        assert texts(answer["result"]).startswith("done e1")
        assert (len(site.effects), len(site.calls), len(site.lives)) == (1, 2, 2)
    assert all(map(is_there, children(site)))


def test_what_a_held_pipe_has_no_answer_for_ends_and_what_comes_meanwhile_is_not_lost(
    site: Site,
) -> None:
    site.fates("kill_after")
    with forking(site) as proxy:
        proxy.initialize()
        lost, passed = proxy.call("post", POST), proxy.ask("silence")
        wait_for(lambda: bool(site.effects) and not is_there(site.lives[0]))
        other = proxy.call("post", {"text": "other"})
        assert late(proxy, lost)["result"]["isError"]
        assert late(proxy, passed)["error"]["code"] == -32000
        assert texts(late(proxy, other)["result"]).startswith("done")
        assert (len(site.effects), len(site.calls), len(site.lives)) == (2, 2, 2)


def test_what_is_said_into_a_held_pipe_that_nobody_reads_is_no_hindrance(site: Site) -> None:
    with forking(site) as proxy:
        proxy.initialize()
        proxy.tell("die")
        wait_for(lambda: not is_there(site.lives[0]))
        proxy.tell("large", {"text": "x" * 1_000_000})
        assert "result" in late(proxy, proxy.ask("ping"))


def test_what_was_said_before_a_process_ended_is_still_heard(site: Site) -> None:
    with site.proxy(server=(sys.executable, "-c", LAST, str(site.folder))) as proxy:
        assert len(texts(proxy.called("post", POST))) == 300_000


async def test_nobody_is_asked_while_what_was_said_is_still_handed_on() -> None:
    asked, never = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        await never.wait()

    async def serves() -> None:
        asked.set()
        raise ClosedError

    with start(("true",)) as process:
        pulse, reading = Pulse(process), asyncio.create_task(read())
        pulse.busy = True
        over = asyncio.create_task(pulse.over(reading, serves))
        await asyncio.to_thread(process.wait)
        await asyncio.wait({over}, timeout=2.5 * GRACE)
        assert not over.done()
        assert not asked.is_set()
        pulse.busy = False
        await asyncio.wait_for(over, LONG)
        assert asked.is_set()
        reading.cancel()


@pytest.mark.parametrize("after", ["0", "600"], ids=["ends at once", "is killed"])
def test_a_server_whose_launcher_has_ended_serves_on(site: Site, after: str) -> None:
    with launched(site, after) as proxy:
        proxy.initialize()
        assert texts(proxy.called("charge", CHARGE)).startswith("done e1")
        if after != "0":
            os.kill(int((site.folder / "launcher.txt").read_text()), signal.SIGKILL)
        wait_for(lambda: any('"ping"' in line for line in site.heard))
        for amount in (2, 3):
            answer = proxy.called("charge", {**CHARGE, "amount": amount})
            assert texts(answer).startswith(f"done e{amount}")
        assert len(site.lives) == 1
        assert proxy.silent()
        proxy.answer(proxy.ask("die"))
        assert "result" in proxy.answer(proxy.ask("ping"))
    wait_for(lambda: not any(map(is_there, site.lives)))
