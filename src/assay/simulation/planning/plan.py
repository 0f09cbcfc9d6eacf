"""A plan for one goal: designs, half-widths, budgets and what they come to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.campaign import Campaign
from assay.core.bins import Scale, scale_of
from assay.core.design import Design, check_together
from assay.core.forecast import by_place, labels_needed, random_variance
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.metrics import sides as sides_of
from assay.core.types import Floats, one_of, whole
from assay.errors import DesignError, InputError
from assay.predictions import (
    SCORE_SCALES,
    Predictions,
    ScoreOf,
    ScoreScale,
    read_predictions,
    refuse_improbable,
)
from assay.simulation.planning import advice
from assay.simulation.planning.advice import Costs, at_one_half, cost_of
from assay.simulation.planning.assumed import Supposed, calibrated, doubtful
from assay.simulation.planning.evidence import Evidence, RankEvidence
from assay.simulation.planning.judging import Prices, about_judge, judge_cautions, prices_of
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
        supposed = self.population.with_rates(self._rates())
        self._refuse_undefined(supposed)
        designs, cautions = self._designs(supposed)
        cautions = [*self._cautions(supposed), *cautions]
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

    def _rates(self) -> dict[bool, Floats]:
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
            *self._supposed_in_words(),
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
        second = Reading(
            "scores are too sure",
            "one item in ten is positive as often as any, whatever its score",
            self._metric(doubted),
            ours,
            random,
        )
        return first, second

    def _metric(self, supposed: Supposed) -> Cost:
        frame = supposed.frame(Design(), self.goal.metric)
        return cost_of(np.atleast_1d(frame.metric.value(frame.outcomes)))

    def _supposed_in_words(self) -> tuple[str, str]:
        if self.evidence is not None:
            return self.evidence.words, "items at a score are positive as often as among these"
        if self.population.scale == "probability":
            words = "of items at score 0.9, nine in ten are positive, and so on"
        else:
            words = "scores are log-odds: at score s, a share of 1/(1 + exp(-s)) is positive"
        return "scores are calibrated", words

    def _cautions(self, supposed: Supposed) -> list[str]:
        name, words = self._supposed_in_words()
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
                for side in sides_of(self.goal.metric)
                if side in supposed.profiles and not self.evidence.knows(side)
            ),
        ]


# `plan`: what an evaluation is likely to cost, before anybody labels.
#
# Nothing is forecast by a formula: a truth is supposed, and whole evaluations are replayed on it
# by the loop that runs campaigns (`assay.simulation`). What is uncertain is the truth, and the
# plan says what it takes it for.

_STEPS = 16  # replays, at most


def plan(
    predictions: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    metric: str = "precision",
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    labels: object = None,
    like: Campaign | None = None,
    aux: Sequence[str] = (),
    judge_cost: float | None = None,
    label_cost: float | None = None,
    rho: float | None = None,
    replications: int = 50,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Planning:
    """Tell what an evaluation is likely to cost, before anybody labels.

    Whole evaluations are replayed on a truth that is supposed: from labels of an earlier period
    where there are some, and otherwise from the scores alone.

    Parameters
    ----------
    predictions, score, predicted, id, threshold, positive, score_of
        As in `create_campaign`.
    scale : {"probability", "percent", "margin"}, optional
        What the scores are; otherwise told by their range. A margin is read as log-odds.
    metric, within, budget, confidence
        The goal, as in `create_campaign`: the labels that `within` will take, what the budget
        would give, or both.
    labels : path, mapping or pairs, optional
        Labels of items of these predictions that were drawn at random, as in `assay.estimate`.
    like : Campaign, optional
        An earlier campaign, of the same classifier on other items: its labels tell how often items
        at a score are positive. Of a period of a series or a comparison, those of the newest
        predictions' items do, by rank.
    aux : sequence of str
        The judge's column, for the words of the plan; it need not be there yet.
    judge_cost, label_cost : float, optional
        What a judge takes for one item, and what a label costs: the plan then says how many items
        to have judged, how many labels that leaves, and whether it is worth its money.
    rho : float, optional
        The correlation of the judge's verdict with the outcome among items of one score. Without
        it the plan is made for 0.5, 0.7 and 0.9.
    replications : int
        Evaluations that are replayed for each number.
    seed : int
        Fixes all numbers.
    progress : callable, optional
        Told the share that is done.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.random.default_rng(0).beta(4, 1, 20_000)
    >>> planning = plan({"p": score}, score="p", threshold=0.5, within=0.1, replications=20)
    >>> 40 < planning.labels.mean < 120, planning.worst_case < 130
    (True, True)
    """
    if within is None and budget is None:
        raise InputError(
            "no goal: neither `within` nor `budget` was given",
            hint="within=0.02 tells the labels that ±2% takes, budget=500 what 500 labels give",
        )
    goal = Goal(metric, within=within, budget=budget, confidence=confidence)
    prices = prices_of(aux, judge_cost, label_cost, rho, within=within)
    costs = Costs(whole("replications", replications, 1), whole("seed", seed, 0), progress, _STEPS)
    if labels is not None and like is not None:
        raise InputError(
            "both labels and an earlier campaign were given, and a plan rests on one of them",
            hint="leave one out",
        )
    found = read_predictions(
        predictions,
        score=score,
        predicted=predicted,
        id=id,
        threshold=threshold,
        positive=positive,
        score_of=score_of,
        scale=scale,
    )
    for doubt in found.doubts:
        doubt.refuse()
    _refuse_weights(found)
    supposed = Supposed.of(found, _scale(found, scale))
    evidence: Evidence | RankEvidence | None = None
    if labels is not None:
        evidence = Evidence.from_labels(labels, found, supposed, id_column=id)
    elif like is not None:
        evidence = _evidence_of(like, supposed.scale)
    else:
        _refuse_no_scores(found)
    planning = Planner(goal, costs, supposed, evidence, prices).planning()
    doubts = tuple(doubt.warning for doubt in found.doubts)
    return replace(planning, cautions=(*doubts, *planning.cautions))


def _evidence_of(campaign: Campaign, scale: Scale) -> Evidence | RankEvidence:
    strata = campaign.settings.strata
    if strata.is_named:
        return RankEvidence.from_campaign(campaign, strata)
    return Evidence.from_campaign(campaign, strata, scale)


def _refuse_no_scores(found: Predictions) -> None:
    low, high = found.score_range
    if low == high:
        raise InputError(
            "there are no scores, or all are alike, so nothing can be supposed about the truth",
            details=f"the score of all {found.size:,} items is {low:g}",
            hint="name the column of scores, or give labels of items that were drawn at random",
        )


def _refuse_weights(found: Predictions) -> None:
    if found.weighted:
        raise InputError(
            "the predictions have weights, and a plan is for items that count alike",
            hint="plan without sample_weight",
        )


def _scale(found: Predictions, given: ScoreScale | None) -> Scale:
    if given is None:
        return scale_of(*found.score_range)
    one_of("scale", given, SCORE_SCALES)
    if given == "margin":
        return given
    refuse_improbable(found.score_range, found.source)
    return "probability"
