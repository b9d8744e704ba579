"""Harnesses whose process ends in the middle of a write, or stands still and then goes on."""

from dataclasses import replace
from itertools import count
from typing import Any, Literal

from retry_guard import Answer
from retry_guard_sandbox.conditions import Asked
from retry_guard_sandbox.harness._process import KilledError, Process, unknown
from retry_guard_sandbox.harness._stage import Stage, is_write

Point = Literal["claimed", "saving", "delivering", "before", "sent", "answered", "looked"]

CRASHES: tuple[tuple[Point, float], ...] = (
    ("sent", 45.0),
    ("answered", 1.0),
    ("claimed", 45.0),
    ("delivering", 45.0),
    ("sent", 1.0),
)
"""Where a process ends, and seconds until the next one starts: after its lease, or within it."""
PAUSES: tuple[Point, ...] = ("claimed", "looked", "saving", "answered")
"""Where a process stands still."""
PAUSE = 45.0
"""Seconds for which it does: longer than a lease."""
READING = 30.0
"""Seconds that a user takes to read what an agent said, and to answer."""


class Once(Process):
    """A process in which something happens once, at one point."""

    def __init__(self, point: Point) -> None:
        self._point: Point | None = point

    def happen(self) -> None:
        """Step in."""
        self.die()

    def _at(self, point: Point) -> None:
        if point == self._point:
            self._point = None
            self.happen()

    def claimed(self) -> None:
        self._at("claimed")

    def saving(self) -> None:
        self._at("saving")

    def delivering(self) -> None:
        self._at("delivering")

    def before(self) -> None:
        # Where nothing is claimed or saved, this is the last moment before the effect.
        self._at("claimed")
        self._at("before")

    def sent(self) -> None:
        self._at("sent")

    def looked(self) -> None:
        self._at("looked")

    def answered(self) -> None:
        if not self.dead:
            self._at("answered")
        if not self.dead and not self.keeps_a_ledger:
            # Nothing is stored, so this is the last moment before the result is handed over.
            self._at("saving")
            self._at("delivering")


def killed(stage: Stage, asked: Asked, point: Point, pause: float) -> str | None:
    """Hand a call to a process that dies at that point; None: it did, and another one is there.

    `pause`: seconds until that one starts. Where the point is never reached, return the answer.
    """
    clock = stage.setting.world.clock
    begun = clock.time
    stage.start(Once(point))
    try:
        return stage.hand_over(asked)
    except KilledError:
        stage.setting.lost.append(unknown(asked, begun))
        clock.sleep(pause)
        stage.start()
        return None


def crash_resume(stage: Stage) -> None:
    """Each write's process is killed once; the next one resumes with the call it had not ended."""
    seen, numbers = set[str](), count(stage.seed)

    def deliver(stage: Stage, asked: Asked) -> str:
        action = repr(asked.call)
        if not is_write(asked) or action in seen:
            return stage.hand_over(asked)
        seen.add(action)
        point, pause = CRASHES[next(numbers) % len(CRASHES)]
        return killed(stage, asked, point, pause) or stage.hand_over(asked)

    stage.talk(deliver=deliver)


class _Held(Once):
    """A process that is held once while another one does the same."""

    def __init__(self, point: Point, stage: Stage, asked: Asked) -> None:
        super().__init__(point)
        self._stage, self._asked, self._begun = stage, asked, stage.setting.world.clock.time

    def happen(self) -> None:
        """Stand still; meanwhile the harness gives the process up and asks another one."""
        setting = self._stage.setting
        clock, lost = setting.world.clock, setting.lost
        lost.append(unknown(self._asked, self._begun))
        clock.sleep(PAUSE)
        again = replace(self._asked, call_id=f"{self._asked.call_id}-again")
        self._stage.caller().call(again)
        lost.pop()


def suspended_holder(stage: Stage) -> None:
    """Each write's process is held past its lease, another one is asked, then the first goes on."""
    seen, numbers = set[str](), count(stage.seed)

    def deliver(stage: Stage, asked: Asked) -> str:
        action = repr(asked.call)
        if is_write(asked) and action not in seen:
            seen.add(action)
            point = PAUSES[next(numbers) % len(PAUSES)]
            stage.start(_Held(point, stage, asked))
        return stage.hand_over(asked)

    stage.talk(deliver=deliver)


def user_retry(stage: Stage) -> None:
    """The user asks once more for what was not finished, in a turn of its own.

    The first turn ends unresolved (even seeds), or its process dies with a result that nobody
    received (odd seeds). Each write is intended once all the same. Whom an operator told that
    something is given up, since it can be put right by nobody here, asks for nothing more.
    """
    given_up = list[Answer]()
    ask = stage.setting.operator

    def operator(*about: Any) -> Answer | None:  # noqa: ANN401 - as any operator is asked
        answer = ask(*about)
        if answer is not None and answer.what == "abandon":
            given_up.append(answer)
        return answer

    stage.setting = replace(stage.setting, operator=operator)
    process = Once("delivering") if stage.seed % 2 else Process()
    stage.start(process)
    try:
        stage.talk()
    except KilledError:
        stage.claimed = None
    if stage.claimed == "done" or given_up:
        return
    stage.setting.world.clock.sleep(READING)
    stage.start()
    stage.talk("turn-2")


def deliberate_repeat(stage: Stage) -> None:
    """The user wants the same once more, on purpose, once it is done: each write is meant twice."""
    stage.talk()
    if stage.claimed != "done":
        return
    stage.task = stage.task.wanted(2)
    stage.sight.known.clear()
    stage.setting.world.clock.sleep(READING)
    stage.talk("turn-2")
