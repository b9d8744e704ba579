"""What the APIs of models have in common, so that one loop can talk with each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from retry_guard_sandbox.models._errors import EndpointRubbishError
from retry_guard_sandbox.serving import Offer
from retry_guard_sandbox.world._http import Json

INSTRUCTION = (
    "You act for a user, through the tools that you are given. Nobody answers questions. Once you "
    "have done what you can, call finish."
)
"""What every model is told first, whatever the task and the arm."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a model asks for. `arguments`: an object, or the JSON text of one."""

    id: str
    tool: str
    arguments: Json | str


@dataclass(frozen=True, slots=True)
class Result:
    """The text that answers a call. `is_error`: it says that something went wrong."""

    id: str
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a model was given, and that it gave."""

    given: int
    made: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a model. `kept`: what goes into the history of it, as it came.

    `usage`: None where the endpoint does not say.
    """

    kept: tuple[Json, ...]
    wanted: tuple[Wanted, ...]
    usage: Usage | None


class Dialect(Protocol):
    """One API. `history`: the field of a request that holds what was said so far."""

    history: str

    def opening(self, model: str, offers: Sequence[Offer]) -> Json:
        """Return a request's fields, but for what was said."""
        ...

    def told(self, results: Sequence[Result], said: str | None) -> list[Json]:
        """Return how a model is told results, and then what its user says, if anything."""
        ...

    def read(self, answer: Json) -> Reply:
        """Read an answer; raises `EndpointRubbishError` for what is none, or was cut short."""
        ...


_Shape = TypeVar("_Shape", bound=BaseModel)


def shaped(shape: type[_Shape], answer: Json) -> _Shape:
    """Return an answer in a shape; raises `EndpointRubbishError` where it has another one."""
    try:
        return shape.model_validate(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise EndpointRubbishError(
            f"its answer has another shape: {place}: {first['msg']}"
        ) from None


def cut_short(why: str) -> EndpointRubbishError:
    """Return the error for an answer that a limit cut."""
    return EndpointRubbishError(f"its answer was cut short ({why}): raise the limit there")
