"""Keys that the body of a tool has to fetch: whether they left, and who is given them."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import pytest

from guards import READABLE, Args, Extra, Lab, LabMaker, Operator, changed, every_guard
from retry_guard import (
    Answer,
    Contract,
    Done,
    Guard,
    Policy,
    Unresolved,
    UsageError,
    running,
    sent_headers,
)
from retry_guard_contracts import Key
from retry_guard_ledgers import MemoryLedger
from retry_guard_outcomes import classify

HEADER = Contract(tool="charge", key=Key(param="header:Idempotency-Key", retention=86400.0))
BOTH = changed(READABLE, key=HEADER.key)
Mode = Literal["guard", "observe", "off"]
Effect = Literal["write", "read"]
Read = Callable[[str, Args], object]
NAME = "header:Idempotency-Key"
STAYED = "did not ask for sent_headers(), so its key did not leave"


class Body:
    """A tool's body, as an adapter runs it; its sends ask, or do not, as `asks` says in turn."""

    def __init__(self, lab: Lab, *asks: bool) -> None:
        self.service, self.asks = lab.service, list(asks)
        self.keys, self.runs = list[str | None](), 0

    def send(self, arguments: Args, extra: Extra) -> object:
        self.runs += 1
        with running("acme", "t1", extra):
            found = sent_headers() if self.asks.pop(0) else {}
            self.keys.append(found.get("Idempotency-Key"))
            return self.service.send(arguments, {f"header:{n}": key for n, key in found.items()})


@every_guard
def test_a_key_that_is_asked_for_is_the_same_in_each_send(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    body = Body(lab, True, True)
    assert lab.guard(HEADER).done(send=body.send).value == {"id": "ch_1"}
    assert body.keys[0]
    assert body.keys[0] == body.keys[1]
    assert len(lab.service.effects) == 1


@every_guard
def test_a_lost_answer_to_a_send_that_did_not_ask_for_its_key_ends_the_call(
    make: LabMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", times=9)
    bodies = Body(lab, False), Body(lab), Body(lab)  # of this call, and of later ones
    for body in bodies:
        assert lab.guard(HEADER).unresolved(send=body.send).reason == "nothing_can_tell"
    assert [body.runs for body in bodies] == [1, 0, 0]
    assert len(lab.service.effects) == 1
    assert caplog.text.count(STAYED) == 1


@every_guard
def test_where_the_key_stayed_behind_the_read_back_decides(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    assert lab.guard(BOTH).done(send=Body(lab, False).send).value == {"id": "ch_1"}
    assert (len(lab.service.requests), lab.service.reads) == (1, 1)


@every_guard
def test_a_re_issue_that_did_not_ask_is_the_last(make: LabMaker, tmp_path: Path) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack", times=9)
    body = Body(lab, True, False)
    assert lab.guard(HEADER).unresolved(send=body.send).reason == "nothing_can_tell"
    assert lab.guard(HEADER).unresolved(send=body.send).reason == "nothing_can_tell"
    assert body.runs == 2


@every_guard
def test_a_re_issue_that_did_not_ask_and_is_done_may_be_a_second_effect(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    assert lab.guard(HEADER).unresolved(send=Body(lab, True, False).send).reason == "unclear"


@every_guard
def test_a_send_that_did_not_ask_and_is_done_is_done(
    make: LabMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)
    body = Body(lab, False)
    for replayed in (False, True):
        assert lab.guard(HEADER).done(send=body.send).replayed is replayed
    assert caplog.text.count(STAYED) == 1


@every_guard
def test_after_an_operators_answer_the_next_send_has_a_key_of_its_own(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost", "lost_ack")
    body = Body(lab, False, True, True)
    guard = lab.guard(HEADER, ask=Operator(Answer("again")))
    assert guard.done(send=body.send).value == {"id": "ch_1"}
    assert body.keys[1]
    assert body.keys == [None, body.keys[1], body.keys[1]]
    assert len(lab.service.effects) == 1


@every_guard
def test_a_repeat_that_an_operator_asked_for_is_done_without_its_key_too(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    guard = lab.guard(HEADER, ask=Operator(Answer("again")))
    assert guard.done(send=Body(lab, False, False).send).value == {"id": "ch_2"}


@every_guard
def test_an_interrupt_of_a_send_that_did_not_ask_leaves_no_key_to_send_with(
    make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        lab.guard(HEADER).call(send=Body(lab, False).send)
    assert lab.only().key is None
    later = Body(lab)
    assert lab.guard(HEADER).unresolved(send=later.send).reason == "nothing_can_tell"
    assert later.runs == 0


@every_guard
def test_a_refused_send_did_nothing_whether_or_not_it_asked(
    make: LabMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)
    lab.service.meet("refused")
    lab.guard(HEADER).not_executed(send=Body(lab, False).send)
    assert STAYED not in caplog.text


@every_guard
@pytest.mark.parametrize("first", [False, True])
def test_what_is_harmless_to_repeat_needs_no_key(
    first: bool, make: LabMaker, tmp_path: Path
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost")
    body = Body(lab, first, False)
    lab.guard(changed(HEADER, effect="idempotent")).done(send=body.send)
    assert body.runs == 2


@every_guard
def test_a_send_that_brings_its_key_along_itself_asks_nobody(
    make: LabMaker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lab = make(tmp_path)
    lab.service.meet("lost_ack")
    assert lab.guard(HEADER).done().value == {"id": "ch_1"}
    assert len(lab.service.requests) == 2
    assert STAYED not in caplog.text


# Who is given a key


def guard_of(*contracts: Contract, mode: Mode = "guard", read: Read | None = None) -> Guard:
    policy = Policy(deadline=1)
    return Guard(MemoryLedger(), contracts, classify=classify, policy=policy, mode=mode, read=read)


def called(guard: Guard, body: Callable[[], object]) -> Done | Unresolved:
    """Call a tool whose function is this body; what the body raises is raised here."""
    raised = list[UsageError]()

    def send(_: Args, extra: Extra) -> object:
        with running("acme", "t1", extra):
            try:
                return body()
            except UsageError as error:
                raised.append(error)
                raise

    outcome = guard.call("charge", {}, send=send, scope="acme", turn="t1")
    if raised:
        raise raised[0]
    assert isinstance(outcome, Done | Unresolved)
    return outcome


def test_outside_of_a_run_nobody_is_given_headers() -> None:
    with pytest.raises(UsageError, match="outside of a tool's run"):
        sent_headers()


def test_a_thread_of_a_pool_is_refused_before_it_sends() -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(UsageError, match="outside of a tool's run"):
        called(guard_of(HEADER), lambda: pool.submit(sent_headers).result())


def test_a_thread_that_shares_the_context_is_given_the_key() -> None:
    seen = list[dict[str, str]]()

    async def body() -> None:
        seen.append(await asyncio.to_thread(sent_headers))

    called(guard_of(HEADER), lambda: asyncio.run(body()))
    assert seen[0].keys() == {"Idempotency-Key"}


def test_what_outlives_its_send_is_given_no_key() -> None:
    seen = list[object]()
    go = threading.Event()

    def later() -> None:
        go.wait(30)
        try:
            seen.append(sent_headers())
        except UsageError as error:
            seen.append(error)

    def body() -> None:
        threads.append(threading.Thread(target=contextvars.copy_context().run, args=[later]))
        threads[0].start()
        seen.append(sent_headers())

    threads = list[threading.Thread]()
    called(guard_of(HEADER), body)
    go.set()
    threads[0].join()
    assert isinstance(seen[0], dict)
    assert "after its end" in str(seen[1])


@pytest.mark.parametrize("mode", ["observe", "off"])
def test_where_nothing_is_guarded_there_is_nothing_to_send_along(mode: Mode) -> None:
    seen = list[dict[str, str]]()
    called(guard_of(HEADER, mode=mode), lambda: seen.append(sent_headers()))
    assert seen == [{}]


@pytest.mark.parametrize("effect", ["write", "read"])
def test_a_tool_without_such_a_key_has_nothing_to_send_along(effect: Effect) -> None:
    seen = list[dict[str, str]]()
    called(guard_of(Contract(tool="charge", effect=effect)), lambda: seen.append(sent_headers()))
    assert seen == [{}]


def test_inside_a_body_no_other_tool_is_given_its_key() -> None:
    """A server that sees the key of one action on the request of another drops that one."""
    seen = list[object]()
    inner = guard_of(Contract(tool="note"), HEADER)

    def direct(_: Args, extra: Extra) -> None:
        try:
            seen.append(sent_headers())
        except UsageError as error:
            seen.append(str(error))

    def body() -> None:
        with running("acme", "t1"):  # a tool without a contract
            seen.append(sent_headers())
        inner.call("note", {}, send=direct, scope="acme", turn="t1")
        inner.call("charge", {}, send=direct, scope="acme", turn="t1")
        seen.append(sent_headers())

    called(guard_of(HEADER), body)
    assert seen[:2] == [{}, {}]
    assert "has its key in `extra`" in str(seen[2])
    assert isinstance(seen[3], dict)
    assert seen[3]


def test_a_read_back_is_given_no_key() -> None:
    seen = list[dict[str, str]]()

    def read(tool: str, arguments: Args) -> object:
        seen.append(sent_headers())
        return {"charges": [], "complete": True}

    def body() -> None:
        sent_headers()
        guard = guard_of(READABLE, read=read)
        guard.call("charge", {"customer": "c", "amount": 1}, send=lost, scope="acme")

    def lost(_: Args, extra: Extra) -> None:
        raise TimeoutError

    called(guard_of(HEADER), body)
    assert seen
    assert not any(seen)


def test_a_copy_of_what_has_to_be_sent_is_refused_before_the_body_runs() -> None:
    with (
        pytest.raises(UsageError, match="not a copy; nothing was sent"),
        running("acme", "t1", {NAME: "k1"}),
    ):
        pytest.fail("it ran")
