"""What the transport refuses before anything is sent, most of it when it is made."""

import gzip
import subprocess
import sys
from typing import Any

import httpx
import pytest

from http_clients import Reply
from httpx_sites import (
    BODY,
    CHARGES,
    HOST,
    KEYED,
    LIBRARIES,
    PLAIN,
    TOOL,
    Site,
    every_library,
    guard_of,
)
from retry_guard import ArgumentError, AsyncGuard, Contract, Guard, UsageError
from retry_guard_httpx import guarded, reader
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

REFUSED = {
    "stream": {"content": iter([b"{}"])},
    "multipart": {"files": {"file": b"x"}},
    "text": {"content": b"x", "headers": {"Content-Type": "text/plain"}},
    "untold": {"content": b"{}"},
    "broken": {"content": b"{", "headers": {"Content-Type": "application/json"}},
    "twice": {"content": b'{"a":1,"a":2}', "headers": {"Content-Type": "application/json"}},
    "not text": {"content": b"\xff", "headers": {"Content-Type": "application/json"}},
    "packed": {
        "content": gzip.compress(b"{}"),
        "headers": {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    },
    "query": {"url": CHARGES + "?a=%ff"},
    "path": {"url": f"{HOST}/v1/customers/%ff/charges"},
}


@pytest.mark.parametrize("given_", REFUSED.values(), ids=REFUSED)
@every_library
def test_a_write_that_cannot_be_recorded_is_not_sent(
    library: Reply, given_: dict[str, Any]
) -> None:
    site = Site(library)
    with site.client(KEYED) as client, pytest.raises(ArgumentError) as refused:
        client.post(**{"url": CHARGES, **given_})
    assert site.requests == []
    assert "\n" not in str(refused.value)


def test_strict_refuses_a_write_that_fits_no_contract() -> None:
    site = Site()
    with site.client(strict=True) as client:
        client.get(CHARGES + "/x")
        with pytest.raises(UsageError, match="fits no contract") as refused:
            client.post("https://u:pw@api.example.com/x?token=hidden", json=BODY)
    assert len(site.requests) == 1
    assert "pw" not in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_a_header_of_who_asks_is_not_kept_even_if_it_is_asked_for() -> None:
    with pytest.raises(UsageError, match="set-cookie"):
        guarded(httpx.MockTransport(Site()), guard_of(), headers=["Set-Cookie"])
    with pytest.raises(UsageError, match="list"):
        guarded(httpx.MockTransport(Site()), guard_of(), headers="ETag")


def test_outside_a_turn_nothing_is_sent() -> None:
    site, guard = Site(), guard_of()
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))
    with pytest.raises(UsageError, match="outside a turn"):
        client.post(CHARGES, json=BODY)
    assert site.requests == []


def test_a_reader_says_what_it_cannot_read() -> None:
    read = reader(httpx.Client(transport=httpx.MockTransport(Site())))
    for tool in ("list_charges", f"POST {HOST}/x", f"GET {HOST}/{{id}}"):
        with pytest.raises(UsageError, match="read-back"):
            read(tool, {})
    with pytest.raises(UsageError, match="client"):
        reader(httpx)  # type: ignore[call-overload] # wrong on purpose


BAD = {
    "no scheme": Contract(tool="POST api.example.com/x"),
    "no method": Contract(tool=f"{HOST}/x"),
    "small method": Contract(tool=f"post {HOST}/x"),
    "query": Contract(tool=f"POST {HOST}/x?a=1"),
    "password": Contract(tool="POST https://u:p@api.example.com/x"),
    "port": Contract(tool="POST https://api.example.com:port/x"),
    "umlaut": Contract(tool="POST https://bücher.example/x"),
    "half a name": Contract(tool=f"POST {HOST}/x-{{id}}"),
    "two names": Contract(tool=f"POST {HOST}/{{id}}/{{id}}"),
    "no route": Contract(tool="charge"),
    "count": Contract(tool=TOOL, twins="count"),
    "flat identity": Contract(tool=TOOL, identity=["reference"]),
    "flat volatile": Contract(tool=TOOL, volatile=("path",)),
    "flat secret": Contract(tool=TOOL, secret=("token",)),
    "flat default": Contract(tool=TOOL, defaults={"currency": "eur"}),
    "flat key": Contract(tool=TOOL, key={"param": "key"}),
    "meta key": Contract(tool=TOOL, key={"param": "meta:key"}),
    "other name": Contract(tool=TOOL, identity=["path.client"]),
    "flat batch": Contract(tool=TOOL, batch={"items": "rows"}),
    "flat match": Contract(
        tool=TOOL, read_back={"tool": f"GET {HOST}/x", "match": {"amount": "amount"}}
    ),
}


@pytest.mark.parametrize("contract", BAD.values(), ids=BAD)
def test_a_contract_that_no_request_can_fit_is_refused_at_once(contract: Contract) -> None:
    with pytest.raises(UsageError) as refused:
        guarded(httpx.MockTransport(Site()), guard_of(contract, read=print))
    assert "\n" not in str(refused.value)


def test_two_contracts_of_one_route_are_refused_and_different_ones_are_not() -> None:
    one, other = Contract(tool=f"POST {HOST}/a/{{x}}"), Contract(tool=f"POST {HOST}//a/{{y}}")
    with pytest.raises(UsageError, match="one route"):
        guarded(httpx.MockTransport(Site()), guard_of(one, other))
    fine = Contract(tool=f"POST {HOST}/b/{{x}}")
    guarded(httpx.MockTransport(Site()), guard_of(one, fine))


class RetryTransport(httpx.BaseTransport):
    """Tries again by itself, as those of some packages do."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self.inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.inner.handle_request(request)


def test_a_transport_that_cannot_be_guarded_is_refused_at_once() -> None:
    guard: Reply = guard_of()
    waits: Reply = AsyncGuard(MemoryLedger(), [PLAIN], classify=classify)
    plain: Reply = httpx.MockTransport(Site())

    class Holder(httpx.BaseTransport):
        held = RetryTransport(plain)

        def __init__(self) -> None:
            self.inside = self.held

    cases: list[tuple[Reply, Reply, str]] = [
        (RetryTransport(plain), guard, "by itself"),
        (Holder(), guard, "by itself"),
        (guarded(plain, guard), guard, "already"),
        (httpx.AsyncHTTPTransport(), guard, "HTTPTransport"),
        (httpx.HTTPTransport(), waits, "AsyncHTTPTransport"),
        (httpx.Client(), guard, "not Client"),
        (None, guard, "NoneType"),
        (plain, None, "Guard"),
    ]
    for transport, given_, words in cases:
        with pytest.raises(UsageError, match=words):
            guarded(transport, given_)


def test_a_retry_outside_is_harmless() -> None:
    site, guard = Site(), guard_of()
    outside = RetryTransport(guarded(httpx.MockTransport(site), guard))
    with httpx.Client(transport=outside) as client, guard.turn("acme", "t1"):
        assert client.post(CHARGES, json=BODY).status_code == 201


@pytest.mark.parametrize("library", LIBRARIES)
def test_importing_it_imports_no_library_and_using_it_only_the_one_in_use(library: str) -> None:
    code = f"""
import sys
import retry_guard_httpx
assert not {{"httpx", "httpx2"}} & sys.modules.keys()
import {library}
from retry_guard import Contract, Guard
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify
guard = Guard(MemoryLedger(), [Contract(tool="POST https://h/x")], classify=classify)
inside = {library}.MockTransport(lambda request: {library}.Response(201))
transport = retry_guard_httpx.guarded(inside, guard)
assert isinstance(transport, {library}.BaseTransport)
with {library}.Client(transport=transport) as client, guard.turn("acme", "t1"):
    print(client.post("https://h/x", json=1).status_code)
assert len({{"httpx", "httpx2"}} & sys.modules.keys()) == 1
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("201\n", 0), run.stderr


@every_library
@pytest.mark.parametrize("kind", [Guard, AsyncGuard])
def test_a_library_is_known_also_where_an_sdk_shows_its_classes_as_its_own(
    library: Reply, kind: type[Guard | AsyncGuard], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `import openai` does with httpx2's."""
    for name in ("BaseTransport", "AsyncBaseTransport"):
        monkeypatch.setattr(getattr(library, name), "__module__", "openai")
    guard = kind(MemoryLedger(), [KEYED], classify=classify)
    client: Any = library
    inside: Any = client.HTTPTransport() if kind is Guard else client.AsyncHTTPTransport()
    around: Any = guarded
    base = library.AsyncBaseTransport if kind is AsyncGuard else library.BaseTransport
    assert isinstance(around(inside, guard), base)
