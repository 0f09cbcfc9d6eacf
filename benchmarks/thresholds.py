"""Thresholds that keep a floor under precision: Assay beside MAPIE, from as many labels.

    python -m benchmarks.thresholds DATA                        # eight cells, 1,000 labels
    python -m benchmarks.thresholds DATA --labels 300 1000 3000 --runs 300 --cells 0 1

    pip install mapie

MAPIE may be missing; it is then left out, and the output says so.

DATA is a folder of Parquet files with columns label (or label_C) and score_C, the scores log-odds.
Every way has the same number of labels, and the truth is the same. Assay's campaign chooses items;
`random` is its bets on items drawn at random. MAPIE's BinaryClassificationController is handed
labels of items drawn at random without replacement and the probabilities that belong to the scores,
at the same confidence: as it comes (100 thresholds, Bonferroni and Holm), and with its fixed
sequence of the same thresholds from the highest on, with ten starts.

`certified` is the share of runs with a threshold, `wrong` that in which any threshold that was said
to keep the floor does not, and `of best` the recall at the chosen one over the recall of the best
of all distinct scores, 0 where there is none: means of all runs.
"""

import argparse
import warnings
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, ndtr

from assay.core.design import Design
from assay.core.goal import ThresholdQuestion
from assay.core.types import Bools, Floats
from assay.predictions import read_labelled
from assay.simulation import Population, simulate
from assay.simulation.thresholds import Thresholds

SEED, CONFIDENCE = 20261117, 0.95
GOAL = 0.80  # of the best recall, at 1,000 labels
_Z = 1.645  # of a one-sided test at that confidence


class Cell(NamedTuple):
    """A classifier, and the precision that its threshold has to keep."""

    file: str
    classifier: str
    floor: float


CELLS = (
    Cell("arxiv15", "physics", 0.85),
    Cell("arxiv15", "hep-ph", 0.90),
    Cell("arxiv15", "math", 0.95),
    Cell("arxiv15", "cs", 0.90),
    Cell("offensive_mix", "cnn", 0.95),
    Cell("covtype_binary", "hgb", 0.90),
    Cell("adult_hgb", "c", 0.80),
    Cell("news20_binary", "logreg", 0.97),
)


class Found(NamedTuple):
    """How one way fared."""

    way: str
    runs: int
    certified: float
    wrong: float
    share_of_best: float


def read(folder: Path, cell: Cell) -> tuple[Floats, Bools]:
    """Return the scores and the truth of a cell."""
    label = f"label_{cell.classifier}" if cell.file == "arxiv15" else "label"
    found = read_labelled(
        folder / f"{cell.file}.parquet",
        label=label,
        score=f"score_{cell.classifier}",
        threshold=0.0,
    )
    return found.score, found.truth


def limits_of_one_look(population: Population, floor: float, labels: int) -> tuple[float, float]:
    """Return the shares of the best recall that one look with the best allocation has.

    Threshold t is within reach where precision(t) - floor >= z sum_h W_h sigma_h / sqrt(labels):
    Neyman's allocation with the true rates of the strata, a single test at the end, and t known.
    The first is the recall of the last that is within reach, which that look shows in half of all
    runs. The second is what it has on average: the most of recall(t) times the chance to show t.

    Parameters
    ----------
    population : Population
    floor : float
    labels : int
    """
    frame = population.ladder(Design.ladder())
    sizes, positives = frame.sizes[::-1], frame.outcomes[::-1]
    told = Thresholds(sizes, positives)
    rates = positives / sizes
    above = np.cumsum(sizes)
    error = np.cumsum(sizes * np.sqrt(rates * (1 - rates))) / above / np.sqrt(labels)
    error *= np.sqrt(np.maximum(1 - labels / above, 0.0))
    best = population.thresholds().best(ThresholdQuestion((("precision", floor),), "recall"))
    if not best:
        return 0.0, 0.0
    over = (told.precision - floor) / np.maximum(error, 1e-12) - _Z
    reached = told.recall[over >= 0].max(initial=0.0)
    return float(reached / best), float((told.recall * ndtr(over)).max() / best)


def of_assay(population: Population, cell: Cell, labels: int, runs: int) -> Iterator[Found]:
    """Yield how campaigns and random sampling with the same bets fared."""
    result = simulate(
        population,
        threshold_for=f"precision >= {cell.floor}",
        budget=labels,
        confidence=CONFIDENCE,
        replications=runs,
        seed=SEED,
        workers=1,
    )
    for row in result.rows:
        name = "Assay" if row.design == "default" else row.design
        yield Found(name, runs, row.certified, row.wrong, row.share_of_best or 0.0)


class Mapie:
    """MAPIE's controller on labels of items drawn at random.

    Parameters
    ----------
    name : str
    method
        How it allows for trying many thresholds: a name, or one of its procedures.
    thresholds : array
        Probabilities, in the order that they are tried in.
    """

    def __init__(self, name: str, method: object, thresholds: Floats) -> None:
        self.name, self._method, self._thresholds = name, method, thresholds
        self._made = import_module("mapie.risk_control").BinaryClassificationController

    def run(
        self, score: Floats, truth: Bools, cell: Cell, *, labels: int, runs: int, best: float
    ) -> Found:
        """Return how it fared.

        Parameters
        ----------
        score, truth : array, shape (N,)
        cell : Cell
        labels, runs : int
        best : float
            The recall of the best threshold.
        """
        chance = expit(score)
        certified, wrong, recall = np.zeros(runs), np.zeros(runs), np.zeros(runs)
        ordered = np.sort(chance)
        hits = np.sort(chance[truth])
        for run in range(runs):
            rng = np.random.default_rng([SEED, labels, run])
            drawn = rng.choice(score.size, min(labels, score.size), replace=False)
            controller = self._made(
                predict_function=_probabilities,
                risk="precision",
                target_level=cell.floor,
                confidence_level=CONFIDENCE,
                list_predict_params=self._thresholds,
                fwer_method=self._method,
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                controller.calibrate(chance[drawn, None], truth[drawn].astype(int))
            valid = np.atleast_1d(np.asarray(controller.valid_predict_params, dtype=np.float64))
            if valid.size == 0 or controller.best_predict_param is None:
                continue
            certified[run] = 1.0
            positives, said = _above(hits, valid), _above(ordered, valid)
            wrong[run] = (positives < cell.floor * said).any()
            chosen = np.atleast_1d(np.asarray(controller.best_predict_param, dtype=np.float64))
            recall[run] = _above(hits, chosen)[0] / hits.size
        shares = certified.mean(), wrong.mean(), recall.mean() / best
        return Found(self.name, runs, *(float(share) for share in shares))


def _probabilities(chances: Any) -> Floats:
    told = np.asarray(chances, dtype=np.float64)[:, 0]
    return np.column_stack([1 - told, told])


def _above(ordered: Floats, thresholds: Floats) -> Floats:
    return np.asarray(ordered.size - np.searchsorted(ordered, thresholds), dtype=np.float64)


def mapies() -> list[Mapie]:
    """Return MAPIE as it comes and with its fixed sequence; nothing where it is missing."""
    try:
        print(f"MAPIE {metadata.version('mapie')}")
    except metadata.PackageNotFoundError:
        print("MAPIE is not installed, and left out: pip install mapie")
        return []
    usual = np.linspace(0, 0.99, 100)
    in_order = import_module("mapie.risk_control.fwer_control").FWERFixedSequenceTesting
    return [
        Mapie("MAPIE", "bonferroni_holm", usual),
        Mapie("MAPIE, in order", in_order(n_starts=10), usual[::-1].copy()),
    ]


def main() -> None:
    """Print a table for each number of labels."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--labels", type=int, nargs="+", default=[1000])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--mapie-runs", type=int, default=200)
    parser.add_argument("--cells", type=int, nargs="+", default=list(range(len(CELLS))))
    given = parser.parse_args()
    others = mapies()
    for labels in given.labels:
        print(f"\n{labels:,} labels\n", flush=True)
        print("| cell | way | runs | certified | wrong | of best |")
        print("|---|---|---|---|---|---|")
        for number in given.cells:
            cell = CELLS[number]
            score, truth = read(given.data, cell)
            population = Population(y_true=truth, y_score=score, threshold=0.0)
            question = ThresholdQuestion.parse(f"precision >= {cell.floor}")
            best = population.thresholds().best(question) or 1.0
            name = f"{cell.file} {cell.classifier} >= {cell.floor:.2f}"
            told = [*of_assay(population, cell, labels, given.runs)]
            for other in others:
                runs = min(given.runs, given.mapie_runs)
                told.append(other.run(score, truth, cell, labels=labels, runs=runs, best=best))
            for each in reversed(told):
                shares = (each.certified, each.wrong, each.share_of_best)
                figures = " | ".join(f"{share:.3f}" for share in shares)
                print(f"| {name} | {each.way} | {each.runs:,} | {figures} |")
            reach, mean = limits_of_one_look(population, cell.floor, labels)
            print(f"| {name} | one look, the best within reach | | | | {reach:.3f} |")
            print(f"| {name} | one look, on average | | | | {mean:.3f} |", flush=True)


if __name__ == "__main__":
    main()
