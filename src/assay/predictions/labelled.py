"""Predictions whose truth is known, of one classifier or several."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.targets import ALONE
from assay.core.types import Bools, Floats, Ints
from assay.predictions.judgements import (
    Classifiers,
    about,
    judge,
    load_columns,
    ranks_of,
    roles_of,
    take_ids,
    take_judgements,
)
from assay.predictions.labels import read_predicted
from assay.predictions.roles import Roles, refuse_no_column


@dataclass(frozen=True, eq=False)
class Labelled:
    """What classifiers said of each item, and what it is; arrays of shape (N,).

    Attributes
    ----------
    source : str
    classifiers : tuple of str
        Their names, in the order of the bits of a code.
    codes : array of int
        Bit k is set where the k-th says yes.
    truth : array of bool
    score : array
        Of a single classifier; the mean rank by the scores of several. 0 where there is none.
    threshold : float or None
        Of a single classifier.
    """

    source: str
    classifiers: tuple[str, ...]
    codes: Ints
    truth: Bools
    score: Floats
    threshold: float | None = None

    @cached_property
    def predicted(self) -> Bools:
        """Which items the first classifier says yes to."""
        return np.asarray(self.codes & 1 > 0)

    @cached_property
    def rank(self) -> Floats:
        """The items' mean rank by the classifiers' scores."""
        if len(self.classifiers) > 1:
            return self.score
        return ranks_of(self.score, self.predicted)


def read_labelled(
    source: object,
    *,
    label: str,
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: object = None,
    classifiers: Classifiers | None = None,
) -> Labelled:
    """Read predictions whose truth is known.

    Parameters
    ----------
    source, score, predicted, threshold
        As in `read_predictions`.
    label : str
        The column with the truth: true and false, 0 and 1, or anything with `positive`.
    positive : object, optional
        The value of the columns `predicted` and `label` that means yes.
    classifiers : mapping of str to mapping, optional
        In place of `score`, `predicted` and `threshold`, as in `read_predictions`; each has a
        `positive` of its own.

    Examples
    --------
    >>> table = {"p": [0.9, 0.2, 0.6], "spam": [1, 0, 0]}
    >>> read_labelled(table, label="spam", score="p", threshold=0.5).truth
    array([ True, False, False])
    >>> cnn = {"score": "p", "threshold": 0.5}
    >>> read_labelled(table, label="spam", classifiers={"cnn": cnn}).codes
    array([1, 0, 1])
    """
    if classifiers is None:
        of_predicted = None if predicted is None else positive
        roles = {ALONE: Roles(score, predicted, None, threshold, of_predicted)}
    else:
        roles = roles_of(classifiers)
    refuse_no_column("label", label)
    loaded = load_columns(source, roles, [label], (), None)
    ids = take_ids(loaded, None)
    names = tuple(roles)
    if len(names) > 1:
        codes, ranks, _ = judge(loaded, roles, ids)
        truth = read_predicted(loaded.columns[label], positive, ids)
        return Labelled(loaded.source, names, codes, truth, ranks)
    (role,) = roles.values()
    with about(names[0]):
        scores, says_yes = take_judgements(loaded, role, ids)
    truth = read_predicted(loaded.columns[label], positive, ids)
    return Labelled(loaded.source, names, says_yes.astype(np.int64), truth, scores, role.threshold)
