"""The ledger of effects that really happened: the only thing that episodes are graded by."""

from dataclasses import dataclass

from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One execution of a write.

    `at`: when, in seconds since the epoch. `send`: which request of the client it came from;
    two effects of one send are two deliveries of the same request. `id`: the name that the
    service gave it. `arguments`: as they arrived, without the key. `item`: what the service made
    of them, as it answers.
    """

    tool: str
    arguments: Json
    id: str
    item: Json
    at: float
    send: int


class Effects:
    """Every effect of an episode, in the order in which they happened."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._all: list[Effect] = []

    def add(self, effect: Effect) -> None:
        """Note that it happened."""
        self._all.append(effect)

    def of(self, tool: str, arguments: Json | None = None) -> list[Effect]:
        """Return the effects of a tool; with `arguments`, those with exactly these."""
        return [
            effect
            for effect in self._all
            if effect.tool == tool and (arguments is None or effect.arguments == arguments)
        ]
