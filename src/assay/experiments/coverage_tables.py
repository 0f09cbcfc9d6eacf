"""The coverage study's tables."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assay.experiments.coverage_cells import Row
from assay.experiments.coverage_plan import Part
from assay.experiments.coverage_result import LARGE, Result, savings
from assay.experiments.tables import Table

__all__ = ["every_table", "parts_table", "targets_table"]

_RULE = (
    "A cell fails when its share of right runs + 2 standard errors is below the confidence - 0.005 "
    "(0.945 at 95%). Of a hundred cells that are right just so often, two fail by chance."
)


def every_table(result: Result) -> Iterator[Table]:
    """Yield the tables that there are rows for."""
    yield targets_table(result)
    yield parts_table(result)
    makers: dict[Part, Callable[[Result], Table]] = {
        Part.GRID: _grid,
        Part.SIZES: _sizes,
        Part.CONFIDENCES: _confidences,
        Part.MODES: _modes,
        Part.REAL: _real,
        Part.METRICS: _metrics,
        Part.DIFFERENCES: _differences,
        Part.LOOKS: _looks,
        Part.HELD_OUT: _held_out,
    }
    for part in result.parts:
        yield makers[part](result)


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


def parts_table(result: Result) -> Table:
    """Return a row for each part: how often the design was right in its worst cells."""
    rows, places = [], []
    for part in result.parts:
        found = result.of(part)
        if found:
            worst = min(found, key=lambda row: row.right - row.confidence)
            places.append(
                f"{part} {worst.population}, {worst.metric} {worst.value:.4g} ±{worst.delta:g} "
                f"at {worst.confidence:.0%}"
            )
            excess = [row.right - row.confidence for row in found]
            rows.append(
                (
                    part.value,
                    len(found),
                    sum(row.fails for row in found),
                    worst.right,
                    worst.right_se,
                    float(np.quantile(excess, 0.05)),
                    float(np.mean([row.against_n_w for row in found])),
                    float(np.mean([row.against_limit for row in found])),
                    float(np.mean([row.against_random for row in found])),
                )
            )
    columns = {
        "part": "",
        "cells": ">",
        "fail": ">",
        "least": ".3f",
        "se": ".4f",
        "5%": "+.3f",
        "/ n_W": ".2f",
        "/ limit": ".2f",
        "/ random": ".2f",
    }
    notes = [
        f"Design {result.design}, {result.replications:,} runs a cell, seed {result.seed}. "
        "`least` is the worst cell's share of right runs, `5%` the cells' 5% quantile of that "
        "share less the confidence; the others are mean labels against what random sampling takes "
        "with a known answer, the limit of designs by score, and random sampling with the same "
        "interval.",
        f"The worst cells: {'; '.join(places) or 'none were finished'}.",
    ]
    return Table("How often it is right, and what it costs", columns, rows, notes)


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


_COST = {"labels": ",.0f", "/ n_W": ".2f", "/ limit": ".2f", "/ random": ".2f"}
_PLACE = {"population": "", "value": ".4f", "±delta": ">"}
_RIGHT = {"coverage": ".3f", "se": ".4f", "fails": ""}


def _cost(row: Row) -> tuple[float, float, float, float]:
    return row.labels, row.against_n_w, row.against_limit, row.against_random


def _place(row: Row) -> tuple[str, float, float]:
    return row.population, row.value, row.delta


def _right(row: Row) -> tuple[float, float, bool]:
    return row.coverage, row.coverage_se, row.fails


def _sizes(result: Result) -> Table:
    rows = [
        (*_place(row), row.items, row.batch, *_right(row), row.labels)
        for row in result.of(Part.SIZES)
    ]
    columns = {**_PLACE, "items": ",", "batch": ">", **_RIGHT, "labels": ",.0f"}
    return Table("The grid's worst cells again, on another seed", columns, rows)


def _confidences(result: Result) -> Table:
    found = result.of(Part.CONFIDENCES)
    rows = []
    for confidence in sorted({row.confidence for row in found}):
        here = [row for row in found if row.confidence == confidence]
        worst = min(here, key=lambda row: row.right)
        share = sum(row.fails for row in here)
        mean = float(np.mean([row.right for row in here]))
        rows.append((f"{confidence:g}", len(here), share, mean, *_right(worst)[:2], *_place(worst)))
    columns = {
        "confidence": "",
        "cells": ">",
        "fail": ">",
        "mean": ".3f",
        "least": ".3f",
        "se": ".4f",
        **_PLACE,
    }
    return Table("Other confidences", columns, rows)


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


def _labels(rows: Sequence[Row]) -> float:
    return float(np.mean([row.labels for row in rows]))


def _real(result: Result) -> Table:
    found = result.of(Part.REAL)
    rows = [(*_place(row), row.metric, row.replacement, *_cost(row), *_right(row)) for row in found]
    columns = {**_PLACE, "metric": "", "with replacement": "", **_COST, **_RIGHT}
    notes = []
    for replacement in (False, True):
        drawn = f"{'With' if replacement else 'Without'} replacement"
        here = [row for row in found if row.replacement == replacement]
        large = [row.against_n_w for row in here if row.items >= LARGE]
        if large:
            notes.append(
                f"{drawn}: mean labels / n_W {np.mean(large):.3f} over the {len(large)} cells of "
                f"at least {LARGE:,} items."
            )
        topics = [
            row
            for row in here
            if row.population.startswith("arxiv15 ") and row.metric == "precision"
        ]
        for delta in sorted({row.delta for row in topics}):
            saving, reached = savings([row for row in topics if row.delta == delta])
            notes.append(
                f"{drawn}, arxiv15's precision ±{delta:g}: {saving:.1%} fewer labels than random "
                f"sampling with the same interval, {reached:.0%} of what is attainable."
            )
    return Table("Real classifiers", columns, rows, notes)


def _metrics(result: Result) -> Table:
    rows = [
        (*_place(row), row.metric, *_cost(row), *_right(row)) for row in result.of(Part.METRICS)
    ]
    return Table("Other metrics", {**_PLACE, "metric": "", **_COST, **_RIGHT}, rows)


def _differences(result: Result) -> Table:
    rows = [
        (*_place(row), row.metric, *_cost(row), *_right(row)) for row in result.of(Part.DIFFERENCES)
    ]
    notes = [
        "The metric of one classifier less that of another. Random sampling labels items that the "
        "metric of either is about, and is estimated by what the two say."
    ]
    columns = {**_PLACE, "value": "+.4f", "metric": "", **_COST, **_RIGHT}
    return Table("Differences of two classifiers", columns, rows, notes)


def _looks(result: Result) -> Table:
    found = result.of(Part.LOOKS)
    thin = {(*_place(row), row.batch): row for row in found if row.thin}
    rows = [
        (
            *_place(row),
            row.batch,
            row.coverage,
            fewer.coverage,
            float(np.hypot(row.coverage_se, fewer.coverage_se)),
            row.labels,
            fewer.labels,
        )
        for row in found
        if not row.thin and (fewer := thin.get((*_place(row), row.batch))) is not None
    ]
    columns = {
        **_PLACE,
        "batch": ">",
        "coverage, all looks": ".3f",
        "fewer": ".3f",
        "se of the difference": ".4f",
        "labels, all looks": ",.0f",
        "fewer ": ",.0f",
    }
    notes = ["Fewer looks: one each 1% of the labels, where that is more than a batch."]
    return Table("Looking after every batch, and less often", columns, rows, notes)


def _held_out(result: Result) -> Table:
    rows = [(*_place(row), *_cost(row), *_right(row)) for row in result.of(Part.HELD_OUT)]
    return Table("Held-out random populations", {**_PLACE, **_COST, **_RIGHT}, rows)
