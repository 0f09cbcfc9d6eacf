"""What a second opinion saves in labels of several targets, and whether intervals hold with it.

    python -m benchmarks.second_opinion_of_several DATA              # five sets of targets, 40 runs
    python -m benchmarks.second_opinion_of_several DATA --runs 400 --sets 0 --second judge scores

DATA is a folder of Parquet files with columns label, score_A and pred_A of each classifier A. Every
run is a campaign with the default design: strata are cells of what the classifiers say, cut by the
mean rank and, at 100, 200, 400 labels and so on, by the model that a campaign would fit. Labels are
counted once, whether they are drawn again or not. A second opinion is a judge, whose column is 1 or
0 with normal noise of standard deviation 0.6 (it agrees with people on 80% of the items); or noise;
or a column that is right about 200 items alone; or nothing but the classifiers' own scores, each in
the place of the mean rank ("scores"), which a campaign does not do.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from assay.core.design import Design
from assay.core.error_model import RANK
from assay.core.goal import Goal
from assay.core.targets import parse_targets
from assay.core.types import Bools
from assay.simulation import Population
from assay.simulation.opined import OpinedItems
from assay.simulation.second_opinion import RecutRun

SECONDS = ("judge", "noise", "early", "scores")
_NOISE = 0.6


class Wanted(NamedTuple):
    """Classifiers of a file, and what is wanted of them."""

    file: str
    classifiers: tuple[str, ...]
    targets: tuple[str, ...]


SETS = (
    Wanted(
        "trec07_spam", ("nb", "logreg"), ("accuracy:nb within 0.01", "accuracy:logreg within 0.01")
    ),
    Wanted(
        "covtype_binary",
        ("logreg", "hgb"),
        ("precision:logreg within 0.02", "accuracy:hgb within 0.02"),
    ),
    Wanted(
        "offensive_mix",
        ("cnn", "logreg"),
        ("precision:cnn within 0.02", "precision:logreg within 0.02"),
    ),
    Wanted("covtype_binary", ("logreg", "hgb"), ("accuracy:hgb - accuracy:logreg within 0.02",)),
    Wanted("covtype_binary", ("hgb",), ("precision:hgb within 0.02", "recall:hgb within 0.02")),
)


def read(folder: Path, wanted: Wanted) -> Population:
    """Return the items, with a column for the second opinion."""
    table = pq.read_table(folder / f"{wanted.file}.parquet")
    truth = table["label"].to_numpy().astype(bool)
    names = wanted.classifiers
    return Population(
        y_true=truth,
        y_score={name: table[f"score_{name}"].to_numpy() for name in names},
        y_pred={name: table[f"pred_{name}"].to_numpy() for name in names},
        aux={"judge": np.zeros(truth.size)},
    )


def opined(items: OpinedItems, kind: str | None, rng: np.random.Generator) -> OpinedItems:
    """Return the items with a second opinion."""
    if kind is None:
        return items
    if kind == "scores":
        columns = {
            name: each for name, each in items.columns.items() if name not in (RANK, "judge")
        }
        return replace(items, own="rank", columns={**columns, "rank": items.score})
    told = rng.normal(size=items.positive.size)
    if kind == "judge":
        told = items.positive + _NOISE * told
    elif kind == "early":  # by the order without the column: with it there is another
        early = rng.permutation(told.size)[:200]
        told[early] = np.where(items.positive[early], 3.0, -3.0)
    return replace(items, columns={**items.columns, "judge": told})


def study(
    population: Population, wanted: Wanted, kind: str | None, runs: int
) -> Iterator[tuple[int, Bools]]:
    """Yield the labels of each run, and which intervals hold the truth."""
    goal = Goal(targets=parse_targets(wanted.targets, population.classifiers))
    truth = [population.value(target) for target in goal.targets]
    items = population.opined_cells()
    if items is None:
        raise ValueError(f"{wanted.file} was read without a second opinion")
    for number in range(runs):
        rng = np.random.default_rng([20261117, number])
        told = opined(items, kind, np.random.default_rng([number, 1]))
        run = RecutRun(told, Design(), goal, rng)
        _, last = run.run(recut=kind is not None)
        held = [
            bool(look.low[0] - 1e-12 <= value <= look.high[0] + 1e-12)
            for look, value in zip(last.looks, truth, strict=True)
        ]
        yield run.labels, np.array(held)


def main() -> None:
    """Print a line for each set of targets and second opinion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--sets", type=int, nargs="*", default=range(len(SETS)))
    parser.add_argument("--second", nargs="*", default=["judge", "noise"], choices=SECONDS)
    given = parser.parse_args()
    for number in given.sets:
        wanted = SETS[number]
        population = read(given.data, wanted)
        alone = 0.0
        for kind in (None, *given.second):
            began = perf_counter()
            labels, held = zip(*study(population, wanted, kind, given.runs), strict=True)
            mean, error = np.mean(labels), np.std(labels) / np.sqrt(given.runs)
            alone = float(mean) if kind is None else alone
            covers = ", ".join(f"{share:.3f}" for share in np.mean(held, axis=0))
            print(
                f"{wanted.file} {'; '.join(wanted.targets)}, {kind or 'alone'}: "
                f"{mean:,.0f} ±{error:.0f} labels, {mean / alone:.3f} of those without; "
                f"covers {covers}; {(perf_counter() - began) / given.runs:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
