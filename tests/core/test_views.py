"""How targets read the parts: against scikit-learn, and which labels they need."""

import numpy as np
import pytest

from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.parts import Parts, View
from assay.core.targets import parse_targets
from assay.core.types import Floats
from assay.core.views import views_of
from assay.errors import AssayError
from tests.joint_population import Made, every_target, make

CASES = [(seed, 3 + seed % 3, heaps) for seed, heaps in enumerate((1, 2, 3, 5, 7, None))]


def population(seed: int, classifiers: int, heaps: int | None) -> Made:
    return make(seed, size=500, classifiers=classifiers, heaps=heaps)


@pytest.mark.parametrize(("seed", "classifiers", "heaps"), CASES)
def test_every_target_at_full_labelling_is_scikit_learns(
    seed: int, classifiers: int, heaps: int | None
) -> None:
    made = population(seed, classifiers, heaps)
    views = made.joint(every_target(made.names), budget=1).views
    assert len(views) == 1 + (len(METRICS) - 1) * classifiers**2

    def check(outcomes: Floats) -> None:
        for view in views:
            value = float(view.metric.value(view.gather(outcomes)))
            assert value == pytest.approx(made.exact(view.name), abs=1e-12), view.name

    check(made.outcomes)
    off_by_one = made.outcomes.copy()
    off_by_one[np.argmax(made.parts.size - made.outcomes)] += 1
    with pytest.raises(AssertionError):
        check(off_by_one)


def two(metric: str, made: Made) -> View:
    (view,) = made.joint([f"{metric}:a - {metric}:b"], budget=1).views
    return view


def disagree(parts: Parts) -> list[int]:
    return np.flatnonzero((parts.code & 1) != (parts.code >> 1 & 1)).tolist()


@pytest.mark.parametrize(("seed", "classifiers", "heaps"), CASES)
def test_only_items_on_which_two_classifiers_disagree_count(
    seed: int, classifiers: int, heaps: int | None
) -> None:
    made = population(seed, classifiers, heaps)
    assert sorted(two("accuracy", made).parts.tolist()) == disagree(made.parts)
    # What both call yes or both call no is a positive that recall is a share of, and no more.
    view, before = two("recall", made), made.outcomes
    for part in range(before.size):
        after = before.copy()
        after[part] += 1 if before[part] < made.parts.size[part] else -1
        hits = [float(view.metric.value(view.gather(x)) * x.sum()) for x in (before, after)]
        assert (hits[0] != pytest.approx(hits[1], abs=1e-9)) == (part in disagree(made.parts))


def test_what_both_call_yes_equally_often_is_idle_for_precision_too() -> None:
    parts = Parts(np.arange(4), np.array([3, 1, 2, 0]), np.array([80.0, 20.0, 20.0, 500.0]))
    goal = Goal(targets=parse_targets(["precision:a - precision:b"], ["a", "b"], within=0.1))
    (view,) = views_of(goal, ["a", "b"], parts)
    assert view.parts.tolist() == [1, 2]
    # (76 + 15)/100 - (76 + 10)/100, whatever the 76 are
    assert float(view.metric.value(view.gather(np.array([76.0, 15, 10, 9])))) == pytest.approx(0.05)
    assert float(view.metric.value(view.gather(np.array([3.0, 15, 10, 9])))) == pytest.approx(0.05)


def test_counts_of_many_runs_are_gathered_side_by_side() -> None:
    made = population(1, 4, 2)
    (view,) = made.joint(["f1:b"], budget=1).views
    runs = np.random.default_rng(0).integers(0, 9, (3, 2, made.parts.size.size)).astype(np.float64)
    gathered = view.gather(runs)
    assert gathered.shape == (3, 2, view.share.size)
    assert gathered[2, 1].tolist() == view.gather(runs[2, 1]).tolist()


ALL_YES, ALL_NO = np.array([1, 3]), np.array([0, 2])


@pytest.mark.parametrize(
    ("metric", "code", "message"),
    [
        ("precision:a", ALL_NO, "a says yes to no item, so there is no precision"),
        ("recall:a", ALL_NO, "a says yes to no item, so there is no recall"),
        ("f1:a", ALL_NO, "a says yes to no item, so there is no f1"),
        ("recall:a", ALL_YES, "a says no to no item, so there is no recall"),
        ("false_omission_rate:a", ALL_YES, "a says no to no item, so there is no false_omission"),
        ("precision:b - precision:a", ALL_NO, "a says yes to no item"),
    ],
)
def test_a_metric_without_a_value_is_refused(metric: str, code: Floats, message: str) -> None:
    parts = Parts(np.arange(2), np.asarray(code, dtype=np.int64), np.array([5.0, 7.0]))
    goal = Goal(targets=parse_targets([metric], ["a", "b"], within=0.1))
    with pytest.raises(AssayError, match=message) as raised:
        views_of(goal, ["a", "b"], parts)
    assert metric in str(raised.value)  # which target to leave out


@pytest.mark.parametrize("metric", ["precision", "recall", "f1", "accuracy", "false_omission_rate"])
def test_classifiers_that_say_the_same_have_no_difference_to_estimate(metric: str) -> None:
    parts = Parts(np.arange(2), np.array([0, 3]), np.array([5.0, 7.0]))
    goal = Goal(targets=parse_targets([f"{metric}:a - {metric}:b"], ["a", "b"], within=0.1))
    with pytest.raises(AssayError, match=rf"a and b say the same .*, so {metric}:a - .* is 0"):
        views_of(goal, ["a", "b"], parts)
