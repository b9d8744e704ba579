"""What a condition is: what stands between calls and the wire, and what an agent is shown."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from retry_guard_sandbox.agents import AGENTS, Sight
from retry_guard_sandbox.conditions._caller import Caller, Setting
from retry_guard_sandbox.services import Tool

Tools = Mapping[str, Tool]


def _as_they_are(tools: Tools) -> Tools:
    return tools


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One arm. Everything but what it names is equal in all arms.

    `start`: begin a process that carries out calls. `suffix`: what is added to the prompt.
    `tools`: what becomes of the tool list. `models_only`: it changes what only a model reacts to.
    `done_by`: the scripted agents that do by themselves what it does.
    """

    start: Callable[[Setting], Caller]
    suffix: str = ""
    tools: Callable[[Tools], Tools] = _as_they_are
    models_only: bool = False
    done_by: frozenset[str] = field(default_factory=frozenset[str])

    def __call__(self, setting: Setting) -> Caller:
        """Begin a process."""
        return self.start(setting)

    def shown(self, sight: Sight) -> Sight:
        """Return what an agent sees in this arm: the prompt and the tools."""
        if not self.suffix and self.tools is _as_they_are:
            return sight
        return replace(sight, prompt=sight.prompt + self.suffix, tools=self.tools(sight.tools))

    def leaves_out(self, agent: str) -> bool:
        """Whether the arm says nothing about this agent, so it is left out of it."""
        return agent in self.done_by or (self.models_only and agent in AGENTS)
