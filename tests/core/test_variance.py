"""Equations 2 to 13 of paper 2, each against another route to the same number."""

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from assay.core import allocation as allocate
from assay.core.types import Floats
from tests.variances import equal, of_rate, optimal, proportional, stratum_variance

SIZES, RATES = np.array([400.0, 50.0, 1550.0]), np.array([0.5, 0.1, 0.95])


def stratified(sizes: Floats, s2: Floats, n: Floats) -> float:
    """Eq. 5: sum W^2 S^2 / n."""
    return float(((sizes / sizes.sum()) ** 2 * s2 / n).sum())


def test_lemma_1_is_the_variance_with_divisor_n_minus_1() -> None:
    outcomes = np.array([1.0] * 3 + [0.0] * 7)
    s2 = stratum_variance(np.array(10.0), np.array(0.3))
    assert float(s2) == pytest.approx(outcomes.var(ddof=1))


@pytest.mark.parametrize("replacement", [True, False])
def test_the_exact_variance_is_that_of_all_samples(replacement: bool) -> None:
    outcomes, n = [1, 1, 0, 0, 0], 3
    samples: Iterable[tuple[int, ...]] = (
        itertools.product(outcomes, repeat=n)
        if replacement
        else itertools.combinations(outcomes, n)
    )
    means = [np.mean(sample) for sample in samples]
    exact = of_rate(np.array(5.0), np.array(0.4), np.array(3.0), replacement=replacement)
    assert float(exact) == pytest.approx(np.var(means), rel=1e-12)
    # Eq. 2 as printed (S^2/n) is neither of the two; the check above would catch it.
    printed = float(stratum_variance(np.array(5.0), np.array(0.4))) / n
    assert printed != pytest.approx(np.var(means), rel=1e-3)


def test_equations_7_8_and_10_are_equation_5_at_their_allocations() -> None:
    s2, n = stratum_variance(SIZES, RATES), 100.0
    by = {
        proportional: allocate.proportional(SIZES, n),
        equal: allocate.equal(SIZES, n),
        optimal: allocate.neyman(SIZES, np.sqrt(s2), n),
    }
    for closed_form, counts in by.items():
        assert float(closed_form(SIZES, s2, n)) == pytest.approx(stratified(SIZES, s2, counts))


def test_equations_12_and_13_are_the_differences_between_the_allocations() -> None:
    s2 = RATES * (1 - RATES)  # 1/N_k negligible, as in section 3.4.1
    weights, n = SIZES / SIZES.sum(), 100.0
    mean = float((weights * RATES).sum())
    random = mean * (1 - mean) / n
    by_size, best = proportional(SIZES, s2, n), optimal(SIZES, s2, n)
    gain = float((weights * (RATES - mean) ** 2).sum()) / n
    assert random - float(by_size) == pytest.approx(gain)
    spread = np.sqrt(s2) - (weights * np.sqrt(s2)).sum()
    assert float(by_size - best) == pytest.approx(float((weights * spread**2).sum()) / n)


def test_no_allocation_beats_the_optimal_one() -> None:
    s2, n = stratum_variance(SIZES, RATES), 60
    best = float(optimal(SIZES, s2, n))
    every = (
        stratified(SIZES, s2, np.array([a, b, n - a - b], dtype=float))
        for a in range(1, n - 1)
        for b in range(1, n - a)
    )
    assert best <= min(every)
