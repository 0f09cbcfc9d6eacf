"""Judgements: predictions of one or several classifiers for each item, and the truth if known."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from assay.core.cuts import rank
from assay.core.profile import ScoreCells, cells_of, profile_of
from assay.core.targets import refuse_bad_names
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError, did_you_mean
from assay.predictions.class_values import take_classes
from assay.predictions.column import Ids, Loaded, read_ids
from assay.predictions.contract import Doubt
from assay.predictions.doubts import doubts_of
from assay.predictions.roles import NO_SCORE, Classifiers, Roles, about
from assay.predictions.values import (
    read_predicted,
    read_scores,
    refuse_contradictions,
    rows_in_memory,
)

_SHARED = ("id", "aux", "model", "classes", "of_class")  # not one classifier's
_OPTIONS = [field.name for field in fields(Roles) if field.name not in _SHARED]


def take_ids(loaded: Loaded, id: str | None) -> Ids:
    """Ids from a column, or else the row numbers.

    >>> from assay.predictions.duckdb.loading import load
    >>> take_ids(load({"p": [0.9, 0.2]}, ["p"], (), None), None).values
    array([0, 1])
    """
    size = len(next(iter(loaded.columns.values())).data)
    if size == 0:
        raise PredictionsError(f"there are no predictions in {loaded.source}")
    return Ids(np.arange(size)) if id is None else read_ids(loaded.columns[id])


def take_judgements(loaded: Loaded, roles: Roles, ids: Ids) -> tuple[Floats, Bools]:
    """Return a classifier's scores and predicted labels; raise if they are invalid.

    >>> roles = Roles(score="p", predicted=None, id=None, threshold=0.5, positive=None)
    >>> from assay.predictions.duckdb.loading import load
    >>> loaded = load({"p": [0.9, 0.2]}, roles.columns, (), None)
    >>> take_judgements(loaded, roles, take_ids(loaded, None))
    (array([0.9, 0.2]), array([ True, False]))
    """
    columns = loaded.columns
    score = np.zeros(len(ids)) if roles.score is None else read_scores(columns[roles.score], ids)
    if roles.predicted is not None:
        predicted = read_predicted(columns[roles.predicted], roles.positive, ids)
        score = roles.positive_scores(score, predicted)
        refuse_contradictions(score, predicted, roles, columns[roles.predicted], ids)
    elif roles.limit is not None:  # Roles ensures that one of the two is given
        score = roles.positive_scores(score, None)
        predicted = score >= roles.limit
    return score, predicted


def as_mappings(classifiers: Classifiers) -> dict[str, Any]:
    """Columns of each classifier by name: a pair is a score and a predicted label or threshold.

    Any other value is unchanged, for `roles_of` to reject.

    >>> as_mappings({"a": ("p", "said"), "b": ("q", 0.5)})
    {'a': {'score': 'p', 'predicted': 'said'}, 'b': {'score': 'q', 'threshold': 0.5}}
    """
    found: dict[str, Any] = dict(classifiers)
    for name, given in found.items():
        if isinstance(given, tuple | list) and len(given) == 2:
            score, says_yes = given
            number = isinstance(says_yes, Real) and not isinstance(says_yes, bool)
            by = "threshold" if number else "predicted"
            found[name] = {**({} if score is None else {"score": score}), by: says_yes}
    return found


def with_top(classifiers: Classifiers, top: int) -> dict[str, Any]:
    """Classifiers, with `Roles.top` for those with probabilities of all classes.

    >>> with_top({"a": {"probabilities": "p_*"}, "b": {"predicted": "said"}}, 2)
    {'a': {'top': 2, 'probabilities': 'p_*'}, 'b': {'predicted': 'said'}}
    """
    each = as_mappings(classifiers)
    told = {name: one for name, one in each.items() if isinstance(one, Mapping)}
    ranked = {name: {"top": top, **one} for name, one in told.items() if one.get("probabilities")}
    return each | ranked


def roles_of(classifiers: Classifiers, classes: Vocabulary | None = None) -> dict[str, Roles]:
    """Roles of each classifier; raise if the arguments are invalid.

    `classifiers`: the columns of each.
    """
    if not isinstance(classifiers, Mapping):
        raise PredictionsError(
            f"classifiers are of type {type(classifiers).__name__}",
            details="they are a mapping of names to what each has: "
            "classifiers={'cnn': {'score': 'p_cnn', 'threshold': 0.5}}",
        )
    refuse_bad_names(list(classifiers))
    roles = {}
    for name, options in as_mappings(classifiers).items():
        roles[name] = role_of(name, options, classes)
    return roles


def role_of(name: str, options: object, classes: Vocabulary | None = None) -> Roles:
    """Roles of one classifier; raise if the options are invalid.

    `options`: its columns.
    """
    with about(name):
        if not isinstance(options, Mapping):
            raise PredictionsError(
                f"{options!r} is of type {type(options).__name__}",
                details=f"it must be a mapping of some of {', '.join(_OPTIONS)}; or "
                "a pair: the columns of score and predicted label, or a score and a threshold",
            )
        for option in options:
            if option not in _OPTIONS:
                raise PredictionsError(
                    f"unknown option {option!r}",
                    details=f"options: {', '.join(_OPTIONS)}",
                    hint=did_you_mean(str(option), _OPTIONS),
                )
        given: dict[str, Any] = {**dict.fromkeys(_OPTIONS), **options}
        return Roles(id=None, classes=classes, **given)


@dataclass(frozen=True, eq=False)
class Judgements:
    """Predictions of several classifiers for each item."""

    codes: Ints  # bit k is set if the k-th says yes; with classes, `Vocabulary.code`
    ranks: Floats  # the mean rank by their scores
    cells: tuple[ScoreCells, ...]  # the items by the score of each classifier
    doubts: tuple[Doubt, ...]  # problems with their scores
    scores: Mapping[str, Floats]  # of each classifier with scores, or of the only one, if kept


def judge(
    loaded: Loaded,
    roles: Mapping[str, Roles],
    ids: Ids,
    *,
    keep_scores: bool = False,
    digest: Words | None = None,  # of the ids, if the fingerprint of the cells is needed
) -> Judgements:
    """Judgements of all classifiers.

    Processes one classifier at a time, so that only one has its scores as float64.
    """
    scores: dict[str, Floats] = {}
    codes = np.zeros(len(ids), dtype=np.int64)
    total = np.zeros(len(ids))
    counted, doubts = list[ScoreCells](), list[Doubt]()
    for place, (name, role) in enumerate(roles.items()):
        with about(name):
            score, predicted = taken(loaded, role, ids)
        codes += predicted.astype(np.int64) * role.n_classes**place
        if keep_scores and (role.has_score or len(roles) == 1):
            scores[name] = score
        cells = cells_of(score, predicted, digest, classes=role.n_classes)
        counted.append(cells)
        if role.has_score:
            total += rank(score, profile_of(score, cells.rule))
            doubts += [
                each.about(name)
                for each in doubts_of(
                    cells, role, loaded.source, rows_in_memory(loaded, role, score, ids)
                )
            ]
    scored = sum(role.has_score for role in roles.values())
    ranks = total / scored if scored else np.full(len(ids), NO_SCORE)
    return Judgements(codes, ranks, tuple(counted), tuple(doubts), scores)


def taken(loaded: Loaded, role: Roles, ids: Ids) -> tuple[Floats, Bools | Ints]:
    """Return a classifier's scores and labels."""
    if role.classes is None:
        return take_judgements(loaded, role, ids)
    return take_classes(loaded, role, role.classes, ids)


def ranks_of(score: Floats, predicted: Bools | Ints, classes: int = 2) -> Floats:
    """Rank of each item by its score, from 0 to 1."""
    return rank(score, profile_of(score, cells_of(score, predicted, classes=classes).rule))
