"""One deck dealt to all classifiers of a population that is known by cells."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.types import Bools, Ints
from assay.experiments.recycling.populations import Trial


class Dealt(NamedTuple):
    """Coordinated samples.

    Attributes
    ----------
    labels : int
        Items in at least one sample: what is labelled.
    positives : array of int
        The positives in each classifier's sample.
    shared : array of int
        The items of each sample that are in the last classifier's as well.
    """

    labels: int
    positives: Ints
    shared: Ints


def deal(trial: Trial, sizes: Sequence[int], rng: np.random.Generator) -> Dealt:
    """Deal one deck, without replacement, until each classifier has its cards.

    A card matters only by its cell and its label, so the deck is dealt as a sequence of these.

    Parameters
    ----------
    trial : Trial
    sizes : sequence of int
        The cards wanted, ML1, ML2, ML3 and MVE; all of a smaller set.
    rng : numpy.random.Generator

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
