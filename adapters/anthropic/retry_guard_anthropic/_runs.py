"""What a run of the loop leaves: for the user, for the next run, and for the application."""

from dataclasses import dataclass
from typing import Any, Literal

from retry_guard import Unresolved
from retry_guard_anthropic._blocks import Param
from retry_guard_functions import Called

End = Literal["answered", "refused", "incomplete", "handed_over", "max_rounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended.

    `end`: `answered`; `refused` or `incomplete`: the last message was refused, or cut off, or did
    not stop for its calls, so none of them was run and it is not in `items`; `handed_over`: the
    model called a tool that only the caller can run, whose result belongs to those of the last
    message; `max_rounds`: it was still at work. `text`: the model's last words. `items`: the
    messages to carry on with, as data. `message`: the SDK's last message. `calls`: every call in
    its order. `unresolved`: the calls that ended without a known outcome, or were refused, and
    were not settled in the run. `rounds`: how often the model was asked.
    """

    end: End
    text: str
    items: list[Param]
    message: Any
    calls: tuple[Called, ...]
    unresolved: tuple[Unresolved, ...]
    rounds: int
