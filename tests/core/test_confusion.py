"""Metrics of the whole confusion matrix: slopes, weights of errors, and what they leave out."""

import numpy as np
import pytest

from assay.core.confusion import (
    MATRIX_METRICS,
    Counts,
    Linear,
    Matrix,
    canonical_matrix_metric,
)
from assay.core.matrix_gap import MatrixGap
from assay.core.targets import ALONE, parse_targets
from assay.core.types import Floats
from assay.errors import DesignError

K = 4


def counts(seed: int = 0) -> Counts:
    """Return the counts of a matrix in which some items are of no class."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(1, 60, (K, K + 1)).astype(float)  # said, is
    return Counts(np.diag(matrix), matrix[:, :K].sum(0), matrix.sum(1), float(matrix.sum()))


@pytest.mark.parametrize("metric", MATRIX_METRICS)
def test_slopes_are_those_of_small_steps(metric: str) -> None:
    here, step = counts(), 1e-4
    value, by_d, by_T = MATRIX_METRICS[metric].slopes(here)
    for k in range(K):
        one = np.eye(K)[k] * step
        up = MATRIX_METRICS[metric].slopes(Counts(here.d + one, here.T, here.P, here.N))[0]
        assert (up - value) / step == pytest.approx(by_d[k], abs=1e-6)
        up = MATRIX_METRICS[metric].slopes(Counts(here.d, here.T + one, here.P, here.N))[0]
        assert (up - value) / step == pytest.approx(by_T[k], abs=1e-6)


def strata(seed: int = 1) -> tuple[Matrix, Floats, Floats]:
    """Return strata of one class each, with many items: a matrix, its strata's sizes, its truth."""
    rng = np.random.default_rng(seed)
    said = np.array([0, 0, 1, 2, 3])
    truth = rng.integers(100, 2_000, (5, K + 1)).astype(float)
    truth[np.arange(5), said] += 20_000
    truth[4] = truth[4] // 8  # a class that is called less often
    size = truth.sum(1)
    items = np.array([size[said == k].sum() for k in range(K)])
    return Matrix("macro_f1", np.arange(5), said, size, items), size, truth


def test_an_error_weighs_what_makes_the_variance_right() -> None:
    # With every label known, w^2 p (1 - p) is the variance of z, the sum of an item's slopes. The
    # wrong variant, what an error costs on average, leaves out that errors cost more or less.
    matrix, size, truth = strata()
    linear = matrix.linear(size, size, truth)
    _, by_d, by_T = MATRIX_METRICS["macro_f1"].slopes(matrix.counts(size, truth))
    ends = np.append(by_T, 0.0)
    for h, said in enumerate(matrix.said):
        z = ends + np.where(np.arange(K + 1) == said, by_d[said], 0.0)
        share = truth[h] / size[h]
        p = 1 - share[said]
        variance = share @ z**2 - (share @ z) ** 2
        assert linear.w[h] ** 2 * p * (1 - p) == pytest.approx(variance, rel=1e-3)
        wrong = np.delete(share, said) @ (z[said] - np.delete(z, said)) / p
        assert wrong**2 * p * (1 - p) < 0.999 * variance


def test_the_metric_of_a_sample_varies_as_its_linear_form_says() -> None:
    # 4,000 samples: a standard deviation is known to 1.1%, so 6% off has a chance below 1e-6. The
    # wrong variant, which takes an error to cost what it costs in accuracy, is off by more.
    matrix, size, truth = strata()
    linear, rng, n = matrix.linear(size, size, truth), np.random.default_rng(5), 400
    drawn = np.stack(
        [rng.multivariate_hypergeometric(row.astype(int), n, 4_000) for row in truth], axis=1
    ).astype(float)
    found = matrix.counts(np.full(drawn.shape[:-1], float(n)), drawn)
    values = MATRIX_METRICS["macro_f1"].slopes(found)[0]
    p = truth[np.arange(5), matrix.said] / size
    spread = size**2 * p * (1 - p) / n * (1 - n / size)
    assert np.sqrt((linear.w**2 * spread).sum()) == pytest.approx(values.std(), rel=0.06)
    as_accuracy = np.sqrt((spread / size.sum() ** 2).sum())
    assert as_accuracy != pytest.approx(values.std(), rel=0.06)


def test_a_part_without_labels_has_the_rate_of_its_stratum() -> None:
    matrix = Matrix(
        "accuracy", np.array([0, 0]), np.array([0, 1]), np.array([60.0, 40.0]), np.array([60.0, 40])
    )
    told = np.zeros((2, 3))
    told[0] = 8, 2, 0
    found = matrix.counts(np.array([10.0, 0.0]), told)
    assert found.d == pytest.approx([48.0, 32.0])
    assert found.d.sum() + 20 == pytest.approx(
        100
    )  # a fifth is wrong, all of it of the other class
    assert pytest.approx([48.0, 52.0]) == found.T


def test_a_linear_form_is_bounded_by_what_is_possible() -> None:
    form = Linear(np.array([5.0, 5.0]), np.array(0.5), np.array([0.1, -0.02]))
    least, most = np.zeros(2), np.full(2, 10.0)
    low, high = form.extremes(least, most)
    assert (float(low), float(high)) == (0.0, 1.0)
    assert form.value(np.array([6.0, 10.0])) == pytest.approx(0.5)
    c, c0 = form.plane(np.array(0.6), least)
    assert c0 + (c * np.array([6.0, 5.0])).sum() == pytest.approx(0.0)


def test_a_difference_of_correlations_may_be_above_1() -> None:
    rows = np.array([0, 1])
    said = [np.array([0, 1]), np.array([1, 0])]
    size, items = np.full(2, 50.0), np.full(2, 50.0)
    first, second = (Matrix("cohen_kappa", rows, each, size, items) for each in said)
    told = np.diag(size)[:, [0, 1, 1]] * np.array([1.0, 1.0, 0.0])  # the first is always right
    linear = MatrixGap(first, second, rows).linear(size, size, told)
    assert float(linear.value(size)) == pytest.approx(2.0)


def test_names() -> None:
    assert canonical_matrix_metric("Weighted F1") == "weighted_f1"
    with pytest.raises(DesignError, match="did you mean 'macro_f1'"):
        canonical_matrix_metric("makro_f1")


@pytest.mark.parametrize(
    ("text", "classifiers", "names"),
    [
        ("macro-f1", [ALONE], ["macro_f1"]),
        ("accuracy", ["new", "old"], ["accuracy:new", "accuracy:old"]),
        ("recall:a: b", [ALONE], ["recall:a: b"]),
        ("recall:x - y", [ALONE], ["recall:x - y"]),
        ("recall:z:new", ["new", "old"], ["recall:z:new"]),
        ("recall:z:new - recall:z:old", ["new", "old"], ["recall:z:new - recall:z:old"]),
        ("macro_f1:new - macro_f1:old", ["new", "old"], ["macro_f1:new - macro_f1:old"]),
        (
            "precision:new",
            ["new", "old"],
            ["precision:a: b:new", "precision:x - y:new", "precision:z:new"],
        ),
    ],
)
def test_targets_of_classes_with_odd_names(
    text: str, classifiers: list[str], names: list[str]
) -> None:
    found = parse_targets([text], classifiers, classes=["a: b", "x - y", "z"])
    assert [target.name for target in found] == names


@pytest.mark.parametrize(
    "text", ["recall:q", "recall:z:new - f1:z:old", "macro_f1:z", "recall[l=x]"]
)
def test_targets_that_cannot_be_read(text: str) -> None:
    with pytest.raises(DesignError):
        parse_targets([text], ["new", "old"], classes=["a: b", "x - y", "z"])
