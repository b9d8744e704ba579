"""The arms with and without the guard: one code path; in `no_guard` it passes everything on."""

import json
import logging
from functools import partial
from typing import Any, Literal, assert_never

from retry_guard import Answer, Done, Guard, NotExecuted, Outcome, Policy, Unresolved
from retry_guard_ledgers import Ledger, MemoryLedger
from retry_guard_outcomes import classify
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions._caller import TENANT, Asked, Escalation, Setting, failure
from retry_guard_sandbox.grading._needed import Moment, needed
from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.world._http import APIStatusError, Json, ReadTimeout


class GuardedCaller:
    """Makes every call through `retry_guard.Guard`, whose mode is what tells the arms apart."""

    def __init__(self, setting: Setting, *, mode: Literal["guard", "off"]) -> None:
        """A guard on the world's clock, with the ledger that is kept."""
        self._setting, self._world = setting, setting.world
        world = self._world
        if "ledger" not in setting.kept:
            setting.kept["ledger"] = _ledger()
        self._policy = Policy()
        self._calls = 0
        self._current = ToolCall("", {})
        self._began, self._first = 0.0, 0
        self._guard = Guard(
            setting.kept["ledger"],
            world.variant.contracts.values(),
            classify=classify,
            read=world.wire.call,
            ask=self._ask,
            policy=self._policy,
            clock=world.clock,
            mode=mode,
            secret=world.streams.secret("guard"),
        )

    def call(self, asked: Asked) -> str:
        """Make the call; an error becomes text, as a scaffold makes it."""
        call = asked.call
        plain = {name: value for name, value in call.arguments.items() if name != KEY}
        self._calls += 1
        self._current = ToolCall(call.tool, plain)
        self._began, self._first = self._world.clock.time, len(self._world.wire.seen)
        send = partial(self._send, call.tool)
        try:
            outcome = self._guard.call(
                call.tool,
                call.arguments,
                send=send,
                scope=TENANT,
                turn=asked.turn,
                call_id=asked.call_id,
                ordinal=asked.ordinal,
            )
        except (APIStatusError, ReadTimeout) as error:
            return failure(str(error))
        return self._text(outcome)

    def _send(self, tool: str, arguments: dict[str, Any], _extra: dict[str, str]) -> Json:
        return self._world.wire.call(tool, arguments)

    def _text(self, outcome: Outcome) -> str:
        match outcome:
            case Done(value):
                return json.dumps(value)
            case NotExecuted(error):
                return failure(str(error))
            case Unresolved(action, reason, text=text):
                if reason != "abandoned":
                    self._note()
                # The record's id is random; a model gets the ordinal of the call instead.
                return failure(text.replace(action, f"action-{self._calls}"))
            case _:
                assert_never(outcome)

    def _ask(self, _unresolved: Unresolved) -> Answer | None:
        self._note()
        world, call = self._world, self._current
        return self._setting.operator(world.network, world.effects, call.tool, call.arguments)

    def _note(self) -> None:
        world, call = self._world, self._current
        moment = Moment(
            tool=call.tool,
            arguments=call.arguments,
            seen=world.wire.seen,
            first=self._first,
            begun=self._began,
            now=world.clock.time,
            made=world.effects.of(call.tool, call.arguments),
        )
        was_needed = needed(world.variant.contracts[call.tool], self._policy, moment)
        self._setting.escalations.append(Escalation(call.tool, call.arguments, was_needed))


def _ledger() -> Ledger:
    """A ledger for one episode: without the warning that it will not outlive it."""
    log = logging.getLogger("retry_guard")
    before, log.disabled = log.disabled, True
    try:
        return MemoryLedger()
    finally:
        log.disabled = before
