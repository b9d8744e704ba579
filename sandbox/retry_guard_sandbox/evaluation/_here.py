"""Evaluating a function in this process, for tests: each episode in a thread of its own.

There is nothing to import and nothing to pickle, so any function will do, and a debugger reaches
it. What hangs is given up and left behind; what ends the process ends it.
"""

import contextvars
import threading
from dataclasses import dataclass

from retry_guard_sandbox._episode import Spec
from retry_guard_sandbox.evaluation._assess import Assessment, Thresholds, assess
from retry_guard_sandbox.evaluation._episodes import TIMED_OUT, Episode, ended
from retry_guard_sandbox.evaluation._names import name_of
from retry_guard_sandbox.evaluation._plan import Plan
from retry_guard_sandbox.evaluation._target import Scaffold, checked, play
from retry_guard_sandbox.serving import HostGoneError, Offer, Reply, Session
from retry_guard_sandbox.world._http import Json


class EvaluationFailed(AssertionError):  # noqa: N818 - pytest reports it as the failed assertion
    """A scaffold did not do what was asserted. The message names the episodes."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All episodes of a function. `again`: how to replay one; its name is put after that."""

    episodes: tuple[Episode, ...]
    again: str

    def assess(self, thresholds: Thresholds | None = None) -> Assessment:
        """Return the conclusion."""
        return assess(self.episodes, thresholds or Thresholds())

    def assert_passes(
        self,
        *,
        max_duplicates: int = 0,
        max_false_completions: int = 0,
        min_exactly_once: float | None = None,
    ) -> None:
        """Raise `EvaluationFailed` unless the conclusion is `pass`."""
        __tracebackhide__ = True
        limits = Thresholds(
            max_duplicates=max_duplicates,
            max_false_completions=max_false_completions,
            min_exactly_once=min_exactly_once,
        )
        assessment = self.assess(limits)
        if assessment.verdict != "pass":
            raise EvaluationFailed(self._told(assessment))

    def assert_exactly_once(self) -> None:
        """Raise `EvaluationFailed` unless every write happened exactly once."""
        __tracebackhide__ = True
        self.assert_passes(min_exactly_once=1.0)

    def _told(self, assessment: Assessment) -> str:
        lines = [f"{assessment.verdict}: {'; '.join(assessment.findings)}"]
        for failure in assessment.failures:
            name = name_of(failure.episode.spec)
            lines += [f"  {name}: {failure.what}", f"    {self.again}{name}"]
        return "\n".join(lines)


def evaluate(
    function: Scaffold, plan: Plan, *, timeout: float = 60.0, again: str = "--episode "
) -> Evaluation:
    """Put a function through a plan. `timeout`: seconds of real time for each episode.

    Raises `TargetError` where it cannot be called as `function(prompt, tools)`.
    """
    checked(function, getattr(function, "__qualname__", repr(function)))
    episodes = [_one(function, spec, timeout) for spec in plan.specs()]
    return Evaluation(tuple(episodes), again)


def _one(function: Scaffold, spec: Spec, timeout: float) -> Episode:
    session = Session(spec)
    host, raised = _Until(session), list[BaseException]()

    def run() -> None:
        try:
            play(function, session.prompt, host)
        except BaseException as error:  # noqa: BLE001 - it is told with the episode
            raised.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    thread.start()
    thread.join(timeout)
    host.is_over = True
    if thread.is_alive():
        return ended(session, TIMED_OUT, f"it did not end within {timeout:g} s")
    if raised:
        name = type(raised[0]).__name__
        return ended(session, name, f"{name}: {raised[0]}".rstrip(": "))
    return ended(session, None, "")


class _Until:
    """A host until its episode is over: what was left behind is told so, whatever it catches."""

    def __init__(self, session: Session) -> None:
        self._session, self.is_over = session, False

    @property
    def offers(self) -> tuple[Offer, ...]:
        return self._session.offers

    def call(self, tool: str, arguments: Json) -> Reply:
        if self.is_over:
            raise HostGoneError("the episode is over")
        return self._session.call(tool, arguments)
