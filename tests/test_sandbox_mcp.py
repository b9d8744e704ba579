"""The sandbox over MCP: whatever a client sends, it is answered, and nobody dies of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from mcp import Client, StdioServerParameters

from retry_guard_console import main
from retry_guard_sandbox import read_rows
from retry_guard_sandbox.services import SERVICES
from sandbox_mcp import META, STATELESS, answers, call, request, session

CHARGE = {"customer": "cus_ada", "amount": 4200, "currency": "eur", "description": "May invoice"}
RUN = (sys.executable, "-m", "retry_guard_console", "sandbox")
ERRORS: list[tuple[object, int, object]] = [
    (b"{no json", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', -32700, None),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}', -32700, None),
    (b"1" * 5000, -32700, None),
    ([request("ping")], -32600, None),
    ([], -32600, None),
    ("ping", -32600, None),
    (None, -32600, None),
    ({"id": 1, "method": "ping"}, -32600, None),
    ({"jsonrpc": "2.0", "id": 1}, -32600, None),
    ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600, None),
    ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, -32600, None),
    ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600, None),
    ({"jsonrpc": "2.0", "id": "p", "method": "ping", "params": [1]}, -32602, "p"),
    (request("resources/list"), -32601, 1),
    (request("subscriptions/listen", STATELESS, 5), -32601, 5),
    (request("server/discover"), -32602, 1),
    (request("tools/call"), -32602, 1),
    (request("tools/call", {"name": 5}), -32602, 1),
    (request("tools/call", {"name": "charge", "arguments": [1]}), -32602, 1),
    (request("tools/list", {"_meta": {**META, next(iter(META)): "2031-01-01"}}), -32022, 1),
]


@pytest.mark.parametrize(("line", "code", "name"), ERRORS)
def test_what_is_no_request_or_no_good_one_is_an_error_and_the_next_one_is_served(
    line: object, code: int, name: object
) -> None:
    refused, ping = answers(session(), [line, request("ping", name="next")])
    assert (refused["error"]["code"], refused["id"]) == (code, name)
    assert ping == {"jsonrpc": "2.0", "id": "next", "result": {}}


@pytest.mark.parametrize(
    "line",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
        {"jsonrpc": "2.0", "method": "tools/call", "params": call("charge", CHARGE)["params"]},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": 4, "error": {"code": -1, "message": "no"}},
        b"",
        b"   ",
    ],
)
def test_notifications_and_responses_are_not_answered_and_do_nothing(line: object) -> None:
    served = session()
    assert answers(served, [line]) == []
    assert (served.said, served.effects) == ([], [])


def test_an_unknown_version_names_those_that_there_are() -> None:
    (refused,) = answers(
        session(), [request("ping", {"_meta": {**META, next(iter(META)): "2031-01-01"}})]
    )
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


@pytest.mark.parametrize(
    ("asked", "told"),
    [("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
def test_initialize_agrees_on_a_version(asked: str, told: str) -> None:
    (shaken,) = answers(session(), [request("initialize", {"protocolVersion": asked})])
    assert shaken["result"]["protocolVersion"] == told
    assert shaken["result"]["capabilities"] == {"tools": {}}


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("transfer", {}, "there is no tool transfer: use one of charge, refund"),
        ("ask_operator", {"tool": "charge", "arguments": {}}, "there is no tool ask_operator"),
        ("charge", {}, "400 check the parameter"),
        ("charge", {**CHARGE, "amount": "much"}, "400 check the parameter amount"),
        ("charge", {**CHARGE, "tip": 1}, "400 check the parameter tip"),
        ("charge", {**CHARGE, "idempotency_key": [1]}, "400 check the parameter idempotency_key"),
        ("finish", {}, "finish needs the parameter status"),
        ("finish", {"status": "well"}, "check the parameter status: one of done, uncertain"),
        ("finish", {"status": "done", "note": "x"}, "finish takes no parameter note"),
    ],
)
def test_a_wrong_call_is_told_to_the_model_and_does_nothing(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    served = session()
    (answer,) = answers(served, [call(tool, arguments)])
    assert answer["result"]["isError"] is True
    assert json.loads(answer["result"]["content"][0]["text"])["error"].startswith(said)
    assert (served.effects, served.claimed) == ([], None)


def test_a_key_is_refused_where_the_tool_shows_no_parameter_for_one() -> None:
    ticket = {"project": "mobile", "title": "Login fails", "body": "Error 17."}
    served = session(task="open_ticket")
    (answer,) = answers(served, [call("create_ticket", {**ticket, "idempotency_key": "k"})])
    assert "takes no parameter idempotency_key" in answer["result"]["content"][0]["text"]
    served = session(task="open_ticket", contract="keys_everywhere")
    (answer,) = answers(served, [call("create_ticket", {**ticket, "idempotency_key": "k"})])
    assert answer["result"]["isError"] is False


@pytest.mark.parametrize("service", sorted(SERVICES))
@pytest.mark.parametrize("operator", ["none", "fencing"])
def test_the_tools_are_those_of_the_service_and_the_operator_where_there_is_one(
    service: str, operator: str
) -> None:
    served = session(service=service, operator=operator)
    listed, modern = (
        answer["result"]
        for answer in answers(
            served, [request("tools/list"), request("tools/list", STATELESS, "x")]
        )
    )
    own = [tool.name for tool in SERVICES[service].tools]
    asked = ["ask_operator"] if operator != "none" else []
    assert [tool["name"] for tool in listed["tools"]] == [*own, *asked, "finish"]
    assert modern["tools"] == listed["tools"]
    assert modern["resultType"] == "complete"
    assert modern["ttlMs"] == 0
    assert set(listed) == {"tools"}


def test_after_finish_nothing_is_carried_out_any_more() -> None:
    served = session()
    lines = [call("finish", {"status": "failed"}), call("charge", CHARGE)]
    _, late = answers(served, lines)
    assert "finished" in late["result"]["content"][0]["text"]
    assert (late["result"]["isError"], served.effects, served.claimed) == (True, [], "failed")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=9,
)


@settings(max_examples=100, deadline=None)
@given(line=JSON | st.binary(max_size=60).map(lambda raw: raw.replace(b"\n", b"")))
def test_any_line_is_answered_at_most_once_and_the_next_one_is_served(line: object) -> None:
    *refused, ping = answers(session(), [line, request("ping", name="next")])
    assert ping["id"] == "next"
    assert len(refused) <= 1


@settings(max_examples=60, deadline=None)
@given(
    tool=st.sampled_from(["charge", "finish", "ask_operator", "list_charges"]),
    arguments=st.dictionaries(
        st.sampled_from(["customer", "amount", "status", "tool", "arguments", "idempotency_key"]),
        JSON,
    ),
)
def test_any_arguments_are_answered_by_a_text_and_break_nothing(
    tool: str, arguments: dict[str, Any]
) -> None:
    served = session(operator="snapshot")
    (answer,) = answers(served, [call(tool, arguments)])
    json.loads(answer["result"]["content"][0]["text"])
    (row,) = served.end("NotFinished" if served.claimed is None else None)
    assert row.error in (None, "NotFinished")


def test_a_process_writes_json_rpc_and_nothing_else_and_the_rows_once_it_is_finished(
    tmp_path: Path,
) -> None:
    result = tmp_path / "rows.jsonl"
    options = ("--task", "charge_invoice", "--fault", "lost_ack", "--result", str(result))
    process = subprocess.Popen(
        [*RUN, *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines = [
        request("tools/list"),
        call("charge", CHARGE, 2),
        "{no json",
        call("finish", {"status": "done"}, 3),
    ]
    told = list[dict[str, Any]]()
    for line in lines:
        process.stdin.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
        process.stdin.flush()
        told.append(json.loads(process.stdout.readline()))
    assert [answer["id"] for answer in told] == [1, 2, None, 3]
    assert json.loads(told[1]["result"]["content"][0]["text"]) == {
        "error": "no response within 10 s"
    }
    with result.open(encoding="utf-8") as file:  # it is there before the session ends
        (row,) = read_rows(file)
    assert (row.outcome, row.claimed, row.effects) == ("exactly_once", "done", 1)
    rest, said = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert said == "task: Charge customer cus_ada 42.00 eur for the May invoice.\n"


@pytest.mark.parametrize("way", ["closed", "ended"])
def test_a_session_that_is_never_finished_is_an_error_in_the_rows(tmp_path: Path, way: str) -> None:
    result = tmp_path / "rows.jsonl"
    process = subprocess.Popen(
        [*RUN, "--service", "billing", "--result", str(result)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(call("charge", CHARGE)) + "\n")
    process.stdin.flush()
    process.stdout.readline()
    if way == "ended":
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    with result.open(encoding="utf-8") as file:
        (row, *_) = read_rows(file)
    assert (row.outcome, row.error, row.effects, row.claimed) == ("error", "NotFinished", 1, None)


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_the_client_of_the_sdk_does_a_task_in_both_generations(
    tmp_path: Path, mode: str, version: str
) -> None:
    result = tmp_path / "rows.jsonl"
    options = ["--task", "charge_invoice", "--fault", "lost_ack", "--operator", "fencing"]
    server = StdioServerParameters(
        command=RUN[0], args=[*RUN[1:], *options, "--result", str(result)], env=dict(os.environ)
    )
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools][-2:] == ["ask_operator", "finish"]
        lost = await client.call_tool("charge", CHARGE)
        assert lost.is_error
        asked = await client.call_tool("ask_operator", {"tool": "charge", "arguments": CHARGE})
        told = json.loads(asked.content[0].text)  # type: ignore[union-attr]  # it is a text
        assert (told["answer"], told["final"], told["result"]["amount"]) == ("happened", True, 4200)
        assert (await client.call_tool("nothing", {})).is_error
        assert not (await client.call_tool("finish", {"status": "done"})).is_error
    with result.open(encoding="utf-8") as file:
        (row,) = read_rows(file)
    assert (row.outcome, row.escalated, row.claimed) == ("exactly_once", True, "done")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "x"], "unknown tasks: x; choose from"),
        (["--service", "x"], "unknown services: x; choose from"),
        (["--fault", "x"], "unknown faults: x; choose from none,"),
        (["--contract", "x"], "unknown contracts: x; choose from native, keys_everywhere"),
        (["--operator", "x"], "unknown operator: x; choose from none, fencing"),
        (["--attempts-hit", "9"], "unknown attempts_hit: 9; choose from 1, 2, all"),
        (["--reads-hit", "9"], "unknown reads_hit: 9; choose from 0, 1, 2, all"),
        (["--result", "/nowhere/at/all"], "--result /nowhere/at/all: No such file"),
        (["--join", "nowhere"], "no episode is served at nowhere"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert main(["sandbox", *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
