"""Quality of a judge: agreement with people's answers, and its effect on metrics."""

from dataclasses import asdict, dataclass
from typing import Any

from assay.core.metrics import METRICS
from assay.core.types import percent
from assay.errors import counted
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
    """Figure of a judge as a classifier, with people's answers as the truth."""

    slice: str  # value of the slice column; empty for all items
    figure: str
    value: float | None  # the estimate; None if no label counts
    # low, high: the interval's ends.
    low: float
    high: float
    standard_error: float | None
    counted: int  # judged items that count: for sensitivity, those that are yes
    # Size of a simple random sample with as much information; None if all is known.
    effective: float | None
    doubt: str  # reason why there are too few labels; otherwise empty

    @property
    def verdict(self) -> str:
        """Assessment in words."""
        return f"too few labels: {self.doubt}" if self.doubt else ""


@dataclass(frozen=True)
class JudgeGap:
    """Metric by the judge's verdicts, and by people's answers to the same items."""

    slice: str  # value of the slice column; empty for all items
    metric: str  # a metric of the campaign, or a difference of two classifiers' metrics
    # by_judge, by_people: its value by either; None if undefined.
    by_judge: float | None
    by_people: float | None
    gap: float | None  # by_judge - by_people
    # low, high: the gap's interval.
    low: float
    high: float
    standard_error: float | None
    counted: int  # judged items with a verdict

    @property
    def verdict(self) -> str:
        """Assessment in words."""
        if self.gap is None:
            return "no figures yet"
        if self.low <= 0 <= self.high and self.low != self.high:
            return "no gap established"
        first, minus, second = self.metric.partition(" - ")
        better = METRICS[first.partition(":")[0].partition("[")[0]].better
        upward = self.low > 0
        if self.low == self.high == 0:
            return "the same"
        if not better:
            return "the judge says yes too often" if upward else "the judge says yes too rarely"
        kind = upward == (better > 0)
        if minus:
            ahead, behind = (each.partition(":")[2] for each in (first, second))
            return "the judge favours {} over {}".format(
                *((ahead, behind) if kind else (behind, ahead))
            )
        return "the judge flatters the classifier" if kind else "the judge is too strict"

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
    """Quality of a judge, from the labels of a campaign."""

    column: str  # the column with its verdicts
    at: float | None  # number from which on the verdict is yes
    confidence: float  # of each interval on its own
    judged: int  # items that people answered with yes or no
    with_verdict: int  # those with a verdict
    share: float | None  # estimated share of all items that have a verdict
    by: str  # the column of slices; empty if none
    rows: tuple[JudgeFigure, ...]  # of all items, then of each slice
    gaps: tuple[JudgeGap, ...]  # of all items, then of each slice
    notes: tuple[str, ...] = ()  # further cautions

    row_type = JudgeFigure

    def figure(self, figure: str, slice: str = "") -> JudgeFigure:
        """Figure of all items, or of a slice; raise KeyError if there is none."""
        for row in self.rows:
            if (row.figure, row.slice) == (figure, slice):
                return row
        raise KeyError((figure, slice))

    @property
    def sensitivity(self) -> JudgeFigure:
        """Share of true yes to which the judge says yes."""
        return self.figure("sensitivity")

    @property
    def specificity(self) -> JudgeFigure:
        """Share of true no to which the judge says no."""
        return self.figure("specificity")

    @property
    def agreement(self) -> JudgeFigure:
        """Share of items on which the judge agrees with people."""
        return self.figure("agreement")

    @property
    def kappa(self) -> JudgeFigure:
        """Cohen's kappa: agreement beyond chance."""
        return self.figure("kappa")

    @property
    def headline(self) -> str:
        """Description of the figures."""
        cut = "" if self.at is None else f", yes from {self.at:g} on,"
        return (
            f"{self.column}{cut} against people's labels of {counted(self.with_verdict, 'item')}, "
            f"at {percent(self.confidence)}"
        )

    @property
    def slices(self) -> tuple[str, ...]:
        """Slices with figures."""
        return tuple(dict.fromkeys(row.slice for row in self.rows if row.slice))

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        named = ("column", "at", "confidence", "judged", "with_verdict", "share", "by")
        return {
            **{name: getattr(self, name) for name in named},
            "figures": [{**asdict(row), "too_few": bool(row.doubt)} for row in self.rows],
            "gaps": [{**asdict(gap), "verdict": gap.verdict} for gap in self.gaps],
            "notes": list(self.notes),
        }

    def document(self) -> Document:
        """Figures of all items and of each slice, and their effect on metrics."""
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
    if row.value is not None and row.figure != "kappa":  # kappa may be below 0
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
