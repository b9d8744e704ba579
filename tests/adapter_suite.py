"""What every framework adapter must share with the core alone: the same effects and answers.

A test file of an adapter writes one `Bench`, which runs one agent turn of its harness, and

    @every_cell
    def test_the_adapter_answers_as_the_core_does(cell: Cell, tmp_path: Path) -> None:
        cell.check(MyBench(), tmp_path)

Each cell runs twice, in two equal worlds: through the bench, and through a plain `Guard`.
Time is real (milliseconds), the ledger is a SQLite file, and nothing is shared between runs but
that file and the world, as if each run were another process.
"""

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import pytest

from guards import KEYED, LISTED, PLAIN, changed
from retry_guard import Contract, Done, Guard, NotExecuted, Policy, Unresolved
from retry_guard_ledgers import SQLiteLedger
from retry_guard_outcomes import classify

BOUND, LATE = 0.06, 0.03
POLICY = Policy(backoff=0.002, backoff_limit=0.01, poll=0.002)
CONTRACTS = {
    "key": KEYED,
    "read-back": changed(PLAIN, read_back=LISTED, in_flight_bound=BOUND),
    "neither": PLAIN,
}
FAULTS = (
    "lost_ack",
    "late_commit",
    "error_after",
    "crash_resume",
    "double_emission",
    "deliberate_repeat",
)

Fate = Literal["lost_ack", "late_commit", "error_after", "crash_resume"]


class Killed(BaseException):
    """The process ends inside the tool, after its effect. A bench lets it through."""


@dataclass
class World:
    """The service behind the tools, and what the guard of an adapter is made of.

    The agent has the tools `charge(customer: str, amount: int)`, in `keyed` worlds with the
    parameter `key` (text, optional), and `list_charges()`. Their bodies call the methods here,
    and return or raise what these do.
    """

    contract: Contract
    folder: Path
    fates: list[Fate] = field(default_factory=list[Fate])
    effects: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    requests: int = 0
    known: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    scope = "acme"
    policy = POLICY

    @property
    def keyed(self) -> bool:
        return self.contract.key is not None

    def ledger(self) -> SQLiteLedger:
        """Open the ledger, as another process would."""
        return SQLiteLedger(self.folder / "guard.db")

    def charge(self, customer: str, amount: int, key: str | None = None) -> dict[str, Any]:
        self.requests += 1
        fate = self.fates.pop(0) if self.fates else None
        result = self._effect({"customer": customer, "amount": amount}, key, fate)
        match fate:
            case None:
                return result
            case "lost_ack" | "late_commit":
                raise TimeoutError("no answer")
            case "error_after":
                raise RuntimeError("500 internal error")
            case "crash_resume":
                raise Killed

    def _effect(self, body: dict[str, Any], key: str | None, fate: Fate | None) -> dict[str, Any]:
        if key and key in self.known:
            return self.known[key]
        result = {"id": f"ch_{len(self.effects) + 1}"}
        at = time.time() + (LATE if fate == "late_commit" else 0.0)
        self.effects.append({**body, **result, "created": at})
        if key:
            self.known[key] = result
        return result

    def list_charges(self) -> dict[str, Any]:
        return {
            "charges": [e for e in self.effects if e["created"] <= time.time()],
            "complete": True,
        }

    def read(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Run the read-back, for an adapter that does not find it among the agent's tools."""
        assert (tool, arguments) == ("list_charges", {})
        return self.list_charges()


class Call(NamedTuple):
    """One tool call that the scripted model makes."""

    id: str
    arguments: dict[str, Any]
    tool: str = "charge"


C1 = Call("c1", {"customer": "c1", "amount": 1})
C2 = Call("c2", {"customer": "c2", "amount": 2})


class Told(NamedTuple):
    """What the harness was told of a call: the tool's result, or a sentence of the guard."""

    kind: Literal["done", "unresolved", "not_executed"]
    content: object


class Bench(Protocol):
    """One harness with one adapter."""

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        """Run one agent turn on a new guard over `world.ledger()`, and tell of each call.

        A new harness takes the user's message (its id is `turn`); the scripted model answers with
        one message that holds these calls, and after their results with a closing sentence.
        A later run with the same `turn` is the same turn in another process: it may resume from
        what the harness kept, or begin the turn anew. A call whose id repeats is the same call.
        `done` tells the tool's result as data (`{"id": "ch_1"}`), `unresolved` the text that
        reached the model or, where the harness paused, the text that it showed. Nobody answers.
        """
        ...


class CoreBench:
    """No harness: the calls of a message one after the other, through a plain guard."""

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger = world.ledger()
        guard = Guard(
            ledger, [world.contract], classify=classify, read=world.read, policy=world.policy
        )
        try:
            return [self._one(guard, world, turn, call) for call in calls]
        finally:
            ledger.close()

    def _one(self, guard: Guard, world: World, turn: str, call: Call) -> Told:
        outcome = guard.call(
            call.tool,
            call.arguments,
            send=lambda arguments, _: world.charge(**arguments),
            scope=world.scope,
            turn=turn,
            call_id=call.id,
        )
        match outcome:
            case Done(value):
                return Told("done", value)
            case Unresolved(text=text):
                return Told("unresolved", text)
            case NotExecuted(error):
                return Told("not_executed", str(error))


CHARGE = {"customer": "c1", "amount": 5}


@dataclass(frozen=True)
class Cell:
    """One fault with one contract."""

    fault: str
    contract: str

    def play(self, bench: Bench, world: World) -> list[list[Told]]:
        """Play the fault; return what each turn was told."""
        first = Call("call_1", CHARGE)
        match self.fault:
            case "crash_resume":
                world.fates.append("crash_resume")
                with pytest.raises(Killed):
                    bench.run(world, "human-1", [first])
                return [bench.run(world, "human-1", [first])]
            case "double_emission":
                return [bench.run(world, "human-1", [first, Call("call_2", CHARGE)])]
            case "deliberate_repeat":
                again = Call("call_2", CHARGE)
                return [bench.run(world, "human-1", [first]), bench.run(world, "human-2", [again])]
            case "lost_ack" | "late_commit" | "error_after" as fate:
                world.fates.append(fate)
                # The next turn asks for the same once more: it meets what the first one left.
                again = Call("call_2", CHARGE)
                return [bench.run(world, "human-1", [first]), bench.run(world, "human-2", [again])]
            case _:
                raise ValueError(self.fault)

    def check(self, bench: Bench, folder: Path) -> None:
        """Assert that the bench's world ends as the core's own, and that both were told alike."""
        ends = [
            _end(self, each, folder / name)
            for name, each in (("adapter", bench), ("core", CoreBench()))
        ]
        assert ends[0] == ends[1]
        intended = 2 if self.fault == "deliberate_repeat" else 1
        repeats = self.contract != "neither" and self.fault in FAULTS[:3]
        assert len(ends[0][0]) == (2 if repeats else intended), "the core itself"


def _end(cell: Cell, bench: Bench, folder: Path) -> tuple[list[object], list[list[Told]]]:
    folder.mkdir()
    world = World(CONTRACTS[cell.contract], folder)
    told = cell.play(bench, world)
    effects: list[object] = [{**effect, "created": 0} for effect in world.effects]
    return effects, [[_masked(each) for each in turn] for turn in told]


def _masked(told: Told) -> Told:
    if not isinstance(told.content, str):
        return told
    return told._replace(content=re.sub(r"action [0-9a-f]{16}", "action …", told.content))


CELLS = list(itertools.starmap(Cell, itertools.product(FAULTS, CONTRACTS)))
every_cell = pytest.mark.parametrize("cell", CELLS, ids=lambda c: f"{c.fault}-{c.contract}")
