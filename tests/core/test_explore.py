"""Allocation that explores: the rule in plain numbers, and what it is meant to do."""

import numpy as np
import pytest

from assay.core.explore import explore
from assay.core.types import Floats


def by_hand(w: list[float], n: list[int], x: list[int]) -> list[float]:
    """The shares of docs/certainty.md in plain numbers."""
    strata, labels, found = range(len(w)), sum(n), sum(x)
    rate = sum(w[h] * x[h] / n[h] for h in strata)
    overall, pooled = (labels * rate + 0.5) / (labels + 1), (found + 0.5) / (labels + 1)
    chi2 = sum((x[h] - n[h] * pooled) ** 2 / (n[h] * pooled * (1 - pooled)) for h in strata)
    believed = max(0.0, 1 - (len(w) - 1) / chi2)
    own = [(x[h] + 0.5) / (n[h] + 0.5 / overall) for h in strata]
    q = [(1 - believed) * overall + believed * own[h] for h in strata]
    spread = [w[h] * (q[h] * (1 - q[h])) ** 0.5 for h in strata]
    by_weight = min(max(1.37 / (sum(spread) * labels**0.5), 0.05), 1.0)
    return [(1 - by_weight) * spread[h] / sum(spread) + by_weight * w[h] for h in strata]


def shares(w: list[float], n: list[float], x: list[float]) -> Floats:
    return explore(np.array(w), np.array(n), np.array(x)).shares


@pytest.mark.parametrize("x", [[1, 5, 4], [0, 0, 9], [2, 1, 1]])
def test_the_rule_by_hand(x: list[int]) -> None:
    w, n = [0.5, 0.3, 0.2], [400, 200, 100]
    found = shares(w, [float(k) for k in n], [float(k) for k in x])
    assert found.tolist() == pytest.approx(by_hand(w, n, x))
    assert float(found.sum()) == pytest.approx(1)


def test_before_any_label_it_goes_by_weight() -> None:
    w = [0.7, 0.2, 0.1]
    assert shares(w, [0.0] * 3, [0.0] * 3).tolist() == pytest.approx(w)


def test_strata_that_differ_by_chance_alone_are_not_told_apart() -> None:
    """Errors 9, 11, 10, 10 of 100 each: a chi-square of 0.2, where 3 is usual."""
    assert shares([0.25] * 4, [100.0] * 4, [9.0, 11.0, 10.0, 10.0]).tolist() == [0.25] * 4


def test_where_strata_differ_it_comes_near_neyman() -> None:
    w, n, x = [0.5, 0.5], [40_000.0, 40_000.0], [20_000.0, 2000.0]
    rates = np.array(x) / n
    neyman = np.sqrt(rates * (1 - rates))
    assert shares(w, n, x).tolist() == pytest.approx((neyman / neyman.sum()).tolist(), abs=0.01)


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
