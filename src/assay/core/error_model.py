"""Model of the outcome: the chance that an item is positive, by its score and by other columns.

A second opinion (another model's score, a judge's verdict, a language) tells where errors are, and
so where labels are worth most. It never enters as truth: the model only cuts the items into strata,
and whatever the strata are, a random sample of each is honest. Three things keep it so.

* **Cross-fitting.** Every item is in one of two folds, by its permanent number under a key of its
  own. The model that places an item has learned from labels of the other fold alone, so an item's
  label has no part in where the item is put [1]_.
* **A choice by held-out labels.** The columns are used only where the deviance of labels that the
  model has not seen is smaller with them than with the score alone. A column of noise is left out.
* **Plain arithmetic.** Features are made with +, -, *, / and square roots only, so that numpy,
  DuckDB and Java compute the same bits (see `assay.core.bins`).

References
----------
.. [1] Wager, Du, Taylor and Tibshirani (2016). High-dimensional regression adjustments in
   randomized experiments. PNAS 113.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import combinations
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from assay.core.special import expit
from assay.core.types import Bools, Floats, Ints

FOLDS = 2
LARGEST = 1.7976931348623157e308  # of all numbers that are finite
FIRST = 100  # labels, before which nothing is learned; then twice as many each time
SAID = ""  # the column that is the predicted label, or of several the code; none has this name
RANK = "\0"  # of several classifiers, the column of mean ranks; nor this one

Values: TypeAlias = "Sequence[object] | Floats | Bools | Ints"
"""A column: numbers, what was said, or anything else, one for each item."""

Kind = Literal["number", "share", "level", "said"]
Cost = Callable[[Floats, Floats], float]
"""The labels that strata take, by the rate of the outcome and the standard deviation in each."""

_PENALTIES = (1.0, 10.0)  # on coefficients of features whose standard deviation is 1
_GAIN = 2.0  # of the held-out deviance, in natural units: what Akaike asks of one parameter more
_MOST_LEVELS, _LEAST_OF_A_LEVEL = 12, 5
_MOST_CROSSED = 4
_STEPS = 100
_WORTH_IT = 0.9  # of the labels: what is not drawn again of the answers so far costs some, too
_WORTH_LEAVING = 0.97  # of the labels, where held-out ones say that strata are by a wrong model


@dataclass(frozen=True)
class Input:
    """A column as numbers that the model multiplies and adds."""

    column: str  # its name; `SAID` for the predicted label
    # ``number``: d / sqrt(1 + abs(d)) with d = (x - centre) / width, which is linear near the
    # centre and grows like a square root far from it. ``share``, for numbers between 0 and 1: r(x)
    # - r(1 - x), r the eighth root, which tells 0.99 from 0.9999. ``level``: 1 where the column has
    # this value. ``said``: 1 where the classifier said yes.
    kind: Kind
    # centre, width: of a number.
    centre: float = 0.0
    width: float = 1.0
    level: str | bool | None = None  # the value of a level; None for a missing one
    bit: int = 0  # of what several classifiers said: which bit of the code

    @property
    def is_number(self) -> bool:
        """Whether it is a number, and not one of two values."""
        return self.kind in ("number", "share")

    def values(self, column: Values) -> Floats:
        """Return the numbers of a column; 0 where a number is missing.

        >>> Input("judge", "number", centre=1.0).values([4.0, None])
        array([1.5, 0. ])
        >>> Input("lang", "level", level="de").values(["de", "en"])
        array([1., 0.])
        """
        if self.kind == "said":
            codes = np.asarray(column).astype(np.int64)
            return (codes >> self.bit & 1).astype(np.float64)
        if self.kind == "level":
            return np.fromiter((_same(value, self.level) for value in column), dtype=np.float64)
        given = as_numbers(column)
        there = np.isfinite(given)
        x = np.where(there, given, 0.5 if self.kind == "share" else self.centre)
        if self.kind == "share":
            x = np.clip(x, 0.0, 1.0)
            return _root(x) - _root(1.0 - x)
        d = (x - self.centre) / self.width
        return np.asarray(d / np.sqrt(1.0 + np.abs(d)))


@dataclass(frozen=True)
class Model:
    """The log odds that an item is positive: a sum of terms, one sum for each fold."""

    inputs: tuple[Input, ...]  # what the terms are made of
    # The inputs that each term is the product of; the first is the constant, of none.
    terms: tuple[tuple[int, ...], ...]
    weights: tuple[tuple[float, ...], ...]  # of each fold, the weight of every term
    labels: int  # how many labels of the campaign it was fitted to; 0 where all were another's
    seed: int = 0  # of the numbers that put items into folds

    @property
    def digest(self) -> int:
        """64 bits that change when the model does."""
        text = json.dumps(self.to_dict(), sort_keys=True).encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, each once."""
        named = (each.column for each in self.inputs if each.column != SAID)
        return tuple(dict.fromkeys(named))

    def log_odds(self, columns: Mapping[str, Values], fold: Bools) -> Floats:
        """Return the log odds of items.

        `columns`, (N,): by name, with the predicted labels under `SAID`; `fold`, (N,): whether an
        item is in the second fold.
        """
        numbers = [each.values(columns[each.column]) for each in self.inputs]
        # One operation after the other, in the order in which SQL has them; of each item by the
        # weights of its own fold.
        first, second = self.weights
        total = np.where(fold, second[0], first[0])
        for term, one, other in zip(self.terms[1:], first[1:], second[1:], strict=True):
            total += np.where(fold, other, one) * _product(numbers, term, fold.size)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry; `from_dict` restores it exactly."""
        return {
            "inputs": [_plain(each) for each in self.inputs],
            "terms": [list(term) for term in self.terms],
            "weights": [list(weights) for weights in self.weights],
            "labels": self.labels,
            "seed": self.seed,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` returned."""
        return cls(
            tuple(Input(**each) for each in stored["inputs"]),
            tuple(tuple(int(place) for place in term) for term in stored["terms"]),
            tuple(tuple(float(weight) for weight in each) for each in stored["weights"]),
            int(stored["labels"]),
            int(stored["seed"]),
        )


def _plain(each: Input) -> dict[str, Any]:
    """Return an input as JSON has it; one classifier's is what it was before there were several."""
    return {name: value for name, value in asdict(each).items() if name != "bit" or value}


def columns_at(columns: Mapping[str, Values], rows: Ints) -> dict[str, Values]:
    """Return what columns say of the items of some rows."""
    return {
        name: values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]
        for name, values in columns.items()
    }


def scheduled(answered: int) -> int:
    """Return the last number of labels, of those fixed beforehand, that has been reached; or 0.

    >>> [scheduled(answered) for answered in (99, 100, 199, 399, 400)]
    [0, 100, 100, 200, 400]
    """
    times = answered // FIRST
    return FIRST << (times.bit_length() - 1) if times else 0


def learn(
    columns: Mapping[str, Values],
    own: str | Sequence[str] | None,
    positive: Bools,
    fold: Bools,
    *,
    # (n,): of the labelled items, which are random samples of the strata; -1 where an item was
    # judged and is not in the sample.
    stratum: Ints,
    sizes: Ints,  # (H,): the strata's items
    cost: Cost | None = None,
    seed: int = 0,
    before: Model | None = None,
) -> Model | None:
    """Fit a model to labels, or return None where strata by it would not save a tenth of them.

    What it would save is told against the strata that are there. Where these are by a model of
    before that labels now say no more for, it is the score's own model that is returned, if strata
    by the score would save a thirtieth.
    """
    tried = _tried(columns, own, positive, fold, before)
    if tried is None:
        return None
    model, limit = _better(*tried), _WORTH_IT
    if model is None and before is not None:
        model, limit = tried[0][1], _WORTH_LEAVING
    if model is None:
        return None
    drawn = stratum >= 0
    rest = share_left(model.log_odds(columns, fold)[drawn], stratum[drawn], sizes, cost)
    return replace(model, seed=seed) if rest <= limit else None


def fit(
    # (n,): of the labelled items, by name, with the predicted labels under `SAID`, and with the
    # mean ranks under `RANK` where there are scores of several.
    columns: Mapping[str, Values],
    # The column of the classifier's own score, or those of several.
    own: str | Sequence[str] | None,
    positive: Bools,  # (n,): what the items are
    fold: Bools,  # (n,): whether an item is in the second fold
    *,
    seed: int = 0,  # of the numbers that put items into folds
    # A model that other labels have taught, with the same folds: its log odds are one more column,
    # and the new model is a sum of both.
    before: Model | None = None,
) -> Model | None:
    """Fit a model to labels, or return None where the other columns tell no more than the score.

    Strata of several classifiers are cut by the mean rank (`RANK`): the other columns must tell
    more than that, and more than the scores do.

    >>> rng = np.random.default_rng(0)
    >>> judge, score = rng.normal(size=300), rng.normal(size=300)
    >>> positive = judge + 0.3 * rng.normal(size=300) > 0
    >>> columns = {"": score > 0, "score": score, "judge": judge}
    >>> model = fit(columns, "score", positive, rng.random(300) < 0.5)
    >>> model.columns
    ('score', 'judge')
    >>> noise = {**columns, "judge": rng.normal(size=300)}
    >>> fit(noise, "score", positive, rng.random(300) < 0.5) is None
    True
    """
    tried = _tried(columns, own, positive, fold, before)
    model = tried and _better(*tried)
    return replace(model, seed=seed) if model else None


_Tried: TypeAlias = tuple[float, Model]  # the deviance of held-out labels, and what was fitted


def _tried(
    columns: Mapping[str, Values],
    own: str | Sequence[str] | None,
    positive: Bools,
    fold: Bools,
    before: Model | None,
) -> tuple[_Tried, _Tried] | None:
    """Return the best model by the score alone, and the best by all; None for too few labels."""
    if any(np.unique(positive[fold == each]).size < 2 for each in range(FOLDS)):
        return None
    first = [SAID, *([own] if isinstance(own, str) else dict.fromkeys(own or ()))]
    others = [column for column in columns if column not in (RANK, *first)]
    alone, more = (
        [each for column in chosen for each in _inputs_now(column, columns[column], before)]
        for chosen in (first, others)
    )
    every = [*alone, *more]

    def best(inputs: Sequence[Input], former: Model | None) -> _Tried:
        tried = [
            _fitted(columns, inputs, positive, fold, each, before=former) for each in _PENALTIES
        ]
        return min(tried, key=_deviance)

    by_score, by_all = best(alone, None), best(every, None)
    if RANK in columns and len(first) > 2:
        ranked = [each for column in (SAID, RANK) for each in inputs_of(column, columns[column])]
        by_score = min(by_score, best(ranked, None), key=_deviance)
    if before is not None:
        # What is more than the model of before has to show that it is: the strata are by that.
        as_before, both = best([], before), min(by_all, best(every, before), key=_deviance)
        by_all = both if _better(as_before, both) else as_before
    return by_score, by_all


def _better(fewer: _Tried, more: _Tried) -> Model | None:
    """Return the model with more columns where held-out labels say that it is better."""
    return more[1] if more[0] < fewer[0] - _GAIN else None


def _deviance(tried: _Tried) -> float:
    return tried[0]


def _inputs_now(column: str, values: Values, before: Model | None) -> list[Input]:
    """Return the inputs of a column; those of a model of before stay, so that sums do not grow."""
    now = inputs_of(column, values)
    if before is None:
        return now
    then = [each for each in before.inputs if each.column == column]
    return then + [
        each
        for each in now
        if each not in then and (each.kind == "level" or not any(old.is_number for old in then))
    ]


def inputs_of(column: str, values: Values) -> list[Input]:
    """Return the inputs that a column becomes, by the values that it has; none for a constant.

    >>> [each.kind for each in inputs_of("judge", [0.2, 0.9, None])]
    ['share', 'level']
    >>> [each.level for each in inputs_of("lang", ["de"] * 5 + ["en"] * 9 + ["nl"])]
    ['en', 'de']
    """
    if column == SAID:
        codes = np.asarray(values).astype(np.int64)
        differ = int(np.bitwise_or.reduce(codes) & ~np.bitwise_and.reduce(codes))
        bits = range(differ.bit_length())
        return [Input(SAID, "said", bit=bit) for bit in bits if differ >> bit & 1]
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return _inputs_of_numbers(column, values.astype(np.float64))
    plain: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    there = [value for value in plain if not is_missing(value)]
    missing = [Input(column, "level")] if 0 < len(there) < len(plain) else []
    if len(set(there)) <= 1:
        return missing
    if all(isinstance(value, bool) for value in there):
        return [Input(column, "level", level=True), *missing]
    numbers = as_numbers(there)
    if np.isfinite(numbers).all():
        return [_number_input(column, numbers), *missing]
    often = Counter(str(value) for value in there).most_common(_MOST_LEVELS)
    levels = [level for level, times in often if times >= _LEAST_OF_A_LEVEL]
    return [*(Input(column, "level", level=level) for level in levels), *missing]


def _inputs_of_numbers(column: str, values: Floats) -> list[Input]:
    """Return what `inputs_of` does, of an array of numbers: without a look at each by itself."""
    there = values[np.isfinite(values)]
    missing = [Input(column, "level")] if 0 < there.size < values.size else []
    if not there.size or there.min() == there.max():
        return missing
    return [_number_input(column, there), *missing]


def _number_input(column: str, numbers: Floats) -> Input:
    if numbers.min() >= 0.0 and numbers.max() <= 1.0:
        return Input(column, "share")
    centre = float(np.median(numbers))
    width = float(np.median(np.abs(numbers - centre))) or float(numbers.std())
    return Input(column, "number", centre, width)


def _fitted(
    columns: Mapping[str, Values],
    inputs: Sequence[Input],
    positive: Bools,
    fold: Bools,
    penalty: float,
    *,
    before: Model | None = None,
) -> _Tried:
    """Fit both folds' models; return the deviance of each fold by the model of the other."""
    numbers = [each.values(columns[each.column]) for each in inputs]
    terms = list(_terms(inputs))
    features = [_product(numbers, term, positive.size) for term in terms]
    if before is not None:  # of each item by the weights of its own fold, which do not know it
        features.append(before.log_odds(columns, fold))
    design = np.column_stack(features)
    centre, width = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    kept = width > 1e-9
    width = np.where(kept, width, 1.0)
    scaled = np.column_stack([design[:, 0], np.where(kept, (design[:, 1:] - centre) / width, 0.0)])
    weights, deviance = [], 0.0
    for each in range(FOLDS):  # the items of this fold, by the labels of the other
        learned, placed = fold != each, fold == each
        found = ridge_logistic(scaled[learned], positive[learned], penalty)
        chance = np.clip(expit(scaled[placed] @ found), 1e-6, 1 - 1e-6)
        deviance -= float(np.log(np.where(positive[placed], chance, 1 - chance)).sum())
        raw = np.where(kept, found[1:] / width, 0.0)
        weights.append((float(found[0] - raw @ centre), *raw.tolist()))
    model = Model(
        tuple(inputs),
        tuple(terms),
        tuple(each[: len(terms)] for each in weights),
        int(positive.size),
    )
    if before is not None:
        model = _sum(model, before, [each[-1] for each in weights])
    return deviance, model


def _sum(model: Model, before: Model, times: Sequence[float]) -> Model:
    """Return a model plus, in each fold, so many times another; terms of both are one."""
    inputs = tuple(dict.fromkeys([*model.inputs, *before.inputs]))
    place = {each: number for number, each in enumerate(inputs)}
    weights: list[dict[tuple[int, ...], float]] = [{} for _ in range(FOLDS)]
    for each, factors in ((model, [1.0] * FOLDS), (before, times)):
        terms = [tuple(sorted(place[each.inputs[at]] for at in term)) for term in each.terms]
        for total, factor, own in zip(weights, factors, each.weights, strict=True):
            for term, weight in zip(terms, own, strict=True):
                total[term] = total.get(term, 0.0) + factor * weight
    return replace(
        model,
        inputs=inputs,
        terms=tuple(weights[0]),
        weights=tuple(tuple(each.values()) for each in weights),
    )


def _terms(inputs: Sequence[Input]) -> Iterator[tuple[int, ...]]:
    """Yield the constant, the inputs, squares of numbers, and crossings of the first numbers."""
    yield ()
    numbers = [place for place, each in enumerate(inputs) if each.is_number]
    yield from ((place,) for place in range(len(inputs)))
    yield from ((place, place) for place in numbers)
    yield from combinations(numbers[:_MOST_CROSSED], 2)


def share_left(log_odds: Floats, stratum: Ints, sizes: Ints, cost: Cost | None = None) -> float:
    """Return the share of the labels that fine strata by a model would take, by the model itself.

    (sum N_h mean sqrt(q (1 - q)))^2 / (sum N_h sqrt(mean q (1 - mean q)))^2, the variances of the
    best allocation to infinitely fine strata and to those that are there.

    `log_odds`, `stratum`, (n,): of labelled items, which are random samples of the strata; `sizes`,
    (H,): the strata's items; `cost`: returns the labels that strata take, by the rate of the
    outcome in each and the standard deviation there; otherwise those of a mean.

    >>> share_left(np.array([4.0, -4.0]), np.array([0, 0]), np.array([50])).__round__(3)
    0.071
    >>> share_left(np.array([0.3, 0.3]), np.array([0, 0]), np.array([50]))
    1.0
    """
    q = expit(log_odds)
    labels = np.maximum(np.bincount(stratum, minlength=sizes.size), 1)
    mean = np.bincount(stratum, q, minlength=sizes.size) / labels
    fine = np.bincount(stratum, np.sqrt(q * (1 - q)), minlength=sizes.size) / labels
    now = np.sqrt(mean * (1 - mean))
    if cost is None:
        after, before = float(sizes @ fine) ** 2, float(sizes @ now) ** 2
    else:
        after, before = cost(mean, fine), cost(mean, now)
    return after / before if before > 0 else 1.0


def ridge_logistic(design: Floats, positive: Bools, penalty: float) -> Floats:
    """Return the weights that minimise the deviance plus half the penalty times their squares.

    By Newton's steps, halved until they improve. The first column is the constant, which has no
    penalty but one in a thousand, so that there is a minimum for outcomes that are all alike.

    `design`, (n, k): features; the first is 1; `positive`: (n,).
    """
    y = positive.astype(np.float64)
    ridge = np.full(design.shape[1], penalty)
    ridge[0] = 1e-3
    weights, on_diagonal = np.zeros(design.shape[1]), np.diag(ridge)

    def loss(w: Floats, margin: Floats) -> float:
        return float(np.logaddexp(0.0, margin).sum() - y @ margin + 0.5 * ridge @ w**2)

    margin = design @ weights
    now = loss(weights, margin)
    for _ in range(_STEPS):
        chance = expit(margin)
        slope = design.T @ (chance - y) + ridge * weights
        curve = (design.T * (chance * (1 - chance))) @ design + on_diagonal
        step = np.linalg.solve(curve, slope)
        while True:
            there = weights - step
            margin = design @ there
            after, largest = loss(there, margin), np.abs(step).max()
            if after <= now or largest <= 1e-12:
                break
            step = step / 2
        weights, now = there, min(after, now)
        if largest < 1e-9:
            break
    return weights


def _product(numbers: Sequence[Floats], term: tuple[int, ...], size: int) -> Floats:
    if not term:
        return np.ones(size)
    product = numbers[term[0]]
    for place in term[1:]:
        product = product * numbers[place]
    return product


def as_numbers(values: Values) -> Floats:
    """Return values as numbers, also those that are written as text; NaN for all else.

    >>> as_numbers([1, " 2.5", None, "de"])
    array([1. , 2.5, nan, nan])
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return np.asarray(values, dtype=np.float64)
    return np.fromiter((_number(value) for value in values), dtype=np.float64)


def _number(value: object) -> float:
    if isinstance(value, str | int | float):
        try:
            return float(value)
        except (ValueError, OverflowError):
            return np.nan
    return np.nan


def _root(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sqrt(np.sqrt(x))))


def is_missing(value: object) -> bool:
    """Tell whether a column says nothing of an item."""
    return value is None or (isinstance(value, float) and not np.isfinite(value))


def _same(value: object, level: str | bool | None) -> bool:
    if level is None:
        return is_missing(value)
    return value is level if isinstance(level, bool) else value == level
