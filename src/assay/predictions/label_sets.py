"""Predictions of items with several classes: a yes-no question for each class.

A classifier predicts a set of classes for an item. The set is given by a column for each class,
with scores and a threshold or with yes and no, or by one column that lists all classes of the item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from assay.core.label_sets import BETWEEN, MOST_LABELS, LabelSets
from assay.core.targets import ALONE, name_of
from assay.core.types import Bools, Ints
from assay.core.vocabulary import NONE_OF_THESE, Vocabulary
from assay.errors import DesignError, PredictionsError, did_you_mean
from assay.lazy import later
from assay.predictions.class_values import (
    class_text,
    columns_of_classes,
    lists_spread,
    near_class,
    no_such_class,
    number_in,
    some_of,
    sorted_texts,
)
from assay.predictions.classes import column_names, length_of_lists, names_by_pattern, read_given
from assay.predictions.column import Column, Ids, Loaded
from assay.predictions.duckdb.loading import load, load_columns
from assay.predictions.faults import examples, first_few
from assay.predictions.layout import Layout, Spread, as_mappings, by_name, role_of
from assay.predictions.memory import take_ids
from assay.predictions.predictions import Predictions
from assay.predictions.roles import STAR, Classifiers, Given, Roles, about, refuse_no_column
from assay.predictions.scan import Scan, as_scan
from assay.predictions.values import distinct_values

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")

_BY_PATTERN = ("probabilities", "predicted")
ColumnsOf = Mapping[str, Mapping[str, Any]]
"""Columns and options of each classifier, by name."""


def find_labels(
    source: object,
    own: Mapping[str, Any],
    classifiers: Classifiers | None = None,
    classes: Given | None = None,
) -> Vocabulary:
    """Find the classes, of which an item may have several.

    `own`: `probabilities` with a `threshold`, or `predicted`: a pattern of columns with a star
    for the class, a column of lists, or for `predicted` a column with the classes of each item.
    `classifiers` replaces it: these columns of each, or for each class its columns, as for a
    classifier of yes and no.

    >>> table = {"p_spam": [0.9, 0.2], "p_fraud": [0.8, 0.1]}
    >>> find_labels(table, {"probabilities": "p_*", "threshold": 0.5}).names
    ('fraud', 'spam')
    >>> find_labels({"tags": ["spam|fraud", "none of these"]}, {"predicted": "tags"}).names
    ('fraud', 'spam')
    """
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return _of_predictions(scan.source, classes)
    columns = _checked(by_name(classifiers or None, own))
    if classes is not None:
        known = _several(read_given(classes))
        if are_by_class(columns):
            _refuse_other_names(known, list(columns))
        return known
    if are_by_class(columns):
        return _vocabulary([class_text(name) for name in columns], "the classifiers")
    names: list[str] = []
    where = ""
    for name, each in columns.items():
        with about(name):
            labels, where = _names_in(scan, each)
        names += [text for text in labels if text not in names]
    return _vocabulary(sorted_texts(names), where)


def are_by_class(columns: ColumnsOf) -> bool:
    """Whether columns are given by class, each as for a classifier of yes and no.

    >>> are_by_class({"spam": {"score": "p", "threshold": 0.5}, "fraud": {"predicted": "f"}})
    True
    >>> are_by_class({"new": {"probabilities": "p_*"}})
    False
    """
    patterns = [each.get(role) for each in columns.values() for role in _BY_PATTERN]
    starred = any(STAR in str(pattern) for pattern in patterns)
    of_all = any(each.get("probabilities") is not None for each in columns.values())
    return not starred and not of_all and ALONE not in columns


def label_layout(
    source: object,
    classifiers: Classifiers,
    classes: Vocabulary,  # the classes
    *,
    id: str | None = None,
    show: Sequence[str] = (),
) -> Layout:
    """Layout of predictions of items that may have several classes."""
    each = _sources(as_scan(source), classifiers, classes, id)
    return Layout(
        {
            f"{label}:{name}" if name_of(name) else label: role
            for name, (roles, _) in each.items()
            for label, role in roles.items()
        },
        id,
        tuple(show),
        labels=classes,
        names=tuple(each),
        apart=tuple({one.names: one for _, apart in each.values() for one in apart}.values()),
    )


def load_label_sets(source: object, layout: Layout) -> Loaded:
    """Columns of each class by each classifier, in memory."""
    loaded = load_columns(source, layout)
    ids, columns = take_ids(loaded, None), dict(loaded.columns)
    for spread in layout.apart:
        with about(spread.classifier):
            columns |= _columns_apart(spread, columns[spread.column], ids)
    return replace(loaded, columns=columns)


def _sources(
    scan: Scan, classifiers: Classifiers, classes: Vocabulary, id: str | None
) -> dict[str, tuple[dict[str, Roles], list[Spread]]]:
    """Columns of each class by each classifier, and single columns to be split into these."""
    columns = _checked(classifiers)
    by_class = are_by_class(columns)
    number = 1 if by_class else len(columns)
    if number * len(classes) > MOST_LABELS:
        raise PredictionsError(
            f"{number} classifiers of {len(classes)} classes are too many for one campaign",
            details=f"an item may have several classes, and what is said of it must fit in "
            f"{MOST_LABELS} bits",
            hint="create a campaign for each classifier",
        )
    if not by_class:
        return {
            name: _of_pattern(scan, name, each, classes, [id]) for name, each in columns.items()
        }
    _refuse_other_names(classes, list(columns))
    given = {classes.find(name): each for name, each in columns.items()}
    return {ALONE: ({name: role_of(name, given[name]) for name in classes.names}, [])}


def _columns_apart(spread: Spread, column: Column, ids: Ids) -> dict[str, Column]:
    """Columns for each class, split from one column of lists or of sets."""
    if spread.of_scores:
        return dict(zip(spread.names, lists_spread(column, spread.classes, ids), strict=True))
    numbers, columns = read_sets(column, spread.classes, ids), {}
    for place, name in enumerate(spread.names):
        says: Bools = np.asarray(numbers >> place & 1 > 0)
        columns[name] = Column(name, column.source, pa.chunked_array([pa.array(says)]))
    return columns


def _of_pattern(
    scan: Scan,  # the predictions
    name: str,  # the classifier's
    given: Mapping[str, Any],  # its columns
    classes: Vocabulary,
    besides: Sequence[str | None],  # columns with another role, even if a pattern matches
) -> tuple[dict[str, Roles], list[Spread]]:
    """Columns of a classifier given by patterns of columns, or by columns of lists or of sets."""
    options = {key: value for key, value in given.items() if key not in _BY_PATTERN}
    options = {key: value for key, value in options.items() if value is not None}
    columns: dict[str, tuple[str, ...]] = {}
    with about(name):
        if "score" in options:
            raise PredictionsError(
                f"score={options['score']!r} is given for items that may have several classes",
                details="each class has a score of its own",
                hint="name the columns of all: probabilities='p_*'",
            )
        known = None
        for role in _BY_PATTERN:
            pattern = given.get(role)
            columns[role] = ()
            if pattern is None:
                continue
            refuse_no_column(role, pattern)
            if STAR in pattern and known is None:
                known = column_names(scan)
            source = scan.path or type(scan.source).__name__
            columns[role] = columns_of_classes(
                pattern, classes, known or [], besides=besides, source=source, argument=role
            )
        if not columns["probabilities"] and not columns["predicted"]:
            raise PredictionsError(
                "neither predicted= nor probabilities= is given for items that may have several "
                "classes",
                hint="name the columns of every class's score, with a threshold: "
                "probabilities='p_*', threshold=0.5",
            )
    roles: dict[str, dict[str, object]] = {label: {**options} for label in classes.names}
    spreads = []
    for role, given_as in (("score", "probabilities"), ("predicted", "predicted")):
        of_classes = columns[given_as]
        if len(of_classes) == 1:
            (column,) = of_classes
            of_classes = tuple(f"{column}[{label}]" for label in classes.names)
            spreads.append(Spread(column, classes, of_classes, role == "score", name))
        for label, own in zip(classes.names, of_classes, strict=False):  # or it has none
            roles[label][role] = own
    return {label: role_of(label, own) for label, own in roles.items()}, spreads


def read_sets(column: Column, classes: Vocabulary, ids: Ids) -> Ints:
    """Read sets of classes from a column: lists of names, or texts with bars between names.

    The number of each item's set: bit k is set if it has the k-th class.

    >>> tags = LabelSets(("fraud", "spam"))
    >>> told = Column("tags", "a table", pa.chunked_array([["spam|fraud", "none of these"]]))
    >>> read_sets(told, tags, Ids(np.arange(2)))
    array([3, 0])
    """
    if column.data.null_count:
        missing = column.missing()
        rows = first_few(missing)
        raise PredictionsError(
            f"{missing.sum():,} of {missing.size:,} values of {column} are missing",
            details=examples(rows, id=ids.at(rows)),
            hint=f"write {NONE_OF_THESE!r}, or an empty list, where an item has no class",
        )
    names, place, of_row = _mentions(column)
    number_of = number_in(classes)
    numbers = np.array([number_of(name) for name in names], dtype=np.int64)
    unknown = np.flatnonzero(numbers < 0)
    if unknown.size:
        rows = np.unique(of_row[place == unknown[0]])[:3]
        some = f"{examples(rows, id=ids.at(rows))}; "
        raise no_such_class(str(column), [names[at] for at in unknown], classes, some)
    codes = np.zeros(len(ids), dtype=np.int64)
    np.bitwise_or.at(codes, of_row, np.int64(1) << numbers[place] if names else place)
    return codes


def _mentions(column: Column) -> tuple[list[object], Ints, Ints]:
    """Names in a column of sets, and the name and the row of each mention."""
    data: Any = column.data.combine_chunks()
    if isinstance(data, pa.ChunkedArray):
        data = pa.concat_arrays(data.chunks)
    kind, types = data.type, pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        flat = Column(column.name, column.source, pa.chunked_array([pc.list_flatten(data)]))
        of_row = np.asarray(pc.list_parent_indices(data)).astype(np.int64)
        if not len(flat.data):
            return [], of_row, of_row
        names, place = distinct_values(flat)
        return names, place.astype(np.int64), of_row
    values, which = distinct_values(column)
    index: dict[str, int] = {}
    each = [
        [index.setdefault(name, len(index)) for name in _parted(str(value))] for value in values
    ]
    pairs = [(number, at) for at, numbers in enumerate(each) for number in numbers]
    of_value = [np.flatnonzero(which == at) for at in range(len(values))]
    place = np.concatenate(
        [np.full(of_value[at].size, number) for number, at in pairs] or [np.zeros(0, np.int64)]
    )
    of_row = np.concatenate([of_value[at] for _, at in pairs] or [np.zeros(0, np.int64)])
    return list(index), place.astype(np.int64), of_row.astype(np.int64)


def _parted(text: str) -> list[str]:
    """Names between bars; empty for the explicit value of no class."""
    if " ".join(text.split()).casefold() == NONE_OF_THESE:
        return []
    return [part.strip() for part in text.split(BETWEEN)]


# Classes found in the predictions.


def _names_in(scan: Scan, columns: Mapping[str, Any]) -> tuple[list[str], str]:
    """Classes found in a classifier's columns, and where they are."""
    for role in _BY_PATTERN:
        pattern = columns.get(role)
        if pattern is not None and STAR in str(pattern):
            refuse_no_column(role, pattern)
            return names_by_pattern(scan, pattern, None, role), f"the columns that fit {pattern!r}"
    if (column := columns.get("predicted")) is not None:
        refuse_no_column("predicted", column)
        values = load(scan, [column], (), None).columns[column]
        names, _, _ = _mentions(values)
        return [text for text in map(class_text, names) if text], str(values)
    if (column := columns.get("probabilities")) is not None:
        refuse_no_column("probabilities", column)
        return [*map(str, range(length_of_lists(scan, column)))], f"column {column!r}"
    raise PredictionsError(
        "neither predicted= nor probabilities= is given: the classes are unknown",
        hint="name the columns of every class's score: probabilities='p_*'",
    )


def _of_predictions(predictions: Predictions, classes: Given | None) -> Vocabulary:
    if not isinstance(predictions.vocabulary, LabelSets):
        raise PredictionsError(
            f"{predictions.source} was not read as predictions of items that may have several "
            "classes",
            hint="give the table or file that they were read from",
        )
    if classes is None:
        return predictions.vocabulary
    given = _several(read_given(classes))
    if given.names != predictions.classes:
        raise PredictionsError(
            f"{predictions.source} has the classes {some_of(predictions.classes)}",
            details=f"given are {some_of(given.names)}",
        )
    return given


def _vocabulary(names: Sequence[str], where: str) -> Vocabulary:
    try:
        return LabelSets(tuple(names))
    except DesignError as error:
        raise PredictionsError(
            f"{where} name no classes of which an item may have several: {error.problem}",
            details=error.details,
            hint=error.hint or "give the classes: classes=['...', '...']",
        ) from error


def _several(classes: Vocabulary) -> Vocabulary:
    return LabelSets(classes.names, classes.aliases, classes.guidelines)


def _checked(classifiers: Classifiers) -> dict[str, Mapping[str, Any]]:
    if not isinstance(classifiers, Mapping) or not classifiers:
        raise PredictionsError(
            f"classifiers are of type {type(classifiers).__name__}",
            details="where an item may have several classes, they are a mapping of each class to "
            "what tells of it: classifiers={'spam': {'score': 'p_spam', 'threshold': 0.5}}",
        )
    columns = as_mappings(classifiers)
    for name, each in columns.items():
        if not isinstance(each, Mapping):
            role_of(name, each)  # raises
    return columns


def _refuse_other_names(classes: Vocabulary, given: Sequence[str]) -> None:
    """Raise if the names of the classes and of the columns by class differ."""
    labels = {name: classes.find(name) for name in given}
    for name, label in labels.items():
        if label is None:
            raise PredictionsError(
                f"classifiers= names {name!r}, which is not a class",
                details=f"classes: {some_of(classes.names)}",
                hint=near_class(name, classes),
            )
    missing = [name for name in classes.names if name not in labels.values()]
    if missing or len(set(labels.values())) < len(labels):
        raise PredictionsError(
            f"classifiers= must name each class once: {some_of(missing or given)}",
            details=f"classes: {some_of(classes.names)}",
            hint=did_you_mean(missing[0], given) if missing else "",
        )
