"""Advice of a plan in sentences, and the costs behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, isfinite, sqrt
from numbers import Real

import numpy as np

from assay.core.betting import grid
from assay.core.design import Design, fitted
from assay.core.double_sampling import (
    Effort,
    Question,
    double_sampling,
    judged_strata,
    part_of_variance,
)
from assay.core.forecast import LITTLE, two_digits
from assay.core.goal import Goal
from assay.core.learning import FIRST
from assay.core.limits import LabelLimit
from assay.core.metrics import METRICS
from assay.core.types import Floats, Ints
from assay.errors import DesignError, InputError
from assay.simulation.planning.assumed import Assumed, Supposed, Trial
from assay.simulation.planning.result import (
    BudgetRow,
    CheaperRow,
    Cost,
    JudgeRow,
    Judging,
    Reading,
    Way,
    WithinRow,
)
from assay.simulation.runs import Runs

_CLEARLY = 0.15  # of random sampling's labels


def about_strata(readings: Sequence[Reading]) -> list[str]:
    """Sentences on whether stratifying pays, under each reading of the truth."""
    return [
        (f"if {reading.name}: " if len(readings) > 1 else "")
        + _pays(reading.labels, reading.random)
        for reading in readings
        if reading.labels is not None and reading.random is not None
    ]


def _pays(ours: Cost, random: Cost) -> str:
    saved = 1 - ours.mean / random.mean
    numbers = f"{ours.mean:,.0f} labels instead of random sampling's {random.mean:,.0f}"
    if saved >= _CLEARLY:
        return f"stratifying by score pays: {numbers}, {saved:.0%} fewer"
    if saved >= LITTLE:
        return f"stratifying by score pays a little: {numbers}, {saved:.0%} fewer"
    more = f"{-saved:.0%} more" if saved < 0 else f"only {saved:.0%} fewer"
    if round(saved, 2) == 0:
        more = "about as many"
    return (
        f"stratifying by score does not pay: {numbers}, {more}; the scores say too little about "
        "where the errors are"
    )


def about_worst_case(most: int, hardest: str) -> str:
    """Sentence on the most labels it takes; `hardest` is the truth that takes them."""
    return f"worst case: about {most:,} labels, with {hardest} at every score"


def about_limit(limit: LabelLimit) -> str:
    """Sentence on the limit of any honest interval.

    >>> about_limit(LabelLimit(42.4, 176.2))
    'lower limit: about 180 labels. With every rate known, the best design needs 42; confirming \
that clean strata are clean needs 180'
    """
    design, clean = two_digits(limit.design), two_digits(limit.clean)
    return (
        f"lower limit: about {max(design, clean):,} labels. With every rate known, the best "
        f"design needs {design:,}; confirming that clean strata are clean needs {clean:,}"
    )


def about_no_worst_case(metric: str, items: int, depends_on: str) -> str:
    """Sentence on why there is no worst case."""
    return (
        f"the worst case is all {items:,} items: how much a label says about {_name(metric)} "
        f"depends on {depends_on}"
    )


def about_budget(goal: Goal, budgets: Sequence[BudgetRow]) -> list[str]:
    """Sentences on whether the budget is enough."""
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
    """Sentences on the cost of recall or F1 and its reasons, and on alternatives."""
    calls_no, missed = supposed.predicted(False), supposed.positives(False)
    if not METRICS[goal.metric].counts_misses or calls_no == 0:
        return []
    share = missed / max(missed + supposed.positives(True), 1e-9)
    rate = missed / calls_no
    percent = f"{rate:.1%}" if rate >= 0.01 else f"{100 * rate:.2g}%"
    chance = f"1 label in {1 / rate:,.0f} finds one" if rate > 0 else "no label would find one"
    lines = [
        f"{_name(goal.metric)} depends on what the classifier misses. Of the {calls_no:,} items "
        f"that it calls no, {percent} are expected to be positive: {missed:,.0f} items, "
        f"{share:.0%} of all positives. Drawn at random among them, {chance}; simple random "
        f"sampling would take about {random_labels:,.0f} labels"
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


def _name(metric: str) -> str:
    return "F1" if metric == "f1" else metric.replace("_", " ")


# What designs cost on a supposed population: whole evaluations, replayed.

_BAND = (5, 95)  # per cent: nine evaluations in ten lie between
_FEWEST = 20  # replications
# Of a design that bets: each card of each replication is a bet against each point of a grid.
_BETS_IN_ALL, _FEWEST_BETTORS = 5e7, 5
_ROUND, _ROUNDS = 20, 40  # labels a round, or more where it would take more rounds than this
_SMALL_ROUNDS = 200  # of a design that says how many labels a round has


@dataclass(eq=False)
class Costs:
    """Replays evaluations, and reports progress."""

    # replications, seed: evaluations a design, and what fixes them.
    replications: int
    seed: int
    progress: Callable[[float], None] | None = None  # told the share that is done
    steps: int = 1  # how many replays there will be
    _done: int = field(default=0, init=False)

    def labels(self, supposed: Assumed, design: Design, goal: Goal) -> Cost:
        """Mean and range of the labels until the stop.

        If more than 800 are expected, rounds are larger, which adds half a round to the labels
        (about 1%), and fewer evaluations of a design that bets are replayed, as they vary less.
        Raises DesignError: if the replay would take minutes.
        """
        runs, design = self.replications, fitted(design, goal) if goal.single else design
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
        runs_at = self._replay(trial, design, replace(goal, budget=most), runs, expected)
        return cost_of(runs_at.labels, most)

    def half_width(self, supposed: Assumed, design: Design, goal: Goal) -> Cost:
        """Mean and range of the half-width at the end of the budget."""
        trial = supposed.trial(design, goal)
        runs = self._replay(trial, design, goal, self.replications, goal.worst_case)
        return cost_of((runs.high - runs.low) / 2)

    def most_labels(self, trial: Trial, design: Design, goal: Goal) -> int:
        """Most labels that any evaluation took."""
        runs = self._replay(trial, design, goal, min(self.replications, _FEWEST), goal.worst_case)
        return int(runs.labels.max())

    def _replay(self, trial: Trial, design: Design, goal: Goal, runs: int, expected: float) -> Runs:
        asked = max(_ROUND, round(expected / _ROUNDS))
        # One random stream for all: designs and half-widths are compared on the same luck.
        task = trial.task(design, goal, asked, runs)
        replayed = task.replay(runs, key=[self.seed])
        self.advance(self.steps)
        return replayed

    def advance(self, steps: int) -> None:
        """Report one more replay, of this many, as done."""
        self._done += 1
        if self.progress is not None:
            self.progress(min(self._done / steps, 1.0))


def _bettors(goal: Goal, expected: float) -> int:
    """Choose how many replays of a betting design fit into a few seconds."""
    runs = int(_BETS_IN_ALL / (expected * grid(goal.within).size))
    if runs < _FEWEST_BETTORS:
        raise DesignError(
            f"replaying its bets at ±{goal.within:g} would take minutes",
            details=f"about {expected:,.0f} labels, each a bet against many possible values",
        )
    return runs


def cost_of(values: Floats | Ints, most: int | None = None) -> Cost:
    """Mean, and range of nine evaluations in ten; evaluations end at `most`."""
    low, high = np.percentile(values, _BAND)
    beyond = 0.0 if most is None else float(np.mean(values >= most))
    return Cost(float(values.mean()), float(low), float(high), beyond)


_RHOS = (0.5, 0.7, 0.9)
_WORTH_IT = 0.05  # of the cost: less is within what a plan does not know


@dataclass(frozen=True)
class Prices:
    """Costs of a judgement and a label, and the assumed correlation of judge and outcome."""

    name: str
    judge_cost: float
    label_cost: float
    rhos: tuple[float, ...]

    def judging(self, goal: Goal, labels: float, at_random: float, items: int) -> Judging:
        """Plan the savings by the judge."""
        within = goal.within or 0.0
        question = Question(labels, items, at_random, FIRST)
        rows = [self._row(None, "none", Effort(0, labels), within)]
        for rho in self.rhos if labels < items else ():
            prices = {"judge_cost": self.judge_cost, "label_cost": self.label_cost}
            strata = judged_strata(question, rho, **prices)
            rows.append(self._row(rho, "all items", strata, within))
            part = double_sampling(question, rho, **prices)
            if part.judgements < items:
                tighter = within * sqrt(part_of_variance(question, rho, part))
                rows.append(self._row(rho, "judged items", part, tighter))
            elif strata.judgements < items:
                rows.append(self._row(rho, "all items", part, within))
        return Judging(self.name, self.judge_cost, self.label_cost, items, tuple(rows))

    def _row(self, rho: float | None, way: Way, effort: Effort, within: float) -> JudgeRow:
        whole = Effort(ceil(effort.judgements - 1e-6), ceil(effort.labels - 1e-6))
        return JudgeRow(
            rho,
            way,
            int(whole.judgements),
            int(whole.labels),
            whole.cost(self.judge_cost, self.label_cost),
            within,
        )


def prices_of(
    aux: Sequence[str],  # the judge's column
    judge_cost: float | None,
    label_cost: float | None,
    rho: float | None,
    *,
    within: float | None,  # of the goal
) -> Prices | None:
    """Prices that were given, or None."""
    if judge_cost is None or label_cost is None:
        _refuse_half(aux, {"judge_cost": judge_cost, "label_cost": label_cost, "rho": rho})
        return None
    if within is None:
        raise InputError(
            f"judge_cost={judge_cost!r} needs within=",
            details="the savings of a judge are labels to a half-width",
            hint="give within=0.02, or another half-width",
        )
    _check_price("judge_cost", judge_cost)
    _check_price("label_cost", label_cost)
    if rho is not None and not (_is_number(rho) and 0 < rho < 1):
        raise InputError(
            f"rho={rho!r} is not a correlation",
            details="rho is a number between 0 and 1 (exclusive)",
            hint="leave it out for a table of 0.5, 0.7 and 0.9",
        )
    names = [aux] if isinstance(aux, str) else list(aux)
    rhos = _RHOS if rho is None else (float(rho),)
    return Prices(" and ".join(names) or "a judge", float(judge_cost), float(label_cost), rhos)


def _refuse_half(aux: Sequence[str], given: dict[str, float | None]) -> None:
    """Raise if arguments about a judge lack its cost."""
    known = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    if known or aux:
        names = [aux] if isinstance(aux, str) else list(aux)
        missing = [name for name in ("judge_cost", "label_cost") if given[name] is None]
        raise InputError(
            f"{(known or [f'aux={names!r}'])[0]} needs "
            f"{' and '.join(f'{name}=' for name in missing)}",
            details="whether a judge pays depends on what a judgement and a label cost",
            hint="give both, such as judge_cost=0.02 and label_cost=1.5; 'assay simulate' with "
            "aux= tells what a column saves where the truth is known",
        )


def _check_price(name: str, value: object) -> None:
    if not (_is_number(value) and isinstance(value, Real) and float(value) > 0):
        raise InputError(
            f"{name}={value!r} is no price",
            details="a price is a number above 0; judgements and labels in the same currency",
            hint="a judge that costs nothing needs no plan: have all items judged",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def about_judge(judging: Judging) -> list[str]:
    """Sentences on the cheapest way for each rho."""
    none = judging.rows[0]
    if len(judging.rows) == 1:
        return [f"{judging.name} is of no use: all {judging.items:,} items are labelled anyway"]
    lines = []
    for rho, row in judging.cheapest.items():
        saved = 1 - row.cost / none.cost
        start = f"{judging.name} with rho {rho:g}"
        if saved < _WORTH_IT:
            least = min(each.cost for each in judging.rows if each.rho == rho and each.judgements)
            lines.append(
                f"{start} does not pay: {none.labels:,} labels without it cost "
                f"{_money(none.cost)}, and with it at least {_money(least)}"
            )
            continue
        part = row.campaign == "judged items"
        how = (
            f"have {row.judgements:,} random items judged, and make the campaign of these alone, "
            f"as a sample of {judging.items:,} (sample_of)"
            if part
            else f"have {row.judgements:,} of {judging.items:,} items judged, and continue with all"
        )
        lines.append(
            f"{start} pays: {how}; about {row.labels:,} labels, {_money(row.cost)} in all instead "
            f"of {_money(none.cost)}, {saved:.0%} less"
        )
    return lines


def judge_cautions(judging: Judging) -> list[str]:
    """Cautions about these figures."""
    notes = [
        "rho is the correlation of the judge's verdict with the outcome among items of one score; "
        "nobody knows it before there are labels. 'assay judge' tells an earlier campaign's kappa, "
        "which is about rho over all scores, and so more than within one",
        f"the first {FIRST} labels are drawn without the judge, to learn what it is worth",
    ]
    if any(row.campaign == "judged items" for row in judging.rows):
        notes.append(
            "a campaign of judged items with sample_of, the number of items they are a sample of, "
            "has an interval for all items: labels have to reach the tighter half-width of the "
            "last column, and the rest is the sample's own"
        )
    return notes


def _money(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.2f}"
