"""One episode with its world, carried out by somebody outside of it, call by call.

Time is virtual. Before each call `THINKING` seconds pass, or as many as really passed since the
last answer, if these were more: who waits an hour before a look has waited an hour.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from retry_guard_sandbox._episode import Spec, rows_of, world_of
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import CONDITIONS, Asked, Setting
from retry_guard_sandbox.grading._rows import Row
from retry_guard_sandbox.harness._stage import THINKING
from retry_guard_sandbox.serving._asking import ask
from retry_guard_sandbox.serving._checks import wrong_in
from retry_guard_sandbox.serving._host import ASK, FINISH, Offer, Reply
from retry_guard_sandbox.serving._offers import offers_of
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._effects import Effect
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import OPERATORS

BUDGET = 400
"""Calls that an episode may take; a scaffold that wants more goes round in circles."""
NOTED = 2 * BUDGET
"""Calls that are kept, with those after the end: who still goes on then fills no memory."""
NOBODY = "none"
"""The operator of an episode in which nobody can be asked: `ask_operator` is not offered."""


@dataclass(frozen=True, slots=True)
class Said:
    """One call and its answer; `at`: virtual seconds since the episode began.

    `is_late`: it would have written, after `finish`, and was refused.
    """

    at: float
    tool: str
    arguments: Json
    reply: Reply
    is_late: bool = False


class Session:
    """An episode that is served. Whatever is asked of it, it answers.

    `claimed`: how the episode was finished, if it was. `said`: all calls and answers, in order;
    of those after `finish` the writes, which are refused.
    """

    def __init__(self, spec: Spec, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Build the world. `clock`: seconds of real time, counted from anywhere."""
        self.spec = spec
        self.claimed: str | None = None
        self.said: list[Said] = []
        self._world, asked = world_of(spec), spec.operator != NOBODY
        operator = OPERATORS[spec.operator if asked else "silent"]
        self._setting = Setting(self._world, operator)
        self._caller = CONDITIONS["no_guard"](self._setting)
        self.offers: tuple[Offer, ...] = offers_of(self._world.variant.tools, asked=asked)
        self._lock, self._clock, self._began = Lock(), clock, self._world.clock.time
        self._answered: float | None = None
        self._error: str | None = None
        self._rows: list[Row] | None = None

    @property
    def prompt(self) -> str:
        """What the user wants."""
        return TASKS[self.spec.task].prompt

    @property
    def effects(self) -> list[tuple[float, Effect]]:
        """What really happened, each with the virtual seconds since the episode began."""
        found = [e for offer in self.offers for e in self._world.effects.of(offer.name)]
        return sorted(((e.at - self._began, e) for e in found), key=lambda pair: pair[0])

    def call(self, tool: str, arguments: Json) -> Reply:
        """Carry out one call; calls that come at once, one after the other."""
        with self._lock:
            if self._rows is not None or self.claimed is not None:
                return self._too_late(tool, arguments)
            reply = self._refused(tool, arguments) or self._carried_out(tool, arguments)
            self.said.append(Said(self._at, tool, arguments, reply))
            self._answered = self._clock()
            return reply

    def end(self, error: str | None = None) -> list[Row]:
        """End it, for good, and return a row for each logical write.

        `error`: what stopped it, in one word. Not to have finished is an error as well.
        """
        with self._lock:
            if self._rows is None:
                unfinished = "NotFinished" if self.claimed is None else None
                why = self._error or error or unfinished
                self._rows = rows_of(self.spec, self._setting, claimed=self.claimed, error=why)
            return self._rows

    @property
    def _at(self) -> float:
        return self._world.clock.time - self._began

    def _too_late(self, tool: str, arguments: Json) -> Reply:
        """Refuse what comes after the end, and note a write: nothing else would refuse it."""
        reply = _error("the task is finished: nothing is carried out any more")
        is_write = any(o.name == tool and not o.is_read for o in self.offers)
        if is_write and tool not in (FINISH, ASK) and len(self.said) < NOTED:
            self.said.append(Said(self._at, tool, arguments, reply, is_late=True))
        return reply

    def _refused(self, tool: str, arguments: Json) -> Reply | None:
        """Return why nothing is carried out; no time passes."""
        if self._error is None and len(self.said) >= BUDGET:
            self._error = "BudgetError"
        if self._error is not None:
            return _error(f"the episode has ended: {self._error}")
        offer = next((offer for offer in self.offers if offer.name == tool), None)
        if offer is None:
            names = ", ".join(offer.name for offer in self.offers)
            return _error(f"there is no tool {tool}: use one of {names}")
        wrong = wrong_in(offer, arguments)
        return None if wrong is None else _error(wrong)

    def _carried_out(self, tool: str, arguments: Json) -> Reply:
        if tool == FINISH:
            self.claimed = str(arguments["status"])
            return Reply(json.dumps({"finished": self.claimed}), is_error=False)
        really = 0.0 if self._answered is None else self._clock() - self._answered
        self._world.clock.sleep(max(THINKING, really))
        try:
            if tool == ASK:
                about = ToolCall(arguments["tool"], arguments["arguments"])
                answer = ask(self._setting, self._named(about))
                return Reply(json.dumps(answer), is_error=False)
            text = self._caller.call(self._named(ToolCall(tool, arguments)))
            return Reply(text, is_error="error" in json.loads(text))
        except Exception as broken:  # noqa: BLE001 - an episode that breaks is an outcome of its own
            self._error = type(broken).__name__
            return _error(f"the sandbox broke: {self._error}")

    def _named(self, call: ToolCall) -> Asked:
        return Asked(call, "turn-1", f"call_{len(self.said) + 1}")


def _error(message: str) -> Reply:
    return Reply(json.dumps({"error": message}), is_error=True)
