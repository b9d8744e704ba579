"""A run that is killed, as a program: `anthropic_killed.py FOLDER KIND WHERE`.

WHERE: `tool` (inside the tool, after its effect), `model` (while the model is asked again),
`nowhere`. Prints what the model was told of the call.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, cast

import httpx2

from adapter_suite import CHARGE, Call
from anthropic_agents import Kind, Say, Script, asks, blocking, results_in
from retry_guard import Contract
from retry_guard_anthropic import Toolbox
from retry_guard_ledgers import SQLiteLedger


class Deadly(Script):
    """A server whose second answer is the end of this process."""

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if self.sent:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(request)


def main(folder: Path, kind: Kind, where: str) -> None:
    def charge(customer: str, amount: int) -> dict[str, Any]:
        with (folder / "effects").open("a") as file:
            file.write(json.dumps([customer, amount]) + "\n")
        if where == "tool":
            os.kill(os.getpid(), signal.SIGKILL)
        return {"id": "ch_1"}

    ledger = SQLiteLedger(folder / "guard.db")
    toolbox = Toolbox(ledger, [Contract(tool="charge")], tools=[charge])
    say: Say = asks(Call(f"toolu_{os.getpid()}", CHARGE))
    end = blocking(kind, (Deadly if where == "model" else Script)(say), toolbox)
    sys.stdout.write(str(results_in(end.messages)[0]["content"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), cast("Kind", sys.argv[2]), sys.argv[3])
