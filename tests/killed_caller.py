"""A process whose children make one guarded call each, and can be killed at a chosen point.

Run as a program: it reads one command (JSON) a line from standard input, forks a child that
makes the call, and writes what happens, a line each, to standard output:

{"pid": …}       the child begins its call
{"at": POINT}    the child is there, and stays there
{"at": "end"}    its call has ended, as `outcome` says, and it stays
{"status": …}    the child is dead: its exit status, negative for a signal
"""

import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from http_clients import SYNC, Reply
from real_calls import QUICK, Args, Caller, contract, guard
from retry_guard import Guard
from retry_guard_core import Now, Record

POINTS = ("before_claim", "after_claim", "after_result", "before_save", "after_save")
"""Where a child can stop by itself; the other points are at the server."""


def say(**line: object) -> None:
    os.write(1, json.dumps(line).encode() + b"\n")


def stay() -> None:
    while True:
        time.sleep(1)


@dataclass
class Stops:
    """A ledger that stops at the chosen point, and leaves everything else to the real one."""

    ledger: Any
    point: str

    def __getattr__(self, name: str) -> Reply:
        return getattr(self.ledger, name)

    def reach(self, point: str) -> None:
        if point == self.point:
            say(at=point)
            stay()

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        self.reach("before_claim")
        claimed: Record = self.ledger.claim(record, after, now)
        self.reach("after_claim")
        return claimed

    def save(self, record: Record) -> bool:
        self.reach("before_save")
        saved: bool = self.ledger.save(record)
        self.reach("after_save")
        return saved


@dataclass(frozen=True)
class Place:
    """What a call needs of the server: its address."""

    url: str


def make_the_call(command: dict[str, Any]) -> None:
    server: Any = Place(command["url"])
    stated = contract(command["way"], command["bound"])
    policy = replace(QUICK, lease=command["lease"])
    plain = guard(server, Path(command["folder"]), SYNC["httpx"], stated, policy)
    ledger: Any = Stops(plain.ledger, command["point"])
    guarding = Guard(ledger, [stated], classify=plain._site.classify, policy=policy, read=_no_read)
    call = Caller(server, command["way"], command["reference"], limit=30.0)
    real = call.send(SYNC["httpx"])

    def send(args: Args, extra: dict[str, str]) -> Reply:
        answer = real(args, extra)
        ledger.reach("after_result")
        return answer

    say(pid=os.getpid())
    outcome = guarding.call("charge", call.arguments, send=send, scope="acme", turn=command["turn"])
    say(at="end", outcome=type(outcome).__name__)
    stay()


def _no_read(tool: str, args: Args) -> Reply:
    raise AssertionError("the first process never reads")


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.alarm(30)  # whatever goes wrong: no orphan stays
            try:
                make_the_call(command)
            except BaseException:  # noqa: BLE001 - whatever it is, the child ends here
                traceback.print_exc()
            os._exit(3)
        _, status = os.waitpid(pid, 0)
        say(status=os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
