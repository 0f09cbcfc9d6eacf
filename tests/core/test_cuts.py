import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.bins import bins_of
from assay.core.cuts import Cuts, rank
from assay.core.profile import profile_of
from assay.core.types import Floats

NESTED = Cuts(method="gmm", points=(0.2, 0.3), owner=(1, 0, 1))


@given(
    st.lists(st.floats(-3, 3), max_size=40, unique=True),
    arrays(np.float64, st.integers(0, 50), elements=st.floats(-4, 4)),
)
def test_assign_is_a_count_of_the_points_passed(points: list[float], values: Floats) -> None:
    points = sorted(points)
    cuts = Cuts(method="equal", points=tuple(points), owner=tuple(range(len(points) + 1)))
    expected = [sum(value >= point for point in points) for value in values]
    assert cuts.assign(values).tolist() == expected
    assert cuts.assign(values).dtype == np.int64


def test_a_stratum_may_own_several_intervals() -> None:
    values = np.array([0.1, 0.2, 0.25, 0.3, 5.0])
    assert NESTED.n_strata == 2
    assert NESTED.assign(values).tolist() == [1, 0, 0, 1, 1]
    assert NESTED.sizes(profile_of(values)).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("points", "texts"),
    [
        ((), ["of any value"]),
        ((0.5,), ["below 0.5", "0.5 or more"]),
        ((0.8712345, 0.934), ["below 0.871", "0.871 to 0.934", "0.934 or more"]),
        ((-1.7e308, 1.7e308), ["below -1.7e+308", "-1.7e+308 to 1.7e+308", "1.7e+308 or more"]),
        ((0.998, 0.99986), ["below 0.998", "0.998 to 0.9999", "0.9999 or more"]),
        ((0.99991, 0.99992), ["below 0.99991", "0.99991 to 0.99992", "0.99992 or more"]),
        (
            (1.0, np.nextafter(1.0, 2)),
            ["below 1", "1 to 1.0000000000000002", "1.0000000000000002 or more"],
        ),
    ],
)
def test_words_tell_the_points_apart(points: tuple[float, ...], texts: list[str]) -> None:
    cuts = Cuts(method="equal", points=points, owner=tuple(range(len(points) + 1)))
    assert cuts.describe() == texts


def test_dict_round_trip_is_exact() -> None:
    cuts = Cuts("gmm", (0.1 + 0.2, 1e300), (1, 0, 1), ("a note",))
    assert Cuts.from_dict(cuts.to_dict()) == cuts


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
