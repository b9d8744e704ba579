"""A small but complete grid of the facts that a decision rests on."""

from collections.abc import Iterator
from itertools import product
from math import inf
from typing import Any, NamedTuple

from retry_guard_core import Now, Policy, Record, Terms

POLICY = Policy(
    attempts=2,
    fresh_sends=1,
    backoff=1.0,
    backoff_limit=16.0,
    deadline=60.0,
    send_timeout=5.0,
    skew=1.0,
    poll=2.0,
)
FIRST, END, CLAIMED = 990.0, 1_000.0, 990.0
BOUND, LAG = 30.0, 10.0
LAST = CLAIMED + POLICY.deadline - POLICY.poll  # when the last look is due
FUTURE = 9e9

KEYS: tuple[tuple[bool, str | None, float | None], ...] = (
    (False, None, None),
    (False, "k", None),
    (True, None, 400.0),
    (True, "k", None),
    (True, "k", 60.0),
    (True, "k", 400.0),
)
READS: tuple[tuple[bool, bool, float], ...] = (
    (False, False, 0.0),
    (True, False, 0.0),
    (True, False, LAG),
    (True, True, 0.0),
    (True, True, LAG),
)
ANSWERS: tuple[tuple[Any, float | None], ...] = (
    (None, None),
    (None, 1_005.0),
    ("did_not_happen", 1_005.0),
    ("did_not_happen", END + BOUND - 0.5),
    ("did_not_happen", END + BOUND),
    ("did_not_happen", FUTURE),
    ("did_not_happen", inf),
    ("again", 1_005.0),
)
READ_TIMES = (END, END + BOUND - 0.5, END + BOUND, END + BOUND + LAG - 0.5, END + BOUND + LAG)
LOOKS: tuple[tuple[str | None, float | None], ...] = (
    (None, None),
    (None, END + BOUND + LAG),
    *(("absent", time) for time in (*READ_TIMES, FUTURE)),
    *(("some", time) for time in (END, END + BOUND + LAG - 0.5, END + BOUND + LAG)),
    ("failed", END),
    ("failed", END + BOUND + LAG),
    *((seen, LAST + 0.5) for seen in ("absent", "some", "failed")),
    ("split", END),
    *((seen, END) for seen in ("ours", "several", "foreign", "unbelieved")),
    *((seen, None) for seen in ("ignored", "reported", "superseded")),
)
MOMENTS = tuple(
    Now(earliest, latest)
    for earliest, latest in (
        (940.0, 940.0),
        (940.0, 1_045.0),
        (1_000.0, 1_000.0),
        (1_000.0, 1_400.0),
        (1_010.0, 1_010.0),
        (1_040.0, 1_040.0),
        (1_040.0, 1_045.0),
        (LAST + 1, LAST + 1),
        (1_300.0, 1_300.0),
        (9_000.0, 9_000.0),
    )
)
BOUNDARIES = (
    END + 1,  # the first pause
    FIRST + 60 - BOUND - 6,  # a short retention, with a bound
    FIRST + 60 / 2,  # and without
    FIRST + 400 - BOUND - 6,  # a long one
    FIRST + 400 / 2,
    FIRST + 300,  # one that is not stated
    END + LAG,
    END + BOUND,
    END + BOUND + LAG,
    CLAIMED + POLICY.deadline,
    LAST,
)


class Facts(NamedTuple):
    """One point of the grid."""

    terms: Terms
    record: Record
    now: Now


def all_terms(effect: Any) -> Iterator[tuple[Terms, str | None]]:  # noqa: ANN401 - a literal
    """Every kind of contract of this effect, with the key that the record holds."""
    for (keyed, key, kept), bound, read in product(KEYS, (inf, BOUND), READS):
        read_back, conclusive, lag = read
        terms = Terms(
            tool="t",
            effect=effect,
            keyed=keyed,
            retention=kept,
            bound=bound,
            read_back=read_back,
            conclusive=conclusive,
            lag=lag,
        )
        yield terms, key


def all_records(key: str | None) -> Iterator[Record]:
    """Every kind of record: looks, re-issues and fresh sends left or not, operator's answers.

    Attempts that are spent matter where nothing was seen, or only by the last look.
    """
    for (seen, read_at), (answer, asked_at) in product(LOOKS, ANSWERS):
        spent = (0, POLICY.attempts) if seen is None or read_at == LAST + 0.5 else (0,)
        fresh = (0, POLICY.fresh_sends) if seen in ("absent", "some") else (0,)
        facts = {"key": key, "seen": seen, "read_at": read_at, "answer": answer}
        for tries, sent in product(spent, fresh):
            yield record(**facts, asked_at=asked_at, tries=tries, fresh=sent)


def record(**facts: Any) -> Record:  # noqa: ANN401 - any field of a record
    usual: dict[str, Any] = {
        "tool": "t",
        "turn": "t1",
        "content": b"",
        "owner": "A",
        "claimed": CLAIMED,
        "lease": 1_030.0,
        "sends": (FIRST,),
        "ended": END,
    }
    return Record(**{**usual, **facts})


def all_facts(effect: str) -> Iterator[Facts]:
    """Every contract of this effect with every record, at some moments."""
    for terms, key in all_terms(effect):
        for known, now in product(all_records(key), MOMENTS):
            yield Facts(terms, known, now)


def facts_at_boundaries(effect: str) -> Iterator[Facts]:
    """Every contract with every record that no operator has, on and beside each boundary."""
    moments = [Now(b + d, b + d) for b, d in product(BOUNDARIES, (-0.5, 0.0, 0.5))]
    for terms, key in all_terms(effect):
        records = (known for known in all_records(key) if known.asked_at is None)
        for known, now in product(records, moments):
            yield Facts(terms, known, now)
