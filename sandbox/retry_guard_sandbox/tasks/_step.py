"""The steps of a task: the calls that a model makes which understood the prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from retry_guard_sandbox.services import TOOLS
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
    """One call, as a model that understood the prompt would make it.

    `reworded`: some of its arguments, spelled so that they say the same to the service's users.
    `twin`: some of them, changed so that it looks alike and is another action.
    """

    tool: str
    arguments: Mapping[str, Any]
    reworded: Mapping[str, Any] = field(default_factory=dict[str, Any])
    twin: Mapping[str, Any] = field(default_factory=dict[str, Any])

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

    def makes(self, arguments: Json) -> bool:
        """Whether these are its arguments, however spelled and whatever references give."""
        if self.arguments.keys() != arguments.keys():
            return False
        fields = TOOLS[self.tool].fields
        return all(
            isinstance(value, Ref) or fields[name].same(value, arguments[name])
            for name, value in self.arguments.items()
        )
