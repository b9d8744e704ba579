"""What cannot work is refused before anything is sent; what cannot be kept still arrives."""

import asyncio
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest

from adapter_suite import CHARGE, Call, World
from anthropic_agents import (
    ASK,
    C1,
    KINDS,
    USER,
    Block,
    End,
    Kind,
    Runner,
    Script,
    asks,
    blocking,
    every_run,
    loop,
    results_in,
    says,
    toolbox_of,
    tools_of,
)
from guards import PLAIN, Flaky
from pages import every_fault, example_that_charges_once
from retry_guard import LedgerError, UsageError
from retry_guard_anthropic import run_tools

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(PLAIN, tmp_path)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no messages": ({"messages": None}, "messages: give a list"),
    "messages that are text": ({"messages": "Charge them."}, "messages: give a list"),
    "one message": ({"messages": USER[0]}, "messages: give a list"),
    "a message that is text": ({"messages": ["Charge them."]}, "messages: give {'role'"),
    "content that is no block": ({"messages": [{"role": "user", "content": [5]}]}, "int"),
    "content that is nothing": ({"messages": [{"role": "user", "content": None}]}, "NoneType"),
    "content that is a number": ({"messages": [{"role": "user", "content": 5}]}, "int"),
    "a message without content": ({"messages": [{"role": "user"}]}, "content is text or blocks"),
    "content that is one block": ({"messages": [{"role": "user", "content": {}}]}, "dict"),
    "no rounds": ({"max_rounds": 0}, "max_rounds"),
    "rounds that are no number": ({"max_rounds": "2"}, "max_rounds"),
    "rounds that are a truth": ({"max_rounds": True}, "max_rounds"),
    "a tool of the same name": ({"tools": [{"name": "charge", "input_schema": {}}]}, "'charge'"),
    "a tool that is a function": ({"tools": [print]}, "toolbox"),
    "tools that are no list": ({"tools": 5}, "tools: give a list"),
    "one tool": ({"tools": {"name": "web_search"}}, "tools: give a list"),
    "a stream in the arguments": ({"stream": True}, "stream_tools"),
    "a thread of the server": ({"thread": {"type": "create"}}, "thread"),
    "no scope": ({"scope": ""}, "scope"),
    "an empty turn": ({"turn": ""}, "turn"),
    "a turn that is a number": ({"turn": 5}, "turn"),
}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("given", "said"), BAD.values(), ids=BAD)
def test_what_cannot_be_a_run_is_refused_in_one_line_and_nothing_is_asked(
    given: dict[str, Any], said: str, streams: bool, world: World
) -> None:
    script = Script(asks(C1))
    for blocks in (True, False):
        with pytest.raises(UsageError, match=re.escape(said)) as raised:
            loop(script, toolbox_of(world), blocks=blocks, streams=streams, **given)
        assert "\n" not in str(raised.value)
    assert (script.sent, world.requests) == ([], 0)


def test_only_the_resources_of_messages_are_taken(world: World) -> None:
    client: Any = Script().client()
    odd: list[Any] = [client, client.messages.batches, None]
    for resource in odd:
        with pytest.raises(UsageError, match=r"client\.messages"):
            run_tools(resource, toolbox_of(world), scope="acme", turn="t", **ASK)


def test_what_is_no_toolbox_is_refused(world: World) -> None:
    odd: Any = [tools_of(world)]
    with pytest.raises(UsageError, match="give a Toolbox"):
        loop(Script(), odd)


def test_async_functions_are_refused_for_a_client_that_blocks(world: World) -> None:
    script = Script(asks(C1))
    toolbox = toolbox_of(world, tools_of(world, awaited=True))
    with pytest.raises(UsageError, match="charge"):
        blocking("loop", script, toolbox)
    assert script.sent == []


@every_run
@every_kind
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (Call("toolu_1", {"customer": "c1"}), "amount"),
        (Call("toolu_1", {**CHARGE, "key": "mine"}), "key"),
        (Call("toolu_1", {"customer": "c1", "amount": "many"}), "amount"),
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model_and_not_sent(
    call: Call, said: str, kind: Kind, run: Runner, world: World
) -> None:
    end: End = run(kind, Script(asks(call)), toolbox_of(world))
    (result,) = results_in(end.messages)
    assert result["is_error"]
    assert said in result["content"]
    assert (world.requests, world.ledger().list("acme")) == (0, [])


@every_run
@pytest.mark.parametrize("kind", ["loop", "loop-stream"])
def test_a_tool_that_there_is_not_is_told_to_the_model(
    kind: Kind, run: Runner, world: World
) -> None:
    end: End = run(kind, Script(asks(C1._replace(tool="refund"), C1)), toolbox_of(world))
    first, second = results_in(end.messages)
    assert first["is_error"]
    assert json.loads(second["content"]) == {"id": "ch_1"}


@every_run
def test_a_ledger_that_is_down_stops_the_run_and_nothing_is_sent(run: Runner, world: World) -> None:
    ledger: Any = Flaky(world.ledger())
    toolbox = toolbox_of(world, ledger=ledger)
    ledger.down.add("claim")
    with pytest.raises(LedgerError):
        run("loop", Script(asks(C1)), toolbox)
    assert world.requests == 0


LONG = "x" * (20 << 20)
ODD: dict[str, Any] = {
    "generator": lambda: (number for number in range(3)),
    "open file": lambda: io.StringIO("a receipt"),
    "20 MB": lambda: LONG,
    "20 MB in JSON": lambda: {"receipt": LONG},
    "lone surrogate": lambda: "receipt \ud800",
    "lone surrogate in JSON": lambda: {"receipt": "\ud800"},
    "lone surrogate in a block": lambda: [{"type": "text", "text": "receipt \ud800"}],
}


@every_run
@pytest.mark.parametrize("kind", ["loop", "runner"])
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_what_cannot_be_kept_still_reaches_its_caller_and_nothing_runs_twice(
    make: Any, kind: Kind, run: Runner, world: World
) -> None:
    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        return make()

    results = list[Block]()
    for name in ("toolu_1", "toolu_2"):
        toolbox = toolbox_of(world, [charge])
        end: End = run(kind, Script(asks(C1._replace(id=name))), toolbox)
        results += results_in(end.messages)
        assert (end.errors, end.unresolved) == ((), ())
    first, again = results
    assert first.get("is_error") is again.get("is_error") is None
    made = make()
    if isinstance(made, str | dict | list):
        assert len(json.dumps(first["content"])) >= len(json.dumps(made)) - 20
    assert again["content"]
    (record,) = world.ledger().list("acme")
    assert (record.state, len(world.effects)) == ("done", 1)


BLOCKS: list[Any] = [
    {"type": "text", "text": "charged"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
]
RESULTS: dict[str, Any] = {
    "text": "charged",
    "empty": "",
    "nothing": None,
    "number": 5,
    "object": {"a": [1, 2.5, None, "é"]},
    "list": [{"id": 1}, {"id": 2}],
    "blocks": BLOCKS,
    "things that have a type": [{"type": "invoice", "id": 1}],
}


@every_run
@every_kind
@pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
def test_a_replay_is_the_tools_own_result_block_for_block(
    value: object, kind: Kind, run: Runner, world: World
) -> None:
    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        return value

    both = list[Block]()
    for name in ("toolu_1", "toolu_2"):
        end: End = run(kind, Script(asks(C1._replace(id=name))), toolbox_of(world, [charge]))
        both += results_in(end.messages)
    first, again = both
    assert first == {**again, "tool_use_id": "toolu_1"}
    assert first["content"] == (value if value is BLOCKS else again["content"])
    assert isinstance(first["content"], list if value is BLOCKS else str)
    assert len(world.effects) == 1


@every_run
@pytest.mark.parametrize("kind", ["loop", "runner"])
def test_a_call_whose_text_cannot_be_encoded_is_refused_and_the_run_goes_on(
    kind: Kind, run: Runner, world: World
) -> None:
    odd = C1._replace(arguments={"customer": "\ud800", "amount": 1})
    end: End = run(kind, Script(asks(odd)), toolbox_of(world))
    (result,) = results_in(end.messages)
    assert result["is_error"]
    assert (world.requests, end.text) == (0, "I am done.")


@every_run
@every_kind
@pytest.mark.parametrize("mode", ["observe", "off"])
def test_a_guard_that_only_looks_on_changes_nothing(
    mode: str, kind: Kind, run: Runner, world: World
) -> None:
    script = Script(asks(C1), asks(C1._replace(id="toolu_2")))
    end: End = run(kind, script, toolbox_of(world, mode=mode))
    assert [json.loads(each["content"]) for each in results_in(end.messages)] == [
        {"id": "ch_1"},
        {"id": "ch_2"},
    ]


@every_fault
def test_the_example_of_the_page_charges_once_on_a_real_server(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = Call("toolu_1", {"reference": "order-7", "amount": 1200})
    script = Script(asks(call), says(), asks(call._replace(id="toolu_2")))
    monkeypatch.setattr(anthropic, "Anthropic", script.client)
    page = "adapters/anthropic/README.md"
    with example_that_charges_once(page, fault, tmp_path) as names:
        assert len(script.sent) == 4
    assert names["run"].unresolved == names["guarded"].unresolved == ()
    first, second = (results_in(script.sent[number]["messages"]) for number in (1, 3))
    assert first[0]["content"] == second[0]["content"]


def test_the_adapter_imports_no_other_sdk() -> None:
    code = (
        "import sys, retry_guard_anthropic\n"
        "others = {'openai', 'langchain', 'agents', 'mcp', 'fastmcp', 'crewai', 'httpx'}\n"
        "ours = {'retry_guard_sandbox', 'retry_guard_console', 'retry_guard_httpx'}\n"
        "print(sorted((others | ours) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_can_be_cancelled_and_leaves_what_is_not_known(world: World) -> None:
    started = asyncio.Event()

    async def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        started.set()
        await asyncio.sleep(60)

    async def go() -> None:
        run = loop(Script(asks(C1)), toolbox_of(world, [charge]), blocks=False)
        task = asyncio.ensure_future(run)
        await started.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(go())
    end = blocking("loop", Script(asks(C1)), toolbox_of(world))
    assert [each["is_error"] for each in results_in(end.messages)] == [True]
    assert (len(world.effects), len(end.unresolved)) == (1, 1)
