"""The arms: what stands between an agent's call and the wire.

All take the same code path; in `no_guard` the guard passes everything through.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, Protocol, assert_never

from retry_guard import Answer, Done, Guard, NotExecuted, Outcome, Policy, Unresolved
from retry_guard_ledgers import Ledger, MemoryLedger
from retry_guard_outcomes import classify
from retry_guard_sandbox._http import APIStatusError, Json, ReadTimeout
from retry_guard_sandbox._needed import Moment, needed
from retry_guard_sandbox._operators import Operator
from retry_guard_sandbox._world import World
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.services import KEY

TENANT, TURN = "tenant-1", "turn-1"


@dataclass(frozen=True, slots=True)
class Escalation:
    """A write was handed over to a person, or left to one. `needed`: nothing else could tell."""

    tool: str
    arguments: Json
    needed: bool


class Caller(Protocol):
    """Carries out the calls of one agent. `escalations`: what it handed over, in order."""

    escalations: list[Escalation]

    def call(self, call: ToolCall) -> str:
        """Return the text of the answer, as a model would see it."""
        ...


Condition = Callable[[World, Operator], Caller]


class GuardedCaller:
    """Makes every call through `retry_guard.Guard`, whose mode is what tells the arms apart."""

    def __init__(self, world: World, operator: Operator, *, mode: Literal["guard", "off"]) -> None:
        """A guard with a ledger of its own, on the world's clock."""
        self.escalations: list[Escalation] = []
        self._world, self._operator = world, operator
        self._policy = Policy()
        self._calls = 0
        self._current = ToolCall("", {})
        self._began, self._first = 0.0, 0
        self._guard = Guard(
            _ledger(),
            world.variant.contracts.values(),
            classify=classify,
            read=world.wire.call,
            ask=self._ask,
            policy=self._policy,
            clock=world.clock,
            mode=mode,
            secret=world.streams.secret("guard"),
        )

    def call(self, call: ToolCall) -> str:
        """Make the call; an error becomes text, as a scaffold makes it."""
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
                turn=TURN,
                call_id=f"call_{self._calls}",
            )
        except (APIStatusError, ReadTimeout) as error:
            return _failure(str(error))
        return self._text(outcome)

    def _send(self, tool: str, arguments: dict[str, Any], _extra: dict[str, str]) -> Json:
        return self._world.wire.call(tool, arguments)

    def _text(self, outcome: Outcome) -> str:
        match outcome:
            case Done(value):
                return json.dumps(value)
            case NotExecuted(error):
                return _failure(str(error))
            case Unresolved(action, reason, text=text):
                if reason != "abandoned":
                    self._note()
                # The record's id is random; a model gets the ordinal of the call instead.
                return _failure(text.replace(action, f"action-{self._calls}"))
            case _:
                assert_never(outcome)

    def _ask(self, _unresolved: Unresolved) -> Answer | None:
        self._note()
        world, call = self._world, self._current
        return self._operator(world.network, world.effects, call.tool, call.arguments)

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
        self.escalations.append(Escalation(call.tool, call.arguments, was_needed))


def _ledger() -> Ledger:
    """A ledger for one episode: without the warning that it will not outlive it."""
    log = logging.getLogger("retry_guard")
    before, log.disabled = log.disabled, True
    try:
        return MemoryLedger()
    finally:
        log.disabled = before


def _failure(message: str) -> str:
    return json.dumps({"error": message})


CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        "no_guard": partial(GuardedCaller, mode="off"),
        "guard": partial(GuardedCaller, mode="guard"),
    }
)
