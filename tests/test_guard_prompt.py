"""Where a durable ledger can do it without waiting, an end is recorded in the loop's own thread."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from guards import ARGUMENTS, PLAIN, Args, Extra
from retry_guard import AsyncGuard, Done
from retry_guard_core import Now, Record
from retry_guard_ledgers import LedgerError, Prompt, SQLiteLedger
from retry_guard_ledgers._prompt import SQLitePrompt
from retry_guard_outcomes import classify


class Watched(SQLiteLedger):
    """Notes in which thread each verb works; `failing`: what it does not do without waiting."""

    def __init__(self, path: Path, *failing: str, **options: Any) -> None:  # noqa: ANN401 - as the ledger's
        super().__init__(path, **options)
        self.failing, self.seen = failing, list[tuple[str, bool]]()

    def note(self, verb: str) -> None:
        self.seen.append((verb, threading.current_thread() is threading.main_thread()))

    @property
    def prompt(self) -> Any:  # noqa: ANN401 - in all but name
        found = super().prompt
        return None if found is None else _Watched(self, found)

    def claim(self, record: Record, after: Record | None, now: Now) -> Record:
        self.note("claim")
        return super().claim(record, after, now)

    def save(self, record: Record) -> bool:
        self.note("save")
        return super().save(record)

    def deliver(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as the ledger's
        self.note("deliver")
        super().deliver(*given, **named)


class _Watched:
    def __init__(self, ledger: Watched, prompt: SQLitePrompt) -> None:
        self._ledger, self._prompt = ledger, prompt

    def _does(self, verb: str) -> Any:  # noqa: ANN401 - as the ledger's
        self._ledger.note(f"prompt {verb}")
        if verb in self._ledger.failing:
            raise LedgerError("it would have to wait")
        return getattr(self._prompt, verb)

    def save(self, record: Record) -> Any:  # noqa: ANN401 - as the ledger's
        return self._does("save")(record)

    def deliver(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as the ledger's
        self._does("deliver")(*given, **named)


async def send(_arguments: Args, _extra: Extra) -> str:
    return "made"


async def charged(ledger: Any, call: Any = send) -> object:  # noqa: ANN401 - in all but name
    guard = AsyncGuard(ledger, [PLAIN], classify=classify)
    return await guard.call("charge", ARGUMENTS, send=call, scope="acme", turn="t1")


def is_done_and_delivered(ledger: SQLiteLedger) -> bool:
    (record,) = ledger.list("acme")
    return record.state == "done" and record.delivered


async def test_a_claim_waits_in_a_thread_and_what_follows_it_does_not(tmp_path: Path) -> None:
    ledger = Watched(tmp_path / "guard.db")
    assert await charged(ledger) == Done("made")
    assert ledger.seen == [("claim", False), ("prompt save", True), ("prompt deliver", True)]
    assert is_done_and_delivered(ledger)


async def test_an_end_that_would_have_to_wait_is_left_to_a_thread(tmp_path: Path) -> None:
    ledger = Watched(tmp_path / "guard.db", "save")
    assert await charged(ledger) == Done("made")
    assert ledger.seen[1:] == [("prompt save", True), ("save", False), ("deliver", False)]
    assert is_done_and_delivered(ledger)


async def test_so_is_a_delivery_and_the_result_bears_no_warning(tmp_path: Path) -> None:
    ledger = Watched(tmp_path / "guard.db", "deliver")
    assert await charged(ledger) == Done("made")
    assert ledger.seen[2:] == [("prompt deliver", True), ("deliver", False)]
    assert is_done_and_delivered(ledger)


async def test_the_loop_goes_on_while_an_end_waits_for_the_lock(tmp_path: Path) -> None:
    """Nobody but the loop can let the lock go, so whatever waited in the loop would give up."""
    ledger = SQLiteLedger(tmp_path / "guard.db", busy=300.0)
    db = sqlite3.connect(tmp_path / "guard.db", isolation_level=None)

    async def locking(_arguments: Args, _extra: Extra) -> str:
        db.execute("BEGIN IMMEDIATE")
        return "made"

    call = asyncio.ensure_future(charged(ledger, locking))
    while not db.in_transaction:  # noqa: ASYNC110 - asyncio has no event for another's lock
        await asyncio.sleep(0.01)
    for _ in range(20):
        await asyncio.sleep(0.01)
    assert not call.done()
    db.execute("ROLLBACK")
    assert await call == Done("made")
    assert is_done_and_delivered(ledger)
    db.close()


async def test_what_is_only_observed_is_delivered_once_the_caller_has_it(tmp_path: Path) -> None:
    ledger = Watched(tmp_path / "guard.db")
    guard = AsyncGuard(ledger, [PLAIN], classify=classify, mode="observe")
    arguments: Args = dict(ARGUMENTS)
    await guard.call("charge", arguments, send=send, scope="acme", turn="t1")
    assert ledger.seen == [("claim", False), ("prompt save", True), ("deliver", False)]


async def test_what_is_not_done_is_recorded_there_too(tmp_path: Path) -> None:
    async def refused(_arguments: Args, _extra: Extra) -> str:
        raise ConnectionRefusedError("nobody listens")

    ledger = Watched(tmp_path / "guard.db")
    await charged(ledger, refused)
    assert ledger.seen == [("claim", False), ("prompt save", True)]
    assert [record.state for record in ledger.list("acme")] == ["not_executed"]


async def test_what_stays_open_is_recorded_in_a_thread_since_it_must_be_durable(
    tmp_path: Path,
) -> None:
    async def lost(_arguments: Args, _extra: Extra) -> str:
        raise TimeoutError

    ledger = Watched(tmp_path / "guard.db")
    await charged(ledger, lost)
    assert ledger.seen == [("claim", False), ("save", False)]
    assert [record.state for record in ledger.list("acme")] == ["open"]


def test_a_ledger_is_asked_for_its_own_and_not_for_that_of_one_inside(tmp_path: Path) -> None:
    """Whoever stands in front of a ledger and hands on what it does not know sees each verb."""
    seen = list[str]()

    class Front:
        def __init__(self, inner: SQLiteLedger) -> None:
            self.inner = inner

        def save(self, record: Record) -> bool:
            seen.append(record.state)
            return self.inner.save(record)

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the ledger's
            return getattr(self.inner, name)

    ledger = SQLiteLedger(tmp_path / "guard.db")
    assert asyncio.run(charged(Front(ledger))) == Done("made")
    assert seen == ["done"]


class Audited(SQLiteLedger):
    """A ledger that does more than a SQLite ledger does, as a program may have one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.saved = list[str]()

    def save(self, record: Record) -> bool:
        self.saved.append(record.state)
        return super().save(record)


class Counted(SQLiteLedger):
    """The same, of the other verb."""

    told = 0

    def deliver(self, *given: Any, **named: Any) -> None:  # noqa: ANN401 - as the ledger's
        self.told += 1
        super().deliver(*given, **named)


async def test_a_ledger_made_of_another_is_passed_by_in_nothing_that_it_does(
    tmp_path: Path,
) -> None:
    audited, counted = Audited(tmp_path / "one.db"), Counted(tmp_path / "two.db")
    assert await charged(audited) == Done("made")
    assert audited.saved == ["done"]
    assert await charged(counted) == Done("made")
    assert counted.told == 1


async def test_nor_is_a_single_ledger_that_was_patched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, seen = SQLiteLedger(tmp_path / "guard.db"), list[str]()
    inner = ledger.save

    def save(record: Record) -> bool:
        seen.append(record.state)
        return inner(record)

    monkeypatch.setattr(ledger, "save", save)
    assert await charged(ledger) == Done("made")
    assert seen == ["done"]


async def test_one_that_adds_something_else_still_does_it_without_waiting(tmp_path: Path) -> None:
    class Named(Watched):
        label = "mine"

    ledger = Named(tmp_path / "guard.db")
    assert await charged(ledger) == Done("made")
    assert ("prompt save", True) in ledger.seen


def test_what_a_sqlite_ledger_offers_is_a_prompt(tmp_path: Path) -> None:
    offered: Prompt | None = SQLiteLedger(tmp_path / "guard.db").prompt
    assert offered is not None
