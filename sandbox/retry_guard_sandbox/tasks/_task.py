"""What a task is: what a user says, how a model reads it, and what is right."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.tasks._intended import Intended, agree
from retry_guard_sandbox.tasks._step import Step
from retry_guard_sandbox.world._effects import Effect, Effects
from retry_guard_sandbox.world._http import Json


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
        """Return the task as it is where the user wants each write that many times.

        What is idempotent takes effect once, however often it is wanted.
        """
        intended = tuple(
            one if TOOLS[one.tool].effect == "idempotent" else replace(one, count=one.count * times)
            for one in self.intended
        )
        return replace(self, intended=intended)

    def with_twins(self) -> "Task":
        """Return the task as it is where the user wants the twin of each write as well."""
        twins = tuple(
            one.changed(step.twin)
            for one in self.intended
            for step in self.steps
            if step.twin and one.comes_of(step)
        )
        return replace(self, intended=(*self.intended, *twins))

    def reworded(self, tool: str, arguments: Json) -> Json | None:
        """Return a call of the task in other words that say the same; None if it is none."""
        step = self._step(tool, arguments)
        return {**arguments, **step.reworded} if step is not None and step.reworded else None

    def twin(self, tool: str, arguments: Json) -> Json | None:
        """Return the call that looks like this one and is another; None if there is none."""
        step = self._step(tool, arguments)
        return {**arguments, **step.twin} if step is not None and step.twin else None

    def is_about(self, write: int, tool: str, arguments: Json, effects: Effects) -> bool:
        """Whether a call with these arguments is about that intended write, among others."""
        wanted = self.intended[write]
        return wanted.tool == tool and any(
            self._agree(write, wanted.identity, part, effects)
            for part in TOOLS[tool].parts(arguments)
        )

    def made(self, write: int, effects: Effects) -> list[Effect]:
        """Return the effects of an intended write, whatever their content."""
        wanted = self.intended[write]
        return [
            effect
            for effect in effects.of(wanted.tool)
            if self._agree(write, wanted.identity, effect.arguments, effects)
        ]

    def as_intended(self, write: int, effect: Effect, effects: Effects) -> bool:
        """Whether the content of an effect is what it should be."""
        return self._agree(write, self.intended[write].content, effect.arguments, effects)

    def _agree(
        self, write: int, wanted: Mapping[str, object], given: Json, effects: Effects
    ) -> bool:
        def ids(other: int) -> list[str]:
            return [effect.id for effect in self.made(other, effects)]

        return agree(TOOLS[self.intended[write].tool], wanted, given, ids)

    def _step(self, tool: str, arguments: Json) -> Step | None:
        return next((s for s in self.steps if s.tool == tool and s.makes(arguments)), None)
