"""Measurements of paper 3 on an ensemble and its models: Figure 2 (5.2), Table 2 (5.4)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from assay.core.types import Bools, Floats, Ints
from assay.simulation import Option, sample_size
from studies.recycling.counts import Pair, recycled
from studies.recycling.populations import MODELS, Trial
from studies.recycling.table1 import SAMPLE

# One deck dealt to all classifiers of a population that is known by cells.


class Dealt(NamedTuple):
    """Coordinated samples."""

    labels: int  # items in at least one sample: what is labelled
    positives: Ints  # the positives in each classifier's sample
    shared: Ints  # the items of each sample that are in the last classifier's as well


def deal(trial: Trial, sizes: Sequence[int], rng: np.random.Generator) -> Dealt:
    """Deal one deck, without replacement, until each classifier has its cards.

    A card matters only by its cell and its label, so the deck is dealt as a sequence of these.

    The sizes are the cards wanted of ML1, ML2, ML3 and MVE; all of a smaller set.

    Examples
    --------
    >>> trial = Trial(np.array([1, 9]), np.array([400, 600]), np.array([100, 590]))
    >>> deal(trial, (100, 0, 0, 100), np.random.default_rng(1))
    Dealt(labels=131, positives=array([75,  0,  0, 98]), shared=array([ 69,   0,   0, 100]))
    """
    cells = trial.codes.size
    yes = np.array([trial.says_yes(classifier) for classifier in range(len(sizes))])
    wanted = np.minimum(sizes, yes @ trial.sizes)
    kinds = _deck(trial, yes, wanted, rng)
    cell, is_positive = kinds % cells, kinds < cells
    called_yes = yes[:, cell]
    in_sample: Bools = called_yes & (np.cumsum(called_yes, axis=1) <= wanted[:, None])
    return Dealt(
        labels=int(in_sample.any(axis=0).sum()),
        positives=(in_sample & is_positive).sum(axis=1),
        shared=(in_sample & in_sample[-1]).sum(axis=1),
    )


def _deck(trial: Trial, yes: Bools, wanted: Ints, rng: np.random.Generator) -> Ints:
    """Return enough cards: cell c for a positive item of it, c + cells for a negative one."""
    left = np.concatenate([trial.positives, trial.sizes - trial.positives])
    dealt = np.zeros(0, dtype=np.int64)
    missing = wanted
    while missing.any():
        share = np.tile(yes, 2) @ left / left.sum()
        needed = np.max(missing[missing > 0] / share[missing > 0])
        counts = rng.multivariate_hypergeometric(left, min(int(1.1 * needed) + 1, int(left.sum())))
        left = left - counts
        more = rng.permutation(np.repeat(np.arange(left.size), counts))
        dealt = np.concatenate([dealt, more])
        missing = np.maximum(missing - np.tile(yes, 2) @ counts, 0)
    return dealt


ALGORITHMS = ("random", "recycle-sample", "recycle-shuffle", "coordinated")
_OPTIONS: tuple[Option, ...] = ("UniformSample", "UniformShuffle")
_WITHIN = 0.03
_CONFIDENCE = 0.95
_MVE = len(MODELS)


@dataclass(frozen=True, eq=False)
class Runs:
    """One algorithm's runs on the models, in per cent; arrays of shape (runs, models)."""

    savings: Floats  # labels that the model's sample of 1,100 has from MVE's
    error: Floats  # %PrecisionError
    interval_error: Floats  # %MaxCIError, of the normal 95% interval: the paper's example is one


@dataclass(frozen=True, eq=False)
class Ensembles:
    """All runs, and the labels of the four classifiers together."""

    runs: dict[str, Runs]  # by algorithm
    # Mean labels of MVE and its models by algorithm; "best" where every classifier has the sample
    # size that its true precision asks for, otherwise 1,100.
    labels: dict[str, float]

    def beside(self, **others: Runs) -> "Ensembles":
        """Return the same with the runs of other designs beside them."""
        return replace(self, runs={**self.runs, **others})


def measure(
    trials: Sequence[Trial],
    rng: np.random.Generator,
    progress: Callable[[float], None] | None = None,
) -> Ensembles:
    """Run every algorithm once on each trial."""
    measured = []
    labels = []
    for done, trial in enumerate(trials, start=1):
        found, cost = _run(trial, [SAMPLE] * (_MVE + 1), rng)
        _, best_cost = _run(trial, _best_sizes(trial), rng)
        measured.append(found)
        labels.append([*cost, *best_cost])
        if progress is not None:
            progress(done / len(trials))
    names = [*ALGORITHMS, *(f"{algorithm}, best sizes" for algorithm in ALGORITHMS)]
    values = np.array(measured)  # (trials, algorithms, models, measures)
    return Ensembles(
        runs={
            algorithm: Runs(*np.moveaxis(values[:, number], -1, 0))
            for number, algorithm in enumerate(ALGORITHMS)
        },
        labels=dict(zip(names, np.mean(labels, axis=0).tolist(), strict=True)),
    )


def _run(trial: Trial, sizes: Sequence[int], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the measures (algorithms, models, 3), and the labels of each algorithm."""
    savings = np.zeros((len(ALGORITHMS), len(MODELS)))
    positives = np.zeros_like(savings)
    n = np.array(sizes[:_MVE])
    precision = np.array([trial.precision(model) for model in range(_MVE)])
    positives[0] = rng.binomial(n, precision)
    for model in range(_MVE):
        pair = pair_of(trial, model)
        asked = sizes[_MVE], sizes[model]
        for number, option in enumerate(_OPTIONS, start=1):
            draws = recycled(pair, asked, option=option, runs=1, rng=rng)
            savings[number, model] = draws.savings[0]
            positives[number, model] = draws.positives[0]
    dealt = deal(trial, sizes, rng)
    savings[3], positives[3] = dealt.shared[:_MVE], dealt.positives[:_MVE]
    labels = sum(sizes) - savings.sum(axis=1)
    labels[3] = dealt.labels
    return _measures(savings / n, positives / n, precision, n), labels


def _measures(savings: Floats, estimate: Floats, precision: Floats, n: Floats) -> Floats:
    width = -ndtri((1 - _CONFIDENCE) / 2) * np.sqrt(estimate * (1 - estimate) / n)
    error = percent_errors(estimate, precision)
    return np.stack([100 * savings, error, error + 100 * width / precision], axis=-1)


def percent_errors(estimate: Floats, precision: Floats) -> Floats:
    """Return %PrecisionError (section 5.1)."""
    return np.asarray(100 * np.abs(estimate - precision) / precision)


def _best_sizes(trial: Trial) -> list[int]:
    """Return the labels that +-0.03 at 95% needs at each classifier's true precision."""
    sizes = []
    for classifier in range(_MVE + 1):
        p = trial.precision(classifier)
        # Below 1/2 the variance is that of 1 - p; a precision of 1 would need none.
        sizes.append(sample_size(_WITHIN, 1 - _CONFIDENCE, min(max(p, 1 - p), 1 - 1e-9)))
    return sizes


def pair_of(trial: Trial, model: int) -> Pair:
    """Return MVE as the parent and the model as the child.

    Examples
    --------
    >>> trial = Trial(np.array([1, 9]), np.array([400, 600]), np.array([100, 590]))
    >>> pair_of(trial, 0)
    Pair(parent=600, both=600, child=1000, both_positives=590, child_positives=690)
    """
    parent, child = trial.says_yes(_MVE), trial.says_yes(model)
    return Pair(
        parent=int(trial.sizes[parent].sum()),
        both=int(trial.sizes[parent & child].sum()),
        child=int(trial.sizes[child].sum()),
        both_positives=int(trial.positives[parent & child].sum()),
        child_positives=int(trial.positives[child].sum()),
    )
