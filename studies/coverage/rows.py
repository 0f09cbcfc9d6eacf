"""A row of the coverage study: what was run, how often it was right, where it leant, its cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from math import sqrt
from typing import Any

import numpy as np

from assay.core.types import Floats, Ints
from assay.simulation import Runs

INTERVAL, WORST_CASE = "interval", "worst case"

_SLACK = 0.005  # below the confidence: the study's own target, 0.945 at 95%
_ERRORS = 2.0  # standard errors


@dataclass(frozen=True)
class Settings:
    """What fixes a cell's numbers; a cell with the same settings need not be run again."""

    part: str
    population: str
    metric: str  # its name, or that of a target of several classifiers
    value: float  # the metric's true value
    items: int
    design: str
    replacement: bool
    delta: float
    confidence: float
    batch: int  # labels between two looks
    # unjudged_yes, unjudged_no: the shares of the positives, and of the negatives, that nobody can
    # judge.
    unjudged_yes: float
    unjudged_no: float
    reading: str  # what is read of all that is stated: the `INTERVAL`, or the `WORST_CASE`
    replications: int
    seed: int


@dataclass(frozen=True)
class Costs:
    """Labels that others take to the same goal."""

    n_w: float  # random sampling when the answer is known: z^2 p (1 - p) / delta^2
    limit_labels: float  # designs by score, at least: the limit's share of n_W
    items: int  # what labels are drawn from

    @property
    def at_random(self) -> float:
        """n_W where sampling is without replacement."""
        return self._finite(self.n_w)

    @property
    def at_least(self) -> float:
        """The limit where sampling is without replacement."""
        return self._finite(self.limit_labels)

    def _finite(self, labels: float) -> float:
        return labels / (1 + labels / self.items)


@dataclass(frozen=True)
class Row(Settings):
    """A cell's settings and what was found."""

    # coverage, coverage_se: the share of runs whose interval holds the truth, and its Monte Carlo
    # error.
    coverage: float
    coverage_se: float
    # within, within_se: the share of runs whose value is within delta of the truth.
    within: float
    within_se: float
    # too_low, too_high: the share of runs whose whole interval lies below the truth, and above it.
    too_low: float
    too_high: float
    # lean, lean_se: how far the value lies above the truth on average, in deltas, and its Monte
    # Carlo error.
    lean: float
    lean_se: float
    lean_middle: float  # the same of the middle of the interval
    # labels, labels_se: labels at the stop: their mean, and its Monte Carlo error.
    labels: float
    labels_se: float
    n_w: float | None
    limit_labels: float | None
    # Labels that random sampling takes with the same interval; None where it was not run.
    random_labels: float | None

    @property
    def settings(self) -> Settings:
        """What was run."""
        return Settings(**{each.name: getattr(self, each.name) for each in fields(Settings)})

    @property
    def target(self) -> float:
        """The least share of runs that must be right."""
        return self.confidence - _SLACK

    @property
    def right(self) -> float:
        """The share of runs in which the design's own promise held."""
        return self.within if self.design == "centred" else self.coverage

    @property
    def right_se(self) -> float:
        """The Monte Carlo error of that share."""
        return self.within_se if self.design == "centred" else self.coverage_se

    @property
    def fails(self) -> bool:
        """Whether it is right too seldom, by more than chance explains: share + 2 se < target."""
        return self.promised and self.right + _ERRORS * self.right_se < self.target

    @property
    def promised(self) -> bool:
        """Whether anything is promised: with items that nobody can judge, the worst case alone."""
        return self.reading == WORST_CASE or self.unjudged_yes == self.unjudged_no == 0

    @property
    def kind(self) -> str:
        """The metric, whoever's it is: ``recall``, or ``recall difference``."""
        first, _, other = self.metric.partition(" - ")
        return first.partition(":")[0] + (" difference" if other else "")

    @property
    def against_n_w(self) -> float | None:
        """Labels over n_W."""
        return self._over(self.n_w)

    @property
    def against_limit(self) -> float | None:
        """Labels over the limit."""
        return self._over(self.limit_labels)

    @property
    def against_random(self) -> float | None:
        """Labels over those of random sampling with the same interval."""
        return self._over(self.random_labels)

    def _over(self, others: float | None) -> float | None:
        return None if others is None else self.labels / others

    @classmethod
    def from_texts(cls, texts: Mapping[str, str]) -> "Row":
        """Return the row that was written as text.

        Raises KeyError, ValueError: the texts are not those of a row.
        """
        return cls(**{each.name: _READ[each.type](texts[each.name]) for each in fields(cls)})


# How a column of each type is read again.
_READ: dict[Any, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    float | None: lambda text: float(text) if text else None,
    bool: {"True": True, "False": False}.__getitem__,
}


def measured(
    rows: Sequence[Settings],  # one a target
    runs: Runs,
    # costs, random_labels: what others take to the same goal, where that is known.
    costs: Costs | None = None,
    random_labels: float | None = None,
) -> list[Row]:
    """Return a cell's rows from its runs."""
    value, low, high = runs.value.T, runs.low.T, runs.high.T
    return [
        Row(
            **asdict(wanted),
            **_shares(wanted, value[place], low[place], high[place]),
            labels=float(runs.labels.mean()),
            labels_se=_mean_error(runs.labels),
            n_w=None if costs is None else costs.n_w,
            limit_labels=None if costs is None else costs.limit_labels,
            random_labels=random_labels,
        )
        for place, wanted in enumerate(rows)
    ]


def _shares(wanted: Settings, value: Floats, low: Floats, high: Floats) -> dict[str, Any]:
    """Return how often one reading was right, and how far it leant."""
    truth, delta, number = wanted.value, wanted.delta, value.size
    covered = (low <= truth) & (truth <= high)
    near = np.abs(value - truth) <= delta
    lean = (value - truth) / delta
    return {
        "coverage": float(covered.mean()),
        "coverage_se": share_error(int(covered.sum()), number),
        "within": float(near.mean()),
        "within_se": share_error(int(near.sum()), number),
        "too_low": float((high < truth).mean()),
        "too_high": float((low > truth).mean()),
        "lean": float(lean.mean()),
        "lean_se": _mean_error(lean),
        "lean_middle": float(((low + high) / 2 - truth).mean() / delta),
    }


def _mean_error(values: Floats | Ints) -> float:
    return float(values.std() / sqrt(max(values.size - 1, 1)))


def share_error(count: int, number: int) -> float:
    """Return the standard error of a share; two more of either outcome keep it above 0 at 1.

    Examples
    --------
    >>> round(share_error(3800, 4000), 4), round(share_error(4000, 4000), 4)
    (0.0035, 0.0004)
    """
    share = (count + 2) / (number + 4)
    return sqrt(share * (1 - share) / number)
