"""Batches: each item of a list that commits one by one happens once, or a person is asked."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pytest

from guards import (
    Args,
    Extra,
    HandClock,
    Lab,
    LabMaker,
    Operator,
    Subject,
    changed,
    every_guard,
)
from retry_guard import Answer, Contract, Done, NotExecuted, Policy, Unresolved
from retry_guard_ledgers import about

ROWS = Contract(
    tool="bulk_insert",
    batch={"items": "rows", "identity": ["name"]},
    read_back={
        "tool": "list_rows",
        "items": "rows",
        "match": {"table": "table", "name": "rows[].name"},
        "id": "id",
        "created": "created",
        "skew": 0.0,
        "exclusive": True,
        "complete": "complete",
        "permanent": True,
        "visibility_lag": 0.0,
        "result": {"ids[]": "id", "status": {"value": "ok"}},
    },
    in_flight_bound=20.0,
)
KEYED = changed(ROWS, key={"param": "key", "retention": 86400.0})
THREE: Args = {"table": "t", "rows": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}
ALL = ["a", "b", "c"]
LONG = Policy(deadline=1000.0)
PATIENT = replace(LONG, fresh_sends=9)

Fate = Literal["ok", "lost", "lost_ack", "refused"] | int
Semantics = Literal["atomic", "resumes", "stored_partial"]


@dataclass
class Table:
    """A table that takes many rows at once, one by one.

    `fates`: what the next sends meet; a number: so many rows commit, then the answer is lost.
    `key`: what a send under a known key does.
    """

    clock: HandClock
    fates: list[Fate | BaseException] = field(default_factory=list[Fate | BaseException])
    key: Semantics = "resumes"
    rows: list[Args] = field(default_factory=list[Args])
    sent: list[list[str]] = field(default_factory=list[list[str]])
    known: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def send(self, arguments: Args, extra: Extra) -> object:
        fate = self.fates.pop(0) if self.fates else "ok"
        names = [row["name"] for row in arguments["rows"]]
        self.sent.append(names)
        if isinstance(fate, BaseException):
            raise fate
        if fate == "refused":
            raise ConnectionRefusedError("nobody listens")
        count = {"ok": len(names), "lost_ack": len(names), "lost": 0}.get(str(fate), fate)
        ids = self.commit(arguments, int(count))
        self.clock.sleep(1.0)
        if fate != "ok":
            raise TimeoutError("no answer")
        return {"ids": ids, "status": "ok"}

    def commit(self, arguments: Args, count: int) -> list[str]:
        key = arguments.get("key")
        done = self.known.get(key, []) if key is not None and self.key == "resumes" else []
        if self.key == "atomic" and count < len(arguments["rows"]):
            count = 0
        ids = list(done)
        for row in arguments["rows"][len(done) : count]:
            ids.append(f"r{len(self.rows) + 1}")
            made = {"id": ids[-1], "created": self.clock.at, "table": arguments["table"]}
            self.rows.append({**row, **made})
        if key is not None:
            self.known[key] = ids
        return ids

    def read(self, tool: str, arguments: Args) -> Args:
        return {"rows": list(self.rows), "complete": True}

    @property
    def names(self) -> list[str]:
        return sorted(row["name"] for row in self.rows)


def guarded(lab: Lab, contract: Contract = ROWS, **options: Any) -> tuple[Table, Subject]:  # noqa: ANN401 - handed on
    table = options.pop("table", None) or Table(lab.clock)
    return table, lab.guard(contract, read=table.read, **options)


def call(table: Table, guard: Subject, arguments: Args = THREE, **more: Any) -> Any:  # noqa: ANN401 - any outcome
    return guard.call(arguments, tool="bulk_insert", send=table.send, **more)


@every_guard
@pytest.mark.parametrize("count", [1, 2])
def test_what_is_missing_of_a_batch_goes_out_by_itself(
    make: LabMaker, count: int, tmp_path: Path
) -> None:
    """B130: and only past last send + bound; the result is the whole one, in the tool's shape."""
    lab = make(tmp_path)
    table, guard = guarded(lab)
    table.fates = [count]
    began = lab.clock.at
    outcome = call(table, guard)
    assert table.sent == [ALL, ALL[count:]]
    assert outcome == Done({"ids": ["r1", "r2", "r3"], "status": "ok"})
    assert lab.clock.at >= began + 1 + 20
    assert call(table, guard) == Done(outcome.value, replayed=True)
    assert call(table, guard, turn="t2").warning is not None
    assert table.names == sorted([*ALL, *ALL])


@every_guard
@pytest.mark.parametrize(("fate", "sends"), [("lost_ack", 1), ("lost", 2)])
def test_a_batch_that_is_there_is_adopted_and_one_that_is_not_is_sent_anew(
    make: LabMaker, fate: Fate, sends: int, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    table, guard = guarded(lab)
    table.fates = [fate]
    assert call(table, guard).value == {"ids": ["r1", "r2", "r3"], "status": "ok"}
    assert table.sent == [ALL] * sends


@every_guard
def test_the_rest_of_a_batch_may_itself_end_in_part_and_its_rest_in_turn(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    table, guard = guarded(lab, policy=LONG)
    table.fates = [1, 1]
    assert call(table, guard).value == {"ids": ["r1", "r2", "r3"], "status": "ok"}
    assert table.sent == [ALL, ["b", "c"], ["c"]]
    assert [record.fresh for record in lab.records()] == [0, 1, 2]


@every_guard
def test_the_parts_of_a_batch_are_bounded_and_then_a_person_is_shown_the_list(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    operator = Operator()
    table, guard = guarded(lab, policy=replace(LONG, fresh_sends=1), ask=operator)
    table.fates = [1, 1, 1, 1]
    outcome = call(table, guard)
    assert isinstance(outcome, Unresolved)
    assert (outcome.reason, outcome.missing) == ("fresh_sends_spent", ({"name": "c"},))
    assert [question.missing for question in operator.asked] == [outcome.missing]
    assert "1 of its items" in outcome.text
    assert '"c"' not in outcome.text
    assert call(table, guard).action == outcome.action
    assert table.sent == [ALL, ["b", "c"]]


@every_guard
def test_an_answer_about_the_rest_settles_the_whole(make: LabMaker, tmp_path: Path) -> None:
    """The record that a person is shown is that of what is missing, so `did not happen` is too."""
    lab = make(tmp_path)
    table, guard = guarded(lab, policy=replace(LONG, fresh_sends=1))
    table.fates = [1, "lost"]
    outcome = call(table, guard)
    assert outcome.missing == ({"name": "b"}, {"name": "c"})
    assert about(lab.records()[-1]).id == outcome.action
    lab.clock.sleep(60.0)
    lab.resolve("did_not_happen")
    assert call(table, guard).value == {"ids": ["r1", "r2", "r3"], "status": "ok"}
    assert table.sent == [ALL, ["b", "c"], ["b", "c"]]
    assert table.names == ALL


@every_guard
@pytest.mark.parametrize("again", [0, 1])
def test_a_rest_that_was_refused_leaves_the_batch_open_and_is_sent_by_the_next_call(
    make: LabMaker, again: int, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    table, guard = guarded(lab)
    refused: list[Fate | BaseException] = ["refused"] * (again + 1)
    table.fates = [1, *refused]
    for _ in range(again + 1):
        outcome = call(table, guard)
        assert (outcome.reason, len(outcome.missing)) == ("some", 2)
    assert call(table, guard).value == {"ids": ["r1", "r2", "r3"], "status": "ok"}
    assert table.names == ALL


@every_guard
@pytest.mark.parametrize("semantics", ["atomic", "resumes"])
def test_a_key_that_completes_a_batch_is_used_for_it(
    make: LabMaker, semantics: Semantics, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    batch = {"items": "rows", "key": semantics}
    table, guard = guarded(lab, changed(KEYED, batch=batch), table=Table(lab.clock, key=semantics))
    table.fates = [2]
    assert isinstance(call(table, guard), Done)
    assert table.sent == [ALL, ALL]
    assert table.names == ALL


@every_guard
@pytest.mark.parametrize("stated", ["stored_partial", None])
def test_a_key_that_cannot_complete_a_batch_is_sent_but_not_relied_on(
    make: LabMaker, stated: Semantics | None, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    batch = {"items": "rows", **({"key": stated} if stated else {})}
    table, guard = guarded(lab, changed(KEYED, batch=batch))
    table.fates = [2]
    assert isinstance(call(table, guard), Done)
    assert table.sent == [ALL, ["c"]]
    assert len(set(table.known)) == 2, "the rest goes out under a key of its own"


@every_guard
@pytest.mark.parametrize("fate", ["lost", "lost_ack", 1])
def test_once_the_rest_is_an_action_of_its_own_no_key_sends_the_whole_again(
    make: LabMaker, fate: Fate, tmp_path: Path
) -> None:
    """Its rest may be on its way: the server would do it a second time under the first key."""
    lab = make(tmp_path)
    contract = changed(KEYED, batch={"items": "rows", "key": "resumes"})
    table, guard = guarded(lab, contract, policy=Policy(attempts=0, deadline=30.0))
    table.fates = [1, fate]
    call(table, guard)
    other = guarded(lab, contract, table=table, policy=LONG)[1]
    assert isinstance(call(table, other), Done)
    assert table.sent.count(ALL) == 1
    assert table.names == ALL


class Killed(BaseException):
    """Stands for the end of a process: nothing after it is recorded."""


def stops() -> Iterator[str]:
    """Before and after each save and claim of the whole way."""
    yield from (
        f"{verb} {n} {when}"
        for verb in ("claim", "save")
        for n in range(6)
        for when in ("before", "after")
    )


class Dying:
    """A ledger whose process dies at one of its verbs."""

    def __init__(self, ledger: Any, stop: str) -> None:  # noqa: ANN401 - any ledger
        self.ledger, self.stop, self.counts = ledger, stop.split(), {"claim": 0, "save": 0}
        self.dead = False

    def __getattr__(self, verb: str) -> Any:  # noqa: ANN401 - as the ledger's
        found = getattr(self.ledger, verb)
        if verb not in self.counts:
            return found

        def act(*given: object) -> object:
            if self.dead:
                raise Killed
            at = self.counts[verb]
            self.counts[verb] += 1
            here = self.stop[:2] == [verb, str(at)]
            if here and self.stop[2] == "before":
                self.dead = True
                raise Killed
            result = found(*given)
            if here:
                self.dead = True
                raise Killed
            return result

        return act


@pytest.mark.parametrize("fate", ["ok", "lost", "lost_ack", 1])
def test_a_process_that_dies_anywhere_leaves_a_batch_that_the_next_one_completes_once(
    fate: Fate, tmp_path: Path
) -> None:
    """Before the rest is claimed, in its send, after it is done and before the whole is."""
    met = set[str]()
    for stop in stops():
        lab = Lab("sync", "memory", tmp_path)
        table = Table(lab.clock, fates=[1, fate])
        dying = Dying(lab.ledger, stop)
        _, guard = guarded(lab, policy=PATIENT, ledger=dying, table=table)
        try:
            call(table, guard)
        except Killed:
            met.add(stop)
        lab.clock.sleep(100.0)
        outcome: Any = None
        for _ in range(3):
            outcome = call(table, guarded(lab, policy=PATIENT, table=table)[1])
            lab.clock.sleep(100.0)
        assert table.names == ALL, (stop, table.sent)
        assert isinstance(outcome, Done), (stop, outcome)
        assert [row["id"] for row in sorted(table.rows, key=lambda r: r["name"])] == outcome.value[
            "ids"
        ]
    assert {"claim 1 before", "claim 1 after", "save 0 after", "save 2 before"} <= met


@every_guard
def test_what_another_batch_made_is_not_taken_for_what_is_missing(
    make: LabMaker, tmp_path: Path
) -> None:
    """The ledger ties each effect of a batch to its action, by the names in its result."""
    lab = make(tmp_path)
    table, guard = guarded(lab, policy=LONG)
    two = {"table": "t", "rows": [{"name": "a"}, {"name": "z"}]}
    assert call(table, guard, two).value["ids"] == ["r1", "r2"]
    for row in table.rows:
        row["created"] += 5  # as if they were made after the next send
    lab.clock.sleep(1)
    table.fates = ["lost"]
    assert call(table, guard).value["ids"] == ["r3", "r4", "r5"]
    assert table.names == ["a", "a", "b", "c", "z"]


@every_guard
def test_without_proof_of_absence_the_rest_is_not_sent_and_a_person_sees_the_list(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    operator = Operator(Answer("happened", result={"ids": ["by hand"]}))
    table, guard = guarded(lab, changed(ROWS, in_flight_bound=None), ask=operator)
    table.fates = [2]
    assert call(table, guard) == Done({"ids": ["by hand"]})
    assert table.sent == [ALL]
    assert [(q.reason, q.missing) for q in operator.asked] == [("too_late", ({"name": "c"},))]


@every_guard
def test_secret_fields_of_items_reach_the_rest_and_no_record(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    table, guard = guarded(lab, changed(ROWS, secret=("rows[].pin",)))
    rows = [{"name": name, "pin": f"secret {name}"} for name in ALL]
    table.fates = [1]
    assert isinstance(call(table, guard, {"table": "t", "rows": rows}), Done)
    assert [row["pin"] for row in table.rows] == ["secret a", "secret b", "secret c"]
    assert all(b"secret" not in about(record).arguments for record in lab.records())


@every_guard
def test_a_batch_that_never_ran_is_not_executed(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    table, guard = guarded(lab)
    table.fates = ["refused"]
    assert isinstance(call(table, guard), NotExecuted)
