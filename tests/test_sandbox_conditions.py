"""What stands between a call and the wire: each condition does its one thing, in all arms alike."""

import json
from dataclasses import dataclass, field, replace

import pytest

from retry_guard_sandbox.agents import AGENTS, Sight, ToolCall
from retry_guard_sandbox.conditions import (
    CONDITIONS,
    Asked,
    Caller,
    Condition,
    GuardedCaller,
    Setting,
    leave_to_a_person,
    leaves_out,
)
from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.world._faults import Hits
from retry_guard_sandbox.world._http import Json
from retry_guard_sandbox.world._operators import OPERATORS
from retry_guard_sandbox.world._streams import Streams
from retry_guard_sandbox.world._world import World, build

CHARGE: Json = {"customer": "c", "amount": 1, "currency": "eur", "description": "d"}
COMMENT: Json = {"ticket": "TCK-101", "text": "t"}
TICKET: Json = {"project": "p", "title": "t", "body": "b"}
SERVICE = {"charge": "billing", "list_charges": "billing"}
ARGUMENTS = {"charge": CHARGE, "add_comment": COMMENT, "create_ticket": TICKET}
GUARDING = {"guard", "guard_hidden_key", "guard_promises"}
WAITS = {"read_now": 0.0, "wait_60": 60.0, "wait_300": 300.0, "wait_3600": 3600.0}


@dataclass
class Client:
    """Calls one tool through one condition, in a world with one fault; a process at a time."""

    tool: str
    condition: str
    fault: str
    hits: Hits = "1"
    contract: str = "native"
    operator: str = "fencing"
    seed: int = 0
    setting: Setting = field(init=False)
    caller: Caller = field(init=False)
    calls: int = 0

    def __post_init__(self) -> None:
        streams = Streams(self.seed, self.tool)
        service = SERVICE.get(self.tool, "tickets")
        world = build(service, self.contract, self.fault, streams, hits=self.hits)
        self.setting = Setting(world, OPERATORS[self.operator])
        self.restart()

    def restart(self) -> None:
        self.caller = CONDITIONS[self.condition](self.setting)

    @property
    def world(self) -> World:
        return self.setting.world

    def call(
        self,
        key: str | None = None,
        turn: str = "turn-1",
        call_id: str | None = None,
        **changes: object,
    ) -> Json:
        """Make the call; return what was answered."""
        self.calls += 1
        arguments: Json = {**ARGUMENTS[self.tool], **changes}
        if key is not None:
            arguments[KEY] = key
        asked = Asked(ToolCall(self.tool, arguments), turn, call_id or f"call_{self.calls}")
        answer: Json = json.loads(self.caller.call(asked))
        return answer

    @property
    def sent(self) -> list[tuple[str, str | None, float]]:
        """Tool, key and time since the beginning of each request."""
        seen = self.world.wire.seen
        return [(s.request.tool, s.request.key, s.begun - seen[0].begun) for s in seen]

    def tools(self) -> list[str]:
        """Return the tools of all requests."""
        return [tool for tool, _, _ in self.sent]

    def effects(self) -> int:
        """Let everything happen, and count."""
        self.world.clock.settle()
        return len(self.world.effects.of(self.tool))


@pytest.mark.parametrize("condition", sorted(set(CONDITIONS) - GUARDING))
def test_every_arm_hands_calls_through_the_same_guard_which_passes_them_on(
    condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = list[str]()
    through = GuardedCaller.call

    def noting(self: GuardedCaller, asked: Asked) -> str:
        passed.append(self._guard.mode)
        return through(self, asked)

    monkeypatch.setattr(GuardedCaller, "call", noting)
    client = Client("add_comment", condition, "none")
    plain = Client("add_comment", "no_guard", "none")
    assert client.call() == plain.call()
    assert client.sent == plain.sent
    assert passed == ["off", "off"]


@pytest.mark.parametrize("condition", sorted(CONDITIONS))
def test_reads_pass_every_condition_as_they_are(condition: str) -> None:
    client = Client("add_comment", condition, "none")
    client.call()
    counts = list[int]()
    for number in (1, 2):
        read = ToolCall("list_comments", {"ticket": "TCK-101"})
        answer: Json = json.loads(client.caller.call(Asked(read, "turn-1", f"read_{number}")))
        counts.append(len(answer["data"]))
        client.call(text="another")
    assert counts == [1, 2]


# sdk_retry


def test_sdk_retry_sends_the_same_bytes_twice_more_and_adds_no_key() -> None:
    client = Client("add_comment", "sdk_retry", "lost_request", "all")
    assert "no response" in client.call()["error"]
    assert [key for _, key, _ in client.sent] == [None] * 3
    assert len({str(seen.request.arguments) for seen in client.world.wire.seen}) == 1
    keyed = Client("charge", "sdk_retry", "lost_ack", "2")
    assert keyed.call(key="k")["customer"] == "c"
    assert [key for _, key, _ in keyed.sent] == ["k"] * 3
    assert keyed.effects() == 1


@pytest.mark.parametrize("fault", ["lost_ack", "error_after", "late_commit", "redelivery"])
def test_sdk_retry_duplicates_what_was_executed_unseen(fault: str) -> None:
    assert Client("add_comment", "sdk_retry", fault).call()["text"] == "t"
    client = Client("add_comment", "sdk_retry", fault)
    client.call()
    assert client.effects() > 1


def test_sdk_retry_leaves_refusals_alone() -> None:
    client = Client("add_comment", "sdk_retry", "none")
    assert client.call(ticket="unknown")["error"].startswith("404")
    assert len(client.sent) == 1


# never_retry


def test_never_retry_sends_once_whatever_the_agent_does_and_in_the_next_process_too() -> None:
    client = Client("add_comment", "never_retry", "lost_request")
    assert "no response" in client.call()["error"]
    client.restart()
    assert client.call()["error"].startswith("not sent")
    assert len(client.sent) == 1
    assert client.effects() == 0


def test_never_retry_does_not_stand_in_the_way_of_what_is_clear_or_new() -> None:
    client = Client("add_comment", "never_retry", "none")
    for _ in range(2):
        assert client.call()["text"] == "t"
    assert client.call(ticket="unknown")["error"].startswith("404")
    assert client.call(ticket="unknown")["error"].startswith("404")
    lost = Client("add_comment", "never_retry", "lost_ack")
    lost.call()
    assert lost.call(turn="turn-2")["text"] == "t"
    assert lost.call(text="another")["error"].startswith("no response")


# always_escalate


@pytest.mark.parametrize("fault", ["lost_request", "lost_ack", "late_commit", "error_before"])
@pytest.mark.parametrize("hits", ["1", "2"])
def test_always_escalate_is_exactly_once_where_the_operator_is_right(
    fault: str, hits: Hits
) -> None:
    client = Client("add_comment", "always_escalate", fault, hits)
    assert client.call()["text"] == "t"
    assert client.effects() == 1
    assert client.setting.escalations


def test_always_escalate_duplicates_where_the_operator_goes_by_what_is_there_now() -> None:
    client = Client("add_comment", "always_escalate", "late_commit", operator="snapshot")
    assert client.call()["text"] == "t"
    assert client.effects() == 2


def test_what_nobody_answered_is_not_sent_again_in_the_turn_and_asked_about_again() -> None:
    for condition in ("always_escalate", *WAITS):
        client = Client("add_comment", condition, "lost_request", "all", operator="silent")
        assert "left to a person" in client.call()["error"]
        before = len(client.sent)
        client.restart()
        assert "left to a person" in client.call()["error"]
        assert len(client.sent) == before
        assert len(client.setting.escalations) == 2


def test_an_operator_who_gives_it_up_ends_it() -> None:
    client = Client("add_comment", "always_escalate", "redelivery")
    assert "left to a person" in client.call()["error"]
    assert client.effects() == 2


def test_always_escalate_asks_no_more_than_three_times_in_a_call() -> None:
    client = Client("add_comment", "always_escalate", "lost_request", "all")
    client.call()
    assert (len(client.sent), len(client.setting.escalations)) == (3, 3)


# read_now and the three waits


@pytest.mark.parametrize(("condition", "seconds"), WAITS.items())
def test_a_wait_counts_from_the_time_out_then_looks_then_sends_once_more(
    condition: str, seconds: float
) -> None:
    client = Client("add_comment", condition, "lost_request")
    assert client.call()["text"] == "t"
    assert client.tools() == ["add_comment", "list_comments", "add_comment"]
    assert client.sent[1][2] == pytest.approx(10.0 + seconds)
    assert client.effects() == 1


@pytest.mark.parametrize("condition", WAITS)
def test_what_a_wait_sees_is_done_and_the_result(condition: str) -> None:
    client = Client("add_comment", condition, "lost_ack")
    answer = client.call()
    assert answer["id"] == client.world.effects.of("add_comment")[0].id
    assert client.tools() == ["add_comment", "list_comments"]


@pytest.mark.parametrize("condition", WAITS)
def test_a_wait_uses_no_key_even_where_the_agent_gave_one(condition: str) -> None:
    client = Client("charge", condition, "lost_request")
    client.call(key="k")
    assert {key for _, key, _ in client.sent} == {None}


@pytest.mark.parametrize("condition", WAITS)
def test_a_wait_asks_where_a_second_send_is_absent_too_and_where_it_sees_two(
    condition: str,
) -> None:
    absent = Client("add_comment", condition, "lost_request", "2")
    assert absent.call()["text"] == "t"
    assert absent.tools() == ["add_comment", "list_comments"] * 2 + ["add_comment"]
    assert len(absent.setting.escalations) == 1
    twice = Client("add_comment", condition, "redelivery")
    assert "left to a person" in twice.call()["error"]
    assert len(twice.setting.escalations) == 1


def test_a_wait_asks_at_once_where_nothing_can_be_read() -> None:
    client = Client("add_comment", "wait_3600", "lost_ack")
    shown = client.world.variant
    blind = replace(shown.tools["add_comment"], look=None)
    seen = replace(shown, tools={**shown.tools, "add_comment": blind})
    client.setting = replace(client.setting, world=replace(client.world, variant=seen))
    client.restart()
    assert client.call()["text"] == "t"
    assert client.tools() == ["add_comment"]
    assert client.world.clock.time - client.world.wire.seen[0].begun < 60
    assert len(client.setting.escalations) == 1


def test_read_now_duplicates_where_the_read_lags_and_where_the_commit_is_late() -> None:
    lagging = Client("create_ticket", "read_now", "lost_ack")
    assert lagging.call()["title"] == "t"
    assert lagging.effects() == 2
    late = Client("add_comment", "read_now", "late_commit")
    late.call()
    assert late.effects() == 2


def test_an_hour_is_enough_for_a_lag_and_for_an_ordinary_late_commit() -> None:
    for condition in ("wait_60", "wait_300", "wait_3600"):
        for tool, fault in (("create_ticket", "lost_ack"), ("add_comment", "late_commit")):
            client = Client(tool, condition, fault)
            client.call()
            assert client.effects() == 1, (condition, tool, fault)


# argument_hash


def test_argument_hash_gives_a_stored_result_for_a_day_and_then_no_more() -> None:
    client = Client("add_comment", "argument_hash", "none")
    first = client.call()
    client.world.clock.sleep(86_000)
    client.restart()
    assert client.call(turn="turn-2") == first
    client.world.clock.sleep(1_000)
    assert client.call(turn="turn-3") != first
    assert client.effects() == 2


def test_argument_hash_stores_nothing_of_a_lost_answer_so_the_repeat_duplicates() -> None:
    client = Client("add_comment", "argument_hash", "lost_ack")
    client.call()
    assert client.call()["text"] == "t"
    assert client.effects() == 2


def test_argument_hash_is_blind_to_other_words_and_to_another_order() -> None:
    client = Client("add_comment", "argument_hash", "none")
    client.call()
    client.call(text="t ")
    reordered = ToolCall("add_comment", dict(reversed(COMMENT.items())))
    client.caller.call(Asked(reordered, "turn-1", "call_9"))
    assert client.effects() == 3


# one_use_token


def test_a_token_is_used_once_and_a_call_planned_anew_gets_another_one() -> None:
    client = Client("add_comment", "one_use_token", "lost_ack")
    client.call(call_id="one")
    client.restart()
    assert "used before" in client.call(call_id="one")["error"]
    assert client.effects() == 1
    assert client.call(call_id="two")["text"] == "t"
    assert client.effects() == 2


def test_a_token_is_bound_to_its_arguments_and_lasts_five_minutes() -> None:
    client = Client("add_comment", "one_use_token", "none")
    client.call(call_id="one")
    assert "other arguments" in client.call(call_id="one", text="another")["error"]
    client.world.clock.sleep(301)
    assert "five minutes" in client.call(call_id="one")["error"]
    assert client.effects() == 1


# The guard, and what an agent is shown


def test_with_a_hidden_key_the_guard_alone_makes_keys() -> None:
    client = Client("charge", "guard_hidden_key", "lost_ack")
    shown = CONDITIONS["guard_hidden_key"].shown(
        Sight((), client.world.variant.tools, lambda: "k", prompt="p")
    )
    assert all(KEY not in tool.parameters["properties"] for tool in shown.tools.values())
    assert shown.prompt == "p"
    assert client.call()["customer"] == "c"
    keys = {key for _, key, _ in client.sent}
    assert len(keys) == 1
    assert None not in keys
    assert client.effects() == 1


@pytest.mark.parametrize(
    "condition",
    [name for name, one in CONDITIONS.items() if not one.suffix and name != "guard_hidden_key"],
)
def test_all_other_arms_show_the_same_prompt_and_tools(condition: str) -> None:
    seen = Sight((), Client("charge", condition, "none").world.variant.tools, lambda: "k")
    assert CONDITIONS[condition].shown(seen) == seen


def test_a_condition_for_models_may_change_the_prompt_and_leaves_out_every_script() -> None:
    careful = Condition(start=GuardedCaller, suffix=" Be careful.", models_only=True)
    seen = careful.shown(Sight((), {}, lambda: "k", prompt="Do it."))
    assert seen.prompt == "Do it. Be careful."
    assert all(careful.leaves_out(agent) for agent in AGENTS)
    assert not careful.leaves_out("a-model")


def test_an_agent_is_left_out_where_it_already_does_what_the_condition_does() -> None:
    scripted = [name for name, one in CONDITIONS.items() if not one.models_only]
    left = {c: {a for a in AGENTS if leaves_out(c, a)} for c in scripted}
    assert {condition: agents for condition, agents in left.items() if agents} == {
        "sdk_retry": {"retry"},
        "never_retry": {"give_up", "escalate"},
        "read_now": {"read_then_retry"},
    }


# Operators, as the guard asks them


def test_the_guard_has_the_operator_look_at_what_was_recorded_not_at_what_is_said_now() -> None:
    asked = list[tuple[Json, float]]()

    def noting(
        _network: object, _effects: object, _tool: str, arguments: Json, since: float
    ) -> None:
        asked.append((arguments, since))

    client = Client("create_ticket", "guard", "lost_request", "all")
    client.setting = replace(client.setting, operator=noting)
    client.restart()
    begun = client.world.clock.time
    client.call()
    client.call(turn="turn-2", body="another")
    assert asked == [(TICKET, begun)]
    assert client.setting.escalations
    assert all(one.arguments == TICKET for one in client.setting.escalations)


def test_what_was_handed_over_is_not_left_to_a_person_once_more() -> None:
    for condition, more in (("guard", 0), ("no_guard", 1)):
        client = Client("add_comment", condition, "redelivery")
        client.call()
        before = len(client.setting.escalations)
        leave_to_a_person(client.setting)
        assert len(client.setting.escalations) == before + more


def test_an_operator_in_a_later_turn_does_not_take_the_earlier_one_for_this() -> None:
    client = Client("add_comment", "no_guard", "none")
    client.call()
    client.world.clock.sleep(10)
    now = client.world.clock.time
    world = client.world
    answer = OPERATORS["fencing"](world.network, world.effects, "add_comment", COMMENT, now)
    assert answer is not None
    assert answer.what == "did_not_happen"
