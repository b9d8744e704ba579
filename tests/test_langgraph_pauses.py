"""An unresolved call pauses the run with a question; the answer goes where its question says."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from adapter_suite import C1, C2, CONTRACTS, Call, World
from guards import changed
from langgraph_agents import (
    CONFIG,
    args_of,
    asked,
    asks,
    graph_of,
    guard_of,
    human,
    one_node,
    plain,
    questions,
    told,
    tools_of,
)
from retry_guard import Contract

every_kind = pytest.mark.parametrize("kind", ["agent", "node"])


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


def paused(world: World, kind: Any, *calls: Call, **options: Any) -> tuple[Any, list[Any]]:
    """A run that paused, and its questions."""
    tools = tools_of(world)
    guard = guard_of(world, tools, **options)
    graph = graph_of(kind, guard, tools, asks(*calls), checkpointer=InMemorySaver())
    return graph, questions(graph.invoke(human("h1"), CONFIG))


def edited(question: Any, word: str, **more: Any) -> Any:
    """As Agent Inbox sends it: the request, with its arguments edited."""
    args = {**args_of(question), "answer": word, **more}
    return [{"type": "edit", "args": {"action": "x", "args": args}}]


Answering = Callable[..., Any]
every_form = pytest.mark.parametrize("said", [plain, edited])


def test_the_question_has_the_form_that_agent_inbox_shows(world: World) -> None:
    world.fates.append("lost_ack")
    _, (question,) = paused(world, "agent", C1)
    (request,) = question.value
    assert set(request) == {"action_request", "config", "description"}
    assert set(request["action_request"]) == {"action", "args"}
    assert set(request["config"]) == {
        *("allow_accept", "allow_edit", "allow_ignore", "allow_respond")
    }
    assert args_of(question)["arguments"] == C1.arguments
    assert "not known whether `charge` took effect" in request["description"]


@every_form
@every_kind
def test_an_answer_is_kept_in_the_ledger_and_ends_the_call(
    kind: Any, said: Answering, world: World
) -> None:
    world.fates.append("lost_ack")
    graph, (question,) = paused(world, kind, C1)
    answer = said(question, "happened", result={"id": "ch_9"})
    end = graph.invoke(Command(resume=answer), CONFIG)
    assert told(end["messages"])["c1"].content == {"id": "ch_9"}
    assert len(world.effects) == 1
    (record,) = world.ledger().list("acme")
    assert record.state == "done"


@pytest.mark.parametrize(
    ("word", "effects"), [("happened", 1), ("again", 2), ("did_not_happen", 2), ("abandon", 1)]
)
@every_kind
def test_every_answer_does_what_it_says(kind: Any, word: str, effects: int, world: World) -> None:
    world.fates.append("lost_ack")
    graph, (question,) = paused(world, kind, C1)
    answer = plain(question, word, final=word == "did_not_happen")
    end = graph.invoke(Command(resume=answer), CONFIG)
    assert questions(end) == []
    assert len(world.effects) == effects
    assert (told(end["messages"])["c1"].kind == "unresolved") == (word == "abandon")


@every_form
def test_two_questions_are_answered_in_swapped_order(said: Answering, world: World) -> None:
    world.fates.extend(("lost_ack", "lost_ack"))
    graph, found = paused(world, "agent", C1, C2)
    first, second = sorted(found, key=lambda q: args_of(q)["arguments"]["amount"])
    half = graph.invoke(
        Command(resume={second.id: said(second, "happened", result={"id": "two"})}), CONFIG
    )
    assert [asked(each) for each in questions(half)] == [asked(first)]
    end = graph.invoke(
        Command(resume={first.id: said(first, "happened", result={"id": "one"})}), CONFIG
    )
    assert {name: t.content for name, t in told(end["messages"]).items()} == {
        "c1": {"id": "one"},
        "c2": {"id": "two"},
    }
    assert len(world.effects) == 2


def test_answers_that_came_to_the_wrong_question_go_to_their_own(world: World) -> None:
    world.fates.extend(("lost_ack", "lost_ack"))
    graph, found = paused(world, "agent", C1, C2)
    one, two = found
    swapped = {
        one.id: plain(two, "happened", result={"of": args_of(two)["arguments"]}),
        two.id: plain(one, "happened", result={"of": args_of(one)["arguments"]}),
    }
    end = graph.invoke(Command(resume=swapped), CONFIG)
    for _ in range(2):  # a question that was on its way already needs no new answer
        if questions(end):
            end = graph.invoke(Command(resume={q.id: {} for q in questions(end)}), CONFIG)
    ends = told(end["messages"])
    assert ends["c1"].content == {"of": C1.arguments}
    assert ends["c2"].content == {"of": C2.arguments}
    assert len(world.effects) == 2


def together(world: World, number: int) -> None:
    """Let so many charges happen before any of them is answered: a pause cancels what is not."""
    charge, all_of_them = world.charge, threading.Barrier(number, timeout=60.0)

    def charged(*given: Any, **named: Any) -> dict[str, Any]:
        try:
            return charge(*given, **named)
        finally:
            all_of_them.wait()

    world.charge = charged  # type: ignore[method-assign]


@pytest.mark.parametrize("awaited", [False, True])
def test_two_unresolved_calls_in_one_node_each_get_their_own_answer(
    awaited: bool, world: World
) -> None:
    world.fates.extend(("lost_ack", "lost_ack"))
    together(world, 2)
    tools = tools_of(world)
    graph = graph_of(
        "node", guard_of(world, tools), tools, asks(C1, C2), checkpointer=InMemorySaver()
    )

    def run(given: object) -> Any:
        if awaited:
            return asyncio.run(graph.ainvoke(given, CONFIG))
        return graph.invoke(given, CONFIG)

    end = run(human("h1"))
    seen = list[str]()
    while questions(end):
        (question,) = questions(end)
        seen.append(asked(question))
        result = {"of": args_of(question)["arguments"]}
        end = run(Command(resume=plain(question, "happened", result=result)))
    assert len(seen) == len(set(seen)) == 2
    ends = told(end["messages"])
    assert ends["c1"].content == {"of": C1.arguments}
    assert ends["c2"].content == {"of": C2.arguments}
    assert len(world.effects) == 2


def test_an_old_answer_repeats_nothing_when_a_sibling_is_answered_later(world: World) -> None:
    world.fates.extend(("lost_ack", "lost_ack"))
    graph, (question,) = paused(world, "node", C1, C2)
    end = graph.invoke(Command(resume=plain(question, "again")), CONFIG)
    (other,) = questions(end)
    end = graph.invoke(Command(resume=plain(other, "happened")), CONFIG)
    assert questions(end) == []
    assert len(world.effects) == 3  # two, and the one repeat that was asked for
    # Time travel to the same pause, with the same answer once more.
    pause = next(s for s in graph.get_state_history(CONFIG) if s.next == ("tools",))
    graph.invoke(Command(resume=plain(question, "again")), pause.config)
    assert len(world.effects) == 3


@pytest.mark.parametrize("said", ["happened", {"x": 1}, ["approve"], {"answer": "happened"}])
@every_kind
def test_an_answer_that_names_no_question_settles_nothing(
    kind: Any, said: object, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.fates.append("lost_ack")
    graph, (question,) = paused(world, kind, C1)
    end = graph.invoke(Command(resume=said), CONFIG)
    (again,) = questions(end)
    assert asked(again) == asked(question)
    end = graph.invoke(Command(resume=plain(again, "happened")), CONFIG)
    assert questions(end) == []
    assert len(world.effects) == 1


@pytest.mark.parametrize("said", ["hapened", {"answer": 5}, 7, None])
def test_an_answer_that_cannot_be_used_is_asked_for_again(
    said: object, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.fates.append("lost_ack")
    graph, (question,) = paused(world, "agent", C1)
    end = graph.invoke(Command(resume={asked(question): said}), CONFIG)
    assert [asked(q) for q in questions(end)] == [asked(question)]
    assert "not understood" in caplog.text
    assert len(world.effects) == 1


@every_kind
def test_without_a_checkpointer_the_model_is_told_and_the_log_says_so(
    kind: Any, world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.fates.append("lost_ack")
    tools = tools_of(world)
    graph = graph_of(kind, guard_of(world, tools), tools, asks(C1))
    end = graph.invoke(human("h1"), CONFIG)
    (answer,) = [m for m in end["messages"] if isinstance(m, ToolMessage)]
    assert "not known whether `charge` took effect" in str(answer.content)
    assert answer.status == "error"
    assert answer.additional_kwargs["retry_guard"]["reason"] == "nothing_can_tell"
    assert "no checkpointer" in caplog.text


# Plain nodes


class Till:
    """A node that charges, asks twice, and returns."""

    def __init__(self, world: "TillWorld", **options: Any) -> None:
        self.world, self.approved = world, list[Any]()
        self.guard = guard_of(world, contracts=[], **options)
        charge = self.guard.effect(Contract(tool="charge"))(world.charge_amount)

        @self.guard.node
        def till(state: dict[str, Any]) -> dict[str, Any]:
            charge(10)
            self.approved.append((interrupt("first?"), interrupt("second?")))
            return {}

        self.graph = one_node(till, InMemorySaver())

    def run(self, given: object) -> list[Any]:
        return [q.value for q in questions(self.graph.invoke(given, CONFIG))]


class TillWorld(World):
    def charge_amount(self, amount: int) -> dict[str, Any]:
        return self.charge("c1", amount)


@pytest.fixture
def till_world(tmp_path: Path) -> TillWorld:
    return TillWorld(CONTRACTS["neither"], tmp_path)


def test_code_before_two_pauses_of_a_node_runs_once(till_world: TillWorld) -> None:
    """B4: each resume runs the node from its top."""
    till = Till(till_world)
    assert till.run(human("h1")) == ["first?"]
    assert till.run(Command(resume="yes")) == ["second?"]
    assert till.run(Command(resume="no")) == []
    assert till.approved == [("yes", "no")]
    assert len(till_world.effects) == 1


def test_the_guards_question_takes_no_answer_from_a_node_and_gives_it_none(
    till_world: TillWorld,
) -> None:
    till_world.fates.append("lost_ack")
    till = Till(till_world)
    ((question,),) = till.run(human("h1"))
    name = question["action_request"]["args"]["question"]
    assert till.run(Command(resume={name: "happened"})) == ["first?"]
    assert till.run(Command(resume="yes")) == ["second?"]
    assert till.run(Command(resume="no")) == []
    assert till.approved == [("yes", "no")]
    assert len(till_world.effects) == 1


def test_a_wrong_answer_to_the_guard_is_no_approval_for_the_node(till_world: TillWorld) -> None:
    till_world.fates.append("lost_ack")
    till = Till(till_world)
    ((question,),) = till.run(human("h1"))
    name = question["action_request"]["args"]["question"]
    (again,) = till.run(Command(resume="approve everything"))
    assert again == [question]
    assert till.run(Command(resume={name: "happened"})) == ["first?"]
    assert till.approved == []


def test_a_repeat_that_needs_a_persons_word_is_asked_for(world: World) -> None:
    world.contract = changed(CONTRACTS["neither"], repeat="escalate")
    tools = tools_of(world)
    says = [asks(C1), asks(C2._replace(arguments=C1.arguments))]
    graph = graph_of("agent", guard_of(world, tools), tools, says[0], checkpointer=InMemorySaver())
    graph.invoke(human("h1"), CONFIG)
    graph = graph_of("agent", guard_of(world, tools), tools, says[1], checkpointer=InMemorySaver())
    end = graph.invoke(human("h2"), CONFIG)
    (question,) = questions(end)
    assert len(world.effects) == 1
    end = graph.invoke(Command(resume=plain(question, "again")), CONFIG)
    assert questions(end) == []
    assert len(world.effects) == 2
