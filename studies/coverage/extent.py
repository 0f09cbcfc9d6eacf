"""Extent of the coverage study: its parts, how much of each is run, and what is left out."""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from assay.errors import InputError
from studies.coverage.cells import Single, Subject, needed
from studies.coverage.populations import classifiers
from studies.coverage.rows import INTERVAL, Settings
from studies.data import NamedPopulation

_MOST_SHARE = 0.95  # of the items, by the limit; more is a census
_PLENTY = 10_000  # labels by the limit; designs by score take up to three times as many
_SOME = 2_000  # the same, in parts where a cell stands for others


class Part(StrEnum):
    """The parts of the study, in the order in which they are run."""

    GRID = "grid"
    SIZES = "sizes"
    CONFIDENCES = "confidences"
    BATCHES = "batches"
    MODES = "modes"
    REAL = "real"
    REPLACEMENT = "replacement"
    WIDE = "wide"
    RARE = "rare"
    SMALL = "small"
    TWO_SIDED = "two-sided"
    DIFFERENCES = "differences"
    JOINT = "joint"
    UNJUDGED = "unjudged"
    HELD_OUT = "held-out"


@dataclass(frozen=True)
class Extent:
    """How much is run."""

    # precisions, deltas: the grid.
    precisions: tuple[float, ...]
    deltas: tuple[float, ...]
    # The cells of the grid that stand for it where it would take too long.
    some: tuple[tuple[float, float], ...]
    replications: int
    worst: int  # cells of the grid that are run again with other sizes and batches
    goals: tuple[float, ...]  # deltas for every metric of the classifiers of a folder
    # wide_goals, rare_goals, replacement_goals, difference_goals, joint_goals: deltas of these
    # parts.
    wide_goals: tuple[float, ...]
    rare_goals: tuple[float, ...]
    replacement_goals: tuple[float, ...]
    difference_goals: tuple[float, ...]
    joint_goals: tuple[float, ...]
    confidences: tuple[float, ...]
    batches: tuple[int, ...]
    small_items: tuple[int, ...]
    small_shares: tuple[float, ...]  # of the items, which random sampling would label
    # Shares of the positives, or of the negatives, that nobody can judge.
    unjudged: tuple[float, ...]
    # two_sided, held_out: random populations.
    two_sided: int
    held_out: int


FULL = Extent(
    precisions=(0.5, 0.7, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999),
    deltas=(0.005, 0.01, 0.02, 0.03, 0.05),
    some=(
        (0.7, 0.02),
        (0.9, 0.01),
        (0.9, 0.03),
        (0.95, 0.01),
        (0.97, 0.01),
        (0.97, 0.02),
        (0.99, 0.01),
    ),
    replications=4000,
    worst=30,
    goals=(0.01, 0.02, 0.03, 0.05, 0.1),
    wide_goals=(0.15, 0.2, 0.3),
    rare_goals=(0.04, 0.07, 0.12),  # other goals than those of the same classifiers in `real`
    replacement_goals=(0.01, 0.02, 0.03),
    difference_goals=(0.01, 0.02),
    joint_goals=(0.05, 0.1, 0.15),
    confidences=(0.8, 0.9, 0.99),
    batches=(1, 5, 100, 500),
    small_items=(480, 1000, 2000, 5000),
    small_shares=(0.2, 0.35, 0.5, 0.65, 0.8, 0.95),
    unjudged=(0.1, 0.3, 0.6, 1.0),
    two_sided=48,
    held_out=48,
)
QUICK = Extent(
    precisions=(0.7, 0.9, 0.95, 0.97, 0.99),
    deltas=(0.01, 0.03),
    some=((0.9, 0.03), (0.97, 0.02)),
    replications=400,
    worst=3,
    goals=(0.05,),
    wide_goals=(0.2,),
    rare_goals=(0.12,),
    replacement_goals=(0.03,),
    difference_goals=(0.02,),
    joint_goals=(0.15,),
    confidences=(0.8, 0.9, 0.99),
    batches=(5, 100),
    small_items=(480,),
    small_shares=(0.35, 0.8),
    unjudged=(0.3, 1.0),
    two_sided=4,
    held_out=6,
)


@dataclass(frozen=True)
class LeftOut:
    """A cell that is not run, and why."""

    part: str
    population: str
    metric: str
    delta: float
    why: str


@dataclass(frozen=True)
class Scope:
    """What is studied: a design, on how much, with what randomness."""

    design: str
    extent: Extent
    # The real classifiers' folder; without it the parts about classifiers are run on generated
    # ones.
    data: Path | None
    # Fixes all numbers, and the random populations. What was looked at while a design was made must
    # not be what is reported: another seed makes others.
    seed: int
    only: str = ""  # only classifiers of the folder whose names hold this text

    @cached_property
    def classifiers(self) -> list[NamedPopulation]:
        """The real classifiers, or the generated ones that stand in for them."""
        every = classifiers(self.data)
        found = [each for each in every if self.only in each.name]
        if not found:
            raise InputError(
                f"no classifier has {self.only!r} in its name",
                details=f"classifiers: {', '.join(each.name for each in every)}",
            )
        return found

    @property
    def one_of_each_file(self) -> list[NamedPopulation]:
        """The first classifier of each file, to stand for all."""
        return list({each.name.split()[0]: each for each in reversed(self.classifiers)}.values())

    def cell(self, part: Part, subject: Subject, delta: float, **changes: Any) -> Single:
        """Return a cell of one metric, as a campaign by default would run it but for `changes`."""
        settings = self.settings(
            part,
            population=subject.name,
            metric=subject.metric,
            value=subject.value,
            items=subject.items,
            delta=delta,
        )
        return Single(replace(settings, **changes), subject)

    def settings(
        self, part: Part, *, population: str, metric: str, value: float, items: int, delta: float
    ) -> Settings:
        """Return settings as a campaign by default has them."""
        return Settings(
            part=part.value,
            population=population,
            metric=metric,
            value=value,
            items=items,
            design=self.design,
            replacement=False,
            delta=delta,
            confidence=0.95,
            batch=20,
            unjudged_yes=0.0,
            unjudged_no=0.0,
            reading=INTERVAL,
            replications=self.extent.replications,
            seed=self.seed,
        )

    def cell_or_why_not(
        self, part: Part, subject: Subject, delta: float, *, most: int = _PLENTY, **changes: Any
    ) -> Single | LeftOut:
        """Return a cell, or why it is left out: `most` are labels by the limit."""
        why = why_not(subject, delta, most)
        if why is None:
            return self.cell(part, subject, delta, **changes)
        return LeftOut(part.value, subject.name, subject.metric, delta, why)

    def some(self, part: Part, subject: Subject, delta: float, **changes: Any) -> Single | LeftOut:
        """Return a cell that stands for others, and must not take long."""
        return self.cell_or_why_not(part, subject, delta, most=_SOME, **changes)


def why_not(subject: Subject, delta: float, most: int) -> str | None:
    """Return why a goal is not run, or None.

    Examples
    --------
    >>> from studies.coverage.populations import of_shape
    >>> small = of_shape("no signal", 0.9, 500)
    >>> for delta in (0.1, 0.03, 0.004):
    ...     print(why_not(small, delta, most=10_000))
    the goal reaches as far as 0 or 1
    None
    designs by score take more than 95% of the items
    >>> why_not(of_shape("no signal", 0.9), 0.004, most=10_000)
    'designs by score take more than 10,000 labels'
    """
    slack = 1e-9  # 1 - 0.9 is not quite 0.1
    if delta >= min(subject.value, 1 - subject.value) - slack:
        return "the goal reaches as far as 0 or 1"
    costs = needed(subject, delta)
    if costs.at_least > _MOST_SHARE * costs.items:
        return f"designs by score take more than {_MOST_SHARE:.0%} of the items"
    if costs.at_least > most:
        return f"designs by score take more than {most:,} labels"
    return None
