"""What a run of a loop leaves: for the user, for the next run, and for the application."""

from dataclasses import dataclass
from typing import Any, Literal

from retry_guard import Unresolved
from retry_guard_functions import Called

End = Literal["answered", "refused", "incomplete", "handed_over", "max_rounds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a run ended.

    `end`: `answered`; `refused`, with the model's refusal as text; `incomplete`: the last message
    was cut off or failed, so none of its calls was run and it is not in `items`; `handed_over`: the
    model called a tool that only the caller can run; `max_rounds`: it was still calling tools.
    `text`: the model's last words. `items`: the messages (Chat Completions) or input items
    (Responses) to carry on with, before those of the next turn; where the server keeps the
    conversation, only what it has not been sent, with `previous_response_id` as it stands then.
    `calls`: every call in its order. `unresolved`: the calls that ended without a known outcome,
    or were refused, and were not settled in the run. `rounds`: how often the model was asked.
    """

    end: End
    text: str
    items: list[Any]
    calls: tuple[Called, ...]
    unresolved: tuple[Unresolved, ...]
    rounds: int
    previous_response_id: str | None = None
