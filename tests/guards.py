"""A guard of either kind on either ledger, a clock that is set by hand, and a service that counts.

`every_guard` parametrises a test over sync and async, memory and SQLite.
"""

import asyncio
import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from retry_guard import (
    Answer,
    AsyncGuard,
    Contract,
    Done,
    Guard,
    NotExecuted,
    Outcome,
    Policy,
    Unknown,
    Unresolved,
)
from retry_guard_contracts import Key, ReadBack
from retry_guard_core import Now, Record
from retry_guard_ledgers import Ledger, LedgerError, MemoryLedger, SQLiteLedger, about
from retry_guard_outcomes import classify

Args = dict[str, Any]
Extra = dict[str, str]
Send = Callable[[Args, Extra], object]

PLAIN = Contract(tool="charge")
KEYED = Contract(tool="charge", key=Key(param="key", retention=86400.0))
LISTED = ReadBack(
    tool="list_charges",
    items="charges",
    match={"customer": "customer", "amount": "amount"},
    id="id",
    created="created",
    skew=0.0,
    exclusive=True,
    complete="complete",
    permanent=True,
    visibility_lag=0.0,
    result={"id": "id"},
)
READABLE = Contract(tool="charge", read_back=LISTED, in_flight_bound=20.0)


def changed(contract: Contract, **fields: object) -> Contract:
    """Return the contract with other fields."""
    stated = {name: getattr(contract, name) for name in contract.model_fields_set}
    return Contract.model_validate({**stated, **fields})


ARGUMENTS = {"customer": "c1", "amount": 5}
START = 1_700_000_000.0


@dataclass
class HandClock:
    """Time passes only by sleep."""

    at: float = START

    def now(self) -> Now:
        return Now(self.at, self.at)

    def sleep(self, seconds: float) -> None:
        self.at += seconds


Fate = Literal["ok", "lost_ack", "lost", "refused", "late", "in_progress", "exists"] | BaseException


@dataclass
class Service:
    """What really happened: each effect, and each request as it came in.

    `fates`: what the next sends meet; then all is well. `lag`: until a read shows an effect.
    """

    clock: HandClock = field(default_factory=HandClock)
    fates: list[Fate] = field(default_factory=list[Fate])
    lag: float = 0.0
    timeout: float = 1.0
    late_by: float = 10.0
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    extras: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    effects: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    known: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    reads: int = 0

    def meet(self, *fates: Fate, times: int = 1) -> None:
        self.fates += fates * times

    @property
    def keys(self) -> list[str | None]:
        """The key of each request, wherever it travelled."""
        pairs = zip(self.requests, self.extras, strict=True)
        return [next(iter({**extra, "": r.get("key")}.values())) for r, extra in pairs]

    def send(self, arguments: Args, extra: Extra) -> object:
        self.requests.append(deepcopy(arguments))
        self.extras.append(dict(extra))
        fate = self.fates.pop(0) if self.fates else "ok"
        match fate:
            case BaseException():
                raise fate
            case "refused":
                raise ConnectionRefusedError("nobody listens")
            case "in_progress" | "exists":
                return Unknown(RuntimeError("409"), hint=fate)
            case "lost":
                self.clock.sleep(self.timeout)
                raise TimeoutError("no answer")
            case "ok" | "lost_ack" | "late":
                result = self._run(arguments, extra, self.late_by if fate == "late" else 0.0)
        if fate == "ok":
            return result
        self.clock.sleep(self.timeout)
        raise TimeoutError("no answer")

    def _run(self, arguments: Args, extra: Extra, delay: float) -> Args:
        key = next(iter(extra.values()), arguments.get("key"))
        if key is not None and key in self.known:
            return self.known[key]
        result = {"id": f"ch_{len(self.effects) + 1}"}
        at = self.clock.at + delay
        self.effects.append({**deepcopy(arguments), **result, "created": at})
        if key is not None:
            self.known[key] = result
        return result

    def read(self, tool: str, arguments: Args) -> dict[str, Any]:
        self.reads += 1
        seen = [e for e in self.effects if e["created"] + self.lag <= self.clock.at]
        return {"charges": deepcopy(seen), "complete": True}


class Subject:
    """One guard, of either kind, called in the same way."""

    def __init__(self, guard: Guard | AsyncGuard, service: Service) -> None:
        self.guard, self.service = guard, service

    def call(
        self,
        arguments: Mapping[str, Any] = ARGUMENTS,
        *,
        tool: str = "charge",
        send: Send | None = None,
        scope: str = "acme",
        turn: str | None = "t1",
        **more: Any,  # noqa: ANN401 - handed on
    ) -> Outcome:
        send = send or self.service.send
        if isinstance(self.guard, Guard):
            return self.guard.call(tool, arguments, send=send, scope=scope, turn=turn, **more)
        work = self.guard.call(tool, arguments, send=awaited(send), scope=scope, turn=turn, **more)
        return asyncio.run(work)

    def reject(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        scope: str = "acme",
        turn: str | None = "t1",
    ) -> bool:
        if isinstance(self.guard, Guard):
            return self.guard.reject(tool, arguments, scope=scope, turn=turn)
        return asyncio.run(self.guard.reject(tool, arguments, scope=scope, turn=turn))

    def done(self, arguments: Mapping[str, Any] = ARGUMENTS, **more: Any) -> Done:  # noqa: ANN401 - handed on
        outcome = self.call(arguments, **more)
        assert isinstance(outcome, Done), outcome
        return outcome

    def unresolved(self, arguments: Mapping[str, Any] = ARGUMENTS, **more: Any) -> Unresolved:  # noqa: ANN401 - handed on
        outcome = self.call(arguments, **more)
        assert isinstance(outcome, Unresolved), outcome
        return outcome

    def not_executed(self, arguments: Mapping[str, Any] = ARGUMENTS, **more: Any) -> NotExecuted:  # noqa: ANN401 - handed on
        outcome = self.call(arguments, **more)
        assert isinstance(outcome, NotExecuted), outcome
        return outcome


def gives(value: object) -> Send:
    """Return a send whose call returns this value."""
    return lambda arguments, extra: value


def awaited(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, awaited, with a pause in which other tasks run."""

    async def later(*arguments: object) -> object:
        await asyncio.sleep(0)
        result = function(*arguments)
        return await result if inspect.isawaitable(result) else result

    return later


class Lab:
    """A service, a clock and a ledger. With SQLite each `open` is as another process sees it."""

    def __init__(self, kind: str, store: str, folder: Path) -> None:
        self.kind, self.path = kind, folder / "guard.db"
        self.clock = HandClock()
        self.service = Service(self.clock)
        self._memory = MemoryLedger() if store == "memory" else None
        self.ledger = self.open()

    def open(self) -> Ledger:
        return self._memory or SQLiteLedger(self.path)

    def guard(self, *contracts: Contract, **options: Any) -> Subject:  # noqa: ANN401 - handed on
        """A guard on this ledger and clock; `read` and `ask` of the options are plain functions."""
        made: dict[str, Any] = {"classify": classify, "clock": self.clock, **options}
        made.setdefault("read", self.service.read)
        ledger = made.pop("ledger", self.ledger)
        if self.kind == "sync":
            return Subject(Guard(ledger, contracts, **made), self.service)
        for name in ("read", "ask"):
            if made.get(name) is not None:
                made[name] = awaited(made[name])
        return Subject(AsyncGuard(ledger, contracts, **made), self.service)

    def records(self, scope: str | None = "acme") -> list[Record]:
        return self.open().list(scope)

    def only(self) -> Record:
        """The one record that there is."""
        (record,) = self.records()
        return record

    def resolve(self, answer: Literal["happened", "did_not_happen", "again", "abandon"]) -> None:
        """Answer for the latest record as an operator does at the command line."""
        latest = about(self.records()[-1])
        self.open().resolve("acme", latest.id, answer, now=self.clock.now(), value=None)


class LabMaker:
    """One cell of `every_guard`."""

    def __init__(self, kind: str, store: str) -> None:
        self.kind, self.store = kind, store

    def __call__(self, folder: Path) -> Lab:
        return Lab(self.kind, self.store, folder)


LABS = {
    f"{kind}-{store}": LabMaker(kind, store)
    for kind in ("sync", "async")
    for store in ("memory", "sqlite")
}
every_guard = pytest.mark.parametrize("make", LABS.values(), ids=LABS)


class Operator:
    """Answers what it is given to answer, in turn, then nothing; `asked`: what it was asked."""

    def __init__(self, *answers: Answer | BaseException | None) -> None:
        self.answers, self.asked = list(answers), list[Unresolved]()

    def __call__(self, question: Unresolved) -> Answer | None:
        self.asked.append(question)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, BaseException):
            raise answer
        return answer


QUICK = Policy(backoff=0.001, backoff_limit=0.002, poll=0.001)
"""For tests on the real clock."""


class Flaky:
    """A ledger whose verbs fail: those in `down`, and calls of a verb as `failing` counts them."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.down = set[str]()
        self.calls = list[str]()
        self.failing: Callable[[str, tuple[object, ...]], bool] = lambda verb, given: False

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - as the ledger's
        found = getattr(self.ledger, verb)
        if not callable(found) or verb == "now":
            return found

        def call(*given: object, **named: object) -> object:
            self.calls.append(verb)
            if verb in self.down or "all" in self.down or self.failing(verb, given):
                raise LedgerError(f"the ledger is down ({verb}): mend it")
            return found(*given, **named)

        return call
