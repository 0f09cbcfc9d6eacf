from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.bins import Rule, bins_of
from assay.core.profile import Profile, profile_of
from assay.core.types import Floats

ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
TINY = Fraction(5e-324)  # halving the smallest number loses it


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
