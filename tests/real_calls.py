"""Guarded calls to the faulty server: contracts, sends, and a guard with short times."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

from faulty import FaultyServer
from http_clients import AsyncClient, Client, Reply, Request
from retry_guard import AsyncGuard, Contract, Guard, Policy
from retry_guard_ledgers import open_ledger
from retry_guard_outcomes import classify_body
from retry_guard_outcomes._bodies import body_of

Way = Literal["key", "read_back", "neither"]
Args: TypeAlias = dict[str, Any]

WAYS: tuple[Way, ...] = ("key", "read_back", "neither")
PATHS: Mapping[Way, str] = {"key": "/charges", "read_back": "/charges", "neither": "/notes"}
LIMIT = 0.2
"""Seconds after which a client that gets no answer gives up."""

QUICK = Policy(
    attempts=6, backoff=0.01, backoff_limit=0.1, deadline=8.0, send_timeout=1.0, skew=0.0
)


def contract(way: Way, bound: float | None = 0.1) -> Contract:
    """What is stated of the tool. `bound`: when a request that has not run never will."""
    match way:
        case "key":
            key = {"param": "header:Idempotency-Key", "retention": 86_400}
            return Contract.model_validate({"tool": "charge", "key": key})
        case "read_back":
            read_back = {
                "tool": "list_charges",
                "args": {"reference": "reference"},
                "items": "data",
                "match": {"reference": "reference", "amount": "amount"},
                "id": "id",
                "marker": "reference",
                "complete": "not has_more",
                "permanent": True,
                "visibility_lag": 0,
            }
            terms = {"tool": "charge", "read_back": read_back, "in_flight_bound": bound}
            return Contract.model_validate(terms)
        case "neither":
            return Contract(tool="charge")


def headers_in(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the key as a header."""
    return {name.removeprefix("header:"): key for name, key in extra.items()}


@dataclass(frozen=True, slots=True)
class Caller:
    """One way to reach the server. `arguments` name one action.

    `limit`: how long the first request is waited for; later ones have time.
    """

    server: FaultyServer
    way: Way
    reference: str
    limit: float = 10.0
    sent: list[Request] = field(default_factory=list[Request])

    @property
    def arguments(self) -> Args:
        return {"reference": self.reference, "amount": 5}

    def asked(self, args: Args, extra: Mapping[str, str]) -> Request:
        url = self.server.url + PATHS[self.way]
        limit = 10.0 if self.sent else self.limit
        self.sent.append(Request("POST", url, args, headers_in(extra), limit))
        return self.sent[-1]

    def send(self, client: Client) -> Callable[[Args, dict[str, str]], Reply]:
        return lambda args, extra: client(self.asked(args, extra))

    def send_async(self, client: AsyncClient) -> Callable[[Args, dict[str, str]], Reply]:
        return lambda args, extra: client(self.asked(args, extra))

    def effects(self) -> int:
        return len(self.server.effects(self.reference))


def caller(server: FaultyServer, way: Way, *faults: str, limit: float = 10.0) -> Caller:
    """Plan the faults of an action that nobody else knows."""
    reference = uuid4().hex
    server.plan(reference, *faults)
    return Caller(server, way, reference, limit=limit)


def read_url(server: FaultyServer, args: Args) -> str:
    return f"{server.url}/charges?reference={args['reference']}"


def guard(
    server: FaultyServer,
    folder: Path,
    client: Client,
    stated: Contract,
    policy: Policy = QUICK,
) -> Guard:
    """Return a guard with a ledger in the folder, which reads with the same client."""

    def read(tool: str, args: Args) -> Args:
        answer = client(Request("GET", read_url(server, args)))
        found: Args = json.loads(body_of(answer))
        return found

    ledger = open_ledger(f"sqlite:///{folder}/guard.db")
    return Guard(ledger, [stated], classify=classify_body, read=read, policy=policy)


def async_guard(
    server: FaultyServer,
    folder: Path,
    client: AsyncClient,
    stated: Contract,
    policy: Policy = QUICK,
) -> AsyncGuard:
    """Return the same for coroutines."""

    async def read(tool: str, args: Args) -> Args:
        answer = await client(Request("GET", read_url(server, args)))
        found: Args = json.loads(body_of(answer))
        return found

    ledger = open_ledger(f"sqlite:///{folder}/guard.db")
    return AsyncGuard(ledger, [stated], classify=classify_body, read=read, policy=policy)
