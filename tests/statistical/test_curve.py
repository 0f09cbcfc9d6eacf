"""Bands of a score's curve hold the truth everywhere at once; pointwise intervals do not."""

import numpy as np
import pytest
from scipy.special import expit

from assay.core import curve
from assay.simulation import Population, simulate_curves


def test_bands_hold_everywhere_and_pointwise_intervals_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """40 campaigns: of 0.95 less than 0.8 comes by chance less than once in 1,000."""
    monkeypatch.setattr(curve, "_THRESHOLDS", 80)
    rng = np.random.default_rng(6)
    score = rng.normal(size=20_000) * 2
    truth = rng.random(20_000) < expit(score - 0.5)
    population = Population(y_true=truth, y_score=score, threshold=0.0)
    found = simulate_curves(population, budget=200, replications=40, draws=1500, seed=3)
    random, default = found.rows
    assert (random.design, default.labels_mean) == ("random", 200)
    assert min(default.coverage.values()) >= 0.8
    assert min(default.areas.values()) >= 0.8
    assert min(default.everywhere.values()) < 0.8  # as bands they would not do
