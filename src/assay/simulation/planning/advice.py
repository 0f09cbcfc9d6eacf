"""Advice of a plan in sentences, and the costs that it rests on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from assay.core.betting import grid
from assay.core.design import Design, price_of_peeking
from assay.core.forecast import two_digits
from assay.core.goal import Goal
from assay.core.limits import LabelLimit
from assay.core.metrics import METRICS
from assay.core.types import Floats, Ints
from assay.errors import DesignError
from assay.simulation.planning.assumed import Assumed, Supposed, Trial
from assay.simulation.planning.result import BudgetRow, CheaperRow, Cost, Reading, WithinRow
from assay.simulation.runs import Runs

_CLEARLY, _A_LITTLE = 0.15, 0.05  # of random sampling's labels


def about_strata(readings: Sequence[Reading]) -> list[str]:
    """Say whether stratifying pays, under each reading of the truth."""
    return [
        f"{_supposing(reading, readings)}{_pays(reading.labels, reading.random)}"
        for reading in readings
        if reading.labels is not None and reading.random is not None
    ]


def _supposing(reading: Reading, readings: Sequence[Reading]) -> str:
    return f"if {reading.name}: " if len(readings) > 1 else ""


def _pays(ours: Cost, random: Cost) -> str:
    saved = 1 - ours.mean / random.mean
    numbers = f"{ours.mean:,.0f} labels instead of random sampling's {random.mean:,.0f}"
    if saved >= _CLEARLY:
        return f"stratifying by score pays: {numbers}, {saved:.0%} fewer"
    if saved >= _A_LITTLE:
        return f"stratifying by score pays a little: {numbers}, {saved:.0%} fewer"
    more = f"{-saved:.0%} more" if saved < 0 else f"only {saved:.0%} fewer"
    if round(saved, 2) == 0:
        more = "about as many"
    return (
        f"stratifying by score does not pay: {numbers}, {more}; "
        "the scores tell too little about where the errors are"
    )


def about_worst_case(most: int, hardest: str) -> str:
    """Say what it takes at most; `hardest` is the truth that takes so much."""
    return (
        f"whatever the truth, it takes no more than about {most:,} labels: "
        f"with {hardest} at every score, nothing is harder"
    )


def about_limit(limit: LabelLimit) -> str:
    """Say what no honest interval can do with less.

    >>> about_limit(LabelLimit(42.4, 176.2))
    'no honest interval takes fewer than about 180 labels: with every rate known the best design \
takes 42, and to see that what is clean is clean takes 180'
    """
    design, clean = two_digits(limit.design), two_digits(limit.clean)
    return (
        f"no honest interval takes fewer than about {max(design, clean):,} labels: with every rate "
        f"known the best design takes {design:,}, and to see that what is clean is clean takes "
        f"{clean:,}"
    )


def about_no_worst_case(metric: str, items: int, depends_on: str) -> str:
    """Say why there is no most that it takes."""
    return (
        f"there is no worst case short of all {items:,} items: how much a label tells about "
        f"{_name(metric)} depends on {depends_on}"
    )


def about_budget(goal: Goal, budgets: Sequence[BudgetRow]) -> list[str]:
    """Say whether the budget is enough."""
    if goal.budget is None or goal.within is None:
        return []
    width = budgets[0].half_width.mean
    enough = "enough" if width <= goal.within else "not enough"
    return [
        f"{goal.budget:,} labels are expected to give ±{width:.4f}: {enough} for ±{goal.within:g}"
    ]


def about_misses(
    goal: Goal,
    supposed: Supposed,  # the population, with supposed truth
    random_labels: float,  # what simple random sampling would take
    # cheaper, withins: what other metrics, and other half-widths, would take.
    cheaper: Sequence[CheaperRow],
    withins: Sequence[WithinRow],
) -> list[str]:
    """Say what recall or F1 costs and why, and what could be asked instead."""
    said_no, missed = supposed.said(False), supposed.positives(False)
    if not METRICS[goal.metric].counts_misses or said_no == 0:
        return []
    share = missed / max(missed + supposed.positives(True), 1e-9)
    rate = missed / said_no
    found = f"1 label in {1 / rate:,.0f} finds one" if rate > 0 else "no label would find one"
    lines = [
        f"why {_name(goal.metric)} costs what it does: it depends on what the classifier misses. "
        f"Of the {said_no:,} items that it calls no, {_percent(rate)} are expected to be positive: "
        f"{missed:,.0f} items, {share:.0%} of all positives. Drawn at random among them, {found}; "
        f"simple random sampling would take about {random_labels:,.0f} labels"
    ]
    instead = []
    if cheaper:
        total = sum(row.labels.mean for row in cheaper)
        names = " and ".join(_name(row.metric) for row in cheaper)
        instead.append(f"{names} within ±{goal.within:g} take about {total:,.0f} labels together")
    if withins:
        loosest = withins[0]
        instead.append(
            f"{_name(goal.metric)} within ±{loosest.within:.3g} takes "
            f"about {loosest.labels.mean:,.0f}"
        )
    return [*lines, *([f"cheaper questions: {'; '.join(instead)}"] if instead else [])]


def about_paper_1(goal: Goal) -> str:
    """Say why paper 1's design is no bargain."""
    return f"bennett-carvalho: {price_of_peeking(Design.bennett_carvalho(), goal)}"


def _name(metric: str) -> str:
    return "F1" if metric == "f1" else metric.replace("_", " ")


def _percent(rate: float) -> str:
    return f"{rate:.1%}" if rate >= 0.01 else f"{100 * rate:.2g}%"


# What designs cost on a supposed population: whole evaluations, replayed.

_BAND = (5, 95)  # per cent: nine evaluations in ten lie between
_FEWEST = 20  # replications
# Of a design that bets: each card of each replication is a bet against each point of a grid.
_BETS_IN_ALL, _FEWEST_BETTORS = 5e7, 5
_ROUND, _ROUNDS = 20, 40  # labels a round, or more where it would take more rounds than this
_SMALL_ROUNDS = 200  # of a design that says how many labels a round has


@dataclass(eq=False)
class Costs:
    """Replays evaluations, and tells how much of the work is done."""

    # replications, seed: evaluations a design, and what fixes them.
    replications: int
    seed: int
    progress: Callable[[float], None] | None = None  # told the share that is done
    steps: int = 1  # how many replays there will be
    _done: int = field(default=0, init=False)

    def labels(self, supposed: Assumed, design: Design, goal: Goal) -> Cost:
        """Return the labels until the stop.

        Where more than 800 are expected, rounds are larger, which adds half a round to the labels
        (about 1%), and fewer evaluations of a design that bets are replayed, which then differ
        less.

        Raises DesignError: where the replay would take minutes.
        """
        runs, design = self.replications, supposed.fitted(design, goal)
        trial = supposed.trial(design, goal)
        there = trial.items
        expected = min(supposed.at_random(goal), there)
        if design.round_size is not None:
            design = replace(
                design, round_size=max(design.round_size, int(expected) // _SMALL_ROUNDS)
            )
        if design.bets:
            runs = min(runs, _bettors(goal, expected))
        # Where items are drawn again and again, it need never end; nobody would label so much.
        most = there if design.replacement else None
        found = self._replay(trial, design, replace(goal, budget=most), runs, expected)
        return cost_of(found.labels, most)

    def half_width(self, supposed: Assumed, design: Design, goal: Goal) -> Cost:
        """Return the half-width at the end of the budget."""
        trial = supposed.trial(design, goal)
        runs = self._replay(trial, design, goal, self.replications, goal.worst_case)
        return cost_of((runs.high - runs.low) / 2)

    def most_labels(self, trial: Trial, design: Design, goal: Goal) -> int:
        """Return the most labels that any evaluation took."""
        runs = self._replay(trial, design, goal, min(self.replications, _FEWEST), goal.worst_case)
        return int(runs.labels.max())

    def _replay(self, trial: Trial, design: Design, goal: Goal, runs: int, expected: float) -> Runs:
        asked = max(_ROUND, round(expected / _ROUNDS))
        # One random stream for all: designs and half-widths are compared on the same luck.
        task = trial.task(design, goal, asked, runs)
        found = task.replay(runs, key=[self.seed])
        self._done += 1
        if self.progress is not None:
            self.progress(min(self._done / self.steps, 1.0))
        return found


def _bettors(goal: Goal, expected: float) -> int:
    """Return how many evaluations of a design that bets can be replayed in a few seconds."""
    runs = int(_BETS_IN_ALL / (expected * grid(goal.within).size))
    if runs < _FEWEST_BETTORS:
        raise DesignError(
            f"to replay its bets at ±{goal.within:g} would take minutes",
            details=f"about {expected:,.0f} labels, each a bet against many possible values",
        )
    return runs


def cost_of(values: Floats | Ints, most: int | None = None) -> Cost:
    """Return the mean, and where nine evaluations in ten lie; no value was followed past `most`."""
    low, high = np.percentile(values, _BAND)
    beyond = 0.0 if most is None else float(np.mean(values >= most))
    return Cost(float(values.mean()), float(low), float(high), beyond)
