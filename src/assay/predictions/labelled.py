"""Predictions whose truth is known, of one classifier or several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assay.core.targets import ALONE
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.predictions.class_values import number_in, places_of
from assay.predictions.classes import for_classes, refuse_beside_classes, with_class_columns
from assay.predictions.column import Column, Loaded
from assay.predictions.columns import Classifiers
from assay.predictions.ids import Ids
from assay.predictions.judgements import (
    about,
    judge,
    load_columns,
    ranks_of,
    roles_of,
    take_ids,
    take_judgements,
)
from assay.predictions.label_sets import load_label_sets
from assay.predictions.opinions import Opinions, opinions_of_several, take_aux, take_opinions
from assay.predictions.roles import Roles, refuse_bad_show, refuse_no_column
from assay.predictions.scan import as_scan
from assay.predictions.values import distinct_values, read_predicted


@dataclass(frozen=True, eq=False)
class Labelled:
    """What classifiers said of each item, and what it is; arrays of shape (N,)."""

    source: str
    classifiers: tuple[str, ...]  # their names, in the order of the bits of a code
    codes: Ints  # bit k is set where the k-th says yes
    truth: Bools
    # Of a single classifier; the mean rank by the scores of several. 0 where there is none.
    score: Floats
    threshold: float | None = None  # of a single classifier
    opinions: Opinions | None = None  # what columns for a model of the outcome say
    # Those that items are of. Where they are more than yes and no, `truth` is whether the first
    # classifier is right, and `codes` are those of `Vocabulary.code`.
    classes: Vocabulary = YES_OR_NO
    # Of more classes, that of each item; one behind the last for items of none. Where an item may
    # have several, that of the set of them.
    numbers: Ints | None = None
    # (N, J): where that class stands among all by the probabilities of each of J classifiers, from
    # 0 on; behind all by those of a classifier that has none. None where it was not asked for.
    places: Ints | None = None

    @cached_property
    def predicted(self) -> Bools:
        """Which items the first classifier says yes to."""
        return np.asarray(self.codes & 1 > 0)

    @cached_property
    def rank(self) -> Floats:
        """The items' mean rank by the classifiers' scores."""
        if len(self.classifiers) > 1 or self.numbers is not None:
            return self.score
        return ranks_of(self.score, self.predicted)


def read_labelled(
    source: object,
    *,
    label: str,  # the column with the truth: true and false, 0 and 1, or anything with `positive`
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: object = None,  # the value of the columns `predicted` and `label` that means yes
    # In place of `score`, `predicted` and `threshold`, as in `read_predictions`; each has a
    # `positive` of its own.
    classifiers: Classifiers | None = None,
    aux: Sequence[str] = (),  # columns for a model of the outcome, as in `read_predictions`
    classes: Vocabulary | None = None,
    probabilities: str | None = None,
    # Whether to tell where each item's class stands by the probabilities (`Labelled.places`)
    ranked: bool = False,
) -> Labelled:
    """Read predictions whose truth is known.

    >>> table = {"p": [0.9, 0.2, 0.6], "spam": [1, 0, 0]}
    >>> read_labelled(table, label="spam", score="p", threshold=0.5).truth
    array([ True, False, False])
    >>> cnn = {"score": "p", "threshold": 0.5}
    >>> read_labelled(table, label="spam", classifiers={"cnn": cnn}).codes
    array([1, 0, 1])
    """
    refuse_bad_show(aux, "aux")
    if classes is not None or probabilities is not None:
        own = {"score": score, "predicted": predicted, "threshold": threshold}
        told = {**own, "positive": positive, "probabilities": probabilities}
        if classes is not None and classes.multilabel:
            refuse_beside_classes({"aux": aux})
            return _of_sets(source, label, classifiers or {ALONE: own | told}, classes)
        return _of_classes(source, label, classifiers, classes, own=told, aux=aux, ranked=ranked)
    if classifiers is None:
        of_predicted = None if predicted is None else positive
        alone = score, predicted, None, threshold, of_predicted
        roles = {ALONE: Roles(*alone, aux=tuple(aux))}
    else:
        roles = roles_of(classifiers)
        if len(roles) == 1:
            roles = {name: replace(role, aux=tuple(aux)) for name, role in roles.items()}
    refuse_no_column("label", label)
    loaded = load_columns(source, roles, list(dict.fromkeys([label, *aux])), (), None)
    ids = take_ids(loaded, None)
    names = tuple(roles)
    if len(names) > 1:
        judged = judge(loaded, roles, ids, keep_scores=bool(aux))
        truth = read_predicted(loaded.columns[label], positive, ids)
        codes, ranks, said = judged.codes, judged.ranks, take_aux(loaded, aux)
        told_by = opinions_of_several(said, judged.scores, codes, ranks) if aux else None
        return Labelled(loaded.source, names, codes, truth, ranks, opinions=told_by)
    (role,) = roles.values()
    with about(names[0]):
        scores, says_yes = take_judgements(loaded, role, ids)
    truth = read_predicted(loaded.columns[label], positive, ids)
    opinions = take_opinions(loaded, role, says_yes) if role.aux else None
    codes = says_yes.astype(np.int64)
    return Labelled(loaded.source, names, codes, truth, scores, role.limit, opinions)


def _of_classes(
    source: object,
    label: str,
    classifiers: Classifiers | None,
    classes: Vocabulary | None,
    *,
    own: Mapping[str, Any],  # what a single classifier is told by
    aux: Sequence[str],
    ranked: bool,
) -> Labelled:
    """Read predictions of more classes than yes and no, with the truth."""
    scan = as_scan(source)
    given, known = for_classes(scan, classifiers, classes, own, {"aux": aux})
    if known is None or given is None:
        told = {name: value for name, value in own.items() if name != "probabilities"}
        return read_labelled(source, label=label, classifiers=classifiers, aux=aux, **told)
    roles = with_class_columns(scan, roles_of(given, known), known, [])
    refuse_no_column("label", label)
    loaded = load_columns(scan, roles, [label], (), None)
    ids = take_ids(loaded, None)
    judged = judge(loaded, roles, ids)
    numbers = _numbers(loaded.columns[label], known)
    right = numbers == judged.codes % len(known)
    return Labelled(
        loaded.source,
        tuple(roles),
        judged.codes,
        right,
        judged.ranks,
        classes=known,
        numbers=numbers,
        places=_places(loaded, roles, known, ids, numbers) if ranked else None,
    )


def _of_sets(source: object, label: str, classifiers: Classifiers, classes: Vocabulary) -> Labelled:
    """Read predictions of items that may have several classes, with the truth."""
    refuse_no_column("label", label)
    loaded, roles, names = load_label_sets(source, classifiers, classes)
    judged = judge(loaded, roles, take_ids(loaded, None))
    truth = {ALONE: {"predicted": label}}
    told, of_label, _ = load_label_sets(source, truth, classes)
    numbers = judge(told, of_label, take_ids(told, None)).codes
    return Labelled(
        loaded.source,
        names,
        judged.codes,
        numbers == judged.codes % classes.kinds,
        judged.ranks,
        classes=classes,
        numbers=numbers,
    )


def _places(
    loaded: Loaded, roles: Mapping[str, Roles], classes: Vocabulary, ids: Ids, numbers: Ints
) -> Ints:
    """Return where each item's class stands by the probabilities of each classifier."""
    each = [[loaded.columns[name] for name in role.of_class] for role in roles.values()]
    behind = np.full(len(ids), len(classes), dtype=np.int64)
    found = [places_of(own, classes, ids, numbers) if own else behind for own in each]
    return np.stack(found, axis=1)


def _numbers(column: Column, classes: Vocabulary) -> Ints:
    """Return the number of the class that each item is of; one behind the last for none."""
    values, place = distinct_values(column)
    number_of = number_in(classes)
    found = np.array([number_of(value) for value in values], dtype=np.int64)
    return np.where(found < 0, len(classes), found)[place]
