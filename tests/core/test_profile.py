from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.profile import Profile, as_scores, profile_of
from assay.core.types import Floats
from assay.errors import InputError

ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)


def cells(**changed: Any) -> dict[str, Any]:
    scores = np.array([0.1, 0.5, 0.9])
    counts = np.array([2, 1, 4])
    return {"low": scores, "high": scores, "mean": scores, "count": counts} | changed


def check_cells(profile: Profile, values: Floats) -> None:
    """Each cell counts the values between its ends, and all values are in a cell."""
    assert profile.total == values.size
    for low, high, mean, count in zip(
        profile.low, profile.high, profile.mean, profile.count, strict=True
    ):
        inside = values[(low <= values) & (values <= high)]
        assert inside.size == count
        assert inside.min() == low
        assert inside.max() == high
        exact_mean = float(sum(map(Fraction, inside.tolist())) / inside.size)
        tolerance = 1e-12 * float(np.abs(inside).max()) + 1e-300
        assert abs(mean / 2 - exact_mean / 2) <= tolerance


def test_few_distinct_scores_have_a_cell_each() -> None:
    values = np.random.default_rng(1).integers(0, 50, 1000) / 50
    profile = profile_of(values, max_cells=50)
    distinct, count = np.unique(values, return_counts=True)
    assert profile.exact
    np.testing.assert_array_equal(profile.low, distinct)
    np.testing.assert_array_equal(profile.mean, distinct)
    np.testing.assert_array_equal(profile.count, count)
    assert (profile.min, profile.max) == (distinct[0], distinct[-1])


def test_many_distinct_scores_are_binned() -> None:
    values = np.random.default_rng(2).normal(size=5000)
    profile = profile_of(values, max_cells=64)
    assert not profile.exact
    assert 32 < profile.low.size <= 64
    check_cells(profile, values)
    wrong = Profile(profile.low, profile.high, profile.mean, np.roll(profile.count, 1))
    with pytest.raises(AssertionError):
        check_cells(wrong, values)


def test_binned_cells_are_small_in_count_and_in_width() -> None:
    values = np.random.default_rng(3).standard_cauchy(20000)
    profile = profile_of(values, max_cells=200)
    assert profile.count.max() <= 20000 / 100
    assert (profile.high - profile.low).max() <= (profile.max - profile.min) / 100


def test_a_pile_up_has_a_cell_of_its_own() -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.random(3000), np.full(500, 0.25), np.zeros(200)])
    profile = profile_of(values, max_cells=40)
    for piled, count in ((0.25, 500), (0.0, 200)):
        cell = np.flatnonzero(profile.low == piled)
        assert profile.high[cell] == piled
        assert profile.count[cell] == count


@pytest.mark.parametrize("K", [*range(1, 11), 12, 14, 15, 18, 20])
def test_default_cells_have_the_edges_of_equal_sizes(K: int) -> None:
    size = 12345
    profile = profile_of(np.random.default_rng(5).random(size))
    assert not profile.exact
    edges = np.concatenate([[0], np.cumsum(profile.count)])
    nearest = np.abs(edges[:, None] - size * np.arange(K + 1) / K).min(axis=0)
    assert nearest.max() <= 0.5


@given(
    arrays(np.float64, st.integers(1, 60), elements=ANY_FLOAT),
    st.integers(1, 70),
)
def test_any_finite_scores_have_a_profile(values: Floats, max_cells: int) -> None:
    profile = profile_of(values, max_cells=max_cells)
    assert profile.low.size <= max_cells
    check_cells(profile, values)


def test_negative_zero_is_zero() -> None:
    profile = profile_of(np.array([-0.0, 0.0, -0.0]))
    assert profile.low.size == 1
    assert not np.signbit(profile.low).any()
    assert not np.signbit(profile.high).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(InputError, match=rf"score 2 is {bad}\n1 of 4 scores"):
        profile_of(np.array([0.1, 0.2, bad, 0.3]))


def test_no_scores_and_no_cells_are_refused() -> None:
    with pytest.raises(InputError, match="no scores"):
        profile_of(np.array([]))
    with pytest.raises(InputError, match="max_cells is 0"):
        profile_of(np.array([0.5]), max_cells=0)


@pytest.mark.parametrize(
    "bad", [np.array(["a"]), np.array([[0.5]]), np.array([True]), np.array([None])]
)
def test_what_is_no_line_of_numbers_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="must be numbers in one dimension"):
        as_scores(bad)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"low": np.array([0.1, np.nan, 0.9])}, "score 1 is nan"),
        ({"high": np.array([0.1, 0.5])}, "high has 2 cells"),
        ({"low": np.array([0.1, 0.6, 0.9])}, "not in order"),
        ({"high": np.array([0.1, 0.9, 0.9])}, "not in order"),
        ({"mean": np.array([0.1, 0.5, 1.0])}, "not in order"),
        ({"count": np.array([2, 0, 4])}, "counts run from 0 to 4"),
        ({"count": np.array([2, 1, 2**62])}, f"counts run from 1 to {2**62}"),
        ({"count": np.array([2.0, 1.0, 4.0])}, "count is float64"),
        ({"count": np.array([2, 1])}, r"of shape \(2,\)"),
        ({name: np.array([]) for name in ("low", "high", "mean")}, "low has 0 cells"),
    ],
)
def test_cells_that_make_no_profile_are_refused(changed: dict[str, Any], problem: str) -> None:
    assert Profile(**cells()).total == 7
    with pytest.raises(InputError, match=problem):
        Profile(**cells(**changed))
