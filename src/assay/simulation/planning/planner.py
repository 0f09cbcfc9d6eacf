"""A planner of one metric: designs, half-widths, budgets and what they come to."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from assay.core.design import Design, check_together
from assay.core.forecast import by_place, labels_needed, random_variance
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.metrics import sides as sides_of
from assay.core.types import Floats
from assay.errors import DesignError, InputError
from assay.simulation.planning import advice
from assay.simulation.planning.advice import Costs, at_one_half, cost_of
from assay.simulation.planning.assumed import Supposed, calibrated, doubtful
from assay.simulation.planning.evidence import Evidence, RankEvidence
from assay.simulation.planning.judging import Prices, about_judge, judge_cautions
from assay.simulation.planning.result import (
    BudgetRow,
    CheaperRow,
    Cost,
    DesignRow,
    Planning,
    Reading,
    WithinRow,
)

_RANDOM = "random"
_DESIGNS: dict[str, tuple[Design, str]] = {
    "default": (Design(), "right when it stops"),
    "centred": (Design.centred(), "value ± within holds"),
    "guaranteed": (Design.guaranteed(), "right by a theorem"),
    "bennett-carvalho": (Design.bennett_carvalho(), "right too seldom"),
    _RANDOM: (Design.simple_random(), ""),
}
_FACTORS = (2.0, 1.5, 1.0, 1 / 1.5, 0.5)  # of `within`, from loose to tight
_WITH_A_BUDGET = {"default": Design(), "fixed": Design.fixed(), _RANDOM: Design.simple_random()}
_INSTEAD = ("precision", "false_omission_rate")  # of recall and F1
TOO_SURE = (
    "scores are too sure",
    "one item in ten is positive as often as any, whatever its score",
)
"""The second reading of scores alone, in a few words and in more."""


@dataclass(frozen=True, eq=False)
class Planner:
    """A goal, a population without its truth, and what is known about that."""

    goal: Goal
    costs: Costs
    population: Supposed
    evidence: Evidence | RankEvidence | None
    prices: Prices | None = None

    def planning(self) -> Planning:
        """Return the plan."""
        goal = self.goal
        supposed = self.population.with_rates(self.rates())
        self._refuse_undefined(supposed)
        designs, cautions = self._designs(supposed)
        cautions = [*self.cautions(sides_of(goal.metric)), *cautions]
        withins = self._withins(supposed, designs)
        cheaper = self._cheaper(supposed, designs)
        budgets = self._budgets(supposed)
        readings = self._readings(supposed, designs)
        said = advice.about_strata(readings)
        most, random = None, 0.0
        if goal.within is not None:
            most = self._most(supposed)
            said.append(advice.about_worst_case(goal, most, supposed.size))
            random = next(row.labels.mean for row in designs if row.design == _RANDOM)
            said += advice.about_misses(goal, supposed, random, cheaper, withins)
        said += advice.about_budget(goal, budgets)
        judging = None
        if self.prices is not None:
            items = sum(supposed.said(side) for side in sides_of(goal.metric))
            judging = self.prices.judging(goal, designs[0].labels.mean, random, items)
            said += about_judge(judging)
            cautions += judge_cautions(judging)
        return Planning(
            metric=goal.metric,
            within=goal.within,
            budget=goal.budget,
            confidence=goal.confidence,
            source=supposed.source,
            items=supposed.size,
            predicted_yes=supposed.predicted_positives,
            readings=readings,
            designs=designs,
            worst_case=most,
            withins=withins,
            budgets=budgets,
            cheaper=cheaper,
            advice=tuple(said),
            cautions=tuple(cautions),
            replications=self.costs.replications,
            seed=self.costs.seed,
            judging=judging,
        )

    def rates(self) -> dict[bool, Floats]:
        """Return the rates by earlier labels, and by the scores where there are none."""
        by_score = calibrated(self.population)
        if self.evidence is None:
            return by_score
        rng = np.random.default_rng([self.costs.seed, 1])
        truths = self.costs.replications
        return {
            side: self.evidence.draw(side, self.population, truths, rng)
            if self.evidence.knows(side)
            else np.broadcast_to(rates, (truths, rates.size))
            for side, rates in by_score.items()
        }

    def _refuse_undefined(self, supposed: Supposed) -> None:
        said = np.array([True, False])
        items = np.array([float(supposed.said(each)) for each in (True, False)])
        found = np.array([supposed.positives(each) for each in (True, False)])
        counts = by_place(items, found, said)
        if what := METRICS[self.goal.metric].lacks(counts):
            expected = float(found.sum() if what == "positive" else (items - found).sum())
            raise InputError(
                f"no item is expected to be {what}, so there is no {self.goal.metric} to plan for",
                details=f"{expected:.2g} {what}s are expected among {supposed.size:,} items",
                hint="check the score and its scale, or give labels from before",
            )

    def _only(self, within: float, metric: str | None = None) -> Goal:
        return Goal(metric or self.goal.metric, within=within, confidence=self.goal.confidence)

    def _designs(self, supposed: Supposed) -> tuple[tuple[DesignRow, ...], list[str]]:
        """Return what each design takes, and what is to be said about it."""
        within = self.goal.within
        if within is None:
            return (), []
        goal, found, cautions = self._only(within), {}, [advice.about_paper_1(self._only(within))]
        for name, (design, _) in _DESIGNS.items():
            try:
                check_together(design, goal, 2 * design.bins)
                found[name] = self._labels(supposed, design, goal)
            except DesignError as error:
                cautions.append(f"{name} is left out: {error.problem}")
        random = found[_RANDOM].mean
        rows = (
            DesignRow(name, labels, labels.mean / random - 1, _DESIGNS[name][1])
            for name, labels in found.items()
        )
        return tuple(rows), cautions

    def _by_formula(self, supposed: Supposed, goal: Goal) -> float:
        """Return about how many labels simple random sampling takes."""
        said = np.array([True, False])
        sizes = np.array([supposed.said(True), supposed.said(False)], dtype=np.float64)
        hits = np.array([supposed.positives(True), supposed.positives(False)])
        variance = np.array(random_variance(goal.metric, sizes, hits, said))
        needed = labels_needed(variance, goal.within or 1.0, goal.confidence)
        return min(float(needed), supposed.size)

    def _labels(self, supposed: Supposed, design: Design, goal: Goal) -> Cost:
        return self.costs.labels(supposed, design, goal, self._by_formula(supposed, goal))

    def _withins(self, supposed: Supposed, designs: tuple[DesignRow, ...]) -> tuple[WithinRow, ...]:
        if self.goal.within is None:
            return ()
        rows = []
        for factor in _FACTORS:
            within = self.goal.within * factor
            if factor == 1:
                rows.append(WithinRow(within, designs[0].labels))
            elif within < 0.5:
                labels = self._labels(supposed, Design(), self._only(within))
                rows.append(WithinRow(within, labels))
        return tuple(rows)

    def _cheaper(
        self, supposed: Supposed, designs: tuple[DesignRow, ...]
    ) -> tuple[CheaperRow, ...]:
        """Return what precision and the false omission rate take, where that is less."""
        if self.goal.within is None or not METRICS[self.goal.metric].counts_misses:
            return ()
        rows = [
            CheaperRow(
                metric,
                self._labels(supposed, Design(), self._only(self.goal.within, metric)),
            )
            for metric in _INSTEAD
            if all(side in supposed.profiles for side in sides_of(metric))
        ]
        total = sum(row.labels.mean for row in rows)
        return tuple(rows) if total < designs[0].labels.mean else ()

    def _budgets(self, supposed: Supposed) -> tuple[BudgetRow, ...]:
        if self.goal.budget is None:
            return ()
        goal = Goal(self.goal.metric, budget=self.goal.budget, confidence=self.goal.confidence)
        return tuple(
            BudgetRow(name, self.costs.half_width(supposed, design, goal))
            for name, design in _WITH_A_BUDGET.items()
        )

    def _most(self, supposed: Supposed) -> int:
        if METRICS[self.goal.metric].bends or self.goal.within is None:
            return supposed.size
        frame = at_one_half(supposed.frame(Design(), self.goal.metric))
        return self.costs.most_labels(frame, Design(), self._only(self.goal.within))

    def _readings(self, supposed: Supposed, designs: tuple[DesignRow, ...]) -> tuple[Reading, ...]:
        labels = {row.design: row.labels for row in designs}
        first = Reading(
            *self.supposed_in_words(),
            self._metric(supposed),
            labels.get("default"),
            labels.get(_RANDOM),
        )
        if self.evidence is not None:
            return (first,)
        doubted = supposed.with_rates(doubtful(supposed, supposed.rates))
        ours = random = None
        if self.goal.within is not None:
            goal = self._only(self.goal.within)
            ours = self._labels(doubted, Design(), goal)
            random = self._labels(doubted, Design.simple_random(), goal)
        return first, Reading(*TOO_SURE, self._metric(doubted), ours, random)

    def _metric(self, supposed: Supposed) -> Cost:
        frame = supposed.frame(Design(), self.goal.metric)
        return cost_of(np.atleast_1d(frame.metric.value(frame.outcomes)))

    def supposed_in_words(self) -> tuple[str, str]:
        """Return what is supposed about the truth, in a few words and in more."""
        if self.evidence is not None:
            return self.evidence.words, "items at a score are positive as often as among these"
        if self.population.scale == "probability":
            words = "of items at score 0.9, nine in ten are positive, and so on"
        else:
            words = "scores are log-odds: at score s, a share of 1/(1 + exp(-s)) is positive"
        return "scores are calibrated", words

    def cautions(self, sides: Iterable[bool]) -> list[str]:
        """Return what a reader should know of where the truth is supposed from.

        Parameters
        ----------
        sides : iterable of bool
            The predicted labels whose items matter.
        """
        name, words = self.supposed_in_words()
        if self.evidence is None:
            return [
                f"the truth is supposed from the scores alone ({name}: {words}). Real scores are "
                "seldom calibrated; the second reading tells what it costs if they are too sure "
                "of themselves, and one item in ten is positive as often as any. Labels of an "
                "earlier period make a better plan"
            ]
        said = {True: "yes", False: "no"}
        return [
            *self.evidence.doubts,
            f"the truth is supposed from {name}: {words}",
            *(
                f"these tell nothing of items predicted {said[side]}; there the scores are taken "
                "to be calibrated, which real ones seldom are"
                for side in sides
                if side in self.population.profiles and not self.evidence.knows(side)
            ),
        ]
