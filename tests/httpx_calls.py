"""Requests to the faulty server through a guarded transport of httpx or httpx2.

Run as a program, it makes one call, to be killed in it: `httpx_calls.py FOLDER URL WAY REFERENCE`.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import httpx2

from http_clients import TRUST, Reply
from httpx_sites import wrapped
from real_calls import PATHS, QUICK, Way, contract
from retry_guard import AsyncGuard, Contract, Guard, Policy
from retry_guard_httpx import reader
from retry_guard_ledgers import open_ledger
from retry_guard_outcomes import classify

Body = dict[str, Any]
PHASES = ("connect", "read", "write", "pool")
LATER = 10.0
"""Seconds for each further request of a call: the server answers those at once."""


def route(url: str, way: Way, bound: float | None = 0.1) -> Contract:
    """What is stated of the tool, as that of a route whose arguments are in the body."""
    stated = contract(way, bound).model_dump(exclude_unset=True)
    stated["tool"] = f"POST {url}{PATHS[way]}"
    if way == "read_back":
        stated["read_back"] |= {
            "tool": f"GET {url}/charges",
            "args": {"reference": "body.reference"},
            "match": {"reference": "body.reference", "amount": "body.amount"},
            "marker": "body.reference",
        }
    return Contract.model_validate(stated)


def patient(handle: Reply) -> Reply:
    """Give the requests of a call that follow the first one time."""
    sent: list[Reply] = []

    def handled(request: Reply) -> Reply:
        if sent:
            request.extensions["timeout"] = dict.fromkeys(PHASES, LATER)
        sent.append(request)
        return handle(request)

    return handled


def post(library: Reply, guard: Guard, url: str, body: Body, limit: float) -> Reply:
    """Make one guarded request; the first send has `limit` seconds."""
    inner = library.HTTPTransport(verify=TRUST)
    inner.handle_request = patient(inner.handle_request)
    transport = wrapped(inner, guard)
    with library.Client(transport=transport, timeout=limit) as client, guard.turn("acme", "t1"):
        return client.post(url, json=body)


async def post_async(
    library: Reply, guard: AsyncGuard, url: str, body: Body, limit: float
) -> Reply:
    """The same, awaited."""
    inner = library.AsyncHTTPTransport(verify=TRUST)
    inner.handle_async_request = patient(inner.handle_async_request)
    transport = wrapped(inner, guard)
    async with library.AsyncClient(transport=transport, timeout=limit) as client:
        with guard.turn("acme", "t1"):
            return await client.post(url, json=body)


def guard_in(folder: Path, stated: Contract, policy: Policy = QUICK) -> Guard:
    """Return a guard that reads with a client of its own."""
    ledger = open_ledger(f"sqlite:///{folder}/guard.db")
    read = reader(httpx.Client(verify=TRUST))
    return Guard(ledger, [stated], classify=classify, read=read, policy=policy)


def async_guard_in(folder: Path, stated: Contract) -> AsyncGuard:
    """Return the same for an `AsyncClient`."""
    ledger = open_ledger(f"sqlite:///{folder}/guard.db")
    read = reader(httpx2.AsyncClient(verify=TRUST))
    return AsyncGuard(ledger, [stated], classify=classify, read=read, policy=QUICK)


def main(folder: str, url: str, way: Way, reference: str) -> None:
    """Make one call, with a lease that is soon out."""
    guard = guard_in(Path(folder), route(url, way, 0.5), replace(QUICK, lease=0.4))
    post(httpx, guard, url + PATHS[way], {"reference": reference, "amount": 5}, 30.0)


if __name__ == "__main__":
    _, folder, url, way, reference = sys.argv
    main(folder, url, cast("Way", way), reference)
