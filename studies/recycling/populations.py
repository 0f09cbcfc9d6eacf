"""Paper 3's made-up ensembles (section 5.2), each as the few numbers that its samples depend on.

One million positives among up to a hundred million items, three models ML1, ML2 and ML3, and their
majority vote MVE. Whether an item is in a sample, and whether it is positive, depends only on its
cell: which of the models call it yes. So a trial is drawn as the cells' sizes and positives, from
the same distribution as if every item had been made.

What the paper leaves open, and what is done here
-------------------------------------------------
- *Scores.* SciPy's ``truncexpon`` calls its parameter b the shape; stretched to 0...1, shape 0.5 is
  a density like exp(-s/2). The models' scores rank all items alike, up to the shuffle within blocks
  of 0.03; the blocks begin at 0, so the uppermost is 0.01 wide.
- *Recall of ML2 and ML3*: ML1's. All thresholds follow from |A| = recall P / precision.
- *False negatives.* In half of the trials every item that ML1 calls no is equally likely to be one;
  in the others the chance falls with the block's score s like exp(-(1 - s)/2): the paper names no
  exponential but the scores'.
- *True precisions* are those of the labels. ML1's is the one chosen; those of ML2 and ML3 come out
  higher, as false negatives of ML1 are among what they call yes.

References
----------
.. [1] RecycleSamplesForPrecision, section 5.2 (``papers/recycle-samples-for-precision.txt``).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.core import deck
from assay.core.types import Bools, Floats, Ints
from assay.errors import InputError
from assay.predictions import read_labelled

MODELS = ("ml1", "ml2", "ml3")
ENSEMBLE = "mve"

POSITIVES = 1_000_000
SHAPE = 0.5
BLOCK = 0.03


@dataclass(frozen=True)
class Trial:
    """A population by cells: the items on which the same classifiers say yes."""

    # Who calls the cell yes: bit k for ML(k+1), bit 3 for MVE. No cell is called no by all.
    codes: Ints
    # sizes, positives: the cells' items, and the positive ones among them.
    sizes: Ints
    positives: Ints

    def says_yes(self, classifier: int) -> Bools:
        """Return which cells the classifier calls yes: 0, 1, 2 for the models, 3 for MVE."""
        return (self.codes >> classifier & 1).astype(np.bool_)

    def precision(self, classifier: int) -> float:
        """Return the share of positives in what the classifier calls yes."""
        yes = self.says_yes(classifier)
        return float(self.positives[yes].sum() / self.sizes[yes].sum())


def trials(n: int, seed: int) -> list[Trial]:
    """Return random trials; each has a seed of its own, so more of them begin with the same ones.

    Examples
    --------
    >>> (trial,) = trials(1, seed=1)
    >>> trial.codes
    array([ 4, 14, 15])
    >>> [round(trial.precision(classifier), 2) for classifier in range(4)]
    [0.75, 0.62, 0.57, 0.62]
    """
    return [_trial(np.random.default_rng(each)) for each in np.random.SeedSequence(seed).spawn(n)]


def _trial(rng: np.random.Generator) -> Trial:
    class_ratio, precision, recall = rng.uniform([0.01, 0.7, 0.1], [0.5, 1.0, 1.0])
    precisions = np.array([precision, *rng.uniform(0.5, precision, size=2)])
    items = round(POSITIVES / class_ratio)
    found = round(recall * POSITIVES)
    called_yes = np.minimum(np.ceil(found / precisions).astype(np.int64), items)
    cells = _cells(_block_sizes(items), called_yes, rng)
    positives = _positives(cells, found, rng)
    sizes, positives = cells.sum(axis=0), positives.sum(axis=0)
    codes = np.arange(8)
    majority = (codes & 1) + (codes >> 1 & 1) + (codes >> 2 & 1) >= 2
    occurs = (sizes > 0) & (codes > 0)
    return Trial((codes + 8 * majority)[occurs], sizes[occurs], positives[occurs])


def _block_sizes(items: int) -> Ints:
    """Return the items in each block of scores, lowest scores first."""
    edges = np.append(np.arange(0.0, 1.0, BLOCK), 1.0)
    below = np.expm1(-SHAPE * edges) / np.expm1(-SHAPE)
    return _parts(items * below)


def _cells(blocks: Ints, called_yes: Ints, rng: np.random.Generator) -> Ints:
    """Return the size of each cell (columns: bit k for model k) in each block (rows).

    A model calls yes all blocks above its threshold's and a random part of that one: one cell after
    the other is split into the model's yes and no without looking at what the others say.
    """
    above = np.cumsum(blocks[::-1])[::-1] - blocks
    cells = np.zeros((blocks.size, 8), dtype=np.int64)
    cells[:, 0] = blocks
    for model, total in enumerate(called_yes):
        bit = 1 << model
        yes = np.clip(total - above, 0, blocks)
        for block, parts in enumerate(cells):
            chosen = rng.multivariate_hypergeometric(parts[:bit], yes[block])
            parts[bit : 2 * bit] = chosen
            parts[:bit] -= chosen
    return cells


def _positives(cells: Ints, found: int, rng: np.random.Generator) -> Ints:
    """Return the positives of each cell: ML1 finds so many of all."""
    positives = np.zeros_like(cells)
    yes = (np.arange(8) & 1).astype(np.bool_)
    positives[:, yes] = rng.multivariate_hypergeometric(
        cells[:, yes].ravel(), found, method="marginals"
    ).reshape(-1, 4)
    for block, missed in enumerate(_missed(cells[:, ~yes].sum(axis=1), POSITIVES - found, rng)):
        positives[block, ~yes] = rng.multivariate_hypergeometric(cells[block, ~yes], missed)
    return positives


def _missed(rejected: Ints, missed: int, rng: np.random.Generator) -> Ints:
    """Return the false negatives in each block, of the items there that ML1 calls no."""
    if rng.random() < 0.5:
        return rng.multivariate_hypergeometric(rejected, missed, method="marginals")
    weights = np.exp(SHAPE * BLOCK * np.arange(rejected.size)) * rejected
    # The weights differ by less than exp(1/2), and ML1 rejects more than twice what it misses:
    # no block gets more false negatives than it has items.
    return _parts(missed * np.append(0.0, np.cumsum(weights) / weights.sum()))


def _parts(edges: Floats) -> Ints:
    """Return the whole numbers between one edge and the next; together they fill the range."""
    return np.asarray(np.diff(np.rint(edges).astype(np.int64)))


# The ensemble of section 5.4: real classifiers of offensive texts, or made ones.

_FILE = "offensive_mix.parquet"
_REAL_MODELS = ("bilstm", "cnn", "logreg")
_ITEMS = 50_000
_SEPARATION = (1.5, 1.3, 1.1)  # how far a model holds the two classes apart; its noise is 1


class NamedEnsemble(NamedTuple):
    """Three models and their majority vote by cells, and what tables call the models."""

    models: tuple[str, ...]
    cells: Trial


def offensive_mix(folder: Path) -> NamedEnsemble:
    """Read the three classifiers and their vote that stand in for the paper's."""
    file = folder / _FILE
    if not file.is_file():
        raise InputError(
            f"no {_FILE} in {folder}",
            hint="without --data the experiment runs on populations that Assay generates",
        )
    names = (*_REAL_MODELS, ENSEMBLE)
    found = read_labelled(
        file, label="label", classifiers={name: {"predicted": f"pred_{name}"} for name in names}
    )
    return NamedEnsemble(_REAL_MODELS, _by_cells(found.codes, found.truth))


def made_ensemble(seed: int) -> NamedEnsemble:
    """Make three models that err partly together, and their majority vote.

    Examples
    --------
    >>> cells = made_ensemble(seed=1).cells
    >>> [round(cells.precision(classifier), 2) for classifier in range(4)]
    [0.93, 0.9, 0.86, 0.93]
    """
    rng = np.random.default_rng([deck.key(seed), 4])
    truth = rng.random(_ITEMS) < 0.5
    noise = np.sqrt(0.5) * rng.standard_normal((len(MODELS) + 1, _ITEMS))
    side = np.outer(_SEPARATION, np.where(truth, 1.0, -1.0))
    yes = side + noise[1:] + noise[0] > 0  # the last noise is common to all
    votes = yes.sum(axis=0) >= 2
    codes = (np.vstack([yes, votes]) << np.arange(len(MODELS) + 1)[:, None]).sum(axis=0)
    return NamedEnsemble(MODELS, _by_cells(codes, truth))


def _by_cells(codes: Ints, truth: Bools) -> Trial:
    found, cell = np.unique(codes, return_inverse=True)
    sizes, positives = np.bincount(cell), np.bincount(cell[truth], minlength=found.size)
    called_yes = found > 0
    return Trial(found[called_yes], sizes[called_yes], positives[called_yes])
