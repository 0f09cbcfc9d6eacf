"""Allocation: the paper's shares, whole numbers that add up, and the random draw."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.core.allocation import draw, equal, neyman, proportional, round_to_total
from assay.core.types import Floats, Ints

SIZES = np.array([500.0, 300.0, 200.0])


def test_shares_by_hand() -> None:
    assert proportional(SIZES, 10).tolist() == [5.0, 3.0, 2.0]
    assert equal(SIZES, 9).tolist() == [3.0, 3.0, 3.0]
    spread = np.array([0.1, 0.0, 0.5])
    np.testing.assert_allclose(neyman(SIZES, spread, 30), [10.0, 0.0, 20.0])


def test_shares_of_many_evaluations_at_once() -> None:
    spread = np.array([[0.1, 0.0, 0.5], [0.0, 0.0, 0.0]])
    counts = neyman(SIZES, spread, np.array([30.0, 10.0]))
    np.testing.assert_allclose(counts, [[10.0, 0.0, 20.0], [5.0, 3.0, 2.0]])


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
