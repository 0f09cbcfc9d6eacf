"""Metrics of the whole confusion matrix: slopes, weights of errors, and what they leave out."""

from dataclasses import replace

import numpy as np
import pytest

from assay.core.confusion import Counts
from assay.core.design import Design
from assay.core.engine import look
from assay.core.goal import Goal
from assay.core.linear import Linear
from assay.core.matrix import Matrix, MatrixGap
from assay.core.metrics import MATRIX_METRICS, canonical_metric
from assay.core.state import State
from assay.core.stratify import cell_strata, joint_of
from assay.core.tallies import at_columns
from assay.core.targets import ALONE, parse_targets
from assay.core.types import Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError
from assay.simulation import Population
from assay.simulation.oracle import of_several
from assay.simulation.runs import replay

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


def strata(metric: str, seed: int = 1) -> tuple[Matrix, Floats, Floats]:
    """Return strata of one class each, with many items: a matrix, its strata's sizes, its truth."""
    rng = np.random.default_rng(seed)
    said = np.array([0, 0, 1, 2, 3])
    truth = rng.integers(100, 2_000, (5, K + 1)).astype(float)
    truth[np.arange(5), said] += 20_000
    truth[4] = truth[4] // 8  # a class that is called less often
    size = truth.sum(1)
    items = np.array([size[said == k].sum() for k in range(K)])
    return Matrix(metric, np.arange(5), said, size, items), size, truth


def test_an_error_weighs_what_makes_the_variance_right() -> None:
    # With every label known, w^2 p (1 - p) is the variance of z, the sum of an item's slopes. The
    # wrong variant, what an error costs on average, leaves out that errors cost more or less.
    matrix, size, truth = strata("weighted_f1")
    linear = matrix.linear(size, size, truth)
    _, by_d, by_T = MATRIX_METRICS["weighted_f1"].slopes(matrix.predict(size, truth).counts)
    ends = np.append(by_T, 0.0)
    for h, said in enumerate(matrix.predicted):
        z = ends + np.where(np.arange(K + 1) == said, by_d[said], 0.0)
        share = truth[h] / size[h]
        p = 1 - share[said]
        variance = share @ z**2 - (share @ z) ** 2
        assert linear.w[h] ** 2 * p * (1 - p) == pytest.approx(variance, rel=1e-3)
        wrong = np.delete(share, said) @ (z[said] - np.delete(z, said)) / p
        assert wrong**2 * p * (1 - p) < 0.999 * variance


def mixed(errors: float = 0.08) -> tuple[Matrix, Floats, Floats]:
    """Return strata of twelve small parts each, whose classes are wrong more or less often."""
    rng, classes, rows = np.random.default_rng(3), 12, 4
    truth = np.zeros((rows * classes, classes + 1))
    said = np.tile(np.arange(classes), rows)
    for part, own in enumerate(said):
        size = 400 + 40 * own
        wrong = round(size * errors * (0.4 + 1.2 * own / classes) * (1 + part // classes) / 2.5)
        truth[part, own] = size - wrong
        others = np.delete(np.arange(classes + 1), own)
        truth[part, others] += rng.multinomial(wrong, np.full(classes, 1 / classes))
    size = truth.sum(1)
    items = np.array([size[said == k].sum() for k in range(classes)])
    return (
        Matrix("cohen_kappa", np.repeat(np.arange(rows), classes), said, size, items),
        size,
        truth,
    )


def samples(matrix: Matrix, truth: Floats, n: int, runs: int) -> tuple[Floats, Floats]:
    """Return random samples of n items of each stratum: labels by part, and by class."""
    rng = np.random.default_rng(11)
    drawn = np.zeros((runs, *truth.shape))
    for h in np.unique(matrix.stratum):
        mine = np.flatnonzero(matrix.stratum == h)
        cells = truth[mine].astype(int).ravel()
        told = rng.multivariate_hypergeometric(cells, n, runs)
        drawn[:, mine] = told.reshape(runs, mine.size, -1)
    return drawn.sum(axis=-1), drawn


def test_the_value_varies_as_said_and_about_the_truth_where_parts_are_small() -> None:
    # 20,000 samples of 60 items of each stratum, 5 of a part. Their standard deviation is known to
    # 0.5%, their mean to sd/141: three times that by chance is below 0.3%, four times below 1e-4.
    # The wrong variant, a rate for each part, of its own five labels, varies by 2% more.
    matrix, size, truth = mixed()
    whole = matrix.by_stratum(size)
    n, drawn = samples(matrix, truth, 60, 20_000)
    predicted = matrix.predict(n, drawn)
    values, slopes = predicted.value()[0], MATRIX_METRICS["cohen_kappa"].slopes
    p = matrix.by_stratum(at_columns(truth, matrix.predicted)) / whole
    w = matrix.linear(whole, size, truth).w
    sd = float(np.sqrt((w**2 * whole**2 * p * (1 - p) / 60 * (1 - 60 / whole)).sum()))
    assert values.std() == pytest.approx(sd, rel=0.015)
    so, se = float(slopes(matrix.predict(size, truth).counts)[0]), sd / np.sqrt(20_000)
    assert abs(values.mean() - so) < 4 * se

    found, right = predicted.counts, matrix.right(n, drawn)
    by_part = slopes(Counts(right, found.T - found.d + right, found.P, found.N))[0]
    assert by_part.std() > 1.015 * sd


def test_labels_that_follow_what_errors_cost_hide_those_that_cost_much() -> None:
    # One class in twenty items, whose errors cost ten times as much. Rounds go by the allocation of
    # one target, to the end of a budget. 1,000 campaigns: the mean is known to sd/32; four times
    # that by chance is below 1e-4. The wrong variant gives back errors of the cost w only.
    rng, items = np.random.default_rng(8), 40_000
    truth = rng.choice(["a", "b", "c"], items, p=[0.55, 0.4, 0.05])
    score = rng.random(items)
    right = rng.random(items) < 0.75 + 0.25 * score
    said = np.where(right, truth, rng.choice(["a", "b"], items))
    found = Population(y_true=truth, y_pred=said, y_score=score)
    goal = Goal(
        targets=parse_targets(["macro_f1"], [ALONE], classes=Vocabulary(("a", "b", "c"))),
        budget=600,
    )
    strata, once = cell_strata(found, goal, Design()), Design.fixed()
    joint, so = joint_of(once, goal, strata), found.value(goal.targets[0])
    (view,), ours, wrong = joint.views, [], []

    def end(_: Ints, state: State) -> None:
        mine, metric = view.seen(state)
        assert isinstance(metric, Linear)
        ours.append(look(once, view.goal, metric, mine).moments.value - so)
        plain = replace(metric, hidden=None)
        wrong.append(look(once, view.goal, plain, mine).moments.value - so)

    outcomes = found.outcomes(strata)
    replay(*of_several(joint, outcomes), replications=1_000, rng=rng, ended=end)
    values = np.concatenate(ours)
    se = values.std() / np.sqrt(1_000)
    assert abs(values.mean()) < 4 * se
    assert np.concatenate(wrong).mean() > 8 * se


def test_a_part_without_labels_has_the_rate_of_its_stratum() -> None:
    matrix = Matrix(
        "accuracy", np.array([0, 0]), np.array([0, 1]), np.array([60.0, 40.0]), np.array([60.0, 40])
    )
    told = np.zeros((2, 3))
    told[0] = 8, 2, 0
    n = np.array([10.0, 0.0])
    found = matrix.predict(n, told).counts
    assert found.d == pytest.approx([48.0, 32.0])
    assert matrix.right(n, told) == pytest.approx([48.0, 32.0])
    # A fifth is wrong, all of it of the other class.
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
    linear = MatrixGap(first, second, rows, rows, size, said[0], rows).linear(size, size, told)
    assert float(linear.value(size)) == pytest.approx(2.0)


def test_names() -> None:
    assert canonical_metric("Weighted F1", of_all=True) == "weighted_f1"
    with pytest.raises(DesignError, match="did you mean 'macro_f1'"):
        canonical_metric("makro_f1", of_all=True)


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
    found = parse_targets([text], classifiers, classes=Vocabulary(("a: b", "x - y", "z")))
    assert [target.name for target in found] == names


@pytest.mark.parametrize(
    "text", ["recall:q", "recall:z:new - f1:z:old", "macro_f1:z", "recall[l=x]"]
)
def test_targets_that_cannot_be_read(text: str) -> None:
    with pytest.raises(DesignError):
        parse_targets([text], ["new", "old"], classes=Vocabulary(("a: b", "x - y", "z")))


def test_a_mean_square_is_not_below_the_square_of_the_mean() -> None:
    # Errors of weighted recall all cost the same. In this sample rounding made their variance
    # negative, and a campaign ended with "V must hold finite numbers".
    stratum = np.repeat(np.arange(26), [3] * 7 + [2] * 13 + [1] * 6)
    said = np.array([0, 4, 5] * 7 + [1, 3] * 13 + [2] * 3 + [6] * 3)
    common = [367, 525, 416, 519, 451, 544, 500, 546, 491, 612, 528, 633, 517, 707, 602, 693, 635]
    common += [731, 644, 794, 667, 849, 742, 859, 801, 887, 859, 1082, 1364, 81, 103, 129]
    rare = [6, 3, 4, 5, 3, 6, 3, 3, 9, 6, 2, 9, 6, 5, 8, 8, 4, 9, 4, 5, 14]
    size, named = np.array(rare + common, dtype=float), np.zeros((53, 8))
    named[[2, 4, 11, 12, 16, 31, 33, 39], 1] = 1
    named[[8, 20, 22, 24, 26, 28, 30, 36, 38, 42, 44, 46], 3] = 1
    items = np.array([size[said == k].sum() for k in range(7)])
    matrix = Matrix("weighted_recall", stratum, said, size, items)
    with np.errstate(invalid="raise"):
        found = matrix.linear(matrix.by_stratum(size), named.sum(axis=-1), named)
    assert found.hidden is not None
    assert np.isfinite(found.hidden)
