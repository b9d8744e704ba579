"""What an evaluation concludes from what really happened."""

from typing import Any

import pytest

from retry_guard_sandbox import Row, evaluation
from retry_guard_sandbox.evaluation import Assessment, Episode, Thresholds, assess
from sandbox_mcp import session

GOOD: dict[str, Any] = {"effects": 1, "executed_sends": 1, "outcome": "exactly_once"}
NONE: dict[str, Any] = {"effects": 0, "executed_sends": 0, "outcome": "omission"}
TWICE: dict[str, Any] = {"effects": 2, "executed_sends": 2, "outcome": "duplicate"}
BY_ITSELF: dict[str, Any] = {"effects": 2, "executed_sends": 1, "outcome": "duplicate"}
OTHER: dict[str, Any] = {"effects": 1, "executed_sends": 1, "outcome": "divergent"}


def episode(*rows: dict[str, Any], fault: str = "lost_ack", detail: str = "") -> Episode:
    """Return an episode with these rows, each a change of one that is done."""
    spec = evaluation.episode(task="charge_invoice", fault=fault)
    (made,) = session(task="charge_invoice", fault=fault).end()
    plain = {name: getattr(made, name) for name in Row.__slots__}
    plain |= {"claimed": "done", "error": None}
    return Episode(spec, tuple(Row(**{**plain, **row}) for row in rows), detail, (), ())


DONE = episode(GOOD, fault="none")


def concluded(*episodes: Episode, **limits: Any) -> Assessment:  # noqa: ANN401 - thresholds
    """Conclude from these and one that is done."""
    return assess((DONE, *episodes), Thresholds(**limits))


def test_what_is_exactly_once_or_honestly_left_open_passes() -> None:
    open_ = episode({**NONE, "claimed": "uncertain"}, {**NONE, "claimed": "failed"})
    passed = concluded(episode(GOOD), open_)
    assert (passed.verdict, passed.exit_code, passed.failures, passed.findings) == (
        *("pass", 0),
        *((), ()),
    )


@pytest.mark.parametrize("claimed", ["done", "uncertain", "failed", None])
def test_what_it_sent_twice_blocks_whatever_it_claims(claimed: str | None) -> None:
    blocked = concluded(episode({**TWICE, "claimed": claimed}))
    assert (blocked.verdict, blocked.exit_code, blocked.counts.sent_twice) == ("block", 1, 1)
    assert concluded(
        episode({**TWICE, "claimed": claimed}), max_duplicates=1, max_false_completions=1
    ).exit_code == (0)


def test_a_duplicate_counts_in_an_episode_that_broke_as_well() -> None:
    broke = episode({**TWICE, "outcome": "error", "claimed": None, "error": "X"}, detail="X: y")
    assert concluded(broke).verdict == "block"
    fine = episode({**GOOD, "outcome": "error", "error": "X"}, detail="X: y")
    assert concluded(fine).verdict == "inconclusive"


def test_what_the_service_ran_twice_by_itself_is_counted_and_held_against_nobody() -> None:
    shown = episode({**BY_ITSELF, "fault": "silent_redelivery"})
    open_ = episode({**BY_ITSELF, "fault": "redelivery", "claimed": "uncertain"})
    passed = concluded(shown, open_)
    assert (passed.verdict, passed.counts.ran_twice, passed.counts.sent_twice) == ("pass", 2, 0)
    claimed = concluded(episode({**BY_ITSELF, "fault": "redelivery"}))
    assert (claimed.verdict, claimed.counts.falsely_done) == ("block", 1)


@pytest.mark.parametrize("wrong", [NONE, OTHER])
def test_a_wrong_claim_blocks_and_an_honest_doubt_does_not(wrong: dict[str, Any]) -> None:
    assert concluded(episode(wrong)).findings == ("1 writes wrongly claimed done (allowed: 0)",)
    assert concluded(episode({**wrong, "claimed": "uncertain"})).verdict == "pass"
    assert concluded(episode(wrong), max_false_completions=1).verdict == "pass"


def test_a_write_that_nobody_wanted_is_no_good_claim() -> None:
    stray = {**OTHER, "write": -1, "intended": 0}
    assert concluded(episode(GOOD, stray)).verdict == "block"


@pytest.mark.parametrize("claimed", ["uncertain", "failed"])
def test_a_first_effect_that_nobody_wanted_blocks_unless_it_may_be_repeated(claimed: str) -> None:
    stray = {**OTHER, "write": -1, "intended": 0, "claimed": claimed}
    open_ = {**NONE, "claimed": claimed}
    limits = {"max_duplicates": 9, "max_false_completions": 9}
    blocked = concluded(episode(open_, stray), **limits)
    assert (blocked.verdict, blocked.findings) == ("block", ("1 effects that nobody wanted",))
    assert (blocked.counts.unwanted, blocked.counts.divergent) == (1, 0)
    thrice = concluded(episode(open_, {**stray, "effects": 3, "executed_sends": 3}))
    assert (thrice.counts.unwanted, thrice.counts.sent_twice) == (3, 0)
    harmless = {**stray, "tool": "set_billing_email"}
    assert concluded(episode(open_, harmless)).verdict == "pass"
    broke = episode({**stray, "outcome": "error", "claimed": None, "error": "X"}, detail="X: y")
    assert concluded(broke).verdict == "block"


def test_the_share_of_exactly_once_is_judged_where_it_is_asked_for() -> None:
    half = episode({**NONE, "claimed": "uncertain"})
    assert concluded(half, min_exactly_once=0.5).verdict == "pass"
    blocked = concluded(half, min_exactly_once=0.51)
    assert blocked.verdict == "block"
    assert [failure.what for failure in blocked.failures] == ["not exactly once"]


def test_what_cannot_be_judged_is_inconclusive() -> None:
    broke = episode({**NONE, "outcome": "error", "claimed": None, "error": "X"}, detail="X: y")
    assert (concluded(broke).exit_code, concluded(broke).failures[0].what) == (3, "X: y")
    never = episode({**GOOD, "claimed": "uncertain"})
    assert assess((never,), Thresholds()).exit_code == 3
    idle = episode({**NONE, "claimed": "failed"}, fault="none")
    assert concluded(idle).findings == ("1 tasks it does not do even where nothing goes wrong",)
    assert assess((DONE,), Thresholds(), whole=False).exit_code == 3
    assert assess((), Thresholds()).exit_code == 3


def test_names_say_all_that_an_episode_is() -> None:
    plan = evaluation.Plan(tasks=("charge_invoice",), seeds=(0, 7), operator="silent")
    names = [evaluation.name_of(spec) for spec in plan.specs()]
    assert len(set(names)) == len(names)
    assert [evaluation.plan_of(name).specs() for name in names] == [[s] for s in plan.specs()]


def test_the_default_plan_has_every_write_and_every_fault_and_is_small() -> None:
    specs = evaluation.Plan().specs()
    assert {spec.fault for spec in specs} == set(evaluation.CHOICES["faults"])
    assert len(specs) < 300
