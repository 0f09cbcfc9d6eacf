"""Estimates and items that a campaign hands out."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import Any

from assay.core.deck import Id
from assay.core.targets import is_difference
from assay.results.frames import Backend, frame_of, types_of
from assay.results.html import (
    html_block,
    html_headline,
    html_remarks,
    html_table,
    interval_bar,
    scale_of,
)

_PAIRS = ("worst_case", "like_rest")
_END_COLUMNS = tuple(f"{name}_{end}" for name in _PAIRS for end in ("low", "high"))
_NAMES_AT_MOST = 3  # in front of a note that holds for several metrics, but not for all


@dataclass(frozen=True)
class Item:
    """An item to judge: its id and what the reviewer sees, and nothing that would sway them."""

    id: Id
    shown: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Any:
        """Return what the item shows in a column."""
        return self.shown[column]

    def to_dict(self) -> dict[str, Any]:
        """Return the item as plain values."""
        return {"id": self.id, "shown": dict(self.shown)}


@dataclass(frozen=True)
class StratumRow:
    """One stratum's part in the campaign: its items, and how many of them were judged.

    `weight` is its share of all weight, where items have weights. `rate` is the share of labels
    with the outcome, where items have weights of draws; `low` and `high` are its interval (Wilson),
    for the stratum by itself. They are None where nothing can be said.
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
        """Return the row as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Estimate:
    """A metric with its interval.

    Attributes
    ----------
    metric : str
    value : float or None
        None while there is nothing to rest it on.
    low, high : float
        The interval's ends. Where items that could not be judged could move the value by more than
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
        How the interval was made, with its reference.
    anytime : bool
        Whether the interval is right at every look at once, by a theorem.
    stopped : str or None
        Why the campaign is over; None while it goes on.
    notes : tuple of str
        What else a careful reader should know.
    verdict : bool or None
        Whether the metric is at least what was asked about; None while that is not sure, or was
        not asked.
    within : float or None
        The half-width that was asked for.
    open : int
        Items that were drawn and wait for an answer. The interval takes them at their worst, or is
        that of the complete rounds before them.
    could_move : float
        How far the items that could not be judged could alone move the value.
    holds : str
        When the interval is right.
    random_labels : int or None
        The labels of a simple random sample whose interval, looked at once, would be as narrow, in
        two digits; None where that cannot be said.
    bound : float or None
        Where `verdict` is known, the one-sided bound that decided it: at this confidence the metric
        is at least this or, after a no, below it.
    like_rest : (float, float) or None
        Where the interval is that of `worst_case`: what it would be if the items that could not be
        judged were like the rest of their stratum.
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
        """Whether it is as near as was asked for, whatever could not be judged."""
        within = 1.0 if self.within is None else self.within
        return self.half_width <= within and self.could_move <= within

    @property
    def distance(self) -> float:
        """How far it is from its goal: the half-width in units of the one that was asked for."""
        return self.half_width / (self.within or 1.0)

    @property
    def half_width(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2

    @property
    def half_width_like_rest(self) -> float:
        """Half the interval's width if unjudged items were like the rest: what labels narrow."""
        low, high = self.ends_like_rest
        return (high - low) / 2

    @property
    def ends_like_rest(self) -> tuple[float, float]:
        """The interval's ends if unjudged items were like the rest of their stratum."""
        return self.like_rest or (self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return {**asdict(self), "half_width": self.half_width}

    def __str__(self) -> str:
        return "\n".join([" ".join(self._said), *self._remarks])

    def _repr_html_(self) -> str:
        return html_block(
            html_headline(*self._said),
            self._bar(scale_of(self._reach)),
            html_remarks(self._remarks),
        )

    def _bar(self, scale: tuple[float, float]) -> str:
        return interval_bar(self.low, self.high, self.value, scale=scale, within=self.within)

    @property
    def _name(self) -> str:
        # A classifier's own underscores stay: the name is to be typed.
        return self.metric if ":" in self.metric else self.metric.replace("_", " ")

    @property
    def _said(self) -> tuple[str, str]:
        """What it comes to, in words: the value with its interval, and what belongs to them."""
        value = "not known yet" if self.value is None else f"{self.value:.3f}"
        state = "" if self.stopped is None else f": {self.stopped}"
        waiting = f", {self.open:,} open" if self.open else ""
        return (
            f"{self._name} {value} [{self.low:.3f}, {self.high:.3f}]",
            f"at {100 * self.confidence:g}%, {self.labels:,} labels{waiting}{state}",
        )

    @property
    def _remarks(self) -> list[str]:
        unjudged = [] if self.bound is None else [self.bound_words]
        if self.worst_case is not None:
            unjudged.append(f"{self.cannot_judge:,} could not be judged: {self.unjudged_words}")
        return [*unjudged, *(f"note: {note}" for note in self.notes)]

    @property
    def unjudged_words(self) -> str:
        """What the items that could not be judged do to the interval; empty where there is none."""
        if self.worst_case is None:
            return ""
        if self.like_rest is None:
            low, high = self.worst_case
            return f"between {low:.3f} and {high:.3f} whatever they are"
        low, high = self.like_rest
        return f"the interval includes them; [{low:.3f}, {high:.3f}] if they were like the rest"

    @property
    def bound_words(self) -> str:
        """What decided a yes or no; empty where nothing has."""
        if self.bound is None or self.verdict is None:
            return ""
        side = "at least" if self.verdict else "below"
        sure = f"{100 * self.confidence:g}%"
        return (
            f"decided by the one-sided bound: {side} {self.bound:.3f} at {sure} "
            f"(the interval is two-sided)"
        )

    @property
    def is_difference(self) -> bool:
        """Whether it is of the difference of two classifiers' metrics."""
        return is_difference(self.metric)

    @property
    def _reach(self) -> tuple[float, float]:
        """What a picture of it must have room for: the interval, and the one that is wanted."""
        middle, half = (self.low + self.high) / 2, max(self.half_width, self.within or 0.0)
        least = -1.0 if self.is_difference else 0.0
        return max(middle - half, least), min(middle + half, 1.0)


class Estimates(Mapping[str, Estimate]):
    """What is known of every metric that was asked for, by its name."""

    def __init__(self, each: Mapping[str, Estimate]) -> None:
        self._each = dict(each)

    def __getitem__(self, metric: str) -> Estimate:
        return self._each[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    def to_dict(self) -> dict[str, Any]:
        """Return the estimates as plain values."""
        return {metric: estimate.to_dict() for metric, estimate in self.items()}

    def __str__(self) -> str:
        return "\n".join(map(str, self.values()))

    __repr__ = __str__

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the estimates as a DataFrame, one row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}

        Examples
        --------
        >>> import assay
        >>> campaign = assay.create_campaign(
        ...     {"p": [0.9, 0.8, 0.2]}, score="p", threshold=0.5, budget=2)
        >>> estimate = campaign.tell({item.id: True for item in campaign.ask(2)})
        >>> campaign.estimates().to_frame(backend="polars").select("metric", "value").rows()
        [('precision', 1.0)]
        """
        ends = dict.fromkeys(_END_COLUMNS, float)
        return frame_of(
            [_frame_row(estimate) for estimate in self.values()],
            {**types_of(Estimate), "half_width": float, **ends, "notes": str},
            backend=backend,
        )

    def _repr_html_(self) -> str:
        if len(self) == 1:
            return next(iter(self.values()))._repr_html_()
        # Differences are near 0 and shares often near 1: each kind has a scale of its own.
        reach: dict[bool, list[float]] = {}
        for each in self.values():
            reach.setdefault(each.is_difference, []).extend(each._reach)
        rows = [
            (
                each._name,
                "not known yet" if each.value is None else f"{each.value:.3f}",
                f"[{each.low:.3f}, {each.high:.3f}]",
                f"{each.labels:,}",
                each._bar(scale_of(reach[each.is_difference])),
            )
            for each in self.values()
        ]
        return html_block(
            html_table(("metric", "estimate", "interval", "labels", ""), rows, bar=True),
            html_remarks(f"note: {note}" for note in notes_once(self)),
        )


def notes_once(estimates: Mapping[str, Estimate]) -> list[str]:
    """Return the notes, each once, with the metrics in front that it is about unless it is all.

    >>> def noted(metric, *notes):
    ...     return Estimate(metric, None, 0, 1, 0.95, None, 0, 0, None, "", True, None, notes)
    >>> for note in notes_once({"f1:a": noted("f1:a", "few", "odd"), "f1:b": noted("f1:b", "few")}):
    ...     print(note)
    few
    f1:a: odd
    """
    about: dict[str, list[str]] = {}
    for name, estimate in estimates.items():
        for note in estimate.notes:
            about.setdefault(note, []).append(name)
    return [
        note if len(names) == len(estimates) else f"{_listed(names)}: {note}"
        for note, names in about.items()
    ]


def _listed(names: list[str]) -> str:
    shown, more = names[:_NAMES_AT_MOST], len(names) - _NAMES_AT_MOST
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _frame_row(estimate: Estimate) -> dict[str, Any]:
    pairs = [getattr(estimate, name) or (None, None) for name in _PAIRS]
    ends = dict(zip(_END_COLUMNS, chain.from_iterable(pairs), strict=True))
    return {**estimate.to_dict(), **ends, "notes": "\n".join(estimate.notes)}
