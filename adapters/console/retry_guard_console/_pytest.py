"""The plugin for pytest: a fixture that puts an agent scaffold through the fault sandbox.

It imports nothing of the sandbox before a test asks for the fixture.
"""

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from retry_guard_sandbox import evaluation

OPTION = "--retry-guard-episode"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that replays one episode."""
    parser.getgroup("retry-guard").addoption(
        OPTION,
        metavar="NAME",
        help="let `retry_guard_eval` run this episode only, and print what happened in it",
    )


@pytest.fixture
def retry_guard_eval(request: pytest.FixtureRequest) -> "Callable[..., evaluation.Evaluation]":
    """Put `function(prompt, tools)` through the fault sandbox, in this process.

    `retry_guard_eval(my_agent, faults=["lost_ack"]).assert_passes()`. Keyword arguments:
    `contracts`, `faults`, `services`, `tasks`, `attempts_hit`, `reads_hit` (lists of names),
    `operator`, `seeds` (how many draws), `timeout` (seconds of real time for each episode). What
    is not given is as in `retry-guard eval`.
    """
    only: str | None = request.config.getoption(OPTION)
    again = f"pytest {shlex.quote(request.node.nodeid)} {OPTION} "

    def run(
        function: "evaluation.Scaffold",
        *,
        operator: str | None = None,
        seeds: int = 1,
        timeout: float = 60.0,
        **names: Sequence[str],
    ) -> "evaluation.Evaluation":
        __tracebackhide__ = True
        plan = _plan(only, names, operator, seeds)
        found = plan if isinstance(plan, str) else _evaluated(function, plan, timeout, again)
        if isinstance(found, str):
            pytest.fail(f"retry_guard_eval: {found}", pytrace=False)
        if only is not None:
            _show(found)
        return found

    return run


def _plan(
    only: str | None, names: dict[str, Sequence[str]], operator: str | None, seeds: int
) -> "evaluation.Plan | str":
    """Return the plan, or what is wrong with what was asked for."""
    from retry_guard_sandbox import GridError, evaluation

    lists = {name: (v,) if isinstance(v, str) else tuple(v) for name, v in names.items()}
    try:
        if only is not None:
            return evaluation.plan_of(only)
        return evaluation.Plan(
            operator=operator or evaluation.NOBODY,
            seeds=tuple(range(seeds)),
            **lists,
        )
    except (GridError, TypeError) as error:
        return str(error)


def _evaluated(
    function: "evaluation.Scaffold", plan: "evaluation.Plan", timeout: float, again: str
) -> "evaluation.Evaluation | str":
    """Return the evaluation, or why there is none."""
    from retry_guard_sandbox import evaluation

    try:
        return evaluation.evaluate(function, plan, timeout=timeout, again=again)
    except evaluation.TargetError as error:
        return str(error)


def _show(evaluated: "evaluation.Evaluation") -> None:
    from retry_guard_console._eval_report import print_episode

    for episode in evaluated.episodes:
        print_episode(episode)
