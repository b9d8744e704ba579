"""The faults: what each one really does, to whom, and when."""

import json
from collections import Counter
from itertools import combinations, product

import pytest

from retry_guard_outcomes import Unknown, classify
from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import CONDITIONS, Asked, Setting
from retry_guard_sandbox.services import TOOLS, Tool
from retry_guard_sandbox.world._fates import Fate, Fates
from retry_guard_sandbox.world._faults import (
    ATTEMPTS_HIT,
    FAULTS,
    Hits,
    ReadHits,
    Shows,
    applies,
    hits_attempt,
)
from retry_guard_sandbox.world._http import Json, ReadError
from retry_guard_sandbox.world._network import CLIENT_TIMEOUT
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import build
from sandbox_clients import HOME, WRITES, FunctionCaller, Place, arguments_of, reworded, twin_of

SEEDS = range(4)
FAILURES: dict[Shows, str] = {
    "timeout": "no response within 10 s",
    "error": "500 internal server error",
    "reset": "connection reset by peer",
}
LISTED = [tool for tool in WRITES if TOOLS[tool].look is not None]
CREATING = [tool for tool in WRITES if TOOLS[tool].effect == "write"]
BATCHES = [tool for tool in CREATING if TOOLS[tool].batch is not None]

every_write = pytest.mark.parametrize("tool", WRITES)
every_creating_write = pytest.mark.parametrize("tool", CREATING)
every_fault = pytest.mark.parametrize("fault", sorted(FAULTS))


def failure(text: str) -> str | None:
    """Return which failure a client was shown; None: it has an answer."""
    body: Json = json.loads(text)
    return body.get("error")


def executions(client: FunctionCaller) -> Counter[int]:
    """Count the executions of each send, in full or in part."""
    parts = TOOLS[client.place.tool].parts(arguments_of(client.place.tool))
    made = Counter(effect.send for effect in client.effects())
    return Counter({send: -(-count // len(parts)) for send, count in made.items()})


HIDDEN = {"executed": 1, "not_executed": 0, "late": 1, "partial": 1, "redelivered": 2}


@every_fault
def test_one_send_without_a_key_has_just_the_hidden_effects(fault: str) -> None:
    for tool, seed in product(CREATING, SEEDS):
        client = FunctionCaller(Place(tool=tool, fault=fault, seed=seed))
        client.send()
        hidden = "executed" if not applies(fault, [tool]) else FAULTS[fault].hidden
        assert executions(client)[1] == HIDDEN[hidden], tool


@every_fault
@pytest.mark.parametrize("hits", ATTEMPTS_HIT)
def test_the_fault_hits_as_many_attempts_as_it_says(fault: str, hits: Hits) -> None:
    for tool in WRITES:
        client = FunctionCaller(Place(tool=tool, fault=fault, hits=hits))
        shown = [failure(client.send().text) for _ in range(4)]
        fails = FAILURES.get(FAULTS[fault].shows) if applies(fault, [tool]) else None
        assert shown == [fails if hits_attempt(hits, attempt) else None for attempt in (1, 2, 3, 4)]


@every_fault
@pytest.mark.parametrize("hits", ATTEMPTS_HIT)
def test_what_is_hidden_befalls_each_attempt_that_is_hit_and_no_other(
    fault: str, hits: Hits
) -> None:
    for tool in CREATING:
        client = FunctionCaller(Place(tool=tool, fault=fault, hits=hits))
        for _ in range(4):
            client.send()
        hidden = HIDDEN[FAULTS[fault].hidden] if applies(fault, [tool]) else 1
        wanted = {n: hidden if hits_attempt(hits, n) else 1 for n in (1, 2, 3, 4)}
        made = executions(client)
        assert {n: made[n] for n in wanted} == wanted, tool


@every_creating_write
def test_each_logical_write_is_hit_anew_but_not_its_other_spellings(tool: str) -> None:
    client, twin = FunctionCaller(Place(tool=tool, fault="lost_ack")), twin_of(tool)
    assert twin is not None
    first, other, again = (
        failure(client.call(ToolCall(tool, arguments)).text)
        for arguments in (arguments_of(tool), twin, reworded(tool))
    )
    assert (first, other, again) == (FAILURES["timeout"], FAILURES["timeout"], None)


@every_fault
def test_re_issuing_the_same_key_gives_each_item_at_most_one_effect(fault: str) -> None:
    for tool, hits, seed in product(CREATING, ATTEMPTS_HIT, SEEDS):
        place = Place(tool=tool, fault=fault, hits=hits, contract="keys_everywhere", seed=seed)
        client = FunctionCaller(place)
        for _ in range(4):
            client.send("k")
        made = Counter(json.dumps(effect.arguments) for effect in client.effects())
        lost = FAULTS[fault].hidden == "not_executed" and hits == "all"
        assert set(made.values()) == (set() if lost else {1}), tool


@every_fault
@pytest.mark.parametrize("reads_hit", ["0", *ATTEMPTS_HIT])
def test_looks_are_hit_as_often_as_it_says_and_what_shows_nothing_spares_them(
    fault: str, reads_hit: ReadHits
) -> None:
    for tool in LISTED:
        client = FunctionCaller(Place(tool=tool, fault=fault, reads_hit=reads_hit))
        looks = [client.look() for _ in range(4)]
        shown = [failure(look.text) for look in looks if look is not None]
        fails = FAILURES.get(FAULTS[fault].shows)
        assert shown == [fails if hits_attempt(reads_hit, n) else None for n in (1, 2, 3, 4)], tool


@pytest.mark.parametrize("fault", ["late_commit", "late_commit_heavy_tail"])
def test_a_late_request_arrives_after_the_time_out(fault: str) -> None:
    for tool, seed in product(WRITES, SEEDS):
        client = FunctionCaller(Place(tool=tool, fault=fault, seed=seed))
        begun = client.world.clock.time
        assert client.send().at == begun + CLIENT_TIMEOUT
        assert client.world.effects.of(tool) == []
        assert all(effect.at > begun + CLIENT_TIMEOUT for effect in client.effects()), tool


@every_creating_write
@pytest.mark.parametrize("fault", ["redelivery", "silent_redelivery"])
def test_a_second_copy_arrives_while_a_client_would_still_wait(tool: str, fault: str) -> None:
    for seed in SEEDS:
        client = FunctionCaller(Place(tool=tool, fault=fault, seed=seed))
        begun = client.world.clock.time
        client.send()
        made = client.effects()
        first, second = made[0], made[-1]
        assert begun < first.at < begun + 1.0 < second.at < begun + CLIENT_TIMEOUT
        assert first.send == second.send


@pytest.mark.parametrize("tool", BATCHES)
def test_a_batch_takes_effect_in_part_and_which_part_is_drawn(tool: str) -> None:
    parts = TOOLS[tool].parts(arguments_of(tool))
    made = set[int]()
    for seed in range(30):
        client = FunctionCaller(Place(tool=tool, fault="partial_batch", seed=seed))
        client.send()
        effects = client.effects()
        assert [effect.arguments for effect in effects] == parts[: len(effects)]
        made.add(len(effects))
    assert made == set(range(1, len(parts)))


def test_a_batch_in_part_applies_to_whoever_uses_a_batch_and_every_fault_to_whoever_writes() -> (
    None
):
    for tool, fault in product(TOOLS, FAULTS):
        is_batch, is_write = TOOLS[tool].batch is not None, TOOLS[tool].effect != "read"
        assert applies(fault, [tool]) == (is_batch if fault == "partial_batch" else is_write)
    assert applies("partial_batch", [CREATING[0], BATCHES[0]])
    assert not applies("lost_ack", [])


@every_fault
def test_what_befalls_an_attempt_does_not_depend_on_other_requests(fault: str) -> None:
    """Two arms that differ in their looks, and so in the ids they get, are hit alike."""
    for tool, seed in product(WRITES, SEEDS[:2]):
        waits = list[list[float]]()
        for looks in (0, 3):
            client = FunctionCaller(Place(tool=tool, fault=fault, seed=seed))
            for _ in range(looks):
                client.look()
            begun = client.world.clock.time
            at = client.send().at
            assert at is not None
            waits.append([at - begun, *(effect.at - begun for effect in client.effects())])
        assert waits[0] == pytest.approx(waits[1], abs=1e-6), tool


def test_each_tool_action_and_attempt_has_a_fate_of_its_own() -> None:
    fates = Fates(Streams(0), FAULTS["redelivery"], "all", "0", lambda _tool: None)
    places = list(product(TOOLS.values(), (1, 2, 11), (1, 2, 11)))
    drawn = {fates.of(tool, action, attempt) for tool, action, attempt in places}
    assert len(drawn) == len(places)
    assert {fates.of(tool, action, attempt) for tool, action, attempt in places} == drawn


@every_creating_write
def test_actions_are_numbered_as_a_client_begins_them(tool: str) -> None:
    twin, asked = twin_of(tool), list[tuple[str, int, int]]()
    assert twin is not None

    def fate(of: Tool, action: int, attempt: int) -> Fate:
        asked.append((of.name, action, attempt))
        return Fate("success", 0.1, 0.1, 0.1, (0.1,))

    world = build(HOME[tool], "native", "none", Streams(0), fate_of=fate)
    for arguments in (arguments_of(tool), twin, reworded(tool), twin, twin):
        world.wire.call(tool, arguments)
    assert asked == [(tool, 1, 1), (tool, 2, 1), (tool, 1, 2), (tool, 2, 2), (tool, 2, 3)]


@every_write
@pytest.mark.parametrize("fault", ["reset_before", "reset_after", "error_before", "error_after"])
def test_a_failure_is_there_when_the_answer_would_be(tool: str, fault: str) -> None:
    answered = FunctionCaller(Place(tool=tool, fault="none")).send()
    failed = FunctionCaller(Place(tool=tool, fault=fault)).send()
    assert failed.at == pytest.approx(answered.at, abs=1e-6)


def test_a_reset_proves_nothing() -> None:
    client = FunctionCaller(Place(tool="charge", fault="reset_after"))
    with pytest.raises(ReadError) as caught:
        client.world.wire.call("charge", arguments_of("charge"))
    assert isinstance(classify(caught.value), Unknown)
    assert client.world.wire.seen[0].is_open


@every_creating_write
@pytest.mark.parametrize(("fault", "effects"), [("error_before", 0), ("error_after", 1)])
def test_a_service_that_stores_errors_gives_the_same_one_again(
    tool: str, fault: str, effects: int
) -> None:
    place = Place(tool=tool, fault=fault, contract="keys_everywhere", stored_500=True)
    client = FunctionCaller(place)
    assert [failure(client.send("k").text) for _ in range(3)] == [FAILURES["error"]] * 3
    assert sum(executions(client).values()) == effects


@every_creating_write
def test_even_the_first_answer_to_a_repeat_without_a_key_is_equal(tool: str) -> None:
    """It runs in any case: an id that gave away what ran before would be a leak."""
    for shows in FAILURES:
        alike = [f for f in FAULTS if FAULTS[f].shows == shows and applies(f, [tool])]
        clients = [FunctionCaller(Place(tool=tool, fault=fault)) for fault in alike]
        assert len({client.send() for client in clients}) == 1
        assert len({client.send() for client in clients}) == 1


@pytest.mark.parametrize("tool", [tool for tool in CREATING if tool in LISTED])
def test_what_is_hidden_does_show_in_the_end(tool: str) -> None:
    """So the faults do differ, and that they look alike until then says something."""
    looks = dict[str, str]()
    for fault in FAULTS:
        client = FunctionCaller(Place(tool=tool, fault=fault))
        client.send()
        client.sleep(100_000.0)
        look = client.look()
        assert look is not None
        looks[fault] = look.text
    for one, other in combinations([f for f in FAULTS if applies(f, [tool])], 2):
        alike = FAULTS[one].hidden, FAULTS[one].delay, FAULTS[other].hidden, FAULTS[other].delay
        assert (looks[one] == looks[other]) == (alike[:2] == alike[2:])


@every_fault
def test_after_fencing_nothing_more_happens(fault: str) -> None:
    for tool in WRITES:
        client = FunctionCaller(Place(tool=tool, fault=fault))
        client.send()
        client.world.network.fence(tool, reworded(tool))
        said = client.world.effects.of(tool)
        assert client.effects() == said, tool


@every_write
def test_fencing_stops_a_request_that_already_runs(tool: str) -> None:
    client = FunctionCaller(Place(tool=tool, fault="late_commit"))
    client.send()
    late = client.effects()[0].at
    again = FunctionCaller(Place(tool=tool, fault="late_commit"))
    again.send()
    again.sleep(late - again.world.clock.time - 0.01)
    again.world.network.fence(tool, arguments_of(tool))
    assert again.effects() == []


@every_creating_write
@pytest.mark.parametrize("before", [5.0, 0.01])
def test_fencing_frees_the_key_of_a_request_that_is_under_way_or_runs(
    tool: str, before: float
) -> None:
    place = Place(tool=tool, fault="late_commit", contract="keys_everywhere")
    client, same = FunctionCaller(place), FunctionCaller(place)
    client.send("k")
    late = client.effects()[0].at
    same.send("k")
    same.sleep(max(0.0, late - same.world.clock.time - before))
    same.world.network.fence(tool, arguments_of(tool))
    same.sleep(100.0)
    assert same.effects() == []
    assert failure(same.send("k").text) is None
    assert executions(same) == {2: 1}


@every_write
def test_fencing_leaves_other_actions_alone(tool: str) -> None:
    client = FunctionCaller(Place(tool=tool, fault="late_commit"))
    client.send()
    client.world.network.fence(tool, {"another": "action"})
    assert client.effects() != []


@every_creating_write
def test_a_model_is_told_the_same_bytes_under_the_guard_in_every_run(tool: str) -> None:
    """The guard's record ids are random; none of them reaches a transcript."""
    told = list[list[tuple[str, float]]]()
    for _ in range(2):
        world = FunctionCaller(Place(tool=tool, fault="error_before", hits="all")).world
        caller = CONDITIONS["guard"](Setting(world, _silent))
        call = Asked(ToolCall(tool, arguments_of(tool)), "turn-1", "call_1")
        told.append([(caller.call(call), world.clock.time) for _ in range(2)])
        assert all("action-" in str(failure(text)) for text, _ in told[-1])
    assert told[0] == told[1]


def _silent(*_asked: object, **_more: object) -> None:
    """An operator who never answers."""
