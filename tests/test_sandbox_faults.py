"""The faults: what each one really does, and that a client cannot tell some of them apart."""

import json
from itertools import combinations, product
from typing import NamedTuple

import pytest

from retry_guard_sandbox.agents import ToolCall
from retry_guard_sandbox.conditions import CONDITIONS, Asked, Setting
from retry_guard_sandbox.services import KEY, SERVICES, TOOLS
from retry_guard_sandbox.world._effects import Effects
from retry_guard_sandbox.world._faults import ATTEMPTS_HIT, FAULTS, Hits, hits_attempt
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._network import AGAIN, CLIENT_TIMEOUT, LATE, Network
from retry_guard_sandbox.world._operators import fencing
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._variants import VARIANTS
from retry_guard_sandbox.world._world import World, build

SEEDS = range(5)
ARGUMENTS: dict[str, Json] = {
    "charge": {"customer": "cus_x", "amount": 500, "currency": "eur", "description": "d"},
    "refund": {"charge": "ch_1001", "amount": 500, "reason": "r"},
    "create_ticket": {"project": "p", "title": "t", "body": "b"},
    "add_comment": {"ticket": "TCK-101", "text": "c"},
}
HOME = {tool.name: name for name, service in SERVICES.items() for tool in service.tools}
UNRELATED: dict[str, ToolCall] = {
    "billing": ToolCall("list_charges", {"customer": "cus_dora"}),
    "tickets": ToolCall("search_tickets", {"project": "website"}),
}

every_write = pytest.mark.parametrize("tool", sorted(ARGUMENTS))
every_fault = pytest.mark.parametrize("fault", sorted(FAULTS))
SHOWN_ALIKE = [(a, b) for a, b in combinations(FAULTS, 2) if FAULTS[a].shows == FAULTS[b].shows]


def test_these_are_the_faults_and_the_groups_that_look_alike() -> None:
    groups: dict[str, set[str]] = {}
    for fault in FAULTS.values():
        groups.setdefault(fault.shows, set()).add(fault.name)
    assert groups == {
        "success": {"none"},
        "timeout": {"lost_request", "lost_ack", "late_commit", "redelivery"},
        "error": {"error_before", "error_after"},
    }


class Told(NamedTuple):
    """One line of a transcript: what came back, and when."""

    text: str
    at: float


class Client:
    """A client that does what it is told, through the tools of the arm without a guard."""

    def __init__(
        self, tool: str, fault: str, hits: Hits = "1", contract: str = "native", seed: int = 0
    ) -> None:
        self.tool, self.world = tool, _world(tool, fault, hits, contract, seed)
        self.caller = CONDITIONS["no_guard"](Setting(self.world, fencing))
        self.transcript: list[Told] = []

    def call(self, call: ToolCall) -> Told:
        self.transcript.append(Told(self.caller.call(_asked(call)), self.world.clock.time))
        return self.transcript[-1]

    def send(self, key: str | None = None, **changes: str) -> Told:
        arguments = {**ARGUMENTS[self.tool], **changes}
        return self.call(ToolCall(self.tool, arguments | ({} if key is None else {KEY: key})))

    def look(self) -> Told:
        look = TOOLS[self.tool].look
        assert look is not None
        source = ARGUMENTS[self.tool]
        return self.call(ToolCall(look.tool, {n: source[s] for n, s in look.arguments.items()}))

    def effects(self) -> int:
        """Count what has happened once all that is due has."""
        self.world.clock.settle()
        return len(self.world.effects.of(self.tool, ARGUMENTS[self.tool]))


def _asked(call: ToolCall) -> Asked:
    return Asked(call, "turn-1", "call_1")


def _world(tool: str, fault: str, hits: Hits, contract: str, seed: int) -> World:
    return build(HOME[tool], contract, fault, Streams(seed, "test"), hits=hits)


@every_write
@pytest.mark.parametrize(
    ("fault", "effects"),
    [
        ("none", 1),
        ("lost_request", 0),
        ("lost_ack", 1),
        ("late_commit", 1),
        ("redelivery", 2),
        ("error_before", 0),
        ("error_after", 1),
    ],
)
def test_one_send_without_a_key_has_just_the_hidden_effects(
    tool: str, fault: str, effects: int
) -> None:
    for seed in SEEDS:
        client = Client(tool, fault, seed=seed)
        client.send()
        assert client.effects() == effects


@every_write
@every_fault
@pytest.mark.parametrize("hits", ATTEMPTS_HIT)
def test_the_fault_hits_as_many_attempts_as_it_says(tool: str, fault: str, hits: Hits) -> None:
    client, unhit = Client(tool, fault, hits), Client(tool, "none").send().text
    answers = [client.send().text for _ in range(4)]
    failed = [set(_parsed(a)) != set(_parsed(unhit)) for a in answers]
    shows = FAULTS[fault].shows != "success"
    assert failed == [shows and hits_attempt(hits, attempt) for attempt in (1, 2, 3, 4)]
    lost = sum(failed) if FAULTS[fault].hidden == "not_executed" else 0
    twice = sum(failed) if FAULTS[fault].hidden == "redelivered" else 0
    assert client.effects() == 4 - lost + twice


@every_write
def test_each_logical_write_is_hit_anew(tool: str) -> None:
    client = Client(tool, "lost_ack")
    name = list(ARGUMENTS[tool])[-1]
    firsts = [client.send(**{name: text}).text for text in ("one", "two")]
    seconds = [client.send(**{name: text}).text for text in ("one", "two")]
    assert all("error" in _parsed(answer) for answer in firsts)
    assert not any("error" in _parsed(answer) for answer in seconds)


@every_write
@every_fault
def test_re_issuing_the_same_key_gives_at_most_one_effect_under_every_fault(
    tool: str, fault: str
) -> None:
    for hits, seed in product(ATTEMPTS_HIT, SEEDS):
        client = Client(tool, fault, hits, "keys_everywhere", seed)
        for _ in range(4):
            client.send("k")
        lost = FAULTS[fault].hidden == "not_executed" and hits == "all"
        assert client.effects() == (0 if lost else 1)


@every_write
@every_fault
def test_reads_are_never_hit(tool: str, fault: str) -> None:
    client = Client(tool, fault, "all")
    client.send()
    assert "error" not in _parsed(client.look().text)


@every_write
@pytest.mark.parametrize("seed", SEEDS)
def test_a_late_request_arrives_after_the_time_out(tool: str, seed: int) -> None:
    client = Client(tool, "late_commit", seed=seed)
    begun = client.world.clock.time
    assert client.send().at == begun + CLIENT_TIMEOUT
    assert client.world.effects.of(tool) == []
    assert client.effects() == 1
    assert begun + CLIENT_TIMEOUT < LATE[0] + begun <= client.world.effects.of(tool)[0].at


@every_write
@pytest.mark.parametrize("seed", SEEDS)
def test_a_second_copy_arrives_while_the_client_waits(tool: str, seed: int) -> None:
    client = Client(tool, "redelivery", seed=seed)
    begun = client.world.clock.time
    client.send()
    first, second = client.world.effects.of(tool)
    assert begun < first.at < begun + AGAIN[0] < second.at < begun + CLIENT_TIMEOUT
    assert first.send == second.send


@every_write
def test_lateness_is_drawn_and_not_always_the_same(tool: str) -> None:
    times = set[float]()
    for seed in range(20):
        client = Client(tool, "late_commit", seed=seed)
        begun = client.world.clock.time
        client.send()
        client.world.clock.settle()
        times.add(round(client.world.effects.of(tool)[0].at - begun))
    assert min(times) < 20
    assert max(times) > 35


@every_write
@pytest.mark.parametrize("pair", SHOWN_ALIKE, ids="-".join)
def test_faults_that_show_the_same_give_equal_bytes_and_times(
    tool: str, pair: tuple[str, str]
) -> None:
    """Up to the first later answer that may depend on what is hidden.

    A send that is hit, whichever it is, and everything about other actions never may.
    """
    for contract, hits, key, seed in product(VARIANTS, ATTEMPTS_HIT, (None, "k"), SEEDS):
        one, other = (_fixed_client(tool, f, contract, hits, key, seed) for f in pair)
        assert one == other
        assert len(one) == {"1": 7, "2": 8, "all": 10}[hits]


def _fixed_client(
    tool: str, fault: str, contract: str, hits: Hits, key: str | None, seed: int
) -> list[Told]:
    """Return all that a client is told that does not look at the action that it is about."""
    client = Client(tool, fault, hits, contract, seed)
    other = {list(ARGUMENTS[tool])[-1]: "another"}
    client.call(UNRELATED[HOME[tool]])
    for _ in range({"1": 1, "2": 2, "all": 4}[hits]):
        client.send(key)
    client.world.clock.sleep(17.0)
    client.call(UNRELATED[HOME[tool]])
    client.send(None, **other)
    client.call(UNRELATED[HOME[tool]])
    client.world.clock.sleep(60.0)
    client.call(UNRELATED[HOME[tool]])
    client.call(ToolCall(tool, {"unknown": "argument"}))
    return client.transcript


def silent(_network: Network, _effects: Effects, _tool: str, _arguments: Json) -> None:
    """An operator who never answers."""


@every_write
def test_a_model_is_told_the_same_bytes_under_the_guard_in_every_run(tool: str) -> None:
    """The guard's record ids are random; none of them reaches a transcript."""
    told = list[list[Told]]()
    for _ in range(2):
        world = _world(tool, "error_before", "all", "native", 0)
        caller = CONDITIONS["guard"](Setting(world, silent))
        calls = [caller.call(_asked(ToolCall(tool, ARGUMENTS[tool]))) for _ in range(2)]
        told.append([Told(text, world.clock.time) for text in calls])
        assert all("action-" in _parsed(text)["error"] for text in calls)
    assert told[0] == told[1]


@every_write
def test_without_a_key_even_the_first_answered_send_is_equal(tool: str) -> None:
    """It runs in any case: an id that gave away what ran before would be a leak."""
    answers = {Client(tool, f).send().text for f in FAULTS if FAULTS[f].shows == "timeout"}
    assert len(answers) == 1
    pairs = [Client(tool, f) for f in FAULTS if FAULTS[f].shows == "timeout"]
    for client in pairs:
        client.send()
    assert len({client.send() for client in pairs}) == 1


@every_write
@pytest.mark.parametrize("pair", SHOWN_ALIKE, ids="-".join)
def test_what_is_hidden_does_show_in_the_end(tool: str, pair: tuple[str, str]) -> None:
    """So the faults differ, where the effects do, and the equality above says something."""
    looks = list[str]()
    for fault in pair:
        client = Client(tool, fault)
        client.send()
        client.world.clock.sleep(100.0)
        looks.append(client.look().text)
    differ = FAULTS[pair[0]].hidden != FAULTS[pair[1]].hidden
    assert (looks[0] != looks[1]) == differ


@every_write
@every_fault
@pytest.mark.parametrize("hits", ATTEMPTS_HIT)
def test_after_fencing_nothing_more_happens_and_the_answer_is_true_for_good(
    tool: str, fault: str, hits: Hits
) -> None:
    client = Client(tool, fault, hits)
    client.send()
    world = client.world
    answer = fencing(world.network, world.effects, tool, ARGUMENTS[tool])
    said = len(world.effects.of(tool))
    assert client.effects() == said
    assert answer.final
    assert answer.what == {0: "did_not_happen", 1: "happened", 2: "abandon"}[said]
    if said == 1:
        assert answer.result == world.effects.of(tool)[0].item


@every_write
def test_fencing_stops_a_request_that_already_runs(tool: str) -> None:
    client = Client(tool, "late_commit")
    client.send()
    world = client.world
    world.clock.sleep(LATE[1])
    late = world.effects.of(tool)[0].at
    again = Client(tool, "late_commit")
    again.send()
    again.world.clock.sleep(late - again.world.clock.time - 0.01)
    fencing(again.world.network, again.world.effects, tool, ARGUMENTS[tool])
    assert again.effects() == 0


@every_write
def test_fencing_leaves_other_actions_alone(tool: str) -> None:
    client = Client(tool, "late_commit")
    client.send()
    world = client.world
    fencing(world.network, world.effects, tool, {"another": "action"})
    assert client.effects() == 1


def _parsed(text: str) -> Json:
    body: Json = json.loads(text)
    return body
