"""The server that the other tests of this kind stand on does what they think it does."""

from collections.abc import Iterator

import pytest

from faulty import FaultyServer, faulty_server_in, until
from http_clients import SYNC, Reply, Request, outcome_of
from real_calls import LIMIT, caller


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    with faulty_server_in(tmp_path_factory.mktemp("server")) as running:
        yield running


def charged(
    server: FaultyServer, reference: str, key: str, *, limit: float = 5.0, amount: int = 5
) -> Reply:
    body = {"reference": reference, "amount": amount}
    asked = Request("POST", f"{server.url}/charges", body, {"Idempotency-Key": key}, limit)
    return outcome_of(lambda: SYNC["httpx"](asked))


def test_a_key_gives_the_first_answer_again_and_refuses_other_arguments(
    server: FaultyServer,
) -> None:
    reference = caller(server, "key").reference
    first, again = (charged(server, reference, f"k-{reference}") for _ in range(2))
    assert (first.status_code, first.json()) == (again.status_code, again.json())
    other = charged(server, reference, f"k-{reference}", amount=6)
    assert (other.status_code, other.json()["error"]["type"]) == (422, "idempotency_error")
    assert len(server.effects(reference)) == 1


def test_a_key_in_the_body_is_the_same_key(server: FaultyServer) -> None:
    reference = caller(server, "key").reference
    body = {"reference": reference, "amount": 5, "idempotency_key": f"k-{reference}"}
    asked = Request("POST", f"{server.url}/charges", body)
    answer = SYNC["httpx"](asked)
    assert charged(server, reference, f"k-{reference}").json() == answer.json()
    assert len(server.effects(reference)) == 1


def test_a_key_is_in_use_until_its_first_request_has_ended(server: FaultyServer) -> None:
    reference = caller(server, "key", "late_commit:0.4").reference
    assert isinstance(charged(server, reference, f"k-{reference}", limit=LIMIT), Exception)
    running = charged(server, reference, f"k-{reference}")
    assert (running.status_code, len(server.effects(reference))) == (409, 0)
    until(lambda: server.effects(reference))
    assert charged(server, reference, f"k-{reference}").status_code == 201


def test_a_killed_server_comes_back_with_all_that_it_had_committed(server: FaultyServer) -> None:
    reference = caller(server, "key").reference
    first = charged(server, reference, f"k-{reference}")
    server.kill()
    again = charged(server, reference, f"k-{reference}")
    assert getattr(again, "status_code", 201) == 201
    assert charged(server, reference, f"k-{reference}").json() == first.json()
    assert len(server.effects(reference)) == 1


def test_a_read_lists_what_was_committed_and_nothing_else(server: FaultyServer) -> None:
    reference = caller(server, "key").reference
    url = f"{server.url}/charges?reference={reference}"
    assert SYNC["httpx"](Request("GET", url)).json() == {"data": [], "has_more": False}
    made = charged(server, reference, f"k-{reference}").json()
    assert SYNC["httpx"](Request("GET", url)).json()["data"] == [made]
