"""Rules 14 and 17: results as the tool gave them, also those that cannot be kept; secrets."""

import enum
from collections.abc import Generator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from guards import ARGUMENTS, KEYED, PLAIN, Args, Extra, Fate, Lab, LabMaker, every_guard, gives
from retry_guard import Contract, UsageError
from retry_guard_contracts import Sign


@every_guard
@pytest.mark.parametrize(
    "value",
    [
        None,
        {"text": "ok", "replayed": False},
        [{"type": "text", "text": "ü"}, {"type": "image", "data": b"\x00"}],
        "a sentence",
        Decimal("5.00"),
        datetime(2026, 1, 1, tzinfo=UTC),
        (1, 2.5, True),
    ],
)
def test_a_replay_is_the_tools_own_result(make: LabMaker, value: object, tmp_path: Path) -> None:
    """B84, B135: the same shape, a success, and the mark of the replay beside it."""
    lab = make(tmp_path)
    first = lab.guard(PLAIN).done(send=gives(value))
    again = lab.guard(PLAIN, ledger=lab.open()).done()
    assert first.value is value
    assert (again.value, type(again.value)) == (value, type(value))
    assert (first.replayed, again.replayed, again.warning) == (False, True, None)


def numbers() -> Generator[int]:
    yield 1


class Hostile:
    """Raises at every look."""

    def __getattribute__(self, name: str) -> object:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment] # one more thing that fails


@every_guard
@pytest.mark.parametrize("kind", ["generator", "file", "huge", "surrogate", "nan", "hostile"])
def test_a_result_that_cannot_be_kept_reaches_its_caller_and_nothing_runs_twice(
    make: LabMaker, kind: str, tmp_path: Path
) -> None:
    """B113, B59: the effect happened, whatever the result is."""
    lab = make(tmp_path)
    with Path(__file__).open(encoding="utf-8") as file:
        values: dict[str, Any] = {
            "generator": numbers(),
            "file": file,
            "huge": "x" * (9 * 1024 * 1024),
            "surrogate": "\ud800",
            "nan": float("nan"),
            "hostile": [Hostile()],
        }
        value = values[kind]
        first = lab.guard(PLAIN).done(send=gives(value))
        assert first.value is value
        again = lab.guard(PLAIN).done()
    assert (again.value, again.replayed) == (None, True)
    assert first.warning == again.warning
    assert again.warning is not None
    assert "could not be kept" in again.warning
    assert lab.service.requests == []


class Unprintable(Exception):  # noqa: N818 - a library's own
    def __str__(self) -> str:
        raise RuntimeError("no text")


@every_guard
def test_an_error_that_cannot_be_printed_is_an_unknown_like_any_other(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet(Unprintable(), RuntimeError("\ud800"))
    assert lab.guard(PLAIN).unresolved().reason == "nothing_can_tell"
    other = {**ARGUMENTS, "amount": 6}
    assert lab.guard(PLAIN).unresolved(other).reason == "nothing_can_tell"
    proof = Contract(tool="refund", not_executed=(Sign(message="no text"),))
    lab.service.meet(Unprintable())
    assert lab.guard(proof).unresolved(tool="refund").reason == "nothing_can_tell"


@every_guard
def test_the_second_caller_of_a_refusal_gets_its_text(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    outcome = lab.guard(PLAIN).not_executed(send=_refused)
    assert isinstance(outcome.error, ConnectionRefusedError)
    record = lab.only()
    assert isinstance(record.value, bytes)
    assert b"ConnectionRefusedError: nobody listens" in record.value
    lab.guard(Contract(tool="refund")).not_executed(tool="refund", send=_oddly_refused)
    assert lab.records()[-1].value == b'"ConnectionRefusedError"'


def _oddly_refused(arguments: Args, extra: Extra) -> None:
    raise ConnectionRefusedError("\ud800")


def _refused(arguments: Args, extra: Extra) -> None:
    raise ConnectionRefusedError("nobody listens")


SECRET = Contract(
    tool="charge", key=KEYED.key, secret=("token", "card.number"), identity={"customer": "exact"}
)
GIVEN = {"customer": "c1", "token": "hunter2-hunter2", "card": {"number": "4242424242424242"}}


@every_guard
def test_a_re_issue_carries_the_secrets_of_its_own_call(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", "lost")
    lab.guard(SECRET).done(GIVEN)
    assert [{**r, "key": 0} for r in lab.service.requests] == [{**GIVEN, "key": 0}] * 3


@every_guard
@pytest.mark.parametrize("change", ["other", "missing"])
def test_a_re_issue_with_another_secret_is_refused_and_the_record_stays(
    make: LabMaker, change: str, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", times=5)
    lab.guard(SECRET).unresolved(GIVEN)
    sent = len(lab.service.requests)
    second: dict[str, Any] = {**GIVEN, "token": "something else"}
    if change == "missing":
        del second["token"]
    with pytest.raises(UsageError, match="a secret field differs"):
        lab.guard(SECRET, ledger=lab.open()).call(second)
    assert (len(lab.service.requests), lab.only().state) == (sent, "open")
    assert lab.guard(SECRET, ledger=lab.open()).done(GIVEN, turn="t2").value == {"id": "ch_1"}
    assert {r["token"] for r in lab.service.requests} == {"hunter2-hunter2"}


@pytest.mark.parametrize("fate", ["ok", "lost_ack", RuntimeError("bad token hunter2-hunter2")])
@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_no_secret_is_in_the_files_of_the_ledger(fate: Fate, mode: str, tmp_path: Path) -> None:
    lab = Lab("sync", "sqlite", tmp_path)
    lab.service.meet(fate, times=5)
    guard = lab.guard(SECRET, mode=mode)
    for _ in range(2):
        try:
            guard.call(GIVEN)
        except (TimeoutError, RuntimeError):
            assert mode == "observe"
    files = sorted(file for file in tmp_path.iterdir() if file.name.startswith("guard.db"))
    assert [file.name for file in files] == ["guard.db", "guard.db-shm", "guard.db-wal"]
    raw = b"".join(file.read_bytes() for file in files)
    assert b"customer" in raw
    for secret in (b"hunter2", b"4242424242424242"):
        assert secret not in raw


class Size(enum.Enum):
    BIG = "big"


@dataclass(frozen=True)
class Line:
    sku: str
    price: Decimal


@every_guard
def test_arguments_go_out_as_given_and_come_back_from_the_record(
    make: LabMaker, tmp_path: Path
) -> None:
    """B64: dataclasses, enums, decimals, times; a second process sends equal plain data."""
    lab = make(tmp_path)
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    given: dict[str, Any] = {"line": Line("a", Decimal("1.10")), "at": at, "size": Size.BIG}
    lab.service.meet("lost", times=5)
    lab.guard(KEYED).unresolved(given)
    first = lab.service.requests[0]
    assert (first["line"], first["at"], first["size"]) == tuple(given.values())
    again = {"line": Line("a", Decimal("1.1")), "at": at, "size": Size.BIG}
    lab.guard(KEYED, ledger=lab.open()).done(again)
    last = lab.service.requests[-1]
    assert last["at"] == at
    assert str(last["line"]["price"]) == "1.10"
