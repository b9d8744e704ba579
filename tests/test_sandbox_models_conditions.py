"""The conditions that only a model reacts to: what each of them says, and what it leaves alone."""

import re
from itertools import product

import pytest

from retry_guard_sandbox import Spec
from retry_guard_sandbox._episode import _sight, world_of
from retry_guard_sandbox.agents import AGENTS
from retry_guard_sandbox.conditions import CONDITIONS, Setting, leaves_out
from retry_guard_sandbox.conditions._course import POLICY
from retry_guard_sandbox.harness import Said, Stage
from retry_guard_sandbox.services import KEY
from retry_guard_sandbox.tasks import TASKS
from retry_guard_sandbox.world._operators import OPERATORS
from test_guard_texts import FORBIDDEN
from test_sandbox_conditions import Client

OWN = ("guard_advises", "careful_prompt", "prompt_for_keys", "guard_promises")
PROMISES = "guard_promises"
"""The study's backfire: the one text that says what no text may say."""


def test_scripted_agents_are_left_out_of_them_and_models_are_not() -> None:
    for condition in OWN:
        assert all(leaves_out(condition, agent) for agent in AGENTS)
        assert not leaves_out(condition, "openai:x")
    assert [name for name, one in CONDITIONS.items() if one.models_only] == list(OWN)


@pytest.mark.parametrize("condition", sorted(set(CONDITIONS) - {PROMISES}))
def test_no_prompt_promises_anything(condition: str) -> None:
    assert not FORBIDDEN.search(CONDITIONS[condition].suffix)


def test_one_prompt_promises_on_purpose_and_only_there_is_the_guard_told_of() -> None:
    told = CONDITIONS[PROMISES].suffix
    assert FORBIDDEN.search(told)
    assert "it verifies whether the first one took effect" in told
    assert [name for name, one in CONDITIONS.items() if "guard" in one.suffix.lower()] == [PROMISES]


def test_the_guard_that_promises_is_the_guard() -> None:
    """Only the prompt differs, so that what a model does differently comes of the promise."""
    for tool in ("charge", "add_comment"):
        one, other = (Client(tool, name, "late_commit") for name in ("guard", PROMISES))
        assert one.call() == other.call()
        assert one.sent == other.sent


@pytest.mark.parametrize("condition", ["careful_prompt", "prompt_for_keys"])
def test_a_prompt_alone_changes_nothing_that_is_sent(condition: str) -> None:
    one, other = (Client("charge", name, "lost_ack") for name in ("no_guard", condition))
    assert one.call(key="k") == other.call(key="k")
    assert one.sent == other.sent


# guard_advises


def advice(client: Client, **how: object) -> str:
    """Make the call; return what follows the error."""
    error = str(client.call(**how)["error"])  # type: ignore[arg-type]  # arguments of any tool
    return error.partition(". Guard: ")[2]


@pytest.mark.parametrize("fault", ["lost_request", "lost_ack", "late_commit", "error_after"])
def test_advice_sends_nothing_reads_nothing_and_asks_nobody(fault: str) -> None:
    one, other = (Client("charge", name, fault) for name in ("no_guard", "guard_advises"))
    for client in (one, other):
        client.call(key="k")
        client.call(key="k")
    assert one.sent == other.sent
    assert other.setting.escalations == []


def test_a_key_that_was_sent_is_to_be_sent_again() -> None:
    client = Client("charge", "guard_advises", "lost_ack", "all")
    same = f"send it anew with the same {KEY} and the same arguments."
    assert [advice(client, key="k") for _ in range(POLICY.attempts)] == [same] * POLICY.attempts
    assert KEY not in advice(client, key="k")


def test_another_key_makes_keys_useless() -> None:
    client = Client("charge", "guard_advises", "lost_ack", "all")
    assert KEY in advice(client, key="one")
    assert KEY not in advice(client, key="two")
    assert KEY not in advice(client, key="one")


def test_without_a_key_it_says_where_to_look_and_what_that_would_mean() -> None:
    look = "look with list_charges; to find nothing does not show that it did not happen."
    assert advice(Client("charge", "guard_advises", "lost_ack")) == look
    later = advice(Client("create_ticket", "guard_advises", "lost_ack"))
    assert re.fullmatch(r"look with \w+, in \d+ s; to find nothing does not show .*", later)


def heard_in(contract: str, task: str) -> list[Said]:
    """What an agent that keeps trying hears in an episode with advice."""
    spec = Spec(
        contract=contract,
        fault="lost_ack",
        attempts_hit="1",
        task=task,
        agent="read_then_retry",
        condition="guard_advises",
        seed=0,
    )
    world = world_of(spec)
    setting, condition = Setting(world, OPERATORS["fencing"]), CONDITIONS["guard_advises"]
    agent, sight = AGENTS[spec.agent], _sight(spec, world)
    stage = Stage(setting, condition, agent, sight, TASKS[task])
    stage.talk()
    return stage.said


def test_where_nothing_can_tell_it_says_to_leave_it_alone() -> None:
    texts = dict[str, str]()
    for contract, task in product(("native", "keys_everywhere"), TASKS):
        for said in heard_in(contract, task):
            call = said.asked.call
            texts.setdefault(f"{contract} {call.tool}", said.answer.partition("Guard: ")[2][:-2])
    heard = {tool: text for tool, text in texts.items() if text}
    assert heard["native send_dm"].startswith("nothing can tell what became of it; leave it alone")
    assert "shows that it did not happen only 18 s after" in heard["native trigger_deploy"]
    assert heard["native set_billing_email"] == "send it anew with the same arguments."
    assert not [text for text in heard.values() if FORBIDDEN.search(text)]


def test_what_is_refused_or_done_needs_no_advice() -> None:
    client = Client("charge", "guard_advises", "none")
    assert "Guard" not in str(client.call(amount="much"))
    assert client.call()["amount"] == 1


def test_a_refusal_is_no_send_that_may_have_run() -> None:
    client = Client("charge", "guard_advises", "none")
    client.call(amount="much")
    assert list(client.setting.kept["guard_advises"].values()) == [[]]
