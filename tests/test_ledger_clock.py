"""The ledger's time, when the calendar is moved, the machine restarts or sleeps."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger_suite import BACKENDS, LEASE, HandClocks, began, new, settled, stored
from retry_guard_core import Now, Policy, Record, Terms, decide
from retry_guard_ledgers import LedgerError, MemoryLedger, OpenedLedger, SQLiteLedger, about
from retry_guard_ledgers._clock import boot_of, machine_clocks

HOUR = 3600.0
Open = Callable[[], OpenedLedger]


def near(earliest: float, latest: float) -> object:
    """These bounds, but for rounding."""
    return pytest.approx((earliest, latest), rel=0, abs=1e-3)


def near_to(time: float) -> object:
    """This time, but for rounding."""
    return pytest.approx(time, rel=0, abs=1e-3)


@pytest.fixture
def clocks() -> HandClocks:
    return HandClocks()


@pytest.fixture(params=sorted(BACKENDS))
def ledger(
    request: pytest.FixtureRequest, tmp_path: Path, clocks: HandClocks
) -> Iterator[OpenedLedger]:
    made = BACKENDS[request.param](tmp_path, clocks.raw())
    yield made
    made.close()


@pytest.fixture
def reopen(tmp_path: Path, clocks: HandClocks) -> Iterator[Open]:
    """Open the same file as another process would, with the clocks as they are then."""
    opened: list[OpenedLedger] = []

    def make() -> OpenedLedger:
        opened.append(SQLiteLedger(tmp_path / "ledger.db", clocks=clocks.raw()))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_both_bounds_are_the_calendar_while_it_is_left_alone(
    ledger: OpenedLedger, clocks: HandClocks
) -> None:
    for _ in range(3):
        assert ledger.now() == near(clocks.wall, clocks.wall)
        clocks.pass_(123.0)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_calendar_that_is_moved_widens_the_bounds_and_real_time_is_always_within(
    ledger: OpenedLedger, clocks: HandClocks, step: float
) -> None:
    real = clocks.wall
    clocks.wall += step
    clocks.pass_(10.0)
    now = ledger.now()
    assert now == near(min(real, real + step) + 10, max(real, real + step) + 10)


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_no_lease_ends_early_however_the_calendar_is_moved(
    ledger: OpenedLedger, clocks: HandClocks, step: float
) -> None:
    now = ledger.now()
    first = began(ledger, replace(new(time=now.latest), lease=now.latest + 30))
    clocks.wall += step
    for passed in (0.0, 15.0, 14.0):
        clocks.pass_(passed)
        now = ledger.now()
        assert ledger.claim(new(time=now.latest), None, now).owner == first.owner
    clocks.pass_(1.5 if step > 0 else 1.5 + HOUR)
    second = new(time=ledger.now().latest)
    assert ledger.claim(second, None, ledger.now()).owner == second.owner


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_wait_counts_the_smaller_elapsed_time_and_retention_the_larger(
    ledger: OpenedLedger, clocks: HandClocks, step: float
) -> None:
    """Rule 7, with the real table: no read that proves absence early, no key used late."""
    start = ledger.now().latest
    began(ledger, new(time=start))
    clocks.wall += step
    clocks.pass_(100.0)
    now = ledger.now()
    assert now.earliest - start <= 100.0 + 1e-3
    assert now.latest - start >= 100.0 - 1e-3
    read = Terms(tool="charge", read_back=True, lag=5.0, conclusive=True, bound=90.0)
    looked = replace(new(time=start), ended=start, seen="absent", read_at=now.earliest)
    proven = decide(read, looked, now, Policy(deadline=1e6)).row == "absent"
    assert proven is (step > 0), "with the calendar an hour back, too little time is sure"


@pytest.mark.parametrize(("step", "used"), [(0.0, True), (HOUR, False), (-HOUR, False)])
def test_a_key_is_used_only_where_both_clocks_say_that_the_server_knows_it(
    ledger: OpenedLedger, clocks: HandClocks, step: float, used: bool
) -> None:
    start = ledger.now().latest
    began(ledger, new(time=start))
    clocks.wall += step
    clocks.pass_(100.0)
    record = replace(new(time=start, key="k"), ended=start)
    keyed = Terms(tool="charge", keyed=True, retention=1000.0, bound=10.0)
    assert (decide(keyed, record, ledger.now(), Policy()).row == "keyed") is used


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_processes_that_start_before_and_after_a_step_agree_while_anything_is_open(
    reopen: Open, clocks: HandClocks, step: float
) -> None:
    old = reopen()
    now = old.now()
    first = began(old, replace(new(time=now.latest), lease=now.latest + 30))
    clocks.wall += step
    clocks.pass_(20.0)
    fresh = reopen()
    assert fresh.now() == old.now()
    assert fresh.claim(new(), None, fresh.now()).owner == first.owner
    clocks.pass_(20.0)
    clocks.wall -= step
    assert fresh.now() == near(clocks.wall, clocks.wall)
    second = new(time=clocks.wall)
    assert fresh.claim(second, None, fresh.now()).owner == second.owner


def test_with_nothing_open_the_time_is_set_anew_and_every_process_follows(
    reopen: Open, clocks: HandClocks
) -> None:
    old, other = reopen(), reopen()
    clocks.wall += HOUR
    clocks.pass_(100.0)
    assert old.now() == near(clocks.wall - HOUR, clocks.wall)
    old.claim(new(time=clocks.wall), None, old.now())
    assert old.now() == near(clocks.wall, clocks.wall)
    assert other.now() == near(clocks.wall - HOUR, clocks.wall), "not yet"
    other.claim(new(b"2", time=clocks.wall), None, other.now())
    assert other.now() == old.now()


def test_a_memory_ledger_with_nothing_open_sets_its_time_anew(tmp_path: Path) -> None:
    clocks = HandClocks()
    ledger = BACKENDS["memory"](tmp_path, clocks.raw())
    record = began(ledger, new(time=clocks.wall))
    clocks.wall += HOUR
    ledger.claim(new(), None, ledger.now())
    assert ledger.now() == near(clocks.wall - HOUR, clocks.wall), "one is open"
    assert ledger.save(settled(record))
    ledger.claim(new(b"2"), None, ledger.now())
    assert ledger.now() == near(clocks.wall, clocks.wall)


def begun_by_a_clock_that_went_back(
    holder: OpenedLedger, other: OpenedLedger, clocks: HandClocks
) -> tuple[Record, Now]:
    """A live call of `holder`, and the time as `other` reads it before it knows of the anchor.

    The calendar was an hour back when the call was begun, and is right again two seconds later.
    """
    clocks.pass_(10.0)
    clocks.wall -= HOUR
    clocks.pass_(5.0)
    holder.claim(new(b"first", time=clocks.wall), None, holder.now())
    holder.save(settled(holder.list()[0], time=clocks.wall))
    clocks.pass_(5.0)
    now = holder.now()
    live = began(holder, replace(new(time=now.latest), lease=now.latest + 30))
    clocks.pass_(1.0)
    clocks.wall += HOUR
    clocks.pass_(1.0)
    now = other.now()
    assert now.earliest > live.lease, "it is out by the anchor that this process still has"
    return live, now


@pytest.mark.parametrize("soon", [False, True])
def test_a_live_call_is_not_taken_over_by_a_time_read_before_the_clock_was_set_anew(
    reopen: Open, clocks: HandClocks, soon: bool
) -> None:
    """`soon`: the other process claimed a moment ago, so it does not look for drift again."""
    holder, other = reopen(), reopen()
    if soon:
        clocks.pass_(21.0)
        other.claim(new(b"idle"), None, other.now())
        other.save(settled(other.list(state="open")[0]))
        clocks.pass_(-21.0)
    live, now = begun_by_a_clock_that_went_back(holder, other, clocks)
    assert other.claim(new(time=now.latest), None, now) == live
    assert other.now() == holder.now()
    clocks.pass_(27.0)
    assert other.claim(new(time=now.latest), None, other.now()) == live
    clocks.pass_(2.0)
    second = new(time=other.now().latest)
    assert other.claim(second, None, other.now()).owner == second.owner, "by now it is out"


def test_an_operator_does_not_end_a_live_call_by_a_time_read_before_the_clock_was_set_anew(
    reopen: Open, clocks: HandClocks
) -> None:
    holder, other = reopen(), reopen()
    live, now = begun_by_a_clock_that_went_back(holder, other, clocks)
    with pytest.raises(LedgerError, match="held by a call that runs"):
        other.resolve("acme", about(live).id, "abandon", now=now)
    assert stored(holder, live) == live


@pytest.mark.parametrize("kind", ["claimed", "settled_at", "ended", "read_at", "lease"])
@pytest.mark.parametrize("back", [10.0, HOUR])
def test_a_calendar_set_back_does_not_move_the_time_behind_what_is_recorded(
    ledger: OpenedLedger, clocks: HandClocks, back: float, kind: str
) -> None:
    start = clocks.wall
    record = settled(began(ledger, new(time=start - HOUR)), time=start - HOUR, lease=start - HOUR)
    times: dict[str, Any] = {kind: start}
    assert ledger.save(replace(record, **times))
    clocks.pass_(2.0)
    clocks.wall -= back
    ledger.claim(new(b"2", time=ledger.now().latest), None, ledger.now())
    assert ledger.now() == near(clocks.wall, start)
    clocks.pass_(back)
    assert ledger.now().latest > start


def test_after_a_calendar_that_was_days_ahead_the_time_is_the_calendars_again(
    ledger: OpenedLedger, clocks: HandClocks
) -> None:
    clocks.wall += 100 * HOUR
    record = began(ledger, new(time=clocks.wall))
    assert ledger.save(settled(record, time=clocks.wall))
    clocks.wall -= 100 * HOUR
    clocks.pass_(100.0)
    ledger.claim(new(b"2", time=clocks.wall), None, ledger.now())
    assert ledger.now() == near(clocks.wall, clocks.wall)


def test_a_call_that_was_stamped_by_an_older_anchor_holds_its_lease_by_the_new_one(
    ledger: OpenedLedger, reopen: Open, clocks: HandClocks
) -> None:
    """Stamped while the calendar was back, claimed when it went on again."""
    holder = reopen() if isinstance(ledger, SQLiteLedger) else ledger
    now = holder.now()
    clocks.pass_(5.0)
    clocks.wall += HOUR
    if holder is not ledger:
        ledger.claim(new(b"first", time=clocks.wall), None, ledger.now())
    stamped = replace(new(time=now.latest), lease=now.latest + LEASE)
    assert holder.claim(stamped, None, now).lease == near_to(clocks.wall + LEASE)
    clocks.pass_(LEASE - 1)
    assert ledger.claim(new(time=clocks.wall), None, ledger.now()).owner == stamped.owner


def test_where_processes_share_no_boot_their_time_never_goes_back(
    reopen: Open, clocks: HandClocks
) -> None:
    clocks.boot = ""
    ledger = reopen()
    start = clocks.wall
    clocks.wall -= HOUR
    clocks.pass_(2.0)
    ledger.claim(new(time=clocks.wall), None, ledger.now())
    assert ledger.now() == near(start - HOUR + 2, start + 2)


@pytest.mark.parametrize("away", [5.0, -HOUR, 48 * HOUR])
def test_after_a_boot_time_does_not_go_back_behind_what_is_open(
    reopen: Open, clocks: HandClocks, away: float
) -> None:
    """`away`: by how much the calendar of the new boot differs from when the old one ended."""
    old = reopen()
    start = old.now().latest
    began(old, new(time=start))
    clocks.steady, clocks.boot, clocks.wall = 3.0, "boot 2", start + away
    fresh = reopen()
    now = fresh.now()
    assert now.latest >= start - 1e-3
    assert now == near(start + away, max(start, start + away))
    assert reopen().now() == now


def test_two_boots_on_one_file_keep_their_own_anchors(reopen: Open, clocks: HandClocks) -> None:
    """As two machines, or two time namespaces, that share the file."""
    one = reopen()
    began(one, new(time=clocks.wall))
    clocks.boot, clocks.steady = "boot 2", 7.0
    two = reopen()
    assert two.now() == near(clocks.wall, clocks.wall)
    assert one.now() == near(clocks.wall - 993.0, clocks.wall), "it reads another's clock"
    clocks.boot, clocks.steady = "boot 1", 1_000.0
    assert reopen().now() == near(clocks.wall, clocks.wall)


def test_without_a_named_boot_each_process_has_its_own_anchor(
    reopen: Open, clocks: HandClocks
) -> None:
    clocks.boot = ""
    old = reopen()
    began(old, new(time=clocks.wall))
    clocks.wall += HOUR
    assert old.now() == near(clocks.wall - HOUR, clocks.wall)
    assert reopen().now() == near(clocks.wall, clocks.wall)


def test_time_passes_while_the_machine_sleeps(reopen: Open, clocks: HandClocks) -> None:
    """The steady clock counts suspension: a holder that wakes up finds its lease over."""
    ledger = reopen()
    now = ledger.now()
    first = began(ledger, replace(new(time=now.latest), lease=now.latest + 30))
    clocks.pass_(HOUR)
    second = new(time=ledger.now().latest)
    assert ledger.claim(second, None, ledger.now()).owner == second.owner
    assert stored(ledger, first).ended == first.lease


def test_an_action_that_nobody_finished_an_hour_ago_is_never_refused_for_good(
    ledger: OpenedLedger, clocks: HandClocks
) -> None:
    """B62: one second before the lease it is held, one second after it is investigated."""
    now = ledger.now()
    first = began(ledger, replace(new(time=now.latest), lease=now.latest + 30))
    clocks.pass_(29.0)
    assert ledger.claim(new(), None, ledger.now()).owner == first.owner
    clocks.pass_(2.0)
    second = replace(new(time=ledger.now().latest), lease=ledger.now().latest + 30)
    assert ledger.claim(second, None, ledger.now()).owner == second.owner
    clocks.pass_(HOUR)
    ledger.resolve("acme", about(first).id, "abandon", now=ledger.now())
    assert stored(ledger, first).state == "abandoned"


def test_the_machines_clocks_are_real_and_go_on() -> None:
    clocks = machine_clocks()
    steady, wall = clocks.steady(), clocks.wall()
    assert clocks.steady() >= steady
    assert clocks.wall() > 1_600_000_000 < wall
    assert machine_clocks().boot == clocks.boot


def test_where_the_clock_counts_from_is_looked_up_once_in_each_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    boot_of.cache_clear()
    here = machine_clocks().boot

    def read_text(_path: Path, encoding: str) -> str:
        return f"another boot, in {encoding}"

    monkeypatch.setattr(Path, "read_text", read_text)
    assert machine_clocks().boot == here
    monkeypatch.setattr(os, "getpid", lambda: 0)
    assert machine_clocks().boot.startswith("another boot")
    boot_of.cache_clear()


@pytest.mark.parametrize("ahead", [-4 * 365 * 86_400.0, 4 * 365 * 86_400.0])
def test_a_caller_with_a_clock_of_its_own_is_judged_by_that_clock(
    ahead: float, tmp_path: Path
) -> None:
    """A sandbox's time is years off, and its leases end by that time all the same."""
    for kept in (MemoryLedger(), SQLiteLedger(tmp_path / "guard.db")):
        start = kept.now().earliest + ahead
        first = new(time=start, owner="first")
        kept.claim(first, None, Now(start, start))
        late = start + LEASE + 1
        held = kept.claim(new(time=late, owner="second"), None, Now(late, late))
        assert held.owner == "second"
        kept.close()
