import numpy as np
import pytest

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


def test_ranks_are_steps_where_the_profile_has_fewer_cells_than_there_are_scores() -> None:
    score = np.random.default_rng(2).normal(size=20_000)
    ranks = rank(score, profile_of(score))
    assert np.unique(ranks).size <= 5_040
    assert (np.diff(ranks[np.argsort(score)]) >= 0).all()
    # A step holds no more items than lie between two edges of equal count, 1 in 2,520.
    exact = (np.argsort(np.argsort(score)) + 0.5) / score.size
    assert np.abs(ranks - exact).max() <= 1 / 2_520


def test_where_all_scores_are_equal_the_rank_is_a_half() -> None:
    assert rank(np.zeros(3), profile_of(np.zeros(3))).tolist() == [0.5] * 3
