"""Reading predictions, whatever they are kept in: which engine does, of which classifiers."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import duckdb
from numpy.typing import ArrayLike

from assay.core.error_model import Model
from assay.core.strata import UNNAMED
from assay.core.targets import ALONE
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import (
    as_lists,
    sorted_texts,
)
from assay.predictions.classes import (
    find_classes,
    for_classes,
    refuse_beside_classes,
    with_class_columns,
)
from assay.predictions.columns import Classifiers, Given
from assay.predictions.contract import Predictions
from assay.predictions.databases.find import find_database, is_database
from assay.predictions.databases.sqlite import file_of
from assay.predictions.duckdb.databases import is_query
from assay.predictions.duckdb.paths import find_files, is_remote
from assay.predictions.duckdb.table_formats import format_of
from assay.predictions.engine import Scanner
from assay.predictions.judgements import (
    about,
    load_columns,
    roles_of,
)
from assay.predictions.label_sets import read_label_sets
from assay.predictions.memory import MemoryPredictions
from assay.predictions.read_memory import classes_of, in_memory, named
from assay.predictions.roles import (
    Roles,
    ScoreOf,
    ScoreScale,
    refuse_bad_show,
    refuse_no_column,
)
from assay.predictions.scan import Engine, Scan, as_scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.tables import read_mapping
from assay.predictions.values import (
    distinct_values,
    slice_columns,
)

# Up to here, to read files into memory is as fast as anything, and every id can be looked at.
_SMALL = 64 * 2**20


def engine_of(scan: Scan, id: str | None) -> Engine:
    """Return the engine that was asked for, or else the one that suits.

    >>> engine_of(Scan({"p": [0.5]}), None), engine_of(Scan("SELECT 1 AS id"), "id")
    ('memory', 'duckdb')
    """
    if scan.is_of_spark:
        return "spark"
    if scan.engine is not None:
        return scan.engine
    if scan.path is None or id is None:
        return "memory"
    if _bytes(scan.path) <= _SMALL:
        return "memory"
    return "duckdb" if find_database(scan.path) is None else "database"


def open_scanner(
    scan: Scan,  # where they are
    engine: Engine,  # what reads them
    roles: Mapping[str, Roles],  # which columns are each classifier's
    show: Sequence[str],  # the columns that people see
    slices: Sequence[str] = (),  # groups of items that targets are of, for DuckDB and Spark
) -> Scanner:
    """Open predictions that are to be read where they lie."""
    if engine == "spark":
        from assay.predictions.spark.several import open_spark

        return open_spark(scan, roles, show, slices)
    if engine == "database":
        from assay.predictions.databases.several import open_table

        return open_table(scan, roles, show)
    from assay.predictions.duckdb.several import open_duck

    return open_duck(scan, roles, show, slices)


def _bytes(path: str) -> float:
    """Return the size of the files that a path means; infinite where that is not told easily."""
    path = file_of(path)
    if is_remote(path) or is_query(path) or is_database(path) or format_of(path):
        return inf
    if (one := Path(path)).is_file():  # to open DuckDB takes longer than to read a small file
        return one.stat().st_size
    with duckdb.connect() as connection:
        return find_files(connection, path).bytes


def read_predictions(
    # The path of a Parquet, CSV or JSON lines file, of a folder of them, or a pattern that matches
    # several; an SQL query; a pandas, polars, pyarrow or Spark table, or any other that narwhals
    # reads; a mapping of column names to arrays or lists; a `Scan`, which can say more. What is
    # `Predictions` already is returned as it is, and with one of `classifiers` under its name.
    source: object,
    *,
    # The column of scores, finite numbers. None when there are none: all items then have the same
    # score, 0.
    score: str | None = None,
    # The column of predicted labels: yes and no, true and false, 1 and 0, or anything with
    # `positive`. With `classes`, the column of predicted classes: their names, or aliases. When
    # left out, a score of at least `threshold` says yes.
    predicted: str | None = None,
    # The column of ids, integers of 64 bits or strings, no two alike. When left out, the id is the
    # number of the row, from 0; the order of the rows, in a file too, then decides which items are
    # drawn, and must not change during a campaign.
    id: str | None = None,
    # The score from which on the predicted label is yes. Given together with `predicted`, every row
    # is checked against it; a score equal to the threshold goes with either label.
    threshold: float | None = None,
    # The value of the column `predicted` that means yes; all others mean no.
    positive: object = None,
    # Whose score it is; the positive class's when left out. Those of the predicted class (how sure
    # the classifier is of what it says) and of the negative one are turned into it: 1 - score, or
    # -score for margins, of items predicted no, or of all.
    score_of: ScoreOf | None = None,
    # What a score is. Percentages, 0 to 100 like the threshold beside them, are divided by 100.
    # When left out, scores between 0 and 1 are probabilities, and others margins.
    scale: ScoreScale | None = None,
    # Instead of the six: for each classifier's name its `score`, `predicted`, `threshold`,
    # `positive`, `score_of`, `scale` and `probabilities`, those it has. Several of more classes
    # than yes and no are read into memory. The names stand in metrics such as "precision:cnn":
    # letters, digits, _ . and -.
    classifiers: Classifiers | None = None,
    # What classifiers say of an item, where it is not yes or no (`find_classes`). The score is then
    # that of the predicted class. A single classifier is called `assay.core.targets.ALONE` where no
    # name is given. Where an item may have several of them, `find_labels` says what `classifiers`,
    # `predicted` and `probabilities` are.
    classes: Vocabulary | None = None,
    # The columns of every class's probability, with a star for its name, such as ``p_*``; or,
    # without a star, one column of lists in the order of the classes. They are finite, and need not
    # sum to 1. An item is predicted to be of the class with the largest, and of several such of the
    # first, unless `predicted` says otherwise; its score is that class's probability.
    probabilities: str | None = None,
    show: Sequence[str] = (),  # the columns that people see when they label an item
    # With `classifiers`, groups of items that metrics are wanted of: ``lang=de``, or ``lang`` for
    # one a value. DuckDB and Spark read them where they lie; others read all into memory.
    groups: Sequence[str] = (),
    # The column of weights, finite numbers that are not negative: an item counts as much as its
    # weight, and not at all where that is 0. With `aux` all is then read into memory.
    sample_weight: str | None = None,
    # Columns that a model of the outcome may use beside the score: numbers, true and false, or
    # categories, which may be missing.
    aux: Sequence[str] = (),
    # What `assay.core.error_model.Model.to_dict` returned: its log odds take the place of the score
    # in everything but the predicted label.
    model: Mapping[str, Any] | None = None,
    # With which cards will be dealt. Where the predictions stay where they are, the first pass over
    # them then brings these cards along.
    seed: int = 0,
    # Whether that seed is to depend on what the columns of `aux` say (`bound_seed`)
    bind: bool = False,
) -> Predictions:
    """Read the predictions of one classifier or several, and check them.

    The same whatever they were read from, and in whatever order if they have ids. Of `classifiers`,
    bit k of an item's code is set where the k-th says yes; of `classes`, codes are those of
    `Vocabulary.code`. The stratification variable is the mean, over those that have a score, of the
    item's rank by it (`assay.core.cuts.rank`), and 1/2 for all items where none has.

    Raises InputError: says what is wrong, where, how often, with which classifier, and how to mend
    it; a PredictionsError but for bad names.

    A CSV file has no types. Ids in it are integers when each is written as an integer of 64 bits
    is (7, not 007), and otherwise strings; NA and a quoted "" are strings like any other, and a
    field with nothing in it is a missing value.

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
    if classes is not None and classes.multilabel:
        refuse_beside_classes({"groups": groups, "sample_weight": sample_weight, "aux": aux})
        refuse_bad_show(show)
        _refuse_to_stay(scan, engine_of(scan, id))
        told = {"predicted": predicted, "probabilities": probabilities, "threshold": threshold}
        told |= {"score": score, "scale": scale}
        each = {ALONE: told} if classifiers is None else classifiers
        return read_label_sets(scan, each, classes, id=id, show=show)
    if classes is not None or probabilities is not None:
        own: dict[str, object] = {"score": score, "predicted": predicted, "threshold": threshold}
        own |= {"positive": positive, "score_of": score_of, "scale": scale}
        own |= {"probabilities": probabilities}
        shared = {"groups": groups, "sample_weight": sample_weight, "aux": aux, "model": model}
        classifiers, classes = for_classes(scan, classifiers, classes, own, shared)
    fitted = None if model is None else Model.from_dict(model)
    if classifiers is None:
        alone = score, predicted, id, threshold, positive, score_of, scale, tuple(aux), fitted
        roles = dict.fromkeys(UNNAMED, Roles(*alone))
    elif isinstance(held, MemoryPredictions) and len(classifiers) == 1 and not groups:
        return named(held, next(iter(classifiers)))
    else:
        roles = roles_of(classifiers, classes)
        if classes is not None:
            roles = with_class_columns(scan, roles, classes, [id])
        if id is not None:
            refuse_no_column("id", id)
    refuse_bad_show(show)
    engine = engine_of(scan, id)
    if engine == "database":
        several = sample_weight is not None and tuple(roles) != UNNAMED
        engine = _copied_if_need_be(
            scan,
            {
                "more classes than yes and no": any(role.classes for role in roles.values()),
                "second opinions": bool(aux),
                "targets of slices": bool(groups),
                "several targets and weights": several,
            },
        )
    if sample_weight is not None:
        refuse_no_column("sample_weight", sample_weight)
    if engine != "memory" and _can_stay(scan, engine, roles, aux, sample_weight=sample_weight):
        more: dict[str, Any] = {"id": id, "weight": sample_weight, "aux": tuple(aux)}
        roles = {name: replace(role, **more) for name, role in roles.items()}
        (name, role), *further = roles.items()
        # Where codes are counted, the engine itself says whom an error is about.
        with nullcontext() if further or groups or aux else about(name):
            scanned = ScannedPredictions(
                open_scanner(scan, engine, roles, show, groups),
                threshold=None if further or role.model is not None else role.limit,
                seed=seed,
                check_ids=scan.check_ids,
                classifiers=tuple(roles),
                classes=classes_of(roles),
                reopen=partial(_reopened, scan, engine, roles, show, slices=groups)
                if aux
                else None,
                bind=bind and bool(aux),
            )
        return scanned if fitted is None or role.model else scanned.with_model(fitted)
    # The order of the columns is that in which errors name them.
    before = [id] if classifiers is not None else roles[UNNAMED[0]].columns
    around = [name for name in (*before, sample_weight) if name is not None]
    others = [*around, *slice_columns(groups), *(aux if classifiers is not None else ())]
    loaded = load_columns(scan, roles, others, show, id)
    if classifiers is None:
        return in_memory(loaded, roles, id, groups, sample_weight)
    found = in_memory(loaded, roles, id, groups, sample_weight, aux=aux)
    return found if fitted is None else found.with_model(fitted)


def _reopened(
    scan: Scan,
    engine: Engine,
    roles: Mapping[str, Roles],
    show: Sequence[str],
    model: Model | None,  # what takes the score's place
    *,
    slices: Sequence[str],
) -> Scanner:
    """Open predictions by a model, or of one classifier without one to see what it takes."""
    if model is None:
        (role,) = roles.values()
        show = [column for column in (role.score, *role.aux) if column is not None]
    changed = {name: replace(role, model=model) for name, role in roles.items()}
    return open_scanner(scan, engine, changed, show, slices)


def from_arrays(
    *,
    y_score: ArrayLike | None = None,
    y_pred: ArrayLike | None = None,
    y_prob: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Given | None = None,
) -> Predictions:
    """Take predictions from arrays or lists.

    Parameters
    ----------
    y_score : array, shape (N,), optional
        The scores. Of several classes, those of the predicted ones.
    y_pred : array of bool or of 0 and 1, shape (N,), optional
        The predicted labels. When left out, a score of at least `threshold` says yes. With three or
        more values, or with `classes`, they are classes: names or numbers.
    y_prob : array, shape (N, K), optional
        In place of both, or beside `y_pred`: the probability of each of K classes, in the order of
        `classes`, or else of 0 to K - 1.
    ids : array of int or str, shape (N,), optional
        The ids. When left out, the id is the place in the arrays, from 0.
    threshold : float, optional
        As in `read_predictions`.
    sample_weight : array, shape (N,), optional
        How much each item counts: finite, not negative, not all 0.
    classes : list, mapping or path, optional
        The classes, as in `find_classes`.

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
            *(score, predicted, id, threshold, None),
            probabilities=every,
            classes=known,
            of_class=() if every is None else (every,),
        )
        return in_memory(loaded, {ALONE: roles}, id, (), None)
    roles = Roles(score, predicted, id, threshold, positive=None)
    return in_memory(loaded, dict.fromkeys(UNNAMED, roles), id, (), weight)


def _copied_if_need_be(scan: Scan, beyond: Mapping[str, bool]) -> Engine:
    """Return DuckDB, which copies a table, where its own database does not count it.

    `beyond`: what a database does not count, and whether it is asked for.
    """
    asked = [what for what, is_asked in beyond.items() if is_asked]
    if not asked:
        return "database"
    if scan.engine is not None:
        raise PredictionsError(
            f"engine 'database' does not count predictions with {asked[0]}",
            hint="leave out the engine: the table is then copied, and DuckDB counts the copy",
        )
    return "duckdb"


def _can_stay(
    # scan, engine: where the predictions are, and what reads them.
    scan: Scan,
    engine: Engine,
    # roles, aux, sample_weight: the columns of each classifier, the second opinions, and the
    # weights.
    roles: Mapping[str, Roles],
    aux: Sequence[str],
    *,
    sample_weight: str | None,
) -> bool:
    """Tell whether predictions can be read where they lie.

    Others are read into memory, unless somebody asked for something else: those with weights and
    second opinions, and several classifiers of more classes than yes and no.
    """
    if sample_weight is not None and aux:
        _refuse_engine(scan, engine, sample_weight)
        return False
    if len(roles) == 1 or not any(role.classes for role in roles.values()):
        return True
    if scan.engine is not None or engine == "spark":
        raise PredictionsError(
            f"engine {engine!r} reads one classifier of more classes than yes and no, and there "
            f"are {len(roles)}",
            hint="leave out the engine, or make a campaign for each classifier",
        )
    return False


def _refuse_to_stay(scan: Scan, engine: Engine) -> None:
    """Raise where items may have several classes, and predictions are to be read in place."""
    if scan.engine not in (None, "memory") or engine == "spark":
        raise PredictionsError(
            f"engine {engine!r} reads one class of an item, and it may have several",
            details="classes are cut by the mean of their ranks, which takes them all in memory",
            hint="leave out the engine, or make a campaign for each class",
        )


def _refuse_engine(scan: Scan, engine: Engine, sample_weight: str) -> None:
    """Raise where predictions with weights and second opinions are to be read in place."""
    if engine == "spark" or scan.engine not in (None, "memory"):
        raise PredictionsError(
            f"sample_weight={sample_weight!r} is given for the engine {engine!r}",
            details="it reads no weights beside second opinions",
            hint="write ids, scores, labels and weights to a Parquet file and give that"
            if engine == "spark"
            else "leave out the engine: all is then read into memory",
        )
