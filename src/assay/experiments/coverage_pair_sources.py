"""Pairs of classifiers: made ones, and those of a folder."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.core.types import Floats
from assay.experiments.coverage_pairs import Pair

__all__ = ["made_pairs", "real_pairs"]

_MADE_ITEMS = 100_000
_MISFILED = 0.015  # items that no classifier can be right about


@dataclass(frozen=True)
class _Recipe:
    """Two scores: the item's own value, and noise of which a share is the same in both."""

    noise: tuple[float, float]
    thresholds: tuple[float, float] = (0.0, 0.0)
    shared: float = 0.3
    positive_from: float = 0.0


_RECIPES = {
    "made alike": _Recipe(noise=(0.5, 0.5)),
    "made better": _Recipe(noise=(0.25, 0.7)),
    "made near twins": _Recipe(noise=(0.4, 0.45), shared=0.97),
    "made lenient, strict": _Recipe(noise=(0.4, 0.4), thresholds=(-0.3, 0.6)),
    "made strict, lenient": _Recipe(noise=(0.3, 0.5), thresholds=(0.8, 0.2), shared=0.0),
    "made of rare positives": _Recipe(noise=(0.3, 0.4), thresholds=(1.8, 1.8), positive_from=1.6),
}


@lru_cache(maxsize=1)
def made_pairs(seed: int) -> list[Pair]:
    """Return pairs of noisy scores of the same truth: alike, better, nearly the same, and others.

    Examples
    --------
    >>> better = made_pairs(seed=1)[2]
    >>> better.name, better.metric, round(better.value, 2)
    ('made better', 'precision', 0.12)
    """
    pairs: list[Pair] = []
    for number, (name, recipe) in enumerate(_RECIPES.items()):
        rng = np.random.default_rng([seed, number, 3])
        own = rng.standard_normal(_MADE_ITEMS)
        truth = (own > recipe.positive_from) ^ (rng.random(_MADE_ITEMS) < _MISFILED)
        both = np.sqrt(recipe.shared) * rng.standard_normal(_MADE_ITEMS)
        rest = np.sqrt(1 - recipe.shared)
        first, second = (
            own + noise * (both + rest * rng.standard_normal(_MADE_ITEMS)) for noise in recipe.noise
        )
        predicted = first > recipe.thresholds[0], second > recipe.thresholds[1]
        pairs += _of_both_metrics(Pair(name, "precision", truth, (first, second), predicted))
    return pairs


@lru_cache(maxsize=1)
def real_pairs(folder: Path) -> list[Pair]:
    """Return the neighbours among the classifiers of each file that has the truth in ``label``."""
    return [pair for file in sorted(folder.glob("*.parquet")) for pair in _of_file(file)]


def _of_file(file: Path) -> Iterator[Pair]:
    columns = pq.read_schema(file).names
    names = [column.removeprefix("score_") for column in columns if column[:6] == "score_"]
    if "label" not in columns:
        return
    table = pq.read_table(file)

    def of(name: str) -> Floats:
        return np.asarray(table[name].to_numpy())

    for first, second in pairwise(names):
        both = (first, second)
        scores = [of(f"score_{name}").astype(np.float64) for name in both]
        predicted = [of(f"pred_{name}").astype(np.bool_) for name in both]
        yield from _of_both_metrics(
            Pair(
                f"{file.stem} {first} - {second}",
                "precision",
                of("label").astype(np.bool_),
                (scores[0], scores[1]),
                (predicted[0], predicted[1]),
            )
        )


def _of_both_metrics(pair: Pair) -> tuple[Pair, Pair]:
    return pair, replace(pair, metric="accuracy")
