"""Counts of outcomes in every class: ends that hold, also where none was found."""

import numpy as np
import pytest
from scipy.stats import binom, chi2

from assay.core.class_counts import ClassCounts, gamma_end

Z = 1.959964


def counts(N: list[float], n: list[float], x: list[float]) -> ClassCounts:
    """Return strata of one class, each of one cell."""
    size, labels, found = (np.array(each, dtype=float)[:, None] for each in (N, n, x))
    return ClassCounts(size, labels, found, size / np.maximum(labels, 1.0))


def test_the_quantile_is_that_of_the_gamma_distribution() -> None:
    # Garwood's exact limits of a count are quantiles of gamma; the cube is within 1% of them.
    for count in (1, 3, 10, 50):
        exact = chi2.ppf(0.975, 2 * count) / 2
        assert gamma_end(np.array(count), np.array(count), Z) == pytest.approx(exact, rel=0.01)


def test_no_find_leaves_as_many_as_three_labels_stand_for() -> None:
    # Nothing found in 100 labels of 10,000 items. An exact limit of one look has 3.0 W / n on one
    # side and 3.7 on two. The wrong variant, a variance at the rate that was seen, has none.
    seen = counts([10_000.0], [100.0], [0.0])
    low, high = seen.ends(Z, 0.5)
    assert float(low[0]) == 0.0
    assert float(high[0]) == pytest.approx(367, rel=0.02)
    assert float(seen.variance[0]) == 0.0


def test_the_ends_cover_a_count_in_every_sample() -> None:
    # By enumeration over the outcomes of 200 labels of a large stratum, at one look: 95% on average
    # over rates, as a mid-P interval has it, and little less at any. The wrong variant,
    # total -+ z sd, misses where outcomes are rare.
    N, n = 1e6, 200
    every = np.arange(n + 1.0)
    size, labels = np.full((1, 1), N), np.full((n + 1, 1, 1), float(n))
    seen = ClassCounts(size, labels, every[:, None, None], size / labels)
    low, high = (each[:, 0] for each in seen.ends(Z, 0.0))
    total, sd = seen.total[:, 0], np.sqrt(seen.variance[:, 0])
    held, wrong = [], []
    for rate in np.geomspace(0.004, 0.3, 60):
        chance = binom.pmf(every, n, rate)
        held.append(chance[(low <= N * rate) & (N * rate <= high)].sum())
        wrong.append(chance[np.abs(total - N * rate) <= Z * sd].sum())
    assert min(held) > 0.90
    assert np.mean(held) > 0.95
    assert min(wrong) < 0.60


def test_strata_weigh_as_their_items_and_cells_without_labels_are_shared_out() -> None:
    seen = counts([900.0, 100.0], [9.0, 10.0], [3.0, 1.0])
    assert float(seen.total[0]) == pytest.approx(310.0)
    part = counts([900.0, 100.0], [9.0, 0.0], [3.0, 0.0])
    assert float(part.total[0]) == pytest.approx(1000 / 3)
    none = counts([900.0, 100.0], [0.0, 0.0], [0.0, 0.0])
    assert float(none.total[0]) == 500.0
    assert [float(each[0]) for each in none.ends(Z, 0.5)] == [0.0, 1000.0]


def test_a_count_of_all_items_is_known() -> None:
    seen = counts([30.0, 20.0], [30.0, 20.0], [4.0, 0.0])
    assert [float(each[0]) for each in (seen.total, *seen.ends(Z, 0.5))] == [4.0, 4.0, 4.0]
