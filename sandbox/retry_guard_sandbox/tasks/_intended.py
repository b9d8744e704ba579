"""What has to happen in a task, and whether a call or an effect is that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from retry_guard_sandbox.services import TOOLS, Tool
from retry_guard_sandbox.tasks._step import Ref, Step
from retry_guard_sandbox.world._http import Json


@dataclass(frozen=True, slots=True)
class Made:
    """The id of the effect of another intended write, counted from 0."""

    write: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """A write that has to happen. `identity` says which effect it is, `content` what is in it.

    A field of either may be a `Made`. Each item of a batch is a write of its own, whose list has
    this one item. An idempotent write happens once: a repeat changes nothing.
    """

    tool: str
    identity: Mapping[str, Any]
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])
    count: int = 1

    def changed(self, by: Mapping[str, Any]) -> "Intended":
        """Return the write with some of its fields changed."""
        identity = {name: by.get(name, value) for name, value in self.identity.items()}
        content = {name: by.get(name, value) for name, value in self.content.items()}
        return replace(self, identity=identity, content=content)

    def comes_of(self, step: Step) -> bool:
        """Whether a step is meant to make it, alone or among others."""
        tool = TOOLS[self.tool]
        return step.tool == self.tool and any(
            all(_meet(tool, name, value, part[name]) for name, value in self.identity.items())
            for part in tool.parts(dict(step.arguments))
        )


def intended(tool: str, arguments: Mapping[str, Any], *content: str) -> tuple[Intended, ...]:
    """Return the writes of a call: one, or one for each item of a batch.

    `content`: the arguments that are its content; the others are its identity.
    """
    return tuple(
        Intended(
            tool=tool,
            identity={name: value for name, value in part.items() if name not in content},
            content={name: part[name] for name in content},
        )
        for part in TOOLS[tool].parts(dict(arguments))
    )


def agree(
    tool: Tool, wanted: Mapping[str, Any], given: Json, ids: Callable[[int], list[str]]
) -> bool:
    """Whether arguments say what is wanted, however spelled. `ids`: of a write's effects."""
    for name, value in wanted.items():
        if isinstance(value, Made):
            if given.get(name) not in ids(value.write):
                return False
        elif name not in given or not tool.fields[name].same(value, given[name]):
            return False
    return True


def _meet(tool: Tool, name: str, wanted: object, planned: object) -> bool:
    """Whether a field of a write and an argument of a step can be the same."""
    if isinstance(planned, Ref):
        return True
    return not isinstance(wanted, Made) and tool.fields[name].same(wanted, planned)
