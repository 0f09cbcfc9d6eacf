"""Trend of a series: the metric by period, which changes are certain, and the floor."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import hypot
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

from assay.campaign.periods import Member, members
from assay.core.answers import Answer
from assay.core.deck import Id
from assay.core.intervals import of_difference
from assay.core.metrics import metric_word
from assay.core.types import percent
from assay.errors import InputError, StorageError, did_you_mean
from assay.labelling import Series
from assay.report import Mark, draw_trend
from assay.results import (
    Backend,
    Cell,
    Column,
    Document,
    Drawing,
    Estimate,
    Estimates,
    Shown,
    Table,
    Tone,
    clipped,
    frame_of,
    types_of,
    write_whole,
)
from assay.storage import Session, Store, StoredLabel


@dataclass(frozen=True)
class PeriodRow:
    """One period of a series."""

    # period, campaign: its name, and its campaign.
    period: str
    campaign: str
    items: int  # number of items of the period
    # labels, reused: judged items, and how many of these in earlier periods. For the change, they
    # include items of the previous period that are gone.
    labels: int
    reused: int
    done: bool  # whether its campaign is done
    estimate: Estimate  # the metric
    change: Estimate | None  # its change since the previous period; None for the first
    floor: float | None  # lower limit of the metric
    before: str | None = None  # the period that it is compared with; None for the first

    @property
    def moved(self) -> Literal["fell", "rose"] | None:
        """Direction of the change since the previous period, if certain; otherwise None."""
        if self.change is None or self.change.value is None:
            return None
        if self.change.high < 0:
            return "fell"
        return "rose" if self.change.low > 0 else None

    @property
    def below_floor(self) -> bool | None:
        """Whether the metric is below the floor; None if undecided or without a floor."""
        if self.floor is None or self.estimate.value is None:
            return None
        if self.estimate.high < self.floor:
            return True
        return False if self.estimate.low >= self.floor else None

    @property
    def is_compared(self) -> bool:
        """Whether the change has the requested width, or there is no previous period."""
        if self.before is None or self.moved is not None:
            return True
        if self.change is None or self.change.value is None:
            return False
        return self.change.is_near and (self.done or self.change.within is not None)

    def verdict(self, *, on_fall: bool = False) -> bool | None:
        """Whether the metric is not below the floor and, `on_fall`, has not fallen.

        None while that is undecided: labels are missing, or the interval contains the floor.
        """
        if self.below_floor or (on_fall and self.moved == "fell"):
            return False
        met = self.floor is None or self.below_floor is False
        return True if self.done and met and (self.is_compared or not on_fall) else None

    @property
    def said(self) -> str:
        """Verdict on the period, in one to three sentences."""
        words = ["first period." if self.before is None else f"{self._compared} {self.before}."]
        if self.floor is not None:
            floor = f"{self.floor:.2f}" if round(self.floor, 2) == self.floor else f"{self.floor:g}"
            met = {True: "not met", False: "met", None: "undecided"}[self.below_floor]
            words.append(f"Floor {floor}: {met}.")
        if self.is_compared and not self.done:
            words.append("Labelling is in progress.")
        return " ".join(words)

    @property
    def _compared(self) -> str:
        if not self.is_compared:
            return f"too few labels ({self.estimate.labels:,}) to compare with"
        same = self.change is not None and self.change.low == self.change.high == 0
        return f"{self.moved or ('no change' if same else 'no significant change')} since"

    def to_dict(self) -> dict[str, Any]:
        """Period as plain values."""
        return {
            **asdict(self),
            "estimate": self.estimate.to_dict(),
            "change": None if self.change is None else self.change.to_dict(),
            "moved": self.moved,
            "below_floor": self.below_floor,
        }


@dataclass(frozen=True)
class Trend(Shown):
    """Result of `trend`: the periods of a series, oldest first.

    Attributes
    ----------
    series, metric : str
        Name of the series, and which of its metrics this is.
    confidence : float
    rows : tuple of PeriodRow
    metrics : tuple of str
        All metrics that are followed.
    """

    series: str
    metric: str
    confidence: float
    rows: tuple[PeriodRow, ...]
    metrics: tuple[str, ...] = ()

    @property
    def latest(self) -> PeriodRow:
        """The last period."""
        return self.rows[-1]

    @property
    def below_floor(self) -> bool:
        """Whether the metric is below its floor in the last period, at the confidence level."""
        return self.latest.below_floor is True

    @property
    def svg(self) -> str:
        """Chart of the series: one file, no script, on white."""
        return self._drawn(on_paper=True)

    def _drawn(self, *, on_paper: bool) -> str:
        marks = [
            Mark(
                clipped(row.period),
                row.estimate.value,
                row.estimate.low,
                row.estimate.high,
                row.moved or ("below the floor" if row.below_floor else None),
            )
            for row in self.rows
        ]
        return draw_trend(marks, title=self._caption, floor=self.latest.floor, on_paper=on_paper)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the chart to an .svg file."""
        file = Path(path)
        if file.suffix.lower() != ".svg":
            raise InputError(
                f"{file} cannot be written", details="the name of a chart must end in .svg"
            )
        write_whole(file, self.svg.encode())

    def to_dict(self) -> dict[str, Any]:
        """Series as plain values."""
        return {
            "series": self.series,
            "metric": self.metric,
            "confidence": self.confidence,
            "below_floor": self.below_floor,
            "periods": [row.to_dict() for row in self.rows],
        }

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame with a row for each period: the metric and its change.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        rows = [
            {
                **vars(row),
                **_ends("", row.estimate),
                **_ends("change_", row.change),
                "said": row.said,
            }
            for row in self.rows
        ]
        ends = dict.fromkeys([*_ends("", None), *_ends("change_", None)], float)
        types = {**types_of(PeriodRow), **ends, "said": str}
        return frame_of(rows, types, backend=backend)

    @property
    def _caption(self) -> str:
        return clipped(f"{self.metric} of {self.series}, at {percent(self.confidence)}")

    def document(self) -> Document:
        """Chart and table of the periods, with the verdict on each."""
        columns = (
            Column("period", "text"),
            Column("items", only=("text", "notebook", "page", "markdown")),
            *map(Column, ("labels", "reused", "estimate", "interval", "change", "interval")),
            Column("", "remark"),
        )
        table = Table(self._caption, columns, tuple(map(_cells, self.rows)))
        return Document(self._caption, (Drawing(self._drawn(on_paper=False), ""), table))


def trend_in(
    store: Store,
    series: str,
    make: Callable[..., Any],  # of a `Campaign`
    *,
    metric: str | None = None,
    floor: float | None = None,
) -> Trend:
    """Trend of a series in an open storage; the other parameters are those of `trend`."""
    with store.read() as session:
        periods = members(session, series)
        if not periods:
            raise _no_such_series(session, series)
    rows: tuple[PeriodRow, ...] = ()
    last = periods[-1].series
    name = _one_of(last, metric)
    for member in periods:
        campaign = make(store, member.key, member.settings, None)
        rows = (*rows, _row(campaign, store, member, name, rows[-1] if rows else None))
    if floor is not None:
        checked = replace(last, floor=floor)  # raises if invalid
        rows = (*rows[:-1], replace(rows[-1], floor=checked.floor))
    return Trend(series, name, rows[-1].estimate.confidence, rows, last.metrics)


def _one_of(series: Series, metric: str | None) -> str:
    """Metric in the series' spelling; default: its first."""
    if metric is None:
        return series.metric
    name, _, label = str(metric).partition(":")
    plain = metric_word(name)
    requested = f"{plain}:{label}" if label else plain
    if requested not in series.metrics:
        raise InputError(
            f"series {series.name!r} does not follow {metric!r}",
            details=f"metrics: {', '.join(series.metrics)}",
            hint=did_you_mean(requested, series.metrics),
        )
    return requested


class _Labelled(Protocol):
    """Campaign of a period, as far as its trend needs it."""

    @property
    def done(self) -> bool: ...
    def estimates(self) -> Estimates: ...
    def answers(self) -> Mapping[Id, Answer]: ...


def _row(
    campaign: _Labelled, store: Store, member: Member, metric: str, last: PeriodRow | None
) -> PeriodRow:
    """Period of a metric."""
    settings, series = member.settings, member.series
    name = f"{metric}:{series.period}"
    estimates = campaign.estimates()
    level = estimates[name] if name in estimates else next(iter(estimates.values()))
    changes = [each for each in estimates.values() if each.metric.startswith(f"{name} - ")]
    answers = campaign.answers()
    learns = bool(settings.source.aux)  # then periods share no labels
    apart = learns or settings.strata.weighted  # then no period is compared with another
    carried = [] if learns else _carried(store, member)
    before = {settings.item_id(event.item_id) for event in carried}
    # Without a change to estimate it is 0, and in the first period there is none.
    same = None if series.number == 0 else _change_from(level, 0.0, 0.0, 0.0)
    change = changes[0] if changes else same
    if apart:
        change = None if last is None else _change(level, last, alone=learns)
    return PeriodRow(
        period=series.period,
        campaign=settings.name,
        items=settings.source.parts[-1].rows,
        labels=len(answers),
        reused=len(before & answers.keys()),
        done=campaign.done,
        estimate=level,
        change=change,
        floor=series.floor if metric == series.metric else None,
        before=None if last is None else last.period,
    )


def _carried(store: Store, member: Member) -> list[StoredLabel]:
    """Labels that existed when the period, or its replacement, began."""
    before = member.settings.before
    if before is None:
        return []
    with store.read() as session:
        if before.labels is not None:
            return session.labels(member.key)[: sum(before.labels)]
        return session.labels(session.find(before.campaign)[0])


def _change(level: Estimate, last: PeriodRow, *, alone: bool) -> Estimate | None:
    """Change between two periods, each with an estimate of its own.

    The interval is Zou and Donner's (2008), from both intervals; None if their confidence differs,
    or nothing is known yet.
    """
    then = last.estimate
    if level.value is None or then.value is None or level.confidence != then.confidence:
        return None
    low, high = of_difference(
        (level.value, level.low, level.high), (then.value, then.low, then.high)
    )
    errors = (level.standard_error, then.standard_error)
    independent = "which are" if alone else "as if they were"
    return replace(
        _change_from(level, level.value - then.value, low, high),
        metric=f"{level.metric} - {then.metric}:{last.period}",
        standard_error=None if None in errors else hypot(*(error or 0.0 for error in errors)),
        interval=f"from both periods' intervals, {independent} independent (Zou and Donner 2008)",
        open=level.open + then.open,
        could_move=level.could_move + then.could_move,
        random_labels=None,
    )


def _change_from(level: Estimate, value: float, low: float, high: float) -> Estimate:
    """Estimate of a change of a metric, as if it were known for certain."""
    return replace(
        level,
        metric=f"{level.metric} - before",
        value=value,
        low=low,
        high=high,
        standard_error=0.0,
        worst_case=None,
        interval="nothing has changed since the period before",
        notes=(),
        within=None,
        open=0,
        could_move=0.0,
        like_rest=None,
    )


def _no_such_series(session: Session, series: str) -> StorageError:
    begun = {name.partition("/")[0] for name in session.names() if "/" in name}
    names = sorted(each for each in begun if members(session, each))
    return StorageError(
        f"no series {series!r}",
        details=f"series: {', '.join(names) or 'none'}",
        hint=did_you_mean(series, names)
        or "start one: assay follow FILE. In Python: follow_campaign",
    )


def _ends(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    """Columns of an estimate: its value, and the ends of its interval."""
    return {f"{name}{end}": getattr(estimate, end, None) for end in ("value", "low", "high")}


_TONES: dict[str | None, Tone] = {"fell": "bad", "rose": "good", None: ""}


def _cells(row: PeriodRow) -> tuple[str | Cell, ...]:
    level, change, tone = row.estimate, row.change, _TONES[row.moved]
    value = None if change is None else change.value
    return (
        row.period,
        f"{row.items:,}",
        f"{row.labels:,}",
        f"{row.reused:,}",
        "–" if level.value is None else f"{level.value:.3f}",
        f"[{level.low:.3f}, {level.high:.3f}]",
        Cell("–" if value is None else f"{value:+.3f}", tone),
        Cell("–" if change is None else f"[{change.low:+.3f}, {change.high:+.3f}]", tone),
        row.said,
    )
