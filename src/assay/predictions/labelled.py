"""Predictions with known truth, of one or several classifiers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.predictions.class_values import number_in, places_of
from assay.predictions.classes import for_classes, refuse_beside_classes, with_class_columns
from assay.predictions.column import Column, Loaded
from assay.predictions.duckdb.loading import load_columns
from assay.predictions.label_sets import label_layout, load_label_sets
from assay.predictions.layout import Layout, alone, by_name, roles_of, with_top
from assay.predictions.memory import MemoryScanner, ranks_of, take_ids
from assay.predictions.opinions import Opinions
from assay.predictions.roles import Classifiers, Roles, about, refuse_bad_show, refuse_no_column
from assay.predictions.scan import Scan, as_scan
from assay.predictions.values import distinct_values, read_predicted


@dataclass(frozen=True, eq=False)
class Labelled:
    """Predictions and truth of each item; arrays of shape (N,)."""

    source: str
    classifiers: tuple[str, ...]  # their names, in the order of the bits of a code
    codes: Ints  # bit k is set if the k-th says yes
    truth: Bools
    # Of a single classifier; of several, the mean rank by their scores. 0 without scores.
    score: Floats
    threshold: float | None = None  # of a single classifier
    opinions: Opinions | None = None  # columns for a model of the outcome
    # Classes of the items. For more than yes and no, `truth` is whether the first classifier is
    # right, and `codes` are those of `Vocabulary.code`.
    classes: Vocabulary = field(default_factory=Vocabulary)
    # For more classes, that of each item; one past the last for items of none. If an item may have
    # several, the number of the set.
    numbers: Ints | None = None
    # (N, J): rank of that class by the probabilities of each of J classifiers, from 0; last for a
    # classifier without probabilities. None unless requested.
    places: Ints | None = None

    @cached_property
    def predicted(self) -> Bools:
        """Which items the first classifier predicts as yes."""
        return np.asarray(self.codes & 1 > 0)

    @cached_property
    def rank(self) -> Floats:
        """Mean rank of the items by the classifiers' scores."""
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
    # Replaces `score`, `predicted` and `threshold`, as in `read_predictions`; each has its own
    # `positive`.
    classifiers: Classifiers | None = None,
    aux: Sequence[str] = (),  # columns for a model of the outcome, as in `read_predictions`
    classes: Vocabulary | None = None,
    probabilities: str | None = None,
    top: int = 1,  # of each classifier with probabilities, as in `read_predictions`
    # Whether to rank each item's class by the probabilities (`Labelled.places`)
    ranked: bool = False,
) -> Labelled:
    """Read predictions with known truth.

    >>> table = {"p": [0.9, 0.2, 0.6], "spam": [1, 0, 0]}
    >>> read_labelled(table, label="spam", score="p", threshold=0.5).truth
    array([ True, False, False])
    >>> cnn = {"score": "p", "threshold": 0.5}
    >>> read_labelled(table, label="spam", classifiers={"cnn": cnn}).codes
    array([1, 0, 1])
    """
    refuse_bad_show(aux, "aux")
    own: dict[str, object] = {"score": score, "predicted": predicted, "threshold": threshold}
    columns = {**own, "positive": positive, "probabilities": probabilities}
    if classes is not None and classes.multilabel:
        refuse_beside_classes({"aux": aux})
        return _of_sets(source, label, by_name(classifiers or None, columns), classes)
    scan = as_scan(source)
    given, known = for_classes(scan, classifiers, classes, columns, {"aux": aux})
    if known is not None:
        each = with_top(by_name(given, columns), top)
        return _of_classes(scan, label, each, known, ranked=ranked)
    own["positive"] = None if predicted is None else positive
    roles = roles_of(by_name(classifiers, own))
    refuse_no_column("label", label)
    layout, (name, *others) = Layout(roles, aux=tuple(aux)), roles
    loaded = load_columns(scan, layout, [label])
    if others:
        limit, scanner = None, MemoryScanner(loaded, layout)
    else:
        limit = roles[name].limit
        with about(name):
            scanner = MemoryScanner(loaded, replace(layout, judges=alone(roles[name])))
    truth = read_predicted(loaded.columns[label], positive, scanner.ids)
    codes, values = scanner.every.predicted.astype(np.int64), scanner.every.values
    return Labelled(loaded.source, tuple(roles), codes, truth, values, limit, scanner.beside)


def _of_classes(
    scan: Scan, label: str, classifiers: Classifiers, known: Vocabulary, *, ranked: bool
) -> Labelled:
    """Read predictions of more classes than yes and no, with the truth."""
    roles = with_class_columns(scan, roles_of(classifiers, known), known, [])
    refuse_no_column("label", label)
    loaded = load_columns(scan, Layout(roles), [label])
    codes, ranks = _judged(loaded, Layout(roles))
    numbers = _numbers(loaded.columns[label], known)
    return Labelled(
        loaded.source,
        tuple(roles),
        codes,
        numbers == codes % len(known),
        ranks,
        classes=known,
        numbers=numbers,
        places=_places(loaded, roles, known, numbers) if ranked else None,
    )


def _of_sets(source: object, label: str, classifiers: Classifiers, classes: Vocabulary) -> Labelled:
    """Read predictions of items that may have several classes, with the truth."""
    refuse_no_column("label", label)
    layout = label_layout(source, classifiers, classes)
    loaded = load_label_sets(source, layout)
    codes, ranks = _judged(loaded, layout)
    truth = label_layout(source, by_name(None, {"predicted": label}), classes)
    numbers, _ = _judged(load_label_sets(source, truth), truth)
    right, names = numbers == codes % classes.kinds, layout.classifiers
    return Labelled(loaded.source, names, codes, right, ranks, classes=classes, numbers=numbers)


def _judged(loaded: Loaded, layout: Layout) -> tuple[Ints, Floats]:
    """Codes of all items, and mean ranks."""
    scanner = MemoryScanner(loaded, layout)
    codes, values = scanner.every.predicted.astype(np.int64), scanner.every.values
    return codes, values if scanner.coded else ranks_of(values, codes, layout.first.n_classes)


def _places(loaded: Loaded, roles: Mapping[str, Roles], classes: Vocabulary, numbers: Ints) -> Ints:
    """Rank of each item's class by the probabilities of each classifier."""
    ids = take_ids(loaded, None)
    each = [[loaded.columns[name] for name in role.of_class] for role in roles.values()]
    behind = np.full(len(ids), len(classes), dtype=np.int64)
    places = [places_of(own, classes, ids, numbers) if own else behind for own in each]
    return np.stack(places, axis=1)


def _numbers(column: Column, classes: Vocabulary) -> Ints:
    """Class number of each item; one past the last for none."""
    values, place = distinct_values(column)
    number_of = number_in(classes)
    numbers = np.array([number_of(value) for value in values], dtype=np.int64)
    return np.where(numbers < 0, len(classes), numbers)[place]
