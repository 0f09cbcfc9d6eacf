"""Paper 3's formulas against its printed numbers and Algorithm 1 itself."""

import numpy as np
import pytest
from scipy import stats

from assay.core.recycling.samples import (
    expected_savings,
    sample_size,
)

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
