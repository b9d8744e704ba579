"""Through MCP a client is told the same as through function calling, and no more."""

import json
from itertools import product

import pytest

from retry_guard_sandbox import Spec, evaluation
from retry_guard_sandbox._episode import _sight, world_of
from retry_guard_sandbox.agents import AGENTS, ToolCall
from retry_guard_sandbox.conditions import CONDITIONS, Setting
from retry_guard_sandbox.harness import Stage
from retry_guard_sandbox.serving import Session
from retry_guard_sandbox.tasks import TASKS, Task
from retry_guard_sandbox.world._faults import FAULTS, applies
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import fencing
from sandbox_clients import WRITES, Place, Told
from sandbox_mcp import answers, call as calling
from sandbox_transcripts import told_apart


def tools_of(task: Task) -> list[str]:
    return [step.tool for step in task.steps]


class McpCaller:
    """A client that speaks MCP. What it sleeps is real time to the server, on a clock of ours."""

    def __init__(self, place: Place) -> None:
        self._now = 0.0
        spec = evaluation.episode(
            task=next(task.name for task in TASKS.values() if place.tool in tools_of(task)),
            fault=place.fault,
            attempts_hit=place.hits,
            reads_hit=place.reads_hit,
            contract=place.contract,
            seed=place.seed,
        )
        self.session = Session(spec, clock=lambda: self._now)

    def call(self, call: ToolCall) -> Told:
        """Call a tool; all that comes back counts, not the text alone."""
        (answer,) = answers(self.session, [calling(call.tool, call.arguments)])
        return Told(json.dumps(answer), self.session.said[-1].at)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


@pytest.mark.parametrize("tool", WRITES)
def test_faults_that_show_the_same_cannot_be_told_apart_through_mcp(tool: str) -> None:
    assert list(told_apart(McpCaller, tool)) == []


def test_a_server_that_gives_away_what_is_hidden_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if an answer told how often there had been an effect."""
    honest = Session._carried_out

    def leaky(self: Session, tool: str, arguments: Json) -> object:
        reply = honest(self, tool, arguments)
        return type(reply)(reply.text + " " * len(self.effects), reply.is_error)

    monkeypatch.setattr(Session, "_carried_out", leaky)
    assert next(told_apart(McpCaller, "charge"), None) is not None


def staged(task: str, fault: str, contract: str, agent: str) -> Stage:
    """Play an episode through function calling."""
    spec = Spec(
        contract=contract,
        fault=fault,
        attempts_hit="1",
        task=task,
        agent=agent,
        condition="no_guard",
        seed=3,
    )
    world = world_of(spec)
    condition = CONDITIONS["no_guard"]
    sight = _sight(spec, world)
    stage = Stage(Setting(world, fencing), condition, AGENTS[agent], sight, TASKS[task])
    stage.talk()
    return stage


@pytest.mark.parametrize("agent", ["read_then_retry", "new_key", "give_up"])
def test_equal_actions_are_answered_by_equal_bytes_at_equal_times(agent: str) -> None:
    compared = 0
    for task, fault in product(TASKS.values(), FAULTS):
        contract = ("native", "keys_everywhere")[compared % 2]
        if not applies(fault, tools_of(task)):
            continue
        stage = staged(task.name, fault, contract, agent)
        spec = evaluation.episode(task=task.name, fault=fault, contract=contract, seed=3)
        session = Session(spec, clock=lambda: 0.0)
        began = session._world.clock.time
        for said in stage.said:
            asked = said.asked.call
            (answer,) = answers(session, [calling(asked.tool, asked.arguments)])
            assert answer["result"]["content"][0]["text"] == said.answer
            assert answer["result"]["isError"] is ("error" in json.loads(said.answer))
            assert began + session.said[-1].at == said.at
            compared += 1
    assert compared > 300
