"""Metrics of slices, and of two weeks: against their definitions, item by item."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.parts import Parts
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import Groups, Target, parse_targets
from assay.core.types import Bools, Floats, Ints
from assay.core.views import views_of
from assay.errors import PredictionsError
from assay.predictions import Predictions
from assay.predictions.pair import read_compared
from assay.predictions.read import read_predictions
from tests.sklearn_metrics import SKLEARN

SIZE = 1500
NAMES = ("old", "new")
OF_ONE = [metric for metric in METRICS if metric != "prevalence"]
CASES = range(3)


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


@pytest.mark.parametrize("make", [Slices, Weeks])
@pytest.mark.parametrize("seed", CASES)
def test_every_target_at_full_labelling_is_that_of_its_own_items(
    make: type[Population], seed: int
) -> None:
    population = make(seed)
    found = population.read()
    goal = goal_of(population.targets, found)
    strata = cell_strata(found, goal, Design())
    positives = outcomes(found, strata, population.truth)
    parts = joint_of(Design(), goal, strata).parts

    def check(target: Target, name: str, groups: Groups) -> None:
        (view,) = views_of(Goal(targets=(target,), budget=1), NAMES, parts, groups)
        value = float(view.metric.value(view.gather(positives)))
        assert value == pytest.approx(population.exact(name), abs=1e-12)

    for target in goal.targets:
        check(target, target.name, strata.groups)
        # What is not in a week was not said yes to in it: its precision needs no group.
        if target.slice or (make is Weeks and target.metric not in ("precision", "prevalence")):
            of_all_items = replace(target, slice=None)
            with pytest.raises(AssertionError):
                check(of_all_items, target.name, Groups(strata.groups.names))


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
