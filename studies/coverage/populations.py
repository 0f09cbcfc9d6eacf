"""Populations of the coverage study: by shape, random, rare and real."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.types import Bools, Floats
from assay.errors import InputError
from assay.simulation import Frame, Population
from studies.data import NamedPopulation, generated_classifiers

# How errors can lie over the score: six shapes, and random ones that nobody chose.
#
# A shape is the chance of an error at every rank of the score, lowest first. All have the mean
# that is asked for, and none is above 1.

NO_SIGNAL, POCKET = "no signal", "dirty pocket"
MONOTONE = ("mass at the top", "uniform", "mass at the threshold")

_ROUNDS = 60  # each fills up to 1 what the one before left above it; few change anything
_POCKET = (0.90, 0.93)
_POCKET_SHARE = 0.5  # of the errors
_POCKET_MOST = 0.9


def ranks(number: int) -> Floats:
    """Return the middles of so many ranks of the score, from 0 to 1."""
    return np.asarray((np.arange(number) + 0.5) / number)


def scaled(shape: Floats, mean: float) -> Floats:
    """Return rates in proportion to the shape, none above 1, with this mean.

    Examples
    --------
    >>> scaled(np.array([3.0, 1.0, 0.0]), 0.5)
    array([1. , 0.5, 0. ])
    """
    rates = np.zeros_like(shape)
    for _ in range(_ROUNDS):
        able = np.where(rates < 1, shape, 0.0)
        if mean <= rates.mean() or not able.any():
            break
        rates = np.minimum(rates + able * (mean - rates.mean()) / able.mean(), 1.0)
    return rates


def least_share(rates: Floats) -> float:
    """Return the share of random sampling's labels that a design by score must spend.

    (E sqrt(eta (1 - eta)))^2 / (p (1 - p)) with eta the rates themselves, rising or not.

    Examples
    --------
    >>> round(least_share(np.full(4, 0.1)), 3), round(least_share(np.array([0.0, 0.5])), 3)
    (1.0, 0.333)
    """
    mean = float(rates.mean())
    return float(np.sqrt(rates * (1 - rates)).mean() ** 2 / (mean * (1 - mean)))


def spread_errors(rates: Floats) -> Bools:
    """Return which items are errors, as evenly as whole items can follow the rates.

    Examples
    --------
    >>> spread_errors(np.full(8, 0.25)).astype(int)
    array([0, 1, 0, 0, 0, 1, 0, 0])
    """
    return np.diff(np.floor(np.cumsum(rates) + 0.5), prepend=0.0) > 0


def surprise(r: Floats, error: float, rng: np.random.Generator) -> Floats:
    """Return rates of a random kind: a trend, a floor, bumps and pockets, whatever comes."""
    falling = rng.random() < 5 / 6  # one classifier in six has its scores the wrong way round
    shape = (1 - r if falling else r) ** rng.uniform(0.5, 8.0) + rng.choice([0.0, 0.02, 0.2])
    for _ in range(rng.integers(0, 4)):
        width = np.exp(rng.uniform(np.log(0.005), np.log(0.2)))
        shape += rng.uniform(0.1, 2.0) * np.exp(-0.5 * ((r - rng.random()) / width) ** 2)
    for _ in range(rng.integers(0, 3)):
        start, width = rng.uniform(0.0, 0.95), rng.uniform(0.01, 0.05)
        share = rng.uniform(0.1, 0.6)
        shape += np.where((r > start) & (r < start + width), share * shape.mean() / width, 0.0)
    return scaled(shape, error)


def _power(exponent: float, r: Floats, error: float) -> Floats:
    return scaled((1 - r) ** exponent, error)


def _not_monotone(r: Floats, error: float) -> Floats:
    return scaled(0.3 + np.sin(3 * np.pi * r) ** 2, error)


def _dirty_pocket(r: Floats, error: float) -> Floats:
    """Half of the errors among a few of the highest scores, where nobody looks for them."""
    inside = (r > _POCKET[0]) & (r < _POCKET[1])
    rate = min(_POCKET_SHARE * error / inside.mean(), _POCKET_MOST)
    pocket = np.where(inside, rate, 0.0)
    return pocket + scaled(np.where(inside, 0.0, (1 - r) ** 3), error - float(pocket.mean()))


def _no_signal(r: Floats, error: float) -> Floats:
    return np.full_like(r, error)


SHAPES: dict[str, Callable[[Floats, float], Floats]] = {
    "mass at the top": partial(_power, 3.0),
    "uniform": partial(_power, 2.0),
    "mass at the threshold": partial(_power, 1.0),
    "not monotone": _not_monotone,
    POCKET: _dirty_pocket,
    NO_SIGNAL: _no_signal,
}


MILLION = 1_000_000
_PROFILED = 100_000  # ranks that stand for a million items
_RARE_ITEMS = 300_000
_RARE = (0.002, 0.01, 0.03)  # positives among the items
_TOLD_APART = {"sharp": 4.5, "dull": 3.0}  # standard deviations between the two kinds' scores
_HIDDEN = 0.1  # of the positives look like negatives, in the kind of class called so


@dataclass(frozen=True, eq=False)
class Subject:
    """A population and a metric to be estimated on it."""

    name: str
    metric: str
    population: Population
    # How often each of its items is there: a million items cost no more than their ranks.
    copies: int
    limit: float  # the share of random sampling's labels that a design by score must spend
    twin: str  # the name of a subject on which random sampling, blind to the score, fares the same

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
        score, rates = _tied(score, rates, rng)
    name = f"random {number}"
    return _positives(name, score, rates, MILLION // _PROFILED, twin=name)


def _tied(score: Floats, rates: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the scores with few different values, 5 to 5,000, and the rates with those alike."""
    levels = int(np.exp(rng.uniform(np.log(5), np.log(5000))))
    place = np.floor(score * levels).astype(np.int64)
    mean = np.bincount(place, rates) / np.maximum(np.bincount(place), 1)
    return (place + 0.5) / levels, np.asarray(mean[place])


def random_classifier(number: int, seed: int) -> dict[str, Subject]:
    """Return the metrics of a random classifier: errors on both sides, rare positives or common.

    The share that it says yes to is log-uniform from 0.003 to 0.6, 1 - precision from 0.02 to 0.5,
    and recall uniform from 0.2 to 0.98. Errors lie in a random way on either side; what is missed
    mostly near the threshold, the rarer the nearer. In half of them scores are tied.

    Examples
    --------
    >>> made = random_classifier(0, seed=1)
    >>> sorted(made), 0.2 < made["recall"].value < 0.98
    (['accuracy', 'f1', 'prevalence', 'recall'], True)
    """
    rng = np.random.default_rng([seed, number, 5])
    says_yes = round(_PROFILED * _log_uniform(rng, 0.003, 0.6))
    error = _log_uniform(rng, 0.02, 0.5)
    recall = rng.uniform(0.2, 0.98)
    rest = _PROFILED - says_yes
    missed = min(says_yes * (1 - error) * (1 / recall - 1) / rest, 0.5)
    above, below = ranks(says_yes), ranks(rest)
    wrong = surprise(above, error, rng)
    # From the threshold on down; a power below 1 crowds what is missed next to it.
    overlooked = surprise((1 - below) ** rng.uniform(0.15, 1.0), missed, rng)
    if rng.random() < 0.5:
        above, wrong = _tied(above, wrong, rng)
        below, overlooked = _tied(below, overlooked, rng)
    population = Population(
        y_true=np.concatenate([spread_errors(overlooked), ~spread_errors(wrong)]),
        y_score=np.concatenate([below, 1 + above]),
        y_pred=np.arange(_PROFILED) >= rest,
    )
    name = f"two-sided {number}"
    spread = {True: _deviations(wrong), False: _deviations(overlooked)}
    return {
        metric: Subject(
            name, metric, population, MILLION // _PROFILED, _limit(population, metric, spread), name
        )
        for metric in ("accuracy", "recall", "f1", "prevalence")
    }


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def _deviations(rates: Floats) -> float:
    return float(np.sqrt(rates * (1 - rates)).sum())


def _limit(population: Population, metric: str, spread: dict[bool, float]) -> float:
    """Return the limit of a metric where the items' rates are known, rising or not."""
    frame = population.frame(Design(bins=1), metric)
    slopes = np.abs(frame.metric.gradient(frame.outcomes))
    sides = [spread[bool(side)] for side in frame.strata.sides]
    return float((slopes @ np.array(sides)) ** 2 / population.random_variance(metric))


@lru_cache(maxsize=1)
def rare_classes(seed: int) -> list[NamedPopulation]:
    """Return generated classifiers of rare classes: told apart well, badly, or not at all in part.

    Examples
    --------
    >>> [(each.name, round(each.population.value("recall"), 2)) for each in rare_classes(1)[:3]]
    [('rare 0.002 sharp', 0.74), ('rare 0.002 dull', 0.43), ('rare 0.002 hidden', 0.73)]
    """
    made = []
    for number, share in enumerate(_RARE):
        rng = np.random.default_rng([seed, number, 6])
        for kind in (*_TOLD_APART, "hidden"):
            positive = rng.random(_RARE_ITEMS) < share
            shown = positive
            if kind == "hidden":
                shown = positive & (rng.random(_RARE_ITEMS) >= _HIDDEN)
            apart = _TOLD_APART.get(kind, _TOLD_APART["sharp"])
            score = rng.standard_normal(_RARE_ITEMS) + apart * shown
            threshold = float(np.quantile(score, 1 - 0.8 * share))
            population = Population(y_true=positive, y_score=score, threshold=threshold)
            made.append(NamedPopulation(f"rare {share:g} {kind}", population))
    return made


def _positives(name: str, score: Floats, rates: Floats, copies: int, *, twin: str) -> Subject:
    population = Population(y_true=~spread_errors(rates), y_score=score, threshold=0.0)
    return Subject(name, "precision", population, copies, least_share(rates), twin)


def of_classifier(each: NamedPopulation, metric: str) -> Subject:
    """Return a classifier of a real population as it is."""
    population = each.population
    return Subject(each.name, metric, population, 1, population.limit(metric), each.name)


@lru_cache(maxsize=2)
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
