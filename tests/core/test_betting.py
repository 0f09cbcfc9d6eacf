"""The betting sequence: fair to the last digit by enumeration, and right under any peeking."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

from assay.core.betting import GAPS, Bets, chances, fold, grid, stakes_by_gap
from assay.core.forms import Ratio, ratio
from assay.core.intervals import wilson
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError, InputError

SIZES = np.array([3.0, 3.0])
SAYS_YES, YES = np.array([True, False]), np.array([True])
FORM = ratio("accuracy", SIZES, SAYS_YES)
OPTIONS: dict[str, Any] = {"within": 0.05, "confidence": 0.95, "replacement": False}


def rounds(
    before: Tallies, truth: Floats, cards: int, *, replacement: bool
) -> Iterator[tuple[float, Ints, Floats]]:
    """Every round of `cards` that can follow, with its probability, and the chances it rests on."""
    strata = range(len(truth))
    pi = np.full(len(truth), 1 / len(truth)) if replacement else chances(before, FORM)
    pi = pi * (1 + before.x) / (pi * (1 + before.x)).sum()  # adaptive, and far from the guesses'
    for round_ in itertools.product(strata, (0, 1), repeat=cards):
        probability, n, x = 1.0, before.n.copy(), before.x.copy()
        for h, outcome in zip(round_[::2], round_[1::2], strict=True):
            left = before.N[h] if replacement else before.N[h] - n[h]
            good = truth[h] if replacement else truth[h] - x[h]
            rate = good / left if left > 0 else 0.0
            probability *= float(pi[h] * (rate if outcome else 1 - rate)) if left > 0 else 0.0
            n[h], x[h] = n[h] + 1, x[h] + outcome
        if probability > 0:
            pairs = zip(round_[::2], round_[1::2], strict=True)
            yield probability, np.array([2 * h + outcome for h, outcome in pairs]), pi


def mean_wealth(
    metric: Ratio,
    truth: Floats,
    sizes_of_rounds: tuple[int, ...],
    *,
    replacement: bool,
    within: float | None = 0.2,
) -> tuple[float, float]:
    """The mean wealth of the two who bet against the truth, over every possible draw."""
    options = {**OPTIONS, "within": within, "replacement": replacement}
    point = np.array([float(metric.value(truth))])

    def walk(bets: Bets, before: Tallies, rest: tuple[int, ...]) -> Floats:
        if not rest:
            return np.exp([bets.up[0], bets.down[0]])
        total = np.zeros(2)
        for probability, kinds, pi in rounds(before, truth, rest[0], replacement=replacement):
            settled = fold(bets, metric, before, kinds, chances=pi, **options)
            n = np.bincount(kinds // 2, minlength=len(truth))
            x = np.bincount(kinds // 2, weights=kinds % 2, minlength=len(truth))
            total += probability * walk(settled, before.add(n, x), rest[1:])
        return total

    up, down = walk(Bets.start(point, ()), Tallies.start(SIZES), sizes_of_rounds)
    return float(up), float(down)


def check_fair(name: str, *, replacement: bool) -> None:
    metric = ratio(name, SIZES, SAYS_YES)
    for truth in ([2.0, 1.0], [1.0, 0.0], [3.0, 2.0]):
        for order in ((1, 1, 1), (2, 1)):
            for within in (0.2, None):
                wealth = mean_wealth(
                    metric, np.array(truth), order, replacement=replacement, within=within
                )
                assert wealth == pytest.approx((1.0, 1.0), abs=1e-12)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("name", ["precision", "accuracy", "recall", "f1"])
def test_who_bets_against_the_truth_wins_nothing_on_average(
    name: str, *, replacement: bool
) -> None:
    """Exact: every draw of three cards, rounds of one and of two, chances that adapt."""
    check_fair(name, replacement=replacement)


@pytest.mark.parametrize("replacement", [True, False])
def test_a_single_stratum_is_the_plain_bet(*, replacement: bool) -> None:
    """With N = 10, n = 4, x = 3 a card pays S + R x - m N, or N (x - m) with replacement."""
    before = Tallies([10], n=[4], x=[3])
    metric = ratio("prevalence", before.N, np.array([True]))
    m = 0.45
    bets, options = Bets.start(np.array([m]), ()), {**OPTIONS, "replacement": replacement}
    miss, hit = (
        np.exp(fold(bets, metric, before, np.array([card]), chances=np.ones(1), **options).up[0])
        for card in (0, 1)
    )
    pays = (-10 * m, 10 * (1 - m)) if replacement else (3 - 10 * m, 3 + 6 - 10 * m)
    assert hit > 1 > miss
    assert (miss - 1) / (hit - 1) == pytest.approx(pays[0] / pays[1])


ALPHA, RUNS, CARDS = 0.05, 1000, 600
RATES, STRATA = np.array([0.95, 0.6]), np.array([2000.0, 2000.0])


def play(
    points: Floats, *, within: float | None, runs: int = RUNS, cards: int = CARDS, seed: int = 1
) -> Iterator[Bets]:
    """Bet on the prevalence of two strata, in rounds of 20, without replacement."""
    rng = np.random.default_rng(seed)
    metric = ratio("prevalence", STRATA, np.array([True, True]))
    before = Tallies.start(np.broadcast_to(STRATA, (runs, 2)))
    bets = Bets.start(points, (runs,))
    for _ in range(0, cards, 20):
        pi = chances(before, metric)
        counts = rng.multinomial(20, pi)
        good = (STRATA * RATES - before.x).astype(np.int64)
        found = rng.hypergeometric(good, (STRATA - before.n).astype(np.int64) - good, counts)
        place = np.arange(20)
        stratum = (place >= counts[:, :1]).astype(np.int64)
        rank = place - stratum * counts[:, :1]
        outcome = rank < np.take_along_axis(found, stratum, axis=-1)
        kinds = rng.permuted(2 * stratum + outcome, axis=-1)
        bets = fold(bets, metric, before, kinds, chances=pi, **{**OPTIONS, "within": within})
        before = before.add(counts, found)
        yield bets


def check_seldom(rejected: Bools) -> None:
    """A share of at most alpha would fail this once in 10,000 times."""
    assert rejected.sum() <= stats.binom.isf(1e-4, rejected.size, ALPHA)


@pytest.mark.parametrize("within", [0.04, None])
def test_the_truth_is_seldom_rejected_however_often_one_looks(within: float | None) -> None:
    """Of 1,000 runs of 600 cards; beside it Wilson's interval looked at after every label."""
    truth = float((STRATA * RATES).sum() / STRATA.sum())
    *_, bets = play(np.array([truth]), within=within)
    both = np.maximum(bets.best_up, bets.best_down)[:, 0]
    check_seldom(both >= np.log(2 / ALPHA))
    for one in (bets.best_up, bets.best_down):
        check_seldom(one[:, 0] >= np.log(1 / ALPHA))
    assert (both > np.log(2)).mean() > 0.1  # they did bet

    labels = np.random.default_rng(2).random((RUNS, CARDS)) < truth
    n = np.arange(1.0, CARDS + 1)
    p = labels.cumsum(axis=-1) / n
    low, high = wilson(p, p * (1 - p) / np.maximum(n - 1, 1), n, 1 - ALPHA)
    with pytest.raises(AssertionError):
        check_seldom(np.asarray(((truth < low) | (truth > high)).any(axis=-1)))


def test_stakes_that_keep_the_deadline_save_labels() -> None:
    """Half-width 0.05 from at most 1.6 times the labels of a sample of fixed size.

    The long-run stakes of Kelly need at least 2 ln(40)/1.96^2 = 1.92 times. 50 runs; the mean's
    standard error is 2%. Beside it stakes for a deadline a hundred times later, which the check
    rejects.
    """
    variance = (np.sqrt(RATES * (1 - RATES)).mean()) ** 2
    needed = 1.96**2 * variance / 0.05**2

    def check(aimed_at: float) -> None:
        labels = np.full(50, 2 * CARDS)
        for looks, bets in enumerate(play(grid(0.05), within=aimed_at, runs=50), start=1):
            low, high = bets.ends(1 - ALPHA)
            labels = np.where((high - low) / 2 <= 0.05, np.minimum(labels, 20 * looks), labels)
        assert labels.mean() <= 1.6 * needed

    check(0.05)
    with pytest.raises(AssertionError):
        check(0.005)


def wealthy(up: list[float], down: list[float]) -> Bets:
    points = np.array([0.2, 0.4, 0.6, 0.8])
    best_up, best_down = np.log(np.array(up)), np.log(np.array(down))
    return Bets(np.zeros(4), np.zeros(4), best_up, best_down, points)


@pytest.mark.parametrize(
    ("up", "down", "ends"),
    [
        ([1, 1, 1, 1], [1, 1, 1, 1], (0.0, 1.0)),
        ([40, 41, 39, 1], [1, 1, 1, 50], (0.4, 0.8)),
        ([40, 1, 50, 1], [1, 50, 1, 1], (0.2, 1.0)),  # only from outside in
        ([50, 50, 50, 50], [50, 50, 50, 1], (0.8, 1.0)),
        ([50, 50, 50, 1], [1, 50, 50, 50], (0.4, 0.6)),  # a contradiction is not hidden
    ],
)
def test_the_ends_are_rejected_points(
    up: list[float], down: list[float], ends: tuple[float, float]
) -> None:
    assert tuple(float(end) for end in wealthy(up, down).ends(0.95)) == ends


def test_a_verdict_needs_half_of_the_wealth_that_an_end_needs() -> None:
    bets = wealthy([21, 19, 1, 30], [1, 1, 20.5, 25])
    assert [int(bets.verdict(index, 0.95)) for index in range(4)] == [1, 0, -1, 1]


def test_evaluations_side_by_side_end_as_they_do_alone() -> None:
    before = Tallies(STRATA, n=[[40, 40], [90, 10]], x=[[39, 20], [80, 2]])
    metric = ratio("prevalence", STRATA, np.array([True, True]))
    pi = chances(before, metric)
    kinds = np.array([[0, 1, 3, 1, 2, -1], [1, 1, 1, 1, 1, 3]])
    both = Bets.start(grid(0.05), (2,))
    for _ in range(30):
        both = fold(both, metric, before, kinds, chances=pi, **OPTIONS)
    for row in range(2):
        one = Bets.start(grid(0.05), ())
        which = np.arange(2) == row
        alone = Tallies(STRATA, before.n[row], before.x[row])
        for _ in range(30):
            one = fold(one, metric, alone, kinds[row], chances=pi[row], **OPTIONS)
        assert both.take(which).up[0].tolist() == pytest.approx(one.up.tolist())
        assert both.take(which).best_down[0].tolist() == pytest.approx(one.best_down.tolist())


@pytest.mark.parametrize(
    "before",
    [
        Tallies(STRATA, n=[40, 40], x=[39, 20]),
        Tallies(STRATA, n=STRATA, x=[39, 20]),
        Tallies(STRATA, n=STRATA, x=[0, 0]),
    ],
)
@pytest.mark.parametrize("name", ["accuracy", "recall"])
def test_no_card_is_no_bet(name: str, before: Tallies) -> None:
    metric = ratio(name, STRATA, SAYS_YES)
    start, pi = Bets.start(grid(0.05), ()), chances(before, metric)
    bets = fold(start, metric, before, np.full(3, -1), chances=pi, **OPTIONS)
    assert not bets.up.any()
    assert not bets.down.any()


def test_points_hold_the_extra_one_exactly() -> None:
    points = grid(0.01, 0.9503)
    assert 0.9503 in points
    assert (np.diff(points) > 0).all()
    assert np.diff(points).max() <= 0.0005 + 1e-12
    assert points[0] > 0
    assert points[-1] < 1


def test_points_are_not_infinitely_fine() -> None:
    with pytest.raises(DesignError, match=r"within=1e-05 is too narrow"):
        grid(1e-5)


def test_chances_leave_out_what_has_no_cards_and_nothing_else() -> None:
    tallies = Tallies([10, 500, 500], n=[9, 200, 200], x=[9, 200, 100], u=[1, 0, 0])
    form = ratio("precision", tallies.N, np.array([True, True, True]))
    pi = chances(tallies, form)
    assert pi[0] == 0
    assert pi.sum() == pytest.approx(1)
    assert (pi[1:] > 0.05).all()
    assert not chances(Tallies([5], n=[5], x=[2]), ratio("precision", np.array([5.0]), YES)).any()


@pytest.mark.parametrize(
    ("kinds", "pi", "problem"),
    [
        ([0, 1], [0.0, 1.0], "no chance to be drawn"),
        ([2, 3], [0.0, 1.0], "with cards left had no chance"),
        ([0, 5], [0.5, 0.5], "a card of stratum 2; strata: 2"),
    ],
)
def test_rounds_that_no_fair_bet_is_possible_on(
    kinds: list[int], pi: list[float], problem: str
) -> None:
    start, before = Bets.start(grid(0.05), ()), Tallies.start(SIZES)
    with pytest.raises(InputError, match=problem):
        fold(start, FORM, before, np.array(kinds), chances=np.array(pi), **OPTIONS)


def test_the_stakes_that_are_written_down_are_those_of_the_formula() -> None:
    z = ndtri(np.exp(-GAPS[1:]))
    right = np.append(0.0, np.exp(GAPS[1:] - z**2 / 2) / np.sqrt(2 * np.pi))
    np.testing.assert_allclose(stakes_by_gap(), right, rtol=1e-13)
    assert not np.allclose(stakes_by_gap()[1:], right[:-1], rtol=1e-4)  # those of the gap before
