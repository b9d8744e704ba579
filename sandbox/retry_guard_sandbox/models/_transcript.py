"""Transcripts: what was asked and answered, an episode a line, to be replayed without a network.

The first line says how many episodes there should be; each further line is one that was finished.
Of each request only what is new in it is kept: the whole follows from what came before.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, PositiveInt, TypeAdapter, ValidationError

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox._grid import CHOICES
from retry_guard_sandbox.models._errors import ENDPOINT_ERRORS, ModelError, TranscriptError
from retry_guard_sandbox.models._providers import model_name
from retry_guard_sandbox.world._http import Json


class Exchange(BaseModel):
    """A request, as far as it is new, and its answer; or the class and message of an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    asked: dict[str, Any]
    answer: dict[str, Any] | None = None
    error: tuple[str, str] | None = None

    def outcome(self) -> Json:
        """Return the answer, or raise the error, as the endpoint did."""
        if self.error is not None:
            raise ENDPOINT_ERRORS[self.error[0]](self.error[1])
        return self.answer or {}


class _Episode(BaseModel):
    model_config = ConfigDict(extra="forbid")

    spec: dict[str, Any]
    exchanges: list[Exchange]


class _Opening(BaseModel):
    model_config = ConfigDict(extra="forbid")

    transcript: Literal[1]
    episodes: PositiveInt


@dataclass(frozen=True, slots=True)
class Recorded:
    """One episode of a transcript, in its line."""

    line: int
    spec: Spec
    exchanges: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript that is being read. `total`: how many episodes there should be."""

    total: int
    episodes: Iterator[Recorded]


def opening_line(total: int) -> str:
    """Return the first line of a transcript, with its end."""
    return _line({"transcript": 1, "episodes": total})


def episode_line(spec: Spec, exchanges: Sequence[Exchange]) -> str:
    """Return the line of an episode, with its end."""
    said = [exchange.model_dump(exclude_none=True) for exchange in exchanges]
    return _line({"spec": asdict(spec), "exchanges": said})


def _line(values: Json) -> str:
    return json.dumps(values, separators=(",", ":")) + "\n"


def read_transcript(lines: Iterable[str]) -> Transcript:
    """Read the first line, and each other one when it is wanted; raises `TranscriptError`."""
    numbered = enumerate(lines, 1)
    first = next(numbered, (1, ""))
    opening = _shaped(_Opening, *first)
    return Transcript(opening.episodes, (_recorded(number, line) for number, line in numbered))


def _recorded(number: int, line: str) -> Recorded:
    read = _shaped(_Episode, number, line)
    try:
        spec = TypeAdapter(Spec).validate_python(read.spec)
    except ValidationError as error:
        raise _wrong(number, _first(error)) from None
    _check(number, spec)
    unknown = [e.error[0] for e in read.exchanges if e.error and e.error[0] not in ENDPOINT_ERRORS]
    if unknown:
        raise _wrong(number, f"there is no error {unknown[0]}")
    return Recorded(number, spec, tuple(read.exchanges))


def _check(number: int, spec: Spec) -> None:
    """Raise `TranscriptError` for names that do not exist here."""
    named = {
        "contracts": spec.contract,
        "faults": spec.fault,
        "tasks": spec.task,
        "conditions": spec.condition,
        "harness": spec.harness,
        "operators": spec.operator,
    }
    unknown = [f"{name} {given}" for name, given in named.items() if given not in CHOICES[name]]
    if unknown:
        raise _wrong(number, f"there is no {unknown[0]} here")
    if spec.agent not in CHOICES["agents"]:
        try:
            model_name(spec.agent)
        except ModelError as error:
            raise _wrong(number, str(error)) from None


def _shaped(shape: type[Any], number: int, line: str) -> Any:  # noqa: ANN401 - of that shape
    try:
        return shape.model_validate(json.loads(line))
    except ValidationError as error:
        raise _wrong(number, _first(error)) from None
    except (ValueError, RecursionError):
        raise _wrong(number, "it is no JSON") from None


def _first(error: ValidationError) -> str:
    what = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, what["loc"])) or "it"
    return f"{where}: {'missing' if what['type'] == 'missing' else 'not what stands there'}"


def _wrong(number: int, why: str) -> TranscriptError:
    return TranscriptError(f"line {number} is of no transcript: {why}; give what --record wrote")
