"""Planners of one metric: designs, half-widths, budgets and their costs.

The truth is assumed from the scores, or, for yes and no, from earlier labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from assay.core.design import Design, check_together, price_of_peeking
from assay.core.forecast import by_place
from assay.core.goal import Goal
from assay.core.limits import LabelLimit
from assay.core.metrics import METRICS
from assay.core.metrics import sides as sides_of
from assay.core.targets import Target
from assay.errors import DesignError, InputError
from assay.results import metric_name
from assay.simulation.planning import advice
from assay.simulation.planning.advice import Costs, Prices, about_judge, cost_of, judge_cautions
from assay.simulation.planning.assumed import RANDOM_DESIGN, Assumed, Supposed, SupposedClasses
from assay.simulation.planning.evidence import Evidence, RankEvidence
from assay.simulation.planning.result import (
    BudgetRow,
    CheaperRow,
    DesignRow,
    Planning,
    Reading,
    WithinRow,
)

RANDOM = "random"
_OURS = {
    "default": (Design(), "right when it stops"),
    "centred": (Design.centred(), "estimate ± within"),
}
_OUT_OF_REACH = 1e-6  # half-width
_FACTORS = (2.0, 1.5, 1.0, 1 / 1.5, 0.5)  # of `within`, from loose to tight
_INSTEAD = ("precision", "false_omission_rate")  # of recall and F1
# With classes: an outcome is a correct prediction, and its weight is known.
_STRAIGHT = {"": ("accuracy", "macro_precision"), "of one": ("precision",)}
_COUNTERS = 2.5e7  # for all parallel evaluations: more would take minutes

A = TypeVar("A", bound=Assumed)
Supposition: TypeAlias = tuple[str, str, A]
"""An assumption about the truth: short text, long text, and the population with it."""


@dataclass(frozen=True, eq=False)
class Planner(ABC, Generic[A]):
    """A goal and its costs by replay.

    Subclasses for two and for more classes provide the assumed truth and the texts about it.
    """

    goal: Goal
    costs: Costs
    population: A

    DESIGNS: ClassVar[Mapping[str, tuple[Design, str]]]
    """The designs that are tried, the default first, each with a remark."""
    LIKELY: ClassVar[tuple[str, str]]
    """Probable label of an item, in words: for probabilities, and for log-odds."""
    DOUBT: ClassVar[str]
    """Label of one item in ten if scores are overconfident, in words."""

    @property
    def supposed(self) -> A:
        """The population with the truth that a plan rests on."""
        return self.population

    @property
    def by_scores(self) -> bool:
        """Whether the scores are the only evidence."""
        return True

    @abstractmethod
    def refuse(self) -> None:
        """Raise if the metric is undefined under the assumption, or the replay takes too long."""

    @property
    @abstractmethod
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to estimate if half of the answers are yes."""

    @abstractmethod
    def about_metric(self, planning: Planning) -> list[str]:
        """Sentences on the most that the metric costs, and why: for a goal with a half-width."""

    @abstractmethod
    def completed(self, planning: Planning) -> Planning:
        """Plan with cautions and additional questions."""

    def limit(self) -> LabelLimit | None:
        """Minimum number of labels for the goal; None if unknown."""
        return None

    def cheaper(self, designs: Sequence[DesignRow]) -> tuple[CheaperRow, ...]:
        """Questions that cost less than this one."""
        del designs
        return ()

    @property
    def target(self) -> Target:
        """The requested target."""
        return self.goal.targets[0]

    def only(
        self, within: float | None, metric: str | None = None, *, budget: int | None = None
    ) -> Goal:
        """Goal with this half-width and budget; or for another metric."""
        wanted = replace(self.target, within=within, metric=metric or self.target.metric)
        return replace(self.goal, targets=(wanted,), budget=budget)

    def suppositions(self) -> list[Supposition[A]]:
        """Assumptions about the truth; all but the readings use the first.

        With scores alone, the second is that they are overconfident.
        """
        first = (*self.in_words(), self.supposed)
        if not self.by_scores:
            return [first]
        return [first, ("scores are overconfident", self.DOUBT, self.supposed.doubted())]

    def in_words(self) -> tuple[str, str]:
        """Assumption about the truth, as a short and a long text."""
        if self.supposed.scale == "probability":
            words = f"of items at score 0.9, nine in ten are {self.LIKELY[0]}, and so on"
        else:
            share = "1/(1 + exp(-s))"
            words = f"scores are log-odds: at score s, a share of {share} is {self.LIKELY[1]}"
        return "scores are calibrated", words

    def scores_alone(self) -> str:
        """Caution that the scores are the only evidence."""
        name, words = self.in_words()
        doubt = self.DOUBT.partition(",")[0]
        return (
            f"the truth is assumed from the scores alone ({name}: {words}). Real scores are "
            "rarely calibrated; the second assumption shows the cost if they are overconfident, "
            f"and {doubt}"
        )

    def planning(self) -> Planning:
        """Make the plan."""
        self.refuse()
        goal, suppositions = self.goal, self.suppositions()
        supposed = suppositions[0][2]
        designs, left_out = self._designs(supposed)
        withins = self._withins(supposed, designs)
        cheaper = self.cheaper(designs)
        budgets = self._budgets(supposed)
        readings = self._readings(suppositions, designs)
        most = None
        if goal.within is not None:
            most = self._most(supposed) if self.has_worst_case else supposed.size
        planning = self.planned(
            readings,
            designs=designs,
            worst_case=most,
            withins=withins,
            budgets=budgets,
            cheaper=cheaper,
            cautions=left_out,
            limit=self.limit(),
        )
        advice_lines = advice.about_strata(readings)
        advice_lines += self.about_metric(planning) if goal.within is not None else []
        advice_lines += advice.about_budget(goal, budgets)
        return self.completed(replace(planning, advice=tuple(advice_lines)))

    def planned(self, readings: Sequence[Reading], **fields: Any) -> Planning:
        """Plan with these readings of the truth and other fields."""
        return Planning(
            metric=self.target.name,
            within=self.goal.within,
            budget=self.goal.budget,
            confidence=self.goal.confidence,
            source=self.population.source,
            items=self.population.size,
            readings=tuple(readings),
            replications=self.costs.replications,
            seed=self.costs.seed,
            **fields,
        )

    def _designs(self, supposed: A) -> tuple[tuple[DesignRow, ...], tuple[str, ...]]:
        """Costs of each design, and the designs that cannot reach it."""
        within = self.goal.within
        if within is None:
            return (), ()
        goal, by_design, left_out = self.only(within), {}, []
        for name, (design, _) in self.DESIGNS.items():
            try:
                check_together(design, goal, 2 * design.bins)
                by_design[name] = self.costs.labels(supposed, design, goal)
            except DesignError as error:
                left_out.append(f"{name} is omitted: {error.problem}")
        random = by_design[RANDOM].mean
        rows = (
            DesignRow(name, labels, labels.mean / random - 1, self.DESIGNS[name][1])
            for name, labels in by_design.items()
        )
        return tuple(rows), tuple(left_out)

    def _withins(self, supposed: A, designs: Sequence[DesignRow]) -> tuple[WithinRow, ...]:
        if self.goal.within is None:
            return ()
        rows = []
        for factor in _FACTORS:
            within = self.goal.within * factor
            if factor == 1:
                rows.append(WithinRow(within, designs[0].labels))
            elif within < 0.5:
                labels = self.costs.labels(supposed, Design(), self.only(within))
                rows.append(WithinRow(within, labels))
        return tuple(rows)

    def _budgets(self, supposed: A) -> tuple[BudgetRow, ...]:
        if self.goal.budget is None:
            return ()
        # For a target width, the interval is that of a campaign which has not met it yet.
        to_width = self.goal.within is not None
        goal = self.only(_OUT_OF_REACH if to_width else None, budget=self.goal.budget)
        designs = {"default": Design(), "fixed": Design.fixed(), RANDOM: self.DESIGNS[RANDOM][0]}
        return tuple(
            BudgetRow(name, self.costs.half_width(supposed, design, goal))
            for name, design in designs.items()
            if to_width or design.stop != "budget"  # without one, the default ends as fixed does
        )

    def _most(self, supposed: A) -> int:
        """Most labels that any truth takes."""
        goal = self.only(self.goal.within or 1.0)
        trial = supposed.trial(Design(), goal).at_one_half()
        return self.costs.most_labels(trial, Design(), goal)

    def _readings(
        self, suppositions: Sequence[Supposition[A]], designs: Sequence[DesignRow]
    ) -> tuple[Reading, ...]:
        known = {row.design: row.labels for row in designs}
        readings = list[Reading]()
        for name, words, supposed in suppositions:
            ours, random = known.get("default"), known.get(RANDOM)
            if readings and self.goal.within is not None:
                goal = self.only(self.goal.within)
                ours = self.costs.labels(supposed, self.DESIGNS["default"][0], goal)
                random = self.costs.labels(supposed, self.DESIGNS[RANDOM][0], goal)
            value = cost_of(supposed.trial(Design(), self.goal).value)
            readings.append(Reading(name, words, value, ours, random))
        return tuple(readings)


@dataclass(frozen=True, eq=False)
class LabelPlanner(Planner[Supposed]):
    """A goal of yes and no, a population without its truth, and the evidence about that."""

    evidence: Evidence | RankEvidence | None
    prices: Prices | None = None

    DESIGNS: ClassVar = {
        **_OURS,
        "guaranteed": (Design.guaranteed(), "proved at every look"),
        "bennett-carvalho": (Design.bennett_carvalho(), "covers too rarely"),
        RANDOM: (Design.simple_random(), ""),
    }
    LIKELY: ClassVar = ("positive", "positive")
    DOUBT: ClassVar = "one item in ten is positive as often as any, whatever its score"

    @property
    def by_scores(self) -> bool:
        """Whether the scores are the only evidence."""
        return self.evidence is None

    @cached_property
    def supposed(self) -> Supposed:
        """The population with rates from earlier labels, or without any from the scores."""
        by_score = self.population.calibrated()
        if self.evidence is None:
            return by_score
        rng = np.random.default_rng([self.costs.seed, 1])
        truths = self.costs.replications
        return by_score.with_rates(
            {
                side: self.evidence.draw(side, self.population, truths, rng)
                if self.evidence.knows(side)
                else np.broadcast_to(rates, (truths, rates.size))
                for side, rates in by_score.rates.items()
            }
        )

    def refuse(self) -> None:
        """Raise if no item of the class that the metric requires is expected."""
        supposed, predicted = self.supposed, np.array([True, False])
        items = np.array([float(supposed.predicted(each)) for each in (True, False)])
        positives = np.array([supposed.positives(each) for each in (True, False)])
        counts = by_place(items, positives, predicted)
        if what := METRICS[self.goal.metric].lacks(counts):
            expected = float(positives.sum() if what == "positive" else (items - positives).sum())
            raise InputError(
                f"no item is expected to be {what}, so there is no {self.goal.metric} to plan for",
                details=f"{expected:.2g} {what}s are expected among {supposed.size:,} items",
                hint="check the score and its scale, or pass earlier labels",
            )

    @property
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to estimate if half of the answers are yes."""
        return not METRICS[self.goal.metric].bends

    def cheaper(self, designs: Sequence[DesignRow]) -> tuple[CheaperRow, ...]:
        """Costs of precision and the false omission rate, if they are lower."""
        within = self.goal.within
        if within is None or not METRICS[self.goal.metric].counts_misses:
            return ()
        rows = [
            CheaperRow(
                metric, self.costs.labels(self.supposed, Design(), self.only(within, metric))
            )
            for metric in _INSTEAD
            if all(side in self.supposed.profiles for side in sides_of(metric))
        ]
        total = sum(row.labels.mean for row in rows)
        return tuple(rows) if total < designs[0].labels.mean else ()

    def about_metric(self, planning: Planning) -> list[str]:
        """Sentences on the most that the metric costs; for recall and F1, why it costs so much."""
        goal, random = self.goal, _at_random(planning)
        if rare := METRICS[goal.metric].depends_on:
            most = advice.about_no_worst_case(goal.metric, planning.items, f"how rare {rare} are")
        else:
            most = advice.about_worst_case(planning.worst_case or 0, "half of the labels yes")
        limits = [] if planning.limit is None else [advice.about_limit(planning.limit)]
        return [
            most,
            *limits,
            *advice.about_misses(
                self.goal, self.supposed, random, planning.cheaper, planning.withins
            ),
        ]

    def limit(self) -> LabelLimit | None:
        """Minimum number of labels for the goal."""
        return None if self.goal.within is None else self.supposed.honest_limit(self.goal)

    def completed(self, planning: Planning) -> Planning:
        """Plan with cautions, and with the savings by a judge."""
        cautions = self.cautions(sides_of(self.goal.metric))
        advice_lines, judging = planning.advice, None
        if self.goal.within is not None:
            peeking = price_of_peeking(Design.bennett_carvalho(), self.only(self.goal.within))
            cautions.append(f"bennett-carvalho: {peeking}")
        cautions += planning.cautions
        if self.prices is not None:
            items = sum(self.supposed.predicted(side) for side in sides_of(self.goal.metric))
            labels = planning.designs[0].labels.mean
            judging = self.prices.judging(self.goal, labels, _at_random(planning), items)
            advice_lines = (*advice_lines, *about_judge(judging))
            cautions += judge_cautions(judging)
        return replace(
            planning,
            predicted_yes=self.supposed.predicted_positives,
            advice=advice_lines,
            cautions=tuple(cautions),
            judging=judging,
        )

    def in_words(self) -> tuple[str, str]:
        """Assumption about the truth, as a short and a long text."""
        if self.evidence is None:
            return super().in_words()
        return self.evidence.words, "items at a score are positive as often as in these"

    def cautions(self, sides: Iterable[bool]) -> list[str]:
        """Cautions about the source of the assumed truth."""
        if self.evidence is None:
            return [f"{self.scores_alone()}. Labels of an earlier period give a better plan"]
        name, words = self.in_words()
        word = {True: "yes", False: "no"}
        return [
            *self.evidence.doubts,
            f"the truth is assumed from {name}: {words}",
            *(
                f"these say nothing about items predicted {word[side]}; there the scores are taken "
                "to be calibrated, which real ones rarely are"
                for side in sides
                if side in self.population.profiles and not self.evidence.knows(side)
            ),
        ]


def _at_random(planning: Planning) -> float:
    """Labels of simple random sampling."""
    return next((row.labels.mean for row in planning.designs if row.design == RANDOM), 0.0)


@dataclass(frozen=True, eq=False)
class ClassPlanner(Planner[SupposedClasses]):
    """A goal of one target, and a population with assumed classes of all items."""

    DESIGNS: ClassVar = {**_OURS, RANDOM: (RANDOM_DESIGN, "")}
    LIKELY: ClassVar = ("of the predicted class", "of the class")
    DOUBT: ClassVar = (
        "one item in ten is of each class as often as all items are, whatever is said of it"
    )

    def refuse(self) -> None:
        """Raise if a class has no items, or the replay takes too long."""
        self._refuse_undefined()
        self._refuse_long_replays()

    def _refuse_undefined(self) -> None:
        target, known = self.target, self.population.expected
        if not target.label:
            return
        number = self.population.predictions.classes.index(target.label)
        called, of_class = known[number].sum(), known[:, number].sum()
        items = np.array([called, known.sum() - called])
        positives = np.array([known[number, number], of_class - known[number, number]])
        counts = by_place(items, positives, np.array([True, False]))
        if what := METRICS[target.metric].lacks(counts):
            there = "" if what == "positive" else "not "
            raise InputError(
                f"no item is expected to be {there}of class {target.label!r}, so there is no "
                f"{target.name} to plan for",
                details=f"{of_class:.2g} of {self.population.size:,} items are expected to be of "
                "that class",
                hint="check the class and the scores",
            )

    def _refuse_long_replays(self) -> None:
        """Raise if very many classes are counted by predicted class."""
        classes, runs = len(self.population.predictions.classes), self.costs.replications
        of_all = not self.target.label and self.target.metric != "accuracy"
        if of_all and Design().bins * classes**2 * runs > _COUNTERS:
            raise InputError(
                f"to replay {runs:,} campaigns for {metric_name(self.target.name)} of {classes:,} "
                "classes would take minutes",
                details="every class is counted by every class that it is called",
                hint="plan for accuracy, or for a class; or with fewer replications, which makes "
                "the range less sure",
            )

    @property
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to estimate if half of the predictions are wrong."""
        return self.target.metric in _STRAIGHT["of one" if self.target.label else ""]

    def about_metric(self, planning: Planning) -> list[str]:
        """Sentence on the most that the metric costs, if there is such a number."""
        if self.has_worst_case:
            most = planning.worst_case or 0
            return [advice.about_worst_case(most, "half of the predictions wrong")]
        why = "which classes are confused, and how often"
        if self.target.label:
            why = f"how many items are of {self.target.label!r}, and what they are called"
        return [advice.about_no_worst_case(planning.metric, planning.items, why)]

    def completed(self, planning: Planning) -> Planning:
        """Plan with the classes, and cautions."""
        cautions = [self.scores_alone()]
        if not self.population.by_probabilities and not self.has_worst_case:
            cautions.append(
                "which class an error is of is not known from the score of the predicted class "
                f"alone, and {metric_name(planning.metric)} depends on it: each error is taken to "
                "be of the other classes as often as these are predicted. The probabilities of "
                "all classes would tell: give them as probabilities="
            )
        return replace(
            planning,
            classes=self.population.predictions.classes,
            cautions=(*cautions, *planning.cautions),
        )

    def in_words(self) -> tuple[str, str]:
        """Assumption about the truth, as a short and a long text."""
        name, words = super().in_words()
        if self.population.by_probabilities:
            words += "; the others are of the classes that the probabilities say"
        return name, words
