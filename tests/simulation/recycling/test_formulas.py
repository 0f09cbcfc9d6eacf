"""Paper 3's formulas against its printed numbers and Algorithm 1 itself."""

from typing import get_args

import numpy as np
import pytest
from scipy import stats

from assay.core.types import Ints
from assay.errors import DesignError, InputError
from assay.simulation.recycling.samples import (
    Option,
    expected_savings,
    mixed_size,
    overlap,
    recycle,
    sample_size,
    uniform_sample,
)

OPTIONS: tuple[Option, ...] = get_args(Option)

# Sample size


@pytest.mark.parametrize(("p0", "printed"), [(0.5, 1068), (0.9, 385), (0.93, 278)])
def test_sample_sizes_are_those_printed(p0: float, printed: int) -> None:
    assert sample_size(0.03, 0.05, p0) == printed


@pytest.mark.parametrize("p0", [0.0, 0.3, 0.5, 0.8, 0.99])
@pytest.mark.parametrize("epsilon", [0.01, 0.03, 0.1])
def test_it_is_the_least_size_that_will_do(epsilon: float, p0: float) -> None:
    n = sample_size(epsilon, 0.1, p0)
    precisions = np.linspace(p0, 1, 1001)
    widest = np.sqrt(precisions * (1 - precisions)).max()
    inside = [1 - 2 * stats.norm.sf(epsilon * np.sqrt(size) / widest) for size in (n - 1, n)]
    assert inside[0] < 0.9 <= inside[1]


# Savings

SIZES = [(400, 500, 250), (300, 330, 290), (900, 450, 130)]  # |A_P|, |A_C|, |A_P and A_C|
TRIALS = 2000


def savings_of_algorithm_1(sizes: tuple[int, int, int], n_P: int, n_C: int, option: Option) -> Ints:
    parent, child, both = sizes
    sets = overlap(np.arange(parent), np.arange(parent - both, parent - both + child))
    rng = np.random.default_rng(1)
    return np.array(
        [
            recycle(
                uniform_sample(sets.parent, n_P, rng), sets, n_C, option=option, rng=rng
            ).savings
            for _ in range(TRIALS)
        ]
    )


def check_same_savings(found: Ints, drawn: Ints, expected: float) -> None:
    """Fixed seeds; either check would fail with probability 1e-6."""
    error = abs(found.mean() - expected)
    assert error <= 4.9 * found.std() / np.sqrt(found.size)
    assert stats.ks_2samp(found, drawn).pvalue > 1e-6


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("sizes", SIZES)
def test_savings_of_algorithm_1_are_lemma_3s(sizes: tuple[int, int, int], option: Option) -> None:
    parent, child, both = sizes
    n_P = n_C = 60
    found = savings_of_algorithm_1(sizes, n_P, n_C, option)
    rng = np.random.default_rng(2)
    X = rng.binomial(n_P, both / parent, size=TRIALS)  # case (a); then (b) and (c)
    S = mixed_size(X, both, child, n_C, rng)
    if option == "UniformShuffle":
        drawn = rng.hypergeometric(X, S - X, np.minimum(S, n_C))
    else:
        drawn = np.where(n_C >= S, X, rng.binomial(n_C, X / np.maximum(S, 1)))
    expected = expected_savings(n_P, n_C, both / parent, both / child)
    check_same_savings(found, drawn, expected)
    if both / parent > both / child:
        with pytest.raises(AssertionError):  # all of S+ counted, as if S were never cut
            check_same_savings(found, drawn, n_P * both / parent)


def test_shuffled_savings_are_the_labels_not_bought() -> None:
    """Sets so large that no item is drawn twice by chance: a new label for every other place."""
    sets, rng = (
        overlap(np.arange(10**6), np.arange(4 * 10**5, 15 * 10**5)),
        np.random.default_rng(3),
    )
    S_P = rng.permutation(10**6)[:300]
    for n_C in (100, 250, 400):
        recycled = recycle(S_P, sets, n_C, option="UniformShuffle", rng=rng)
        assert np.setdiff1d(recycled.sample, S_P).size == n_C - recycled.savings


@pytest.mark.parametrize(
    ("n_P", "n_C", "pir", "cir"),
    [(5, 5, 0.4, 0.3), (7, 2, 1.0, 0.5), (4, 9, 0.0, 0.7), (0, 3, 1, 1)],
)
def test_expected_savings_are_the_mean_of_case_b_and_c(
    n_P: int, n_C: int, pir: float, cir: float
) -> None:
    total = 0.0
    for X in range(n_P + 1):
        case_b = X / n_C <= cir
        total += stats.binom.pmf(X, n_P, pir) * (X if case_b else n_C * cir)
    assert expected_savings(n_P, n_C, pir, cir) == pytest.approx(total, abs=1e-12)


# What cannot be used


@pytest.mark.parametrize(
    ("epsilon", "delta", "p0"),
    [(0, 0.05, 0.5), (0.03, 1, 0.5), (0.03, 0.05, 1), (0.03, 0.05, -0.1), (np.nan, 0.05, 0.5)],
)
def test_bad_targets_are_refused(epsilon: float, delta: float, p0: float) -> None:
    with pytest.raises(DesignError, match="cannot be used"):
        sample_size(epsilon, delta, p0)


def test_bad_ratios_and_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="0 to 1"):
        expected_savings(10, 10, 1.2, 0.5)
    with pytest.raises(InputError, match="n_P must be a whole number of at least 0, got -1"):
        expected_savings(-1, 10, 0.5, 0.5)
