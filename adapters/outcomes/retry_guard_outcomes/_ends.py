"""How a send ended: it happened, nothing ran, or nobody can say.

Done         it happened, and this is the result
NotExecuted  nothing ran, and the error proves it
Unknown      everything else
"""

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from retry_guard_core import GuardError


class NotExecutedError(GuardError):
    """Nothing ran, and that is proven: the call may be made anew. `outcome` is the proof."""

    def __init__(self, outcome: "NotExecuted") -> None:
        """Keep the outcome; the message is that of its error."""
        super().__init__(f"nothing was executed: {outcome.error}")
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Done:
    """It happened. `value` is the tool's own result.

    `replayed`: the value was not made by this call but by an earlier one.
    `warning`: one sentence for the user; None: nothing to say.
    """

    value: Any
    replayed: bool = False
    warning: str | None = None

    def unwrap(self) -> Any:  # noqa: ANN401 - a tool's result has any type
        """Return the value."""
        return self.value


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """Nothing ran. `error` proves it: an exception, a response, or the text of one.

    `rejected`: the server itself read this very call and refused it, and would refuse an equal
    one (so the proof reaches back to earlier sends where the server stores its errors).
    """

    error: Any
    rejected: bool = False

    def unwrap(self) -> NoReturn:
        """Raise `NotExecutedError`, caused by the error where that is an exception."""
        cause = self.error if isinstance(self.error, BaseException) else None
        raise NotExecutedError(self) from cause


@dataclass(frozen=True, slots=True)
class Unknown:
    """It may have happened, or may happen yet. `error`: the exception or response that says so.

    `hint`: what the server said beyond that: `in_progress` (an earlier send with this key still
    runs), `exists` (there is already one like it), `accepted` (queued), `partial` (some items
    of a batch ran).
    """

    error: Any
    hint: Literal["in_progress", "exists", "accepted", "partial"] | None = None
