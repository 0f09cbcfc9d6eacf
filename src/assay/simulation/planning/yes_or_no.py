"""A planner of one metric of yes and no: the truth by the scores, or by labels from before."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from assay.core.design import Design
from assay.core.forecast import by_place
from assay.core.goal import Goal
from assay.core.limits import LabelLimit
from assay.core.metrics import METRICS
from assay.core.metrics import sides as sides_of
from assay.core.types import Floats
from assay.errors import InputError
from assay.simulation.planning import advice
from assay.simulation.planning.assumed import Supposed, calibrated, doubtful
from assay.simulation.planning.evidence import Evidence, RankEvidence
from assay.simulation.planning.judging import Prices, about_judge, judge_cautions
from assay.simulation.planning.planner import CENTRED, DEFAULT, RANDOM, Planner, Supposition
from assay.simulation.planning.result import CheaperRow, DesignRow, Planning

_INSTEAD = ("precision", "false_omission_rate")  # of recall and F1
TOO_SURE = (
    "scores are too sure",
    "one item in ten is positive as often as any, whatever its score",
)
"""The second reading of scores alone, in a few words and in more."""


@dataclass(frozen=True, eq=False)
class LabelPlanner(Planner):
    """A goal, a population without its truth, and what is known about that."""

    population: Supposed
    evidence: Evidence | RankEvidence | None
    prices: Prices | None = None

    DESIGNS: ClassVar = {
        "default": (Design(), DEFAULT),
        "centred": (Design.centred(), CENTRED),
        "guaranteed": (Design.guaranteed(), "right by a theorem"),
        "bennett-carvalho": (Design.bennett_carvalho(), "right too seldom"),
        RANDOM: (Design.simple_random(), ""),
    }
    WITH_A_BUDGET: ClassVar = {
        "default": Design(),
        "fixed": Design.fixed(),
        RANDOM: Design.simple_random(),
    }

    @cached_property
    def supposed(self) -> Supposed:
        """The population with the truth that a plan rests on."""
        return self.population.with_rates(self.rates())

    def suppositions(self) -> Sequence[Supposition]:
        """Return what is supposed about the truth; of scores alone, that they are too sure, too."""
        self._refuse_undefined(self.supposed)
        first = (*self.supposed_in_words(), self.supposed)
        if self.evidence is not None:
            return [first]
        doubted = self.supposed.with_rates(doubtful(self.supposed, self.supposed.rates))
        return [first, (*TOO_SURE, doubted)]

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

    def only(self, within: float, metric: str | None = None) -> Goal:
        """Return the goal with another half-width, and without a budget; or of another metric."""
        return Goal(metric or self.goal.metric, within=within, confidence=self.goal.confidence)

    def with_budget(self, budget: int) -> Goal:
        """Return the goal with the budget alone."""
        return Goal(self.goal.metric, budget=budget, confidence=self.goal.confidence)

    @property
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to tell where half of the answers are yes."""
        return not METRICS[self.goal.metric].bends

    def cheaper(self, designs: Sequence[DesignRow]) -> tuple[CheaperRow, ...]:
        """Return what precision and the false omission rate take, where that is less."""
        if self.goal.within is None or not METRICS[self.goal.metric].counts_misses:
            return ()
        rows = [
            CheaperRow(
                metric,
                self.costs.labels(self.supposed, Design(), self.only(self.goal.within, metric)),
            )
            for metric in _INSTEAD
            if all(side in self.supposed.profiles for side in sides_of(metric))
        ]
        total = sum(row.labels.mean for row in rows)
        return tuple(rows) if total < designs[0].labels.mean else ()

    def about_metric(self, planning: Planning) -> list[str]:
        """Say what the metric costs at most; of recall and F1, why it costs so much."""
        goal, random = self.goal, _at_random(planning)
        if rare := METRICS[goal.metric].depends_on:
            most = advice.about_no_worst_case(goal.metric, planning.items, f"how rare {rare} are")
        else:
            most = advice.about_worst_case(planning.worst_case or 0, "half of the answers yes")
        limits = [] if planning.limit is None else [advice.about_limit(planning.limit)]
        return [
            most,
            *limits,
            *advice.about_misses(
                self.goal, self.supposed, random, planning.cheaper, planning.withins
            ),
        ]

    def limit(self) -> LabelLimit | None:
        """Return the labels that the goal takes at least."""
        return None if self.goal.within is None else self.supposed.honest_limit(self.goal)

    def completed(self, planning: Planning) -> Planning:
        """Return the plan with cautions, and with what a judge would save."""
        cautions, said, judging = self.cautions(sides_of(self.goal.metric)), planning.advice, None
        if self.goal.within is not None:
            cautions.append(advice.about_paper_1(self.only(self.goal.within)))
        cautions += planning.cautions
        if self.prices is not None:
            items = sum(self.supposed.said(side) for side in sides_of(self.goal.metric))
            labels = planning.designs[0].labels.mean
            judging = self.prices.judging(self.goal, labels, _at_random(planning), items)
            said = (*said, *about_judge(judging))
            cautions += judge_cautions(judging)
        return replace(
            planning,
            predicted_yes=self.supposed.predicted_positives,
            advice=said,
            cautions=tuple(cautions),
            judging=judging,
        )

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
        """Return what a reader should know of where the truth is supposed from."""
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


def _at_random(planning: Planning) -> float:
    """Return the labels that simple random sampling takes."""
    return next((row.labels.mean for row in planning.designs if row.design == RANDOM), 0.0)
