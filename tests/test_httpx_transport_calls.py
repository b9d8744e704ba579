"""What the transport makes of single requests: what goes out, and what comes back."""

import gzip
import json
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import respx
import tenacity
from hypothesis import given, settings, strategies as st
from urllib3.util import Retry

from guards import QUICK, Operator, changed
from http_clients import TRUST, Reply, caught, outcome_of
from httpx_sites import (
    BODY,
    CHARGES,
    HOST,
    KEYED,
    PLAIN,
    TOOL,
    Site,
    closed_port,
    every_library,
    guard_of,
    lost,
    read_with,
    wrapped,
)
from pages import every_fault, example_that_charges_once
from retry_guard import (
    Answer,
    AsyncGuard,
    Contract,
    Done,
    GuardError,
    LedgerError,
    Unknown,
    UnresolvedError,
    UsageError,
)
from retry_guard_httpx import guarded
from retry_guard_ledgers import MemoryLedger, SQLiteLedger, about
from retry_guard_outcomes import classify, classify_body


@every_library
def test_a_replay_has_status_body_and_the_headers_that_matter(library: Reply) -> None:
    shown = {"Location": "/charges/1", "Set-Cookie": "s=secret", "X-Mine": "m", "Date": "now"}
    answer = library.Response(201, content=b"\xff\x00raw", headers=shown)
    site = Site(library, answer)
    with site.client(headers=["X-Mine"]) as client:
        first, again = client.post(CHARGES, json=BODY), client.post(CHARGES, json=BODY)
    assert len(site.requests) == 1
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert first.headers["set-cookie"] == "s=secret"
    assert dict(again.headers) == {"location": "/charges/1", "x-mine": "m"}
    assert first.extensions["retry_guard"] == {"replayed": False, "warning": None}
    assert again.extensions["retry_guard"] == {"replayed": True, "warning": None}


def test_nothing_of_who_asks_is_recorded(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer hidden-1", "Cookie": "hidden-2", "X-Api-Key": "hidden-3"}
    site = Site(httpx, httpx.Response(201, headers={"Set-Cookie": "hidden-4"}))
    secret = Contract(tool=TOOL, secret=("query.api_key",))
    with site.client(secret, ledger=SQLiteLedger(tmp_path / "guard.db")) as client:
        client.post(CHARGES, json=BODY, headers=headers, params={"api_key": "hidden-5"})
    assert site.requests[0].headers["authorization"] == "Bearer hidden-1"
    assert site.requests[0].url.params["api_key"] == "hidden-5"
    assert all(b"hidden" not in file.read_bytes() for file in tmp_path.iterdir())


@every_library
def test_every_send_carries_the_guards_key_and_the_same_bytes(library: Reply) -> None:
    site = Site(library, lost(library), library.Response(500))
    with site.client(KEYED) as client:
        answer = client.post(CHARGES, json=BODY, headers={"idempotency-key": "mine"})
    keys = {request.headers.get_list("Idempotency-Key")[0] for request in site.requests}
    assert answer.status_code == 201
    assert len(site.requests) == 3
    assert len(keys) == 1
    assert "mine" not in keys
    assert {request.content for request in site.requests} == {b'{"amount":5}'}
    assert {len(request.headers.get_list("Idempotency-Key")) for request in site.requests} == {1}


@every_library
def test_a_key_can_be_part_of_the_body(library: Reply) -> None:
    keyed = Contract(tool=TOOL, key={"param": "body.key", "retention": 86400})
    site = Site(library, lost(library))
    with site.client(keyed) as client:
        client.post(CHARGES, data={"amount": "5", "tags": ["a b", "ü"]})
    first, second = (request.content for request in site.requests)
    assert first == second
    assert first.startswith(b"amount=5&tags=a+b&tags=%C3%BC&key=")


def test_a_key_can_be_part_of_the_query() -> None:
    keyed = Contract(tool=TOOL, key={"param": "query.key", "retention": 86400})
    site = Site(httpx, lost())
    with site.client(keyed) as client:
        client.post(CHARGES + "?tag=a&tag=b+c", json=BODY)
    first, second = (str(request.url) for request in site.requests)
    assert first == second
    assert first.startswith(CHARGES + "?tag=a&tag=b+c&key=")


def test_another_process_sends_what_was_recorded_not_what_it_was_given(tmp_path: Path) -> None:
    """What is no identity may differ; the re-issue has the first one's path, query and body."""
    loose = changed(KEYED, identity=["path.customer"])
    ledger = SQLiteLedger(tmp_path / "guard.db")
    down = Site(httpx, *[lost() for _ in range(9)])
    with down.client(loose, ledger=ledger) as client, pytest.raises(UnresolvedError):
        client.post(CHARGES + "/?note=first", json={"amount": 5, "to": "a/b é"})
    up = Site()
    with up.client(loose, ledger=ledger) as client:
        answer = client.post(CHARGES + "/?note=other", json={"amount": 6})
    (sent,) = up.requests
    assert (str(sent.url), sent.content) == (str(down.requests[0].url), down.requests[0].content)
    assert sent.headers["idempotency-key"] == down.requests[0].headers["idempotency-key"]
    assert "were not sent" in answer.extensions["retry_guard"]["warning"]


def test_what_is_encoded_in_a_path_comes_back_so() -> None:
    loose = changed(KEYED, volatile=["query.n"])
    site, odd = Site(), f"{HOST}/v1/customers/a%2Fb%20%3F/charges"
    guard = guard_of(loose)
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))
    site.fates += [lost() for _ in range(9)]
    with guard.turn("acme", "t1"), pytest.raises(UnresolvedError):
        client.post(odd, params={"n": "1"}, json=BODY)
    site.fates.clear()
    with guard.turn("acme", "t1"):
        client.post(odd, params={"n": "2"}, json=BODY)
    assert {str(request.url) for request in site.requests} == {f"{odd}?n=1"}


def test_each_part_of_a_request_tells_actions_apart() -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        (CHARGES, {"json": {"amount": 5}}),
        (CHARGES, {"json": {"amount": 6}}),
        (CHARGES, {"json": [5]}),
        (CHARGES, {"json": None}),
        (CHARGES, {"data": {"amount": "5"}}),
        (CHARGES + "?amount=5", {}),
        (CHARGES + "?amount=5&amount=5", {}),
        (CHARGES.replace("c1", "c2"), {"json": {"amount": 5}}),
    ]
    site = Site()
    with site.client() as client:
        for url, given_ in asked:
            first, again = client.post(url, **given_), client.post(url, **given_)
            assert first.json() == again.json()
    assert len(site.requests) == len(asked)


def test_spelling_tells_nothing_apart() -> None:
    same = (
        (CHARGES, b'{"amount": 5, "a": null}'),
        (CHARGES + "/", b'{"a":null,"amount":5.0}'),
        (CHARGES.replace("api.", "API.").replace("/v1", ":443//v1"), b' {"amount":5}'),
        (CHARGES.replace("c1", "%631"), b'{"amount":5}'),
    )
    site = Site()
    with site.client() as client:
        for url, content in same:
            client.post(url, content=content, headers={"Content-Type": "application/x+json"})
    assert len(site.requests) == 1
    assert site.requests[0].content == b'{"amount": 5, "a": null}'


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=50, deadline=None)
@given(JSON)
def test_any_json_goes_out_in_its_own_bytes_and_comes_back_in_them(body: Reply) -> None:
    content = json.dumps(body).encode()
    site = Site(httpx, lost(), httpx.Response(200, content=content))
    with site.client(KEYED) as client:
        headers = {"Content-Type": "application/json"}
        first = client.post(CHARGES, content=content, headers=headers)
        again = client.post(CHARGES, content=content, headers=headers)
    assert [request.content for request in site.requests] == [content, content]
    assert first.content == again.content == content


def test_what_fits_no_contract_passes_as_it_is() -> None:
    site = Site()
    with site.client() as client:
        for method, url in (
            ("GET", CHARGES),
            ("PUT", CHARGES),
            ("POST", CHARGES + "/x"),
            ("POST", CHARGES.replace("https", "http")),
            ("POST", CHARGES.replace(".com", ".com:444")),
            ("POST", CHARGES.replace("api", "other")),
            ("POST", CHARGES.replace("/v1", "/V1")),
        ):
            for _ in range(2):
                client.request(method, url, content=iter([b"{}"]))
    assert len(site.requests) == 14


def test_a_read_passes_and_what_is_spelled_out_comes_before_what_is_in_braces() -> None:
    search = Contract(tool=f"POST {HOST}/v1/customers/search/charges", effect="read")
    site = Site()
    with site.client(PLAIN, search) as client:
        for _ in range(2):
            client.post(CHARGES.replace("c1", "search"), content=iter([b"a", b"b"]))
    assert len(site.requests) == 2


def test_a_contract_that_is_added_later_counts() -> None:
    site, guard = Site(), guard_of()
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))
    guard.add(Contract(tool=f"DELETE {HOST}/v1/customers/{{id}}"))
    with client, guard.turn("acme", "t1"):
        for _ in range(2):
            client.delete(f"{HOST}/v1/customers/c1")
    assert len(site.requests) == 1


@every_library
def test_unresolved_is_no_error_of_the_transport(library: Reply) -> None:
    site = Site(library, lost(library))
    with site.client() as client, pytest.raises(UnresolvedError) as refused:
        client.post(CHARGES, json=BODY)
    assert not isinstance(refused.value, library.HTTPError | library.StreamError | OSError)
    assert refused.value.outcome.reason == "nothing_can_tell"
    assert str(refused.value) == refused.value.outcome.text
    assert "try again" not in str(refused.value).lower()


def retried_by_tenacity(post: Callable[[], Reply]) -> Reply:
    return tenacity.Retrying(stop=tenacity.stop_after_attempt(4), reraise=True)(post)


def retried_by_urllib3(post: Callable[[], Reply]) -> Reply:
    """What many clients do with this class: try again on any error, and on a 5xx."""
    left = Retry(3, backoff_factor=0)
    while True:
        error, answer = None, None
        try:
            answer = post()
        except Exception as raised:  # noqa: BLE001 - whatever it is
            error = raised
        if answer is not None and answer.status_code < 500:
            return answer
        left = left.increment("POST", CHARGES, error=error)


WRAPPERS = {"tenacity": retried_by_tenacity, "urllib3": retried_by_urllib3}


@pytest.mark.parametrize("wrapper", WRAPPERS.values(), ids=WRAPPERS)
@pytest.mark.parametrize("fate", ["timeout", "500"])
def test_a_wrapper_outside_that_tries_again_sends_nothing_more(
    wrapper: Callable[[Callable[[], Reply]], Reply], fate: str
) -> None:
    def fates() -> list[object]:
        return [lost() if fate == "timeout" else httpx.Response(500) for _ in range(9)]

    def post(client: Reply) -> Reply:
        return wrapper(lambda: client.post(CHARGES, json=BODY).raise_for_status())

    bare, site = Site(httpx, *fates()), Site(httpx, *fates())
    with httpx.Client(transport=httpx.MockTransport(bare)) as client:
        assert isinstance(caught(partial(post, client)), Exception)
    with site.client() as client:
        assert isinstance(caught(partial(post, client)), Exception)
    assert len(bare.requests) == 4
    assert len(site.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429])
@every_library
def test_what_was_refused_comes_back_as_the_server_said_it(library: Reply, status: int) -> None:
    said = library.Response(status, json={"error": "no"}, headers={"Retry-After": "7"})
    site = Site(library, said)
    with site.client() as client:
        answer = client.post(CHARGES, json=BODY)
        assert (answer.status_code, answer.json()) == (status, {"error": "no"})
        assert answer.headers["retry-after"] == "7"
        assert client.post(CHARGES, json=BODY).status_code == 201
    assert len(site.requests) == 2


@pytest.mark.parametrize("retries", [0, 1])
@every_library
def test_what_did_not_leave_is_raised_as_the_library_raised_it(
    library: Reply, retries: int
) -> None:
    """Also where the transport inside has tried to connect more than once."""
    url = f"http://127.0.0.1:{closed_port()}/x"
    guard = guard_of(Contract(tool=f"POST {url}"))
    transport = wrapped(library.HTTPTransport(verify=TRUST, retries=retries), guard)
    with library.Client(transport=transport) as client, guard.turn("acme", "t1"):
        for _ in range(2):
            with pytest.raises(library.ConnectError) as refused:
                client.post(url, json=BODY)
            assert refused.value.request.url == url
    assert {record.state for record in guard.ledger.list("acme")} == {"not_executed"}


def test_a_contracts_own_proof_counts() -> None:
    site = Site(httpx, httpx.Response(409, json={"error": "locked"}))
    proof = Contract(tool=TOOL, not_executed=[{"status": 409}])
    with site.client(proof) as client:
        assert client.post(CHARGES, json=BODY).json() == {"error": "locked"}
        assert client.post(CHARGES, json=BODY).status_code == 201


@pytest.mark.parametrize("status", [202, 207, 301, 302, 303, 307, 408, 409, 500, 503])
def test_an_answer_that_proves_nothing_is_unresolved(status: int) -> None:
    """A redirect too: the client never gets to follow it with the body of a write."""
    site = Site(httpx, httpx.Response(status, headers={"Location": f"{HOST}/elsewhere"}))
    with site.client() as client, pytest.raises(UnresolvedError):
        client.post(CHARGES, json=BODY, follow_redirects=True)
    assert len(site.requests) == 1


def test_the_second_request_of_a_login_is_the_one_that_counts() -> None:
    digest = {"WWW-Authenticate": 'Digest realm="r", nonce="n", qop="auth", algorithm=MD5'}
    site = Site(httpx, httpx.Response(401, headers=digest))
    with site.client(KEYED) as client:
        answer = client.post(CHARGES, json=BODY, auth=httpx.DigestAuth("u", "p"))
        again = client.post(CHARGES, json=BODY, auth=httpx.DigestAuth("u", "p"))
    assert answer.status_code == again.status_code == 201
    assert len(site.requests) == 2


def chunks(*parts: bytes | Exception) -> Iterator[bytes]:
    for part in parts:
        if isinstance(part, Exception):
            raise part
        yield part


@every_library
def test_a_chunked_and_packed_answer_is_replayed_unpacked(library: Reply) -> None:
    packed = gzip.compress(b'{"id": "ch_1"}')
    shown = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    site = Site(
        library, library.Response(201, headers=shown, content=chunks(packed[:9], packed[9:]))
    )
    with site.client() as client:
        with client.stream("POST", CHARGES, json=BODY) as first:
            assert b"".join(first.iter_raw()) == packed
        again = client.post(CHARGES, json=BODY)
    assert again.content == b'{"id": "ch_1"}'
    assert "content-encoding" not in again.headers


@every_library
def test_an_answer_that_breaks_off_is_unresolved(library: Reply) -> None:
    broken = library.Response(201, content=chunks(b'{"id"', library.ReadError("reset")))
    site = Site(library, broken)
    with site.client() as client, pytest.raises(UnresolvedError):
        client.post(CHARGES, json=BODY)
    assert broken.is_closed


def test_an_answer_that_cannot_be_kept_reaches_its_caller_and_nothing_runs_twice() -> None:
    site = Site(httpx, httpx.Response(200, content=b"x" * 20_000_000))
    with site.client() as client:
        first, again = client.post(CHARGES, json=BODY), client.post(CHARGES, json=BODY)
    assert len(first.content) == 20_000_000
    assert (again.status_code, again.content, len(site.requests)) == (204, b"", 1)
    assert "could not be kept" in again.extensions["retry_guard"]["warning"]


@every_library
def test_an_answer_that_cannot_be_unpacked_is_the_callers_and_nothing_runs_twice(
    library: Reply,
) -> None:
    site = Site(
        library,
        library.Response(
            201, headers={"Content-Encoding": "gzip"}, stream=library.ByteStream(b"no gzip")
        ),
    )
    with site.client() as client:
        assert isinstance(caught(partial(client.post, CHARGES, json=BODY)), library.DecodingError)
        again = client.post(CHARGES, json=BODY)
    assert (again.status_code, len(site.requests)) == (204, 1)


def says_nothing(result: object) -> object:
    """Forget to return anything for a response."""
    return classify(result) if result is None else None


@pytest.mark.parametrize("judge", [len, says_nothing])
@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_a_classifier_that_fails_makes_it_unknown_and_never_done(mode: str, judge: Reply) -> None:
    site, guard = Site(), guard_of(classify=judge, mode=mode)
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))
    with client, guard.turn("acme", "t1"):
        answer = outcome_of(partial(client.post, CHARGES, json=BODY))
    if mode == "guard":
        assert isinstance(answer, UnresolvedError)
    else:
        assert answer.json() == {"id": "ch_1"}


@pytest.mark.parametrize(
    ("result", "status", "content"),
    [({"id": "ch_1"}, 200, b'{"id":"ch_1"}'), ("ok", 200, b"ok"), (None, 204, b"")],
)
def test_what_an_operator_says_is_the_answer(result: object, status: int, content: bytes) -> None:
    site = Site(httpx, lost())
    ask = Operator(Answer("happened", result=result))
    with site.client(parts={"ask": ask}) as client:
        answer = client.post(CHARGES, json=BODY)
    assert (answer.status_code, answer.content, len(site.requests)) == (status, content, 1)


def test_a_later_turn_is_a_new_action_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    site, guard = Site(), guard_of()
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))
    with guard.turn("acme", "t1"):
        client.post(CHARGES, json=BODY)
    with guard.turn("acme", "t2"), caplog.at_level(logging.WARNING, "retry_guard"):
        warning = client.post(CHARGES, json=BODY).extensions["retry_guard"]["warning"]
    with guard.turn("globex", "t2"):
        client.post(CHARGES, json=BODY)
    assert len(site.requests) == 3
    assert "second" in warning
    assert warning in caplog.text


def test_nothing_is_sent_that_cannot_be_recorded(tmp_path: Path) -> None:
    site, ledger = Site(), SQLiteLedger(tmp_path / "guard.db")
    ledger.close()
    with site.client(ledger=ledger) as client, pytest.raises((LedgerError, UsageError)):
        client.post(CHARGES, json=BODY)
    assert site.requests == []


@pytest.mark.parametrize("mode", ["observe", "off"])
@every_library
def test_an_observer_changes_nothing(library: Reply, mode: str) -> None:
    site, guard = Site(library, library.Response(500)), guard_of(KEYED, mode=mode)
    client = library.Client(transport=wrapped(library.MockTransport(site), guard, strict=True))
    with client:
        with guard.turn("acme", "t1"):
            answers = [client.post(CHARGES, json=BODY) for _ in range(2)]
            client.post(CHARGES, content=iter([b"x"]))
            client.post(f"{HOST}/elsewhere")
            site.fates.append(lost(library))
            with pytest.raises(library.ReadTimeout):
                client.post(CHARGES, json={"amount": 7})
        client.post(CHARGES, json=BODY)
    assert [answer.status_code for answer in answers] == [500, 201]
    assert all("idempotency-key" not in request.headers for request in site.requests)
    assert len(site.requests) == 6
    assert len(guard.observations) == (3 if mode == "observe" else 0)


def test_equal_requests_at_once_are_one(tmp_path: Path) -> None:
    site, begin = Site(), threading.Barrier(5)
    ledger = SQLiteLedger(tmp_path / "guard.db")
    guard = guard_of(ledger=ledger)
    answers: list[bytes] = []
    client = httpx.Client(transport=guarded(httpx.MockTransport(site), guard))

    def ask() -> None:
        begin.wait()
        with guard.turn("acme", "t1"):
            answers.append(client.post(CHARGES, json=BODY).content)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [b'{"id":"ch_1"}'] * 5
    assert len(site.requests) == 1


def test_a_sign_that_the_key_was_honoured_is_found_in_header_or_body() -> None:
    for ack in ("header:X-Honoured", "key"):
        key = {"param": "header:Idempotency-Key", "retention": 86400, "ack": ack}
        silent = Site(httpx, lost(), httpx.Response(201, json={"id": "ch_1"}))
        with silent.client(Contract(tool=TOOL, key=key)) as client:
            assert isinstance(caught(partial(client.post, CHARGES, json=BODY)), UnresolvedError)
        signed = httpx.Response(201, json={"key": "k"}, headers={"X-Honoured": "yes"})
        with Site(httpx, lost(), signed).client(Contract(tool=TOOL, key=key)) as client:
            assert client.post(CHARGES, json=BODY).json() == {"key": "k"}


def test_what_is_missing_of_a_batch_goes_out_by_itself() -> None:
    rows = [{"name": name} for name in "abc"]
    stated = Contract(
        tool=f"POST {HOST}/rows",
        batch={"items": "body.rows", "identity": ["name"]},
        read_back={
            "tool": f"GET {HOST}/rows",
            "match": {"name": "body.rows[].name"},
            "items": "rows",
            "unique": True,
            "complete": "complete",
            "permanent": True,
            "visibility_lag": 0,
        },
        in_flight_bound=0,
    )
    there = rows[:1]

    def read(tool: str, arguments: object) -> object:
        return {"rows": [*there], "complete": True}

    site = Site(httpx, lost(), httpx.Response(201, json={"made": 2}))
    with site.client(stated, parts={"read": read}) as client:
        assert client.post(f"{HOST}/rows", json={"rows": rows}).status_code < 300
    assert [json.loads(request.content)["rows"] for request in site.requests] == [rows, rows[1:]]


def test_the_effect_of_an_answer_is_known_by_its_id() -> None:
    """So that a read does not take it for the effect of another action."""
    read_back = {"tool": f"GET {HOST}/x", "match": {"amount": "body.amount"}, "id": "id"}
    ledger = MemoryLedger()
    stated = Contract(tool=TOOL, read_back=read_back)
    with Site().client(stated, ledger=ledger, parts={"read": print}) as client:
        client.post(CHARGES, json=BODY)
    (record,) = ledger.list("acme")
    assert about(record).effect_id == "ch_1"


def test_a_classifier_that_gives_bodies_serves_as_well_as_one_of_ones_own() -> None:
    def own(result: object) -> object:
        end = classify(result)
        return end if getattr(result, "status_code", 0) != 418 else Done(result)

    def by_status(result: Reply) -> object:
        return Done(result) if result.status_code < 300 else Unknown(result)

    for judge in (classify_body, own, by_status):
        site = Site(httpx, httpx.Response(418 if judge is own else 201, text="tea"))
        with site.client(parts={"classify": judge}) as client:
            first, again = client.post(CHARGES, json=BODY), client.post(CHARGES, json=BODY)
        assert (first.text, again.text, len(site.requests)) == ("tea", "tea", 1)
        assert again.status_code == first.status_code


def test_it_works_with_what_respx_mocks() -> None:
    with respx.mock(assert_all_called=False) as router:
        mocked = router.post(CHARGES)
        mocked.side_effect = [httpx.ReadTimeout("lost"), httpx.Response(201, json={"id": "ch_1"})]
        guard = guard_of(KEYED)
        with httpx.Client(transport=guarded(httpx.HTTPTransport(), guard)) as client:
            for _ in range(2):
                with guard.turn("acme", "t1"):
                    assert client.post(CHARGES, json=BODY).json() == {"id": "ch_1"}
        assert mocked.call_count == 2


@every_library
def test_a_client_opens_and_closes_the_transport_inside(library: Reply) -> None:
    steps = list[str]()

    class Inside(library.MockTransport):  # type: ignore[misc] # of either library
        def __enter__(self) -> Reply:
            steps.append("open")
            return self

        def __exit__(self, *error: object) -> None:
            steps.append("close")

    with library.Client(transport=wrapped(Inside(Site(library)), guard_of())):
        assert steps == ["open"]
    assert steps == ["open", "close"]


@every_library
async def test_an_async_client_opens_guards_and_closes_the_transport_inside(library: Reply) -> None:
    site, steps = Site(library, lost(library)), list[str]()

    class Inside(library.MockTransport):  # type: ignore[misc] # of either library
        async def __aenter__(self) -> Reply:
            steps.append("open")
            return self

        async def __aexit__(self, *error: object) -> None:
            steps.append("close")

    guard = AsyncGuard(MemoryLedger(), [KEYED], classify=classify, policy=QUICK)
    async with library.AsyncClient(transport=wrapped(Inside(site), guard)) as client:
        with guard.turn("acme", "t1"):
            first = await client.post(CHARGES, json=BODY)
            again = await client.post(CHARGES, json=BODY)
            await client.get(CHARGES)
    assert first.content == again.content == b'{"id":"ch_2"}'
    assert len(site.requests) == 3
    assert steps == ["open", "close"]


READS = f"GET {HOST}/v1/customers/{{customer}}/charges"


@every_library
async def test_a_reader_asks_for_what_the_read_back_names(library: Reply) -> None:
    site = Site(library, *[library.Response(200, json={"data": []}) for _ in range(2)])
    arguments = {"customer": "c/1", "amount": 5}
    with library.Client(transport=library.MockTransport(site)) as client:
        assert read_with(client)(READS, arguments) == {"data": []}
        site.fates.insert(0, library.Response(503))
        with pytest.raises(library.HTTPStatusError):
            read_with(client)(READS, arguments)
    async with library.AsyncClient(transport=library.MockTransport(site)) as client:
        assert await read_with(client)(READS, arguments) == {"data": []}
    urls = {str(request.url) for request in site.requests}
    assert urls == {f"{HOST}/v1/customers/c%2F1/charges?amount=5"}


@every_fault
def test_the_example_of_the_readme_charges_once(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with example_that_charges_once("adapters/httpx/README.md", fault, tmp_path):
        assert capsys.readouterr().out == "ch_1 False\n"


def test_every_refusal_has_the_base_of_the_guards_errors() -> None:
    assert issubclass(UnresolvedError, GuardError)
    assert not issubclass(GuardError, httpx.HTTPError | httpx2.HTTPError)
