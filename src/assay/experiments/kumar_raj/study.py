"""Kumar and Raj, *Classifier Risk Estimation under Limited Labeling Resources*, section 4."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import InputError
from assay.experiments.data import NamedPopulation, generated_classifiers, kumar_raj_stand_ins
from assay.experiments.kumar_raj import figures as kumar_raj_figures
from assay.experiments.kumar_raj.cells import (
    ALLOCATIONS,
    BUDGETS,
    EXAMPLE_LABELS,
    Facts,
    Row,
    cells,
    measure,
)
from assay.experiments.kumar_raj.result import Reduction, reductions
from assay.experiments.tables import Table
from assay.predictions import read_labelled
from assay.simulation import Population

_BLURRED = "epsilon (blurred)"


@dataclass(frozen=True)
class Result:
    """What was measured.

    Attributes
    ----------
    populations : tuple of Facts
        Those of Figures 2 to 8.
    classifiers : tuple of Facts
        Those of Figure 9, best first.
    rows : tuple of Row
        One a design, population and budget.
    reductions : tuple of Reduction
    replications, seed : int
    """

    populations: tuple[Facts, ...]
    classifiers: tuple[Facts, ...]
    rows: tuple[Row, ...]
    reductions: tuple[Reduction, ...]
    replications: int
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return asdict(self)


def run(
    folder: Path | None = None,
    *,
    replications: int = 3000,
    seed: int = 1,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Replay section 4 of paper 2.

    Parameters
    ----------
    folder : Path, optional
        Where the populations are that stand in for the paper's; otherwise three classifiers are
        generated.
    replications : int
        Runs of every design at every budget.
    seed : int
        Fixes all numbers, whatever the number of workers.
    workers : int, optional
        Processes; otherwise one a core.
    progress : callable, optional
        Told the share that is done.
    """
    if replications < 2:
        raise InputError(f"replications must be at least 2, got {replications}")
    if folder is None:
        found = generated_classifiers(seed)
        names = compared = [each.name for each in found]
    else:
        found = [*kumar_raj_stand_ins(folder), _blurred(folder)]
        names = ["rcv1", "epsilon", "news20"]
        compared = ["epsilon", "epsilon (weaker)", _BLURRED]
    known = {each.name: each.population for each in found}
    facts = {name: Facts.of(name, population) for name, population in known.items()}
    rows = measure(
        known,
        cells(names, compared),
        replications=replications,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    saved = [each for name in names for each in reductions(facts[name], ALLOCATIONS, rows)]
    return Result(
        tuple(facts[name] for name in names),
        tuple(facts[name] for name in compared),
        rows,
        tuple(saved),
        replications,
        seed,
    )


def _blurred(folder: Path) -> NamedPopulation:
    """Return the paper's weakest classifier, of accuracy 0.67.

    The paper trained one on less data. Scores are all there is here, so those of the logistic
    regression are blurred until it is as often wrong: normal noise of standard deviation 1.5, on
    margins that have 1.9 themselves.
    """
    scored = read_labelled(
        folder / "covtype_binary.parquet", label="label", score="score_logreg", threshold=0.0
    )
    noise = np.random.default_rng(9).normal(0.0, 1.5, scored.score.size)
    blurred = Population(y_true=scored.truth, y_score=scored.score + noise, threshold=0.0)
    return NamedPopulation(_BLURRED, blurred)


def write(result: Result, folder: Path) -> list[Path]:
    """Write the tables (Markdown and CSV), all rows (CSV) and the figures; return the files."""
    figures = kumar_raj_figures.draw(result.populations, result.classifiers, result.rows, folder)
    return [*write_tables(result, folder), *figures]


def write_tables(result: Result, folder: Path) -> list[Path]:
    """Write the tables and all rows; return the files."""
    return [
        *reductions_table(result).write(folder, "kumar-raj-reductions"),
        *truth_table(result).write(folder, "kumar-raj-estimated-and-true"),
        _write_rows(result.rows, folder / "kumar-raj-rows.csv"),
    ]


def _write_rows(rows: Sequence[Row], file: Path) -> Path:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(field.name for field in fields(Row))
        writer.writerows(astuple(row) for row in rows)
    return file


def reductions_table(result: Result) -> Table:
    """Return the labels saved at a mean absolute error, with the paper's figures beside ours."""
    columns = {
        "population": "",
        "allocation": "",
        "strata": "",
        "MAE": ".1%",
        "random": ",.0f",
        "labels": ",.0f",
        "saved %": ".1f",
        "paper's %": ".1f",
    }
    rows = [
        (
            each.population,
            each.design,
            each.strata.upper(),
            each.target,
            each.random_labels,
            each.labels,
            each.reduction_pct,
            each.paper_pct,
        )
        for each in result.reductions
    ]
    notes = [
        f"{result.replications:,} runs. MAE: mean absolute error. – under labels: no budget up to "
        f"{max(BUDGETS):,} was enough; – under the paper's: it gives none. Smoothed: Assay's "
        "addition, with rates that are never taken to be 0 or 1."
    ]
    return Table("Labels saved at a mean absolute error (Kumar and Raj)", columns, rows, notes)


def truth_table(result: Result) -> Table:
    """Return what the designs say about themselves beside what they do, at 200 labels."""
    columns = {
        "population": "",
        "allocation": "",
        "strata": "",
        "MVR": ".2f",
        "variance": ".2f",
        "squared error": ".2f",
        "least possible": ".2f",
        "bias": "+.4f",
        "MAE": ".4f",
    }
    names = [each.name for each in result.populations]
    rows = [
        (
            row.population,
            row.setting.name,
            row.strata.upper(),
            row.mvr,
            row.variance_ratio,
            row.error_ratio,
            row.least_ratio,
            row.bias,
            row.mae,
        )
        for row in result.rows
        if row.labels == EXAMPLE_LABELS and row.setting in ALLOCATIONS and row.population in names
    ]
    notes = [
        f"{EXAMPLE_LABELS} labels, {result.replications:,} runs. MVR, variance, squared error and "
        "the least possible variance are ratios to random sampling's A(1 - A)/n. MVR is the mean "
        "of what the runs estimated, as published; the two beside it are what the runs did."
    ]
    return Table("Estimated and true variance (Kumar and Raj)", columns, rows, notes)
