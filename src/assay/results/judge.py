"""Quality of a judge: how far its verdicts are people's answers, and what it makes of metrics."""

from dataclasses import asdict, dataclass
from typing import Any

from assay.core.metrics import METRICS
from assay.results.document import (
    Block,
    Cell,
    Column,
    Document,
    Interval,
    Lines,
    Notes,
    Table,
    Tone,
    headed,
)
from assay.results.estimate import metric_name
from assay.results.result import Result


@dataclass(frozen=True)
class JudgeFigure:
    """A figure of a judge, as if it were a classifier and people's answers the truth."""

    slice: str  # the value of the column whose items it is about; empty for all items
    figure: str
    value: float | None  # the estimate; None where no label counts
    # low, high: the interval's ends.
    low: float
    high: float
    standard_error: float | None
    counted: int  # judged items that count: of sensitivity, those that people said yes to
    # The labels of a simple random sample that would say as much; None where all is known.
    effective: float | None
    doubt: str  # why this is too few to say; otherwise empty

    @property
    def verdict(self) -> str:
        """What to think of it, in words."""
        return f"too few to say: {self.doubt}" if self.doubt else ""


@dataclass(frozen=True)
class JudgeGap:
    """A metric by the judge's verdicts, and by people's answers to the same items."""

    slice: str  # the value of the column whose items it is about; empty for all items
    metric: str  # a metric of the campaign, or a difference of two classifiers' metrics
    # by_judge, by_people: what it is by either; None where there is none.
    by_judge: float | None
    by_people: float | None
    gap: float | None  # the first less the second
    # low, high: the gap's interval.
    low: float
    high: float
    standard_error: float | None
    counted: int  # judged items with a verdict

    @property
    def verdict(self) -> str:
        """What to think of it, in words."""
        if self.gap is None:
            return "nothing can be told yet"
        if self.low <= 0 <= self.high and self.low != self.high:
            return "no gap can be told"
        first, minus, second = self.metric.partition(" - ")
        better = METRICS[first.partition(":")[0].partition("[")[0]].better
        upward = self.low > 0
        if self.low == self.high == 0:
            return "the same"
        if not better:
            return "the judge says yes too often" if upward else "the judge says yes too seldom"
        kind = upward == (better > 0)
        if minus:
            ahead, behind = (each.partition(":")[2] for each in (first, second))
            return "the judge favours {} over {}".format(
                *((ahead, behind) if kind else (behind, ahead))
            )
        return "the judge flatters the classifier" if kind else "the judge is too hard on it"

    def __str__(self) -> str:
        if self.gap is None or self.by_judge is None or self.by_people is None:
            return f"{metric_name(self.metric)}: {self.verdict}"
        sign = "+" if " - " in self.metric else ""
        return (
            f"{metric_name(self.metric)}: the judge says {self.by_judge:{sign}.3f}, people say "
            f"{self.by_people:{sign}.3f}; {self.gap:+.3f} [{self.low:+.3f}, {self.high:+.3f}], "
            f"{self.verdict}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class JudgeQuality(Result):
    """How good a judge is, from the labels of a campaign."""

    column: str  # the column with its verdicts
    at: float | None  # the number from which on its verdict is yes
    confidence: float  # of each interval on its own
    judged: int  # items with a yes or no of people
    with_verdict: int  # those of them that the judge has a verdict on
    share: float | None  # the estimated share of all items that it has one on
    by: str  # the column of slices; empty where there is none
    rows: tuple[JudgeFigure, ...]  # of all items, then of each slice
    gaps: tuple[JudgeGap, ...]  # of all items, then of each slice
    notes: tuple[str, ...] = ()  # what else a careful reader should know

    row_type = JudgeFigure

    def figure(self, figure: str, slice: str = "") -> JudgeFigure:
        """Return a figure of all items, or of a slice; raise KeyError where there is none."""
        for row in self.rows:
            if (row.figure, row.slice) == (figure, slice):
                return row
        raise KeyError((figure, slice))

    @property
    def sensitivity(self) -> JudgeFigure:
        """Of what is yes, the share that the judge says yes to."""
        return self.figure("sensitivity")

    @property
    def specificity(self) -> JudgeFigure:
        """Of what is no, the share that the judge says no to."""
        return self.figure("specificity")

    @property
    def agreement(self) -> JudgeFigure:
        """The share of items of which the judge says what people do."""
        return self.figure("agreement")

    @property
    def kappa(self) -> JudgeFigure:
        """Cohen's: agreement beyond chance."""
        return self.figure("kappa")

    @property
    def headline(self) -> str:
        """What the figures are of."""
        cut = "" if self.at is None else f", yes from {self.at:g} on,"
        return (
            f"{self.column}{cut} against people's answers to {self.with_verdict:,} items, at "
            f"{100 * self.confidence:g}%"
        )

    @property
    def slices(self) -> tuple[str, ...]:
        """The slices that there are figures of."""
        return tuple(dict.fromkeys(row.slice for row in self.rows if row.slice))

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        named = ("column", "at", "confidence", "judged", "with_verdict", "share", "by")
        return {
            **{name: getattr(self, name) for name in named},
            "figures": [{**asdict(row), "too_few": bool(row.doubt)} for row in self.rows],
            "gaps": [{**asdict(gap), "verdict": gap.verdict} for gap in self.gaps],
            "notes": list(self.notes),
        }

    def document(self) -> Document:
        """Return the figures of all items and of each slice, and what they make of metrics."""
        blocks: list[Block] = []
        for slice in ("", *self.slices):
            gaps = tuple(str(gap) for gap in self.gaps if gap.slice == slice)
            blocks += [self._table(slice), Lines(gaps)]
        return Document.of("Second opinions", *blocks, Notes(self.notes))

    def _table(self, slice: str) -> Table:
        columns = (
            *headed("figure", "estimate"),
            Column("", "bar"),
            *map(Column, ("interval", "labels", "worth")),
            Column("", "remark"),
        )
        rows = tuple(_cells(row) for row in self.rows if row.slice == slice)
        return Table(f"{self.by} {slice}" if slice else self.headline, columns, rows)


def _cells(row: JudgeFigure) -> tuple[Cell, ...]:
    drawn = None
    if row.value is not None and row.figure != "kappa":  # which may be below 0
        drawn = Interval(row.low, row.high, row.value)
    texts = (
        row.figure,
        "–" if row.value is None else f"{row.value:.3f}",
        "",
        f"[{row.low:.3f}, {row.high:.3f}]",
        f"{row.counted:,}",
        "all" if row.effective is None else f"{row.effective:,.0f}",
    )
    tone: Tone = "faint" if row.doubt else ""
    cells = (Cell(text, tone, interval=None if text else drawn) for text in texts)
    return (*cells, Cell(row.verdict, "warn"))
