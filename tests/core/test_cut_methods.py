"""Cuts of a side: each method against its definition, applied to the items one by one."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import gaussian_kde
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from assay.core.bins import bins_of
from assay.core.cut_methods import METHODS, Facing, canonical_method, cut
from assay.core.cuts import Cuts, rank
from assay.core.profile import Profile, profile_of
from assay.core.types import Floats
from tests.torture.sizes import sized

ANY_FLOAT = st.floats(allow_nan=False, allow_infinity=False)


def each_alone(values: Floats) -> Profile:
    """Return the profile with a cell for each distinct score."""
    scores, count = np.unique(values, return_counts=True)
    return Profile(low=scores, high=scores, mean=scores, count=count)


def sizes_below(values: Floats, points: Floats) -> list[int]:
    number = np.searchsorted(points, values, side="right")
    return [int(np.count_nonzero(number == k)) for k in range(points.size + 1)]


def equal_direct(values: Floats, K: int) -> list[int]:
    return sizes_below(values, values[0] + np.ptp(values) * np.arange(1, K) / K)


def perc_direct(values: Floats, K: int) -> list[int]:
    return [part.size for part in np.array_split(values, K)]


def root_direct(root: int) -> Callable[[Floats, int], list[int]]:
    def direct(values: Floats, K: int) -> list[int]:
        grid = np.linspace(values[0], values[-1], 4001)
        cumulated = np.cumsum(gaussian_kde(values)(grid) ** (1 / root))
        wanted = cumulated[-1] * np.arange(1, K) / K
        return sizes_below(values, grid[np.searchsorted(cumulated, wanted)])

    return direct


def wtmn_direct(values: Floats, K: int) -> list[int]:
    """Deal the items in order; close a stratum when its share of the total is reached."""
    sizes, total, parts = [0], 0.0, 1
    for value in values:
        if parts < K and total + value / 2 > values.sum() * parts / K:
            sizes.append(0)
            parts += 1
        sizes[-1] += 1
        total += value
    return sizes


def km_direct(values: Floats, K: int) -> list[int]:
    model = KMeans(K, n_init=50, random_state=0).fit(values[:, None])
    centers = np.sort(model.cluster_centers_[:, 0])
    return sizes_below(values, (centers[1:] + centers[:-1]) / 2)


def gmm_direct(values: Floats, K: int) -> list[int]:
    model = GaussianMixture(K, n_init=10, tol=1e-6, max_iter=2000, random_state=0)
    component = model.fit(values[:, None]).predict(values[:, None])
    order = np.argsort(model.means_[:, 0])
    return [int(np.count_nonzero(component == k)) for k in order]


DIRECT: dict[str, tuple[Callable[[Floats, int], list[int]], int]] = {
    # method: its definition, and how many items a stratum of 600 may differ by; an item lies on
    # the other side of a boundary when that is a rounding (a step of the grid, of EM) away
    "equal": (equal_direct, 0),
    "perc": (perc_direct, 1),
    "sqrt": (root_direct(2), 1),
    "cbrt": (root_direct(3), 1),
    "wtmn": (wtmn_direct, 1),
    "km": (km_direct, 0),
    "gmm": (gmm_direct, 6),
}


def three_heaps(size: int) -> Floats:
    rng = np.random.default_rng(21)
    heap = rng.choice(3, size, p=[0.5, 0.2, 0.3])
    centers, widths = np.array([4.0, 8.0, 12.0]), np.array([1.0, 0.5, 0.8])
    return np.sort(rng.normal(centers[heap], widths[heap]))


def check_sizes(profile: Profile, method: str, expected: list[int], tolerance: float) -> None:
    sizes = cut(profile, method, len(expected)).sizes(profile)
    assert sizes.size == len(expected)
    assert np.abs(np.cumsum(sizes) - np.cumsum(expected)).max() <= tolerance


@pytest.mark.parametrize("method", DIRECT)
def test_profile_gives_what_the_items_give(method: str) -> None:
    values = three_heaps(600)
    direct, tolerance = DIRECT[method]
    # With more components than heaps there are many optima.
    for K in [2, 3] if method == "gmm" else [2, 3, 5]:
        check_sizes(each_alone(values), method, direct(values, K), tolerance)


@pytest.mark.parametrize("method", [each for each in METHODS if each not in ("gmm", "ladder")])
def test_binned_profile_gives_what_the_exact_one_gives(method: str) -> None:
    """Within the largest cell at each boundary, which holds 1 in 600 of the items."""
    for K in [2, 5, 8]:
        values = np.random.default_rng(22).beta(0.4, 0.6, 20000)
        exact, binned = each_alone(values), profile_of(values)
        assert 1 < binned.count.max() < 20000 / 600
        check_sizes(binned, method, cut(exact, method, K).sizes(exact).tolist(), binned.count.max())
        assert (binned.low[:, None] == cut(binned, method, K).points).any(axis=0).all()


def test_binned_profile_gives_the_mixture_of_the_exact_one() -> None:
    values = three_heaps(20000)
    exact, binned = each_alone(values), profile_of(values)
    check_sizes(binned, "gmm", cut(exact, "gmm", 3).sizes(exact).tolist(), binned.count.max())


def test_equal_width_boundary_belongs_to_the_upper_stratum() -> None:
    values = np.round(np.arange(50, 101) / 100, 2)
    assert cut(profile_of(values), "equal", 5).points == (0.6, 0.7, 0.8, 0.9)


def test_scores_below_zero_are_shifted_for_equal_totals_and_it_is_told() -> None:
    values = three_heaps(600)
    from_zero = each_alone(values - values[0])
    below_zero = each_alone(values - values[0] - 3)
    cuts = cut(below_zero, "wtmn", 4)
    expected = cut(from_zero, "wtmn", 4).sizes(from_zero)
    assert cuts.sizes(below_zero).tolist() == expected.tolist()
    assert "scores below zero: 3 was added" in cuts.notes[0]


def test_items_of_equal_score_stay_together_and_it_is_told() -> None:
    values = np.concatenate([np.full(90, 0.5), np.arange(10) / 10 + 0.01])
    profile = profile_of(values)
    cuts = cut(profile, "perc", 4)
    assert cuts.sizes(profile).tolist() == [5, 90, 5]
    assert cuts.notes == (
        "strata hold 5 to 90 items, as equal scores cannot be split",
        "asked for 4 strata, 1 would be empty: 3 strata",
    )


def test_empty_bins_are_dropped_and_it_is_told() -> None:
    profile = profile_of(np.array([0.0, 0.01, 0.02, 0.03, 0.04, 0.5, 1.0]))
    cuts = cut(profile, "equal", 6)
    assert cuts.points == (0.5, 1.0)
    assert cuts.sizes(profile).tolist() == [5, 1, 1]
    assert cuts.notes == ("asked for 6 strata, 3 would be empty: 3 strata",)


@pytest.mark.parametrize("method", [each for each in METHODS if each != "ladder"])
def test_fewer_distinct_scores_than_strata(method: str) -> None:
    profile = profile_of(np.array([0.2, 0.9, 0.2, 0.201]))
    cuts = cut(profile, method, 8)
    assert cuts.points == (0.201, 0.9)
    assert cuts.notes == ("asked for 8 strata, 3 distinct scores: 3 strata",)
    constant = cut(profile_of(np.zeros(5)), method, 2)
    assert constant.points == ()
    assert constant.notes == ("asked for 2 strata, 1 distinct score: 1 stratum",)
    assert cut(profile, method, 3).notes == ()


def test_ladder_steps_down_by_one_ratio() -> None:
    profile = profile_of(np.random.default_rng(3).random(20_000))
    sizes = cut(profile, "ladder", 60).sizes(profile)[::-1]  # the highest scores first
    above = np.cumsum(sizes)
    assert 30 < sizes.size <= 60
    assert sizes.min() >= 40
    ratio = (20_000 / 40) ** (1 / 59)
    late = above[:-1] > 40 / (ratio - 1)  # before, a step of 40 items is larger than the ratio
    steps = (above[1:] / above[:-1])[late]
    assert (steps[:-1] >= ratio - 1e-9).all()
    assert steps[:-1].max() < ratio * 1.02  # the profile's cells are finer than that
    # Ties stay together, and a stratum is never smaller than a round of bets needs.
    few = profile_of(np.repeat([0.1, 0.2, 0.3, 0.4], [200, 10, 10, 100]))
    assert cut(few, "ladder", 60).sizes(few).tolist() == [220, 100]
    assert cut(few, "ladder", 1).n_strata == 1


def test_fewer_cells_than_strata() -> None:
    near = profile_of(np.linspace(0.5, 0.501, 100))  # bins are 1/2896 wide there
    assert cut(near, "km", 8).notes == ("asked for 8 strata, 4 score cells: 4 strata",)


def test_a_wide_component_owns_both_flanks_of_a_narrow_one() -> None:
    rng = np.random.default_rng(23)
    values = np.concatenate([rng.normal(0, 3, 1000), rng.normal(3, 0.1, 1000)])
    profile = profile_of(values)
    cuts = cut(profile, "gmm", 2)
    assert cuts.owner == (0, 1, 0)
    number = cuts.assign(values)
    assert values[number == 0].mean() < values[number == 1].mean()
    assert np.bincount(number).tolist() == cuts.sizes(profile).tolist()
    assert cuts.notes == (
        "2 strata of 3 intervals: a wide Gaussian has both flanks of a narrow one",
    )


@st.composite
def any_profile(draw: st.DrawFn) -> Profile:
    """Cells with any ends, means and counts that a profile may have."""
    elements = draw(st.sampled_from([ANY_FLOAT, st.floats(0, 1), st.floats(-1e-310, 1e-310)]))
    ends = np.unique(draw(arrays(np.float64, st.integers(1, 60), elements=elements)) + 0.0)
    if ends.size % 2 or draw(st.booleans()):
        low = high = mean = ends
    else:
        low, high = ends[::2], ends[1::2]
        middle = np.clip(low / 2 + high / 2, low, high)
        mean = np.choose(
            draw(arrays(np.int64, low.size, elements=st.integers(0, 2))), [low, middle, high]
        )
    counts = draw(arrays(np.int64, low.size, elements=st.integers(1, 2**46)))
    return Profile(low=low, high=high, mean=mean, count=counts)


@settings(max_examples=sized(400, 1_000))
@given(any_profile(), st.sampled_from(list(METHODS)), st.integers(1, 20))
def test_any_profile_is_cut(profile: Profile, method: str, bins: int) -> None:
    cuts = cut(profile, method, bins)
    sizes = cuts.sizes(profile)
    assert 1 <= sizes.size == cuts.n_strata <= bins
    assert sizes.min() >= 1
    assert sizes.sum() == profile.total
    assert np.isin(cuts.points, profile.low[1:]).all()
    if method != "gmm":
        assert cuts.owner == tuple(range(cuts.n_strata))
    if cuts.n_strata < bins:
        assert cuts.notes
    assert cut(profile, method, bins) == cuts


@pytest.mark.parametrize(
    ("name", "method"),
    [("EQWD", "equal"), ("eqsz", "perc"), ("Perc", "perc"), ("GMM", "gmm"), ("sqrt", "sqrt")],
)
def test_names_of_both_papers(name: str, method: str) -> None:
    assert canonical_method(name) == method
    assert cut(profile_of(np.arange(9.0)), name, 2).method == method


def depths(items: int, others: int, K: int) -> list[int]:
    """Sizes of strata by depth, nearest the threshold first: every boundary by brute force."""
    k = np.arange(items + 1)
    steps = np.log(1 + k / others)
    wanted = [steps[-1] * part / K for part in range(K + 1)]
    edges = [int(np.abs(steps - each).argmin()) for each in wanted]
    return np.diff(edges).tolist()


@pytest.mark.parametrize("others", [3, 40, 2000, 10**7])
def test_depth_makes_equal_steps_away_from_the_threshold(others: int) -> None:
    for up in [True, False]:
        values = np.random.default_rng(3).permutation(np.linspace(0, 1, 2000) ** 3)
        profile = each_alone(values)
        found = cut(profile, "depth", 8, Facing(up, others))
        sizes = found.sizes(profile).tolist()
        towards = depths(2000, others, 8)
        # Where a boundary would be empty at so few others, it is left out.
        towards = [size for size in towards if size]
        assert sizes == (towards[::-1] if up else towards)
        assert found.method == "depth"
        if others >= 10**7:
            assert max(sizes) - min(sizes) <= 2  # nearly of equal size
        else:
            assert sizes != (towards if up else towards[::-1])  # the orientation is told
            assert sizes == sorted(sizes, reverse=up)
            assert max(sizes) > 1.5 * min(sizes)


@pytest.mark.parametrize("method", ["depth", "auto"])
def test_without_a_threshold_strata_are_of_equal_size(method: str) -> None:
    profile = each_alone(np.random.default_rng(5).random(600))
    assert cut(profile, method, 6) == cut(profile, "perc", 6)
    assert cut(profile, "depth", 6, Facing(True, 5)) != cut(profile, "perc", 6)


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


def test_scores_in_one_bin_have_one_rank() -> None:
    score = np.random.default_rng(2).normal(size=4_000)
    ranks = rank(score, profile_of(score))
    _check_is_mid_rank(ranks, bins_of(score, "margin").astype(np.float64))
    exact = (np.argsort(np.argsort(score)) + 0.5) / score.size
    assert np.abs(ranks - exact).max() <= 1 / 500
