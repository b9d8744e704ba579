"""What a server states of itself: it makes the guard stricter, and loosens nothing."""

from pathlib import Path
from typing import Any

import pytest

from mcp_proxy_client import META, Site, texts, tools
from mcp_proxy_stated import KEYED, POST, READ_BACK, lists, reading, tool
from retry_guard_contracts import Contract
from retry_guard_mcp_proxy._stated import StatedError, fingerprint, stated, strict

NOTHING = "contracts: []"
KEY = {"text": "hello", "key": "model-1"}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A server whose tools have no contract of the operator's."""
    return Site(tmp_path, NOTHING)


GENEROUS = [
    KEYED,
    {**KEYED, "read_back": READ_BACK},
    {**KEYED, "effect": "idempotent"},
    {**KEYED, "in_flight_bound": 0, "not_executed": [{"message": "closed"}]},
    {**KEYED, "twins": "count", "repeat": "allow", "repeat_window": 0},
]


@pytest.mark.parametrize("contract", GENEROUS)
def test_a_stated_contract_guards_and_authorises_no_second_send(
    site: Site, contract: dict[str, Any]
) -> None:
    """B34, B35: however much it promises, a lost answer ends with a person."""
    lists(site, [tool("post", contract, annotations={"idempotentHint": True}), reading()])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        lost = proxy.called("post", KEY)
        again = proxy.called("post", {**KEY, "key": "model-2"})
        assert [one["isError"] for one in (lost, again)] == [True, True]
        assert "post" in texts(lost)
    assert len(site.effects) == 1
    assert [call["name"] for call in site.calls] == ["post"]


LONG = "(a|a)*$"
"""Takes 2**n steps to find that n letters `a`, and then another one, do not fit."""


def test_what_a_server_states_is_no_program_that_runs_in_the_proxy(site: Site) -> None:
    lists(site, [tool("post", {"unknown": [{"message": LONG}]})])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", {**KEY, "text": 34 * "a" + "b"})["isError"]


def test_plain_words_that_a_server_says_prove_nothing_count() -> None:
    signs = [{"message": "will be retried"}, {"code": 7}, {"message": LONG}, {"message": "a.b"}]
    contract = Contract.model_validate({"tool": "post", "unknown": signs})
    assert strict(contract).unknown == contract.unknown[:2]
    assert strict(contract, was_trusted=True).unknown == contract.unknown


@pytest.mark.parametrize("mode", ["guard", "observe"])
@pytest.mark.parametrize("pattern", [f"a{{{10**20}}}", 20_000 * "(" + 20_000 * ")", "("])
def test_an_expression_that_cannot_be_compiled_costs_no_list(
    site: Site, mode: str, pattern: str
) -> None:
    lists(site, [tool("post", {"not_executed": [{"message": pattern}]}), tool("other")])
    with site.proxy("--mode", mode) as proxy:
        listed = proxy.answer(proxy.ask("tools/list"))["result"]["tools"]
        assert [one["name"] for one in listed] == ["post", "other"]
        assert proxy.said("what its server states is no contract")


def test_without_a_stated_contract_the_same_call_passes_each_time(site: Site) -> None:
    lists(site, [tool("post", annotations={"destructiveHint": True, "idempotentHint": True})])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        for _ in range(2):
            assert not proxy.called("post", KEY)["isError"]
    assert len(site.calls) == 2
    assert site.records() == []


def test_what_is_not_trusted_hides_nothing_and_adds_no_key(site: Site) -> None:
    lists(site, [tool("post", KEYED)])
    with site.direct() as direct, site.proxy() as proxy:
        for each in (direct, proxy):
            each.answer(each.ask("tools/list"))
        assert proxy.raw == direct.raw
        proxy.called("post", POST)
    assert [call["arguments"] for call in site.calls] == [POST]


def test_the_contract_of_an_operator_wins(tmp_path: Path) -> None:
    """The server states a read; the operator's file says that it writes, with a key."""
    site = Site(tmp_path, "contracts: [{tool: post, key: {param: key, retention: 86400}}]")
    lists(site, [tool("post", {"effect": "read"}, annotations={"readOnlyHint": True})])
    site.fates("kill_after")
    with site.proxy() as proxy:
        listed = tools(proxy.result(proxy.ask("tools/list")))
        assert "key" not in listed["post"]["inputSchema"]["properties"]
        assert not proxy.called("post", POST)["isError"]
    assert len(site.calls) == 2
    assert len(site.effects) == 1


@pytest.mark.parametrize(
    "said",
    [
        tool("get_or_create", {"effect": "read"}),
        tool("get_or_create", annotations={"readOnlyHint": True}),
    ],
)
def test_what_is_said_to_read_passes_and_is_sent_once(site: Site, said: dict[str, Any]) -> None:
    """B32, B133: no delay, no record, and no re-send when its answer is lost."""
    lists(site, [said])
    site.fates("ok", "ok", "kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        for _ in range(2):
            assert not proxy.called("get_or_create", KEY)["isError"]
        assert proxy.answer(proxy.call("get_or_create", KEY))["error"]["code"] == -32000
    assert len(site.calls) == 3
    assert site.records() == []


def test_hints_that_contradict_a_stated_contract_do_not_open_it(site: Site) -> None:
    """B32: contradictory statements fail closed."""
    lists(site, [tool("post", KEYED, annotations={"readOnlyHint": True})])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert proxy.called("post", KEY)["isError"]
    assert len(site.calls) == 1


def test_a_server_cannot_take_a_guard_away_by_stating_less_later(site: Site) -> None:
    lists(site, [tool("post", KEYED)])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        proxy.called("post", KEY)
        for later in (tool("post"), tool("post", {"effect": "read"})):
            lists(site, [later])
            proxy.answer(proxy.ask("tools/list"))
            proxy.called("post", KEY)
    assert len(site.calls) == 1


def test_a_stated_contract_counts_in_the_generation_without_sessions(site: Site) -> None:
    lists(site, [tool("post", KEYED)])
    site.fates("kill_after")
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list", {"_meta": META}))
        lost = proxy.called("post", KEY, _meta={**META, "x": 1})
        assert (lost["isError"], lost["resultType"]) == (True, "complete")
    assert len(site.calls) == 1


WRONG: list[object] = [
    "yes",
    ["key"],
    {"idempotency_arg": "key"},
    {"tool": "charge"},
    {"effect": "harmless"},
    {"key": {"param": ""}},
    {"identity": {"text": "nonsense"}},
]


@pytest.mark.parametrize("contract", WRONG)
def test_what_is_no_contract_is_named_once_and_costs_nothing(site: Site, contract: object) -> None:
    lists(site, [tool("post", contract), tool("charge", KEYED), reading()])
    with site.proxy() as proxy:
        for _ in range(2):
            assert len(proxy.result(proxy.ask("tools/list"))["tools"]) == 3
        assert not proxy.called("post", KEY)["isError"]
        assert not proxy.called("charge", KEY)["isError"]
        assert proxy.said("what its server states")
    assert proxy.errors.count("post") == 1
    assert [record.tool for record in site.records()] == ["charge"]


def test_tools_are_named_once_by_what_counts_for_them(tmp_path: Path) -> None:
    site = Site(tmp_path, "contracts: [{tool: charge}]")
    lists(site, [tool("charge"), tool("post"), tool("send", KEYED), tool("del"), reading()])
    with site.proxy() as proxy:
        for _ in range(3):
            proxy.answer(proxy.ask("tools/list"))
    ours = [line for line in proxy.errors.splitlines() if line.startswith("retry-guard mcp: ")]
    assert [line.rpartition(": ")[2] for line in ours] == ["del, post", "list_charges", "send"]
    assert "unguarded" in ours[0]
    assert "only the server states" in ours[2]


def test_secrets_that_a_server_names_are_kept_out_of_the_ledger(site: Site) -> None:
    """What is stricter counts: a secret, and a repeat that needs a person."""
    lists(site, [tool("post", {**KEYED, "secret": ["text"], "repeat": "escalate"})])
    with site.proxy() as proxy:
        proxy.answer(proxy.ask("tools/list"))
        assert not proxy.called("post", {**KEY, "text": "s3cr3t"})["isError"]
    files = [path.read_bytes() for path in tmp_files(site)]
    assert not any(b"s3cr3t" in text for text in files)


def tmp_files(site: Site) -> list[Path]:
    return [path for path in site.folder.rglob("guard.db*") if path.is_file()]


def test_of_a_stated_contract_only_what_is_stricter_is_left() -> None:
    contract = Contract(
        tool="post",
        **KEYED,
        effect="idempotent",
        read_back=READ_BACK,
        in_flight_bound=1.0,
        identity=["text"],
        not_executed=[{"message": "no"}],
        unknown=[{"message": "BackendError"}],
        repeat="escalate",
        repeat_window=5.0,
        secret=["token"],
    )
    left = strict(contract).model_dump(exclude_defaults=True, exclude={"unknown"})
    assert left == {
        "tool": "post",
        "volatile": ("key",),
        "secret": ("token",),
        "repeat": "escalate",
        "repeat_window": 5.0,
    }
    assert "repeat" not in strict(Contract(tool="post", repeat="allow")).model_fields_set
    after = strict(contract, was_trusted=True)
    assert strict(contract).unknown == after.unknown == contract.unknown
    assert (after.identity, after.key, after.read_back) == ({"text": "exact"}, None, None)


@pytest.mark.parametrize("contract", [one for one in WRONG if one is not None])
def test_what_is_no_contract_is_refused_in_one_line(contract: object) -> None:
    with pytest.raises(StatedError) as caught:
        stated(tool("post", contract))
    assert "\n" not in str(caught.value)


CHANGES: list[dict[str, Any]] = [
    {"inputSchema": {"type": "object"}},
    {"outputSchema": {"type": "object"}},
    {"annotations": {"readOnlyHint": True}},
    {"_meta": {"retry-guard/contract": {"key": {"param": "key", "retention": 1}}}},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_changes_with_each_part_that_trust_rests_on(change: dict[str, Any]) -> None:
    plain = {"key": {"param": "key"}}
    known = {"post": tool("post", plain)}
    before = fingerprint(known["post"], known)
    assert before is not None
    assert fingerprint({**known["post"], "description": "new", "title": "x"}, known) == before
    assert fingerprint({**known["post"], **change}, known) != before


def test_a_digest_changes_with_the_tool_that_reads_back() -> None:
    post = tool("post", {"read_back": READ_BACK})
    before = fingerprint(post, {"list_charges": reading()})
    assert before is not None
    assert fingerprint(post, {}) is None
    assert fingerprint(post, {"list_charges": tool("list_charges")}) != before
