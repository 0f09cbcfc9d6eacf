"""Reading predictions from any source: the choice of the engine and of the classifiers."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from assay.core.error_model import Model
from assay.core.rules import refuse
from assay.core.strata import UNNAMED
from assay.core.targets import ALONE, refuse_bad_names
from assay.core.vocabulary import Vocabulary
from assay.predictions.class_values import as_lists, sorted_texts
from assay.predictions.classes import (
    find_classes,
    for_classes,
    refuse_beside_classes,
    with_class_columns,
)
from assay.predictions.engine import Scanner
from assay.predictions.engines import counting
from assay.predictions.judgements import roles_of
from assay.predictions.label_sets import label_layout, load_label_sets
from assay.predictions.layout import Layout
from assay.predictions.memory import in_memory
from assay.predictions.predictions import Predictions
from assay.predictions.roles import (
    Classifiers,
    Given,
    Roles,
    ScoreOf,
    ScoreScale,
    about,
    refuse_bad_show,
    refuse_no_column,
)
from assay.predictions.scan import Scan, as_scan
from assay.predictions.tables import read_mapping
from assay.predictions.values import distinct_values


def read_predictions(
    # Path of a Parquet, CSV or JSON lines file, of a folder of them, or a pattern that matches
    # several; an SQL query; a pandas, polars, pyarrow or Spark table, or any other that narwhals
    # reads; a mapping of column names to arrays or lists; a `Scan`, which has more options.
    # `Predictions` are returned as they are; with one of `classifiers`, under its name.
    source: object,
    *,
    # Column of scores, finite numbers. None if there are none: all items then have the score 0.
    score: str | None = None,
    # Column of predicted labels: yes and no, true and false, 1 and 0, or anything with `positive`.
    # With `classes`, the column of predicted classes: their names, or aliases. Default: yes for a
    # score of at least `threshold`.
    predicted: str | None = None,
    # Column of ids, distinct 64-bit integers or strings. Default: the row number, from 0; the order
    # of rows, also in a file, then decides which items are drawn, and must not change during a
    # campaign.
    id: str | None = None,
    # Smallest score that is predicted yes. Together with `predicted`, every row is checked against
    # it; a score equal to the threshold is valid for either label.
    threshold: float | None = None,
    # Value of the column `predicted` that means yes; all others mean no.
    positive: object = None,
    # Class of the score; default: the positive class. Scores of the predicted class (the
    # classifier's confidence) and of the negative class are converted: 1 - score, or -score for
    # margins, of items predicted no, or of all.
    score_of: ScoreOf | None = None,
    # Scale of the scores. Percentages, 0 to 100 like their threshold, are divided by 100. Default:
    # scores between 0 and 1 are probabilities, and others margins.
    scale: ScoreScale | None = None,
    # Replaces the six: for each classifier's name its `score`, `predicted`, `threshold`,
    # `positive`, `score_of`, `scale` and `probabilities`, if it has them. The names appear in
    # metrics such as "precision:cnn": letters, digits, _ . and -.
    classifiers: Classifiers | None = None,
    # Classes, if they are not yes and no (`find_classes`). The score is then that of the predicted
    # class. The default name of a single classifier is `assay.core.targets.ALONE`. If an item may
    # have several classes, `find_labels` describes `classifiers`, `predicted` and `probabilities`.
    classes: Vocabulary | None = None,
    # Columns of every class's probability, with a star for its name, such as ``p_*``; or, without a
    # star, one column of lists in the order of the classes. They are finite, and need not sum to 1.
    # The predicted class is the first one with the largest probability, unless `predicted` is
    # given; the score is that class's probability.
    probabilities: str | None = None,
    # With `probabilities`: number of most probable classes whose share in the sum of all is the
    # score. Without it, the score is the probability of the predicted class, unchanged.
    top: int | None = None,
    show: Sequence[str] = (),  # columns shown to reviewers
    # With `classifiers`, groups of items with their own metrics: ``lang=de``, or ``lang`` for one
    # per value. DuckDB and Spark read them in place; others read everything into memory.
    groups: Sequence[str] = (),
    # Column of weights, finite numbers that are not negative: an item counts as much as its weight,
    # and is left out if that is 0. Not with `aux`.
    sample_weight: str | None = None,
    # Columns that a model of the outcome may use beside the score: numbers, true and false, or
    # categories; values may be missing.
    aux: Sequence[str] = (),
    # Result of `assay.core.error_model.Model.to_dict`: its log odds replace the score in everything
    # but the predicted label.
    model: Mapping[str, Any] | None = None,
    # Seed of the deal. If the predictions stay in place, the first pass lists its first cards.
    seed: int = 0,
    # Whether that seed depends on the values of the columns of `aux` (`bound_seed`)
    bind: bool = False,
) -> Predictions:
    """Read the predictions of one or several classifiers, and check them.

    The result does not depend on the container nor, with ids, on the order of rows. With
    `classifiers`, bit k of an item's code is set if the k-th says yes; with `classes`, codes are
    those of `Vocabulary.code`. The stratification variable is the mean, over the classifiers with a
    score, of the item's rank by it (`assay.core.cuts.rank`), and 1/2 for all items without scores.

    Raises InputError: names the problem, where, how often, with which classifier, and the remedy; a
    PredictionsError except for bad names.

    A CSV file has no types. Its ids are integers if each is written as a 64-bit integer is (7, not
    007), and otherwise strings; NA and a quoted "" are strings like any other, and an empty field
    without quotes is missing.

    >>> table = {"url": ["a", "b", "c"], "p": [0.9, 0.2, 0.6], "spam": ["yes", "no", "yes"]}
    >>> read_predictions(table, id="url", score="p", predicted="spam", positive="yes")
    <predictions of dict, 3 rows: 2 say yes>
    >>> table = {"p": [0.9, 0.2, 0.6], "vote": [1, 0, 0]}
    >>> cnn, mve = {"score": "p", "threshold": 0.5}, {"predicted": "vote"}
    >>> found = read_predictions(table, classifiers={"cnn": cnn, "mve": mve})
    >>> found
    <predictions of dict, 3 rows by cnn, mve: to 2 one says yes>
    >>> found.cells()
    {0: 1, 1: 1, 3: 1}
    >>> table = {"topic": ["math", "physics", "q-bio", "math"], "p": [0.9, 0.6, 0.5, 0.4]}
    >>> from assay.predictions import find_classes
    >>> topics = find_classes(table, predicted="topic")
    >>> found = read_predictions(table, predicted="topic", score="p", classes=topics)
    >>> found, found.cells()
    (<predictions of dict, 4 rows: 3 classes>, {0: 2, 1: 1, 2: 1})
    """
    scan = as_scan(source)
    held = scan.source
    if isinstance(held, Predictions) and (classifiers is None or held.classifiers != UNNAMED):
        return held
    refuse_bad_show(aux, "aux")
    refuse({"aux": list(aux), "sample_weight": sample_weight})
    if classes is not None and classes.multilabel:
        refuse_beside_classes({"groups": groups, "sample_weight": sample_weight, "aux": aux})
        refuse_bad_show(show)
        told = {"predicted": predicted, "probabilities": probabilities, "threshold": threshold}
        told |= {"score": score, "scale": scale}
        each = {ALONE: told} if classifiers is None else classifiers
        return _counted(scan, label_layout(scan, each, classes, id=id, show=show), seed)
    if classes is not None or probabilities is not None:
        own: dict[str, object] = {"score": score, "predicted": predicted, "threshold": threshold}
        own |= {"positive": positive, "score_of": score_of, "scale": scale}
        own |= {"probabilities": probabilities, "top": top}
        shared = {"groups": groups, "sample_weight": sample_weight, "aux": aux, "model": model}
        classifiers, classes = for_classes(scan, classifiers, classes, own, shared)
    if classifiers is None:
        alone = score, predicted, None, threshold, positive, score_of, scale
        roles = dict.fromkeys(UNNAMED, Roles(*alone))
    elif isinstance(held, Predictions) and len(classifiers) == 1 and not groups:
        refuse_bad_names(list(classifiers))
        return Predictions(held.scanner, classifiers=tuple(classifiers), seed=seed)
    else:
        roles = roles_of(classifiers, classes)
        if classes is not None:
            roles = with_class_columns(scan, roles, classes, [id])
    for argument, name in (("id", id), ("sample_weight", sample_weight)):
        if name is not None:
            refuse_no_column(argument, name)
    refuse_bad_show(show)
    fitted = None if model is None else Model.from_dict(model)
    layout = Layout(roles, id, tuple(show), tuple(groups), sample_weight, tuple(aux), fitted)
    return _counted(scan, layout, seed, bind=bind)


def _counted(scan: Scan, layout: Layout, seed: int, *, bind: bool = False) -> Predictions:
    """Predictions that a suitable engine counts."""
    open_scanner = counting(scan, layout).open
    if open_scanner is None:
        return in_memory(load_label_sets(scan, layout), layout)

    def opened(model: Model | None) -> Scanner:
        return open_scanner(scan, replace(layout, model=model))

    (name, *_) = layout.judges
    # With codes, the engine itself names the classifier in an error.
    with nullcontext() if layout.is_coded else about(name):
        return Predictions(
            opened(layout.model),
            threshold=layout.threshold,
            seed=seed,
            check_ids=scan.check_ids,
            classifiers=layout.classifiers,
            vocabulary=layout.vocabulary,
            reopen=opened if layout.aux else None,
            bind=bind and bool(layout.aux),
        )


def from_arrays(
    *,
    y_score: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    y_prob: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Given | None = None,
    top: int | None = 1,
) -> Predictions:
    """Predictions from arrays or lists.

    Parameters
    ----------
    y_score : array, shape (N,), optional
        The scores. Of several classes, those of the predicted ones.
    y_pred : array of bool or of 0 and 1, shape (N,), optional
        The predicted labels. Default: a score of at least `threshold` says yes. With three or more
        values, or with `classes`, they are classes: names or numbers.
    y_prob : array, shape (N, K), optional
        In place of both, or beside `y_pred`: the probability of each of K classes, in the order of
        `classes`, or else of 0 to K - 1.
    ids : array of int or str, shape (N,), optional
        The ids. Default: the place in the arrays, from 0.
    threshold : float, optional
        As in `read_predictions`.
    sample_weight : array, shape (N,), optional
        How much each item counts: finite, not negative, not all 0.
    classes : list, mapping or path, optional
        The classes, as in `find_classes`.
    top : int, optional
        With `y_prob`, strata are by the sum of so many of the largest probabilities of an item,
        over the sum of all. For top-k accuracy alone, give its k. None: by the probability of the
        predicted class as it stands, as in 0.1.0.

    Examples
    --------
    >>> from_arrays(y_score=[0.9, 0.2, 0.6], threshold=0.5)
    <predictions of arrays, 3 rows: 2 say yes>
    >>> from_arrays(y_prob=[[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]).cells()
    {0: 1, 2: 1}
    """
    given = {"y_score": y_score, "y_pred": y_pred, "ids": ids, "sample_weight": sample_weight}
    columns = {name: values for name, values in given.items() if values is not None}
    if y_prob is not None:
        columns["y_prob"] = as_lists(y_prob)
    score, predicted, id, weight = (name if name in columns else None for name in given)
    loaded = read_mapping(columns, list(columns), (), "arrays")
    said = loaded.columns.get("y_pred")
    several = said is not None and len(sorted_texts(distinct_values(said)[0])) > 2
    if y_prob is not None or classes is not None or several:
        every = None if y_prob is None else "y_prob"
        known = find_classes(columns, predicted=predicted, probabilities=every, classes=classes)
        refuse_beside_classes({"sample_weight": weight})
        roles = Roles(
            *(score, predicted, None, threshold, None),
            probabilities=every,
            classes=known,
            of_class=() if every is None else (every,),
            top=top,
        )
        return in_memory(loaded, Layout({ALONE: roles}, id))
    roles = Roles(score, predicted, None, threshold, positive=None)
    return in_memory(loaded, Layout(dict.fromkeys(UNNAMED, roles), id, weight=weight))
