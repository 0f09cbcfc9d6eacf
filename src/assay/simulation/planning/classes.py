"""A planner of one metric of more classes than yes and no: the truth by the scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.core.design import Design
from assay.core.forecast import by_place
from assay.core.goal import Goal
from assay.core.metrics import METRICS, top_of
from assay.core.targets import Target, parse_targets
from assay.errors import DesignError, InputError
from assay.predictions import Predictions
from assay.results import metric_name
from assay.simulation.planning import advice
from assay.simulation.planning.assumed_classes import RANDOM_DESIGN, SupposedClasses
from assay.simulation.planning.planner import CENTRED, DEFAULT, RANDOM, Planner, Supposition
from assay.simulation.planning.result import Planning

# Of these an outcome is an item that is called rightly, and what it weighs is known.
_STRAIGHT = {"": ("accuracy", "macro_precision"), "of one": ("precision",)}
_COUNTERS = 2.5e7  # of all evaluations side by side: more would take minutes
_TOO_SURE = (
    "scores are too sure",
    "one item in ten is of each class as often as all items are, whatever is said of it",
)


def goal_of_classes(
    found: Predictions,  # of one classifier of several classes
    metric: str | None,
    within: float | None,
    budget: int | None,
    confidence: float,
) -> Goal:
    """Return the goal of a plan: one metric, accuracy where none is named."""
    named = metric or "accuracy"
    targets = parse_targets([named], found.classifiers, within=within, classes=found.classes)
    if len(targets) > 1:
        raise DesignError(
            f"{named!r} is one metric for each of {len(found.classes):,} classes",
            details="a plan is for one",
            hint=f"name a class, {named}:{found.classes[0]}; or ask for macro_{named}"
            if f"macro_{named}" in ("macro_precision", "macro_recall", "macro_f1")
            else f"name a class: {named}:{found.classes[0]}",
        )
    if top_of(targets[0].metric) is not None:
        raise DesignError(
            f"there is no plan for {targets[0].name}",
            details="it depends on where the class of each item stands by its probabilities",
            hint="plan for accuracy; or have assay simulate tell what it takes, on items whose "
            "class is known",
        )
    return Goal(targets=targets, budget=budget, confidence=confidence)


@dataclass(frozen=True, eq=False)
class ClassPlanner(Planner):
    """A goal of one target, and a population of which the class of every item is supposed."""

    population: SupposedClasses

    DESIGNS: ClassVar = {
        "default": (Design(), DEFAULT),
        "centred": (Design.centred(), CENTRED),
        RANDOM: (RANDOM_DESIGN, ""),
    }
    WITH_A_BUDGET: ClassVar = {
        "default": Design(),
        "fixed": Design.fixed(),
        RANDOM: RANDOM_DESIGN,
    }

    @property
    def target(self) -> Target:
        """What is asked for."""
        return self.goal.targets[0]

    def suppositions(self) -> Sequence[Supposition]:
        """Return what is supposed: that scores are calibrated, and that they are too sure."""
        self._refuse_undefined()
        self._refuse_long_replays()
        return [
            (*self._in_words(), self.population),
            (*_TOO_SURE, self.population.doubted()),
        ]

    def _refuse_undefined(self) -> None:
        target, known = self.target, self.population.expected
        if not target.label:
            return
        number = self.population.found.classes.index(target.label)
        called, of_class = known[number].sum(), known[:, number].sum()
        items = np.array([called, known.sum() - called])
        found = np.array([known[number, number], of_class - known[number, number]])
        if what := METRICS[target.metric].lacks(by_place(items, found, np.array([True, False]))):
            there = "" if what == "positive" else "not "
            raise InputError(
                f"no item is expected to be {there}of class {target.label!r}, so there is no "
                f"{target.name} to plan for",
                details=f"{of_class:.2g} of {self.population.size:,} items are expected to be of "
                "that class",
                hint="check the class and the scores",
            )

    def _refuse_long_replays(self) -> None:
        """Raise where all classes are counted by all they are called, and these are very many."""
        classes, runs = len(self.population.found.classes), self.costs.replications
        of_all = not self.target.label and self.target.metric != "accuracy"
        if of_all and Design().bins * classes**2 * runs > _COUNTERS:
            raise InputError(
                f"to replay {runs:,} campaigns for {metric_name(self.target.name)} of {classes:,} "
                "classes would take minutes",
                details="every class is counted by every class that it is called",
                hint="plan for accuracy, or for a class; or with fewer replications, which makes "
                "the range less sure",
            )

    def only(self, within: float) -> Goal:
        """Return the goal with another half-width, and without a budget."""
        wanted = replace(self.target, within=within)
        return Goal(targets=(wanted,), confidence=self.goal.confidence)

    def with_budget(self, budget: int) -> Goal:
        """Return the goal with the budget alone."""
        wanted = replace(self.target, within=None)
        return Goal(targets=(wanted,), budget=budget, confidence=self.goal.confidence)

    @property
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to tell where half of the items are called wrongly."""
        return self.target.metric in _STRAIGHT["of one" if self.target.label else ""]

    def about_metric(self, planning: Planning) -> list[str]:
        """Say what the metric costs at most, if there is such a number."""
        if self.has_worst_case:
            most = planning.worst_case or 0
            return [advice.about_worst_case(most, "half of the items called wrongly")]
        why = "which classes are confused, and how often"
        if self.target.label:
            why = f"how many items are of {self.target.label!r}, and what they are called"
        return [advice.about_no_worst_case(planning.metric, planning.items, why)]

    def completed(self, planning: Planning) -> Planning:
        """Return the plan with the classes, and what a careful reader should know."""
        name, words = self._in_words()
        told = [
            f"the truth is supposed from the scores alone ({name}: {words}). Real scores are "
            "seldom calibrated; the second reading tells what it costs if they are too sure of "
            "themselves, and one item in ten is of each class as often as all items are"
        ]
        if not self.population.by_probabilities and not self._is_of_rightness:
            told.append(
                "which class an error is of is not known from the score of the predicted class "
                f"alone, and {metric_name(planning.metric)} depends on it: each error is taken to "
                "be of the other classes as often as these are predicted. The probabilities of "
                "all classes would tell: give them as probabilities="
            )
        return replace(
            planning,
            classes=self.population.found.classes,
            cautions=(*told, *planning.cautions),
        )

    @property
    def _is_of_rightness(self) -> bool:
        """Whether it does not matter which class an error is of."""
        return self.has_worst_case

    def _in_words(self) -> tuple[str, str]:
        """Return what is supposed about the truth, in a few words and in more."""
        if self.population.scale == "probability":
            words = "of items at score 0.9, nine in ten are of the predicted class, and so on"
        else:
            words = "scores are log-odds: at score s, a share of 1/(1 + exp(-s)) is of the class"
        if self.population.by_probabilities:
            words += "; the others are of the classes that the probabilities say"
        return "scores are calibrated", words
