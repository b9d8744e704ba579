"""What a task is: what a user says, how a model reads it, and what is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True)
class Ref:
    """A value that comes from the result of an earlier step, counted from 0."""

    step: int
    path: tuple[str | int, ...] = ("id",)

    def of(self, result: Any) -> Any:  # noqa: ANN401 - any place in a JSON document
        """Return the value; raises `LookupError` where the result has none."""
        for part in self.path:
            result = result[part]
        return result


@dataclass(frozen=True, slots=True)
class Step:
    """One call, as a model that understood the prompt would make it."""

    tool: str
    arguments: Mapping[str, Any]

    def filled(self, results: Sequence[Json | None]) -> Json | None:
        """Return the arguments with all references filled; None where a result is missing."""
        arguments: Json = {}
        for name, value in self.arguments.items():
            if isinstance(value, Ref):
                result = results[value.step]
                if result is None:
                    return None
                arguments[name] = value.of(result)
            else:
                arguments[name] = value
        return arguments


@dataclass(frozen=True, slots=True)
class Made:
    """The id of the effect of another intended write, counted from 0."""

    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """A write that has to happen. `identity` says which effect it is, `content` what is in it.

    A field of either may be a `Made`.
    """

    tool: str
    identity: Mapping[str, Any]
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task. Its check is what is intended; a task without one is refused (`ValueError`)."""

    name: str
    service: str
    prompt: str
    steps: tuple[Step, ...]
    intended: tuple[Intended, ...]

    def __post_init__(self) -> None:
        """Refuse a task that could not fail."""
        if not self.intended:
            msg = f"the task {self.name} intends no write: say what has to happen"
            raise ValueError(msg)

    def wanted(self, times: int) -> "Task":
        """Return the task as it is where the user wants each write that many times."""
        if times == 1:
            return self
        intended = tuple(replace(one, count=one.count * times) for one in self.intended)
        return replace(self, intended=intended)

    def is_about(self, write: int, tool: str, arguments: Json, effects: Effects) -> bool:
        """Whether a call with these arguments is about that intended write."""
        wanted = self.intended[write]
        return wanted.tool == tool and self._agree(wanted.identity, arguments, effects)

    def made(self, write: int, effects: Effects) -> list[Effect]:
        """Return the effects of an intended write, whatever their content."""
        wanted = self.intended[write]
        return [
            effect
            for effect in effects.of(wanted.tool)
            if self._agree(wanted.identity, effect.arguments, effects)
        ]

    def as_intended(self, write: int, effect: Effect, effects: Effects) -> bool:
        """Whether the content of an effect is what it should be."""
        return self._agree(self.intended[write].content, effect.arguments, effects)

    def _agree(self, wanted: Mapping[str, Any], given: Json, effects: Effects) -> bool:
        return all(self._is(value, given.get(name), effects) for name, value in wanted.items())

    def _is(self, wanted: object, given: object, effects: Effects) -> bool:
        if isinstance(wanted, Made):
            return any(given == effect.id for effect in self.made(wanted.write, effects))
        return wanted == given
