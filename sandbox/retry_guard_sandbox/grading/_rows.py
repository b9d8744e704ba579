"""One line of a report: what became of one logical write of one episode, as JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType, NoneType
from typing import Literal, cast, get_args, get_type_hints

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
    `hidden`: what it does to each of them. `stored_500`: whether the service remembers errors
    under a key. `harness`: the harness fault. `effects`, `intended`: counts, from the ledger of
    effects and from the task. `executed_sends`: how many sends of the client had an effect; more
    effects than that were made by deliveries of one send. `escalated`: handed over to a person,
    or left to one; `escalation_needed`: each time nothing else could have told. `claimed`: how
    the agent finished; None: it did not. `calls`: requests on the wire for this write, with the
    reads in its course; `seconds`: virtual time from its first request to the next write's, or
    the end. `tokens`: what the model of the episode was given and gave; None: there was none.
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
    stored_500: bool = False
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
    tokens: int | None = None
    error: str | None = None

    def to_json(self) -> str:
        """Return one line of JSON, without its end."""
        values = {name: getattr(self, name) for name in _ORDER}
        return _encode(values)


_ORDER = tuple(field.name for field in fields(Row))
_NAMES = frozenset(_ORDER)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_KINDS: Mapping[object, tuple[type, ...]] = MappingProxyType(
    {
        str: (str,),
        int: (int,),
        bool: (bool,),
        float: (float, int),
        str | None: (str, NoneType),
        int | None: (int, NoneType),
        OutcomeName: (str,),
    }
)
_TYPES = {name: _KINDS[hint] for name, hint in get_type_hints(Row).items()}
_OUTCOMES = frozenset(get_args(OutcomeName))


def read_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the rows of a report in JSON Lines.

    Raises `RowError` for a line that is none.
    """
    for number, line in enumerate(lines, 1):
        try:
            values: object = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise _no_row(number, "is no JSON") from error
        if not isinstance(values, dict) or _NAMES.symmetric_difference(cast("Json", values)):
            raise _no_row(number, "is no row of a report")
        given = cast("Json", values)
        for name, value in given.items():
            if type(value) not in _TYPES[name]:
                raise _no_row(number, f"is no row of a report: {name} is {json.dumps(value)}")
        if given["outcome"] not in _OUTCOMES:
            raise _no_row(
                number, f"is no row of a report: outcome is {json.dumps(given['outcome'])}"
            )
        yield Row(**given)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _no_row(number: int, why: str) -> RowError:
    return RowError(f"line {number} {why}; give a file that `ab --json` wrote")
