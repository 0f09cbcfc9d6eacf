"""Reading predictions, whatever they are kept in."""

from collections.abc import Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from assay.core.types import Bools, Floats
from assay.predictions.column import Loaded
from assay.predictions.contract import Predictions
from assay.predictions.engines import engine_of, open_scanner
from assay.predictions.labels import read_predicted
from assay.predictions.loading import load, take_ids, take_judgements
from assay.predictions.memory import MemoryPredictions
from assay.predictions.roles import Roles, refuse_bad_show, refuse_no_column
from assay.predictions.scan import as_scan
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.tables import read_mapping
from assay.predictions.weighted import WeightedPredictions
from assay.predictions.weights import read_weights, refuse_engine


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


@dataclass(frozen=True, eq=False)
class Labelled:
    """Predictions and the truth about each of them; arrays of shape (N,)."""

    source: str
    score: Floats
    predicted: Bools
    truth: Bools
    threshold: float | None


def read_labelled(
    source: object,
    *,
    label: str,
    score: str | None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: object = None,
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

    Examples
    --------
    >>> table = {"p": [0.9, 0.2, 0.6], "spam": [1, 0, 0]}
    >>> read_labelled(table, label="spam", score="p", threshold=0.5).truth
    array([ True, False, False])
    """
    of_predicted = None if predicted is None else positive
    roles = Roles(score, predicted, None, threshold, of_predicted)
    refuse_no_column("label", label)
    used = list(dict.fromkeys([*roles.columns, label]))
    loaded = load(source, used, (), None)
    ids = take_ids(loaded, None)
    scores, says_yes = take_judgements(loaded, roles, ids)
    truth = read_predicted(loaded.columns[label], positive, ids)
    return Labelled(loaded.source, scores, says_yes, truth, roles.threshold)


def _predictions(loaded: Loaded, roles: Roles, sample_weight: str | None = None) -> Predictions:
    ids = take_ids(loaded, roles.id)
    score, predicted = take_judgements(loaded, roles, ids)
    if sample_weight is not None:
        return WeightedPredictions(
            source=loaded.source,
            ids=ids,
            score=score,
            predicted=predicted,
            threshold=roles.threshold,
            show=loaded.show,
            weights=read_weights(loaded.columns[sample_weight], ids),
        )
    return MemoryPredictions(
        source=loaded.source,
        ids=ids,
        score=score,
        predicted=predicted,
        threshold=roles.threshold,
        show=loaded.show,
    )
