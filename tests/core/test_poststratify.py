import numpy as np
import pytest
from scipy import stats

from assay.core.poststratify import bins_for, chance_of_spread, groups_with_labels
from assay.core.types import Floats


def test_bins_grow_with_the_labels_and_keep_25_each() -> None:
    bins = np.array([bins_for(n) for n in range(5000)])
    assert bins.min() == 1
    assert (np.diff(bins) >= 0).all()
    labels = np.arange(5000)
    assert (labels[bins > 1] / bins[bins > 1] >= 25).all()


def test_groups_join_what_has_no_labels_and_never_cross_layers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        layer = np.sort(rng.integers(0, 2, 9))
        n = rng.integers(0, 3, 9)
        group = groups_with_labels(n, layer)
        assert (np.diff(group, prepend=0) <= 1).all()
        assert (np.diff(group) >= 0).all()
        for number in np.unique(group):
            inside = group == number
            assert len(set(layer[inside])) == 1
            alone = inside.sum() == (layer == layer[inside][0]).sum()
            assert n[inside].sum() > 0 or alone
            assert (n[inside] > 0).sum() <= 1


def test_the_chance_is_that_of_the_chi_square_test() -> None:
    n = np.array([30.0, 22.0, 18.0, 30.0])
    endless = np.full(4, 1e12)
    expected = stats.chisquare(n).pvalue
    assert chance_of_spread(endless, n, np.zeros(4, dtype=np.int64)) == pytest.approx(expected)
    both = chance_of_spread(np.tile(endless, 2), np.tile(n, 2), np.repeat([0, 1], 4))
    assert both == pytest.approx(stats.chi2.sf(2 * stats.chisquare(n).statistic, 6))
    assert chance_of_spread(endless[:1], n[:1], np.zeros(1, dtype=np.int64)) == 1.0
    assert chance_of_spread(n, n, np.zeros(4, dtype=np.int64)) == 1.0  # everything was drawn


def test_random_samples_are_doubted_as_often_as_the_chance_says() -> None:
    """4,000 samples: 0.05 ± 0.014 (four standard errors), wrong once in 15,000 runs."""
    rng = np.random.default_rng(1)
    size, layer = np.array([400, 300, 300]), np.zeros(3, dtype=np.int64)

    def share_doubted(drawn: Floats) -> float:
        found = [chance_of_spread(size.astype(np.float64), n, layer) for n in drawn]
        return float((np.array(found) < 0.05).mean())

    def check(drawn: Floats) -> None:
        assert share_doubted(drawn) == pytest.approx(0.05, abs=0.014)

    check(rng.multivariate_hypergeometric(size, 300, 4000).astype(np.float64))
    with pytest.raises(AssertionError):  # samples that prefer the first stratum
        check(rng.multinomial(300, [0.5, 0.25, 0.25], 4000).astype(np.float64))
