"""The ensemble of section 5.4: real classifiers of offensive texts, or made ones."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.core import deck
from assay.core.types import Bools, Ints
from assay.errors import InputError
from assay.experiments.recycling.populations import ENSEMBLE, MODELS, Trial
from assay.predictions.several import read_labelled_classifiers

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
    found = read_labelled_classifiers(
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
