"""Models as agents: one loop for all APIs, which adds nothing and leaves nothing out."""

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from retry_guard_sandbox import CutShortError, Grid, Row, Spec, run
from retry_guard_sandbox.conditions import CONDITIONS
from retry_guard_sandbox.conditions._caller import fresh_ledger
from retry_guard_sandbox.models import (
    Access,
    Cast,
    ModelError,
    Price,
    Purse,
    Run,
    opening_line,
    prices_of,
    read_transcript,
)
from retry_guard_sandbox.models._dialect import Usage
from retry_guard_sandbox.models._player import LOST
from retry_guard_sandbox.models._run import GIVE_UP
from sandbox_endpoint import GIVEN, MADE, PROVIDERS, Endpoint, listening

SPEC = Spec(
    contract="native",
    fault="late_commit",
    attempts_hit="1",
    task="charge_invoice",
    agent="",
    condition="no_guard",
    seed=0,
)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "sk-of-a-test")


@pytest.fixture(scope="module")
def served() -> Iterator[Endpoint]:
    with listening() as endpoint:
        yield endpoint


@pytest.fixture
def endpoint(served: Endpoint) -> Endpoint:
    served.bodies.clear()
    served.turns.clear()
    return served


def play(
    endpoint: Endpoint,
    specs: Sequence[Spec],
    *,
    jobs: int = 1,
    purse: Purse | None = None,
    timeout: float = 20,
) -> tuple[list[Row], Run, list[str]]:
    """Play episodes; return their rows, what the run met, and the transcript."""
    names = tuple(dict.fromkeys(spec.agent for spec in specs))
    cast = Cast(names, Access(base_url=endpoint.url, timeout=timeout, retries=0), purse or Purse())
    met, lines, rows = Run(), [opening_line(len(specs))], list[Row]()
    try:
        for row in met.live(specs, cast, jobs=jobs, progress=print, stop=bool, record=lines.append):
            rows.append(row)
    except CutShortError as error:
        met.troubles[f"cut short: {error}"] += 1
    finally:
        cast.close()
    return rows, met, lines


def again(lines: Sequence[str]) -> list[Row]:
    """Replay a transcript."""
    return list(Run().replayed(read_transcript(lines), progress=print, stop=bool))


def alike(row: Row, agent: str) -> Row:
    return replace(row, agent=agent, tokens=None)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_an_agent_does_by_itself_it_does_through_every_api(
    provider: str, endpoint: Endpoint
) -> None:
    """Also where a harness kills its process, or calls twice: the loop loses nothing."""
    for agent, harness in (
        ("retry", "none"),
        ("read_then_retry", "none"),
        ("double_emit", "none"),
        ("new_key", "crash_resume"),
        ("retry", "transport_replay"),
    ):
        specs = Grid(
            models=(f"{provider}:{agent}",),
            agents=(),
            contracts=("native",),
            tasks=("find_and_refund",),
            faults=("lost_ack",),
            attempts_hit=("1",),
            harness=(harness,),
        ).specs()
        rows, met, lines = play(endpoint, specs, jobs=2)
        assert not met.troubles
        own = [row for spec in specs for row in run(replace(spec, agent=agent))]
        assert [alike(row, agent) for row in rows] == own
        assert all(row.tokens is not None and row.tokens % (GIVEN + MADE) == 0 for row in rows)
        assert again(lines) == rows


def test_a_row_has_the_tokens_of_its_episode(endpoint: Endpoint) -> None:
    rows, _, _ = play(endpoint, [replace(SPEC, agent="anthropic:give_up", fault="none")])
    assert [row.tokens for row in rows] == [2 * (GIVEN + MADE)]
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_arms_differ_in_nothing_that_a_model_is_told_but_what_they_name(
    provider: str, endpoint: Endpoint
) -> None:
    first: dict[str, str] = {}
    for condition in CONDITIONS:
        endpoint.bodies.clear()
        play(endpoint, [replace(SPEC, agent=f"{provider}:blind", condition=condition)])
        first[condition] = json.dumps(endpoint.bodies[0])
    plain = first.pop("no_guard")
    hidden = first.pop("guard_hidden_key")
    assert "idempotency_key" in plain
    assert "idempotency_key" not in hidden
    for condition, body in first.items():
        suffix = json.dumps(CONDITIONS[condition].suffix)[1:-1]
        assert body.replace(suffix, "") == plain
        assert (body != plain) == bool(suffix)


def test_seeds_decide_the_faults_and_nothing_that_a_model_is_told(endpoint: Endpoint) -> None:
    for seed in (0, 1):
        play(endpoint, [replace(SPEC, agent="openai:blind", seed=seed)])
    assert endpoint.bodies[0] == endpoint.bodies[1]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_who_never_calls_finish_has_claimed_nothing(provider: str, endpoint: Endpoint) -> None:
    (row,), met, _ = play(endpoint, [replace(SPEC, agent=f"{provider}:chatty")])
    assert (row.claimed, row.error, row.outcome) == (None, None, "omission")
    assert not met.troubles


@pytest.mark.parametrize("provider", PROVIDERS[:2])
def test_calls_that_make_no_sense_are_answered_and_nothing_is_sent(
    provider: str, endpoint: Endpoint
) -> None:
    (row,), _, lines = play(endpoint, [replace(SPEC, agent=f"{provider}:clumsy", fault="none")])
    assert (row.claimed, row.outcome, row.calls) == ("done", "exactly_once", 1)
    told = lines[1]
    assert told.count("the arguments are no JSON") == 2
    for what in (
        "the arguments are no object",
        "check the parameter status: one of done, uncertain, failed",
        "there is no tool poet: use one of charge, ",
    ):
        assert told.count(what) == 1


def test_what_stands_after_finish_in_a_message_is_not_carried_out(endpoint: Endpoint) -> None:
    (row,), _, _ = play(endpoint, [replace(SPEC, agent="openai:hasty", fault="none")])
    assert (row.claimed, row.outcome, row.calls) == ("done", "exactly_once", 1)


def test_a_model_that_goes_round_in_circles_ends_in_an_error(endpoint: Endpoint) -> None:
    (row,), _, lines = play(endpoint, [replace(SPEC, agent="openai:stubborn")])
    assert (row.outcome, row.error, len(endpoint.bodies)) == ("error", "BudgetError", 40)
    assert again(lines) == [row]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_in_a_later_turn_the_user_speaks_in_the_same_conversation(
    provider: str, endpoint: Endpoint
) -> None:
    spec = replace(SPEC, agent=f"{provider}:retry", fault="none", harness="deliberate_repeat")
    (row,), _, lines = play(endpoint, [spec])
    assert (row.intended, row.claimed) == (2, "done")
    last = json.dumps(endpoint.bodies[-1])
    assert last.count("Charge customer cus_ada") == 1
    assert last.count("Now I want all of this once more, on purpose") == 1
    assert again(lines) == [row]


def test_a_call_whose_process_died_is_answered_in_the_next_turn(endpoint: Endpoint) -> None:
    spec = replace(
        SPEC,
        agent="anthropic:retry",
        condition="guard",
        fault="none",
        harness="user_retry",
        seed=1,
    )
    (row,), met, _ = play(endpoint, [spec])
    assert not met.troubles
    assert (row.outcome, row.claimed) == ("exactly_once", "done")
    told = endpoint.bodies[-1]["messages"]
    assert json.loads(LOST)["error"] in json.dumps(told)
    assert "This does not seem to have been done. Please see to it: Charge" in json.dumps(told)


def test_a_harness_whose_user_wants_what_no_prompt_says_is_for_scripts_only() -> None:
    grid = Grid(models=("openai:x",), agents=("retry",), harness=("paraphrase", "none"))
    assert {(spec.agent, spec.harness) for spec in grid.specs()} == {
        ("retry", "paraphrase"),
        ("retry", "none"),
        ("openai:x", "none"),
    }


def test_scripts_and_models_can_be_in_one_run(endpoint: Endpoint) -> None:
    specs = [replace(SPEC, agent=agent) for agent in ("openai:retry", "retry")]
    cast = Cast(("openai:retry",), Access(base_url=endpoint.url, retries=0), Purse())
    lines = [opening_line(2)]
    how = {"jobs": 1, "progress": print, "stop": bool, "record": lines.append}
    rows = list(Run().live(specs, cast, **how))  # type: ignore[arg-type]  # each is what it takes
    cast.close()
    assert alike(rows[0], "retry") == rows[1]
    assert again(lines) == rows


# Caps


def test_a_cap_ends_the_run_and_keeps_what_was_finished(endpoint: Endpoint) -> None:
    each = 2 * (GIVEN + MADE)
    specs = [replace(SPEC, agent="openai:give_up", fault="none", seed=seed) for seed in range(9)]
    for purse in (
        Purse(token_cap=5 * each - 1),
        Purse(cost_cap=4.9, prices={"openai:give_up": Price(1e6 / each, 1e6 / each)}),
    ):
        endpoint.bodies.clear()
        rows, met, lines = play(endpoint, specs, purse=purse)
        assert [row.seed for row in rows] == [0, 1, 2, 3, 4]
        assert len(endpoint.bodies) == 10
        (why,) = met.troubles
        assert why.endswith(" reached")
        with pytest.raises(CutShortError, match="holds no more"):
            again(lines)
        assert again([opening_line(5), *lines[1:]]) == rows


def test_a_cap_reached_within_an_episode_drops_it(endpoint: Endpoint) -> None:
    specs = [replace(SPEC, agent="openai:give_up", fault="none", seed=seed) for seed in (0, 1)]
    rows, met, lines = play(endpoint, specs, purse=Purse(token_cap=GIVEN + MADE))
    assert rows == []
    assert met.meter.episodes == 0
    assert len(lines) == 1
    assert len(endpoint.bodies) == 1


def test_no_cap_is_trusted_where_tokens_are_not_counted(endpoint: Endpoint) -> None:
    specs = [replace(SPEC, agent="openai:uncounted")]
    endpoint.turns["uncounted"] = (0, "uncounted")
    rows, met, _ = play(endpoint, specs, purse=Purse(token_cap=10**6))
    assert rows == []
    assert list(met.troubles) == [
        "cut short: an answer does not count its tokens, so no cap can hold"
    ]


def test_what_it_cost_is_counted_by_the_price_of_each() -> None:
    prices = prices_of(" openai:a/b=1/2 , anthropic:c=0.5/0 ")
    purse = Purse(prices=prices)
    purse.note("openai:a/b", Usage(1_000_000, 500_000))
    purse.note("anthropic:c", Usage(2_000_000, 7))
    assert (purse.tokens, purse.cost) == (3_500_007, 3.0)
    assert not Purse(token_cap=1).empty()
    purse.fit(["openai:a/b", "anthropic:c"])
    for names, said in ((["openai:a/b"], "anthropic:c: no --model"), (["x"], "none for x")):
        with pytest.raises(ModelError, match=said):
            purse.fit(names)


@pytest.mark.parametrize(
    "text", ["openai:x", "openai:x=1", "openai:x=a/b", "=1/2", "m=-1/2", "m=nan/1"]
)
def test_a_price_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"give MODEL=GIVEN/MADE"):
        prices_of(text)


# Endpoints that fail in the middle


def test_an_endpoint_that_is_gone_ends_the_run_and_keeps_what_was_finished(
    endpoint: Endpoint,
) -> None:
    specs = [replace(SPEC, agent="openai:give_up", fault="none", seed=seed) for seed in range(20)]
    endpoint.turns["give_up"] = (4, "too-many")
    rows, met, lines = play(endpoint, specs)
    assert [row.outcome for row in rows] == ["exactly_once"] * 2 + ["error"] * GIVE_UP
    assert {row.error for row in rows[2:]} == {"EndpointRefusedError"}
    said = "openai:give_up: HTTP 429: no: *** is not welcome"
    assert met.troubles[said] == GIVE_UP
    assert f"cut short: {GIVE_UP} episodes in a row ended so: {said}" in met.troubles
    assert "sk-of-a-test" not in "".join(lines)
    shorter = [opening_line(7), *lines[1:]]
    with pytest.raises(CutShortError):
        again(shorter)
    replayed = Run().replayed(read_transcript(shorter), progress=print, stop=bool)
    assert [next(replayed) for _ in range(7)] == rows


def test_one_episode_that_fails_leaves_the_others_alone(endpoint: Endpoint) -> None:
    specs = [
        replace(SPEC, agent=agent, fault="none")
        for agent in ("openai:give_up", "openai:torn") * (GIVE_UP + 1)
    ]
    rows, met, _ = play(endpoint, specs, jobs=3)
    assert [row.outcome for row in rows] == ["exactly_once", "error"] * (GIVE_UP + 1)
    assert list(met.troubles.values()) == [GIVE_UP + 1]


def test_whoever_stops_it_gets_what_was_finished(endpoint: Endpoint) -> None:
    specs = [replace(SPEC, agent="openai:give_up", fault="none", seed=seed) for seed in range(50)]
    cast = Cast(("openai:give_up",), Access(base_url=endpoint.url, retries=0), Purse())
    finished, rows = list[int](), list[Row]()
    for row in Run().live(
        specs, cast, jobs=2, progress=finished.append, stop=lambda: len(finished) >= 3
    ):
        rows.append(row)
    cast.close()
    assert len(rows) == len(finished) < 20
    assert [row.seed for row in rows] == sorted(row.seed for row in rows)


def test_many_at_once_leave_the_log_of_the_guard_as_it_was() -> None:
    log = logging.getLogger("retry_guard")
    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(fresh_ledger) for _ in range(2000)]:
            future.result()
    assert not log.disabled
