"""Reading predictions, whatever they are kept in."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from assay.core.types import Bools, Floats
from assay.errors import PredictionsError
from assay.predictions.column import Loaded
from assay.predictions.contract import Predictions
from assay.predictions.duckdb.loading import read_scan
from assay.predictions.engines import engine_of, open_scanner
from assay.predictions.ids import Ids, read_ids
from assay.predictions.labels import read_predicted, refuse_contradictions
from assay.predictions.memory import MemoryPredictions
from assay.predictions.numbers import read_scores, read_weights, refuse_engine
from assay.predictions.roles import Roles, refuse_bad_show, refuse_no_column
from assay.predictions.scan import as_scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.tables import read_mapping, read_table

# From a container to checked ids, scores and predicted labels.


def load(source: object, used: Sequence[str], show: Sequence[str], id: str | None) -> Loaded:
    """Read columns of a path, a query, a table of a database, a mapping or a table in memory.

    Parameters
    ----------
    source : path, query, URL, mapping, table or Scan
        As in `assay.predictions.read.read_predictions`.
    used, show : sequence of str
        The columns to read, and those that people see.
    id : str or None
        The column of ids.

    Examples
    --------
    >>> load({"p": [0.9, 0.2]}, ["p"], (), None).source
    'dict, 2 rows'
    """
    scan = as_scan(source)
    if scan.path is not None:
        return read_scan(scan, used, show, id)
    held = scan.source
    for name, given in (("where", scan.where), ("table", scan.table)):
        if given is not None:
            raise PredictionsError(
                f"{name}={given!r} is given beside predictions of type {type(held).__name__}",
                details=f"{name} is for files, queries and databases",
                hint="filter the table first, and leave it out",
            )
    if isinstance(held, Mapping):
        return read_mapping(held, used, show, type(held).__name__)
    return read_table(held, used, show)


def take_ids(loaded: Loaded, id: str | None) -> Ids:
    """Take a column for the ids, or else the numbers of the rows.

    Examples
    --------
    >>> take_ids(load({"p": [0.9, 0.2]}, ["p"], (), None), None).values
    array([0, 1])
    """
    size = len(next(iter(loaded.columns.values())).data)
    if size == 0:
        raise PredictionsError(f"there are no predictions in {loaded.source}")
    return Ids(np.arange(size)) if id is None else read_ids(loaded.columns[id])


def take_judgements(loaded: Loaded, roles: Roles, ids: Ids) -> tuple[Floats, Bools]:
    """Take a classifier's scores and predicted labels, or say what is wrong with them.

    Examples
    --------
    >>> roles = Roles(score="p", predicted=None, id=None, threshold=0.5, positive=None)
    >>> loaded = load({"p": [0.9, 0.2]}, roles.columns, (), None)
    >>> take_judgements(loaded, roles, take_ids(loaded, None))
    (array([0.9, 0.2]), array([ True, False]))
    """
    columns = loaded.columns
    score = np.zeros(len(ids)) if roles.score is None else read_scores(columns[roles.score], ids)
    if roles.predicted is not None:
        predicted = read_predicted(columns[roles.predicted], roles.positive, ids)
        if roles.threshold is not None:
            refuse_contradictions(score, predicted, roles.threshold, columns[roles.predicted], ids)
    elif roles.threshold is not None:  # Roles sees to it that one of the two is given
        predicted = score >= roles.threshold
    return score, predicted


def read_predictions(
    source: object,
    *,
    score: str | None,
    predicted: str | None = None,
    id: str | None = None,
    threshold: float | None = None,
    positive: object = None,
    show: Sequence[str] = (),
    sample_weight: str | None = None,
    seed: int = 0,
) -> Predictions:
    """Read a classifier's predictions and check them.

    Parameters
    ----------
    source : path, query, table, mapping, Scan or Predictions
        The path of a Parquet, CSV or JSON lines file, of a folder of them, or a pattern that
        matches several; an SQL query; a pandas, polars, pyarrow or Spark table, or any other that
        narwhals reads; a mapping of column names to arrays or lists; a `Scan`, which can say more.
        What is `Predictions` already is returned as it is.
    score : str or None
        The column of scores, finite numbers. None when there are none: all items then have the
        same score, 0.
    predicted : str, optional
        The column of predicted labels: true and false, 0 and 1, or anything with `positive`.
        When left out, a score of at least `threshold` says yes.
    id : str, optional
        The column of ids, integers of 64 bits or strings, no two alike. When left out, the id is
        the number of the row, from 0; the order of the rows, in a file too, then decides which
        items are drawn, and must not change during a campaign.
    threshold : float, optional
        The score from which on the predicted label is yes. Given together with `predicted`, every
        row is checked against it; a score equal to the threshold goes with either label.
    positive : object, optional
        The value of the column `predicted` that means yes; all others mean no.
    show : sequence of str
        The columns that people see when they label an item.
    sample_weight : str, optional
        The column of weights, finite numbers that are not negative: an item counts as much as its
        weight, and not at all where that is 0. All is then read into memory.
    seed : int
        With which cards will be dealt. Where the predictions stay where they are, the first pass
        over them then brings these cards along.

    Returns
    -------
    Predictions
        The same whatever they were read from, and in whatever order if they have ids.

    Raises
    ------
    PredictionsError
        Says what is wrong, where, how often, and how to mend it.

    Notes
    -----
    A CSV file has no types. Ids in it are integers when each is written as an integer of 64 bits
    is (7, not 007), and otherwise strings; NA and a quoted "" are strings like any other, and a
    field with nothing in it is a missing value.

    Examples
    --------
    >>> table = {"url": ["a", "b", "c"], "p": [0.9, 0.2, 0.6], "spam": ["yes", "no", "yes"]}
    >>> read_predictions(table, id="url", score="p", predicted="spam", positive="yes")
    <predictions of dict, 3 rows: 2 say yes>
    """
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return scan.source
    roles = Roles(score, predicted, id, threshold, positive)
    refuse_bad_show(show)
    engine = engine_of(scan, id)
    if sample_weight is not None:
        refuse_no_column("sample_weight", sample_weight)
        refuse_engine(scan, engine, sample_weight)
        used = list(dict.fromkeys([*roles.columns, sample_weight]))
        return _predictions(load(scan, used, show, id), roles, sample_weight)
    if engine == "memory":
        return _predictions(load(scan, roles.columns, show, id), roles)
    return ScannedPredictions(
        open_scanner(scan, engine, roles, show),
        threshold=roles.threshold,
        seed=seed,
        check_ids=scan.check_ids,
    )


def from_arrays(
    *,
    y_score: ArrayLike | None,
    y_pred: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> Predictions:
    """Take predictions from arrays or lists.

    Parameters
    ----------
    y_score : array, shape (N,), or None
        The scores; None when there are none.
    y_pred : array of bool or of 0 and 1, shape (N,), optional
        The predicted labels. When left out, a score of at least `threshold` says yes.
    ids : array of int or str, shape (N,), optional
        The ids. When left out, the id is the place in the arrays, from 0.
    threshold : float, optional
        As in `read_predictions`.
    sample_weight : array, shape (N,), optional
        How much each item counts: finite, not negative, not all 0.

    Examples
    --------
    >>> from_arrays(y_score=[0.9, 0.2, 0.6], threshold=0.5)
    <predictions of arrays, 3 rows: 2 say yes>
    """
    given = {"y_score": y_score, "y_pred": y_pred, "ids": ids, "sample_weight": sample_weight}
    columns = {name: values for name, values in given.items() if values is not None}
    score, predicted, id, weight = (name if name in columns else None for name in given)
    roles = Roles(score, predicted, id, threshold, positive=None)
    return _predictions(read_mapping(columns, list(columns), (), "arrays"), roles, weight)


def _predictions(loaded: Loaded, roles: Roles, sample_weight: str | None = None) -> Predictions:
    ids = take_ids(loaded, roles.id)
    score, predicted = take_judgements(loaded, roles, ids)
    weights = None if sample_weight is None else read_weights(loaded.columns[sample_weight], ids)
    return MemoryPredictions(
        source=loaded.source,
        ids=ids,
        score=score,
        predicted=predicted,
        threshold=roles.threshold,
        show=loaded.show,
        weights=weights,
    )
