"""The ledger of effects that really happened: the only thing that episodes are graded by."""

from dataclasses import dataclass

from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One execution of a write, or of one item of a batch.

    `at`: when, in seconds since the epoch. `send`: which request of the client it came from;
    two effects of one send are two deliveries of the same request, or two items. `id`: the name
    that the service gave it. `arguments`: as they arrived, without the key; of a batch with this
    one item in the list. `item`: what the service made of them, as it shows it. `batch`: the
    argument that is the list; None: it was no batch.
    """

    tool: str
    arguments: Json
    id: str
    item: Json
    at: float
    send: int
    batch: str | None = None

    def is_of(self, arguments: Json) -> bool:
        """Whether a call with exactly these arguments asks for it, alone or among others."""
        if self.batch is None:
            return self.arguments == arguments
        (item,) = self.arguments[self.batch]
        asked = arguments.get(self.batch)
        if not isinstance(asked, list) or item not in asked:
            return False
        return self.arguments == {**arguments, self.batch: [item]}


class Effects:
    """Every effect of an episode, in the order in which they happened."""

    __slots__ = ("_all",)

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._all: list[Effect] = []

    def add(self, effect: Effect) -> None:
        """Note that it happened."""
        self._all.append(effect)

    def __len__(self) -> int:
        """How many there were."""
        return len(self._all)

    def of(self, tool: str, arguments: Json | None = None) -> list[Effect]:
        """Return the effects of a tool; with `arguments`, those that such a call asks for."""
        return [
            effect
            for effect in self._all
            if effect.tool == tool and (arguments is None or effect.is_of(arguments))
        ]
