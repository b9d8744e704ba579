"""The pipe: what the guard does not own passes unchanged, in order, whatever it is."""

import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from mcp_proxy_client import COMMAND, INITIALIZE, LONG, META, Proxy, StartedSite, texts, tools

BIG = 20_000_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> StartedSite:
    return StartedSite(tmp_path_factory.mktemp("pipe"))


@pytest.fixture(scope="module")
def shared(site: StartedSite) -> Generator[Proxy]:
    """One proxy for all of these tests: whatever one of them does to it, the next is served."""
    with site.proxy() as proxy:
        proxy.initialize()
        yield proxy
        assert len(site.lives) == 1


@pytest.fixture
def pipe(shared: Proxy) -> Proxy:
    shared.forget()
    return shared


def raw(pipe: Proxy, line: bytes) -> None:
    """Let the server write these bytes to its standard output."""
    pipe.tell("raw", {"bytes": base64.b64encode(line).decode()})


SPELLINGS = [
    b'{"jsonrpc":"2.0","id":"p1","method":"ping"}\n',
    b'{ "id" : "p2" ,\t"method":"pi\\u006eg", "jsonrpc":"2.0","x-more":[1e3, 1.0, "\\u00e9"]}\r\n',
    b'{"jsonrpc":"2.0","method":"notifications/anything","params":{"a":"\xc3\xa9"}}\n',
    b'{"jsonrpc":"2.0","id":"p3","method":"nobody/knows","params":[1,2]}\n',
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n',
    b"[]\n",
    b'[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","method":"x"}]\n',
    b"42\n",
    b'"tools/call"\n',
    b"\n",
    b'{"jsonrpc":"2.0","id":"e1","method":"tools/call","params":{"name":"echo","arguments":null}}\n',
    b'{"jsonrpc":"2.0","id":"e2","method":"tools/call","params":{"name":7}}\n',
]


@pytest.mark.parametrize("line", SPELLINGS)
def test_what_the_client_says_reaches_the_server_as_it_was_said(
    pipe: Proxy, site: StartedSite, line: bytes
) -> None:
    pipe.write(line)
    pipe.answer(pipe.ask("ping"))
    assert site.heard[-2].encode() == line


ANSWERS = [
    b'{"jsonrpc":"2.0","id":"nobody","result":{"x":[1e3,1.0,"\\u00e9"]}}\n',
    b'{ "method":"notifications/message", "params":{"data":"\xc3\xa9"} ,"jsonrpc":"2.0"}\r\n',
    b'{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}\n',
    b'[{"jsonrpc":"2.0","method":"notifications/a"},{"jsonrpc":"2.0","method":"b"}]\n',
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs"}}\n',
]


@pytest.mark.parametrize("line", ANSWERS)
def test_what_the_server_says_reaches_the_client_as_it_was_said(pipe: Proxy, line: bytes) -> None:
    raw(pipe, line)
    said = json.loads(line)
    pipe.take(lambda m: m in (said, {"batch": said}))
    assert line in pipe.raw[-1:]


NOISE = [
    b"Listening on port 3000\n",
    b"\xff\xfe\x00\n",
    b'{"level":"info","msg":"started"}\n',
    b"42\n",
    b"null\n",
    b'["x"]\n',
    b"[" * 5000 + b"\n",
    b'{"jsonrpc":"2.0"}\n',
]


@pytest.mark.parametrize("line", NOISE)
def test_noise_of_the_server_goes_to_standard_error_and_never_to_the_client(
    pipe: Proxy, line: bytes
) -> None:
    before = pipe.errors.count("no message")
    raw(pipe, line)
    assert pipe.silent()
    assert pipe.said("no message", before + 1)


def test_bytes_that_are_no_text_are_replaced_in_an_answer(pipe: Proxy) -> None:
    raw(pipe, b'{"jsonrpc":"2.0","id":"odd","result":{"x":"\xff"}}\n')
    assert pipe.result("odd") == {"x": "\ufffd"}


def test_what_is_taken_out_of_a_message_leaves_the_rest_as_it_was_spelled(pipe: Proxy) -> None:
    raw(pipe, b'{"jsonrpc":"2.0","id":"l","result":{"x":1e999,"_meta":{"retry-guard/x":1}}}\n')
    assert pipe.result("l") == {"x": float("inf")}
    assert pipe.raw[-1] == b'{"jsonrpc":"2.0","id":"l","result":{"x":1e999}}\n'


@pytest.mark.parametrize("broken", [b"9" * 5000, b"[" * 5000 + b"]" * 5000, b'"\x01"'])
def test_an_answer_that_cannot_be_read_becomes_an_error_so_that_nobody_waits(
    pipe: Proxy, broken: bytes
) -> None:
    given = pipe.ask("silence")
    raw(pipe, b'{"jsonrpc":"2.0","id":%s,"result":{"x":%s}}\n' % (str(given).encode(), broken))
    assert pipe.answer(given)["error"]["code"] == -32603


@pytest.mark.parametrize(
    "line",
    [
        b"{no json\n",
        b"\xff\xfe\n",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"post","x":"\xff"}}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN,}}\n',
        b"[" * 100_000 + b"\n",
        b"1" * 5000 + b"\n",
    ],
)
def test_what_cannot_be_read_is_refused_since_the_server_might_read_a_call_in_it(
    pipe: Proxy, site: StartedSite, line: bytes
) -> None:
    before = len(site.heard)
    pipe.write(line)
    assert pipe.answer(None)["error"]["code"] == -32700
    assert pipe.silent()
    assert len(site.heard) == before + 1


@pytest.mark.parametrize("method", ["tools/call", "tools/list"])
def test_a_batch_with_something_for_the_guard_is_refused_whole(
    pipe: Proxy, site: StartedSite, method: str
) -> None:
    one = {"jsonrpc": "2.0", "id": "b", "method": method, "params": {"name": "post"}}
    pipe.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"}, one])
    refused = pipe.take(lambda m: "batch" in m)["batch"]
    assert [(each["id"], each["error"]["code"]) for each in refused] == [
        ("a", -32600),
        ("b", -32600),
    ]
    pipe.answer(pipe.ask("ping"))
    assert '"post"' not in site.heard[-2]


def test_twenty_megabytes_pass_in_both_directions(pipe: Proxy) -> None:
    result = pipe.called("echo", {"text": "é" * (BIG // 6)})
    assert len(json.loads(texts(result))["text"]) == BIG // 6
    assert len(pipe.raw[-1]) > BIG


def test_ids_that_are_used_twice_are_answered_twice(pipe: Proxy) -> None:
    for _ in range(2):
        pipe.ask("ping", given="same")
    assert [pipe.answer("same")["result"] for _ in range(2)] == [{}, {}]


def test_answers_come_in_the_order_in_which_the_server_gives_them(pipe: Proxy) -> None:
    asked = [pipe.ask("ping") for _ in range(200)]
    assert [pipe.next()["id"] for _ in range(200)] == asked


def test_a_question_of_the_server_and_its_answer_pass(pipe: Proxy) -> None:
    asked = pipe.ask("ask", {"as": 77})
    question = pipe.asked("elicitation/create")
    assert question["id"] == 77
    pipe.send({"jsonrpc": "2.0", "id": 77, "result": {"action": "decline"}})
    assert pipe.result(asked) == {"answered": {"action": "decline"}}


def test_a_server_of_the_newer_generation_is_reached_without_a_session(
    pipe: Proxy, site: StartedSite
) -> None:
    found = pipe.result(pipe.ask("server/discover", {"_meta": META}))
    assert found["supportedVersions"] == ["2026-07-28"]
    listed = pipe.result(pipe.ask("tools/list", {"_meta": META}))
    assert listed["resultType"] == "complete"
    pipe.ask("subscriptions/listen", {"_meta": META})
    pipe.asked("notifications/tools/list_changed")


def test_a_server_without_the_newer_generation_says_so_itself(pipe: Proxy) -> None:
    assert pipe.answer(pipe.ask("server/discover"))["error"]["code"] == -32601


@pytest.mark.parametrize("options", [(), ("--show-key",)])
def test_a_list_of_tools_is_the_servers_own_but_for_the_parameter_that_carries_the_key(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    site = StartedSite(tmp_path)
    with site.direct() as direct, site.proxy(*options) as proxy:
        seen = [each.result(each.ask("tools/list")) for each in (proxy, direct)]
        assert options or proxy.raw[-1] != direct.raw[-1]
        assert not options or proxy.raw[-1] == direct.raw[-1]
    shown, own = (tools(one) for one in seen)
    if not options:
        charge = own["charge"]["inputSchema"]
        assert charge["required"] == ["customer", "amount", "key"]
        charge["required"].remove("key")
        del charge["properties"]["key"]
    assert shown == own


def test_a_list_in_which_nothing_is_hidden_passes_byte_for_byte(tmp_path: Path) -> None:
    site = StartedSite(tmp_path, "contracts: [{tool: post}]")
    with site.direct() as direct, site.proxy() as proxy:
        for each in (direct, proxy):
            each.answer(each.ask("tools/list"))
        assert proxy.raw == direct.raw


def test_a_message_without_an_end_of_line_counts_and_half_of_one_is_refused(
    tmp_path: Path,
) -> None:
    site = StartedSite(tmp_path)
    with site.proxy() as proxy:
        proxy.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert json.loads(proxy.raw[-1])["result"] == {}
    with site.proxy() as proxy:
        proxy.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"po')
    assert json.loads(proxy.raw[-1])["error"]["code"] == -32700
    assert site.effects == []


def test_standard_error_of_the_server_is_that_of_the_proxy(tmp_path: Path) -> None:
    with StartedSite(tmp_path).proxy() as proxy:
        proxy.answer(proxy.ask("ping"))
    assert "the server says this on standard error" in proxy.errors


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_when_the_client_closes_the_server_is_ended_and_the_exit_code_is_0(
    tmp_path: Path,
) -> None:
    site = StartedSite(tmp_path)
    proxy = site.proxy()
    proxy.answer(proxy.ask("ping"))
    assert proxy.end() == 0
    assert [is_gone(pid) for pid in site.lives] == [True]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_server_too(tmp_path: Path, number: int) -> None:
    site = StartedSite(tmp_path)
    proxy = site.proxy()
    proxy.answer(proxy.ask("ping"))
    proxy.process.send_signal(number)
    assert proxy.wait() == 0
    assert [is_gone(pid) for pid in site.lives] == [True]


STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
print(os.getpid(), file=sys.stderr, flush=True)
print(sys.stdin.readline(), end="", flush=True)
while True:
    time.sleep(1)
"""


def test_a_server_that_does_not_obey_is_killed(tmp_path: Path) -> None:
    proxy = StartedSite(tmp_path).proxy(server=(sys.executable, "-c", STUBBORN))
    proxy.write(b'{"jsonrpc":"2.0","method":"up"}\n')
    proxy.next()
    proxy.process.send_signal(signal.SIGTERM)
    assert proxy.wait() == 0
    assert is_gone(int(proxy.errors))


def test_a_client_that_reads_no_more_ends_the_proxy(tmp_path: Path) -> None:
    site = StartedSite(tmp_path)
    read, write = os.pipe()
    command = (*COMMAND, "--ledger", site.ledger, "--", *site.server)
    blind = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    os.close(read)
    _, errors = blind.communicate(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n', timeout=LONG)
    assert blind.returncode == 0
    assert b"Traceback" not in errors
    assert [is_gone(pid) for pid in site.lives] == [True]


def test_files_do_for_standard_input_and_output(tmp_path: Path) -> None:
    site = StartedSite(tmp_path)
    asked, answered = tmp_path / "in", tmp_path / "out"
    asked.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
    command = (*COMMAND, "--ledger", site.ledger, "--", *site.server)
    with asked.open("rb") as source, answered.open("wb") as sink:
        done = subprocess.run(
            command, stdin=source, stdout=sink, stderr=subprocess.PIPE, timeout=LONG, check=False
        )
    assert done.returncode == 0
    assert json.loads(answered.read_text()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_the_server_is_started_before_anything_slow_is_imported() -> None:
    code = "import sys, retry_guard_mcp_proxy; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LONG
    )
    slow = {"asyncio", "pydantic", "yaml", "retry_guard", "retry_guard_ledgers", "sqlite3"}
    assert slow & set(done.stdout.split()) == set()


WRONG = [
    ((), "say how to start the server"),
    (("--",), "say how to start the server"),
    (("--", "/no/such/server"), "/no/such/server: cannot be started"),
    (("--contracts", "/no/such/file", "--", "cat"), "/no/such/file: cannot be read"),
    (("--ledger", "nonsense", "--", "cat"), "ledger"),
    (("--scope", " ", "--", "cat"), "--scope is empty"),
    (("--unknown", "--", "cat"), "--unknown"),
]


@pytest.mark.parametrize(("options", "said"), WRONG)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(
        [*COMMAND, *options],
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
        env={**os.environ, "RETRY_GUARD_LEDGER": f"sqlite:///{tmp_path / 'guard.db'}"},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_contract_whose_key_is_a_header_is_refused_for_a_process(tmp_path: Path) -> None:
    site = StartedSite(
        tmp_path, "contracts: [{tool: post, key: {param: 'header:Key', retention: 60}}]"
    )
    with site.proxy() as proxy:
        assert proxy.wait() == 2
    assert "gets no headers" in proxy.errors.splitlines()[-1]


def test_initialize_and_its_answer_pass(pipe: Proxy) -> None:
    opened = pipe.result(pipe.ask("initialize", {**INITIALIZE, "protocolVersion": "2025-06-18"}))
    assert opened["protocolVersion"] == "2025-06-18"
    pipe.initialize()


# What cannot be held as it is

BEYOND = [
    b"NaN",
    b"-Infinity",
    b"9" * 5000,
    b"[-%s]" % (b"9" * 5000),
    b"[" * 5000 + b"]" * 5000,
    b'[{"a":[NaN,"]"]}]',
]


@pytest.mark.parametrize("odd", BEYOND)
def test_what_cannot_be_held_passes_as_it_was_said(
    pipe: Proxy, site: StartedSite, odd: bytes
) -> None:
    line = b'{"jsonrpc":"2.0","id":"odd","method":"nobody/knows","params":{"x":%s}}\n' % odd
    pipe.write(line)
    assert "error" in pipe.take(lambda m: m.get("id") in ("odd", None))
    assert site.heard[-1] == line.decode()


@pytest.mark.parametrize("odd", BEYOND)
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":"odd","method":"tools/call","params":{"name":"post","x":%s}}\n',
        b'{"params":{"x":%s,"na\\u006de":"post"},"method":"tools/call","id":"odd"}\n',
    ],
)
def test_a_guarded_call_that_cannot_be_held_is_refused_by_its_id(
    pipe: Proxy, site: StartedSite, odd: bytes, line: bytes
) -> None:
    before = len(site.heard)
    pipe.write(line % odd)
    assert pipe.answer("odd")["error"]["code"] == -32602
    assert pipe.silent()
    assert len(site.heard) == before + 1


DEEP = b"[" * 5000 + b"]" * 5000


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":"odd","method":"ping","params":{"x":%s},"method":"tools/call"}\n',
        b'{"id":"odd","method":"tools/call","params":{"name":"a","x":%s,"name":"post"}}\n',
        b'{"id":"odd","method":"ping","params":{"x":%s}} {"method":"tools/call"}\n',
        b'{"id":"odd","method":"ping","params":{"x":%s}} {}\n',
        b'{"id":"odd","method":"ping","params":{"x":%s}\n',
        b'{"id":"odd","method":"ping","params":{"x":%s]}}\n',
        b'{"id":"odd","method":"ping","params":{"x":%s"}}\n',
        b'[{"id":"odd","method":"ping","params":{"x":%s}}]\n',
    ],
)
def test_what_cannot_be_held_and_says_two_things_is_refused(
    pipe: Proxy, site: StartedSite, line: bytes
) -> None:
    before = len(site.heard)
    pipe.write(line % DEEP)
    assert pipe.answer(None)["error"]["code"] == -32700
    assert pipe.silent()
    assert len(site.heard) == before + 1


@pytest.mark.parametrize("odd", [b"NaN", b'[1,{"a":-Infinity}]'])
def test_an_answer_with_what_is_no_number_of_json_passes_as_it_was_said(
    pipe: Proxy, odd: bytes
) -> None:
    given = str(pipe.ask("silence")).encode()
    line = b'{"jsonrpc":"2.0","id":%s,"result":{"x":%s}}\n' % (given, odd)
    raw(pipe, line)
    pipe.answer(int(given))
    assert pipe.raw[-1] == line


@pytest.mark.parametrize(
    "number", ["0.1000000000000000055", "12345678901234567890.5", "1e-400", "1e999", "4.9E-324"]
)
def test_a_guarded_call_with_a_number_that_would_be_another_one_is_refused(
    pipe: Proxy, site: StartedSite, number: str
) -> None:
    before = len(site.heard)
    line = (
        '{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"%s","arguments":%s}}\n'
    )
    arguments = f'{{"text":[{number}]}}'
    pipe.write((line % ("post", arguments)).encode())
    refused = pipe.answer("n")["error"]
    assert (refused["code"], number in refused["message"]) == (-32602, True)
    pipe.write((line % ("echo", arguments)).encode())
    pipe.answer("n")
    assert len(site.heard) == before + 1
    assert number in site.heard[-1]


def test_numbers_that_a_float_holds_reach_the_server_as_they_are(
    pipe: Proxy, site: StartedSite
) -> None:
    text = "[0.1,1e22,5e-324,1.7976931348623157e308,123456789012345678901234567890,-0.0,1e3]"
    pipe.write(
        b'{"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"post","arguments":'
        b'{"text":%s,"e123":"0.12345678901234567890123"}}}\n' % text.encode()
    )
    pipe.result("n")
    assert json.loads(site.heard[-1])["params"]["arguments"]["text"] == json.loads(text)
