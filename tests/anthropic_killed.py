"""A run that is killed, as a program: `anthropic_killed.py FOLDER KIND WHERE`; see `forks`.

WHERE: `tool` (inside the tool, after its effect), `model` (while the model is asked again),
`nowhere`. Prints what the model was told of the call.
"""

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import httpx2

from adapter_suite import CHARGE, Call
from anthropic_agents import Kind, Say, Script, asks, blocking, results_in
from retry_guard import Contract, Policy
from retry_guard_anthropic import Toolbox
from retry_guard_ledgers import SQLiteLedger

LEASE = 3.0
"""Seconds for which a run that begins anew waits for one that was killed inside the tool."""


class Deadly(Script):
    """A server whose second answer is the end of this process."""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if self.sent:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(request)


def main(words: Sequence[str]) -> None:
    folder, kind, where = Path(words[0]), cast("Kind", words[1]), words[2]

    def charge(customer: str, amount: int) -> dict[str, Any]:
        with (folder / "effects").open("a") as file:
            file.write(json.dumps([customer, amount]) + "\n")
        if where == "tool":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"id": "ch_1"}

    ledger = SQLiteLedger(folder / "guard.db")
    toolbox = Toolbox(ledger, [Contract(tool="charge")], tools=[charge], policy=Policy(lease=LEASE))
    say: Say = asks(Call(f"toolu_{os.getpid()}", CHARGE))
    end = blocking(kind, (Deadly if where == "model" else Script)(say), toolbox)
    sys.stdout.write(str(results_in(end.messages)[0]["content"]))


if __name__ == "__main__":
    main(sys.argv[1:])
