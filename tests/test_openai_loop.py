"""The loops over the OpenAI SDK do what the core does, in both of its APIs and in all forms."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from adapter_suite import Call, Cell, Told, World, every_cell
from functions_tools import coroutines_of, functions_of, told, toolbox_of
from openai_loop_models import (
    Api,
    Model,
    Run_,
    answers_in,
    awaited,
    blocking,
    says,
    streamed,
    streamed_awaited,
)
from retry_guard import Done


class LoopBench:
    """A run of a loop on a fresh guard; nothing is kept but the ledger."""

    def __init__(self, api: Api, run: Run_, *, coroutines: bool = False) -> None:
        self.api: Api = api
        self.run_loop = run
        self.coroutines = coroutines

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        model, ledger = Model(self.api, [says(self.api, "", *calls)]), world.ledger()
        tools = coroutines_of(world) if self.coroutines else functions_of(world)
        try:
            run = self.run_loop(model, toolbox_of(world, tools, ledger=ledger), turn=turn)
        finally:
            ledger.close()
        sent, outcomes = answers_in(model.sent()), [call.answer.outcome for call in run.calls]
        assert (run.end, run.text, run.rounds) == ("answered", "I am done.", 2)
        return [_told(sent[c.id], outcome) for c, outcome in zip(calls, outcomes, strict=True)]


def _told(text: str, outcome: object) -> Told:
    return told(text, outcome, json.loads(text) if isinstance(outcome, Done) else None)


BENCHES = {
    "chat-blocking": LoopBench("chat", blocking),
    "chat-awaited": LoopBench("chat", awaited, coroutines=True),
    "chat-streamed-awaited": LoopBench("chat", streamed_awaited),
    "responses-blocking": LoopBench("responses", blocking),
    "responses-awaited": LoopBench("responses", awaited),
    "responses-streamed": LoopBench("responses", streamed),
}


@pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
@every_cell
def test_the_loop_answers_as_the_core_does(cell: Cell, bench: LoopBench, tmp_path: Path) -> None:
    cell.check(bench, tmp_path)
