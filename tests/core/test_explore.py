import numpy as np
import pytest

from assay.core.explore import exploring_shares


def by_hand(w: list[float], n: list[int], x: list[int]) -> list[float]:
    """The rule of docs/certainty.md in plain numbers."""
    labels, found = sum(n), sum(x)
    rate = sum(w[k] * x[k] / n[k] for k in range(len(w)))
    overall = (labels * rate + 0.5) / (labels + 1)
    spread = []
    for k in range(len(w)):
        a, b = x[k] + 2 + 2 * overall, n[k] - x[k] + 2 * (1 - overall)
        spread.append(w[k] * (a * b / ((a + b) * (a + b + 1))) ** 0.5)
    kappa = max(0.1, 1 / (1 + found / 32))
    return [(1 - kappa) * s / sum(spread) + kappa * v for s, v in zip(spread, w, strict=True)]


def test_the_rule_by_hand() -> None:
    w, n, x = [0.5, 0.3, 0.2], [40, 20, 10], [1, 5, 4]
    shares = exploring_shares(np.array(w), np.array(n, float), np.array(x, float))
    assert shares.tolist() == pytest.approx(by_hand(w, n, x))
    assert float(shares.sum()) == pytest.approx(1)


def test_before_any_label_it_goes_by_weight() -> None:
    w = np.array([0.7, 0.2, 0.1])
    assert exploring_shares(w, np.zeros(3), np.zeros(3)).tolist() == pytest.approx(w.tolist())


def test_a_stratum_that_looks_clean_is_never_starved() -> None:
    w, n = np.array([0.5, 0.5]), np.array([10_000.0, 10_000.0])
    shares = exploring_shares(w, n, np.array([5000.0, 0.0]))
    assert float(shares[1]) > 0.05  # Neyman's share from these counts is 0


def test_evaluations_side_by_side() -> None:
    n, x = np.array([[10.0, 10.0], [30.0, 5.0]]), np.array([[1.0, 0.0], [3.0, 5.0]])
    both = exploring_shares(np.full(2, 0.5), n, x)
    for row in range(2):
        assert both[row].tolist() == exploring_shares(np.full(2, 0.5), n[row], x[row]).tolist()
