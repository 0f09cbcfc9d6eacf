"""Curve of a score: metrics at every threshold with intervals, as text, table, DataFrame, page."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from assay.core.types import percent
from assay.errors import InputError
from assay.results.document import Document, Headline, Lines, Notes, Pairs, Table, headed
from assay.results.estimate import metric_name
from assay.results.result import Backend, Result, Shown, frame_of

AREAS = {"average_precision": "average precision", "roc_auc": "area under the ROC curve"}
_ROWS = 12  # of a table for people
_WITH_INTERVALS = ("precision", "recall")  # in that table; a terminal lacks room for all


@dataclass(frozen=True)
class CurveValue:
    """Metric at one threshold."""

    value: float  # the estimate
    # low, high: the ends of its interval at this threshold alone.
    low: float
    high: float
    # band_low, band_high: the ends of the band that holds at all thresholds at once.
    band_low: float
    band_high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class CurvePoint:
    """Metrics of the classifier at one threshold."""

    threshold: float
    items: int  # items predicted yes
    share: float  # their share of all
    metrics: Mapping[str, CurveValue]  # by name; only those that the labels support here

    def to_dict(self) -> dict[str, Any]:
        """Point as plain values."""
        metrics = {name: asdict(value) for name, value in self.metrics.items()}
        return {"threshold": self.threshold, "items": self.items, "share": self.share, **metrics}

    def to_row(self) -> dict[str, Any]:
        """Point as one flat row."""
        row: dict[str, Any] = {"threshold": self.threshold, "items": self.items}
        row["share"] = self.share
        for name, each in self.metrics.items():
            row |= {
                name if end == "value" else f"{name}_{end}": v for end, v in asdict(each).items()
            }
        return row

    def __str__(self) -> str:
        metrics = "; ".join(f"{metric_name(name)} {value}" for name, value in self.metrics.items())
        return f"threshold {self.threshold:.6g}: {self.share:.1%} predicted yes; {metrics}"


@dataclass(frozen=True)
class Area:
    """Average precision, or the area under the ROC curve, with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True, eq=False, repr=False)
class ThresholdCurve(Result, Sequence[CurvePoint]):
    """Metrics at every threshold of a score, or at some hundreds of them, lowest first."""

    points: tuple[CurvePoint, ...]
    metrics: tuple[str, ...]  # those that the labels support
    # ``average_precision`` and ``roc_auc``, if both predicted labels have labels.
    areas: Mapping[str, Area]
    # Of each interval at its threshold, and of each metric's band at all thresholds at once.
    confidence: float
    # band_from, band_to: thresholds between which the bands hold at once: the 1% and 99% quantiles
    # of the score.
    band_from: float
    band_to: float
    # labels, items: items with a yes or no, and all items.
    labels: int
    items: int
    threshold: float | None = None  # that of the campaign
    # Missing metrics with the reason, and further cautions.
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, place: Any) -> Any:
        return self.points[place]

    def at(self, threshold: float) -> CurvePoint:
        """First point of the curve that is not below a threshold.

        Between two points of the curve there are few items, or none.
        """
        place = bisect_left(self.points, threshold, key=lambda point: point.threshold)
        if place == len(self.points):
            raise InputError(
                f"the threshold {threshold:g} is above every score",
                details=f"scores of the curve: {self.points[0].threshold:g} to "
                f"{self.points[-1].threshold:g}",
            )
        return self.points[place]

    @property
    def own(self) -> CurvePoint | None:
        """Point of the campaign's threshold, if it has one that items reach."""
        if self.threshold is None or self.threshold > self.points[-1].threshold:
            return None
        return self.at(self.threshold)

    def chosen(self, rows: int = _ROWS) -> list[CurvePoint]:
        """Points evenly spaced by number of items, and the campaign's own."""
        points = self.points
        shares = [points[0].items * (rows - place) / rows for place in range(rows)]
        chosen = {id(point): point for share in shares for point in [_nearest(points, share)]}
        if self.own is not None:
            chosen[id(self.own)] = self.own
        return sorted(chosen.values(), key=lambda point: point.threshold)

    @property
    def headline(self) -> str:
        """One-line description of the curve."""
        sure = f"at {percent(self.confidence)}"
        return f"metrics by threshold, {sure}, from {self.labels:,} labels of {self.items:,} items"

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """Points, each as one flat row."""
        return tuple(point.to_row() for point in self.points)

    def document(self) -> Document:
        """Table of a dozen thresholds, and the areas below the curves."""
        areas = tuple((AREAS[name], str(area)) for name, area in self.areas.items())
        title = "Metrics by threshold"
        return Document.of(title, self.table(), Pairs(areas), Notes(self.notes))

    def table(self, rows: int = _ROWS) -> Table:
        """Table of some points for people; precision and recall have their intervals."""
        chosen = self.chosen(rows)
        texts = distinct([point.threshold for point in chosen])
        return Table(
            self.headline,
            headed("threshold", "says yes", *map(metric_name, self.metrics)),
            tuple(
                (
                    f"{text} *" if point is self.own else text,
                    f"{point.share:.1%}",
                    *(_cell(name, point.metrics[name]) for name in self.metrics),
                )
                for point, text in zip(chosen, texts, strict=True)
            ),
            "" if self.own is None else "* threshold of the campaign",
        )

    def to_dict(self) -> dict[str, Any]:
        """Curve as plain values."""
        return {
            "confidence": self.confidence,
            "labels": self.labels,
            "items": self.items,
            "threshold": self.threshold,
            "metrics": list(self.metrics),
            **{name: asdict(area) for name, area in self.areas.items()},
            "band": {"from": self.band_from, "to": self.band_to},
            "points": [point.to_dict() for point in self.points],
            "notes": list(self.notes),
        }

    @property
    def columns(self) -> dict[str, type]:
        """Columns of the DataFrame, and of the file."""
        ends = ("", "_low", "_high", "_band_low", "_band_high")
        metric_columns = {f"{name}{end}": float for name in self.metrics for end in ends}
        return {"threshold": float, "items": int, "share": float, **metric_columns}

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame with a row for each threshold."""
        return frame_of(self.rows, self.columns, backend=backend)


def _cell(name: str, value: CurveValue) -> str:
    return str(value) if name in _WITH_INTERVALS else f"{value.value:.3f}"


def _nearest(points: Sequence[CurvePoint], items: float) -> CurvePoint:
    return min(points, key=lambda point: abs(point.items - items))


def distinct(numbers: Sequence[float]) -> list[str]:
    """Ascending numbers as texts, with as few digits as distinguish neighbours.

    >>> distinct([0.5, 0.99986, 0.99991])
    ['0.5', '0.99986', '0.99991']
    """
    for digits in range(3, 17):
        texts = [f"{number:.{digits}g}" for number in numbers]
        if all(one != other for one, other in pairwise(texts)):
            break
    return texts


# Threshold that keeps a floor, as found by a campaign.


@dataclass(frozen=True)
class MetricAtThreshold:
    """Metric at a threshold, with its interval."""

    metric: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        name = metric_name(self.metric)
        return f"{name} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class ThresholdAnswer(Shown):
    """Answer of a campaign for a threshold."""

    question: str  # the floors: ``precision >= 0.95``
    confidence: float  # that everything certified is true
    # Whether the threshold keeps the floors, at this confidence and at every look.
    certified: bool
    # Items with a score of at least this are predicted yes. If nothing is certified yet, the one
    # that the labels support best; None before the first label, or if all items are predicted yes.
    threshold: float | None
    # yes, items: items predicted yes, and all items.
    yes: int
    items: int
    # Precision and recall at it, and other metrics with a floor. Their intervals are for one look
    # and not part of the theorem.
    metrics: tuple[MetricAtThreshold, ...]
    labels: int  # items with a yes or no
    settled: bool  # whether no other threshold can improve the objective by `gain`
    gain: float  # as a share
    # If nothing is certified: probability that as many labels again would certify this one,
    # assuming that the labels so far estimate its metrics correctly.
    chance: float
    stopped: str | None  # reason why the campaign is over; None while it goes on
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        if not self.labels:
            return f"No labels yet, so no threshold is certified for {self.question}"
        where = "every score" if self.threshold is None else f"{self.threshold:.6g}"
        predicted = f"{self.yes:,} of {self.items:,} items predicted yes"
        metrics = ", ".join(map(str, self.metrics))
        if self.certified:
            sure = f"{percent(self.confidence)} confidence"
            rest = (
                f"; no other threshold can be better by {100 * self.gain:.3g}%"
                if self.settled
                else ""
            )
            return (
                f"Threshold {where}: {self.question} is certified at {sure}; {predicted}; "
                f"{metrics}{rest}"
            )
        return (
            f"No threshold is certified yet for {self.question}; the best supported is {where}: "
            f"{predicted}; {metrics}; doubling the labels would certify it with a probability of "
            f"about {100 * self.chance:.0f}%"
        )

    def document(self) -> Document:
        """Answer and its notes."""
        return Document.of("Threshold", Headline(self.words), Lines(self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Answer as plain values."""
        return asdict(self)
