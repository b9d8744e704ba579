"""What stands between a harness and the wire: the vocabulary that all conditions share."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple, Protocol

from retry_guard_ledgers import Ledger, MemoryLedger
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import Operator
from retry_guard_sandbox.world._wire import Seen
from retry_guard_sandbox.world._world import World

_SWITCH = Lock()
"""Held while the log is off: episodes with models run in threads."""

TENANT = "tenant-1"
"""For whom every agent acts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as a harness hands it over.

    `turn`: the intent of the user that it belongs to. `call_id`: the harness's own name for it.
    `ordinal`: which of the equal calls of one message it is, counted from 0.
    """

    call: ToolCall
    turn: str
    call_id: str
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Escalation:
    """A write was handed over to a person, or left to one. `needed`: nothing else could tell."""

    tool: str
    arguments: Json
    needed: bool


class Doubt(NamedTuple):
    """A write that is open at a moment, `at`.

    `exchanges`: how many there had been. `first`, `begun`: how many there were when the call
    began, and when that was. `since`: when the action was sent first.
    """

    call: ToolCall
    exchanges: int
    first: int
    begun: float
    since: float
    at: float


def _directly(ledger: Ledger) -> Ledger:
    return ledger


def fresh_ledger() -> Ledger:
    """A ledger for one episode: without the warning that it will not outlive it."""
    log = logging.getLogger("retry_guard")
    with _SWITCH:
        before, log.disabled = log.disabled, True
        try:
            return MemoryLedger()
        finally:
            log.disabled = before


@dataclass(frozen=True, slots=True)
class Setting:
    """What a condition works with, in one episode.

    `kept`: what outlives the condition's process, by name, such as a ledger on a disk.
    `connect`: how this process reaches a ledger; a harness may stand between.
    `escalations`: what was handed over, in order, by whichever process. `doubts`: the writes
    whose last answer left them open, by action. `lost`: the requests of which only a process
    knows that is dead or stands still.
    """

    world: World
    operator: Operator
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    escalations: list[Escalation] = field(default_factory=list[Escalation])
    doubts: dict[str, Doubt] = field(default_factory=dict[str, Doubt])
    lost: list[Seen] = field(default_factory=list[Seen])
    connect: Callable[[Ledger], Ledger] = _directly

    def ledger(self) -> Ledger:
        """Return this process's connection to the ledger that is kept."""
        if "ledger" not in self.kept:
            self.kept["ledger"] = fresh_ledger()
        return self.connect(self.kept["ledger"])


class Caller(Protocol):
    """Carries out the calls of one agent, as one process does."""

    def call(self, asked: Asked) -> str:
        """Return the text of the answer, as a model would see it."""
        ...


@lru_cache(maxsize=1024)
def failure(message: str) -> str:
    """Return the text of an error, as a scaffold makes it."""
    return json.dumps({"error": message})
