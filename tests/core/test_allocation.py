"""Allocation: the paper's shares, whole numbers that add up, the random draw, exploring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar

from assay.core.allocation import draw, equal, explore, neyman, proportional, round_to_total
from assay.core.types import Floats, Ints

SIZES = np.array([500.0, 300.0, 200.0])


def test_shares_by_hand() -> None:
    assert proportional(SIZES, 10).tolist() == [5.0, 3.0, 2.0]
    assert equal(SIZES, 9).tolist() == [3.0, 3.0, 3.0]
    spread = np.array([[0.1, 0.0, 0.5], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(neyman(SIZES, spread[0], 30), [10.0, 0.0, 20.0])
    counts = neyman(SIZES, spread, np.array([30.0, 10.0]))  # many evaluations at once
    np.testing.assert_allclose(counts, [[10.0, 0.0, 20.0], [5.0, 3.0, 2.0]])


def test_no_allocation_has_less_variance_than_neymans() -> None:
    """The variance sum W^2 S^2 / n of paper 2, over all ways to give out 60 labels."""
    sizes, rates, n = np.array([400.0, 50.0, 1550.0]), np.array([0.5, 0.1, 0.95]), 60
    s2 = rates * (1 - rates) * sizes / (sizes - 1)

    def variance(counts: Floats) -> float:
        return float(((sizes / sizes.sum()) ** 2 * s2 / counts).sum())

    ways = [(a, b, n - a - b) for a in range(1, n - 1) for b in range(1, n - a)]
    least = min(variance(np.array(way, dtype=float)) for way in ways)
    assert 0.99 * least < variance(neyman(sizes, np.sqrt(s2), n)) <= least
    assert variance(proportional(sizes, n)) > 1.1 * least


def rounded_one_by_one(shares: list[float], total: int, room: list[int]) -> list[int]:
    """Give out one label at a time to the stratum furthest below its share: the slow way."""
    counts = [0] * len(shares)
    for _ in range(min(total, sum(room))):
        able = [h for h in range(len(shares)) if counts[h] < room[h]]
        counts[max(able, key=lambda h: (shares[h] - counts[h], -h))] += 1
    return counts


def test_largest_remainders_where_nothing_is_capped() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        shares = rng.dirichlet(np.ones(5)) * 40
        expected = rounded_one_by_one(shares.tolist(), 40, [1000] * 5)
        assert round_to_total(shares, 40, [1000] * 5).tolist() == expected


@settings(max_examples=500)
@given(st.data())
def test_whole_numbers_add_up_and_keep_to_the_room(data: st.DataObject) -> None:
    strata = data.draw(st.integers(1, 12))
    amounts = st.floats(0, 1e300) | st.sampled_from([0.0, 1.0, 1e-300])
    shares = np.array(data.draw(st.lists(amounts, min_size=strata, max_size=strata)))
    caps = st.lists(st.integers(0, 10**9), min_size=strata, max_size=strata)
    room = np.array(data.draw(caps))
    total = data.draw(st.integers(0, 10**10))
    counts = round_to_total(shares, total, room)
    assert counts.sum() == min(total, room.sum())
    assert (counts >= 0).all()
    assert (counts <= room).all()


@settings(max_examples=300)
@given(
    st.lists(st.floats(0.01, 100), min_size=2, max_size=8),
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.integers(0, 100),
)
def test_what_one_cannot_take_goes_to_the_others_by_their_shares(
    shares: list[float], caps: list[int], total: int
) -> None:
    room = np.array(caps[: len(shares)])
    counts = round_to_total(shares, total, room)
    free = counts < room - 1
    if free.sum() >= 2:  # strata that no cap touches share in proportion, to a label
        weights = np.array(shares)[free]
        fair = counts[free].sum() * weights / weights.sum()
        assert np.abs(counts[free] - fair).max() <= 1 + 1e-9


def check_draw(weights: Floats, counts: Ints, n: int) -> None:
    """Chi-squared test of drawn counts against Mult(n; weights): a right draw fails 1 in 10^6."""
    expected = weights / weights.sum() * n * len(counts)
    assert stats.chisquare(counts.sum(axis=0), expected).pvalue > 1e-6
    # Multinomial, not rounded: the counts of one stratum vary as a binomial does.
    p = weights[0] / weights.sum()
    assert counts[:, 0].var() == pytest.approx(n * p * (1 - p), rel=0.15)


def test_the_draw_is_multinomial_on_the_weights() -> None:
    rng = np.random.default_rng(8)
    room = np.full((4000, 3), 1e9)
    weights = SIZES * np.array([0.1, 0.3, 0.5])
    check_draw(weights, draw(np.broadcast_to(weights, room.shape), 8, room, rng), 8)
    with pytest.raises(AssertionError):  # N instead of N sigma
        check_draw(weights, draw(np.broadcast_to(SIZES, room.shape), 8, room, rng), 8)
    rounded = np.broadcast_to(round_to_total(weights, 8, room[0]), room.shape)
    with pytest.raises(AssertionError):  # no randomness
        check_draw(weights, rounded, 8)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([0.0, 1e-12, 1.0, 1e15]), min_size=4, max_size=4),
    st.lists(st.integers(0, 20), min_size=4, max_size=4),
    st.integers(0, 100),
    st.integers(0, 2**32),
)
def test_the_draw_keeps_to_the_room(
    weights: list[float], caps: list[int], total: int, seed: int
) -> None:
    room = np.array(caps, dtype=float)
    counts = draw(np.array(weights), total, room, np.random.default_rng(seed))
    assert counts.sum() == min(total, sum(caps))
    assert (counts <= room).all()


def by_hand(w: Floats, n: Floats, x: Floats, left: Floats) -> Floats:
    """The shares of docs/certainty.md in plain numbers."""
    spread = by_hand_spread(w, n, x)
    c = 1.96 / (spread.sum() * n.sum() ** 0.5)
    k = c / (1 + c) ** 0.5
    elsewhere = min(1 - k / (1 + k), 0.95) * (w * left).sum()
    return np.asarray(elsewhere * spread / spread.sum() + (1 - elsewhere) * w)


def shares(w: list[float], n: list[float], x: list[float]) -> Floats:
    return explore(np.array(w), np.array(n), np.array(x)).shares


@pytest.mark.parametrize("x", [[1, 5, 4], [0, 0, 9], [2, 1, 1]])
@pytest.mark.parametrize("left", [[1.0, 1.0, 1.0], [0.9, 0.2, 0.5], [0.0, 0.3, 0.0]])
def test_the_rule_by_hand(x: list[int], left: list[float]) -> None:
    weights, labels = [0.5, 0.3, 0.2], [400, 200, 100]
    counts = [np.array(each, dtype=float) for each in (weights, labels, x, left)]
    found = explore(*counts).shares
    assert found.tolist() == pytest.approx(by_hand(*counts).tolist())
    assert float(found.sum()) == pytest.approx(1)


def share_by_weight(s: float, n: float, left: float = 1.0) -> float:
    """The share that goes by weight where the spreads have the sum s, read off two strata.

    One has weight 1/4 and nearly all outcomes, so what is not by weight goes there in proportion
    to its spread.
    """
    w = np.array([0.25, 0.75])
    labels = np.full(2, n / 2)
    p = 0.5 - np.sqrt(0.25 - (s / 0.25) ** 2)  # 1/4 sqrt(p(1-p)) = s
    x = np.array([p * n / 2, 0.0])
    shares = explore(w, labels, x, np.full(2, left)).shares
    # What is left of the other stratum's spread, from the rule itself.
    by = by_hand_spread(w, labels, x)
    neyman = by / by.sum()
    return float((shares[0] - neyman[0]) / (w[0] - neyman[0]))


def by_hand_spread(w: Floats, n: Floats, x: Floats) -> Floats:
    rate = (w * x / n).sum()
    overall, pooled = (n.sum() * rate + 0.5) / (n.sum() + 1), (x.sum() + 0.5) / (n.sum() + 1)
    chi2 = ((x - n * pooled) ** 2 / (n * pooled * (1 - pooled))).sum()
    believed = max(0.0, 1 - (len(w) - 1) / float(chi2))
    q = (1 - believed) * overall + believed * (x + 0.5) / (n + 1)
    return np.asarray(w * np.sqrt(q * (1 - q)))


def width(share: float, s: float, n: float) -> float:
    """The sum of the two half-widths that the module's docstring has."""
    above = share * s * s / (2 * (1 - share)) + 1.96**2 / (2 * share * n)
    return float(1.96 * s / np.sqrt((1 - share) * n) + above)


@pytest.mark.parametrize("n", [60.0, 200.0, 1000.0, 8000.0])
@pytest.mark.parametrize("s", [0.05, 0.08, 0.12])
def test_the_share_by_weight_makes_the_interval_as_narrow_as_it_can_be(s: float, n: float) -> None:
    """Within 2% of the least width, found numerically, where the floor of 5% does not bind.

    Beside it, what the share was before: 1.37 / (s sqrt(n)), at most all.
    """
    labels = np.full(2, n / 2)
    p = 0.5 - np.sqrt(0.25 - (s / 0.25) ** 2)
    spread = by_hand_spread(np.array([0.25, 0.75]), labels, np.array([p * n / 2, 0.0])).sum()
    share = share_by_weight(s, n)
    best = minimize_scalar(
        lambda each: width(each, spread, n), bounds=(1e-4, 1 - 1e-4), method="bounded"
    )
    if best.x > 0.05:
        assert width(share, spread, n) <= 1.02 * best.fun
        if n <= 200:
            before = min(1.37 / (spread * np.sqrt(n)), 0.999)
            assert width(before, spread, n) > 1.02 * best.fun
    else:
        assert share == pytest.approx(0.05)


def test_before_any_label_it_goes_by_weight() -> None:
    w = [0.7, 0.2, 0.1]
    assert shares(w, [0.0] * 3, [0.0] * 3).tolist() == pytest.approx(w)


def test_a_stratum_that_looks_clean_is_never_starved() -> None:
    found = shares([0.5, 0.5], [10_000.0, 10_000.0], [5000.0, 0.0])
    assert float(found[1]) >= 0.025  # Neyman's share from these counts is 0


@pytest.mark.parametrize("x", [[40.0, 3.0, 9.0], [12.0, 30.0, 20.0], [90.0, 5.0, 1.0]])
def test_the_pull_is_the_slope_of_the_share(x: list[float]) -> None:
    """The share's percent by the outcomes' percent, belief and the part by weight held."""
    w, n = np.array([0.4, 0.35, 0.25]), np.array([500.0, 500.0, 500.0])
    at = explore(w, n, np.array(x))
    for h in range(3):
        step = np.array(x)
        step[h] *= 1.001
        slope = np.log(explore(w, n, step).shares[h] / at.shares[h]) / np.log(1.001)
        # Belief and the part by weight move too, a little.
        assert abs(float(slope) - float(at.pull[h])) < 0.12
    assert 0 < float(at.pull.max()) <= 0.5


def test_labels_that_go_by_weight_pull_nothing() -> None:
    assert explore(np.full(2, 0.5), np.full(2, 50.0), np.full(2, 5.0)).pull.tolist() == [0.0, 0.0]


def test_evaluations_side_by_side() -> None:
    n, x = np.array([[10.0, 10.0], [30.0, 5.0]]), np.array([[1.0, 0.0], [3.0, 5.0]])
    both = explore(np.full(2, 0.5), n, x)
    for row in range(2):
        alone = explore(np.full(2, 0.5), n[row], x[row])
        assert both.shares[row].tolist() == alone.shares.tolist()
        assert both.pull[row].tolist() == alone.pull.tolist()


def test_what_is_hidden_is_of_each_stratum_s_own_rarer_outcome() -> None:
    """Counted the other way round, allocation is the same, and what it hides has the other sign.

    The rule before gave nothing to strata in which the outcome is the more frequent one.
    """
    w, n = np.array([0.4, 0.3, 0.2, 0.1]), np.array([80.0, 40.0, 30.0, 10.0])
    x = np.array([2.0, 5.0, 26.0, 8.0])
    one, other = explore(w, n, x), explore(w, n, n - x)
    np.testing.assert_allclose(one.shares, other.shares, rtol=1e-12)
    np.testing.assert_allclose(one.pull, -other.pull, rtol=1e-9)
    assert (one.pull[:2] > 0).all()
    assert (one.pull[2:] < 0).all()
    before = np.maximum(one.pull, 0.0)
    assert not np.allclose(before, -np.maximum(other.pull, 0.0))
