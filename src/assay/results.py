"""What a campaign hands out: items to judge, and an estimate that says what it rests on."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from assay.core.deck import Id

__all__ = ["Estimate", "Estimates", "Item", "StratumRow"]


@dataclass(frozen=True)
class Item:
    """An item to judge: its id and what the reviewer sees, and nothing that would sway them."""

    id: Id
    shown: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Any:
        """Return what the item shows in a column."""
        return self.shown[column]


@dataclass(frozen=True)
class StratumRow:
    """One stratum's part in the campaign."""

    stratum: str
    size: int
    labels: int
    positives: int
    cannot_judge: int


@dataclass(frozen=True)
class Estimate:
    """A metric with its interval.

    Attributes
    ----------
    metric : str
    value : float or None
        None while there is nothing to rest it on.
    low, high : float
        The interval's ends.
    confidence : float
    standard_error : float or None
    labels : int
        Items with a yes or no.
    cannot_judge : int
        Items that were looked at and could not be judged.
    worst_case : (float, float) or None
        The estimate if all items that could not be judged were one way or the other.
    interval : str
        How the interval was made, with its reference.
    anytime : bool
        Whether the confidence survives repeated looks.
    stopped : str or None
        Why the campaign is over; None while it goes on.
    notes : tuple of str
        What else a careful reader should know.
    verdict : bool or None
        Whether the metric is at least what was asked about; None while that is not sure, or was
        not asked.
    within : float or None
        The half-width that was asked for.
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

    @property
    def distance(self) -> float:
        """How far it is from its goal: the half-width in units of the one that was asked for."""
        return self.half_width / (self.within or 1.0)

    @property
    def half_width(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as plain values."""
        return {**asdict(self), "half_width": self.half_width}

    def __str__(self) -> str:
        # A classifier's own underscores stay: the name is to be typed.
        name = self.metric if ":" in self.metric else self.metric.replace("_", " ")
        value = "not known yet" if self.value is None else f"{self.value:.3f}"
        state = "" if self.stopped is None else f": {self.stopped}"
        lines = [
            f"{name} {value} [{self.low:.3f}, {self.high:.3f}] "
            f"at {100 * self.confidence:g}%, {self.labels:,} labels{state}"
        ]
        if self.worst_case is not None:
            low, high = self.worst_case
            lines.append(
                f"{self.cannot_judge:,} could not be judged: "
                f"between {low:.3f} and {high:.3f} whatever they are"
            )
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        headline, *rest = str(self).split("\n")
        small = "".join(f"<br><small>{escape(line)}</small>" for line in rest)
        return f"<b>{escape(headline)}</b>{small}"


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

    def _repr_html_(self) -> str:
        return "<br>".join(estimate._repr_html_() for estimate in self.values())
