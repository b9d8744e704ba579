"""The operators: who answers when the guard hands a write over to a person."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from retry_guard import Answer
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._network import Network

Operator = Callable[[Network, Effects, str, Json], Answer | None]
"""Answers for a logical action: its tool, and its arguments without the key."""


def fencing(network: Network, effects: Effects, tool: str, arguments: Json) -> Answer:
    """Stop what is in flight, then answer truthfully, for good.

    An action that ran twice is given up: saying that it happened would call it done.
    """
    network.fence(tool, arguments)
    made = effects.of(tool, arguments)
    match len(made):
        case 0:
            return Answer("did_not_happen", final=True)
        case 1:
            return Answer("happened", result=made[0].item, final=True)
        case _:
            return Answer("abandon", final=True)


OPERATORS: Mapping[str, Operator] = MappingProxyType({"fencing": fencing})
