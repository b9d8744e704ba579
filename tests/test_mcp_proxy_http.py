"""A server of an SDK over streamable HTTP, in both generations, with streams and with JSON."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest
from mcp import Client, StdioServerParameters

from mcp_proxy_client import INITIALIZE, META, Given, Json, Proxy, texts, tools, turn, wait_for
from mcp_proxy_http_sites import ServedSite

POST = {"text": "hello"}
CHARGE = {"customer": "c1 é", "amount": 5}
ALONE: Json = {**META, "io.modelcontextprotocol/clientCapabilities": {}}
"""What a client says where nobody can be asked."""
ELICITS: dict[str, Any] = {**INITIALIZE, "capabilities": {"elicitation": {}}}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[dict[str, ServedSite]]:
    """Servers that run for all tests, and are started again where one was killed."""
    folders = {word: tmp_path_factory.mktemp(word) for word in ("streams", "json")}
    sites = {word: ServedSite(folder, word) for word, folder in folders.items()}
    with sites["streams"], sites["json"]:
        yield sites


@pytest.fixture
def streams(served: dict[str, ServedSite]) -> ServedSite:
    return served["streams"].clean()


class Caller:
    """A client of one of the generations."""

    def __init__(self, proxy: Proxy, *, stateless: bool) -> None:
        self.proxy, self.meta = proxy, ALONE if stateless else {}
        if stateless:
            proxy.result(proxy.ask("server/discover", {"_meta": ALONE}))
        else:
            proxy.initialize()

    def begin(self, tool: str, arguments: Json, **meta: object) -> Given:
        return self.proxy.call(tool, arguments, _meta={**self.meta, **meta})

    def called(self, tool: str, arguments: Json, **meta: object) -> Json:
        return self.proxy.result(self.begin(tool, arguments, **meta))


WAYS = {"session-streams": (False, "streams"), "stateless-json": (True, "json")}
MORE = {"session-json": (False, "json"), "stateless-streams": (True, "streams")}


class Way(NamedTuple):
    """A generation, and a server."""

    caller: Caller
    site: ServedSite


@pytest.fixture(params=[*WAYS.values()], ids=[*WAYS])
def way(request: pytest.FixtureRequest, served: dict[str, ServedSite]) -> Generator[Way]:
    stateless, word = request.param
    site = served[word].clean()
    with site.proxy() as proxy:
        yield Way(Caller(proxy, stateless=stateless), site)


@pytest.mark.parametrize("way", [*WAYS.values(), *MORE.values()], ids=[*WAYS, *MORE], indirect=True)
def test_tools_are_listed_without_keys_and_called_with_them(way: Way) -> None:
    caller, site = way
    listed = caller.proxy.result(caller.proxy.ask("tools/list", {"_meta": caller.meta}))
    schema = tools(listed)["charge"]["inputSchema"]
    assert sorted(schema["properties"]) == ["amount", "customer"]
    assert texts(caller.called("echo", {"text": "hi"})) == "hi"
    result = caller.called("charge", CHARGE)
    assert texts(result) == "done e1\nünï\u2028code"
    assert site.effects[0]["arguments"].items() > CHARGE.items()
    assert len(site.effects[0]["key"]) == 36
    again = caller.called("charge", CHARGE)
    assert texts(again) == texts(result)
    assert len(site.effects) == 1


def test_a_server_that_dies_after_a_write_is_asked_again_with_the_same_key(way: Way) -> None:
    caller, site = way
    site.fates("kill_after")
    given = caller.begin("charge", CHARGE)
    site.died()
    site.start()
    assert texts(caller.proxy.result(given)).startswith("done e1")
    assert len(site.effects) == 1


def test_without_a_key_what_a_dead_server_did_is_never_sent_again(way: Way) -> None:
    caller, site = way
    site.fates("kill_after")
    given = caller.begin("post", POST)
    site.died()
    site.start()
    assert "not known whether `post` took effect" in texts(caller.proxy.result(given))
    assert caller.called("post", POST, **turn("later"))["isError"]
    assert len(site.effects) == 1
    assert not caller.called("post", {"text": "other"})["isError"]


def test_what_a_dead_server_did_is_found_by_reading_back_over_a_new_connection(way: Way) -> None:
    caller, site = way
    site.fates("kill_after")
    given = caller.begin("typed", POST)
    site.died()
    site.start()
    assert "e1" in texts(caller.proxy.result(given))
    assert len(site.effects) == 1


def test_a_call_goes_on_when_the_client_cancels_it_and_the_next_equal_one_gets_its_result(
    way: Way,
) -> None:
    caller, site = way
    site.fates("held")
    given = caller.begin("post", POST)
    wait_for(lambda: len(site.effects) == 1)
    caller.proxy.cancel(given)
    later = caller.begin("post", POST, **turn("later"))
    caller.called("echo", {"text": "so both have been heard"})
    site.go()
    assert texts(caller.proxy.result(later)).startswith("done e1")
    assert len(site.effects) == 1
    assert not [line for line in caller.proxy.raw if f'"id":{given},'.encode() in line]


def test_sixty_four_calls_at_once_each_get_their_own_answer(way: Way) -> None:
    caller = way.caller
    asked = {caller.begin("echo", {"text": f"say {n}"}): n for n in range(32)}
    asked |= {caller.begin("charge", {"customer": "c", "amount": n}): -n for n in range(32)}
    answers = {given: texts(caller.proxy.result(given)) for given in asked}
    assert all(answers[given] == f"say {n}" for given, n in list(asked.items())[:32])
    charged = [answers[given].split()[1] for given in list(asked)[32:]]
    assert len(set(charged)) == 32


def test_each_message_has_the_headers_of_its_generation(way: Way) -> None:
    caller, site = way
    caller.called("charge", CHARGE)
    head = [one for one in site.heads if one["http"] == "POST"][-1]
    if not caller.meta:
        assert head["mcp-protocol-version"] == "2025-11-25"
        assert len(head["mcp-session-id"]) == 32
        return
    assert "mcp-session-id" not in head
    assert head["mcp-protocol-version"] == "2026-07-28"
    assert (head["mcp-method"], head["mcp-name"]) == ("tools/call", "charge")
    assert head["mcp-param-customer"] == "=?base64?YzEgw6k=?="


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_client_of_the_sdk_speaks_its_generation_through_the_proxy(
    streams: ServedSite, mode: Literal["auto", "legacy"]
) -> None:
    command, *arguments = streams.command()
    beats: list[float] = []

    async def beat(progress: float, total: float | None, message: str | None) -> None:
        assert (total, message) == (2, "begun")
        beats.append(progress)

    server = StdioServerParameters(command=command, args=arguments)
    async with Client(server, mode=mode) as client:
        listed = await client.list_tools()
        assert "key" not in {tool.name: tool for tool in listed.tools}["charge"].input_schema
        for _ in range(2):
            result = await client.call_tool("charge", CHARGE, progress_callback=beat)
            assert not result.is_error
    assert (len(streams.effects), beats) == (1, [1])
    assert (streams.heads[-1]["http"] == "DELETE") == (mode == "legacy")


def test_progress_comes_with_the_token_of_the_client(streams: ServedSite) -> None:
    for stateless in (False, True):
        with streams.proxy() as proxy:
            caller = Caller(proxy, stateless=stateless)
            caller.called("post", {"text": str(stateless)}, progressToken="mine")
            beat = proxy.take(lambda m: m.get("method") == "notifications/progress")
            assert beat["params"]["progressToken"] == "mine"
            assert beat["params"]["message"] == "begun"


def test_a_session_that_the_server_lost_is_opened_again_as_the_client_had_opened_it(
    streams: ServedSite,
) -> None:
    site = streams
    with site.proxy() as proxy:
        caller = Caller(proxy, stateless=False)
        caller.called("echo", {"text": "before"})
        for text in ("guarded", "free"):
            site.kill()
            site.start()
            tool = "post" if text == "guarded" else "echo"
            assert not caller.called(tool, {"text": text}).get("isError")
        assert len([line for line in proxy.raw if b"serverInfo" in line]) == 1
    sessions = {head.get("mcp-session-id") for head in site.heads} - {None}
    assert len(sessions) == 3
    assert (len(site.effects), len(site.lives)) == (1, 3)


def test_a_session_is_ended_at_the_end(streams: ServedSite) -> None:
    site = streams
    with site.proxy() as proxy:
        proxy.initialize()
        assert proxy.end() == 0
    assert site.heads[-1]["http"] == "DELETE"
    assert proxy.errors == ""


def test_the_server_asks_and_announces_in_a_session(streams: ServedSite) -> None:
    with streams.proxy() as proxy:
        proxy.result(proxy.ask("initialize", ELICITS))
        proxy.tell("notifications/initialized")
        given = proxy.call("ask", {})
        question = proxy.take(lambda m: m.get("method") == "elicitation/create")
        content = {"action": "accept", "content": {"name": "Ada"}}
        proxy.send({"jsonrpc": "2.0", "id": question["id"], "result": content})
        assert "Ada" in texts(proxy.result(given))
        wait_for(lambda: any(head["http"] == "GET" for head in streams.heads))

        def is_told() -> bool:
            """Once the stream that is asked for is there, the server can use it."""
            proxy.called("announce", {})
            return any(b"notifications/tools/list_changed" in line for line in proxy.raw)

        wait_for(is_told)


def test_without_sessions_the_server_asks_by_its_result(streams: ServedSite) -> None:
    with streams.proxy() as proxy:
        asked = proxy.called("ask", {}, _meta=META)
        assert asked["resultType"] == "input_required"
        responses = {"name": {"action": "accept", "content": {"name": "Ada"}}}
        given = proxy.call("ask", {}, _meta=META, inputResponses=responses)
        assert "Ada" in texts(proxy.result(given))


def test_without_sessions_changes_are_told_to_who_listens(streams: ServedSite) -> None:
    with streams.proxy() as proxy:
        caller = Caller(proxy, stateless=True)
        params = {"_meta": META, "notifications": {"toolsListChanged": True}}
        proxy.ask("subscriptions/listen", params)
        for _ in range(2):
            proxy.take(lambda m: "acknowledged" in m.get("method", ""))
            caller.called("announce", {})
            streams.kill()
            streams.start()
        assert not [line for line in proxy.raw if b'"error"' in line]


def test_the_rest_of_an_answer_that_was_cut_off_is_asked_for(tmp_path: Path) -> None:
    with ServedSite(tmp_path, "kept") as site, site.proxy() as proxy:
        caller = Caller(proxy, stateless=False)
        site.fates("cut", "cut")
        assert texts(caller.called("post", POST)).startswith("done e1")
        assert texts(caller.called("charge", CHARGE)).startswith("done e2")
        assert len(site.effects) == 2
        assert [one for one in site.heads if one["http"] == "GET" and "last-event-id" in one]


def test_a_server_that_is_not_there_yet_costs_a_request_and_nothing_else(
    streams: ServedSite,
) -> None:
    streams.kill()
    with streams.proxy() as proxy:
        error = proxy.answer(proxy.ask("initialize", INITIALIZE))["error"]
        assert (error["code"], error["message"][:18]) == (-32000, "Connection closed:")
        refused = texts(proxy.called("post", POST))
        assert refused.startswith("nothing was executed")
        streams.start()
        caller = Caller(proxy, stateless=False)
        assert not caller.called("post", POST)["isError"]
        assert len(streams.effects) == 1


def test_what_is_no_single_message_is_refused(streams: ServedSite) -> None:
    with streams.proxy() as proxy:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for line, given in ((json.dumps([ping]), 1), ("7", None), ("[]", None)):
            proxy.write(line.encode() + b"\n")
            answer = proxy.answer(given)
            assert answer["error"]["code"] == -32600
        proxy.write(b"  \n")
        assert proxy.initialize()["serverInfo"]["name"] == "over-http"
