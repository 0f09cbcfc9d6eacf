"""A plan for a threshold that keeps floors: what labels are likely to certify.

Whole campaigns for a threshold (`assay.simulation.thresholds`) are replayed on an assumed truth,
with several budgets.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.core.design import Design
from assay.core.goal import EVERY_SCORE, ThresholdQuestion
from assay.core.rules import refuse
from assay.core.stopping import Reason
from assay.core.types import Floats
from assay.errors import DesignError, InputError
from assay.predictions import Predictions
from assay.simulation.frames import Frame
from assay.simulation.planning.advice import cost_of
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.planner import LabelPlanner
from assay.simulation.planning.result import Planning, Reading, ThresholdRow
from assay.simulation.thresholds import ThresholdRuns, Thresholds, ThresholdTask

if TYPE_CHECKING:
    from assay.campaign import Campaign

_BUDGETS = (300, 1000, 3000)  # if none is given
_FACTORS = (1 / 3, 1.0, 3.0)  # of a given budget
_LEAST_BUDGET = 20
_CARDS_IN_ALL, _FEWEST = 40_000, 10  # of a budget's replays; each card is a bet on every threshold
_ROUND, _ROUNDS = 20, 50  # labels a round, or more where it would take more rounds than this
_LIKELY = 0.9  # of the campaigns


def check_columns(
    question: str, predictions: object, score: str | None, given: Mapping[str, object]
) -> None:
    """Raise for arguments that a plan for a threshold cannot use, or without a score.

    `given`: arguments by name.
    """
    refuse(given, {"threshold_for": question})
    if score is None and not isinstance(predictions, Predictions):
        raise DesignError(
            f"threshold_for={question!r} needs scores",
            hint="name the column with the classifier's score: score='p'",
        )


def reading_threshold(like: "Campaign | None") -> float:
    """Threshold for reading predictions, so that an earlier campaign's strata fit.

    A campaign has strata on either side of its own threshold. A campaign by predicted labels, of
    several classifiers or of a comparison has no rates of positives by score.
    """
    if like is None:
        return EVERY_SCORE
    settings = like.settings
    threshold = settings.source.columns.get("threshold")
    if not settings.goal.single or threshold is None:
        raise InputError(
            f"the strata of campaign {like.name!r} are not by score alone, so its labels do not "
            "show how often items at a score are positive",
            hint="use a campaign that was created with threshold= or threshold_for=, or give "
            "labels= of items that were drawn at random",
        )
    return float(threshold)


class ThresholdPlanner(LabelPlanner):
    """A question for a threshold, a population without its truth, and the evidence about that."""

    @property
    def question(self) -> ThresholdQuestion:
        """The floors, and the metric to maximise."""
        return ThresholdQuestion.parse(self.goal.threshold_for)

    def planning(self) -> Planning:
        """Make the plan."""
        population, suppositions = self.population, self.suppositions()
        readings, rows = [], list[ThresholdRow]()
        for name, words, supposed in suppositions:
            best = self._best(supposed)
            rows_of = self._rows(name, supposed, best, len(suppositions))
            rows += rows_of
            until = next((row.labels for row in rows_of if row.budget is None), None)
            readings.append(Reading(name, words, cost_of(best), until, None))
        return self.planned(
            readings,
            predicted_yes=population.size,
            advice=tuple(self._advice(readings, rows)),
            cautions=tuple(self.cautions((True, False))),
            threshold_for=self.goal.threshold_for,
            wanted=self.question.most,
            thresholds=tuple(rows),
        )

    def _best(self, supposed: Supposed) -> Floats:
        """Maximum of the wanted metric over thresholds, for each truth; 0 if no floor is kept."""
        truth, sizes = supposed.by_score, supposed.by_score.profile.count[::-1].astype(np.float64)
        every = np.atleast_2d(truth.outcomes)[:, ::-1]
        return np.array([Thresholds(sizes, each).best(self.question) or 0.0 for each in every])

    def _rows(
        self, name: str, supposed: Supposed, best: Floats, readings: int
    ) -> list[ThresholdRow]:
        """Row for each budget."""
        frame = supposed.ladder(Design.ladder())
        budgets = self._sizes(supposed.size)
        rows = []
        for budget in budgets:
            runs = self._replay(frame, budget)
            edges = np.array([supposed.by_score.profile.min, *frame.strata.heaps[0].cuts.points])
            rows.append(_row(name, budget, runs, edges=edges, best=best))
            self.costs.advance(len(budgets) * readings)
        return rows

    def _sizes(self, size: int) -> list[int | None]:
        """Budgets to try; None is a campaign until it is settled."""
        if self.goal.budget is None:
            return [*(each for each in _BUDGETS if each < size), None]
        every = (round(factor * self.goal.budget) for factor in _FACTORS)
        some = {min(max(each, _LEAST_BUDGET), size) for each in every}
        return [*sorted(some | {self.goal.budget})]

    def _replay(self, frame: Frame, budget: int | None) -> ThresholdRuns:
        most, goal = _BUDGETS[-1] if budget is None else budget, replace(self.goal, budget=budget)
        runs = min(self.costs.replications, max(_CARDS_IN_ALL // most, _FEWEST))
        if frame.outcomes.ndim > 1:
            frame = replace(frame, outcomes=frame.outcomes[:runs])
        asked = max(_ROUND, round(most / _ROUNDS))
        task = ThresholdTask.of_frame("plan", frame, goal, most, asked, intervals=0)
        return task.replay(runs, key=[self.costs.seed])

    def _advice(self, readings: list[Reading], rows: list[ThresholdRow]) -> list[str]:
        """Advice under each reading of the truth."""
        lines, wanted, floors = [], self.question.most, self.goal.threshold_for
        for reading in readings:
            own = [row for row in rows if row.supposed == reading.name]
            supposing = f"if {reading.name}: " if len(readings) > 1 else ""
            if not reading.metric.high:
                lines.append(f"{supposing}no threshold keeps {floors}, whatever the labels")
                continue
            asked = next((row for row in own if row.budget == self.goal.budget), own[-1])
            line = f"the best threshold has a {wanted} of {reading.metric.mean:.2f}"
            if asked.value is not None:
                line += f"; {_labels_of(asked)} are expected to find one with {asked.value:.2f}"
            enough = [row for row in own if row.certified >= _LIKELY]
            if not enough:
                line += ". None of these budgets certifies one in nine campaigns of ten"
            elif (few := enough[0]).budget is not None:
                line += f". {few.budget:,} labels certify some threshold in {few.certified:.0%}"
            lines.append(supposing + line)
        return lines


def _labels_of(row: ThresholdRow) -> str:
    if row.budget is None:
        return f"{row.labels.as_labels[0]} labels"
    return f"{row.budget:,} labels"


def _row(
    name: str, budget: int | None, runs: ThresholdRuns, *, edges: Floats, best: Floats
) -> ThresholdRow:
    """Results of campaigns with one budget.

    `edges` are the lowest scores of the strata, and `best` is the wanted metric of the best
    threshold for each truth.
    """
    there = runs.certified
    thresholds = edges[edges.size - 1 - runs.place[there]]
    most = float(np.broadcast_to(best[: runs.labels.size], runs.worth.shape).mean())
    return ThresholdRow(
        supposed=name,
        budget=budget,
        labels=cost_of(runs.labels, _BUDGETS[-1] if budget is None else None),
        settled=float(np.mean(runs.reason == Reason.GOAL_MET)),
        certified=float(there.mean()),
        threshold=cost_of(thresholds) if there.any() else None,
        value=float(runs.worth[there].mean()) if there.any() else None,
        share_of_best=float(runs.worth.mean()) / most if most > 0 else None,
        replications=int(runs.labels.size),
    )
