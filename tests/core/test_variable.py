import numpy as np
import pytest

from assay.core.bins import bins_of
from assay.core.profile import profile_of
from assay.core.types import Floats
from assay.core.variable import rank


def _check_is_mid_rank(ranks: Floats, score: Floats) -> None:
    lower = (score[:, None] > score).sum(axis=1)
    equal = (score[:, None] == score).sum(axis=1)
    assert (ranks == (lower + equal / 2) / score.size).all()


def test_the_rank_counts_the_lower_and_half_of_the_equal() -> None:
    score = np.random.default_rng(1).integers(-9, 9, 200) / 4
    _check_is_mid_rank(rank(score, profile_of(score)), score)
    with pytest.raises(AssertionError):
        _check_is_mid_rank(np.searchsorted(np.sort(score), score) / score.size, score)


def test_scores_in_one_bin_have_one_rank() -> None:
    score = np.random.default_rng(2).normal(size=4_000)
    ranks = rank(score, profile_of(score))
    _check_is_mid_rank(ranks, bins_of(score, "margin").astype(np.float64))
    with pytest.raises(AssertionError):
        _check_is_mid_rank(ranks, score)
    exact = (np.argsort(np.argsort(score)) + 0.5) / score.size
    assert np.abs(ranks - exact).max() <= 1 / 500


def test_where_all_scores_are_equal_the_rank_is_a_half() -> None:
    assert rank(np.zeros(3), profile_of(np.zeros(3))).tolist() == [0.5] * 3
