"""The stage: one agent talks with its tools, turn by turn, through one condition's process."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from retry_guard_sandbox.agents import Moves, ToolCall
from retry_guard_sandbox.conditions import Asked, Caller, Condition, Setting

BUDGET = 40
"""Messages that an agent may send in one turn."""
THINKING = 2.0
"""Virtual seconds between an answer and the next message."""


class BudgetError(Exception):
    """The agent did not finish within its messages."""


@dataclass(frozen=True, slots=True)
class Line:
    """One call and its answer; `at`: when it was there, in seconds since the epoch."""

    asked: Asked
    answer: str
    at: float


@dataclass(slots=True)
class Stage:
    """An episode as a harness stages it.

    `begin` begins the agent anew, as for a new message of the user. `caller` is the process
    that carries out calls; a harness may replace it (`restart`) or stand between (`deliver`).
    `lines`: what agent and tools said. `claimed`: how the agent finished last, if it did.
    """

    setting: Setting
    condition: Condition
    begin: Callable[[], Moves]
    caller: Caller = field(init=False)
    lines: list[Line] = field(default_factory=list[Line])
    claimed: str | None = None
    calls: int = 0

    def __post_init__(self) -> None:
        """Start the first process."""
        self.restart()

    def restart(self) -> None:
        """Start a process that knows what was kept, and nothing else."""
        self.caller = self.condition(self.setting)

    def talk(self, turn: str = "turn-1", deliver: "Deliver | None" = None) -> None:
        """Let the agent send messages until it finishes.

        `deliver` carries out each call; the caller alone does by default. Raises `BudgetError`
        where the agent goes on for ever.
        """
        deliver, moves, self.claimed = deliver or simply, self.begin(), None
        message = next(moves)
        for _ in range(BUDGET):
            if message[0].tool == "finish":
                self.claimed = str(message[0].arguments["status"])
                return
            self.setting.world.clock.sleep(THINKING)
            answers = tuple(deliver(self, asked) for asked in self._asked(message, turn))
            try:
                message = moves.send(answers)
            except StopIteration:
                return
        raise BudgetError(f"more than {BUDGET} messages")

    def hand_over(self, asked: Asked) -> str:
        """Have the process carry out a call, and note what was answered."""
        answer = self.caller.call(asked)
        self.lines.append(Line(asked, answer, self.setting.world.clock.time))
        return answer

    def _asked(self, message: tuple[ToolCall, ...], turn: str) -> list[Asked]:
        """Name the calls of one message, and count those that are equal."""
        asked: list[Asked] = []
        for call in message:
            self.calls += 1
            ordinal = sum(one.call == call for one in asked)
            asked.append(Asked(call, turn, f"call_{self.calls}", ordinal))
        return asked


Deliver = Callable[[Stage, Asked], str]
Play = Callable[[Stage], None]


def simply(stage: Stage, asked: Asked) -> str:
    """Hand the call over once."""
    return stage.hand_over(asked)


@dataclass(frozen=True, slots=True)
class Harness:
    """A harness and what goes wrong in it.

    `times`: how often each write of the task is intended, once it is played to its end.
    `play` stages the whole episode.
    """

    name: str
    play: Play
    times: Literal[1, 2] = 1
