"""A toolbox answers as the core alone does, for functions that block and for those awaited."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adapter_suite import Call, Cell, Told, World, every_cell
from functions_tools import Tools, coroutines_of, functions_of, told, toolbox_of
from retry_guard_functions import ToolAnswer, Toolbox


def shown(answer: ToolAnswer) -> Told:
    return told(answer.text, answer.outcome, answer.value)


class Blocking:
    """The calls of a message one after the other, through `call`."""

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger = world.ledger()
        box = toolbox_of(world, ledger=ledger)
        place: dict[str, Any] = {"scope": world.scope, "turn": turn}
        try:
            return [shown(box.call(c.tool, c.arguments, **place, call_id=c.id)) for c in calls]
        finally:
            ledger.close()


class Awaited:
    """The calls of a message together, through `call_awaited`."""

    def __init__(self, *, threads: bool) -> None:
        self.threads = threads

    def run(self, world: World, turn: str, calls: Sequence[Call]) -> list[Told]:
        ledger = world.ledger()
        tools: Tools = functions_of(world) if self.threads else coroutines_of(world)
        try:
            return asyncio.run(self._together(toolbox_of(world, tools, ledger=ledger), turn, calls))
        finally:
            ledger.close()

    async def _together(self, box: Toolbox, turn: str, calls: Sequence[Call]) -> list[Told]:
        place: dict[str, Any] = {"scope": World.scope, "turn": turn}
        work = (box.call_awaited(c.tool, c.arguments, **place, call_id=c.id) for c in calls)
        return [shown(answer) for answer in await asyncio.gather(*work)]


BENCHES = {
    "blocking": Blocking(),
    "awaited": Awaited(threads=False),
    "in-threads": Awaited(threads=True),
}


@pytest.mark.parametrize("bench", BENCHES.values(), ids=BENCHES)
@every_cell
def test_a_toolbox_answers_as_the_core_does(
    cell: Cell, bench: Blocking | Awaited, tmp_path: Path
) -> None:
    cell.check(bench, tmp_path)
