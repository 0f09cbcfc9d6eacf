"""Classes of a new campaign: two or more, and which options they exclude."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from assay.core.label_sets import LabelSets
from assay.core.metrics import METRICS, asks_for_top, is_matrix_metric, metric_word
from assay.core.ranking import tops_of_target
from assay.core.targets import Target, name_of
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayError, DesignError, PredictionsError
from assay.predictions import (
    Classifiers,
    Given,
    Predictions,
    are_classes,
    as_mappings,
    as_scan,
    class_names,
    find_classes,
    is_of_classes,
    read_given,
    read_predictions,
    sorted_texts,
)


def classes_of(
    predictions: object,
    columns: Mapping[str, Any],
    classifiers: Classifiers | None,
    classes: Given | None,  # as given
    metrics: Sequence[str],  # requested metrics
    *,
    # Whether to look up the names in predictions. If all rows are read anyway, this is done once
    # they turn out not to be yes and no.
    look: bool = True,
) -> Vocabulary | None:
    """Classes of the items; None for yes and no.

    There are more than two if classes or their probabilities are given, if a metric needs them, or
    if predictions name three or more.
    """
    if isinstance(classes, LabelSets):
        return classes
    source = as_scan(predictions).source
    each = [columns]
    if isinstance(classifiers, Mapping):
        given = as_mappings(classifiers).values()
        each = [one for one in given if isinstance(one, Mapping)]
    if not isinstance(source, Predictions):
        _refuse_no_probabilities(metrics, [columns, *each])
    if isinstance(classes, Vocabulary):
        return None if classes.is_yes_or_no else classes
    if isinstance(source, Predictions):
        names = source.classes
        return None if names == ("no", "yes") else find_classes(source, classes=classes)
    patterns = {one.get("probabilities") for one in each} - {None}
    predicted = [one.get("predicted") for one in each if one.get("predicted") is not None]
    if classes is None and not patterns and not any(map(_is_of_all, metrics)):
        if classifiers is not None or not _may_name_classes([columns], metrics, look=look):
            return None
        if not are_classes(is_of_classes(predictions, columns["predicted"])):
            return None
    pattern = next(iter(patterns), None)
    vocabulary: Vocabulary | None = None
    for column in predicted or [None]:
        more = find_classes(predictions, predicted=column, probabilities=pattern, classes=classes)
        names = more.names if vocabulary is None else (*vocabulary.names, *more.names)
        vocabulary = more if vocabulary is None else Vocabulary.of(names)
    return vocabulary


Made = TypeVar("Made")
Known = TypeVar("Known")


def of_any(
    make: Callable[[Given | None], Made],  # reads them with the classes
    predictions: object,
    columns: Mapping[str, Any],
    classifiers: Classifiers | None,
    classes: Given | None,
) -> Made:
    """Make something of predictions; if they are not yes and no, of the classes they name.

    The first attempt reads all rows, so most predictions are read once.
    """
    look = partial(classes_of, predictions, columns, classifiers, classes, ())
    return _tried(make, classes, look)


def _tried(make: Callable[[Known], Made], known: Known, look: Callable[[], Known]) -> Made:
    """Make something with the known classes; if that fails, with those a look at the data finds."""
    try:
        return make(known)
    except PredictionsError:
        looked_up = known
        if known is None:
            with suppress(AssayError):  # the first error is reported
                looked_up = look()
        if looked_up is None or known is not None:
            raise
    return make(looked_up)


def read_of_any(
    predictions: object, *, classes: Given | None = None, metrics: Sequence[str], **columns: Any
) -> Predictions:
    """Read the predictions of one classifier, with two classes or more.

    `classes`: as given; `metrics`: requested metrics.
    """

    def read(given: Given | None) -> Predictions:
        vocabulary = classes_of(predictions, columns, None, given, metrics, look=False)
        return read_predictions(predictions, **columns, classes=vocabulary)

    return of_any(read, predictions, columns, None, classes)


def with_classes(
    make: Callable[[Vocabulary | None], Made],  # takes the classes, or None for yes and no
    sources: Sequence[tuple[object, Mapping[str, Any]]],
    *,
    classes: Given | None,
    metrics: Sequence[str],
    before: Sequence[Vocabulary] = (),
) -> Made:
    """Call `make` with the classes of predictions from one place or two.

    Yes and no are tried first unless something rules them out.
    """
    asked = (sources, classes, metrics, before)
    vocabulary = classes_of_several(*asked, look=False)
    return _tried(make, vocabulary, lambda: classes_of_several(*asked, look=True))


def refuse_of_weeks(metrics: Sequence[str], before: Sequence[Vocabulary] = ()) -> None:
    """Raise if a metric is requested that cannot compare two weeks or follow a series."""
    if asks_for_top(metrics):
        raise DesignError(
            "top-k accuracy cannot be compared between weeks or followed in a series",
            details="the ranks of all classes are known only for items of one week",
            hint="compare accuracy; or create a campaign of two classifiers of the same items with "
            "classifiers={...}",
        )
    if any(isinstance(each, LabelSets) for each in before):
        raise DesignError(
            "items with several classes cannot be compared between weeks or followed in a series",
            details="earlier labels are sets of classes",
            hint="create a campaign of each week with multilabel=True",
        )


def classes_of_several(
    # Locations of predictions, and their column roles.
    sources: Sequence[tuple[object, Mapping[str, Any]]],
    classes: Given | None,  # as given
    metrics: Sequence[str],  # requested metrics
    before: Sequence[Vocabulary] = (),  # of the campaigns whose labels count again
    *,
    look: bool,
) -> Vocabulary | None:
    """All classes of predictions from several places; None for yes and no.

    A class found in only one place is included. Classes of campaigns whose labels count again come
    first and keep their numbers.
    """
    vocabulary: Vocabulary | None = None
    given = None if classes is None else read_given(classes)
    for each in (*before, *([] if given is None else [given])):
        if not each.is_yes_or_no:
            vocabulary = each if vocabulary is None else vocabulary.extended(each)
    if given is not None:
        return vocabulary  # unknown values are refused when they are read
    objects = [as_scan(source).source for source, _ in sources]
    names: list[str] = []
    for one in objects:
        if isinstance(one, Predictions) and one.of_classes:
            names += one.classes
    every = [columns for _, columns in sources]
    has_probabilities = any(columns.get("probabilities") is not None for columns in every)
    sure = has_probabilities or any(map(_is_of_all, metrics))
    known = sure or vocabulary is not None or bool(names)
    if not known and not _may_name_classes(every, metrics, look=look):
        return None
    for source, columns in sources:
        if not isinstance(as_scan(source).source, Predictions):
            class_columns = {name: columns.get(name) for name in ("predicted", "probabilities")}
            names += class_names(source, **class_columns)
    if vocabulary is not None:
        return vocabulary.extended(names)
    names = sorted_texts(names)
    sure = sure or any(isinstance(each, Predictions) for each in objects)
    if not sure and not are_classes(names):
        return None
    return Vocabulary(tuple(names))


def _may_name_classes(
    each: Sequence[Mapping[str, Any]], metrics: Sequence[str], *, look: bool
) -> bool:
    """Whether to look for classes in the columns of predicted labels; a metric may name one."""
    if any(one.get(name) is not None for one in each for name in ("positive", "threshold")):
        return False
    look = look or any(":" in str(metric) for metric in metrics)
    return look and all(isinstance(one.get("predicted"), str) for one in each)


def _is_of_all(metric: object) -> bool:
    """Whether a metric exists only for more than two classes."""
    word = metric_word(str(metric).partition(":")[0].partition(" within ")[0])
    more = is_matrix_metric(word) or word.startswith(("macro_", "micro_", "weighted_"))
    return more and word not in METRICS


def _refuse_no_probabilities(metrics: Sequence[str], each: Sequence[Mapping[str, Any]]) -> None:
    """Raise if top-k accuracy is requested without columns of probabilities.

    `metrics`: requested metrics; `each`: the columns of each classifier.
    """
    asked = next((metric for metric in metrics if asks_for_top([metric])), None)
    if asked is not None and not any(one.get("probabilities") is not None for one in each):
        raise DesignError(
            f"{asked} needs the probabilities of all classes",
            details="a predicted class and its score do not give the next classes",
            hint="name their columns, with a star for the class: probabilities='p_*'",
        )


def refuse_unranked(targets: Sequence[Target], predictions: Predictions) -> None:
    """Raise if top-k accuracy is requested for a classifier read without probabilities."""
    for target in targets:
        for top in tops_of_target(target, predictions.classifiers):
            if not predictions.has_probabilities[top.classifier]:
                name = name_of(predictions.classifiers[top.classifier])
                whose = f" by {name}" if name else ""
                raise DesignError(
                    f"{target.name} needs the probabilities of all classes{whose}",
                    details=f"{predictions.source} was read without them",
                    hint=f"classifiers={{{name!r}: {{'probabilities': '{name}_*'}}, ...}}"
                    if name
                    else "read it with probabilities='p_*'",
                )
