"""Grading: from the ledger of effects and the task, whatever anybody said."""

from collections.abc import Sequence
from dataclasses import dataclass

from retry_guard_sandbox.conditions import Escalation
from retry_guard_sandbox.grading._rows import OutcomeName
from retry_guard_sandbox.services import SERVICES, TOOLS
from retry_guard_sandbox.tasks import Task
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._wire import Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What became of one intended write; the fields are those of `Row`."""

    write: int
    tool: str
    effects: int
    executed_sends: int
    intended: int
    outcome: OutcomeName
    escalated: bool
    escalation_needed: bool
    calls: int
    seconds: float


def grade(
    task: Task,
    effects: Effects,
    seen: Sequence[Seen],
    escalations: Sequence[Escalation],
    *,
    ended: float,
) -> list[Grade]:
    """Return the grade of each intended write, and of each tool that made effects unasked.

    `ended`: when the episode did.
    """
    about = _About(task, effects)
    owners = [about.of(one.request.tool, one.request.arguments) for one in seen]
    handed = [about.of(one.tool, one.arguments) for one in escalations]
    made = [task.made(write, effects) for write in range(len(task.intended))]
    grades = [
        _grade(
            task,
            write,
            effects,
            mine,
            [one for one, writes in zip(escalations, handed, strict=True) if write in writes],
            _course(write, seen, owners, ended),
        )
        for write, mine in enumerate(made)
    ]
    return grades + _strays(task, effects, made)


def _grade(
    task: Task,
    write: int,
    effects: Effects,
    made: Sequence[Effect],
    handed: Sequence[Escalation],
    course: tuple[int, float],
) -> Grade:
    wanted = task.intended[write]
    calls, seconds = course
    return Grade(
        write=write,
        tool=wanted.tool,
        effects=len(made),
        executed_sends=len({effect.send for effect in made}),
        intended=wanted.count,
        outcome=_outcome(task, write, made, effects),
        escalated=bool(handed),
        escalation_needed=bool(handed) and all(e.needed for e in handed),
        calls=calls,
        seconds=seconds,
    )


def _outcome(task: Task, write: int, made: Sequence[Effect], effects: Effects) -> OutcomeName:
    count = task.intended[write].count
    if len(made) > count:
        return "duplicate"
    # A service that runs one send twice has not done what was wanted on another occasion.
    if len({effect.send for effect in made}) < count:
        return "omission"
    right = all(task.as_intended(write, effect, effects) for effect in made)
    return "exactly_once" if right else "divergent"


class _About:
    """Tells which intended writes a call is about; an equal one is looked at once."""

    def __init__(self, task: Task, effects: Effects) -> None:
        self._task, self._effects = task, effects
        self._known: list[tuple[str, Json, frozenset[int]]] = []

    def of(self, tool: str, arguments: Json) -> frozenset[int]:
        """Return them: of a batch, one for each item; of a read, none."""
        for known, given, writes in self._known:
            if known == tool and given == arguments:
                return writes
        about = frozenset[int]()
        if TOOLS[tool].effect != "read":
            about = self._looked_up(tool, arguments)
        self._known.append((tool, arguments, about))
        return about

    def _looked_up(self, tool: str, arguments: Json) -> frozenset[int]:
        task, effects = self._task, self._effects
        writes = range(len(task.intended))
        return frozenset(w for w in writes if task.is_about(w, tool, arguments, effects))


def _course(
    write: int, seen: Sequence[Seen], owners: Sequence[frozenset[int]], ended: float
) -> tuple[int, float]:
    """Return the requests in the course of a write, and how long that took.

    A write's course begins with its first request and ends where another's begins, or with the
    episode. A task's writes are done one after the other; reads belong to the one before them.
    The items of a batch have one course.
    """
    first = next((i for i, about in enumerate(owners) if write in about), None)
    if first is None:
        return 0, 0.0
    others = (i for i, about in enumerate(owners) if i > first and about and write not in about)
    last = next(others, len(seen))
    end = ended if last == len(seen) else seen[last].begun
    return last - first, round(end - seen[first].begun, 3)


def _strays(task: Task, effects: Effects, made: Sequence[Sequence[Effect]]) -> list[Grade]:
    """Grade the effects that no intended write accounts for, by tool."""
    known = {effect.id for mine in made for effect in mine}
    grades: list[Grade] = []
    if len(known) == len(effects):
        return grades
    for tool in SERVICES[task.service].tools:
        stray = [effect for effect in effects.of(tool.name) if effect.id not in known]
        if stray:
            grades.append(
                Grade(
                    write=-1,
                    tool=tool.name,
                    effects=len(stray),
                    executed_sends=len({effect.send for effect in stray}),
                    intended=0,
                    outcome="divergent",
                    escalated=False,
                    escalation_needed=False,
                    calls=0,
                    seconds=0.0,
                )
            )
    return grades
