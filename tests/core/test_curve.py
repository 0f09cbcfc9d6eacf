"""The curve's statistics: exact posterior on a small case, and bands that hold everywhere at once.

Every statistical test has a fixed seed; the chance that it would fail by chance is stated.
"""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from assay.core import curve
from assay.core.curve import ScoreBins, curve_bands, simultaneous
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
    """Three cells on a grid of seven points: all 343 paths, for each size of the walk."""
    monkeypatch.setattr(curve, "_STEP", 1.5)
    monkeypatch.setattr(curve, "_FARTHEST", 4.5)
    bins = bins_of([50, 60, 40], [6, 5, 7], [1, 2, 6])
    cells = curve._Cells.of(bins, bins.starts)
    walk = curve._Walk.learned(cells)
    points = 1.5 * np.arange(-3, 4)
    rates, total, mean, second = expit(points), 0.0, np.zeros(3), np.zeros(3)
    for size in curve._WALKS:
        moves = curve._moves(7, size, cells.gap)
        for path in product(range(7), repeat=3):
            chance = 1 / 7
            for c in (1, 2):
                chance *= moves[float(cells.gap[c])][path[c - 1], path[c]]
            for c, at in enumerate(path):
                x, n = bins.positives[c], bins.labels[c]
                chance *= rates[at] ** x * (1 - rates[at]) ** (n - x)
            total += chance
            mean += chance * rates[list(path)]
            second += chance * rates[list(path)] ** 2
    assert walk.means() == pytest.approx(mean / total, abs=2e-3)  # small weights are left out
    drawn = walk.draw(100_000, np.random.default_rng(1))
    # Eight standard errors: fails by chance less than once in 10^14.
    assert drawn.mean(axis=0) == pytest.approx(mean / total, abs=0.01)
    assert (drawn**2).mean(axis=0) == pytest.approx(second / total, abs=0.01)
    # Cells that know nothing of each other would have other means.
    alone = [(x + 0.0) / n for x, n in zip(bins.positives, bins.labels, strict=True)]
    assert np.abs(walk.means() - alone).max() > 0.02


def test_steps_favour_no_point() -> None:
    moves = curve._moves(30, 3.0, np.array([np.inf, 0.05, 0.2]))
    for each in moves.values():
        assert each.sum(axis=1) == pytest.approx(1)
        assert each.sum(axis=0) == pytest.approx(1)
        assert (each >= 0).all()


def test_a_band_holds_a_new_curve_as_often_as_it_says() -> None:
    """2,000 new curves: 0.95 with a standard error of 0.005 and that of the band itself, 0.007."""
    rng = np.random.default_rng(2)

    def curves(number: int) -> Floats:
        return np.asarray(rng.normal(size=(number, 60)).cumsum(axis=1))

    drawn, new = curves(2000), curves(2000)
    low, high = simultaneous(drawn, 0.95)
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
