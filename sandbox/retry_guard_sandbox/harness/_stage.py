"""The stage: one agent talks with its tools, turn by turn, through one condition's process."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from retry_guard_sandbox.agents import Agent, Sight, ToolCall
from retry_guard_sandbox.conditions import Asked, Caller, Condition, Setting
from retry_guard_sandbox.harness._process import Line, Process
from retry_guard_sandbox.services import TOOLS
from retry_guard_sandbox.tasks import Task

BUDGET = 40
"""Messages that an agent may send in one turn."""
THINKING = 2.0
"""Virtual seconds between an answer and the next message."""


class BudgetError(Exception):
    """The agent did not finish within its messages."""


@dataclass(frozen=True, slots=True)
class Said:
    """One call and its answer; `at`: when it was there, in seconds since the epoch."""

    asked: Asked
    answer: str
    at: float


@dataclass(slots=True)
class Stage:
    """An episode as a harness stages it.

    `task`: what the user wants in the end; a harness whose user wants more says so there.
    `seed` decides what a harness varies. `said`: what agent and tools said to each other.
    `claimed`: how the agent finished last, if it did.
    """

    setting: Setting
    condition: Condition
    agent: Agent
    sight: Sight
    task: Task
    seed: int = 0
    said: list[Said] = field(default_factory=list[Said])
    claimed: str | None = None
    _caller: Caller | None = None
    _calls: int = 0

    def start(self, process: Process | None = None) -> Caller:
        """Start a process that knows what was kept, and nothing else; it carries out what comes.

        `process`: the moments at which the harness steps in.
        """
        self._caller = self.caller(process)
        return self._caller

    def caller(self, process: Process | None = None) -> Caller:
        """Return what carries out calls in a process of its own, beside the one on the stage."""
        if process is None:
            return self.condition(self.setting)
        line = Line(self.setting.world, process)
        world = replace(self.setting.world, wire=line)
        return self.condition(replace(self.setting, world=world, connect=process.connect))

    def talk(self, turn: str = "turn-1", deliver: "Deliver | None" = None) -> None:
        """Let the agent send messages until it finishes.

        `deliver` carries out each call; by default the process on the stage does. Raises
        `BudgetError` where the agent goes on for ever.
        """
        moves, self.claimed = self.agent(self.sight), None
        message = next(moves, ())
        for _ in range(BUDGET):
            if not message:
                return
            if message[0].tool == "finish":
                self.claimed = str(message[0].arguments["status"])
                return
            self.setting.world.clock.sleep(THINKING)
            asked = self._asked(message, turn)
            hand = deliver or Stage.hand_over
            answers = tuple(hand(self, one) for one in asked)
            try:
                message = moves.send(answers)
            except StopIteration:
                return
        raise BudgetError(f"more than {BUDGET} messages")

    def hand_over(self, asked: Asked) -> str:
        """Have the process on the stage carry out a call, and note what was answered."""
        answer = (self._caller or self.start()).call(asked)
        self.said.append(Said(asked, answer, self.setting.world.clock.time))
        return answer

    def _asked(self, message: tuple[ToolCall, ...], turn: str) -> list[Asked]:
        """Name the calls of one message, and count those that are equal."""
        asked: list[Asked] = []
        for call in message:
            self._calls += 1
            ordinal = sum(one.call == call for one in asked)
            asked.append(Asked(call, turn, f"call_{self._calls}", ordinal))
        return asked


Deliver = Callable[[Stage, Asked], str]


def is_write(asked: Asked) -> bool:
    """Whether a call may change something."""
    return TOOLS[asked.call.tool].effect != "read"
