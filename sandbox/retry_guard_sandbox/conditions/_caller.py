"""What stands between a harness and the wire: the vocabulary that all conditions share."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import Operator
from retry_guard_sandbox.world._world import World

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


@dataclass(frozen=True, slots=True)
class Setting:
    """What a condition works with, in one episode.

    `kept`: what outlives the condition's process, by name, such as a ledger on a disk.
    `escalations`: what was handed over, in order, by whichever process.
    """

    world: World
    operator: Operator
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    escalations: list[Escalation] = field(default_factory=list[Escalation])


class Caller(Protocol):
    """Carries out the calls of one agent, as one process does."""

    def call(self, asked: Asked) -> str:
        """Return the text of the answer, as a model would see it."""
        ...


Condition = Callable[[Setting], Caller]


def failure(message: str) -> str:
    """Return the text of an error, as a scaffold makes it."""
    return json.dumps({"error": message})
