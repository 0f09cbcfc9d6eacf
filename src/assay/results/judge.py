"""Quality of a judge: how far its verdicts are people's answers, and what it makes of metrics."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from assay.core.metrics import METRICS
from assay.errors import printable
from assay.results.frames import Backend, frame_of, types_of
from assay.results.html import html_block, html_headline, html_remarks, html_table
from assay.results.text import metric_name, text_table

_HEADINGS = ("estimate", "interval", "labels", "worth", "")
_LONGEST = 60  # characters of a slice's name in a table


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

    @property
    def cells(self) -> tuple[str, ...]:
        """The figure as people read it: estimate, interval, labels, what they are worth, doubt."""
        return (
            "–" if self.value is None else f"{self.value:.3f}",
            f"[{self.low:.3f}, {self.high:.3f}]",
            f"{self.counted:,}",
            "all" if self.effective is None else f"{self.effective:,.0f}",
            self.verdict,
        )


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
class JudgeQuality:
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

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the figures as a DataFrame, one row each."""
        rows = [asdict(row) for row in self.rows]
        return frame_of(rows, types_of(JudgeFigure), backend=backend)

    def table(self, slice: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the headings and rows of a table of all items, or of a slice."""
        rows = [(row.figure, *row.cells) for row in self.rows if row.slice == slice]
        return (_short(slice), *_HEADINGS), rows

    def gap_lines(self, slice: str) -> list[str]:
        """Return the gaps of all items, or of a slice, in a sentence each."""
        return [str(gap) for gap in self.gaps if gap.slice == slice]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterator[str]:
        yield printable(self.headline)
        for slice in ("", *self.slices):
            headings, rows = self.table(slice)
            yield from text_table(headings, rows)
            yield from map(printable, self.gap_lines(slice))
        yield from (f"note: {note}" for note in self.notes)

    def _repr_html_(self) -> str:
        parts = [html_headline(self.headline, "")]
        for slice in ("", *self.slices):
            parts += [html_table(*self.table(slice)), html_remarks(self.gap_lines(slice))]
        return html_block(*parts, html_remarks(f"note: {note}" for note in self.notes))


def _short(name: str) -> str:
    return printable(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")
