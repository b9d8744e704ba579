"""A run of a loop that is killed, as a program: `openai_loop_killed.py FOLDER WHERE`.

WHERE: `tool` (inside the tool, after its effect), `model` (while the model is asked again),
`nowhere`. Prints what the model was told of the call.
"""

import json
import os
import signal
import sys
from pathlib import Path

from adapter_suite import Call
from openai_loop_models import Model, answers_in, blocking, says
from retry_guard import Contract, Policy
from retry_guard_ledgers import SQLiteLedger
from retry_guard_openai import Toolbox


def end_here() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Deadly(Model):
    """A model that ends the process when it is asked again."""

    def answer(self, request: object) -> object:  # type: ignore[override] # pyright: ignore[reportIncompatibleMethodOverride] - it never answers
        if self.requests:
            end_here()
        return super().answer(request)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - as it came


def main(folder: Path, where: str) -> None:
    def charge(customer: str, amount: int) -> dict[str, str]:
        with (folder / "effects").open("a") as file:
            file.write(json.dumps([customer, amount]) + "\n")
        if where == "tool":
            end_here()
        return {"id": "ch_1"}

    ledger, policy = SQLiteLedger(folder / "guard.db"), Policy(lease=1.0)
    box = Toolbox(ledger, [Contract(tool="charge")], tools=[charge], policy=policy)
    call = Call(f"call_{os.getpid()}", {"customer": "c1", "amount": 5})
    model = (Deadly if where == "model" else Model)("chat", [says("chat", "", call)])
    sys.stdout.write(answers_in(blocking(model, box).items)[call.id])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
