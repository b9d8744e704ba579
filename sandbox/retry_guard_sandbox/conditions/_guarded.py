"""The code path of all arms: a guard, which in all but its own passes everything on."""

import json
from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Literal, assert_never

from retry_guard import Answer, Done, Guard, NotExecuted, Outcome, Unresolved
from retry_guard_contracts import decode
from retry_guard_ledgers import about
from retry_guard_outcomes import classify
from retry_guard_sandbox.conditions._caller import (
    TENANT,
    Asked,
    Setting,
    failure,
    fresh_ledger,
)
from retry_guard_sandbox.conditions._course import (
    CLIENT_ERRORS,
    POLICY,
    Course,
    WithheldError,
    without_key,
)
from retry_guard_sandbox.conditions._left import remember
from retry_guard_sandbox.conditions._straight import straight
from retry_guard_sandbox.world._http import Json

Way = Callable[[Course, Json], Json]
"""What a condition does to carry out one call with these arguments, beneath the guard."""

_REFUSALS = frozenset({"abandoned", "key_conflict", "contract_changed"})
"""Reasons of answers that were given at once, because the action is open or was given up."""

_COURSE: ContextVar[Course] = ContextVar("course")
"""The call that this thread carries out."""


@cache
def passing() -> Guard:
    """Return the guard that passes everything on: it keeps nothing, so one serves all episodes."""
    return Guard(fresh_ledger(), classify=classify, mode="off")


class GuardedCaller:
    """Makes every call through `retry_guard.Guard`; its mode and the way beneath are the arm."""

    def __init__(
        self, setting: Setting, *, mode: Literal["guard", "off"] = "off", way: Way = straight
    ) -> None:
        """A guard on the world's clock, with the ledger that is kept."""
        self._setting, self._way = setting, way
        self._calls = 0
        self._guard = passing() if mode == "off" else self._guarding(setting)

    def _guarding(self, setting: Setting) -> Guard:
        world = setting.world
        return Guard(
            setting.ledger(),
            world.variant.contracts.values(),
            classify=classify,
            read=world.wire.call,
            ask=self._ask,
            policy=POLICY,
            clock=world.clock,
            secret=world.streams.secret("guard"),
        )

    def call(self, asked: Asked) -> str:
        """Make the call; an error becomes text, as a scaffold makes it."""
        self._calls += 1
        world = self._setting.world
        course = Course(self._setting, asked, self._calls, world.clock.time, len(world.wire.seen))
        before = _COURSE.set(course)
        try:
            text = self._answer(course)
        finally:
            _COURSE.reset(before)
        if course.is_write:
            remember(course, text)
        return text

    def _answer(self, course: Course) -> str:
        call, asked = course.asked.call, course.asked
        try:
            outcome = self._guard.call(
                call.tool,
                call.arguments,
                send=partial(self._send, course),
                scope=TENANT,
                turn=asked.turn,
                call_id=asked.call_id,
                ordinal=asked.ordinal,
            )
        except (*CLIENT_ERRORS, WithheldError) as error:
            return failure(str(error))
        return self._text(course, outcome)

    def _send(self, course: Course, arguments: dict[str, Any], _extra: dict[str, str]) -> Json:
        return self._way(course, arguments)

    def _text(self, course: Course, outcome: Outcome) -> str:
        match outcome:
            case Done(value):
                return json.dumps(value)
            case NotExecuted(error):
                return failure(str(error))
            case Unresolved(action, reason, text=text):
                self._note(course, action, reason)
                # The record's id is random; a model gets the ordinal of the call instead.
                return failure(text.replace(action, f"action-{course.number}"))
            case _:
                assert_never(outcome)

    def _note(self, course: Course, action: str, reason: str) -> None:
        """Note what is handed over; a refusal says anew what had been handed over before.

        That another process is still at it hands nothing over.
        """
        if reason == "still_running":
            return
        arguments, since = self._recorded(course, action)
        if reason not in _REFUSALS or not course.was_handed_over(arguments):
            course.note(arguments, since)

    def _ask(self, unresolved: Unresolved) -> Answer | None:
        course = _COURSE.get()
        return course.hand_over(*self._recorded(course, unresolved.action))

    def _recorded(self, course: Course, action: str) -> tuple[Json, float]:
        """What an operator reads in the record: the arguments, and when they were sent first."""
        record = self._guard.ledger.get(TENANT, action)
        if record is None:
            return course.plain, course.begun
        recorded: Json = decode(about(record).arguments)
        return without_key(recorded), min(record.sends, default=record.claimed)
