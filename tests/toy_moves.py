"""What may happen in a run of the state machine: the strategies that its rules draw from."""

from typing import NamedTuple

from hypothesis import strategies as st

from toy_claims import LEASE, POLICY, TICK
from toy_world import BOUND, LAG, RETENTION, SEND, Outcome

UNKNOWN: tuple[Outcome, ...] = ("lost_request", "lost_ack", "late")
OUTCOMES: tuple[Outcome, ...] = ("ok", *UNKNOWN, "refused", "twice")
TURNS = ("t2", "t1", "t3", None)
MARGIN = BOUND + POLICY.send_timeout + POLICY.skew
EDGES = (
    *(TICK, SEND, LAG, BOUND - TICK, BOUND, BOUND + LAG, LEASE, LEASE + TICK, POLICY.poll),
    *(POLICY.deadline, RETENTION - MARGIN, RETENTION - BOUND, RETENTION + TICK),
)


class Move(NamedTuple):
    """What a caller does: how long after, in how many turns, and what its sends come to."""

    after: float
    steps: int
    outcome: Outcome
    turn: str | None


NUMBERS = st.integers(0, 5)
MOVES = st.builds(
    Move,
    after=st.just(0.0) | st.sampled_from(EDGES),
    steps=st.integers(1, 9),
    outcome=st.sampled_from(OUTCOMES),
    turn=st.sampled_from(TURNS),
)
BEFORE = st.sampled_from(("read", "hold", "send", "wait"))
FIRST = st.builds(
    Move,
    after=st.just(0.0),
    steps=st.integers(3, 12),
    outcome=st.sampled_from(UNKNOWN),
    turn=st.just("t1"),
)
