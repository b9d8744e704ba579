"""A server that nobody here wrote, and whose write takes an idempotency key.

The service behind it is ours, since the real one is remote: what it keeps of a key is what the
server's library documents, and what it holds is counted.
"""

import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_servers_booking import BOOKING, noted, service, slot
from mcp_servers_client import Client, EndedError, Message
from mcp_servers_sites import broken, direct, guarded, session


@pytest.fixture
def folder(tmp_path: Path) -> Generator[Path]:
    """Give a folder with the service beside it."""
    with service(tmp_path):
        yield tmp_path


def book(client: Client, arguments: Message) -> Message:
    return client.call(BOOKING.tool, arguments, seconds=120)


def keys(folder: Path) -> list[str]:
    """Return the key of each request that the service got."""
    return [one["key"] for one in noted(folder, "requests.jsonl")]


def booking(folder: Path, number: int = 0) -> Any:  # noqa: ANN401 - what a service notes
    return noted(folder, "bookings.jsonl")[number]["booking"]["booking_id"]


def schemas(command: list[str], folder: Path) -> dict[str, Message]:
    """Return what each tool takes, as the client is told."""
    with session(command, folder) as client:
        tools = client.ask("tools/list")["result"]["tools"]
    return {tool["name"]: tool["inputSchema"] for tool in tools}


@pytest.mark.parametrize("when", ["answered", "made", "cut"])
def test_a_booking_whose_answer_is_lost_is_asked_for_with_the_same_key(
    when: str, folder: Path
) -> None:
    broken(folder, BOOKING, when)
    with session(guarded(BOOKING, folder), folder) as client:
        told = book(client, slot(folder))
    first, second = keys(folder)
    assert first == second
    assert BOOKING.count(folder) == 1
    assert told["structuredContent"]["booking_id"] == booking(folder)


def test_a_booking_that_its_server_never_read_is_made(folder: Path) -> None:
    broken(folder, BOOKING, "asked")
    with session(guarded(BOOKING, folder), folder) as client:
        told = book(client, slot(folder))
    assert len(keys(folder)) == BOOKING.count(folder) == 1
    assert told["structuredContent"]["booking_id"] == booking(folder)


def test_a_proxy_that_is_started_after_a_kill_asks_with_the_key_of_the_first(folder: Path) -> None:
    broken(folder, BOOKING, "silent")
    with session(guarded(BOOKING, folder), folder) as client:
        client.send("tools/call", {"name": BOOKING.tool, "arguments": slot(folder)})
        while (folder / "break").exists():
            time.sleep(0.02)
        client.process.kill()
    with session(guarded(BOOKING, folder), folder) as client:
        told = book(client, slot(folder))
    first, second = keys(folder)
    assert first == second
    assert BOOKING.count(folder) == 1
    assert told["structuredContent"]["booking_id"] == booking(folder)


def test_another_booking_is_asked_for_with_another_key(folder: Path) -> None:
    with session(guarded(BOOKING, folder), folder) as client:
        for hour in (9, 10):
            book(client, slot(folder, hour))
    first, second = keys(folder)
    assert first != second
    assert BOOKING.count(folder) == 2


def test_a_client_whose_slot_is_taken_is_told_that_it_lost_it_to_itself(folder: Path) -> None:
    (folder / "exclusive").touch()
    broken(folder, BOOKING, "answered")
    with session(direct(BOOKING, folder), folder) as client, pytest.raises(EndedError):
        book(client, slot(folder))
    with session(direct(BOOKING, folder), folder) as client:
        told = book(client, slot(folder))
    assert told["structuredContent"]["error"] == "outranked"
    assert told["structuredContent"]["winning_booking_id"] == booking(folder)


def test_behind_the_proxy_a_slot_that_is_taken_is_the_callers_own(folder: Path) -> None:
    (folder / "exclusive").touch()
    broken(folder, BOOKING, "answered")
    with session(guarded(BOOKING, folder), folder) as client:
        told = book(client, slot(folder))
    assert told["structuredContent"]["booking_id"] == booking(folder)


def test_a_failure_that_its_server_tells_as_a_success_is_taken_for_the_result(folder: Path) -> None:
    broken(folder, BOOKING, "failed")
    with session(guarded(BOOKING, folder), folder) as client:
        told, again = book(client, slot(folder)), book(client, slot(folder))
    assert told["isError"] is again["isError"] is False
    assert told["structuredContent"]["error"] == "AgentDraftError"
    assert again["structuredContent"] == told["structuredContent"]
    assert len(keys(folder)) == BOOKING.count(folder) == 1


def test_a_failure_that_its_server_tells_as_a_success_is_none_where_the_contract_says_so(
    folder: Path,
) -> None:
    stated = BOOKING.contracts.rstrip() + "\n    unknown: [{message: AgentDraftError}]\n"
    broken(folder, BOOKING, "failed")
    with session(guarded(replace(BOOKING, contracts=stated), folder), folder) as client:
        told = book(client, slot(folder))
    first, second = keys(folder)
    assert first == second
    assert BOOKING.count(folder) == 1
    assert told["structuredContent"]["booking_id"] == booking(folder)


def test_the_key_is_in_the_list_of_tools_only_where_the_operator_wants_it(folder: Path) -> None:
    own = schemas(direct(BOOKING, folder), folder)
    assert schemas(guarded(BOOKING, folder, "--show-key"), folder) == own
    assert own[BOOKING.tool]["properties"].pop("idempotency_key")
    assert "idempotency_key" in own["create_hold"]["properties"], "it has no contract"
    assert schemas(guarded(BOOKING, folder), folder) == own


def test_a_model_that_uses_a_key_for_two_bookings_loses_one(folder: Path) -> None:
    with session(direct(BOOKING, folder), folder) as client:
        for hour in (9, 10):
            told = book(client, {**slot(folder, hour), "idempotency_key": "booking-1"})
    assert told["structuredContent"]["booking_id"] == booking(folder)
    assert BOOKING.count(folder) == 1


def test_behind_the_proxy_a_models_own_key_is_replaced(folder: Path) -> None:
    with session(guarded(BOOKING, folder), folder) as client:
        for number, hour in enumerate((9, 10)):
            told = book(client, {**slot(folder, hour), "idempotency_key": "booking-1"})
            assert told["structuredContent"]["booking_id"] == booking(folder, number)
    first, second = keys(folder)
    assert len({first, second, "booking-1"}) == 3
    assert BOOKING.count(folder) == 2


def test_a_models_own_key_that_is_kept_is_kept_for_one_booking(folder: Path) -> None:
    contracts = BOOKING.contracts.replace("mismatch: ignored", "mismatch: refused")
    with session(guarded(replace(BOOKING, contracts=contracts), folder), folder) as client:
        first, second = (
            book(client, {**slot(folder, hour), "idempotency_key": "booking-1"}) for hour in (9, 10)
        )
    assert "_meta" not in first
    warning = second["_meta"]["retry-guard/outcome"]["warning"]
    assert warning.startswith("The given key was not sent")
    assert keys(folder)[0] == "booking-1" != keys(folder)[1]
    assert BOOKING.count(folder) == 2
