"""The real HTTP clients that tests use, each as a function that makes one request."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import aiohttp
import httpx
import httpx2
import requests
import urllib3


class Client(Protocol):
    """Make one request and return the client's own response, or raise its own exception."""

    def __call__(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 10.0,
        redirects: bool = False,
    ) -> Any: ...


def with_httpx(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    return httpx.request(
        method, url, json=body, headers=headers, timeout=timeout, follow_redirects=redirects
    )


def with_httpx2(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    return httpx2.request(
        method, url, json=body, headers=headers, timeout=timeout, follow_redirects=redirects
    )


def with_requests(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    return requests.request(
        method, url, json=body, headers=headers, timeout=timeout, allow_redirects=redirects
    )


def with_urllib3(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    retries = urllib3.Retry(0, redirect=5) if redirects else False
    with urllib3.PoolManager(retries=retries, timeout=timeout) as pool:
        return pool.request(method, url, json=body, headers=headers)


async def with_httpx_async(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=redirects) as client:
        return await client.request(method, url, json=body, headers=headers)


async def with_aiohttp(
    method: str,
    url: str,
    body: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    timeout: float = 10.0,
    redirects: bool = False,
) -> Any:
    limits = aiohttp.ClientTimeout(sock_connect=timeout, sock_read=timeout)
    async with (
        aiohttp.ClientSession(timeout=limits) as session,
        session.request(
            method, url, json=body, headers=headers, allow_redirects=redirects
        ) as response,
    ):
        await response.read()
        return response


def _blocking(request: Callable[..., Any]) -> Client:
    def run(
        method: str,
        url: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout: float = 10.0,
        redirects: bool = False,
    ) -> Any:
        return asyncio.run(
            request(method, url, body, headers, timeout=timeout, redirects=redirects)
        )

    return run


SYNC: dict[str, Client] = {
    "httpx": with_httpx,
    "httpx2": with_httpx2,
    "requests": with_requests,
    "urllib3": with_urllib3,
}
ASYNC: dict[str, Callable[..., Any]] = {"httpx": with_httpx_async, "aiohttp": with_aiohttp}
ALL: dict[str, Client] = {
    **SYNC,
    "httpx-async": _blocking(with_httpx_async),
    "aiohttp": _blocking(with_aiohttp),
}


def caught(call: Callable[[], Any]) -> BaseException:
    """Return what the call raises."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError("nothing was raised")


def outcome_of(call: Callable[[], Any]) -> Any:
    """Return what the call returns or raises, as a driver would hand it on."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
