"""A served session: time, threads, operators, budgets, and visitors from other processes."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from retry_guard_sandbox.evaluation import Tool
from retry_guard_sandbox.serving import Board, HostGoneError, Session, join
from retry_guard_sandbox.serving._session import BUDGET, NOTED
from retry_guard_sandbox.world._http import Json
from sandbox_mcp import session

CHARGE: Json = {
    "customer": "cus_ada",
    "amount": 4200,
    "currency": "eur",
    "description": "May invoice",
}
TICKET: Json = {"project": "mobile", "title": "Login fails", "body": "Error 17 after the update."}
SEARCH: Json = {"project": "mobile"}


class Watch:
    """A clock of real time that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_who_really_waits_has_waited_in_the_sandbox_and_who_does_not_has_thought() -> None:
    watch = Watch()
    spec = session(task="open_ticket").spec
    served = Session(spec, clock=watch)
    watch.now += 50.0  # before the first call nothing can have begun
    served.call("create_ticket", TICKET)
    assert 2.0 < served.said[0].at < 3.0
    assert served.call("search_tickets", SEARCH).text.count("TCK-") == 0
    watch.now += 31.0
    assert served.call("search_tickets", SEARCH).text.count("TCK-") == 1
    assert 35.0 < served.said[2].at < 37.0


def test_calls_from_many_threads_are_carried_out_one_after_the_other() -> None:
    served = session()
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(served.call, "charge", CHARGE) for _ in range(40)]
        texts = [future.result().text for future in sent]
    assert len({json.loads(text)["id"] for text in texts}) == 40
    assert len(served.said) == 40
    times = [said.at for said in served.said]
    assert times == sorted(times)
    assert served.end()[0].calls == 40


def test_a_scaffold_that_goes_round_in_circles_is_an_error() -> None:
    served = session()
    for _ in range(BUDGET):
        assert not served.call("list_charges", {"customer": "cus_ada"}).is_error
    assert "BudgetError" in served.call("list_charges", {"customer": "cus_ada"}).text
    assert "BudgetError" in served.call("finish", {"status": "done"}).text
    assert [row.error for row in served.end()] == ["BudgetError"]


def test_after_the_end_writes_are_noted_and_nothing_is_carried_out() -> None:
    served = session(operator="fencing")
    served.call("charge", CHARGE)
    served.call("finish", {"status": "done"})
    asked: Json = {"tool": "charge", "arguments": CHARGE}
    harmless: list[tuple[str, Json]] = [
        ("list_charges", {"customer": "cus_ada"}),
        ("ask_operator", asked),
    ]
    for tool, arguments in [*harmless, ("finish", {"status": "failed"}), ("nothing", {})]:
        assert "the task is finished" in served.call(tool, arguments).text
    assert not any(said.is_late for said in served.said)
    for _ in range(NOTED):
        assert served.call("charge", CHARGE).is_error
    assert {said.tool for said in served.said if said.is_late} == {"charge"}
    assert (len(served.said), len(served.effects), served.claimed) == (NOTED, 1, "done")
    (row,) = served.end()
    assert (row.outcome, row.calls) == ("exactly_once", 1)


@pytest.mark.parametrize(
    ("operator", "fault", "answer"),
    [
        ("fencing", "lost_ack", {"answer": "happened", "final": True}),
        ("fencing", "lost_request", {"answer": "did_not_happen", "final": True}),
        ("fencing", "late_commit", {"answer": "did_not_happen", "final": True}),
        ("snapshot", "late_commit", {"answer": "did_not_happen", "final": False}),
        ("silent", "lost_ack", {"answer": None, "note": "nobody answered"}),
    ],
)
def test_the_operator_answers_through_a_tool_and_that_is_an_escalation(
    operator: str, fault: str, answer: Json
) -> None:
    served = session(task="open_ticket", fault=fault, operator=operator)
    served.call("create_ticket", TICKET)
    told = json.loads(
        served.call("ask_operator", {"tool": "create_ticket", "arguments": TICKET}).text
    )
    assert {name: told[name] for name in answer} == answer
    served.call("finish", {"status": "failed"})
    (row,) = served.end()
    # Where it has happened, a look before the deadline would have told.
    assert (row.escalated, row.escalation_needed) == (True, fault != "lost_ack")
    assert row.effects == (fault == "lost_ack" or (operator == "snapshot"))


def test_to_ask_without_need_is_seen() -> None:
    served = session(operator="fencing")
    served.call("charge", CHARGE)
    served.call("ask_operator", {"tool": "charge", "arguments": {**CHARGE, "idempotency_key": "k"}})
    served.call("finish", {"status": "done"})
    (row,) = served.end()
    assert (row.escalated, row.escalation_needed) == (True, False)


def test_a_visitor_may_go_and_come_again_and_the_world_is_the_same() -> None:
    served = session()
    with Board() as board:
        token = board.add(served)
        with join(board.address, token) as first:
            first.call("charge", CHARGE)
        with join(board.address, token) as second:
            listed = second.call("list_charges", {"customer": "cus_ada"})
            tool = Tool("finish", "", {}, second)
            assert json.loads(tool(status="done")) == {"finished": "done"}
        assert [offer.name for offer in second.offers] == [o.name for o in served.offers]
        assert len(json.loads(listed.text)["data"]) == 1
    assert served.end()[0].outcome == "exactly_once"


@pytest.mark.parametrize("token", ["", "wrong", "dropped"])
def test_whoever_has_no_token_is_not_let_in(token: str) -> None:
    with Board() as board:
        dropped = board.add(session())
        board.drop(dropped)
        with pytest.raises(HostGoneError, match="nobody serves it any more"):
            join(board.address, dropped if token == "dropped" else token)


def test_a_visitor_of_nobody_is_told_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(HostGoneError, match="no episode is served"):
            join(address, "token")


def test_what_is_no_json_never_leaves_the_scaffold() -> None:
    with Board() as board, join(board.address, board.add(session())) as host:
        tool = Tool("charge", "", {}, host)
        for wrong in (float("nan"), {1, 2}, b"x"):
            with pytest.raises((ValueError, TypeError)):
                tool(amount=wrong)
        assert "400" in tool(amount=1)
