"""Paper 3's tables, with the paper's figures beside ours, and the same as plain values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from assay.core.types import Floats
from studies.recycling.ensembles import Ensembles
from studies.recycling.joint import Joint, PairRow
from studies.recycling.populations import MODELS, NamedEnsemble
from studies.recycling.table1 import PAPER, PAPER_ERROR, PAPER_MEAN_SAVINGS, Table1
from studies.tables import Table


def short_table1(table1: Table1) -> Table:
    """Return Table 1 for a narrow screen."""
    columns = {
        "PIR": ".2f",
        "CIR": ".2f",
        "savings": ".2f",
        "paper's": ".2f",
        "5.1's": ".2f",
        "coordinated": ".2f",
        "error": ".2f",
        "paper's error": ".2f",
    }
    rows = [
        (
            row.pir,
            row.cir,
            row.savings_mean,
            paper.savings_mean,
            row.against_random_mean,
            row.coordinated_mean,
            row.error_mean,
            paper.error_mean,
        )
        for row in table1.rows
        for paper in [PAPER[row.pir, row.cir]]
    ]
    return Table("Recycled samples, Table 1: means in %", columns, rows, _notes(table1))


def table1_table(table1: Table1) -> Table:
    """Return Table 1 in full."""
    columns = {
        name: ".2f"
        for heading in ("savings", "2.5th", "97.5th", "error", "error sd")
        for name in (heading, f"paper's {heading}")
    }
    columns = {"PIR": ".2f", "CIR": ".2f"} | columns | {"5.1's": ".2f", "coordinated": ".2f"}
    rows = []
    for row in table1.rows:
        paper = PAPER[row.pir, row.cir]
        pairs = [
            (row.savings_mean, paper.savings_mean),
            (row.savings_low, paper.savings_low),
            (row.savings_high, paper.savings_high),
            (row.error_mean, paper.error_mean),
            (row.error_sd, paper.error_sd),
        ]
        ours = (row.against_random_mean, row.coordinated_mean)
        rows.append((row.pir, row.cir, *(value for pair in pairs for value in pair), *ours))
    title = "Savings and precision errors by overlap, % (recycled samples, Table 1)"
    return Table(title, columns, rows, _notes(table1))


def _notes(table1: Table1) -> list[str]:
    error, paper = table1.errors["recycle-shuffle"], PAPER_ERROR["recycle-shuffle"]
    random, paper_random = table1.errors["random"], PAPER_ERROR["random"]
    return [
        f"Over all 361 combinations: mean savings {table1.mean_savings:.2f} (paper "
        f"{PAPER_MEAN_SAVINGS}); as section 5.1 counts {table1.mean_against_random:.2f}; "
        f"coordinated {table1.mean_coordinated:.2f}.",
        f"Precision error: mean {error.mean:.3f} (paper {paper.mean}), deviation {error.sd:.3f} "
        f"({paper.sd}); random sampling {random.mean:.3f} ({paper_random.mean}), {random.sd:.3f} "
        f"({paper_random.sd}).",
    ]


def surface_table(table1: Table1) -> Table:
    """Return the mean savings of all combinations: Figure 3."""
    columns = {"PIR": ".2f", "CIR": ".2f", "savings": ".2f", "5.1's": ".2f", "coordinated": ".2f"}
    rows = [
        (row.pir, row.cir, row.savings_mean, row.against_random_mean, row.coordinated_mean)
        for row in table1.surface
    ]
    return Table("Mean savings by overlap, % (recycled samples, Figure 3)", columns, rows)


def figure2_table(figure2: Ensembles) -> Table:
    """Return the quartiles that Figure 2 draws."""
    columns = {"measure": "", "model": "", "algorithm": ""}
    numbers = dict.fromkeys(("lowest", "quarter", "median", "three quarters", "highest"), ".2f")
    rows = [
        (measure, model, algorithm, *summary.values())
        for measure, models in figure2_dict(figure2).items()
        if measure != "labels"
        for model, algorithms in models.items()
        for algorithm, summary in algorithms.items()
    ]
    title = "Savings and errors on random ensembles, % (recycled samples, Figure 2)"
    return Table(title, columns | numbers, rows)


def figure2_dict(figure2: Ensembles) -> dict[str, Any]:
    """Return the quartiles by measure, model and algorithm, and the mean labels in all."""
    measures = ("savings", "error", "interval_error")
    return {
        measure: {
            model: {
                algorithm: _summary(getattr(runs, measure)[:, number])
                for algorithm, runs in figure2.runs.items()
            }
            for number, model in enumerate(MODELS)
        }
        for measure in measures
    } | {"labels": figure2.labels}


def _summary(values: Floats) -> dict[str, float]:
    names = ("low", "quarter", "median", "three_quarters", "high")
    return dict(zip(names, np.percentile(values, [0, 25, 50, 75, 100]).tolist(), strict=True))


def labels_table(figure2: Ensembles, table2: Ensembles) -> Table:
    """Return the mean labels of all four classifiers together."""
    rows = [
        (algorithm, labels, table2.labels[algorithm])
        for algorithm, labels in figure2.labels.items()
    ]
    columns = {"algorithm": "", "random ensembles": ",.0f", "section 5.4's": ",.0f"}
    notes = [
        "1,100 labels for each of MVE and its three models, or the best sizes: what +-0.03 at "
        "95% needs at the true precision."
    ]
    return Table("Labels for four precisions (recycled samples)", columns, rows, notes)


def joint_table(joint: Joint) -> Table:
    """Return how often the joint design was right, and what it cost."""
    rows = [(name, share, joint.coverage[name]) for name, share in joint.within.items()]
    notes = [
        f"{joint.labels:,.0f} labels on average, {joint.replications} runs of each trial: "
        f"{joint.labels_vs_recycle:.1%} of recycle-shuffle's with 1,100 each (with the true rates "
        f"known {joint.least_vs_recycle:.1%} would do), {joint.labels_vs_best_recycle:.1%} of its "
        f"labels with the best sizes ({joint.least_vs_best_recycle:.1%})."
    ]
    columns = {"classifier": "", "within +-0.03": ".4f", "interval right": ".4f"}
    return Table("Four precisions at once by the joint design", columns, rows, notes)


def pairs_table(pairs: Sequence[PairRow]) -> Table:
    """Return the joint design's labels beside recycled samples', by overlap."""
    columns = {"PIR": ".2f", "CIR": ".2f", "joint": ",.0f", "recycled": ",.0f", "share": ".1%"}
    rows = [
        (row.pir, row.cir, row.labels, row.recycled, row.labels / row.recycled) for row in pairs
    ]
    notes = ["Labels for the precisions of parent and child within +-0.03 at 95%."]
    return Table("A parent and a child at once by the joint design", columns, rows, notes)


def table2_dict(real: NamedEnsemble, table2: Ensembles) -> dict[str, Any]:
    """Return of each model its size and precision, and of each algorithm the extremes."""
    return {
        name: {
            "size": int(real.cells.sizes[real.cells.says_yes(model)].sum()),
            "precision": real.cells.precision(model),
            "algorithms": {
                algorithm: {
                    "error_min": float(runs.error[:, model].min()),
                    "error_max": float(runs.error[:, model].max()),
                    "savings_min": float(runs.savings[:, model].min()),
                    "savings_max": float(runs.savings[:, model].max()),
                }
                for algorithm, runs in table2.runs.items()
            },
        }
        for model, name in enumerate(real.models)
    }


def table2_table(real: NamedEnsemble, table2: Ensembles) -> Table:
    """Return Table 2."""
    columns = {
        "model": "",
        "predicted positive": ",.0f",
        "algorithm": "",
        "least error": ".2f",
        "largest error": ".2f",
        "least savings": ".2f",
        "largest savings": ".2f",
    }
    rows = [
        (name, found["size"], algorithm, *values.values())
        for name, found in table2_dict(real, table2).items()
        for algorithm, values in found["algorithms"].items()
    ]
    runs = next(iter(table2.runs.values())).error.shape[0]
    notes = [
        f"In %, over {runs:,} runs of 1,100 labels each; the joint design's are as many as it asks "
        "for."
    ]
    return Table("An ensemble and its models (recycled samples, Table 2)", columns, rows, notes)
