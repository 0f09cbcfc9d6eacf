"""Strata of a campaign as tables: their sizes, and the labels in each."""

from collections.abc import Sequence

from assay.results.document import Cell, Column, Interval, Table, headed
from assay.results.estimate import StratumRow
from assay.results.text import shortened


def sizes_table(rows: Sequence[StratumRow]) -> Table:
    """Return the strata before anything is labelled: their sizes."""
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
    """Return the strata with their labels, and the share of what is counted among these."""
    columns = (
        *headed("stratum", "items", "labels"),
        Column(counted, only=("dashboard",)),
        Column(f"share {counted}"),
        Column("", "bar"),
        Column("interval", only=("dashboard",)),
        *([Column("cannot judge")] if any(row.cannot_judge for row in rows) else []),
    )
    cells = tuple(_cells(row)[: len(columns)] for row in shortened(rows))
    return Table("Labels by stratum", columns, cells)


def _cells(row: StratumRow) -> tuple[str | Cell, ...]:
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
