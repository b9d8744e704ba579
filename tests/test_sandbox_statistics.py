"""Each figure of the statistics: by hand, and against an implementation that shares nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations, product
from math import comb
from statistics import fmean, pvariance

import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import stats

from retry_guard_sandbox import Census, Report, Row, report
from retry_guard_sandbox.grading._statistics import bootstrap, holm, sign_flip, zero_bound
from retry_guard_sandbox.grading._statistics_paired import compare
from retry_guard_sandbox.grading._statistics_shares import ShareError, shares
from retry_guard_sandbox.grading._statistics_terms import Comparison, EndPoint, Interval
from sandbox_rows import BROKEN, GOOD, MISSED, TWICE_SENT, off

eighths = st.integers(-8, 8).map(lambda n: n / 8)  # sums of them are exact


def enumerated(differences: Sequence[float]) -> float:
    """The sign-flip test, by going through every pattern."""
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(total >= observed for total in sums) / len(sums)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([1.0], 1.0),  # both patterns are as far from zero
        ([1.0, 1.0, 1.0], 2 / 8),
        ([-1.0, -1.0, -1.0, -1.0, -1.0, -1.0], 2 / 64),
        ([1.0, -1.0], 1.0),
        ([1.0, 0.5], 2 / 4),  # 1.5, 0.5, -0.5, -1.5
        ([1.0, 1.0, -0.5], 4 / 8),  # 1.5 and 2.5, and their reverses
    ],
)
def test_sign_flip_by_hand(differences: list[float], p: float) -> None:
    assert sign_flip(differences) == pytest.approx(p)


@settings(max_examples=40, deadline=None)
@given(st.lists(eighths, min_size=1, max_size=9))
def test_sign_flip_is_the_enumeration(differences: list[float]) -> None:
    assert sign_flip(differences) == pytest.approx(enumerated(differences))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([-30, -10, -3, 3, 10, 20]), min_size=1, max_size=9))
@example([10, -3, 3, 10, 3, -30, -3, 10])
def test_sign_flip_counts_ties_that_rounding_hides(thirtieths: list[int]) -> None:
    exact = enumerated(thirtieths)
    assert sign_flip([n / 30 for n in thirtieths]) == pytest.approx(exact)


def test_sign_flip_of_many_tasks_counts_them_too() -> None:
    balanced = [1 / 3, -0.1, 0.1, 1 / 3, 0.1, -1.0, -0.1, 1 / 3] * 3
    assert sign_flip(balanced) == 1.0


def test_sign_flip_of_many_tasks_draws_and_comes_near_the_binomial() -> None:
    differences = [-1.0] * 18 + [1.0] * 6
    tail = sum(comb(24, k) for k in range(7)) / 2**24
    assert sign_flip(differences) == pytest.approx(2 * tail, abs=0.002)
    assert sign_flip(differences) == sign_flip(differences)
    assert sign_flip([-1.0] * 24) > 0


def closed(ps: dict[str, float]) -> dict[str, float]:
    """Holm, as the closure of Bonferroni: the largest p over every family that has the name."""
    sets = list(chain.from_iterable(combinations(ps, n) for n in range(1, len(ps) + 1)))
    worst = {s: min(1.0, len(s) * min(ps[name] for name in s)) for s in sets}
    return {name: max(p for s, p in worst.items() if name in s) for name in ps}


def test_holm_by_hand() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06}
    )
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)))
def test_holm_is_the_closure_of_bonferroni(ps: dict[str, float]) -> None:
    assert holm(ps) == pytest.approx(closed(ps))


def test_bootstrap_by_hand() -> None:
    """Of two tasks, a quarter of the resamples are all of the one, and a quarter of the other."""
    assert bootstrap([0.0, 1.0]) == Interval(0.0, 1.0)
    assert bootstrap([0.5]) is None


def test_bootstrap_comes_near_the_enumeration_of_all_resamples() -> None:
    differences = [-1.0, -0.5, -0.25, 0.0, 0.5]
    means = sorted(fmean(drawn) for drawn in product(differences, repeat=5))
    found = bootstrap(differences)
    assert found is not None
    assert found.low == pytest.approx(means[round(0.025 * len(means))], abs=0.05)
    assert found.high == pytest.approx(means[round(0.975 * len(means)) - 1], abs=0.05)
    assert found == bootstrap(differences)


def test_equal_differences_do_not_make_an_interval_of_a_point() -> None:
    assert bootstrap([0.0] * 24) == Interval(-zero_bound(24), zero_bound(24))
    assert bootstrap([-1.0] * 3) == Interval(-1.0, -1.0 + zero_bound(3))


def test_differences_are_equal_however_they_were_rounded() -> None:
    by_two_ways = bootstrap([2 / 3 - 1, 0 - 1 / 3, 2 / 3 - 1, 0 - 1 / 3])
    plain = bootstrap([-1 / 3] * 4)
    assert by_two_ways is not None
    assert plain is not None
    assert by_two_ways.low == pytest.approx(plain.low)
    assert by_two_ways.high == pytest.approx(plain.high)


@pytest.mark.parametrize("tasks", [1, 2, 24, 59, 300])
def test_the_bound_of_a_zero_is_the_one_sided_exact_interval(tasks: int) -> None:
    exact = stats.binomtest(0, tasks, alternative="less").proportion_ci(0.95, "exact")
    assert zero_bound(tasks) == pytest.approx(exact.high)
    assert (1 - zero_bound(tasks)) ** tasks == pytest.approx(0.05)


def test_the_bound_of_a_zero_by_hand() -> None:
    assert zero_bound(1) == pytest.approx(0.95)
    assert zero_bound(58) > 0.05 > zero_bound(59)


Cells = dict[tuple[str, ...], list[float]]
ONLY_A: Cells = {("0", "0"): [0], ("0", "1"): [0], ("1", "0"): [1], ("1", "1"): [1]}
EITHER: Cells = {("0", "0"): [0], ("0", "1"): [1], ("1", "0"): [1], ("1", "1"): [0]}
BOTH: Cells = {("0", "0"): [0], ("0", "1"): [0], ("1", "0"): [0], ("1", "1"): [1]}
NOISY: Cells = {("0", "0"): [0, 1], ("0", "1"): [0, 1], ("1", "0"): [1, 1], ("1", "1"): [1, 1]}


@pytest.mark.parametrize(
    ("cells", "a", "b"),
    [
        (ONLY_A, 1.0, 0.0),
        (EITHER, 0.5, 0.5),  # neither alone says anything; both say all
        (BOTH, 0.5, 0.5),  # alone 1/16 of 3/16 each; the last third is shared
        (NOISY, 1 / 3, 0.0),  # Var(Y) = 3/16, Var(E[Y|A]) = 1/16
    ],
)
def test_shares_by_hand(cells: Cells, a: float, b: float) -> None:
    found = shares(["a", "b"], cells)
    assert found.of == pytest.approx({"a": a, "b": b})
    assert found.explained == pytest.approx(a + b)


def by_orders(count: int, cells: Cells) -> list[float]:
    """Shapley shares, by adding the factors in every order."""
    flat = [(levels, value) for levels, values in cells.items() for value in values]

    def worth(known: tuple[int, ...]) -> float:
        def key(levels: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(levels[i] for i in known)

        means = [fmean(v for other, v in flat if key(other) == key(lv)) for lv, _ in flat]
        return pvariance(means) / pvariance([value for _, value in flat])

    orders = list(permutations(range(count)))
    total = [0.0] * count
    for order in orders:
        for place, factor in enumerate(order):
            total[factor] += worth(order[: place + 1]) - worth(order[:place])
    return [share / len(orders) for share in total]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=12, max_size=12))
def test_shares_are_the_average_over_all_orders(draws: list[list[int]]) -> None:
    levels = list(product("01", "012", "01"))
    cells: Cells = {
        level: [float(d) for d in draw] for level, draw in zip(levels, draws, strict=True)
    }
    if len({d for draw in draws for d in draw}) == 1:
        with pytest.raises(ShareError, match="does not vary"):
            shares("abc", cells)
    else:
        assert list(shares("abc", cells).of.values()) == pytest.approx(by_orders(3, cells))


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ({("0", "0"): [0.0], ("0", "1"): [1.0]}, "a has one level"),
        ({k: v for k, v in ONLY_A.items() if k != ("1", "1")}, "not balanced"),
        ({**ONLY_A, ("1", "1"): [1.0, 1.0]}, "not balanced"),
        ({levels: [1.0] for levels in ONLY_A}, "does not vary"),
        ({}, "one level"),
    ],
)
def test_shares_are_refused(cells: Cells, why: str) -> None:
    with pytest.raises(ShareError, match=why):
        shares(["a", "b"], cells)


def of_model(rows: Sequence[tuple[str, Row, Row]], **fields: str) -> list[Row]:
    """Make rows of a model: task, without and with the guard; equal tasks are further draws."""
    return [
        replace(row, task=task, seed=seed, agent="model-x", **fields)  # type: ignore[arg-type] # text
        for seed, (task, without, guarded) in enumerate(rows)
        for row in (off(without), guarded)
    ]


def compared(rows: Sequence[Row], end_point: EndPoint = "duplicate") -> Comparison:
    """Return the one comparison that there is."""
    census = Census.of(rows)
    ((_, _, (one,)),) = (
        (family.contract, family.agent, family.comparisons)
        for family in compare(
            census, ["model-x"], end_point, margin=0.05, off="no_guard", on="guard"
        )
    )
    return one


def test_the_unit_is_the_task_however_many_draws_it_has() -> None:
    """Task a: 2 of 4 draws fell to 0; task b: 1 of 1. By draws 0.6, by tasks 0.75."""
    rows = of_model(
        [
            ("a", TWICE_SENT, GOOD),
            ("a", TWICE_SENT, GOOD),
            ("a", GOOD, GOOD),
            ("a", GOOD, GOOD),
            ("b", TWICE_SENT, GOOD),
        ]
    )
    one = compared(rows)
    assert (one.tasks, one.off, one.on, one.difference) == (2, 0.75, 0.0, -0.75)
    assert one.p == pytest.approx(0.5)
    assert one.off_bound is None
    assert one.on_bound == pytest.approx(zero_bound(2))


def test_forty_seeds_of_three_tasks_are_three() -> None:
    rows = of_model([(task, TWICE_SENT, GOOD) for task in "abc" for _ in range(40)])
    assert compared(rows).p == pytest.approx(2 / 8)


def test_an_error_stays_in_and_is_no_other_outcome() -> None:
    rows = of_model([("a", BROKEN, GOOD), ("a", TWICE_SENT, GOOD), ("b", GOOD, BROKEN)])
    assert compared(rows).errors == (1, 1)
    assert compared(rows).off == fmean([1 / 2, 0])
    assert compared(rows, "error").off == fmean([1 / 2, 0])
    assert compared(rows, "exactly_once").off == fmean([0, 1])


@pytest.mark.parametrize(
    ("pairs", "finding"),
    [
        ([(TWICE_SENT, GOOD)] * 6, "differs"),  # p = 2/64
        ([(TWICE_SENT, GOOD)] * 5, "undecided"),  # p = 2/32, and not small
        ([(GOOD, GOOD)] * 58, "undecided"),
        ([(GOOD, GOOD)] * 59, "no difference"),
        ([(GOOD, TWICE_SENT), (TWICE_SENT, GOOD)] * 6, "undecided"),
    ],
)
def test_no_difference_needs_an_interval_inside_the_margin(
    pairs: list[tuple[Row, Row]], finding: str
) -> None:
    rows = of_model([(f"task-{i}", *pair) for i, pair in enumerate(pairs)])
    assert compared(rows).finding == finding


def test_faults_of_one_contract_and_model_are_adjusted_together() -> None:
    pairs = [(f"task-{i}", TWICE_SENT, GOOD) for i in range(6)]
    rows = [*of_model(pairs), *of_model(pairs, fault="late_commit")]
    families = compare(
        Census.of(rows), ["model-x"], "duplicate", margin=0.05, off="no_guard", on="guard"
    )
    (family,) = families
    assert [one.p for one in family.comparisons] == pytest.approx([2 / 64] * 2)
    assert [one.adjusted for one in family.comparisons] == pytest.approx([4 / 64] * 2)
    assert [one.finding for one in family.comparisons] == ["undecided"] * 2


def reported(pairs: Sequence[tuple[Row, Row]]) -> Report:
    return report(of_model([(f"task-{i}", *pair) for i, pair in enumerate(pairs)]))


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        ([(TWICE_SENT, GOOD)] * 6, "pass"),
        ([(TWICE_SENT, GOOD)] * 5, "pass"),  # at worst it is still better
        ([(GOOD, GOOD)] * 24, "inconclusive"),  # nobody saw one, in too few tasks
        ([(GOOD, GOOD)] * 59, "pass"),
        ([(GOOD, replace(TWICE_SENT, executed_sends=1))] * 6, "block"),
        ([(GOOD, TWICE_SENT)] + [(TWICE_SENT, GOOD)] * 20, "block"),  # the guard sent one
        ([(GOOD, replace(MISSED, claimed="done"))] + [(TWICE_SENT, GOOD)] * 20, "pass"),
    ],
    ids=["better", "few but better", "few zeros", "many zeros", "worse", "sent", "claimed"],
)
def test_the_verdict_on_models(pairs: list[tuple[Row, Row]], verdict: str) -> None:
    assert reported(pairs).verdict == verdict


def test_what_accounts_for_it_is_shown_or_refused_with_the_reason() -> None:
    pairs = [(f"task-{i}", TWICE_SENT, GOOD) for i in range(4)]
    better = [(f"task-{i}", GOOD, GOOD) for i in range(4)]
    rows = [*of_model(pairs), *of_model(better, contract="keys_everywhere")]
    models = report(rows).models
    assert models is not None
    without, guarded = models.accounted
    assert without.shares is not None
    assert without.shares.of == pytest.approx({"contract": 1.0})
    assert (guarded.shares, guarded.why_not) == (
        None,
        "the outcome does not vary, so there is nothing to share out",
    )


def test_scripts_have_no_statistics() -> None:
    assert report([off(GOOD), GOOD]).models is None
