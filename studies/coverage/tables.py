"""The coverage study's tables: one page that says how often it is right, and what it costs."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from studies.coverage.extent import Part
from studies.coverage.result import LARGE, Result, mean, savings
from studies.coverage.rows import Row
from studies.tables import Table, Value

_RULE = (
    "A cell fails when its share of right runs + 2 standard errors is below the confidence - 0.005 "
    "(0.945 at 95%). Of a hundred cells that are right just so often, two fail by chance."
)
_SUMMARY = {
    "cells": ">",
    "fail": ">",
    "least": ".3f",
    "mean": ".3f",
    "/ limit": ".2f",
    "/ random": ".2f",
    "lean": "+.2f",
    "middle": "+.2f",
}
_TOLD = (
    "`least` and `mean` are the cells' shares of right runs. Labels are told over the limit of "
    "designs by score, and over random sampling with the same interval; `lean` is how far the "
    "value lies above the truth, and `middle` the middle of the interval, in deltas. All are means "
    "over the cells. Wide goals take some sixty labels, however low the limit is."
)


def every_table(result: Result) -> Iterator[Table]:
    """Yield the tables that there are rows for."""
    yield metrics_table(result)
    yield parts_table(result)
    yield _failing(result)
    yield targets_table(result)
    makers: dict[Part, Callable[[Result], Table]] = {
        Part.GRID: _grid,
        Part.MODES: _modes,
        Part.REAL: lambda result: _by_goal("Real classifiers", result.of(Part.REAL)),
        Part.REPLACEMENT: _replacement,
        Part.WIDE: lambda result: _by_goal("Wide goals", result.of(Part.WIDE)),
        Part.RARE: lambda result: _by_goal("Rare classes", result.of(Part.RARE)),
        Part.SMALL: _small,
        Part.UNJUDGED: _unjudged,
    }
    for part in result.parts:
        groups = _GROUPED.get(part)
        yield makers[part](result) if groups is None else groups.table(result.of(part))
    if result.left_out:
        yield _left_out(result)


def targets_table(result: Result) -> Table:
    """Return what must be shown, and what was."""
    rows = [
        (
            each.what,
            f"{'≤' if each.most else '≥'} {each.wanted:g}",
            f"{each.found:.3f}".rstrip("0").rstrip("."),
            each.met,
        )
        for each in result.targets()
    ]
    return Table("Targets", {"target": "", "wanted": ">", "found": ">", "met": ""}, rows, [_RULE])


def metrics_table(result: Result) -> Table:
    """Return a row for each metric: all cells at 95% in which something is promised."""
    found = [row for row in result.ours if row.confidence == 0.95]
    kinds = dict.fromkeys(row.kind for row in found)
    rows = [(_named(kind), *_summary([row for row in found if row.kind == kind])) for kind in kinds]
    notes = [
        f"Design {result.design}, {result.replications:,} runs a cell, seed {result.seed}; all "
        "cells at 95%, looked at after every batch.",
        _TOLD,
    ]
    return Table("By metric", {"metric": "", **_SUMMARY}, rows, notes)


def parts_table(result: Result) -> Table:
    """Return a row for each part: how often the design was right in its worst cells."""
    rows, places = [], []
    for part in result.parts:
        found = [row for row in result.of(part) if row.promised]
        if found:
            worst = min(found, key=lambda row: row.right - row.confidence)
            places.append(f"{part}: {_cell(worst)} {worst.right:.3f} (se {worst.right_se:.4f})")
            rows.append((part.value, *_summary(found)))
    notes = [f"The worst cells: {'; '.join(places) or 'none were finished'}.", _RULE]
    return Table("By part", {"part": "", **_SUMMARY}, rows, notes)


def _failing(result: Result) -> Table:
    rows = [
        (
            f"**{_cell(row)}**",
            row.part,
            row.items,
            row.right,
            row.right_se,
            row.too_low,
            row.too_high,
            row.labels,
            row.lean,
        )
        for row in sorted(result.failing, key=lambda row: row.right - row.confidence)
    ]
    columns = {
        "cell": "",
        "part": "",
        "items": ",",
        "right": ".3f",
        "se": ".4f",
        "too low": ".3f",
        "too high": ".3f",
        "labels": ",.0f",
        "lean": "+.2f",
    }
    notes = ["`too low`: the share of runs whose whole interval lies below the truth."]
    if not rows:
        notes = ["No cell fails."]
    return Table("Cells that fail", columns, rows, notes)


def _cell(row: Row) -> str:
    """Return what a cell is called."""
    at = "" if row.confidence == 0.95 else f" at {row.confidence:.0%}"
    batch = "" if row.batch == 20 else f", batches of {row.batch}"
    return f"{row.population}, {_named(row.metric)} {row.value:.4g} ±{row.delta:.3g}{at}{batch}"


def _named(metric: str) -> str:
    return metric.replace("_", " ").replace("f1", "F1")


def _summary(rows: Sequence[Row]) -> tuple[Value, ...]:
    """Return the values of `_SUMMARY` over some rows."""
    right = [row.right for row in rows]
    return (
        len(rows),
        sum(row.fails for row in rows),
        min(right),
        float(np.mean(right)),
        mean(row.against_limit for row in rows),
        mean(row.against_random for row in rows),
        mean(row.lean for row in rows),
        mean(row.lean_middle for row in rows),
    )


@dataclass(frozen=True)
class _Groups:
    """A table with a line for each group of a part's rows.

    `key` tells a row's group by a number and a word, which are in the columns of these names.
    """

    title: str
    number: str
    word: str
    key: Callable[[Row], tuple[float, str]]
    how: str = ">"
    note: str = ""

    def table(self, rows: Iterable[Row]) -> Table:
        """Return the table, in the order of the groups."""
        groups: dict[tuple[float, str], list[Row]] = {}
        for row in rows:
            groups.setdefault(self.key(row), []).append(row)
        lines = [(*place, *_summary(found)) for place, found in sorted(groups.items())]
        columns = {self.number: self.how, self.word: "", **_SUMMARY}
        return Table(self.title, columns, lines, [self.note] if self.note else [])


def _by_delta(title: str, note: str = "") -> _Groups:
    return _Groups(title, "±delta", "metric", lambda row: (row.delta, _named(row.kind)), note=note)


_GROUPED = {
    Part.SIZES: _Groups(
        "The grid's worst cells again, on another seed",
        "items",
        "batches",
        lambda row: (row.items, f"of {row.batch}"),
        ",",
    ),
    Part.CONFIDENCES: _Groups(
        "Other confidences",
        "confidence",
        "metric",
        lambda row: (row.confidence, _named(row.metric)),
        ".0%",
    ),
    Part.BATCHES: _Groups(
        "Batches", "labels a batch", "metric", lambda row: (row.batch, _named(row.metric))
    ),
    Part.TWO_SIDED: _by_delta("Random classifiers with errors on both sides"),
    Part.DIFFERENCES: _by_delta(
        "Differences of two classifiers",
        "The metric of one classifier less that of another. Random sampling labels items that the "
        "metric of either is about, and is estimated by what the two say.",
    ),
    Part.JOINT: _by_delta(
        "Several targets from the same labels",
        "A cell is a target of an evaluation of two classifiers.",
    ),
    Part.HELD_OUT: _by_delta("Held-out random populations"),
}


def _by_goal(title: str, rows: Sequence[Row]) -> Table:
    """Return a line a metric: the least coverage at each delta, and how many cells fail of all."""
    deltas = sorted({row.delta for row in rows})
    lines = []
    for metric in dict.fromkeys(row.metric for row in rows):
        mine = [row for row in rows if row.metric == metric]
        at = [[row for row in mine if row.delta == delta] for delta in deltas]
        lines.append((_named(metric), *map(_least_and_fails, at), *_summary(mine)[4:7]))
    columns = {
        "metric": "",
        **{f"±{delta:g}": ">" for delta in deltas},
        **{name: _SUMMARY[name] for name in ("/ limit", "/ random", "lean")},
    }
    notes = ["The least coverage, and in brackets how many cells fail of how many."]
    return Table(title, columns, lines, notes)


def _least_and_fails(rows: Sequence[Row]) -> str | None:
    if not rows:
        return None
    fails = sum(row.fails for row in rows)
    least = f"{min(row.right for row in rows):.3f}"
    return f"{f'**{least}**' if fails else least} ({fails}/{len(rows)})"


def _grid(result: Result) -> Table:
    found = result.of(Part.GRID)
    deltas = sorted({row.delta for row in found})
    precisions = sorted({round(row.value, 6) for row in found})
    rows = [
        (f"{precision:g}", *(_least_and_labels(found, precision, delta) for delta in deltas))
        for precision in precisions
    ]
    columns = {"precision": "", **{f"±{delta:g}": ">" for delta in deltas}}
    notes = ["The least coverage over the six shapes, and in brackets the mean labels."]
    return Table("The grid", columns, rows, notes)


def _least_and_labels(rows: Sequence[Row], precision: float, delta: float) -> str | None:
    here = [row for row in rows if (round(row.value, 6), row.delta) == (precision, delta)]
    if not here:
        return None
    return f"{min(row.right for row in here):.3f} ({_labels(here):,.0f})"


def _labels(rows: Sequence[Row]) -> float:
    return float(np.mean([row.labels for row in rows]))


def _modes(result: Result) -> Table:
    groups: dict[tuple[float, float, str], list[Row]] = {}
    for row in result.rows:
        if row.part == Part.MODES:
            groups.setdefault((round(row.value, 6), row.delta, row.design), []).append(row)
    ours = {key[:2]: _labels(rows) for key, rows in groups.items() if key[2] == "default"}
    rows = []
    for (value, delta, design), found in sorted(groups.items(), key=lambda item: item[0][:2]):
        worst = min(found, key=lambda row: row.right)
        rows.append(
            (
                f"{value:g}",
                delta,
                design,
                _labels(found),
                _labels(found) / ours[value, delta] if (value, delta) in ours else None,
                min(row.coverage for row in found),
                min(row.within for row in found),
                worst.population,
                sum(row.fails for row in found),
            )
        )
    columns = {
        "precision": "",
        "±delta": ">",
        "design": "",
        "labels": ",.0f",
        "/ default": ".2f",
        "least coverage": ".3f",
        "least within": ".3f",
        "worst shape": "",
        "fail": ">",
    }
    notes = [
        "Labels are means over the six shapes; the shares are those of the worst of them. `within` "
        "is the share of runs whose value itself is within delta of the truth. perc-opt is paper "
        "1's rule as published; random sampling has our interval."
    ]
    return Table("Modes, paper 1's rule and random sampling", columns, rows, notes)


def _replacement(result: Result) -> Table:
    found = result.of(Part.REPLACEMENT)
    table = _by_goal("Drawn with replacement", found)
    notes = list(table.notes)
    large = [row for row in found if row.items >= LARGE]
    share = mean(row.against_n_w for row in large)
    if share is not None:
        notes.append(
            f"Mean labels / n_W {share:.3f} over the {len(large)} cells of {LARGE:,} items or more."
        )
    topics = [
        row for row in found if row.population.startswith("arxiv15 ") and row.metric == "precision"
    ]
    for delta in sorted({row.delta for row in topics}):
        saving, reached = savings([row for row in topics if row.delta == delta])
        notes.append(
            f"arxiv15's precision ±{delta:g}: {saving:.1%} fewer labels than random sampling with "
            f"the same interval, {reached:.0%} of what is attainable."
        )
    return Table(table.title, table.columns, table.rows, notes)


def _small(result: Result) -> Table:
    found = result.of(Part.SMALL)
    shares = sorted({_wanted_share(row) for row in found})
    lines = []
    for items in sorted({row.items for row in found}):
        mine = [row for row in found if row.items == items]
        at = [[row for row in mine if _wanted_share(row) == share] for share in shares]
        labelled = float(np.mean([row.labels / row.items for row in mine]))
        lines.append((items, *map(_least_and_fails, at), labelled, mean(r.lean for r in mine)))
    columns = {
        "items": ",",
        **{f"{share:.0%}": ">" for share in shares},
        "labelled": ".0%",
        "lean": "+.2f",
    }
    notes = [
        "The least coverage by the share of the items that random sampling with a known answer "
        "would label, and in brackets how many cells fail of how many; `labelled` is the share "
        "that was labelled, on average."
    ]
    return Table("Small populations", columns, lines, notes)


def _wanted_share(row: Row) -> float:
    """Return the share of the items that n_W is, without replacement."""
    return 0.0 if row.n_w is None else round(1 / (1 + (row.items - 1) / row.n_w), 3)


def _unjudged(result: Result) -> Table:
    rows = sorted(
        result.of(Part.UNJUDGED),
        key=lambda row: (row.unjudged_yes, row.unjudged_no, row.metric, row.reading),
    )
    groups: dict[tuple[str, float, str], list[Row]] = {}
    for row in rows:
        kind = "positives" if row.unjudged_yes else "negatives"
        share = max(row.unjudged_yes, row.unjudged_no)
        groups.setdefault((kind, share, _named(row.metric)), []).append(row)
    lines = []
    for place, found in groups.items():
        worst = [row for row in found if row.promised]
        interval = [row.coverage for row in found if not row.promised]
        lines.append(
            (
                *place,
                len(worst),
                sum(row.fails for row in worst),
                min((row.coverage for row in worst), default=None),
                mean(row.coverage for row in worst),
                mean(interval),
                mean(row.labels for row in worst),
            )
        )
    columns = {
        "cannot be judged": "",
        "share": ".0%",
        "metric": "",
        "cells": ">",
        "fail": ">",
        "worst case holds, least": ".3f",
        "mean": ".3f",
        "interval holds, mean": ".3f",
        "labels": ",.0f",
    }
    notes = [
        "A share of one kind is never judged. The truth is about all items; the interval takes "
        "those to be like the others of their stratum, and promises nothing here."
    ]
    return Table("Items that nobody can judge", columns, lines, notes)


def _left_out(result: Result) -> Table:
    counts = Counter((each.part, _named(each.metric), each.why) for each in result.left_out)
    rows = [(*place, number) for place, number in counts.items()]
    columns = {"part": "", "metric": "", "why": "", "cells": ">"}
    return Table("What was left out", columns, rows, ["left-out.csv has each of them."])
