"""What the coverage study evaluates: populations of a shape, random ones, and real classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.core.metrics import ratio
from assay.core.types import Floats
from assay.design import Design
from assay.errors import InputError
from assay.experiments.coverage_shapes import (
    NO_SIGNAL,
    SHAPES,
    least_share,
    ranks,
    spread_errors,
    surprise,
)
from assay.experiments.data import NamedPopulation, generated_classifiers
from assay.simulation import Frame, Population

__all__ = ["MILLION", "Subject", "classifiers", "of_classifier", "of_shape", "random_subject"]

MILLION = 1_000_000
_PROFILED = 100_000  # ranks that stand for a million items


@dataclass(frozen=True, eq=False)
class Subject:
    """A population and a metric to be estimated on it.

    Attributes
    ----------
    name : str
    metric : str
    population : Population
    copies : int
        How often each of its items is there: a million items cost no more than their ranks.
    limit : float
        The share of random sampling's labels that a design by score must spend.
    twin : str
        The name of a subject on which random sampling, blind to the score, fares the same.
    """

    name: str
    metric: str
    population: Population
    copies: int
    limit: float
    twin: str

    @property
    def value(self) -> float:
        """The metric's true value."""
        return self.population.value(self.metric)

    @property
    def random_variance(self) -> float:
        """The metric's variance under simple random sampling, times the labels."""
        return self.population.random_variance(self.metric)

    @property
    def items(self) -> int:
        """Items that the metric is about."""
        frame = self.population.frame(Design.simple_random(), self.metric)
        return self.copies * int(frame.sizes.sum())

    def frame(self, design: Design) -> Frame:
        """Cut it as the design does."""
        frame = self.population.frame(design, self.metric)
        if self.copies == 1:
            return frame
        sizes, outcomes = self.copies * frame.sizes, self.copies * frame.outcomes
        form = ratio(self.metric, sizes, frame.strata.says_yes)
        return replace(frame, metric=form, sizes=sizes, outcomes=outcomes)


@lru_cache(maxsize=256)
def of_shape(shape: str, precision: float, items: int = MILLION) -> Subject:
    """Return predicted positives of a precision whose errors lie in a shape over the score.

    Examples
    --------
    >>> subject = of_shape("uniform", 0.9)
    >>> subject.items, round(subject.value, 6), round(subject.limit, 2)
    (1000000, 0.9, 0.71)
    """
    size = min(items, _PROFILED)
    r = ranks(size)
    rates = SHAPES[shape](r, 1 - precision)
    return _positives(shape, r, rates, items // size, twin=NO_SIGNAL)


def random_subject(number: int, seed: int) -> Subject:
    """Return predicted positives of a random precision whose errors lie in a random way.

    1 - precision is log-uniform from 0.001 to 0.5. In half of them scores are tied.

    Examples
    --------
    >>> 0.5 <= random_subject(0, seed=1).value <= 0.999
    True
    """
    rng = np.random.default_rng([seed, number])
    error = float(np.exp(rng.uniform(np.log(0.001), np.log(0.5))))
    score = ranks(_PROFILED)
    rates = surprise(score, error, rng)
    if rng.random() < 0.5:
        levels = int(np.exp(rng.uniform(np.log(5), np.log(5000))))
        place = np.floor(score * levels).astype(np.int64)
        score = (place + 0.5) / levels
        rates = (np.bincount(place, rates) / np.bincount(place))[place]
    name = f"random {number}"
    return _positives(name, score, rates, MILLION // _PROFILED, twin=name)


def _positives(name: str, score: Floats, rates: Floats, copies: int, *, twin: str) -> Subject:
    population = Population(y_true=~spread_errors(rates), y_score=score, threshold=0.0)
    return Subject(name, "precision", population, copies, least_share(rates), twin)


def of_classifier(each: NamedPopulation, metric: str) -> Subject:
    """Return a classifier of a real population as it is."""
    population = each.population
    return Subject(each.name, metric, population, 1, population.limit(metric), each.name)


@lru_cache(maxsize=1)
def classifiers(folder: Path | None) -> list[NamedPopulation]:
    """Return every classifier of a folder, or three generated ones where none is given.

    A file ``FILE.parquet`` has columns ``score_C`` and ``pred_C`` for each classifier C, and the
    truth in ``label_C`` or ``label``.
    """
    if folder is None:
        return generated_classifiers(seed=1)
    found = [each for file in sorted(folder.glob("*.parquet")) for each in _of_file(file)]
    if not found:
        raise InputError(
            f"no classifiers in {folder}",
            details="wanted: *.parquet with columns score_C, pred_C, and label_C or label",
        )
    return found


def _of_file(file: Path) -> Iterator[NamedPopulation]:
    columns = pq.read_schema(file).names
    for name in (column.removeprefix("score_") for column in columns if column[:6] == "score_"):
        label = f"label_{name}" if f"label_{name}" in columns else "label"
        yield NamedPopulation(
            f"{file.stem} {name}",
            Population.read(file, label=label, score=f"score_{name}", predicted=f"pred_{name}"),
        )
