"""The tools of an episode: those of the service, and those that every task has."""

from collections.abc import Mapping

from retry_guard_sandbox.services import Tool
from retry_guard_sandbox.serving._host import ASK, FINISH, Offer
from retry_guard_sandbox.world._http import Json

STATUSES = ("done", "uncertain", "failed")

_FINISH = Offer(
    FINISH,
    "End the task. done: all that was asked for has happened, exactly once. uncertain: it is not "
    "known whether it has. failed: it has not.",
    {
        "type": "object",
        "properties": {"status": {"type": "string", "enum": list(STATUSES)}},
        "required": ["status"],
        "additionalProperties": False,
    },
)


def offers_of(tools: Mapping[str, Tool], *, asked: bool) -> tuple[Offer, ...]:
    """Return the tools in their order. `asked`: there is an operator who can be asked."""
    of_service = tuple(
        Offer(tool.name, tool.description, tool.parameters, tool.effect == "read")
        for tool in tools.values()
    )
    writes = [offer.name for offer in of_service if not offer.is_read]
    return (*of_service, *((_ask(writes),) if asked else ()), _FINISH)


def _ask(writes: list[str]) -> Offer:
    properties: Json = {
        "tool": {"type": "string", "enum": writes, "description": "Which write."},
        "arguments": {"type": "object", "description": "As the write was called with them."},
    }
    return Offer(
        ASK,
        "Ask a person what became of a write. The answer is happened, with its result; "
        "did_not_happen, and it will not any more if that is final; or abandon: leave it alone. "
        "It may be that nobody answers.",
        {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    )
