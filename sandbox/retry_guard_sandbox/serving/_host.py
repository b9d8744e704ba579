"""What serves an episode: the tools that it offers, and calls of them."""

from dataclasses import dataclass
from typing import Protocol

from retry_guard import GuardError
from retry_guard_sandbox.world._http import Json

FINISH, ASK = "finish", "ask_operator"
"""The tools that no service has: to end the task, and to ask a person."""


class HostGoneError(GuardError):
    """Whoever served the episode cannot be reached, or does not any more."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, as it is shown. `parameters`: the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Json
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call was answered with: the text that a model would see, and whether it failed."""

    text: str
    is_error: bool


class Host(Protocol):
    """Serves one episode, from this process or from another."""

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The tools, in their order."""
        ...

    def call(self, tool: str, arguments: Json) -> Reply:
        """Call a tool. Calls that come at once are carried out one after the other.

        Raises `HostGoneError` where nobody serves the episode any more.
        """
        ...
