"""An agent's process: it makes the requests that it is told to, and says what came of them.

Reads one JSON document from standard input: ledger, contract, turn, steps (path, body) and
`lease`. Writes one line for each step: the status and body, or the name of what was raised.
"""

import json
import sys
from typing import Any

import httpx

from retry_guard import Contract, Guard, GuardError, Policy, Unresolved, UnresolvedError
from retry_guard_httpx import guarded, reader
from retry_guard_ledgers import SQLiteLedger
from retry_guard_outcomes import classify


def main() -> None:
    told: dict[str, Any] = json.load(sys.stdin)
    contract = Contract(**told["contract"])
    policy = Policy(lease=told["lease"], deadline=30, backoff=0.01, poll=0.01)
    with httpx.Client() as plain:
        read = reader(plain) if contract.read_back else None
        ledger = SQLiteLedger(told["ledger"])
        guard = Guard(ledger, [contract], classify=classify, read=read, policy=policy)
        transport = guarded(httpx.HTTPTransport(), guard)
        client = httpx.Client(transport=transport, timeout=10)
        with client, guard.turn("acme", told["turn"]):
            for path, body in told["steps"]:
                sys.stdout.write(json.dumps(step(client, told["url"] + path, body)) + "\n")


def step(client: httpx.Client, url: str, body: object) -> dict[str, object]:
    try:
        answer = client.post(url, json=body)
    except UnresolvedError as error:
        outcome: Unresolved = error.outcome
        return {"raised": outcome.reason, "text": outcome.text}
    except GuardError as error:
        return {"raised": type(error).__name__, "text": str(error)}
    note = answer.extensions.get("retry_guard", {})
    return {"status": answer.status_code, "body": answer.json(), **note}


if __name__ == "__main__":
    main()
