"""The threshold that keeps a floor, as a campaign found it."""

from dataclasses import asdict, dataclass
from typing import Any

from assay.results.document import Document, Headline, Lines
from assay.results.estimate import metric_name
from assay.results.result import Shown


@dataclass(frozen=True)
class MetricAtThreshold:
    """A metric at a threshold, with its interval."""

    metric: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        name = metric_name(self.metric)
        return f"{name} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class ThresholdAnswer(Shown):
    """What a campaign knows of the threshold that was asked for."""

    question: str  # the floors that it has to keep: ``precision >= 0.95``
    confidence: float  # that all that is certified is true
    # Whether the threshold keeps the floors, at this confidence and whenever one looks.
    certified: bool
    # Items with a score of at least this are called yes. Where nothing is certified yet, the one
    # that the labels support best; None before the first label, or if every score is called yes.
    threshold: float | None
    # yes, items: items that it calls yes, and all items.
    yes: int
    items: int
    # Precision and recall at it, and what else has a floor. Their intervals are made for one look
    # and are no part of the theorem.
    metrics: tuple[MetricAtThreshold, ...]
    labels: int  # items with a yes or no
    settled: bool  # whether no other threshold can have `gain` more of what is wanted
    gain: float  # as a share
    # Where nothing is certified: the chance that as many labels again would certify this one, if
    # the labels so far tell its metrics rightly.
    chance: float
    stopped: str | None  # why the campaign is over; None while it goes on
    notes: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The answer in a sentence or two."""
        if not self.labels:
            return f"No threshold can be certified for {self.question} before the first label"
        where = "every score" if self.threshold is None else f"{self.threshold:.6g}"
        said = f"it says yes to {self.yes:,} of {self.items:,} items"
        known = ", ".join(map(str, self.metrics))
        if self.certified:
            sure = f"{100 * self.confidence:.4g}% confidence"
            rest = (
                f"; no other can have {100 * self.gain:.3g}% more of what is wanted"
                if self.settled
                else ""
            )
            return (
                f"Threshold {where}: {self.question} is certified there, at {sure}; {said}; "
                f"{known}{rest}"
            )
        return (
            f"No threshold can be certified yet for {self.question}; the labels support {where} "
            f"best: {said}; {known}; as many labels again would certify it with a chance of about "
            f"{100 * self.chance:.0f}%"
        )

    def document(self) -> Document:
        """Return the answer, and its notes."""
        return Document.of("Threshold", Headline(self.words), Lines(self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)
