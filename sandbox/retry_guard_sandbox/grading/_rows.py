"""One line of a report: what became of one logical write of one episode, as JSON."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Literal, cast

from retry_guard import GuardError
from retry_guard_sandbox.world._http import Json

OutcomeName = Literal["exactly_once", "duplicate", "omission", "divergent", "error"]


class RowError(GuardError):
    """A line is no row of a report. The message says which line and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What became of one intended write.

    `write`: which one of the task, counted from 0; -1: of a tool that the task does not intend.
    `attempts_hit`, `reads_hit`: how many attempts at a write and at a read the fault hits.
    `hidden`: what it does to each of them.
    `harness`: the harness fault. `effects`, `intended`: counts, from the ledger of effects and
    from the task. `executed_sends`: how many sends of the client had an effect; more effects
    than that were made by deliveries of one send. `escalated`: handed over to a person, or left
    to one; `escalation_needed`: each time nothing else could have told. `claimed`: how the agent
    finished; None: it did not. `calls`: requests on the wire for this write, with the reads in
    its course; `seconds`: virtual time from its first request to the next write's, or the end.
    `error`: the class of what stopped the episode.
    """

    task: str
    write: int
    service: str
    tool: str
    fault: str
    attempts_hit: str
    reads_hit: str
    hidden: str
    contract: str
    agent: str
    condition: str
    harness: str
    operator: str
    seed: int
    effects: int
    executed_sends: int
    intended: int
    outcome: OutcomeName
    escalated: bool
    escalation_needed: bool
    claimed: str | None
    calls: int
    seconds: float
    error: str | None = None

    def to_json(self) -> str:
        """Return one line of JSON, without its end."""
        values = {name: getattr(self, name) for name in _ORDER}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


_ORDER = tuple(field.name for field in fields(Row))
_NAMES = frozenset(_ORDER)


def read_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a report in JSON Lines.

    Raises `RowError` for a line that is none.
    """
    for number, line in enumerate(lines, 1):
        try:
            values: object = json.loads(line)
        except ValueError as error:
            msg = f"line {number} is no JSON ({error}): give a file that `ab --json` wrote"
            raise RowError(msg) from error
        if not isinstance(values, dict) or _NAMES.symmetric_difference(cast("Json", values)):
            msg = f"line {number} is no row of a report: give a file that `ab --json` wrote"
            raise RowError(msg)
        yield Row(**cast("Json", values))
