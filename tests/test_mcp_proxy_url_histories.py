"""Some histories over HTTP; `make fuzz` goes on with them for minutes."""

import os
from pathlib import Path

import pytest

from mcp_proxy_url_histories import histories, played
from mcp_proxy_works_sites import URLS, Way

SEED = int(os.environ.get("FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FUZZ_HISTORIES", "8"))


def test_no_action_takes_effect_twice_and_nobody_is_told_what_is_not_so(tmp_path: Path) -> None:
    problems = histories(tmp_path, range(SEED, SEED + COUNT))
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("way", URLS)
def test_without_the_guard_a_history_finds_something(tmp_path: Path, way: Way) -> None:
    problems = played(tmp_path / "h", 3, way, "contracts: []")
    assert any(" effects, at " in one for one in problems), problems
