"""The curve's statistics: exact posterior on a small case, and bands that hold everywhere at once.

Every statistical test has a fixed seed; the chance that it would fail by chance is stated.
"""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from assay.core import curve, curve_cells
from assay.core.bins import FALLS, ScoreBins
from assay.core.curve import CurveBands, curve_bands, simultaneous
from assay.core.curve_cells import Unseen
from assay.core.types import Floats


def bins_of(items: list[float], labels: list[float], positives: list[float]) -> ScoreBins:
    number = len(items)
    return ScoreBins(
        np.arange(number, dtype=float),
        np.array(items),
        np.array(labels),
        np.array(positives),
        np.arange(number),
        np.zeros(number, dtype=int),
        np.ones(number, dtype=bool),
    )


def test_the_posterior_is_that_of_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three cells on a grid of seven points: all 343 paths, for each size and slope of the walk."""
    monkeypatch.setattr(curve, "_STEP", 1.5)
    monkeypatch.setattr(curve, "_FARTHEST", 4.5)
    bins = bins_of([50, 60, 40], [6, 5, 7], [1, 2, 6])
    cells = curve_cells.Cells(bins, bins.starts)
    walk = curve._Walk(cells)
    points = 1.5 * np.arange(-3, 4)
    total, mean, second = 0.0, np.zeros(3), np.zeros(3)
    paths = np.array(list(product(range(7), repeat=3)))
    for size, slope in product(range(curve._WALKS.size), curve._SLOPES):
        first, later = (curve._moves(7, float(gap))[size] for gap in cells.gap[1:])
        rates = expit(points[paths] + slope * (cells.gap[1:].sum() / 2) * np.array([-1, 0, 1]))
        chance = first[paths[:, 0], paths[:, 1]] * later[paths[:, 1], paths[:, 2]]
        no = bins.labels - bins.positives
        chance *= (rates**bins.positives * (1 - rates) ** no).prod(axis=1)
        total += chance.sum()
        mean += chance @ rates
        second += chance @ rates**2
    assert walk.means() == pytest.approx(mean / total, abs=2e-3)  # small weights are left out
    drawn = walk.draw(100_000, np.random.default_rng(1))
    # Eight standard errors: fails by chance less than once in 10^14.
    assert drawn.mean(axis=0) == pytest.approx(mean / total, abs=0.01)
    assert (drawn**2).mean(axis=0) == pytest.approx(second / total, abs=0.01)
    # Cells that know nothing of each other would have other means.
    alone = [(x + 0.0) / n for x, n in zip(bins.positives, bins.labels, strict=True)]
    assert np.abs(walk.means() - alone).max() > 0.02


def test_steps_favour_no_point() -> None:
    for each in (each for gap in (np.inf, 0.05, 0.2) for each in curve._moves(30, gap)):
        assert each.sum(axis=1) == pytest.approx(1)
        assert each.sum(axis=0) == pytest.approx(1)
        assert (each >= 0).all()


def expected_labels(log_odds: Floats, number: float) -> tuple[ScoreBins, CurveBands]:
    """Return bins in 16 strata whose labels are exactly as expected, and the curve of the truth."""
    items = np.full(log_odds.size, 50.0)
    bins = bins_of(items.tolist(), items.tolist(), (items * expit(log_odds)).tolist())
    bins = replace(bins, stratum=np.arange(items.size) * 16 // items.size)
    truth = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    share = number / items.sum()
    return replace(bins, labels=share * items, positives=share * bins.positives), truth


def test_a_weak_slope_is_not_flattened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two log odds from end to end, 200 labels: nothing is random but draws, which do not count."""
    bins, truth = expected_labels(np.linspace(-1, 1, 320), 200)

    def short() -> float:
        found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0), draws=20)
        return truth.areas["roc_auc"][0] - found.areas["roc_auc"][0]

    assert abs(short()) < 0.006  # a sixth of a standard error
    monkeypatch.setattr(curve, "_SLOPES", np.zeros(1))
    assert short() > 0.02


def test_tails_of_the_score_are_not_flattened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Log odds that follow those of the rank, 800 labels: the highest score has a share of 0.87.

    Nothing is random but draws, which do not count.
    """
    bins, truth = expected_labels(0.6 * logit((np.arange(320) + 0.5) / 320) - 2, 800)

    def short() -> float:
        found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0), draws=20)
        return float(truth.bands["precision"].value[-1] - found.bands["precision"].value[-1])

    assert short() < 0.25
    monkeypatch.setattr(curve_cells, "_mixed", lambda gap, _items: gap)
    assert short() > 0.28


def test_a_band_holds_a_new_curve_as_often_as_it_says() -> None:
    """2,000 new curves: 0.95 with a standard error of 0.005 and that of the band itself, 0.007."""
    rng = np.random.default_rng(2)

    def curves(number: int) -> Floats:
        return np.asarray(rng.normal(size=(number, 60)).cumsum(axis=1))

    drawn, new = curves(2000), curves(2000)
    low, high = simultaneous(drawn, drawn, 0.95)
    held = ((low <= new) & (new <= high)).all(axis=1).mean()
    assert abs(held - 0.95) < 0.03
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)  # pointwise: a wrong variant is caught
    assert ((low <= new) & (new <= high)).all(axis=1).mean() < 0.8


def test_a_stratum_without_labels_leaves_much_open() -> None:
    bins = bins_of([1000, 1000, 1000], [30, 0, 30], [1, 0, 29])
    found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    precision = found.bands["precision"]
    assert precision.high[1] - precision.low[1] > 0.3
    assert precision.high[2] - precision.low[2] < 0.2


def as_neighbours_suggest(_self: object, drawn: Any, *_: object) -> tuple[list[Any], list[Any]]:
    """Return what is drawn as the worst and the best: what no label has shown is not there."""
    return [drawn, drawn], [drawn, drawn]


def test_beyond_the_last_find_there_may_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels in perfect order: recall up to the lowest positive, and both areas, may be 1."""
    yes = [0.0] * 8 + [8.0] * 4
    bins = replace(bins_of([5000.0] * 12, [8.0] * 12, yes), stratum=np.arange(12) // 3)
    found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    for ends in ("high", "highest"):
        assert (getattr(found.bands["recall"], ends)[:9] == 1).all()
        assert (getattr(found.bands["precision"], ends)[8:] == 1).all()
        assert (getattr(found.bands["specificity"], ends)[8:] == 1).all()
    assert [high for _, _, high in found.areas.values()] == [1, 1]
    monkeypatch.setattr(Unseen, "around", as_neighbours_suggest)
    wrong = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    assert wrong.bands["recall"].high[8] < 1
    assert wrong.areas["average_precision"][2] < 1


def test_a_clean_stratum_may_hide_three_labels_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """No find in 50 labels of 10,000 items: 3.0 W/n of them may be positive, wherever they are.

    The ends are quantiles of 8,000 draws, with standard errors below 2% of themselves.
    """
    bins = bins_of([10_000, 200], [50, 200], [0, 180])
    found = curve_bands(bins, confidence=0.95, draws=8000, rng=np.random.default_rng(0))
    hidden = 180 * (1 / found.bands["recall"].low[1] - 1)
    assert hidden == pytest.approx(10_000 * 3.0 / 51, rel=0.1)
    monkeypatch.setattr(Unseen, "around", as_neighbours_suggest)
    wrong = curve_bands(bins, confidence=0.95, draws=8000, rng=np.random.default_rng(0))
    assert 180 * (1 / wrong.bands["recall"].low[1] - 1) < 10_000 * 2.0 / 51
    assert found.areas["roc_auc"][1] < wrong.areas["roc_auc"][1] - 0.05


def test_what_strata_have_shown_widens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both outcomes in all strata, many times: the ends move by less than 2% of the width."""
    bins = bins_of([1000] * 4, [100] * 4, [20, 40, 60, 80])
    found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    monkeypatch.setattr(Unseen, "around", as_neighbours_suggest)
    before = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0))
    for name, band in found.bands.items():
        width = band.high - band.low
        assert width.mean() == pytest.approx(
            (before.bands[name].high - before.bands[name].low).mean(), rel=0.02
        )


def test_the_curve_goes_through_an_estimate_and_stays_in_order() -> None:
    bins = bins_of([1000] * 6, [30] * 6, [3, 6, 9, 15, 20, 28])
    found = curve_bands(bins, confidence=0.95, rng=np.random.default_rng(0)).bands
    for name, falls in FALLS.items():
        value = float(found[name].value[3]) + 0.3 * falls
        band = found[name].through(3, (value, value - 0.1, value + 0.1), falls)
        assert (band.value[3], band.low[3], band.high[3]) == (value, value - 0.1, value + 0.1)
        assert (np.diff(band.value) * falls <= 0).all()
        assert (band.lowest <= band.low).all() and (band.low <= band.value).all()
        assert (band.highest >= band.high).all() and (band.high >= band.value).all()
