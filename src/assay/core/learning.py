"""Fitting a model of the outcome to labels (`core.error_model`), where it pays."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np

from assay.core.error_model import (
    FOLDS,
    RANK,
    SAID,
    Input,
    Model,
    Values,
    as_numbers,
    is_missing,
    product_of,
)
from assay.core.special import expit
from assay.core.types import Bools, Floats, Ints

FIRST = 100  # labels before the first model; then twice as many each time
Cost = Callable[[Floats, Floats], float]
"""Labels that strata take, by rate of the outcome and standard deviation in each."""

_PENALTIES = (1.0, 10.0)  # on coefficients of features whose standard deviation is 1
_GAIN = 2.0  # of the held-out deviance, in natural units: what Akaike asks of one parameter more
_MOST_LEVELS, _LEAST_OF_A_LEVEL = 12, 5
_MOST_CROSSED = 4
_STEPS = 100
_WORTH_IT = 0.9  # of the labels: answers that are not drawn again have a cost, too
_WORTH_LEAVING = 0.97  # of the labels, if held-out ones show that strata are by a wrong model


def scheduled(answered: int) -> int:
    """Last number of labels on the fixed schedule that has been reached; or 0.

    >>> [scheduled(answered) for answered in (99, 100, 199, 399, 400)]
    [0, 100, 100, 200, 400]
    """
    times = answered // FIRST
    return FIRST << (times.bit_length() - 1) if times else 0


_Tried: TypeAlias = tuple[float, Model]  # the deviance of held-out labels, and the fitted model


@dataclass(frozen=True, eq=False)
class Training:
    """Labels to fit a model of the outcome to, with the columns of their items."""

    # (n,): of the labelled items, by name, with the predicted labels under `SAID`, and with the
    # mean ranks under `RANK` if several classifiers have scores.
    columns: Mapping[str, Values]
    # The column of the classifier's own score, or those of several.
    own: str | Sequence[str] | None
    positive: Bools  # (n,): whether items are positive
    fold: Bools  # (n,): whether an item is in the second fold
    # A previous model from other labels, with the same folds: its log odds are one more column, and
    # the new model is a sum of both.
    before: Model | None = None
    seed: int = 0  # of the numbers that assign items to folds

    def fit(self) -> Model | None:
        """Fit a model, or return None if other columns predict no better than the score.

        Strata of several classifiers are cut by the mean rank (`RANK`): the other columns must
        predict better than that, and better than the scores.
        """
        tried = self._tried()
        model = tried and _better(*tried)
        return replace(model, seed=self.seed) if model else None

    def learn(self, stratum: Ints, sizes: Ints, cost: Cost | None = None) -> Model | None:
        """Fit a model, or return None if strata by it would not save a tenth of the labels.

        The saving is relative to the current strata. If these are by a previous model that labels
        no longer support, the model by score alone is returned, if strata by the score would save a
        thirtieth.

        `stratum`, (n,): of the labelled items, which are random samples of the strata; -1 for
        judged items outside of the sample; `sizes`, (H,): the strata's items.
        """
        tried = self._tried()
        if tried is None:
            return None
        model, limit = _better(*tried), _WORTH_IT
        if model is None and self.before is not None:
            model, limit = tried[0][1], _WORTH_LEAVING
        if model is None:
            return None
        drawn, log_odds = stratum >= 0, model.log_odds(self.columns, self.fold)
        rest = share_left(log_odds[drawn], stratum[drawn], sizes, cost)
        return replace(model, seed=self.seed) if rest <= limit else None

    def _tried(self) -> tuple[_Tried, _Tried] | None:
        """Best model by the score alone, and the best by all; None for too few labels."""
        columns, own, before = self.columns, self.own, self.before
        if any(np.unique(self.positive[self.fold == each]).size < 2 for each in range(FOLDS)):
            return None
        first = [SAID, *([own] if isinstance(own, str) else dict.fromkeys(own or ()))]
        others = [column for column in columns if column not in (RANK, *first)]
        alone, more = (
            [each for column in chosen for each in _inputs_now(column, columns[column], before)]
            for chosen in (first, others)
        )
        every = [*alone, *more]

        def best(inputs: Sequence[Input], former: Model | None) -> _Tried:
            tried = (self._fitted(inputs, penalty, former) for penalty in _PENALTIES)
            return min(tried, key=itemgetter(0))

        by_score, by_all = best(alone, None), best(every, None)
        if RANK in columns and len(first) > 2:
            ranked = [each for name in (SAID, RANK) for each in inputs_of(name, columns[name])]
            by_score = min(by_score, best(ranked, None), key=itemgetter(0))
        if before is not None:
            # A model that extends the previous one, which cut the strata, must prove its gain.
            as_before = best([], before)
            both = min(by_all, best(every, before), key=itemgetter(0))
            by_all = both if _better(as_before, both) else as_before
        return by_score, by_all

    def _fitted(self, inputs: Sequence[Input], penalty: float, before: Model | None) -> _Tried:
        """Fit both folds' models; return the deviance of each fold under the other's model."""
        columns, positive, fold = self.columns, self.positive, self.fold
        numbers = [each.values(columns[each.column]) for each in inputs]
        terms = list(_terms(inputs))
        features = [product_of(numbers, term, positive.size) for term in terms]
        if (
            before is not None
        ):  # of each item by its own fold's weights, which were fitted without it
            features.append(before.log_odds(columns, fold))
        design = np.column_stack(features)
        centre, width = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
        kept = width > 1e-9
        width = np.where(kept, width, 1.0)
        scaled = np.column_stack(
            [design[:, 0], np.where(kept, (design[:, 1:] - centre) / width, 0.0)]
        )
        weights, deviance = [], 0.0
        for each in range(FOLDS):  # the items of this fold, by the labels of the other
            learned, placed = fold != each, fold == each
            coefficients = ridge_logistic(scaled[learned], positive[learned], penalty)
            chance = np.clip(expit(scaled[placed] @ coefficients), 1e-6, 1 - 1e-6)
            deviance -= float(np.log(np.where(positive[placed], chance, 1 - chance)).sum())
            raw = np.where(kept, coefficients[1:] / width, 0.0)
            weights.append((float(coefficients[0] - raw @ centre), *raw.tolist()))
        model = Model(
            tuple(inputs),
            tuple(terms),
            tuple(each[: len(terms)] for each in weights),
            int(positive.size),
        )
        if before is not None:
            model = _sum(model, before, [each[-1] for each in weights])
        return deviance, model


def _better(fewer: _Tried, more: _Tried) -> Model | None:
    """Model with more columns, if held-out labels support it."""
    return more[1] if more[0] < fewer[0] - _GAIN else None


def _inputs_now(column: str, values: Values, before: Model | None) -> list[Input]:
    """Collect the inputs of a column; those of a previous model stay, so that sums do not grow."""
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
    """Collect the inputs for a column, by its values; none for a constant.

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
    """Collect the inputs for an array of numbers, as in `inputs_of`, but vectorised."""
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


def _sum(model: Model, before: Model, times: Sequence[float]) -> Model:
    """Sum of a model and, in each fold, a multiple of another; equal terms are merged."""
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
    """Yield the constant, the inputs, squares of numbers, and products of the first numbers."""
    yield ()
    numbers = [place for place, each in enumerate(inputs) if each.is_number]
    yield from ((place,) for place in range(len(inputs)))
    yield from ((place, place) for place in numbers)
    yield from combinations(numbers[:_MOST_CROSSED], 2)


def share_left(log_odds: Floats, stratum: Ints, sizes: Ints, cost: Cost | None = None) -> float:
    """Share of the labels that fine strata by a model would take, according to the model.

    (sum N_h mean sqrt(q (1 - q)))^2 / (sum N_h sqrt(mean q (1 - mean q)))^2, the variances of the
    best allocation to infinitely fine strata and to those that are there.

    `log_odds`, `stratum`, (n,): of labelled items, which are random samples of the strata; `sizes`,
    (H,): the strata's items; `cost`: returns the labels that strata take, by the rate of the
    outcome in each and the standard deviation there; default: those for a mean.

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
    """Weights that minimise the deviance plus half the penalty times their squares.

    By Newton's steps, halved until they improve. The first column is the constant. Its penalty is
    only one thousandth, so that there is a minimum for outcomes that are all equal.

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
