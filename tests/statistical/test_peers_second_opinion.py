"""The arithmetic of the comparison with other packages: errors, coverage, ratios."""

import numpy as np
import pytest

from benchmarks.peers_second_opinion import Answer, Quality, quality, ratio


def test_quality_by_hand() -> None:
    answers = [Answer(0.5, 0.4, 0.6, 500), Answer(0.7, 0.65, 0.75, 498)]
    found = quality(answers, truth=0.6, failed=3)
    assert found.rmse == pytest.approx(0.1)
    assert found.coverage == 0.5  # the end of the first counts as held
    assert found.half_width == pytest.approx(0.075)
    assert (found.labels, found.failed) == (499, 3)


def test_standard_error_of_a_ratio_is_its_spread() -> None:
    """Of 400 comparisons of two normal estimators; twice the standard error would be caught."""
    rng = np.random.default_rng(20261117)
    shares, errors = [], []
    for _ in range(400):
        ours, other = (
            quality([Answer(value, 0.0, 1.0, 500) for value in rng.normal(0.5, spread, 100)], 0.5)
            for spread in (0.01, 0.02)
        )
        share, error = ratio(ours, other)
        shares.append(share)
        errors.append(error)
    spread, said = float(np.std(shares)), float(np.mean(errors))
    assert np.mean(shares) == pytest.approx(0.5, rel=0.02)
    assert said == pytest.approx(spread, rel=0.12)
    assert 2 * said != pytest.approx(spread, rel=0.12)


def test_ratio_to_itself_is_one() -> None:
    same = Quality(0.01, 0.05, 0.95, 0.02, 500, 0)
    share, error = ratio(same, same)
    assert share == 1
    assert error == pytest.approx(0.05 * np.sqrt(2))
