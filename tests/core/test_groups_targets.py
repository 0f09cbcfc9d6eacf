"""Metrics of slices, and of two weeks, and how targets read the parts: item by item."""

from collections.abc import Iterable

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.groups import Groups
from assay.core.metrics import METRICS
from assay.core.parts import Parts, View
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import parse_targets
from assay.core.types import Bools, Floats, Ints
from assay.core.views import views_of
from assay.errors import AssayError, PredictionsError
from assay.predictions import Predictions
from assay.predictions.pairs.compared import read_compared
from assay.predictions.read import read_predictions
from tests.joint_population import Made, every_target, make
from tests.sklearn_metrics import SKLEARN

SIZE = 1500
NAMES = ("old", "new")
OF_ONE = [metric for metric in METRICS if metric != "prevalence"]


class Slices:
    """Two classifiers of the same items, which are in three languages."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.language = rng.choice(["de", "en", "fr"], SIZE, p=[0.5, 0.45, 0.05])
        self.truth = rng.random(SIZE) < np.where(self.language == "de", 0.5, 0.2)
        self.said = {
            name: self.truth ^ (rng.random(SIZE) < wrong)
            for name, wrong in zip(NAMES, (0.25, 0.15), strict=True)
        }
        self.targets = [f"{metric}[lang=de]" for metric in METRICS]
        self.targets += [f"{metric}:new[lang=fr] - {metric}:old[lang=fr]" for metric in OF_ONE]
        self.targets += [f"{metric}:old" for metric in OF_ONE]

    def read(self, groups: Iterable[str] = ("lang",)) -> Predictions:
        table = {"lang": self.language, "rank": np.arange(SIZE) / SIZE, **self.said}
        columns = {name: {"predicted": name, "score": "rank"} for name in NAMES}
        return read_predictions(table, classifiers=columns, groups=list(groups))

    def exact(self, name: str) -> float:
        if " - " in name:
            first, second = name.split(" - ")
            return self.exact(first) - self.exact(second)
        metric, _, slice = name.partition("[lang=")
        metric, _, classifier = metric.partition(":")
        here = self.language == slice[:-1] if slice else np.ones(SIZE, dtype=np.bool_)
        return SKLEARN[metric](self.truth[here], self.said[classifier or "old"][here])


class Weeks:
    """One classifier of two weeks: some items are in the first only, some in the second only."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        self.truth = rng.random(SIZE) < 0.4
        self.ids = {"old": np.arange(2 * SIZE // 3), "new": rng.permutation(SIZE)[: SIZE // 2]}
        # Of an item that is in both weeks the classifier may say something else in the second.
        self.said = {
            name: self.truth[ids] ^ (rng.random(ids.size) < 0.2) for name, ids in self.ids.items()
        }
        differences = [f"{metric}:new - {metric}:old" for metric in OF_ONE]
        self.targets = [*differences, *OF_ONE, "prevalence"]

    def read(self) -> Predictions:
        tables = [
            {"id": self.ids[name], "said": self.said[name], "rank": self.ids[name] / SIZE}
            for name in NAMES
        ]
        columns = {"predicted": "said", "score": "rank"}
        return read_compared(tables, classifiers=dict.fromkeys(NAMES, columns), id="id")

    def exact(self, name: str) -> float:
        if " - " in name:
            first, second = name.split(" - ")
            return self.exact(first) - self.exact(second)
        if name == "prevalence":
            every = np.union1d(*self.ids.values())
            return float(self.truth[every].mean())
        metric, _, classifier = name.partition(":")
        return SKLEARN[metric](self.truth[self.ids[classifier]], self.said[classifier])


Population = Slices | Weeks


def outcomes(found: Predictions, strata: Strata, truth: Bools) -> Floats:
    """Return the positives of each part, by looking at every item."""
    decks = found.deal(strata, scale="probability", seed=0, counts=strata.sizes.tolist())
    positives = np.zeros(len(strata.parts))
    for stratum, deck in enumerate(decks):
        for card in deck:
            positives[strata.part_of(stratum, int(card.predicted))] += truth[int(card.id)]
    return positives


def goal_of(metrics: Iterable[str], found: Predictions) -> Goal:
    return Goal(targets=parse_targets(metrics, NAMES, slices=found.groups.names), budget=1)


@pytest.mark.parametrize("population", [Slices(7), Weeks(7)])
def test_items_that_no_target_needs_count_in_its_denominator(population: Population) -> None:
    found, needless = population.read(), 0
    for target in goal_of(population.targets, found).targets:
        goal = Goal(targets=(target,), budget=1)
        strata = Strata.from_dict(cell_strata(found, goal, Design()).to_dict())
        (view,) = joint_of(Design(), goal, strata).views
        positives = outcomes(found, strata, population.truth)
        value = float(view.metric.value(view.gather(positives)))
        assert value == pytest.approx(population.exact(target.name), abs=1e-12), target.name
        needless += sum(items for _, items in strata.rest)
    assert needless > SIZE


def test_labels_go_to_the_slice_alone() -> None:
    population = Slices(0)
    found = population.read(["lang=fr"])
    strata = cell_strata(found, goal_of(["accuracy:new[lang=fr]"], found), Design())
    assert strata.sizes.sum() == (population.language == "fr").sum()
    assert all(text.endswith("lang=fr") or "; rank" in text for text in strata.describe())


def test_classifiers_that_say_the_same_within_a_slice_have_no_difference_there() -> None:
    codes: Ints = np.array([0b100, 0b111, 0b001, 0b010])  # the slice, where both agree, and others
    parts = Parts(np.arange(4), codes, np.array([5.0, 7.0, 3.0, 4.0]))
    groups = Groups(("lang=de",))
    targets = parse_targets(["f1:new[lang] - f1:old[lang]"], NAMES, slices=groups.names)
    goal = Goal(targets=targets, budget=1)
    with pytest.raises(PredictionsError, match="say the same of every item with lang=de"):
        views_of(goal, NAMES, parts, groups)
    differ = Parts(np.arange(4), codes | 0b100, parts.size)
    assert views_of(goal, NAMES, differ, groups)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("precision:old[lang=de]", "old says yes to no item with lang=de"),
        ("recall:new[lang=de]", "new says no to no item with lang=de"),
        ("accuracy:new[lang=fr]", "no item with lang=fr needs a label"),
    ],
)
def test_a_metric_without_a_value_in_a_slice_is_refused(metric: str, message: str) -> None:
    parts = Parts(np.arange(3), np.array([0b0110, 0b0011, 0b0000]), np.array([5.0, 7.0, 3.0]))
    groups = Groups(("lang=de", "lang=fr"))
    goal = Goal(targets=parse_targets([metric], NAMES, slices=groups.names), budget=1)
    with pytest.raises(PredictionsError, match=message):
        views_of(goal, NAMES, parts, groups)


HEAPED = [(seed, 3 + seed % 3, heaps) for seed, heaps in enumerate((1, 2, 3, 5, 7, None))]


def population(seed: int, classifiers: int, heaps: int | None) -> Made:
    return make(seed, size=500, classifiers=classifiers, heaps=heaps)


@pytest.mark.parametrize(("seed", "classifiers", "heaps"), HEAPED)
def test_every_target_at_full_labelling_is_scikit_learns(
    seed: int, classifiers: int, heaps: int | None
) -> None:
    made = population(seed, classifiers, heaps)
    views = made.joint(every_target(made.names), budget=1).views
    assert len(views) == 1 + (len(METRICS) - 1) * classifiers**2

    for view in views:
        value = float(view.metric.value(view.gather(made.outcomes)))
        assert value == pytest.approx(made.exact(view.name), abs=1e-12), view.name


def two(metric: str, made: Made) -> View:
    (view,) = made.joint([f"{metric}:a - {metric}:b"], budget=1).views
    return view


def disagree(parts: Parts) -> list[int]:
    return np.flatnonzero((parts.code & 1) != (parts.code >> 1 & 1)).tolist()


@pytest.mark.parametrize(("seed", "classifiers", "heaps"), HEAPED)
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
