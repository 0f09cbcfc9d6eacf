"""The bins against the formulas in plain Python, and how finely they part scores that pile up."""

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.core.bins import LARGEST_BIN, Rule, bins_of, find_places, scale_of
from assay.core.cut_methods import cut
from assay.core.profile import Profile, profile_of
from assay.core.tally import cells_of
from assay.core.types import Floats

RNG = np.random.default_rng(60)
SIZE = 200_000
LARGEST = float(np.finfo(np.float64).max)

ANY: dict[Rule, st.SearchStrategy[float]] = {
    "probability": st.one_of(st.floats(0, 1), st.floats(0, 1e-300), st.floats(1 - 1e-14, 1)),
    "tail": st.one_of(st.floats(0, 1), st.floats(0, 1e-300), st.floats(1 - 1e-14, 1)),
    "margin": st.one_of(
        st.floats(allow_nan=False, allow_infinity=False), st.floats(-9, 9), st.floats(-1e-310, 0)
    ),
}
RULES: list[Rule] = list(ANY)


def plain_bin(x: float, rule: Rule) -> int:
    """Return the bin by the formula, one operation after the other; `round` goes to the even."""
    if rule == "probability":
        return round(2047 * (math.sqrt(x) - math.sqrt(1 - x)))

    def r(x: float) -> float:
        return math.sqrt(math.sqrt(math.sqrt(x)))

    def s(x: float) -> float:
        return 1 / (1 + r(max(x, 0.0)))

    return round(2047 * (r(x) - r(1 - x)) if rule == "tail" else 16383 * (s(-x) - s(x)))


@pytest.mark.parametrize("rule", RULES)
def test_what_is_no_score_has_no_place(rule: Rule) -> None:
    outside = [-1e-9, 1.001] if rule == "probability" else []
    for odd in [np.nan, np.inf, -np.inf, *outside]:
        values, places = np.array([0.5, odd, 0.25]), np.empty(3, dtype=np.uint16)
        assert not find_places(values, rule, np.zeros(3, dtype=np.int64), places)


def sigmoid(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))


def _edges() -> Floats:
    """Return scores around the ends of bins: those before and behind, by one float64 each."""
    ends = np.arange(-2046.5, 2047.0)
    # The root of sqrt(x) - sqrt(1 - x) = c, by x = (1 + c sqrt(2 - c^2)) / 2.
    c = ends / 2047
    middle = np.clip((1 + c * np.sqrt(2 - c**2)) / 2, 0, 1)
    near = [middle]
    for way in (0.0, 1.0):
        at = middle
        for _ in range(6):
            at = np.nextafter(at, way)
            near.append(at)
    far = np.float32(middle)
    near += [np.nextafter(far, np.float32(way)).astype(np.float64) for way in (0, 1)]
    return np.concatenate(near)


def test_probabilities_near_the_end_of_a_bin() -> None:
    edges = _edges()
    assert bins_of(edges, "probability").tolist() == [
        plain_bin(x, "probability") for x in edges.tolist()
    ]


@pytest.mark.parametrize("rule", RULES)
def test_bins_are_those_of_the_formula(rule: Rule) -> None:
    @given(arrays(np.float64, st.integers(1, 50), elements=ANY[rule]))
    def check(values: Floats) -> None:
        assert bins_of(values, rule).tolist() == [plain_bin(x, rule) for x in values.tolist()]

    check()
    many = RNG.normal(0, 50, 20_000) if rule == "margin" else RNG.random(20_000)
    assert bins_of(many, rule).tolist() == [plain_bin(x, rule) for x in many.tolist()]


@pytest.mark.parametrize("rule", RULES)
def test_a_larger_score_never_has_a_smaller_bin(rule: Rule) -> None:
    @given(arrays(np.float64, st.integers(1, 50), elements=ANY[rule]))
    def check(values: Floats) -> None:
        low, high = (-LARGEST, LARGEST) if rule == "margin" else (0.0, 1.0)
        beside = [values, np.nextafter(values, low), np.nextafter(values, high)]
        found = bins_of(np.sort(np.concatenate(beside)), rule)
        assert (np.diff(found) >= 0).all()
        assert np.abs(found).max() <= LARGEST_BIN

    check()


def test_bins_are_symmetric() -> None:
    # Multiples of 2^-53, so that 1 - x is the very same number seen from the other end.
    scores = RNG.integers(0, 2**53 + 1, SIZE) / 2**53
    for rule in ("probability", "tail"):
        assert (bins_of(1 - scores, rule) == -bins_of(scores, rule)).all()
    margins = RNG.standard_cauchy(SIZE)
    assert (bins_of(-margins, "margin") == -bins_of(margins, "margin")).all()


def test_a_half_goes_to_the_even_bin() -> None:
    """At 1 the margins' rule gives 8191.5; with halves upwards it would not be symmetric."""
    ends = np.array([-1.0, 1.0])
    assert bins_of(ends, "margin").tolist() == [-8192, 8192]


@pytest.mark.parametrize(
    ("low", "high", "rule"),
    [
        (0.0, 1.0, "probability"),
        (-0.0, 0.5, "probability"),
        (0.2, 0.3, "probability"),
        (-5e-324, 1.0, "margin"),
        (0.0, np.nextafter(1, 2), "margin"),
        (-3.0, 0.5, "margin"),
    ],
)
def test_the_rule_follows_from_the_range(low: float, high: float, rule: Rule) -> None:
    assert scale_of(low, high) == rule


# Scores that pile up, and the largest share of them that one bin may hold.
PILED: dict[str, tuple[Floats, float]] = {
    "logits with sd 3": (sigmoid(RNG.normal(0, 3, SIZE)), 0.001),
    "logits with sd 8": (sigmoid(RNG.normal(0, 8, SIZE)), 0.02),
    "beta(0.05, 0.05)": (RNG.beta(0.05, 0.05, SIZE), 0.02),
    "of a rare class": (10 ** RNG.uniform(-9, -4, SIZE), 0.005),
}


@pytest.mark.parametrize("piled", PILED)
def test_no_bin_holds_a_large_share_of_different_scores(piled: str) -> None:
    scores, most = PILED[piled]
    different = scores[(scores > 0) & (scores < 1)]  # equal ones cannot be parted
    rule = cells_of(different, np.zeros(different.size, dtype=np.bool_)).rule
    _, count = np.unique(bins_of(different, rule), return_counts=True)
    assert count.max() <= most * different.size


EVEN: dict[str, Floats] = {
    "uniform": RNG.random(SIZE),
    "beta(0.4, 0.6)": RNG.beta(0.4, 0.6, SIZE),
    "logits with sd 3": PILED["logits with sd 3"][0],
    "logits with sd 8": PILED["logits with sd 8"][0],
    "margins": RNG.normal(0, 1, SIZE),
    "heavy tails": RNG.standard_cauchy(SIZE),
}


@pytest.mark.parametrize("scores", EVEN)
def test_ten_strata_of_equal_size_are_so_within_two_percent(scores: str) -> None:
    profile = profile_of(EVEN[scores])
    sizes = cut(profile, "perc", 10).sizes(profile)
    assert sizes.size == 10
    assert np.abs(sizes / (SIZE / 10) - 1).max() <= 0.02


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
