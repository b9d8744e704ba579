"""The known failures: each condition shows what is known to be wrong with it, by count."""

from collections import Counter

import pytest

from retry_guard_sandbox import Row, Spec, run

WAITS = ("read_now", "wait_60", "wait_300", "wait_3600")
SHORT = ("comment", "open_ticket", "mail_minutes", "insert_order", "post_release")


def rows(condition: str, fault: str, tasks: tuple[str, ...] = SHORT, **more: object) -> list[Row]:
    """Return the rows of an agent that does one thing and stops, unless `more` says otherwise."""
    found = list[Row]()
    for task in tasks:
        named = {"agent": "give_up", "contract": "native", "attempts_hit": "1", "seed": 0, **more}
        found += run(Spec(condition=condition, fault=fault, task=task, **named))  # type: ignore[arg-type]  # fields by name
    assert all(row.error is None for row in found)
    return found


def outcomes(found: list[Row]) -> Counter[str]:
    """Count."""
    return Counter(row.outcome for row in found)


@pytest.mark.parametrize("fault", ["lost_ack", "late_commit", "redelivery", "reset_after"])
def test_sdk_retry_lowers_exactly_once_where_the_agent_had_left_it_alone(fault: str) -> None:
    """It executes unseen what the agent itself would not have sent again."""
    alone, retried = (outcomes(rows(arm, fault)) for arm in ("no_guard", "sdk_retry"))
    assert retried["exactly_once"] == 0
    assert retried["duplicate"] == len(SHORT)
    assert alone["exactly_once"] == (0 if fault == "redelivery" else len(SHORT))


def test_read_now_duplicates_on_a_lag_and_on_a_late_commit() -> None:
    assert outcomes(rows("read_now", "lost_ack", ("open_ticket", "mail_minutes"))) == {
        "duplicate": 2
    }
    assert outcomes(rows("read_now", "late_commit", ("comment", "insert_order"))) == {
        "duplicate": 2
    }


def test_every_wait_duplicates_under_a_heavy_tail_and_a_longer_one_less_often() -> None:
    counts = [
        sum(
            outcomes(rows(wait, "late_commit_heavy_tail", ("comment",), seed=seed))["duplicate"]
            for seed in range(30)
        )
        for wait in WAITS
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1] > 0


def test_an_hour_of_waiting_costs_an_hour() -> None:
    (row,) = rows("wait_3600", "lost_request", ("comment",))
    assert row.outcome == "exactly_once"
    assert row.seconds > 3600


def test_waiting_does_not_replace_keys_and_the_guard_with_keys_needs_no_hour() -> None:
    for seed in range(10):
        (row,) = rows(
            "guard", "late_commit_heavy_tail", ("comment",), contract="keys_everywhere", seed=seed
        )
        assert row.outcome == "exactly_once"
        assert row.seconds < 90


def test_argument_hash_blocks_a_deliberate_repeat() -> None:
    asked = {"harness": "deliberate_repeat", "agent": "retry"}
    assert outcomes(rows("argument_hash", "none", ("comment",), **asked)) == {"omission": 1}
    for arm in ("no_guard", "guard"):
        assert outcomes(rows(arm, "none", ("comment",), **asked)) == {"exactly_once": 1}


def test_argument_hash_lets_a_reworded_repeat_through() -> None:
    """The first one succeeds, the model does not hear of it, and words the call anew."""
    reworded = {"harness": "paraphrase", "agent": "retry"}
    for arm, outcome in (("argument_hash", "duplicate"), ("guard", "exactly_once")):
        first, *_twins = rows(arm, "none", ("comment",), **reworded)
        assert first.outcome == outcome


def test_argument_hash_stops_a_second_equal_call_only_once_the_first_has_succeeded() -> None:
    twice = {"agent": "double_emit"}
    assert outcomes(rows("argument_hash", "none", ("comment",), **twice)) == {"exactly_once": 1}
    assert outcomes(rows("no_guard", "none", ("comment",), **twice)) == {"duplicate": 1}
    assert outcomes(rows("argument_hash", "lost_ack", ("comment",), **twice)) == {"duplicate": 1}


def test_a_one_use_token_is_renewed_by_a_call_that_is_planned_anew() -> None:
    replanned = rows("one_use_token", "lost_ack", agent="retry")
    assert outcomes(replanned) == {"duplicate": len(SHORT)}
    assert outcomes(rows("one_use_token", "none", ("comment",), agent="double_emit")) == {
        "duplicate": 1
    }


def test_never_retry_omits_and_always_escalate_asks_for_nothing() -> None:
    lost = outcomes(rows("never_retry", "lost_request", agent="retry"))
    assert lost == {"omission": len(SHORT)}
    strong = rows("always_escalate", "lost_ack", ("comment", "insert_order"), agent="retry")
    assert [(r.outcome, r.escalated, r.escalation_needed) for r in strong] == [
        ("exactly_once", True, False)
    ] * 2


def test_finishing_as_uncertain_leaves_a_write_to_a_person() -> None:
    """Once for each write whose last answer left it open, and only if that is claimed."""
    for agent in ("give_up", "escalate"):
        (row,) = rows("no_guard", "lost_ack", ("comment",), agent=agent)
        assert (row.claimed, row.escalated, row.escalation_needed) == ("uncertain", True, False)
        (row,) = rows("no_guard", "lost_request", ("comment",), agent=agent)
        assert (row.claimed, row.escalated, row.escalation_needed) == ("uncertain", True, True)
    (row,) = rows("no_guard", "lost_ack", ("comment",), agent="retry")
    assert (row.claimed, row.escalated) == ("done", False)
    two = rows("no_guard", "lost_request", ("open_two_tickets",), agent="give_up")
    assert [row.escalated for row in two] == [True, False]
    two = rows("no_guard", "lost_request", ("open_two_tickets",), agent="escalate")
    assert [row.escalated for row in two] == [True, True]


def test_what_the_guard_had_handed_over_is_not_counted_again_for_the_agent() -> None:
    found = rows("guard", "redelivery", ("comment",), agent="retry")
    assert [(r.claimed, r.escalated, r.escalation_needed) for r in found] == [
        ("uncertain", True, True)
    ]
