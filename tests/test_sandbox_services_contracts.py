"""The contracts say what is true of the services, in every variant but those that lie."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

from retry_guard import Contract
from retry_guard_contracts import judge, read_arguments
from retry_guard_sandbox.services import KEY, RETENTION, SERVICES, TOOLS, Facts
from retry_guard_sandbox.world._clock import START
from retry_guard_sandbox.world._faults import ATTEMPTS_HIT, FAULTS, Hits
from retry_guard_sandbox.world._http import APIStatusError, Json, Request
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._variants import ALL_VARIANTS, LIES, VARIANTS, Variant, variant
from retry_guard_sandbox.world._world import World, build
from sandbox_sites import BATCHES, CALLS, HOME, SHOWN, WRITES, Site, changed

every_write = pytest.mark.parametrize("tool", WRITES)
every_shown = pytest.mark.parametrize("tool", SHOWN)
every_variant = pytest.mark.parametrize("contract", VARIANTS)
every_service = pytest.mark.parametrize("service", sorted(SERVICES))


def stated(tool: str, contract: str = "native") -> Contract:
    """Return what a variant says of a tool."""
    return variant(contract, HOME[tool]).contracts[tool]


@every_service
def test_the_variants_differ_in_nothing_but_keys_of_writes(service: str) -> None:
    native, keyed = variant("native", service), variant("keys_everywhere", service)
    tools = {tool.name for tool in SERVICES[service].tools}
    assert set(native.contracts) == set(keyed.contracts) == tools
    for name, contract in keyed.contracts.items():
        plain = native.contracts[name]
        assert _without_keys(contract) == _without_keys(plain)
        assert (contract.key is not None) == (TOOLS[name].effect == "write")
        assert plain.key in (None, contract.key)
        assert (plain.key is not None) == TOOLS[name].keyed
    assert native.facts == keyed.facts == Facts()


def _without_keys(contract: Contract) -> Json:
    said: Json = json.loads(contract.model_dump_json())
    said["key"] = None
    if said.get("batch"):
        said["batch"]["key"] = None
    return said


@every_variant
@every_service
def test_tools_and_contracts_say_the_same(contract: str, service: str) -> None:
    side = variant(contract, service)
    for name, tool in side.tools.items():
        said = side.contracts[name]
        assert said.effect == tool.effect
        assert (KEY in tool.parameters["properties"]) == (said.key is not None)
        assert set(tool.parameters["required"]) == set(tool.fields)
        assert said.in_flight_bound == tool.bound
        assert (said.batch and said.batch.items) == (tool.batch and tool.batch.items)
        _looks_say_the_same(side, name)
        if tool.effect == "write":
            _identities_say_the_same(side, name)


def _looks_say_the_same(side: Variant, name: str) -> None:
    look, read = side.tools[name].look, side.contracts[name].read_back
    assert (look is None) == (read is None)
    if look is not None and read is not None:
        assert (read.tool, read.items, read.args) == (look.tool, look.items, dict(look.arguments))
        assert read.visibility_lag == side.tools[name].lag
        sources = {
            str(source).partition("[")[0].partition(".")[0] for source in read.match.values()
        }
        assert sources == set(side.tools[name].fields)


def _identities_say_the_same(side: Variant, name: str) -> None:
    """Each field that names an effect counts in the contract as it does to the users."""
    tool = side.tools[name]
    for path, kind in (side.contracts[name].identity or {}).items():
        steps = path.replace("[]", "").split(".")
        field = tool.fields[steps[0]]
        for step in steps[1:]:
            field = (field.each or field).fields[step]
        assert field.alike == kind, path


@pytest.mark.parametrize("stored_500", [False, True])
@pytest.mark.parametrize("contract", ALL_VARIANTS)
@every_service
def test_what_a_contract_says_of_stored_errors_is_true(
    contract: str, service: str, stored_500: bool
) -> None:
    side = variant(contract, service, stored_500=stored_500)
    assert side.facts.stores_errors == stored_500
    for name, said in side.contracts.items():
        if said.key is not None:
            assert said.key.errors == ("stored" if stored_500 else "not_stored")
            assert said.key.retention == RETENTION
            text: str = side.tools[name].parameters["properties"][KEY]["description"]
            assert ("An error is a result, too." in text) == stored_500


@every_shown
@given(after=st.floats(0.0, 200.0))
@settings(max_examples=40)
def test_an_effect_is_visible_exactly_from_its_stated_lag_on(tool: str, after: float) -> None:
    lag = stated(tool).terms.lag
    site = Site(tool)
    site.write()
    assert site.shown(at=after) == [int(after >= lag)] * len(site.made())


@every_shown
def test_just_before_its_lag_an_effect_is_not_visible_and_at_it_it_is(tool: str) -> None:
    lag, site = stated(tool).terms.lag, Site(tool)
    site.write()
    assert all(site.shown(at=lag))
    assert lag == 0 or not any(site.shown(at=lag - 0.001))


@every_shown
@given(times=st.lists(st.floats(0.0, 50.0), min_size=1, max_size=4).map(sorted))
@settings(max_examples=20)
def test_a_list_is_complete_and_permanent_and_holds_nothing_else(
    tool: str, times: list[float]
) -> None:
    site = Site(tool)
    before = [item["id"] for item in site.listed(at=0.0)]
    for number, at in enumerate(times):
        site.write(at=at)
        for other in _other_calls(tool, number):
            site.ask(other, at)
    shown = [item["id"] for item in site.listed(at=1e9)]
    made = [effect for t in WRITES for effect in site.effects.of(t)]
    others = {effect.id for effect in made} - {effect.id for effect in site.made()}
    assert [name for name in shown if name not in others] == [
        *before,
        *(effect.id for effect in site.made()),
    ]
    assert {*shown} <= {*before, *(effect.id for effect in made)}


def _other_calls(tool: str, number: int) -> list[Request]:
    """Return calls of all other tools that change something, and another call of this one."""
    last = list(CALLS[tool])[-1]
    other: Json = {**CALLS[tool], last: changed(CALLS[tool][last])}
    tools = [t.name for t in SERVICES[HOME[tool]].tools if t.effect != "read" and t.name != tool]
    return [Request(tool, other, f"other-{number}"), *(Request(t, CALLS[t]) for t in tools)]


@every_variant
@every_shown
def test_the_stated_read_back_finds_what_happened_and_nothing_that_did_not(
    tool: str, contract: str
) -> None:
    said, site, look = stated(tool, contract), Site(tool), TOOLS[tool].look
    assert look is not None
    shared = said.read_back is not None and not said.read_back.exclusive
    steps: tuple[str, ...] = ("absent", "ours", "several")
    for expected in ("absent", "foreign", "foreign") if shared else steps:
        arguments = read_arguments(said, CALLS[tool])
        read = site.ask(Request(look.tool, arguments), at=1e6)
        sight = judge(
            said, arguments=CALLS[tool], result=read.body, first_send=START, tied=lambda _: False
        )
        assert sight.seen == expected
        answer = site.write()
        if expected == "ours":
            first = [effect.item for effect in site.made()][: len(site.made()) // 2]
            assert sight.value == TOOLS[tool].answer(first)
        assert answer.ok


@pytest.mark.parametrize("contract", VARIANTS)
@pytest.mark.parametrize("tool", BATCHES)
def test_the_stated_read_back_of_a_batch_tells_a_part_of_it(tool: str, contract: str) -> None:
    said, site = stated(tool, contract), Site(tool)
    site.write(share=0.4)
    read = {"data": site.listed(at=1e6), "has_more": False}
    seen = judge(
        said, arguments=CALLS[tool], result=read, first_send=START, tied=lambda _: False
    ).seen
    assert seen == "some"


def test_keys_of_batches_are_as_stated() -> None:
    for tool, key in (("bulk_insert", "resumes"), ("send_bulk", "stored_partial")):
        said = stated(tool, "keys_everywhere")
        assert (said.batch and said.batch.key) == key
        batch = TOOLS[tool].batch
        assert batch is not None
        assert batch.key == key


def _send(world: World, tool: str) -> None:
    with suppress(APIStatusError, OSError):
        world.wire.call(tool, CALLS[tool])


def test_these_are_the_fields_that_only_some_contracts_state() -> None:
    bounds = {tool: stated(tool).in_flight_bound for tool in WRITES}
    assert {tool: bound for tool, bound in bounds.items() if bound} == {"trigger_deploy": 15.0}
    assert [tool for tool in WRITES if stated(tool).twins == "count"] == ["insert_row"]
    assert all(stated(tool).terms.conclusive for tool in SHOWN)


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize("hits", ATTEMPTS_HIT)
def test_whatever_the_network_does_the_stated_bound_is_kept(fault: str, hits: Hits) -> None:
    for tool in (tool for tool in WRITES if stated(tool).in_flight_bound is not None):
        for seed in range(15):
            world = build(HOME[tool], "native", fault, Streams(seed, "bound"), hits=hits)
            _send(world, tool)
            begun = world.wire.seen[0].begun
            world.clock.settle()
            bound = stated(tool).in_flight_bound or 0.0
            assert all(effect.at < begun + bound for effect in world.effects.of(tool))


def test_each_lie_is_one() -> None:
    assert set(ALL_VARIANTS) == {*VARIANTS, *LIES}
    lag = LIES["lag_understated"].facts
    site = Site("trigger_deploy", lag)
    site.write()
    assert not any(site.shown(at=stated("trigger_deploy").terms.lag))
    bound = stated("trigger_deploy").in_flight_bound
    real = Site("trigger_deploy", LIES["bound_understated"].facts).service.bound("trigger_deploy")
    assert bound is not None
    assert real is not None
    assert bound < real
    assert not LIES["key_ignored"].facts.honours_keys
    assert LIES["key_forgotten"].facts.retention < RETENTION


@pytest.mark.parametrize("lie", sorted(LIES))
def test_a_lie_is_about_the_tools_that_it_names_and_true_of_the_rest(lie: str) -> None:
    about = LIES[lie]
    assert set(about.facts.lags) | set(about.facts.bounds) <= set(about.tools) <= set(WRITES)
    for service in SERVICES:
        side = variant(lie, service)
        assert side.contracts == variant(about.contracts, service).contracts
        assert side.facts == about.facts
