"""A planner of one metric: designs, half-widths, budgets and what they come to."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from assay.core.design import Design, check_together
from assay.core.goal import Goal
from assay.core.limits import LabelLimit
from assay.errors import DesignError
from assay.simulation.planning import advice
from assay.simulation.planning.advice import Costs, cost_of
from assay.simulation.planning.assumed import Assumed
from assay.simulation.planning.result import (
    BudgetRow,
    CheaperRow,
    DesignRow,
    Planning,
    Reading,
    WithinRow,
)

RANDOM = "random"
DEFAULT, CENTRED = "right when it stops", "value ± within holds"
_OUT_OF_REACH = 1e-6  # half-width
_FACTORS = (2.0, 1.5, 1.0, 1 / 1.5, 0.5)  # of `within`, from loose to tight

Supposition = tuple[str, str, Assumed]
"""What is supposed about the truth, in a few words and in more, and the population with it."""


@dataclass(frozen=True, eq=False)
class Planner(ABC):
    """A goal, and what it costs to try.

    What is supposed about the truth, and what can be said of it, is told by the planners of yes and
    no (`yes_or_no`) and of more classes (`classes`).
    """

    goal: Goal
    costs: Costs

    DESIGNS: ClassVar[Mapping[str, tuple[Design, str]]]
    """The designs that are tried, the default first, each with a remark."""
    WITH_A_BUDGET: ClassVar[Mapping[str, Design]]
    """Those that are tried with a budget, the default first."""

    @abstractmethod
    def suppositions(self) -> Sequence[Supposition]:
        """Return what is supposed about the truth; all but the readings rests on the first."""

    @abstractmethod
    def only(self, within: float) -> Goal:
        """Return the goal with another half-width, and without a budget."""

    @abstractmethod
    def with_budget(self, budget: int) -> Goal:
        """Return the goal with the budget alone."""

    @property
    @abstractmethod
    def has_worst_case(self) -> bool:
        """Whether the metric is hardest to tell where half of the answers are yes."""

    @abstractmethod
    def about_metric(self, planning: Planning) -> list[str]:
        """Say what the metric costs at most, and why: for a goal with a half-width."""

    @abstractmethod
    def completed(self, planning: Planning) -> Planning:
        """Return the plan with what a careful reader should know, and what is asked beside it."""

    def limit(self) -> LabelLimit | None:
        """Return the labels that the goal takes at least; None where that is not known."""
        return None

    def cheaper(self, designs: Sequence[DesignRow]) -> tuple[CheaperRow, ...]:
        """Return questions that cost less than this one does."""
        del designs
        return ()

    def planning(self) -> Planning:
        """Return the plan."""
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
        planning = Planning(
            metric=goal.targets[0].name,
            within=goal.within,
            budget=goal.budget,
            confidence=goal.confidence,
            source=supposed.source,
            items=supposed.size,
            predicted_yes=None,
            readings=readings,
            designs=designs,
            worst_case=most,
            withins=withins,
            budgets=budgets,
            cheaper=cheaper,
            advice=(),
            cautions=left_out,
            replications=self.costs.replications,
            seed=self.costs.seed,
            limit=self.limit(),
        )
        said = advice.about_strata(readings)
        said += self.about_metric(planning) if goal.within is not None else []
        said += advice.about_budget(goal, budgets)
        return self.completed(replace(planning, advice=tuple(said)))

    def _designs(self, supposed: Assumed) -> tuple[tuple[DesignRow, ...], tuple[str, ...]]:
        """Return what each design takes, and which are left out."""
        within = self.goal.within
        if within is None:
            return (), ()
        goal, found, left_out = self.only(within), {}, []
        for name, (design, _) in self.DESIGNS.items():
            try:
                check_together(design, goal, 2 * design.bins)
                found[name] = self.costs.labels(supposed, design, goal)
            except DesignError as error:
                left_out.append(f"{name} is left out: {error.problem}")
        random = found[RANDOM].mean
        rows = (
            DesignRow(name, labels, labels.mean / random - 1, self.DESIGNS[name][1])
            for name, labels in found.items()
        )
        return tuple(rows), tuple(left_out)

    def _withins(self, supposed: Assumed, designs: Sequence[DesignRow]) -> tuple[WithinRow, ...]:
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

    def _budgets(self, supposed: Assumed) -> tuple[BudgetRow, ...]:
        if self.goal.budget is None:
            return ()
        # Where a width is wanted, the interval is that of a campaign which has not met it yet.
        to_width = self.goal.within is not None
        goal = self.with_budget(self.goal.budget)
        if to_width:
            goal = replace(self.only(_OUT_OF_REACH), budget=self.goal.budget)
        return tuple(
            BudgetRow(name, self.costs.half_width(supposed, design, goal))
            for name, design in self.WITH_A_BUDGET.items()
            if to_width or design.stop != "budget"  # without one, the default ends as fixed does
        )

    def _most(self, supposed: Assumed) -> int:
        """Return the most labels that any truth takes."""
        goal = self.only(self.goal.within or 1.0)
        trial = supposed.trial(Design(), goal).at_one_half()
        return self.costs.most_labels(trial, Design(), goal)

    def _readings(
        self, suppositions: Sequence[Supposition], designs: Sequence[DesignRow]
    ) -> tuple[Reading, ...]:
        known = {row.design: row.labels for row in designs}
        found = list[Reading]()
        for name, words, supposed in suppositions:
            ours, random = known.get("default"), known.get(RANDOM)
            if found and self.goal.within is not None:
                goal = self.only(self.goal.within)
                ours = self.costs.labels(supposed, self.DESIGNS["default"][0], goal)
                random = self.costs.labels(supposed, self.DESIGNS[RANDOM][0], goal)
            value = cost_of(supposed.trial(Design(), self.goal).value)
            found.append(Reading(name, words, value, ours, random))
        return tuple(found)
