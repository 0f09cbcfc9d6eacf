from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.bins import Rule, bins_of
from assay.core.profile import Profile, as_scores, profile_of, score_range
from assay.core.types import Floats
from assay.errors import InputError

ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
TINY = Fraction(5e-324)  # halving the smallest number loses it


def cells(**changed: Any) -> dict[str, Any]:
    scores = np.array([0.1, 0.5, 0.9])
    counts = np.array([2, 1, 4])
    return {"low": scores, "high": scores, "mean": scores, "count": counts} | changed


def check_cells(profile: Profile, values: Floats, rule: Rule) -> None:
    """Cells are the bins that hold any value; the values are looked at one by one."""
    held: dict[int, list[float]] = defaultdict(list)
    for number, value in zip(bins_of(values, rule).tolist(), values.tolist(), strict=True):
        held[number].append(value)
    expected = [held[number] for number in sorted(held)]
    assert profile.low.tolist() == [min(cell) for cell in expected]
    assert profile.high.tolist() == [max(cell) for cell in expected]
    assert profile.count.tolist() == [len(cell) for cell in expected]
    for cell, mean in zip(expected, profile.mean.tolist(), strict=True):
        middle = (Fraction(min(cell)) + Fraction(max(cell))) / 2
        assert abs(Fraction(mean) - middle) <= Fraction(max(map(abs, cell))) / 2**51 + TINY


def test_few_distinct_scores_have_a_cell_each() -> None:
    values = np.random.default_rng(1).integers(0, 50, 1000) / 50
    profile = profile_of(values)
    distinct, count = np.unique(values, return_counts=True)
    assert profile.exact
    np.testing.assert_array_equal(profile.low, distinct)
    np.testing.assert_array_equal(profile.mean, distinct)
    np.testing.assert_array_equal(profile.count, count)
    assert (profile.min, profile.max) == (distinct[0], distinct[-1])


@pytest.mark.parametrize("size", [5_000, 70_000])  # fewer and more than are counted at once
@pytest.mark.parametrize("rule", ["probability", "margin"])
def test_many_distinct_scores_share_the_cells_of_their_bins(rule: Rule, size: int) -> None:
    rng = np.random.default_rng(2)
    values = rng.beta(0.4, 0.6, size) if rule == "probability" else rng.normal(size=size)
    profile = profile_of(values)
    assert not profile.exact
    check_cells(profile, values, rule)
    wrong = Profile(profile.low, profile.high, profile.mean, np.roll(profile.count, 1))
    with pytest.raises(AssertionError):
        check_cells(wrong, values, rule)


def test_a_part_of_a_population_is_profiled_by_the_rule_for_all() -> None:
    part = np.random.default_rng(3).random(5000)
    check_cells(profile_of(part, "margin"), part, "margin")
    with pytest.raises(AssertionError):
        check_cells(profile_of(part), part, "margin")


@given(arrays(np.float64, st.integers(1, 60), elements=ANY_FLOAT))
def test_any_finite_scores_have_a_profile(values: Floats) -> None:
    rule: Rule = "probability" if ((values >= 0) & (values <= 1)).all() else "margin"
    check_cells(profile_of(values), values, rule)


@given(arrays(np.float64, st.integers(1, 60), elements=st.floats(0, 1)))
def test_any_probabilities_have_a_profile_by_either_rule(values: Floats) -> None:
    check_cells(profile_of(values, "probability"), values, "probability")
    check_cells(profile_of(values, "margin"), values, "margin")


def test_negative_zero_is_zero() -> None:
    profile = profile_of(np.array([-0.0, 0.0, -0.0]))
    assert profile.low.size == 1
    assert not np.signbit(profile.low).any()
    assert not np.signbit(profile.high).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_is_named(bad: float) -> None:
    with pytest.raises(InputError, match=rf"score 2 is {bad}\n1 of 4 scores"):
        profile_of(np.array([0.1, 0.2, bad, 0.3]))


def test_no_scores_are_refused() -> None:
    with pytest.raises(InputError, match="no scores"):
        profile_of(np.array([]))
    with pytest.raises(InputError, match="no scores"):
        score_range(np.array([]))


@pytest.mark.parametrize("outside", [-0.1, 1.1])
def test_what_is_no_probability_is_not_binned_as_one(outside: float) -> None:
    with pytest.raises(InputError, match=r"(?s)scores run from .*between 0 and 1"):
        profile_of(np.array([0.5, outside]), "probability")


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
