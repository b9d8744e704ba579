"""How late: after the client's time-out, before any stated bound, and for some by hours."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from retry_guard_sandbox.services import RETENTION, TOOLS
from retry_guard_sandbox.world._delays import AGAIN, LATE, TAIL, TAIL_SHAPE, heavy_tail, late
from retry_guard_sandbox.world._network import CLIENT_TIMEOUT
from retry_guard_sandbox.world._variants import ALL_VARIANTS
from sandbox_clients import HOME, FunctionCaller, Place

HOUR = 3600.0
BOUNDED = sorted(tool.name for tool in TOOLS.values() if tool.bound is not None)
LATE_FAULTS = ("late_commit", "late_commit_heavy_tail")


def _delay(fault: str, seed: int, tool: str = "charge") -> float:
    client = FunctionCaller(Place(tool=tool, fault=fault, seed=seed))
    begun = client.world.clock.time
    client.send()
    return client.effects()[0].at - begun


def test_copies_arrive_on_the_right_side_of_the_time_out() -> None:
    assert LATE[0] > CLIENT_TIMEOUT
    assert TAIL[0] > CLIENT_TIMEOUT
    assert AGAIN[1] < CLIENT_TIMEOUT


@given(share=st.floats(0, 1, exclude_max=True), high=st.floats(12.0, TAIL[1]))
def test_a_tail_is_the_pareto_distribution_that_is_cut_off(share: float, high: float) -> None:
    """Its distribution function, which is written down here anew, undoes it."""
    when = heavy_tail(share, high)

    def survival(seconds: float) -> float:
        return float((TAIL[0] / seconds) ** TAIL_SHAPE)

    assert TAIL[0] <= when <= high * (1 + 1e-12)
    assert (1 - survival(when)) / (1 - survival(high)) == pytest.approx(share, abs=1e-9)


def test_one_in_six_requests_outlasts_an_hour_after_the_time_out() -> None:
    """So who takes an hour for a bound is right in 84 % of the cases, as in the study."""
    share = 0.84
    assert heavy_tail(share - 0.005) < CLIENT_TIMEOUT + HOUR < heavy_tail(share + 0.005)


def test_episodes_draw_from_that_tail() -> None:
    drawn = sorted(_delay("late_commit_heavy_tail", seed) for seed in range(400))
    over = sum(delay > CLIENT_TIMEOUT + HOUR for delay in drawn) / len(drawn)
    assert 0.12 < over < 0.20
    for share in (0.1, 0.25, 0.5, 0.75):
        low, high = heavy_tail(share - 0.06), heavy_tail(share + 0.06)
        assert low < drawn[int(share * len(drawn))] < high + 0.3


def test_a_short_lateness_is_drawn_and_not_always_the_same() -> None:
    drawn = [_delay("late_commit", seed) for seed in range(20)]
    assert min(drawn) < 20
    assert max(drawn) > 35


def test_a_tail_ends_long_before_a_service_forgets_a_key() -> None:
    assert TAIL[1] <= 0.75 * RETENTION


@pytest.mark.parametrize("tool", BOUNDED)
def test_nothing_happens_after_the_bound_of_a_service_even_where_it_lies_about_it(
    tool: str,
) -> None:
    for contract, fault, seed in product(ALL_VARIANTS, LATE_FAULTS, range(20)):
        client = FunctionCaller(Place(tool=tool, fault=fault, contract=contract, seed=seed))
        bound = client.world.variant.facts.bounds.get(tool, TOOLS[tool].bound)
        begun = client.world.clock.time
        client.send()
        assert bound is not None
        assert all(begun + LATE[0] < effect.at < begun + bound for effect in client.effects())


@given(share=st.floats(0, 1, exclude_max=True), bound=st.floats(12.0, 100_000.0))
def test_no_request_arrives_too_late_to_end_before_a_bound(share: float, bound: float) -> None:
    for delay in ("short", "heavy_tail"):
        assert LATE[0] <= late(share, delay, bound) < bound - 0.3
    assert late(share, "short", None) < LATE[1]


def test_only_deploys_state_a_bound() -> None:
    assert [HOME[tool] for tool in BOUNDED] == ["deploy"]
