"""Reading predictions from any source.

The result does not depend on the container nor, with ids, on the order of rows. A CSV file has no
types. Its ids are integers if each is written as a 64-bit integer is (7, not 007), and otherwise
strings; NA and a quoted "" are strings like any other, and an empty field without quotes is
missing.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import ArrayLike

from assay.core.error_model import Model
from assay.core.groups import refuse_bad_names
from assay.core.rules import refuse
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import as_lists, sorted_texts
from assay.predictions.classes import (
    find_classes,
    for_classes,
    refuse_beside_classes,
    with_class_columns,
)
from assay.predictions.databases import find_database
from assay.predictions.duckdb.paths import find_files
from assay.predictions.engine import Scanner
from assay.predictions.label_sets import label_layout, load_label_sets
from assay.predictions.layout import Layout, alone, by_name, roles_of
from assay.predictions.memory import in_memory
from assay.predictions.predictions import Predictions
from assay.predictions.roles import (
    MOST_CODES,
    Classifiers,
    Given,
    Roles,
    ScoreOf,
    ScoreScale,
    about,
    refuse_bad_show,
    refuse_no_column,
)
from assay.predictions.scan import (
    Engine,
    Scan,
    as_scan,
    file_of,
    format_of,
    is_database,
    is_query,
    is_remote,
    is_sqlite,
)
from assay.predictions.tables import read_mapping, refuse_lost_index
from assay.predictions.values import distinct_values

# Up to this size, reading files into memory is as fast as any engine, and every id can be checked.
_SMALL = 64 * 2**20

_MANY = 200  # classes; a database compares a row with each of them
_MANY_LABELS = 40  # of an item: with the bins of a rank their codes are numbers of 64 bits


def read_predictions(
    # Path of a Parquet, CSV or JSON lines file, of a folder of them, or a pattern that matches
    # several; an SQL query; a pandas, polars, pyarrow or Spark table, or any other that narwhals
    # reads; a mapping of column names to arrays or lists; a `Scan`, which has more options.
    # `Predictions` are returned as they are; with one of `classifiers`, under its name.
    source: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: str | None = None,
    threshold: float | None = None,
    positive: object = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    classifiers: Classifiers | None = None,  # replaces these: the options of each, by name
    classes: Vocabulary | None = None,
    probabilities: str | None = None,
    top: int | None = None,
    show: Sequence[str] = (),
    groups: Sequence[str] = (),
    sample_weight: str | None = None,
    aux: Sequence[str] = (),
    model: Mapping[str, Any] | None = None,  # result of `assay.core.error_model.Model.to_dict`
    seed: int = 0,  # of the deal; if predictions stay in place, the first pass lists first cards
    bind: bool = False,  # whether the seed depends on the columns of `aux` (`bound_seed`)
) -> Predictions:
    """Read the predictions of one or several classifiers, and check them.

    `Roles` and `Layout` describe the columns. Raises InputError with the problem and the remedy: a
    PredictionsError except for bad names.

    >>> table = {"url": ["a", "b", "c"], "p": [0.9, 0.2, 0.6], "spam": ["yes", "no", "yes"]}
    >>> read_predictions(table, id="url", score="p", predicted="spam", positive="yes")
    <predictions of dict, 3 rows: 2 say yes>
    """
    scan = as_scan(source)
    already = scan.source if isinstance(scan.source, Predictions) else None
    if already is not None and (classifiers is None or not already.is_by_score):
        return already
    refuse_bad_show(aux, "aux")
    refuse({"aux": list(aux), "sample_weight": sample_weight})
    own = {"score": score, "predicted": predicted, "threshold": threshold, "positive": positive}
    own |= {"score_of": score_of, "scale": scale, "probabilities": probabilities, "top": top}
    shared = {"groups": groups, "sample_weight": sample_weight, "aux": aux, "model": model}
    if classes is not None and classes.multilabel:
        refuse_beside_classes({**shared, "model": None})
        refuse_bad_show(show)
        names = ("predicted", "probabilities", "threshold", "score", "scale")
        each = by_name(classifiers, {name: own[name] for name in names})
        return _counted(scan, label_layout(scan, each, classes, id=id, show=show), seed)
    if already is not None and classifiers is not None and len(classifiers) == 1 and not groups:
        refuse_bad_names(list(classifiers))
        given, known = tuple(classifiers), already.vocabulary
        return Predictions(already.scanner, classifiers=given, vocabulary=known, seed=seed)
    roles = _roles(scan, own, shared, classifiers, classes, id=id)
    refuse_bad_show(show)
    fitted = None if model is None else Model.from_dict(model)
    layout = Layout(roles, id, tuple(show), tuple(groups), sample_weight, tuple(aux), fitted)
    return _counted(scan, layout, seed, bind=bind)


def _roles(
    scan: Scan,
    own: Mapping[str, Any],  # options of a single classifier without a name
    shared: Mapping[str, Any],  # arguments that all classifiers share
    classifiers: Classifiers | None,
    classes: Vocabulary | None,
    *,
    id: str | None,
) -> dict[str, Roles]:
    """Columns of each classifier by name."""
    if classes is not None or own["probabilities"] is not None:
        classifiers, classes = for_classes(scan, classifiers, classes, own, shared)
    if classifiers is None:
        names = ("score", "predicted", "threshold", "positive", "score_of", "scale")
        roles = alone(Roles(id=None, **{name: own[name] for name in names}))
    else:
        roles = roles_of(classifiers, classes)
        if classes is not None:
            roles = with_class_columns(scan, roles, classes, [id])
    for argument, name in (("id", id), ("sample_weight", shared["sample_weight"])):
        if name is not None:
            refuse_no_column(argument, name)
    return roles


def _counted(scan: Scan, layout: Layout, seed: int, *, bind: bool = False) -> Predictions:
    """Predictions that a suitable engine counts."""
    engine = counting(scan, layout)
    if engine == "memory":
        if layout.id is None:
            refuse_lost_index(scan.source)
        return in_memory(load_label_sets(scan, layout), layout)

    def opened(model: Model | None) -> Scanner:
        return _opened(engine, scan, replace(layout, model=model))

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


# Engines: which of them reads predictions, and what each can do.


def _lacks(layout: Layout) -> str:
    """Name the features that a database lacks."""
    each = layout.judges.values()
    beyond = {
        "probabilities of all classes": any(role.of_class for role in each),
        "hundreds of classes": any(role.n_classes > _MANY for role in each),
        "second opinions": bool(layout.aux),
    }
    return next((what for what, is_asked in beyond.items() if is_asked), "")


def engine_of(scan: Scan, id: str | None) -> Engine:
    """Choose the requested engine, or else a suitable one.

    >>> engine_of(Scan({"p": [0.5]}), None), engine_of(Scan("SELECT 1 AS id"), "id")
    ('memory', 'duckdb')
    """
    if scan.is_of_spark:
        return "spark"
    if scan.engine is not None:
        return scan.engine
    if scan.path is None or id is None or _bytes(scan.path) <= _SMALL:
        return "memory"
    return "duckdb" if find_database(scan.path) is None else "database"


def _bytes(path: str) -> float:
    """Size of the files of a path; infinite if it is not easily known."""
    path = file_of(path)
    if is_remote(path) or is_query(path) or is_database(path) or format_of(path):
        return inf
    if (one := Path(path)).is_file():  # to open DuckDB takes longer than to read a small file
        return one.stat().st_size
    with duckdb.connect() as connection:
        return find_files(connection, path).bytes


def counting(scan: Scan, layout: Layout) -> Engine:
    """Engine that counts predictions: DuckDB, with a copy, if a database cannot.

    Unless another engine was requested, several classifiers with more codes than an engine counts
    are loaded into memory.
    """
    engine = engine_of(scan, layout.id)
    is_asked = scan.engine is not None or engine == "spark"
    if layout.labels is not None:
        return _counting_labels(engine, layout, is_asked=is_asked)
    lacks = _lacks(layout) if engine == "database" else ""
    if lacks and is_asked:
        raise PredictionsError(
            f"engine {engine!r} does not count predictions with {lacks}",
            hint="leave out the engine: the table is then copied, and DuckDB counts the copy",
        )
    of_classes = len(layout.judges) > 1 and layout.first.classes is not None
    if of_classes and layout.n_codes(()) > MOST_CODES and not is_asked:
        return "memory"
    return "duckdb" if lacks else engine


def _counting_labels(engine: Engine, layout: Layout, *, is_asked: bool) -> Engine:
    """Engine that counts predictions of items that may have several classes."""
    few = len(layout.judges) <= _MANY_LABELS
    if engine == "memory" or (few and (engine == "duckdb" or not layout.apart)):
        return engine
    if not is_asked:
        return "duckdb" if few else "memory"  # DuckDB counts a copy
    raise PredictionsError(
        f"engine {engine!r} reads up to 40 classes of an item, each from a column of its own",
        details="DuckDB reads lists and sets, too; more classes are read into memory",
        hint="leave out the engine, or write a column for each class",
    )


def _opened(engine: Engine, scan: Scan, layout: Layout) -> Scanner:
    """Open predictions that are counted where they are."""
    if engine == "duckdb" or is_sqlite(scan.path or ""):  # whose tables are copied
        from assay.predictions.duckdb.scanner import open_duck

        return open_duck(scan, layout)
    if engine == "spark":
        from assay.predictions.spark.scanner import open_spark

        return open_spark(scan, layout)
    from assay.predictions.sql.database import open_table

    return open_table(scan, layout)


def joining(scans: Sequence[Scan]) -> Engine | None:
    """Engine that can join columns for a model of all: Spark for what is Spark's, or DuckDB."""
    if all(scan.is_of_spark for scan in scans):
        return "spark"
    by_path = all(scan.path is not None and not scan.is_of_spark for scan in scans)
    is_free = {scan.engine for scan in scans} <= {None, "duckdb"}
    return "duckdb" if by_path and is_free else None


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
    return _of_arrays(columns, threshold=threshold, classes=classes, top=top)


def _of_arrays(
    columns: Mapping[str, Any], *, threshold: float | None, classes: Given | None, top: int | None
) -> Predictions:
    """Predictions from columns that are named as the arguments of `from_arrays`."""
    names = ("y_score", "y_pred", "ids", "sample_weight", "y_prob")
    score, predicted, id, weight, every = (name if name in columns else None for name in names)
    loaded = read_mapping(columns, list(columns), (), "arrays")
    labels = loaded.columns.get("y_pred")
    several = labels is not None and len(sorted_texts(distinct_values(labels)[0])) > 2
    if every is None and classes is None and not several:
        roles = Roles(score, predicted, None, threshold, positive=None)
        return in_memory(loaded, Layout(alone(roles), id, weight=weight))
    known = find_classes(columns, predicted=predicted, probabilities=every, classes=classes)
    refuse_beside_classes({"sample_weight": weight})
    roles = Roles(
        *(score, predicted, None, threshold, None),
        probabilities=every,
        classes=known,
        of_class=() if every is None else (every,),
        top=top,
    )
    return in_memory(loaded, Layout(alone(roles), id))
