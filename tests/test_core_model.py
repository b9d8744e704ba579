"""Callers, crashes, time and operators in any order, held against a small reference model."""

from dataclasses import replace
from functools import partial
from statistics import median

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from toy_machine import Guarded, Setting, Tally
from toy_world import KEY, NONE, READ, RETENTION

EXAMPLES = 420
PROFILE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
SETTINGS = {
    "nothing": Setting(terms=NONE),
    "a key": Setting(terms=KEY),
    "a read-back": Setting(terms=READ),
    "a key and a read-back": Setting(terms=replace(READ, keyed=True, retention=RETENTION)),
    "a read-back that shows what others made": Setting(terms=READ, exclusive=False),
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_whatever_callers_time_and_operators_do_the_model_allows_it(setting: Setting) -> None:
    """And it was put to the test: half of the examples send twice, and nearly all come to be."""
    tally = Tally()
    run_state_machine_as_test(partial(Guarded, setting, tally), settings=PROFILE)
    assert len(tally.sends) >= EXAMPLES
    assert min(tally.sends) >= 1
    assert median(tally.sends) >= 2
    assert median(tally.steps) >= 6
