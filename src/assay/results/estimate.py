"""Estimate of a metric, and the items and strata of a campaign."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.core.deck import Id
from assay.core.targets import is_difference
from assay.core.types import percent
from assay.errors import counted
from assay.results.document import Document, Headline, Interval, Lines, Notes, scale_of
from assay.results.result import Shown


@dataclass(frozen=True)
class Item:
    """Item to judge: its id and what the reviewer sees, and nothing that would sway them."""

    id: Id
    shown: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Any:
        """Value of the item in a column."""
        return self.shown[column]

    def to_dict(self) -> dict[str, Any]:
        """Item as plain values."""
        return {"id": self.id, "shown": dict(self.shown)}


@dataclass(frozen=True)
class StratumRow:
    """Stratum of a campaign: its items, and how many of them were judged.

    `weight`: its share of all weight, if items have weights; `rate`: share of labels with the
    outcome, if items have weights of draws; `low`, `high`: its interval (Wilson), for the stratum
    by itself. They are None if unknown.
    """

    stratum: str
    size: int
    labels: int
    positives: int
    cannot_judge: int
    weight: float | None = None
    rate: float | None = None
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Row as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Estimate(Shown):
    """A metric with its interval.

    Attributes
    ----------
    metric : str
    value : float or None
        None before any label determines it.
    low, high : float
        The interval's ends. If items that could not be judged could move the value by more than
        `within` (without one, by more than half the width), they are those of `worst_case`.
    confidence : float
    standard_error : float or None
    labels : int
        Items with a yes or no.
    cannot_judge : int
        Items that were looked at and could not be judged.
    worst_case : (float, float) or None
        The interval's low end if all items that could not be judged, or wait for an answer, were
        against the metric, and its high end if all were for it.
    interval : str
        Method of the interval, with its reference.
    anytime : bool
        Whether the interval holds at all looks at once, by a theorem.
    stopped : str or None
        Reason why the campaign is over; None while it goes on.
    notes : tuple of str
        Further cautions.
    verdict : bool or None
        Whether the metric is at least the limit in question; None if undecided, or without a limit.
    within : float or None
        Requested half-width.
    open : int
        Drawn items that wait for an answer. The interval takes them at their worst, or is that of
        the complete rounds before them.
    could_move : float
        How far the items that could not be judged could alone move the value.
    holds : str
        When the interval is right.
    random_labels : int or None
        Size of a simple random sample whose interval, looked at once, would be as narrow, in two
        digits; None if unknown.
    bound : float or None
        One-sided bound that decided `verdict`, if it is known: at this confidence the metric is at
        least this or, after a no, below it.
    like_rest : (float, float) or None
        If the interval is that of `worst_case`: the interval if the items that could not be judged
        were like the rest of their stratum.
    """

    metric: str
    value: float | None
    low: float
    high: float
    confidence: float
    standard_error: float | None
    labels: int
    cannot_judge: int
    worst_case: tuple[float, float] | None
    interval: str
    anytime: bool
    stopped: str | None
    notes: tuple[str, ...] = ()
    verdict: bool | None = None
    within: float | None = None
    open: int = 0
    could_move: float = 0.0
    holds: str = ""
    random_labels: int | None = None
    bound: float | None = None
    like_rest: tuple[float, float] | None = None

    @property
    def is_near(self) -> bool:
        """Whether it has the requested half-width, even at the worst of unjudged items."""
        within = 1.0 if self.within is None else self.within
        return self.half_width <= within and self.could_move <= within

    @property
    def distance(self) -> float:
        """Half-width in units of the requested one."""
        return self.half_width / (self.within or 1.0)

    @property
    def half_width(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2

    @property
    def half_width_like_rest(self) -> float:
        """Half-width if unjudged items were like the rest: what labels narrow."""
        low, high = self.ends_like_rest
        return (high - low) / 2

    @property
    def ends_like_rest(self) -> tuple[float, float]:
        """Interval's ends if unjudged items were like the rest of their stratum."""
        return self.like_rest or (self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Estimate as plain values."""
        return {**asdict(self), "half_width": self.half_width}

    def document(self) -> Document:
        """Value with its interval, and notes."""
        waiting = f", {self.open:,} open" if self.open else ""
        state = "" if self.stopped is None else f": {self.stopped}"
        low, high = ends_text(self)
        unjudged = [] if self.bound is None else [self.bound_words]
        if self.worst_case is not None:
            unjudged.append(f"{self.cannot_judge:,} could not be judged: {self.unjudged_words}")
        headline = Headline(
            f"{self.name} {value_text(self)} [{low}, {high}]",
            f"at {percent(self.confidence)}, {counted(self.labels, 'label')}{waiting}{state}",
        )
        drawn = self.drawn(scale_of(self.reach))
        return Document.of(self.name, headline, drawn, Lines(tuple(unjudged)), Notes(self.notes))

    def drawn(self, scale: tuple[float, float]) -> Interval:
        """Interval on a scale, with the requested half-width."""
        return Interval(self.low, self.high, self.value, scale, self.within)

    @property
    def name(self) -> str:
        """Name of the metric, for people."""
        return metric_name(self.metric)

    @property
    def unjudged_words(self) -> str:
        """Effect of unjudged items on the interval; empty if there is none."""
        if self.worst_case is None:
            return ""
        if self.like_rest is None:
            low, high = self.worst_case
            return f"between {low:.3f} and {high:.3f} in the worst case"
        low, high = self.like_rest
        return f"the interval allows for them; [{low:.3f}, {high:.3f}] if they are like the rest"

    @property
    def bound_words(self) -> str:
        """Bound that decided a yes or no; empty if undecided."""
        if self.bound is None or self.verdict is None:
            return ""
        side = "at least" if self.verdict else "below"
        sure = percent(self.confidence)
        return (
            f"decided by the one-sided bound: {side} {self.bound:.3f} at {sure} (the interval "
            "shown is two-sided)"
        )

    @property
    def is_difference(self) -> bool:
        """Whether it is a difference of two classifiers' metrics."""
        return is_difference(self.metric)

    @property
    def reach(self) -> tuple[float, float]:
        """Range that a picture must show: the interval, and the requested one."""
        middle, half = (self.low + self.high) / 2, max(self.half_width, self.within or 0.0)
        least = -1.0 if self.is_difference else 0.0
        return max(middle - half, least), min(middle + half, 1.0)


def metric_name(metric: str) -> str:
    """Name of a metric for people: ``false omission rate``.

    If it names a classifier, it stays as typed.
    """
    return metric if ":" in metric else metric.replace("_", " ")


def value_text(estimate: Estimate) -> str:
    """Estimate in three digits, a difference with its sign.

    >>> same = dict(confidence=0.95, standard_error=None, labels=9, cannot_judge=0, worst_case=None,
    ...             interval="", anytime=True, stopped=None)
    >>> value_text(Estimate("f1:new - f1:old", 0.02, -0.01, 0.05, **same))
    '+0.020'
    """
    if estimate.value is None:
        return "unknown"
    return _digits(estimate.value, signed=estimate.is_difference)


def ends_text(estimate: Estimate) -> tuple[str, str]:
    """Write the ends of the interval in three digits, those of a difference with signs."""
    signed = estimate.is_difference
    return _digits(estimate.low, signed=signed), _digits(estimate.high, signed=signed)


def _digits(value: float, *, signed: bool) -> str:
    return f"{value:+.3f}" if signed else f"{value:.3f}"
