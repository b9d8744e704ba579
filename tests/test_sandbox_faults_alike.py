"""Faults that show the same cannot be told apart, until an answer depends on what is hidden."""

from collections import Counter
from collections.abc import Callable

import pytest

from retry_guard_sandbox.services import Service, Tool
from retry_guard_sandbox.world._exchange import Exchange
from retry_guard_sandbox.world._fates import Fate, Fates
from retry_guard_sandbox.world._http import Response
from retry_guard_sandbox.world._streams import Streams
from sandbox_clients import WRITES, FunctionCaller, Place
from sandbox_transcripts import groups, told_apart, transcript

every_write = pytest.mark.parametrize("tool", WRITES)


def test_these_are_the_twelve_faults_and_the_groups_that_look_alike() -> None:
    assert groups() == {
        "success": ["none", "silent_redelivery"],
        "timeout": [
            "lost_request",
            "lost_ack",
            "late_commit",
            "late_commit_heavy_tail",
            "redelivery",
            "partial_batch",
        ],
        "error": ["error_before", "error_after"],
        "reset": ["reset_before", "reset_after"],
    }


@every_write
def test_faults_that_show_the_same_give_equal_bytes_ids_and_times(tool: str) -> None:
    assert list(told_apart(FunctionCaller, tool)) == []


Leak = Callable[[pytest.MonkeyPatch], None]


class Counters:
    """A counter for each owner, such as one world's streams."""

    def __init__(self) -> None:
        self._owners: dict[int, object] = {}  # kept, else another could be taken for it
        self._counts = Counter[int]()

    def add(self, owner: object, number: int = 1) -> int:
        self._owners[id(owner)] = owner
        self._counts[id(owner)] += number
        return self._counts[id(owner)]


def _ids_from_a_counter(patch: pytest.MonkeyPatch) -> None:
    """As if a service took the next id for each execution."""
    made = Counters()

    def token(self: Streams, purpose: str, *_ordinals: int | str, size: int = 8) -> str:
        return f"{made.add(self):0{size}}"

    patch.setattr(Streams, "token", token)


def _latencies_from_a_counter(patch: pytest.MonkeyPatch) -> None:
    """As if each arrival took the next number of a generator that latencies come from, too."""
    arrived, honest = Counters(), Fates.of

    def fate(self: Fates, tool: Tool, action: int, attempt: int) -> Fate:
        found = honest(self, tool, action, attempt)
        return found._replace(down=0.02 + arrived.add(self, len(found.arrivals)) / 1000)

    patch.setattr(Fates, "of", fate)


def _busy_after_a_request(patch: pytest.MonkeyPatch) -> None:
    """As if a service that has had an odd number of requests were busy."""
    received, honest = Counters(), Service.receive

    def receive(self: Service, *request: object) -> Response | None:
        if received.add(self) % 2:
            return honest(self, *request)  # type: ignore[arg-type]  # handed on as it came
        return Response(503, {"error": {"message": "busy"}})

    patch.setattr(Service, "receive", receive)


def _errors_once_it_is_known(patch: pytest.MonkeyPatch) -> None:
    """As if the network made its error only when a service had answered."""
    honest = Exchange._answer

    def answer(self: Exchange, response: Response) -> None:
        honest(self, response)
        if self._fate.shows != "success":
            self._fail()

    patch.setattr(Exchange, "_answer", answer)


@pytest.mark.parametrize(
    "leak",
    [
        _ids_from_a_counter,
        _latencies_from_a_counter,
        _busy_after_a_request,
        _errors_once_it_is_known,
    ],
)
def test_a_world_that_gives_away_what_is_hidden_is_found_out(
    leak: Leak, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(told_apart(FunctionCaller, "charge")) == []
    leak(monkeypatch)
    place = Place(tool="charge", fault="lost_ack")
    once, again = (transcript(FunctionCaller(place), place, None) for _ in range(2))
    assert once == again
    assert next(told_apart(FunctionCaller, "charge"), None) is not None
