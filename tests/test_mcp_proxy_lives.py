"""A server that dies is started again; what was under way ends as the guard decides."""

import asyncio
import base64
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import INITIALIZE, LONG, META, Proxy, Site, texts, turn, wait_for
from retry_guard_mcp_proxy._child import Patience, start
from retry_guard_mcp_proxy._errors import DownError
from retry_guard_mcp_proxy._life import Life
from retry_guard_mcp_proxy._lives import Hooks, Lives
from retry_guard_mcp_proxy._restarts import LIMIT, WINDOW, Restarts

POST = {"text": "hello"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


@pytest.fixture
def proxy(site: Site) -> Generator[Proxy]:
    with site.proxy() as proxy:
        yield proxy


def methods(site: Site) -> list[Any]:
    return [json.loads(one).get("method") for one in site.heard]


def die(proxy: Proxy) -> None:
    """Let the server die, and wait until the proxy knows it."""
    given = proxy.ask("silence")
    proxy.tell("die")
    proxy.answer(given)


def test_a_request_without_a_guard_ends_in_an_error_and_the_next_one_is_served(
    proxy: Proxy, site: Site
) -> None:
    given = proxy.ask("silence")
    proxy.tell("die")
    lost = proxy.answer(given)["error"]
    assert lost["code"] == -32000
    assert lost["message"].startswith("Connection closed: the server ended (signal 9)")
    assert proxy.result(proxy.ask("ping")) == {}
    assert len(site.lives) == 2


def test_the_session_is_opened_again_as_the_client_had_opened_it(proxy: Proxy, site: Site) -> None:
    proxy.initialize()
    die(proxy)
    proxy.forget()
    again = methods(site)[4:]
    assert again == ["initialize", "notifications/initialized", "ping"]
    first, second = (one for one in site.heard if '"initialize"' in one)
    assert INITIALIZE == params(first) == params(second)
    assert len([line for line in proxy.raw if b"serverInfo" in line]) == 1


def params(line: str) -> object:
    message: dict[str, object] = json.loads(line)
    return message["params"]


def test_without_a_session_nothing_is_opened_again_but_what_listens(
    proxy: Proxy, site: Site
) -> None:
    listening = proxy.ask("subscriptions/listen", {"_meta": META})
    die(proxy)
    proxy.forget()
    assert methods(site)[3:] == ["subscriptions/listen", "ping"]
    assert proxy.silent()
    assert listening not in [json.loads(line).get("id") for line in proxy.raw]


SUBSCRIBE, UNSUBSCRIBE = "resources/subscribe", "resources/unsubscribe"
LEVEL = "logging/setLevel"


def wish(proxy: Proxy) -> None:
    """Ask for what lasts: two things are granted in the end, and what is refused is not."""
    for method, params in (
        (SUBSCRIBE, {"uri": "a:kept", "_meta": {"progressToken": 1}}),
        (SUBSCRIBE, {"uri": "a:left"}),
        (SUBSCRIBE, {"uri": "a:refused"}),
        (LEVEL, {"level": "info"}),
        (LEVEL, {"level": "debug"}),
        (UNSUBSCRIBE, {"uri": "a:left"}),
    ):
        proxy.answer(proxy.ask(method, params))


def test_what_a_client_was_granted_is_asked_for_again_before_anything_else(
    proxy: Proxy, site: Site
) -> None:
    proxy.initialize()
    wish(proxy)
    before = len(site.heard)
    die(proxy)
    given = proxy.ask("ping")
    assert proxy.answer(given)["result"] == {}
    assert proxy.silent()
    again = [json.loads(one) for one in site.heard[before + 2 : -2]]
    assert [one["method"] for one in again] == [
        "initialize",
        "notifications/initialized",
        SUBSCRIBE,
        LEVEL,
    ]
    assert [one["params"] for one in again[2:]] == [{"uri": "a:kept"}, {"level": "debug"}]
    proxy.initialize()
    die(proxy)
    before = len(site.heard)
    proxy.forget()
    assert methods(site)[before:] == ["initialize", "notifications/initialized", "ping"]


def test_what_is_not_granted_again_is_the_operators_to_know_and_costs_nothing(
    proxy: Proxy, site: Site
) -> None:
    proxy.initialize()
    wish(proxy)
    die(proxy)
    (site.folder / "refuses.txt").touch()
    assert not proxy.called("post", POST)["isError"]
    for method in (SUBSCRIBE, LEVEL):
        assert proxy.said(f"does not grant {method} again: 'not granted'")
    assert proxy.silent()


def test_a_server_that_ends_while_it_is_asked_again_is_started_once_more(tmp_path: Path) -> None:
    server = (sys.executable, "-c", GRANTS, str(tmp_path / "was"))
    with Site(tmp_path).proxy(server=server) as proxy:
        proxy.initialize()
        proxy.answer(proxy.ask(LEVEL, {"level": "info"}))
        proxy.answer(proxy.ask("die"))
        assert proxy.result(proxy.ask("ping")) == {}
    lines = (tmp_path / "was").read_text().split()
    assert lines.count(LEVEL) == 3


GRANTS = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    with open(sys.argv[1], "a") as file:
        print(asked["method"], file=file)
    was = open(sys.argv[1]).read().split()
    second = was.count("logging/setLevel") == 2 and was[-1] == "logging/setLevel"
    if was[-1] == "die" or second:
        sys.exit(3)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
"""
"""Ends when it is told to, and at the second wish."""


def test_a_server_that_asks_the_client_while_it_is_asked_again_hears_the_answer(
    tmp_path: Path,
) -> None:
    server = (sys.executable, "-c", ASKS, str(tmp_path / "was"))
    with Site(tmp_path).proxy(server=server) as proxy:
        proxy.initialize()
        proxy.write(answering(proxy.asked("roots/list")))
        proxy.answer(proxy.ask(LEVEL, {"level": "info"}))
        proxy.answer(proxy.ask("die"))
        given = proxy.ask("ping")
        proxy.write(answering(proxy.asked("roots/list")))
        assert proxy.answer(given)["result"] == {}
    assert (tmp_path / "was").read_text().split()[-3:] == [LEVEL, "None", "ping"]


def test_a_server_that_reads_no_more_and_lives_on_is_started_again(tmp_path: Path) -> None:
    with Site(tmp_path).proxy(server=(sys.executable, "-c", DEAF, str(tmp_path / "deaf"))) as proxy:
        assert proxy.result(proxy.ask("ping")) == {}
        given = proxy.ask("ping", {"text": "x" * (1 << 20)})
        assert "error" in proxy.answer(given)
        assert proxy.result(proxy.ask("ping")) == {}


DEAF = """
import json, os, select, sys, time
def answer():
    asked = json.loads(sys.stdin.readline())
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {}}), flush=True)
answer()
if os.path.exists(sys.argv[1]):
    while True:
        answer()
open(sys.argv[1], "w").close()
select.select([0], [], [])
os.close(0)
time.sleep(600)
"""
"""Answers once, and closes its input when more is said; the next one answers always."""


def answering(asked: Any) -> bytes:  # noqa: ANN401 - of JSON
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}}
    return json.dumps(answer).encode() + b"\n"


ASKS = """
import json, sys
def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
waits, held = False, []
for line in sys.stdin:
    said = json.loads(line)
    method = said.get("method")
    with open(sys.argv[1], "a") as file:
        print(method, file=file)
    if method == "die":
        sys.exit(3)
    if method == "notifications/initialized":
        waits = True
        say(id=1, method="roots/list")
    elif method is None:
        waits = False
    elif "id" in said:
        held.append(said["id"])
    while held and not waits:
        say(id=held.pop(0), result={})
"""
"""Answers nothing from `initialized` on until its client has answered what it asks."""


def test_a_client_that_opens_a_new_session_itself_gets_one(proxy: Proxy, site: Site) -> None:
    proxy.initialize()
    die(proxy)
    proxy.initialize()
    proxy.answer(proxy.ask("ping"))
    assert methods(site)[4:] == ["initialize", "notifications/initialized", "ping"]


def test_a_guarded_call_waits_for_the_next_life_of_a_server_that_was_dead(
    proxy: Proxy, site: Site
) -> None:
    die(proxy)
    assert not proxy.called("post", POST)["isError"]
    assert (len(site.calls), len(site.effects), len(site.lives)) == (1, 1, 2)


def test_a_call_that_died_with_the_server_is_never_sent_again_by_itself(
    proxy: Proxy, site: Site
) -> None:
    site.fates("hang_after")
    given = proxy.call("post", POST)
    wait_for(lambda: len(site.effects) == 1)
    proxy.cancel(given)
    proxy.tell("die")
    unknown = proxy.called("post", POST, _meta=turn("later"))
    assert unknown["isError"]
    assert (len(site.calls), len(site.effects)) == (1, 1)
    assert not proxy.called("post", {"text": "other"})["isError"]
    assert len(site.lives) == 2


def test_parallel_calls_of_a_server_that_dies_each_end_for_themselves(
    proxy: Proxy, site: Site
) -> None:
    site.fates("hang_after", "hang_after", "hang_after")
    asked = [proxy.call("charge", {"customer": "c", "amount": n}) for n in range(3)]
    wait_for(lambda: len(site.effects) == 3)
    proxy.tell("die")
    answers = {texts(proxy.result(given)).split()[1] for given in asked}
    assert answers == {"e1", "e2", "e3"}
    assert (len(site.effects), len(site.calls), len(site.lives)) == (3, 6, 2)


def test_what_a_dead_server_asked_is_not_answered_to_its_next_life(
    proxy: Proxy, site: Site
) -> None:
    lost = proxy.ask("ask", {"as": 0})
    first = proxy.asked("elicitation/create")
    proxy.tell("die")
    assert proxy.answer(lost)["error"]["code"] == -32000
    asked = proxy.ask("ask", {"as": 0})
    second = proxy.asked("elicitation/create")
    assert first["id"] == 0 != second["id"]
    for question, action in ((first, "accept"), (second, "decline")):
        result = {"action": action}
        proxy.send({"jsonrpc": "2.0", "id": question["id"], "result": result})
    assert proxy.result(asked) == {"answered": {"action": "decline"}}
    assert not any('"accept"' in one for one in site.heard)


def test_a_question_of_a_later_life_and_its_answer_are_spelled_as_they_were(
    proxy: Proxy, site: Site
) -> None:
    die(proxy)
    proxy.forget()
    line = b'{"jsonrpc": "2.0","id":7,"method":"roots/list","params":{"a":1e3,"b":"\\u00e9"}}\n'
    proxy.tell("raw", {"bytes": base64.b64encode(line).decode()})
    named = json.dumps(proxy.asked("roots/list")["id"])
    assert proxy.raw[-1] == line.replace(b"7", named.encode())
    said = '{"id": %s,"jsonrpc":"2.0", "result":{"a":0.10000000000000000555}}\n'
    proxy.write((said % named).encode())
    proxy.forget()
    assert site.heard[-2] == said % "7"


def test_what_a_server_asks_in_a_batch_is_told_apart_by_its_life_too(
    proxy: Proxy, site: Site
) -> None:
    asking = [{"jsonrpc": "2.0", "id": given, "method": "roots/list"} for given in (7, "x")]
    proxy.tell("raw", raw(asking))
    first = batch(proxy)
    assert first == asking
    die(proxy)
    proxy.forget()
    proxy.tell("raw", raw(asking))
    second = batch(proxy)
    assert len({one["id"] for one in (*first, *second)}) == 4
    proxy.send([answer(one["id"], at) for at, one in enumerate((*first, *second))])
    proxy.forget()
    assert json.loads(site.heard[-2]) == [answer(7, 2), answer("x", 3)]
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    proxy.tell("raw", raw([gone]))
    assert batch(proxy)[0]["params"]["requestId"] == second[0]["id"]


def batch(proxy: Proxy) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = proxy.take(lambda m: "batch" in m)["batch"]
    return found


def answer(given: object, number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": given, "result": {"number": number}}


def test_what_is_no_message_stays_in_a_batch_of_the_client(tmp_path: Path) -> None:
    with Site(tmp_path).proxy(server=("cat",)) as proxy:
        proxy.write(b'[null, {"jsonrpc":"2.0","method":"x"}, 1]\n')
        assert proxy.said("""'[null, {"jsonrpc":"2.0","method":"x"}, 1]""")


def raw(message: object) -> dict[str, str]:
    """Return parameters of `raw`: the server writes this line."""
    return {"bytes": base64.b64encode(json.dumps(message).encode() + b"\n").decode()}


def test_a_server_that_closes_its_output_is_ended_and_started_again(
    proxy: Proxy, site: Site
) -> None:
    site.fates("close")
    proxy.answer(proxy.call("union", {}))
    assert proxy.result(proxy.ask("ping")) == {}
    assert len(site.lives) == 2


SHORT = "import sys; sys.stdin.readline(); sys.exit(3)"


def test_a_server_that_ends_each_time_is_refused_after_some_starts_and_the_proxy_lives(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path)
    with site.proxy(server=(sys.executable, "-c", SHORT)) as proxy:
        errors = [proxy.answer(proxy.ask("ping"))["error"] for _ in range(LIMIT + 3)]
        assert {error["code"] for error in errors} == {-32000}
        assert "the server ended (exit code 3)" in errors[0]["message"]
        assert f"the server ended {LIMIT} times" in errors[-1]["message"]
        assert "exit code 3" in errors[-1]["message"]
        failed = proxy.called("post", POST)
        assert failed["isError"]
        assert texts(failed).startswith("nothing was executed: the server ended")
    assert [record.state for record in site.records()] == ["not_executed"]


def test_a_server_that_ends_at_once_leaves_the_client_with_an_error(tmp_path: Path) -> None:
    with Site(tmp_path).proxy(server=(sys.executable, "-c", "pass")) as proxy:
        refused = proxy.answer(proxy.ask("initialize", INITIALIZE))
        assert refused["error"]["code"] == -32000
        assert "exit code 0" in refused["error"]["message"]


ONCE = """
import json, os, sys
if os.path.exists(sys.argv[1]):
    sys.stdin.readline()
    sys.exit(4)
open(sys.argv[1], "w").close()
line = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": {}}), flush=True)
"""


def test_a_server_that_does_not_open_its_session_again_is_an_error_and_no_loop(
    tmp_path: Path,
) -> None:
    server = (sys.executable, "-c", ONCE, str(tmp_path / "was"))
    with Site(tmp_path).proxy(server=server) as proxy:
        proxy.result(proxy.ask("initialize", INITIALIZE))
        refused = proxy.answer(proxy.ask("ping"))["error"]
        assert refused["code"] == -32000
        assert "session" in refused["message"] or "exit code" in refused["message"]


HASTY = """
import json, sys
line = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": line["id"], "result": {}}), flush=True)
"""


def test_a_server_that_ends_as_soon_as_its_session_is_open_leaves_nobody_waiting(
    tmp_path: Path,
) -> None:
    with Site(tmp_path).proxy(server=(sys.executable, "-c", HASTY)) as proxy:
        proxy.result(proxy.ask("initialize", INITIALIZE))
        for _ in range(LIMIT + 2):
            refused = proxy.answer(proxy.ask("silence"))["error"]
            assert refused["code"] == -32000


async def test_nobody_is_given_a_life_that_is_over() -> None:
    """The second of three ends while it is told what the first one knew."""
    told: list[int] = []

    async def reopen(life: Life) -> None:
        told.append(life.number)
        if life.number == 1:
            await end(life)

    async def end(life: Life) -> None:
        life._process.kill()
        while not life.buried:  # noqa: ASYNC110 - it has no event of its own
            await asyncio.sleep(0.01)

    async def nothing(*_: object) -> None:
        pass

    lives = Lives(("cat",), Hooks(said=nothing, serves=nothing, lost=nothing, reopen=reopen), LONG)
    await lives.take_over(start(("cat",)))
    await end(await lives.get())
    life = await lives.get()
    assert (life.number, life.over, told) == (2, False, [1, 2])
    await lives.close(Patience())


async def test_who_waits_for_a_life_that_is_over_is_told_whoever_gives_up_meanwhile() -> None:
    told = asyncio.Event()

    async def lost(*_: object) -> None:
        told.set()

    async def nothing(*_: object) -> None:
        pass

    lives = Lives(("cat",), Hooks(said=nothing, serves=nothing, lost=lost, reopen=nothing), LONG)
    await lives.take_over(start(("cat",)))
    burying = asyncio.create_task(lives.bury(await lives.get()))
    await asyncio.sleep(0)
    burying.cancel()
    await asyncio.wait_for(told.wait(), LONG)
    assert burying.cancelled()
    await lives.close(Patience())


def test_starts_are_paused_ever_longer_and_counted_for_a_while() -> None:
    now = [0.0]
    restarts = Restarts(lambda: now[0])
    restarts.how = "exit code 1"
    assert [restarts.next() for _ in range(LIMIT)] == [0.0, 0.1, 0.2, 0.4, 0.8]
    now[0] = WINDOW
    with pytest.raises(DownError, match="exit code 1"):
        restarts.next()
    now[0] = WINDOW + 0.1
    assert restarts.next() == 0.0


def test_when_the_proxy_ends_in_the_middle_of_a_call_its_outcome_is_unknown(
    site: Site,
) -> None:
    site.fates("hang_after")
    with site.proxy() as first:
        first.call("charge", {"customer": "c", "amount": 1})
        wait_for(lambda: len(site.effects) == 1)
        first.process.terminate()
        assert first.wait() == 0
    with site.proxy() as second:
        result = second.called("charge", {"customer": "c", "amount": 1})
    assert texts(result).startswith("done e1")
    assert (len(site.effects), len(site.calls)) == (1, 2)


def test_a_client_that_closes_early_still_lets_a_call_end(site: Site) -> None:
    site.fates("slow")
    with site.proxy() as first:
        first.call("post", POST)
    assert [record.state for record in site.records()] == ["done"]
    assert b"done e1" in first.raw[-1]
