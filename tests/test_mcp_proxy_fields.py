"""What a contract says of keys, proofs, names and repeats, on the wire of the proxy."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_proxy_client import Json, texts, tools, turn, wait_for
from mcp_proxy_works_sites import URLS, WAYS, Way, Works, works

TEXT = {"text": "hello"}
MARK = "retry-guard/outcome"
ENDS: tuple[Way, ...] = ("process", "stateless")


@pytest.fixture(params=ENDS)
def way(request: pytest.FixtureRequest) -> Way:
    way: Way = request.param
    return way


@contextmanager
def stated(folder: Path, way: Way, *contracts: str) -> Generator[Works]:
    """The works, with such contracts."""
    reads = "{tool: effects, effect: read}"
    with works(folder, f"contracts: [{', '.join((*contracts, reads))}]", way) as site:
        yield site


def unknown(result: Json, tool: str = "plain") -> bool:
    return texts(result).startswith(f"It is not known whether `{tool}` took effect")


# The key

ARGUMENT, INSIDE = "key", "options.key"
META, HEADER = "'meta:key'", "'header:Idempotency-Key'"
PLACES: list[tuple[Way, str, str]] = [
    *((way, "write", ARGUMENT) for way in WAYS),
    ("process", "nested", INSIDE),
    *((way, "plain", META) for way in WAYS),
    ("session", "plain", HEADER),
    ("stateless", "plain", HEADER),
]


def key_in(call: Json, place: str) -> object:
    match place:
        case "key":
            return call["arguments"]["key"]
        case "options.key":
            return call["arguments"]["options"]["key"]
        case "'meta:key'":
            return call["_meta"]["key"]
        case _:
            return call["headers"]["idempotency-key"]


@pytest.mark.parametrize(("way", "tool", "place"), PLACES)
@pytest.mark.parametrize("fates", [("commit_die", "commit_die"), ("die", "commit_error")])
def test_wherever_a_key_travels_each_send_bears_the_same_and_one_has_effect(
    tmp_path: Path, way: Way, tool: str, place: str, fates: tuple[str, ...]
) -> None:
    contract = f"{{tool: {tool}, key: {{param: {place}, retention: 60}}}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        assert '"key"' not in json.dumps(tools({"tools": caller.listed()})[tool])
        site.fates(*fates)
        assert caller.made(tool, TEXT)["id"] == "e1"
        keys = [key_in(call, place) for call in site.calls]
        assert (len(keys), len(set(keys)), len(str(keys[0]))) == (3, 1, 36)
        assert len(site.effects) == 1
        own: dict[str, Json] = {ARGUMENT: {"key": keys[0]}, INSIDE: {"options": {"key": keys[0]}}}
        for call in site.calls:
            assert call["arguments"] == {**TEXT, **own.get(place, {})}
            assert (call.get("_meta", {}).keys() == {"key"}) is (
                place == META and not caller.stateless
            )


@pytest.mark.parametrize(("limit", "count"), [("", 32), (", max_length: 40", 20)])
def test_a_key_has_the_form_that_the_server_takes(
    tmp_path: Path, way: Way, limit: str, count: int
) -> None:
    contract = f"{{tool: write, key: {{param: key, retention: 60, format: hex{limit}}}}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        caller.made("write", TEXT)
        (sent,) = site.sent("write")
        assert len(bytes.fromhex(sent["key"])) == count


@pytest.mark.parametrize(("mismatch", "kept"), [("refused", True), ("ignored", False)])
def test_a_key_of_the_callers_own_goes_out_only_where_the_server_compares(
    tmp_path: Path, way: Way, mismatch: str, kept: bool
) -> None:
    contract = f"{{tool: write, key: {{param: key, retention: 60, mismatch: {mismatch}}}}}"
    with stated(tmp_path, way, contract) as site, site.client("--show-key") as caller:
        assert caller.made("write", {**TEXT, "key": "of-the-model"})["id"] == "e1"
        assert (site.sent("write")[0]["key"] == "of-the-model") is kept


def test_after_half_of_an_unbounded_retention_no_key_is_relied_on(tmp_path: Path, way: Way) -> None:
    contract = "{tool: write, key: {param: key, retention: 0.2}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        site.fates("commit_error")
        assert unknown(caller.called("write", TEXT), "write")
        assert (len(site.effects), len(site.calls)) == (1, 1)


@pytest.mark.parametrize(("errors", "effects"), [("stored", 0), ("not_stored", 1)])
@pytest.mark.parametrize("way", URLS)
def test_a_refusal_of_a_known_key_speaks_of_the_first_send_where_errors_are_stored(
    tmp_path: Path, way: Way, errors: str, effects: int
) -> None:
    contract = f"{{tool: write, key: {{param: key, retention: 60, errors: {errors}}}}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        site.fates("drop", "invalid")
        result = caller.called("write", TEXT)
        assert texts(result).startswith("nothing was executed: ") is (effects == 0)
        assert len({one["key"] for one in site.sent("write")}) == 1
        assert (len(site.calls), len(site.effects)) == (2 + effects, effects)


@pytest.mark.parametrize("forgetful", [True, False])
def test_a_server_that_says_it_ignored_the_key_is_not_believed_to_have_done_it_once(
    tmp_path: Path, way: Way, forgetful: bool
) -> None:
    contract = "{tool: write, key: {param: key, retention: 60, ack: honoured}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        if forgetful:
            site.switch("forgetful")
        site.fates("commit_die")
        result = caller.called("write", TEXT)
        assert result["isError"] is forgetful
        assert len(site.effects) == (2 if forgetful else 1)
        assert not forgetful or result["_meta"][MARK]["reason"] == "unclear"
        again = caller.called("write", TEXT)
        assert again["isError"] is forgetful
        assert len(site.calls) == 2


def test_a_sign_in_a_header_is_refused_since_none_is_read(tmp_path: Path, way: Way) -> None:
    contract = "{tool: write, key: {param: key, ack: 'header:Honoured'}}"
    with stated(tmp_path, way, contract) as site, site.proxy() as proxy:
        assert proxy.wait() == 2
        assert "name a path in the result for key.ack" in proxy.errors.splitlines()[-1]


# What proves that nothing ran

PROOFS: list[tuple[Way, str, str]] = [
    *((way, "full", "message: no room left") for way in ENDS),
    *((way, "code", "code: -32050") for way in ENDS),
    ("session", "busy", "status: 503"),
    ("stateless", "busy", "status: 503"),
]


@pytest.mark.parametrize(("way", "fate", "proof"), PROOFS)
@pytest.mark.parametrize("is_stated", [True, False])
def test_an_error_proves_that_nothing_ran_where_the_contract_says_so(
    tmp_path: Path, way: Way, fate: str, proof: str, is_stated: bool
) -> None:
    rule = f", not_executed: [{{{proof}}}]" if is_stated else ""
    with stated(tmp_path, way, f"{{tool: plain{rule}}}") as site, site.client() as caller:
        site.fates(fate)
        answer = caller.proxy.answer(caller.begin("plain", TEXT))
        again = caller.called("plain", TEXT)
        if is_stated:
            assert "It is not known" not in str(answer)
            assert again["structuredContent"]["id"] == "e1"
        else:
            assert unknown(answer["result"])
            assert unknown(again)
        assert len(site.effects) == is_stated
        assert len(site.calls) == 1 + is_stated


# What names an action


def test_what_is_spelled_otherwise_is_one_action_and_other_content_is_refused(
    tmp_path: Path, way: Way
) -> None:
    contract = "{tool: plain, identity: {text: fold}, defaults: {note: none}, volatile: [pin]}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        caller.made("plain", {"text": "Straße ", "pin": "1"})
        for again in ({"text": "STRASSE", "pin": "2"}, {"text": "straße", "note": "none"}):
            assert caller.called("plain", again)["_meta"][MARK]["replayed"]
        other = caller.called("plain", {"text": "Straße", "note": "another"})
        assert other["isError"]
        assert "note" in texts(other)
        assert len(site.effects) == len(site.calls) == 1
        assert not caller.called("plain", {"text": "Gasse"})["isError"]
        assert len(site.effects) == 2


def test_of_an_open_action_the_recorded_spelling_goes_out_again(tmp_path: Path, way: Way) -> None:
    """The proxy ends in the middle; the model asks again in other words."""
    terms = "identity: {text: fold}, volatile: [note], key: {param: key, retention: 600}"
    with stated(tmp_path, way, f"{{tool: write, {terms}}}") as site:
        site.fates("commit_gate")
        with site.client() as caller:
            caller.begin("write", {"text": "Hello", "note": "first"})
            wait_for(lambda: len(site.effects) == 1)
            caller.proxy.process.terminate()
            caller.proxy.wait()
        with site.client() as other:
            assert other.made("write", {"text": "HELLO ", "note": "second"})["id"] == "e1"
        first, second = site.sent("write")
        assert first == second
        assert len(site.effects) == 1


@pytest.mark.parametrize(("pin", "sends"), [("s3cret-pin", 2), ("an0ther-pin", 1)])
def test_a_secret_stands_in_no_file_and_no_line_and_is_compared_all_the_same(
    tmp_path: Path, way: Way, pin: str, sends: int
) -> None:
    """A re-issue by another process takes it from its caller, once it is known to be equal."""
    terms = "identity: [text], secret: [pin], key: {param: key, retention: 600}"
    with stated(tmp_path, way, f"{{tool: write, {terms}}}") as site:
        site.fates("commit_die", "commit_gate")
        with site.client() as caller:
            caller.begin("write", {**TEXT, "pin": "s3cret-pin"})
            wait_for(lambda: len(site.calls) == 2)
            assert {one["pin"] for one in site.sent("write")} == {"s3cret-pin"}
            caller.proxy.process.terminate()
            caller.proxy.wait()
        (site.folder / "calls.jsonl").unlink()
        with site.client() as other:
            result = other.called("write", {**TEXT, "pin": pin})
            assert result["isError"] is (sends == 1)
        kept = [path for path in site.folder.rglob("guard.db*") if path.is_file()]
        assert kept
        secrets = (b"s3cret-pin", b"an0ther-pin")
        assert not any(each in path.read_bytes() for path in kept for each in secrets)
        assert "-pin" not in caller.proxy.errors + other.proxy.errors + texts(result)
        assert (len(site.effects), len(site.sent("write"))) == (1, sends - 1)


@pytest.mark.parametrize("mode", ["guard", "observe"])
def test_what_is_noted_of_a_call_holds_no_secret(tmp_path: Path, way: Way, mode: str) -> None:
    contract = "{tool: plain, secret: [pin]}"
    with stated(tmp_path, way, contract) as site:
        site.fates("ok", "commit_die", "full")
        with site.client("--mode", mode) as caller:
            caller.listed()
            for text in ("a", "b", "c"):
                caller.proxy.answer(caller.begin("plain", {"text": text, "pin": "s3cret-pin"}))
        own = {site.folder / name for name in ("calls.jsonl", "effects.jsonl", "heard.jsonl")}
        kept = [path for path in site.folder.rglob("*") if path.is_file() and path not in own]
        assert len(kept) > 3
        assert not [path for path in kept if b"s3cret-pin" in path.read_bytes()]
        assert "s3cret-pin" not in caller.proxy.errors


def test_two_tools_that_write_the_same_are_one_action_while_it_is_open(
    tmp_path: Path, way: Way
) -> None:
    contracts = [f"{{tool: {tool}, resource: letters}}" for tool in ("plain", "other")]
    with stated(tmp_path, way, *contracts) as site, site.client() as caller:
        site.fates("commit_die")
        assert unknown(caller.called("plain", TEXT))
        assert caller.called("other", TEXT)["isError"]
        assert [one["name"] for one in site.calls] == ["plain"]
        assert len(site.effects) == 1


# Repeats


@pytest.mark.parametrize(
    ("repeat", "effects", "warned"), [("allow", 2, False), ("warn", 2, True), ("escalate", 1, True)]
)
def test_an_equal_call_in_a_later_turn_gets_what_the_contract_says(
    tmp_path: Path, way: Way, repeat: str, effects: int, warned: bool
) -> None:
    contract = f"{{tool: plain, repeat: {repeat}}}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        caller.made("plain", TEXT, turn("t1"))
        wait_for(lambda: site.records()[0].delivered)
        later = caller.called("plain", TEXT, turn("t2"))
        assert (MARK in later.get("_meta", {})) is warned
        assert later["isError"] is (effects == 1)
        assert len(site.effects) == len(site.calls) == effects


def test_a_repeat_that_comes_late_enough_is_no_repeat(tmp_path: Path, way: Way) -> None:
    contract = "{tool: plain, repeat: escalate, repeat_window: 0}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        caller.made("plain", TEXT, turn("t1"))
        wait_for(lambda: site.records()[0].delivered)
        assert caller.made("plain", TEXT, turn("t2"))["id"] == "e2"
        assert len(site.effects) == 2


def test_equal_calls_in_one_turn_are_one_action_whatever_twins_says(
    tmp_path: Path, way: Way
) -> None:
    contract = "{tool: plain, twins: count}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        given = [caller.begin("plain", TEXT, turn("t1")) for _ in range(2)]
        ids = {caller.proxy.result(one)["structuredContent"]["id"] for one in given}
        assert (ids, len(site.effects)) == ({"e1"}, 1)


@pytest.mark.parametrize("fate", ["die", "commit_die"])
def test_what_is_harmless_to_repeat_is_sent_again_and_never_answered_from_the_ledger(
    tmp_path: Path, way: Way, fate: str
) -> None:
    contract = "{tool: plain, effect: idempotent}"
    with stated(tmp_path, way, contract) as site, site.client() as caller:
        site.fates(fate)
        assert caller.made("plain", TEXT, turn("t1"))
        assert len(site.calls) == 2
        again = caller.called("plain", TEXT, turn("t1"))
        assert "_meta" not in again
        assert len(site.calls) == 3
        assert not any("key" in str(call["arguments"]) for call in site.calls)
