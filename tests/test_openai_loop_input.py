"""What is put into the loops, and what tools return; and the example on the page."""

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import AsyncOpenAI, OpenAI

from adapter_suite import C1, CONTRACTS, Call, World
from functions_tools import UNKEPT, closed, coroutines_of, toolbox_of
from openai_loop_models import (
    Api,
    Model,
    Run_,
    Says,
    answers_in,
    awaited,
    blocking,
    every_api,
    every_form,
    says,
    streamed_awaited,
)
from pages import every_fault, example_that_charges_once
from retry_guard import LedgerError, UsageError
from retry_guard_openai import run_tools, stream_tools


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(CONTRACTS["neither"], tmp_path)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no scope": ({"scope": ""}, "scope: give the account"),
    "a scope that is no text": ({"scope": 5}, "scope: give the account"),
    "an empty turn": ({"turn": ""}, "turn: give the id"),
    "a turn that is no text": ({"turn": 41}, "turn: give the id"),
    "no rounds": ({"max_rounds": 0}, "max_rounds: give a whole number from 1"),
    "half a round": ({"max_rounds": 1.5}, "max_rounds"),
    "true rounds": ({"max_rounds": True}, "max_rounds"),
    "a stream": ({"stream": True}, "stream: use stream_tools"),
    "in the background": ({"background": True}, "background: a loop waits"),
    "old functions": ({"functions": [{}]}, "functions: put them into the toolbox"),
    "an old choice": ({"function_call": "auto"}, "function_call: use tool_choice"),
    "several answers": ({"n": 2}, "n: several answers"),
    "no messages": ({"messages": None, "input": None}, r"(messages|input): give a list"),
    "a number": ({"messages": 5, "input": 5}, r"(messages|input): give a list"),
    "a function": (
        {"tools": [{"type": "function", "name": "x", "function": {"name": "x"}}]},
        "put functions into the toolbox",
    ),
    "a namespace": ({"tools": [{"type": "namespace", "tools": []}]}, "into the toolbox"),
    "a plain function": ({"tools": [print]}, "into the toolbox"),
}


@every_api
@every_form
@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_work_is_one_line_and_asks_no_model(
    kind: str, run: Run_, api: Api, world: World
) -> None:
    given, said = WRONG[kind]
    model = Model(api, [says(api, "", C1)])
    with pytest.raises(UsageError, match=said) as raised:
        run(model, toolbox_of(world), **given)
    assert "\n" not in str(raised.value)
    assert (model.requests, world.requests) == ([], 0)


def test_messages_of_chat_are_a_list(world: World) -> None:
    with pytest.raises(UsageError, match="messages: give a list"):
        blocking(Model("chat"), toolbox_of(world), messages="Charge them.")


@pytest.mark.parametrize("loop", [run_tools, stream_tools])
def test_what_is_no_resource_or_toolbox_is_refused(loop: Any, world: World) -> None:
    rest: dict[str, Any] = {"scope": "acme", "turn": "m1", "model": "m", "messages": []}
    with OpenAI(api_key="k") as client:
        for other in (client, client.chat, client.chat.completions.with_raw_response, None):
            with pytest.raises(UsageError, match=r"give client\.chat\.completions or client\.resp"):
                loop(other, toolbox_of(world), **rest)
        with pytest.raises(UsageError, match="toolbox: give a Toolbox, not list"):
            loop(client.chat.completions, [print], **rest)


@every_api
def test_async_tools_need_an_async_client(api: Api, world: World) -> None:
    model = Model(api, [says(api, "", C1)])
    with pytest.raises(UsageError, match="charge is an async function: use the async form"):
        blocking(model, toolbox_of(world, coroutines_of(world)))
    assert model.requests == []
    assert awaited(model, toolbox_of(world, coroutines_of(world))).end == "answered"


async def test_an_async_loop_refuses_before_it_is_awaited(world: World) -> None:
    async with AsyncOpenAI(api_key="k") as client:
        with pytest.raises(UsageError, match="max_rounds"):
            _ = run_tools(client.responses, toolbox_of(world), scope="a", turn=None, max_rounds=-1)


@every_api
@every_form
def test_a_ledger_that_fails_is_for_the_application_and_nothing_is_sent(
    run: Run_, api: Api, world: World
) -> None:
    ledger = world.ledger()
    box = toolbox_of(world, ledger=ledger)
    ledger.close()
    with pytest.raises(LedgerError):
        run(Model(api, [says(api, "", C1)]), box)
    assert world.requests == 0


# What tools return


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("api", "run"), [("chat", blocking), ("responses", streamed_awaited)])
@pytest.mark.parametrize("kind", UNKEPT)
def test_a_result_that_cannot_be_kept_reaches_the_model_and_nothing_runs_twice(
    kind: str, run: Run_, api: Api, world: World
) -> None:
    made = list[object]()

    def charge(customer: str, amount: int) -> Any:
        world.charge(customer, amount)
        made.append(UNKEPT[kind]())
        return made[-1]

    answers = list[str]()
    for name in ("c1", "c2"):
        model = Model(api, [says(api, "", C1._replace(id=name))])
        ended = run(model, toolbox_of(world, [charge]))
        answers.append(answers_in(model.sent())[name])
        assert (ended.end, ended.unresolved) == ("answered", ())
    assert ended.calls[0].answer.value is None
    assert len(answers[0]) > (15_000_000 if kind.startswith("20 MB") else 0)
    assert answers[1] == "It happened, but its result could not be kept."
    (record,) = world.ledger().list("acme")
    assert (record.state, record.value) == ("done", None)
    assert len(world.effects) == len(made) == 1
    closed(made)


def test_importing_the_adapter_imports_no_other_sdk() -> None:
    code = (
        "import sys, retry_guard_openai\n"
        "others = {'agents', 'anthropic', 'mcp', 'fastmcp', 'langchain_core', 'pydantic_ai'}\n"
        "ours = {'retry_guard_sandbox', 'retry_guard_console', 'retry_guard_openai_agents'}\n"
        "print(sorted((others | ours) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# The page


@contextmanager
def listening(model: Model) -> Generator[str]:
    """Serve what a model says at an address of this machine."""

    class Visit(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = model.answer(httpx2.Request("POST", self.path, content=body))
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers["content-type"])
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is named there
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Visit) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            server.shutdown()


@every_fault
def test_the_example_charges_once_on_a_real_server(
    fault: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = {"reference": "order-7", "amount": 1200}
    script: list[Says] = []
    for name in ("c1", "c2"):
        script += [says("chat", "", Call(name, order)), says("chat", "Order 7 is charged.")]
    model = Model("chat", script)
    with listening(model) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        with example_that_charges_once("adapters/openai/README.md", fault, tmp_path):
            assert capsys.readouterr().out == "Order 7 is charged. ()\n" * 2
    first, second = (answers_in(model.requests[n]["messages"]) for n in (1, 3))
    assert [*first.values()] == [*second.values()]
