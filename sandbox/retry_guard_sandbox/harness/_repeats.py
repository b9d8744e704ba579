"""Harnesses that carry one call more than once."""

from dataclasses import replace
from functools import partial

from retry_guard_sandbox.conditions import Asked
from retry_guard_sandbox.harness._stage import Stage, is_write
from retry_guard_sandbox.world._together import run_together

IMPATIENCE = 5.0
"""Seconds after which a transport sends a call again whose answer has not come."""


def double_emission(stage: Stage) -> None:
    """Each write stands twice in its message, under two call ids, and both run at once."""

    def deliver(stage: Stage, asked: Asked) -> str:
        if not is_write(asked):
            return stage.hand_over(asked)
        twin = replace(asked, call_id=f"{asked.call_id}-twin", ordinal=asked.ordinal + 1)
        both = [partial(stage.hand_over, one) for one in (asked, twin)]
        return run_together(stage.setting.world.clock, both)[0]

    stage.start()
    stage.talk(deliver=deliver)


def transport_replay(stage: Stage) -> None:
    """A transport gives a call up whose answer is late, and sends it again under a new id.

    Both run; the agent gets the answer to the second.
    """

    def deliver(stage: Stage, asked: Asked) -> str:
        if not is_write(asked):
            return stage.hand_over(asked)
        clock = stage.setting.world.clock
        answers: list[str] = []

        def first() -> None:
            answers.append(stage.hand_over(asked))

        def second() -> None:
            clock.sleep(IMPATIENCE)
            if not answers:
                again = replace(asked, call_id=f"{asked.call_id}-again")
                answers.insert(0, stage.hand_over(again))

        run_together(clock, [first, second])
        return answers[0]

    stage.start()
    stage.talk(deliver=deliver)
