"""The items' weights: finite numbers that are not negative."""

import numpy as np

from assay.core.types import Bools, Floats
from assay.errors import PredictionsError
from assay.predictions.column import Column, examples, first_few
from assay.predictions.ids import Ids
from assay.predictions.numbers import read_numbers
from assay.predictions.scan import Engine, Scan


def read_weights(column: Column, ids: Ids) -> Floats:
    """Take a column for the items' weights.

    Examples
    --------
    >>> import pyarrow as pa
    >>> data = pa.chunked_array([[3, 0, 12]])
    >>> read_weights(Column("views", "a table", data), Ids(np.arange(3)))
    array([ 3.,  0., 12.])
    """
    weights = read_numbers(column, ids, "weight")
    _refuse(~np.isfinite(weights), "missing, NaN or infinite", column, ids)
    _refuse(weights < 0, "negative", column, ids)
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 0 < total < np.inf:
        raise PredictionsError(
            f"the weights in {column} sum to {total:g}",
            details="an item counts as much as its weight: at least one must be above 0"
            if total == 0
            else "together they are more than float64 can hold",
            hint="is another column meant? Leave out sample_weight to count every item once"
            if total == 0
            else "divide them all by the same number: only their proportions matter",
        )
    return weights


def refuse_engine(scan: Scan, engine: Engine, sample_weight: str) -> None:
    """Raise where predictions with weights are to be read by an engine that knows none."""
    if engine == "spark" or scan.engine not in (None, "memory"):
        raise PredictionsError(
            f"sample_weight={sample_weight!r} is given for the engine {engine!r}",
            details="weights are read into memory: ids, scores, labels and weights of all items",
            hint="write those columns to a Parquet file and give that, with engine 'memory'"
            if engine == "spark"
            else "leave out the engine",
        )


def _refuse(bad: Bools, what: str, column: Column, ids: Ids) -> None:
    if bad.any():
        rows = first_few(bad)
        raise PredictionsError(
            f"{bad.sum():,} of {bad.size:,} weights in {column} are {what}",
            details=examples(rows, id=ids.at(rows), weight=column.at(rows)),
            hint="a weight is a finite number, at least 0, which leaves an item out; "
            "mend or drop these rows",
        )
