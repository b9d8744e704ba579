"""A signal ends the proxy and its server in order, whenever it comes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from mcp_proxy_client import LONG, Site, wait_for

READY = "running\n"
PROGRAM = f"""
import os, sys
try:
    os.write(2, {READY.encode()!r})
    from retry_guard_console import main
except KeyboardInterrupt:
    sys.exit(130)
sys.exit(main())
"""
"""The command; the time before it is that of the interpreter, which writes what it wants."""
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
RUNS, SPAN = 30, 0.3
"""Runs for each signal, and the seconds within which it comes."""


def started(site: Site, *options: str) -> "subprocess.Popen[bytes]":
    given = (*options, "--ledger", site.ledger, "--", *site.server)
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        (sys.executable, "-c", PROGRAM, "mcp", *given), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(PING)
    process.stdin.flush()
    assert process.stderr.readline().decode() == READY
    return process


def ended(process: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """Return what it has said; its input is open until it has ended."""
    try:
        process.wait(LONG)
    finally:
        process.kill()
    said, errors = process.communicate()
    return said, errors


def is_over(site: Site) -> bool:
    return not any(map(is_there, site.lives))


def is_there(pid: int) -> bool:
    """Whether it runs; what has ended and is not buried yet does not."""
    command = ("ps", "-o", "stat=", "-p", str(pid))
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_at_any_moment_a_signal_ends_the_proxy_and_its_server_without_a_word(
    tmp_path: Path, number: signal.Signals
) -> None:
    moments = random.Random(number)
    for run in range(RUNS):
        (folder := tmp_path / str(run)).mkdir()
        site = Site(folder)
        process = started(site)
        time.sleep(moments.uniform(0, SPAN))
        process.send_signal(number)
        said, errors = ended(process)
        assert b"Traceback" not in errors, errors.decode()
        assert process.returncode in (0, 130, -number), errors.decode()
        assert all("jsonrpc" in json.loads(line) for line in said.splitlines())
        wait_for(partial(is_over, site))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_set_up_that_blocks_is_no_hindrance_to_a_signal(
    tmp_path: Path, number: signal.Signals
) -> None:
    site = Site(tmp_path)
    os.mkfifo(tmp_path / "never.yaml")
    process = started(site, "--contracts", str(tmp_path / "never.yaml"))
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["result"] == {}
    assert process.poll() is None
    process.send_signal(number)
    said, errors = ended(process)
    assert (process.returncode, said) == (0, b"")
    assert b"Traceback" not in errors
    wait_for(partial(is_over, site))


def test_a_signal_that_came_before_anybody_could_obey_ends_a_server_that_does_not_listen(
    tmp_path: Path,
) -> None:
    """The server is started, and the rest of the proxy is not imported yet."""
    pids = tmp_path / "pids"
    stubborn = (
        f"import os, time; print(os.getpid(), file=open({str(pids)!r}, 'w', 1)); time.sleep(99)"
    )
    code = f"""
import os, signal, sys, time
from retry_guard_mcp_proxy import Settings, serve
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "retry_guard_mcp_proxy._run":
            while not os.path.exists({str(pids)!r}) or not open({str(pids)!r}).read():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGTERM)
sys.meta_path.insert(0, Slow())
settings = Settings(command=(sys.executable, "-c", sys.argv[1]), ledger="memory://")
serve(settings, os.dup(0), os.dup(1))
"""
    pipe = subprocess.PIPE
    command = (sys.executable, "-c", code, stubborn)
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
    said, _ = ended(process)
    assert (process.returncode, said) == (0, b"")
    wait_for(lambda: not is_there(int(pids.read_text())))
