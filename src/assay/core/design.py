"""Design: how to sample, and the goals it can serve. Frozen, checked once, stored as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Any, Literal, Self, get_args

from assay.core.betting import grid
from assay.core.cut_methods import canonical_method
from assay.core.cuts import VARIABLES, Variable
from assay.core.estimate import ESTIMATORS, Estimator
from assay.core.goal import Goal
from assay.core.intervals import INTERVALS
from assay.core.metrics import METRICS
from assay.core.types import between, known_names, one_of, parse, percent, whole
from assay.errors import DesignError

Allocation = Literal[
    "explore", "chance", "uni", "pps", "opt", "pro", "equ", "opt-a1", "opt-a2",
    "recycle-shuffle", "recycle-sample",
]  # fmt: skip
ALLOCATIONS: tuple[str, ...] = get_args(Allocation)
Stop = Literal["width", "centred", "budget"]
STOPS: tuple[str, ...] = get_args(Stop)

_PAPER_3 = ("assume", "parent")
LABELS_A_STRATUM = 12  # at the worst rate, for as many strata as a goal can carry


@dataclass(frozen=True)
class Design:
    """How to sample: strata, allocation, estimator, interval and rounds, bound together.

    Parameters
    ----------
    strata : str
        How scores are cut: ``perc``, ``equal``, ``sqrt``, ``cbrt``, ``wtmn``, ``km``, ``gmm``
        (and paper 2's ``eqsz`` = perc, ``eqwd`` = equal); ours are ``depth``, strata that widen
        away from the threshold, and ``auto``: ``perc`` for a metric of one predicted label,
        ``depth`` for one of both.
    bins : int
        Strata to make out of each predicted label's scores, 1 to 1000; with ``auto``, of both
        together.
    variable : {"score", "confidence"}
        What is cut: the score (paper 1), or how sure the classifier was (paper 2). With accuracy,
        ``confidence`` puts both predicted labels into the same strata.
    allocation : str
        ``explore``, ours: where the errors are, and never quite nowhere else; ``chance``, the same
        drawn at random, for the ``betting`` interval. Paper 1: ``uni``, ``pps``, ``opt`` (drawn at
        random). Paper 2: ``pro``, ``equ``, ``opt-a1``, ``opt-a2``. Paper 3, for several:
        ``recycle-shuffle``, ``recycle-sample``.
    estimator : {"smoothed", "unbiased"}
        Paper 1's m-estimate, or paper 2's Eqs. 4 and 6.
    interval : {"stratified", "betting", "wilson", "normal", "jeffreys"}
        How the interval is made. ``stratified`` is made to be right at the look that stops it, by
        simulation; ``betting`` is right at every look, by a theorem; the others are right for one
        look at a number of labels fixed before.
    replacement : bool
        Leave out the finite population correction, as both papers do. A campaign never asks for
        an item twice either way.
    first_per_stratum : int, optional
        Labels a stratum in the first round (paper 1's D_0 is this times the strata; paper 2's
        n_ini). None: as many in all as are asked for.
    round_size : int, optional
        Labels in each later round (paper 1's D, paper 2's n_step). None: as many as are asked for.
    rounds_in_a_row : int
        Rounds in a row that must meet the goal (paper 1's T).
    stop : {"width", "centred", "budget"}
        What the ``stratified`` interval is made for: to stop when it is narrow enough; when both
        its ends are near enough to the estimate; or at a budget alone, after one look.
    assume : float, optional
        Paper 3: what every precision is taken to be at least, which decides its sizes; else 0.5.
    parent : str, optional
        Paper 3: the classifier whose labels are used again for the others. Otherwise that whose
        yes-set has most in common with theirs.

    Examples
    --------
    >>> Design.bennett_carvalho(bins=4).round_size
    8
    >>> Design.from_dict(Design().to_dict()) == Design()
    True
    """

    strata: str = "auto"
    bins: int = 16
    variable: Variable = "score"
    allocation: Allocation = "explore"
    estimator: Estimator = "unbiased"
    interval: str = "stratified"
    replacement: bool = False
    first_per_stratum: int | None = None
    round_size: int | None = None
    rounds_in_a_row: int = 1
    stop: Stop = "width"
    assume: float | None = None
    parent: str | None = None

    def __post_init__(self) -> None:
        set_ = partial(object.__setattr__, self)
        set_("strata", canonical_method(self.strata))
        set_("bins", whole("bins", self.bins, 1, 1000))
        one_of("variable", self.variable, VARIABLES)
        one_of("allocation", self.allocation, ALLOCATIONS)
        one_of("estimator", self.estimator, ESTIMATORS)
        one_of("interval", self.interval, tuple(INTERVALS))
        one_of("stop", self.stop, STOPS)
        if not isinstance(self.replacement, bool):
            raise DesignError(f"replacement must be True or False, got {self.replacement!r}")
        for name in ("first_per_stratum", "round_size"):
            if getattr(self, name) is not None:
                set_(name, whole(name, getattr(self, name), 1))
        set_("rounds_in_a_row", whole("rounds_in_a_row", self.rounds_in_a_row, 1))
        if self.assume is not None:
            hint = "0.9 says that every precision is at least 0.9"
            between("assume", self.assume, 0.0, 1.0, hint=hint)
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        for name in ("assume", "parent"):
            if getattr(self, name) is not None and not self.recycles:
                raise DesignError(
                    f"{name}={getattr(self, name)!r} is paper 3's, and this design is not",
                    hint=f"leave out {name}=, or use Design.recycle()",
                )
        if self.allocation.startswith("opt-a") and self.first_per_stratum is None:
            raise DesignError(
                f"allocation {self.allocation!r} estimates the strata's spread from a first round",
                hint="give first_per_stratum (paper 2 uses 5 or 10)",
            )
        if (self.interval == "betting") != (self.allocation == "chance"):
            raise DesignError(
                f"interval {self.interval!r} cannot be combined with allocation "
                f"{self.allocation!r}",
                details="bets are on strata drawn with known chances: 'betting' needs 'chance'",
                hint="Design.guaranteed() has both",
            )
        if self.bets and (self.replacement or self.first_per_stratum or self.stop != "width"):
            raise DesignError(
                "the betting interval counts the cards that are left, and bets on every one",
                details="it needs draws without replacement, the stop rule 'width' and no "
                "first_per_stratum",
            )

    @property
    def bets(self) -> bool:
        """Whether its interval comes from bets on every card."""
        return self.interval == "betting"

    @property
    def recycles(self) -> bool:
        """Whether labels of one classifier are reused for others, as in paper 3."""
        return self.allocation.startswith("recycle")

    @property
    def anytime(self) -> bool:
        """Whether its interval is valid at every look simultaneously, by a theorem."""
        return INTERVALS[self.interval].anytime

    @property
    def may_stop(self) -> bool:
        """Whether its interval is calibrated for stopping at the first narrow look."""
        return INTERVALS[self.interval].may_stop and self.stop != "budget"

    @property
    def holds(self) -> str:
        """When its interval is valid, as text.

        Examples
        --------
        >>> Design().holds
        'covers when the campaign stops (by simulation); before that it may miss more'
        """
        if self.anytime:
            return "right at every look (a theorem), for items that can be judged"
        if self.may_stop:
            return "covers when the campaign stops (by simulation); before that it may miss more"
        return "for a single look"

    @classmethod
    def centred(cls) -> Self:
        """Estimate ± `within` is itself valid, by simulation; the interval is symmetric.

        It stops when both ends of the interval are near enough, which takes somewhat more labels
        than ``Design()``.
        """
        return cls(stop="centred")

    @classmethod
    def guaranteed(cls) -> Self:
        """Its interval is valid at every look simultaneously, by a theorem, for any population.

        Strata are drawn at random with known probabilities, and the interval has the values against
        which no bettor could grow rich. This is for judgeable items. The others are also bet on at
        their worst, for the worst case and for a yes or no.
        """
        return cls(strata="perc", bins=8, allocation="chance", interval="betting")

    @classmethod
    def ladder(cls) -> Self:
        """For the question which threshold keeps a floor: strata are steps down the scores.

        The certified threshold is correct by a theorem, at every look (`core.ladder`).
        """
        return cls(strata="ladder", bins=200, allocation="chance", interval="betting")

    @classmethod
    def fixed(cls) -> Self:
        """One look, at the end of a budget: the narrowest interval, invalid with peeking."""
        return cls(stop="budget")

    @property
    def beside(self) -> Self:
        """The design for a metric that the labels were not allocated for."""
        return replace(self, allocation="pro") if self.allocation == "explore" else self

    @classmethod
    def bennett_carvalho(
        cls, *, strata: str = "perc", allocation: Allocation = "opt", bins: int = 4
    ) -> Self:
        """Paper 1 as published: Figure 1 with two labels per bin and round, and T = 2.

        ``bins=1`` is the paper's baseline "Random".
        """
        whole("bins", bins, 1, 1000)
        one_of("allocation", allocation, ("uni", "pps", "opt"))
        return cls(
            strata=strata,
            bins=bins,
            allocation=allocation,
            estimator="smoothed",
            interval="normal",
            replacement=True,
            first_per_stratum=2,
            round_size=2 * bins,
            rounds_in_a_row=2,
        )

    @classmethod
    def kumar_raj(
        cls,
        *,
        strata: str = "eqsz",
        allocation: Allocation = "opt-a2",
        bins: int = 6,
        first_per_stratum: int = 5,
        round_size: int = 10,
    ) -> Self:
        """Paper 2 as published: a budget, strata by confidence, unbiased estimates.

        The paper gives no interval; Wilson's on the effective sample size is reported.

        Parameters
        ----------
        strata : str
            How scores are cut (section 3.5).
        allocation : str
            How labels are shared out (section 3.3, Algorithms 1 and 2).
        bins : int
            The number of strata.
        first_per_stratum, round_size : int
            Labels of each stratum in the first round, and labels of every later round.
        """
        one_of("allocation", allocation, ("pro", "equ", "opt-a1", "opt-a2"))
        adaptive = allocation.startswith("opt-a")
        return cls(
            strata=strata,
            bins=bins,
            variable="confidence",
            allocation=allocation,
            estimator="unbiased",
            interval="wilson",
            replacement=True,
            first_per_stratum=first_per_stratum if adaptive else None,
            round_size=round_size if allocation == "opt-a2" else None,
        )

    @classmethod
    def recycle(
        cls,
        *,
        option: Literal["shuffle", "sample"] = "shuffle",
        assume: float | None = None,
        parent: str | None = None,
    ) -> Self:
        """Paper 3 as published: the labels of one classifier's sample, used again for others.

        The paper gives sizes and no interval; the normal one is reported.

        Parameters
        ----------
        option : {"shuffle", "sample"}
            How a sample mixes what it uses again with what it adds (Algorithm 2). With ``sample``
            items are drawn twice over, and the interval is wider.
        assume : float, optional
            What every precision is taken to be at least (section 3.2); otherwise 0.5, the worst.
        parent : str, optional
            The classifier that is sampled first.

        Examples
        --------
        >>> Design.recycle(option="sample", assume=0.9).allocation
        'recycle-sample'
        """
        one_of("option", option, ("shuffle", "sample"))
        allocation: Allocation = "recycle-sample" if option == "sample" else "recycle-shuffle"
        return cls(
            strata="perc",
            bins=1,
            allocation=allocation,
            interval="normal",
            replacement=True,
            assume=assume,
            parent=parent,
        )

    @classmethod
    def simple_random(cls) -> Self:
        """Label items at random, for any score: the most common practice today."""
        return cls(
            strata="perc",
            bins=1,
            variable="confidence",  # so that accuracy, too, is drawn from one heap
            allocation="pps",
        )

    def to_dict(self) -> dict[str, Any]:
        """Design as plain values; paper 3's fields are left out of other designs."""
        values = asdict(self)
        return {k: v for k, v in values.items() if v is not None or k not in _PAPER_3}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Design from the result of `to_dict`."""
        return cls(**known_names(cls.__name__, values, tuple(each.name for each in fields(cls))))

    def to_json(self) -> str:
        """Design as JSON text."""
        return json.dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Design from the result of `to_json`."""
        return cls.from_dict(parse("design", text))


MODES: dict[str, Design] = {
    "default": Design(),
    "centred": Design.centred(),
    "guaranteed": Design.guaranteed(),
    "fixed": Design.fixed(),
}


def default_design(goal: Goal) -> Design:
    """Default design for a goal.

    >>> default_design(Goal("precision", at_least=0.95)) == Design.guaranteed()
    True
    """
    if goal.threshold_for is not None:
        return Design.ladder()
    return Design() if goal.at_least is None else Design.guaranteed()


def fitted(design: Design, goal: Goal) -> Design:
    """Design with as many strata as the goal's number of labels supports.

    Where ``auto`` cuts and half the width is to be `within`, a metric with a known denominator
    takes at most z^2 / (4 within^2) labels at random; a stratum should have twelve of these. With
    fewer the interval is too narrow: the spreads of its strata are poorly estimated. Up to ±0.08
    that leaves all sixteen.

    >>> [fitted(Design(), Goal("accuracy", within=within)).bins for within in (0.05, 0.1, 0.2)]
    [16, 8, 4]
    """
    if design.strata != "auto" or goal.within is None or METRICS[goal.metric].bends:
        return design
    labels = replace(goal, budget=None).worst_case
    return replace(design, bins=min(design.bins, max(labels // LABELS_A_STRATUM, 4)))


def ends_with_budget(design: Design, goal: Goal) -> bool:
    """Whether only the budget ends an evaluation whose interval is made to stop early.

    At the end of the budget its interval is that of `Design.fixed`, for one look. An evaluation
    that stops before needs the wider interval.

    >>> [ends_with_budget(Design(), Goal("recall", w, budget=500)) for w in (None, 0.05)]
    [True, False]
    """
    early = design.interval == "stratified" and design.stop == "width"
    if not early or goal.budget is None or goal.at_least is not None:
        return False
    return all(target.within is None for target in goal.targets)


def holds(design: Design, goal: Goal, *, spent: bool) -> str:
    """When the interval shown is valid, as text.

    >>> [holds(Design(), Goal("recall", budget=500), spent=spent) for spent in (False, True)]
    ['95% if you stop now; at the budget of 500 it is narrower', '95% at the budget of 500']
    """
    if not ends_with_budget(design, goal):
        return design.holds
    sure, budget = percent(goal.confidence), f"at the budget of {goal.budget:,}"
    return f"{sure} {budget}" if spent else f"{sure} if you stop now; {budget} it is narrower"


def price_of_peeking(design: Design, goal: Goal) -> str:
    """Warning if the goal looks more often than the design's interval allows, else "".

    >>> price_of_peeking(Design(), Goal("precision", within=0.02))
    ''
    """
    if goal.within is None or design.may_stop:
        return ""
    return (
        f"the {design.interval} interval is right for one look, and within={goal.within:g} stops "
        "at the first narrow one: paper 1's rule was right in 69% instead of 95% of runs at "
        "precision 0.97, delta 0.01 (docs/certainty.md); Design() is made for such a "
        "stop; a budget without `within` looks once"
    )


def check_together(design: Design, goal: Goal, n_strata: int) -> None:
    """Raise if the design cannot serve the goal on this many strata."""
    if (goal.threshold_for is not None) != (design.strata == "ladder"):
        raise DesignError(
            f"strata={design.strata!r} and threshold_for={goal.threshold_for!r} cannot be combined",
            details="thresholds are certified on a ladder of strata, and nothing else is asked of "
            "one",
            hint="leave the design out: Design.ladder() is the default for a threshold",
        )
    if design.bets:
        _check_bets(goal)
    elif goal.at_least is not None:
        raise DesignError(
            f"at_least={goal.at_least:g} is decided by bets, and this design makes none",
            details=f"its allocation is {design.allocation!r}, its interval {design.interval!r}",
            hint="leave the design out, or use Design.guaranteed()",
        )
    if goal.within is not None and design.stop == "budget":
        raise DesignError(
            f"a fixed design looks once, at the end of its budget; within={goal.within:g} would "
            "have it look again and again",
            details="its interval then covers too rarely",
            hint=f"give budget={goal.worst_case} instead, which is enough for ±{goal.within:g} "
            "at any rate, or use Design()",
        )
    if goal.budget is None and design.allocation == "opt-a1":
        raise DesignError(
            "allocation 'opt-a1' shares out a fixed budget in one step, and no budget was given",
            hint="give a budget, or use allocation='opt-a2'",
        )
    if goal.budget is not None and design.allocation.startswith("opt-a"):
        first = (design.first_per_stratum or 0) * n_strata
        if goal.budget < first:
            raise DesignError(
                f"a budget of {goal.budget} does not cover the first round",
                details=f"{n_strata} strata with {design.first_per_stratum} labels each: {first}",
                hint=f"use a budget of at least {first}, fewer bins, or a smaller first round",
            )


def _check_bets(goal: Goal) -> None:
    """Raise if a betting design cannot serve the goal."""
    if goal.sample_of is not None:
        raise DesignError(
            f"sample_of={goal.sample_of} cannot be combined with bets",
            details="their theorem is about the items that are there, not about those they were "
            "drawn from",
            hint="leave the design out, or sample_of=",
        )
    grid(goal.within, goal.at_least)  # raises where it would be too fine
    if METRICS[goal.metric].power is not None:
        asked = "" if goal.at_least is None else f", and at_least={goal.at_least:g} is one"
        raise DesignError(
            f"no bet can be made on {goal.metric.replace('_', ' ')}{asked}",
            details="a bet is fair where each card pays its part of the metric, and this is no "
            "ratio of two sums over items: what a card is worth depends on all others",
            hint="use Design() with within=..., or bet on recall and specificity one by one",
        )
