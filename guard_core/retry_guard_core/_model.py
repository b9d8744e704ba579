"""The core's vocabulary: a tool's terms, the operator's policy, the record of one action.

Every duration is in seconds, every time in seconds since the epoch.
"""

from collections.abc import Generator
from dataclasses import dataclass
from math import inf as inf  # noqa: PLC0414 - "not stated", also in the decision
from typing import Any, Literal, NamedTuple


class GuardError(Exception):
    """Base of every error that the guard raises by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a tool's contract says that a decision needs.

    `effect`: a `read` changes nothing; repeating an `idempotent` write is harmless.
    `keyed`: the server honours a key that travels with the call (so that a re-issue under it
    also completes what ended in part), and remembers it for
    `retention` from the first send (None: not stated). With `errors_stored` it answers a
    known key with the error that it gave first.
    `read_back`: a declared read shows the effect, at the latest `lag` after it.
    `conclusive`: an empty read can prove absence, since `lag` is stated, the read shows whether
    its list is cut, and effects never leave that list.
    `bound`: after this long, a request that has not run never will (inf: not stated).
    `repeat`: what to do with an equal call in a later turn, within `repeat_window`.
    """

    tool: str
    effect: Literal["read", "idempotent", "write"] = "write"
    keyed: bool = False
    retention: float | None = None
    errors_stored: bool = False
    read_back: bool = False
    lag: float = 0.0
    conclusive: bool = False
    bound: float = inf
    repeat: Literal["allow", "warn", "escalate"] = "warn"
    repeat_window: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How far a call may go.

    `attempts`: re-issues under one key in one call; the first send is not counted.
    `fresh_sends`: new keys after proven absence, for one action in all its calls.
    `backoff`, `backoff_limit`: the pause before a re-issue, doubling up to the limit.
    `deadline`: from the claim; what lies beyond it is left to a later call.
    `send_timeout`, `skew`: margins, for the length of a send and for clocks that differ.
    `poll`: how often a second caller looks whether the first has ended, and how long before the
    deadline the last look is taken.
    `turn_window`: where no turn is shown, equal calls this soon after a done one are one turn.
    """

    attempts: int = 4
    fresh_sends: int = 2
    backoff: float = 0.5
    backoff_limit: float = 30.0
    deadline: float = 60.0
    send_timeout: float = 60.0
    skew: float = 5.0
    poll: float = 0.05
    turn_window: float = 60.0


class Now(NamedTuple):
    """The present moment, as bounded by two clocks: one that never jumps, and the calendar's.

    Waits count from the earliest that it can be and expiries from the latest, so a clock that
    was moved makes the guard wait or escalate, and never send.
    """

    earliest: float
    latest: float


class End(NamedTuple):
    """How a send ended, or a call (which may end `unresolved`, but not `unknown`).

    `value`: the stored form of the tool's result, or of the error that proves that nothing ran.
    `note` of a send: `in_progress` or `exists` (unknown, but the server said that much),
    `rejected` (not executed, since the server read and refused it), `ignored` (done, but the
    server says that it took no notice of the key). `note` of a call: a warning, or the reason
    why it is unresolved. `not_before`: when another look can tell more; None: no such time.
    """

    kind: Literal["done", "not_executed", "unknown", "unresolved"]
    value: Any = None
    note: str = ""
    not_before: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is known of one action, as the ledger keeps it.

    `content`: digest of the arguments that do not name the effect.
    `key`: what the server knows it by; None: not keyed, or (before a send) still to be made.
    `generation`: how many keys came before this one; `fresh`: those after proven absence.
    `owner`, `claimed`, `lease`: who holds it, since when, until when. Past the lease whoever
    claims next takes it over, with `tries` and `seen` reset, `ended` set, and investigates.
    `sends`: the sends of this generation that may have run. `tries`: re-issues by this call.
    `ended`: when the last send really ended; None: one is due, or under way.
    `seen`: what the last look showed, begun at `read_at`, or what a send was told instead;
    `split`: what was absent of a batch is an action of its own.
    `delivered`: some caller has the result. `settled_at`: when the state changed.
    `asked_at`: when an operator answered or, where `answer` is None, was asked in vain; inf: the
    operator stands in for what is still in flight (`--final`).
    `about`: what names the action and what drivers keep beside it; the core never looks.
    """

    tool: str
    turn: str | None
    content: bytes
    key: str | None = None
    generation: int = 0
    fresh: int = 0
    owner: str
    claimed: float
    lease: float
    sends: tuple[float, ...]
    tries: int = 0
    ended: float | None = None
    state: Literal["open", "done", "not_executed", "abandoned"] = "open"
    seen: str | None = None
    read_at: float | None = None
    value: Any = None
    delivered: bool = False
    settled_at: float = 0.0
    asked_at: float | None = None
    answer: Literal["did_not_happen", "again"] | None = None
    about: Any = None


class Verdict(NamedTuple):
    """Which row of the table applies, what it does, and in how many seconds.

    `stop`: the call ends here, since that moment lies past its deadline, or since an operator
    was asked already, or since a new key went out in this very call and its deadline is over.
    """

    row: str
    act: Literal["reissue", "send", "read", "adopt", "split", "ask"]
    wait: float = 0.0
    stop: bool = False


class Step(NamedTuple):
    """What the driver has to do.

    `claim`: get the record that counts; insert this one only if none is open, and none has ended
    after the one in `detail`. `hold`: store it, with its lease renewed. `save`: store it, and
    end its lease. `send`: perform the recorded call. `read`: perform the read-back. `wait`: for
    `detail` seconds, and a millisecond more, so that no rounding error ends it a moment too
    early. `ask`: put the row in `detail` to an operator. `split`: guard what was absent of a
    batch, as a call of its own; the record is done if that is.
    """

    do: Literal["claim", "hold", "save", "send", "read", "wait", "ask", "split"]
    record: Record
    detail: Any = None


# What came of a step: the time after it; the record, with the facts that were learnt; whether
# the save was accepted, the operator answered or the rest was done; how the send or the rest ended.
Reply = tuple[Now, Record, bool, End]
Run = Generator[Step, Reply, End]
