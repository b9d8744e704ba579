"""The real HTTP clients that tests use, each as a function that makes one request."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import aiohttp
import httpx
import httpx2
import requests
import urllib3

Reply: TypeAlias = Any
"""A client's own response; each has its own class."""


TRUST = ssl.create_default_context()
"""Made once: each client would read all certificates anew."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. `limit`: seconds to connect, and to wait for the answer."""

    method: str
    url: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    limit: float = 10.0
    redirects: bool = False


Client = Callable[[Request], Reply]
AsyncClient = Callable[[Request], Awaitable[Reply]]


def with_httpx(asked: Request) -> Reply:
    limit, follow = asked.limit, asked.redirects
    with httpx.Client(timeout=limit, follow_redirects=follow, verify=TRUST) as client:
        return client.request(asked.method, asked.url, json=asked.body, headers=asked.headers)


def with_httpx2(asked: Request) -> Reply:
    limit, follow = asked.limit, asked.redirects
    with httpx2.Client(timeout=limit, follow_redirects=follow, verify=TRUST) as client:
        return client.request(asked.method, asked.url, json=asked.body, headers=asked.headers)


def with_requests(asked: Request) -> Reply:
    return requests.request(
        asked.method,
        asked.url,
        json=asked.body,
        headers=asked.headers,
        timeout=asked.limit,
        allow_redirects=asked.redirects,
    )


def with_urllib3(asked: Request) -> Reply:
    retries = urllib3.Retry(5, connect=0, read=0, status=0, other=0) if asked.redirects else False
    with urllib3.PoolManager(retries=retries, timeout=asked.limit) as pool:
        return pool.request(asked.method, asked.url, json=asked.body, headers=asked.headers)


async def with_httpx_async(asked: Request) -> Reply:
    limit, follow = asked.limit, asked.redirects
    async with httpx.AsyncClient(timeout=limit, follow_redirects=follow, verify=TRUST) as client:
        return await client.request(asked.method, asked.url, json=asked.body, headers=asked.headers)


async def with_aiohttp(asked: Request) -> Reply:
    limits = aiohttp.ClientTimeout(sock_connect=asked.limit, sock_read=asked.limit)
    async with (
        aiohttp.ClientSession(timeout=limits, headers=asked.headers) as session,
        session.request(
            asked.method, asked.url, json=asked.body, allow_redirects=asked.redirects
        ) as response,
    ):
        await response.read()
        return response


def _blocking(client: AsyncClient) -> Client:
    async def wait(asked: Request) -> Reply:
        return await client(asked)

    return lambda asked: asyncio.run(wait(asked))


SYNC: dict[str, Client] = {
    "httpx": with_httpx,
    "httpx2": with_httpx2,
    "requests": with_requests,
    "urllib3": with_urllib3,
}
ASYNC: dict[str, AsyncClient] = {"httpx": with_httpx_async, "aiohttp": with_aiohttp}
ALL: dict[str, Client] = {
    **SYNC,
    "httpx-async": _blocking(with_httpx_async),
    "aiohttp": _blocking(with_aiohttp),
}


def post(client: Client, url: str, *, limit: float = 10.0, redirects: bool = False) -> Reply:
    """Send a small write."""
    return client(Request("POST", url, {"amount": 5}, limit=limit, redirects=redirects))


def caught(call: Callable[[], object]) -> BaseException:
    """Return what the call raises."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


def outcome_of(call: Callable[[], object]) -> Reply:
    """Return what the call returns or raises, as a driver would hand it on."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
