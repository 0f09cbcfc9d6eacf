"""Estimates of all metrics of a campaign, as one result."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from assay.results.document import (
    Block,
    Cell,
    Column,
    Document,
    Interval,
    Notes,
    Table,
    headed,
    scale_of,
)
from assay.results.estimate import Estimate, StratumRow, ends_text, value_text
from assay.results.result import Backend, Result, frame_of, types_of
from assay.results.text import shortened, state_text

_PAIRS = ("worst_case", "like_rest")
_END_COLUMNS = tuple(f"{name}_{end}" for name in _PAIRS for end in ("low", "high"))
_NAMES_AT_MOST = 3  # in front of a note on several metrics, but not all


class Estimates(Result, Mapping[str, Estimate]):
    """Estimates of all requested metrics, by name."""

    def __init__(self, each: Mapping[str, Estimate]) -> None:
        self._each = dict(each)

    def __getitem__(self, metric: str) -> Estimate:
        return self._each[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._each)

    def __len__(self) -> int:
        return len(self._each)

    def to_dict(self) -> dict[str, Any]:
        """Estimates as plain values."""
        return {metric: estimate.to_dict() for metric, estimate in self.items()}

    @property
    def rows(self) -> tuple[Estimate, ...]:
        """Estimates, in the order of the request."""
        return tuple(self.values())

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame of the estimates, one row each.

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

    def document(self) -> Document:
        """One estimate with its details, several as a table."""
        if len(self) == 1:
            return self.rows[0].document()
        return Document.of("Estimates", *self.figures, Notes(tuple(notes_once(self))))

    @property
    def figures(self) -> tuple[Block, ...]:
        """Figures without the notes: a headline and its bar, or tables."""
        if len(self) == 1:
            return self.rows[0].document().blocks[:2]
        return Document.of("", self._table, self.unjudged).blocks

    @property
    def _table(self) -> Table:
        # Differences are near 0 and shares often near 1: each kind has a scale of its own.
        reach: dict[bool, list[float]] = {}
        for each in self.rows:
            reach.setdefault(each.is_difference, []).extend(each.reach)
        scales = {kind: scale_of(ends) for kind, ends in reach.items()}
        columns = (
            *headed("metric", "estimate"),
            Column("", "bar"),
            *map(Column, ("interval", "±", "goal", "labels")),
            Column("state", "text"),
        )
        rows = tuple(_cells(each, scales[each.is_difference]) for each in self.rows)
        return Table("Metrics, intervals and goals", columns, rows)

    @property
    def unjudged(self) -> Table:
        """Intervals of the metrics with items that could not be judged."""
        columns = headed("metric", "cannot judge", "in the worst case", "if like the rest")
        return Table(
            "Intervals with the items that could not be judged",
            columns,
            tuple(
                (
                    each.name,
                    f"{each.cannot_judge:,}",
                    "{:.3f} to {:.3f}".format(*each.worst_case),
                    "{:.3f} to {:.3f}".format(*each.ends_like_rest),
                )
                for each in self.rows
                if each.worst_case is not None
            ),
        )


def _cells(estimate: Estimate, scale: tuple[float, float]) -> tuple[str | Cell, ...]:
    state, tone = state_text(estimate)
    return (
        estimate.name,
        "–" if estimate.value is None else value_text(estimate),
        Cell("", interval=estimate.drawn(scale)),
        "[{}, {}]".format(*ends_text(estimate)),
        f"{estimate.half_width:.4f}",
        "–" if estimate.within is None else f"{estimate.within:g}",
        f"{estimate.labels:,}",
        Cell(state, tone),
    )


def notes_once(estimates: Mapping[str, Estimate]) -> list[str]:
    """Merge the notes without repetition, prefixed with their metrics unless all have them.

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


def sizes_table(rows: Sequence[StratumRow]) -> Table:
    """Strata before anything is labelled: their sizes."""
    weighted = any(row.weight is not None for row in rows)
    total = sum(row.size for row in rows)
    columns = headed("stratum", "items", "share of weight" if weighted else "share of items")
    return Table(
        "Strata",
        columns,
        tuple(
            (
                row.stratum,
                f"{row.size:,}",
                f"{row.size / total if row.weight is None else row.weight:.1%}",
            )
            for row in shortened(rows)
        ),
    )


def strata_table(rows: Sequence[StratumRow], counted: str = "yes") -> Table:
    """Strata with their labels, and the share of the counted outcome."""
    columns = (
        *headed("stratum", "items", "labels"),
        Column(counted, only=("dashboard",)),
        Column(f"share {counted}"),
        Column("", "bar"),
        Column("interval", only=("dashboard",)),
        *([Column("cannot judge")] if any(row.cannot_judge for row in rows) else []),
    )
    cells = tuple(_stratum_cells(row)[: len(columns)] for row in shortened(rows))
    return Table("Labels by stratum", columns, cells)


def _stratum_cells(row: StratumRow) -> tuple[str | Cell, ...]:
    drawn, ends = None, "–"
    if row.low is not None and row.high is not None:
        drawn, ends = Interval(row.low, row.high, row.rate), f"[{row.low:.3f}, {row.high:.3f}]"
    return (
        row.stratum,
        f"{row.size:,}",
        f"{row.labels:,}",
        f"{row.positives:,}",
        "–" if row.rate is None else f"{row.rate:.3f}",
        Cell("", interval=drawn),
        ends,
        f"{row.cannot_judge:,}",
    )
