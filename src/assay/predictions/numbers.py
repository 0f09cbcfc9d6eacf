"""Columns of numbers, as float64; above all the scores, which are finite."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.core.types import Bools, Floats
from assay.errors import PredictionsError
from assay.predictions.column import Arrow, Column, examples, first_few, is_text
from assay.predictions.ids import Ids
from assay.predictions.scan import Engine, Scan


def read_scores(column: Column, ids: Ids) -> Floats:
    """Take a column for the scores; -0.0 becomes 0.0.

    Examples
    --------
    >>> data = pa.chunked_array([["0.25", " 1e-3"]])
    >>> read_scores(Column("p", "a.csv", data, untyped=True), Ids(np.arange(2)))
    array([0.25 , 0.001])
    """
    scores = read_numbers(column, ids, "score")
    bad = ~np.isfinite(scores)
    if bad.any():
        rows = first_few(bad)
        raise PredictionsError(
            f"{bad.sum():,} of {bad.size:,} scores in {column} are missing, NaN or infinite",
            details=examples(rows, id=ids.at(rows), score=column.at(rows)),
            hint="a score is a finite number that float64 can hold; mend or drop these rows",
        )
    # Only where there may be a zero to change, because it takes a copy.
    return scores + 0.0 if scores.min() <= 0.0 <= scores.max() else scores


def read_numbers(column: Column, ids: Ids, what: str) -> Floats:
    """Take a column for numbers, each a `what`; those that are missing become NaN.

    Narrower numbers are widened, which is exact. Decimals go through their digits, so that each
    becomes the nearest float64 whatever container it comes from.
    """
    data = column.data
    kind = data.type
    if pa.types.is_decimal(kind):
        data = data.cast(pa.string()).cast(pa.float64())
    elif is_text(kind) and column.untyped:
        data = _parse(column, ids, what)
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise PredictionsError(
            f"the {what}s in {column} are of type {kind}",
            details=f"a {what} is a number",
            hint="is another column meant? Text that holds numbers must be converted first",
        )
    numbers: Floats = data.cast(pa.float64(), safe=False).to_numpy()
    return numbers


def _parse(column: Column, ids: Ids, what: str) -> Arrow:
    """Read the numbers out of text."""
    texts = pc.utf8_trim_whitespace(column.data)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        # Arrow stops at the first text that it does not know, among them +0.5; look at them all.
        numbers = [None if text is None else _number(text) for text in texts.to_pylist()]
    bad = np.array([number is None for number in numbers]) & ~column.missing()
    if bad.any():
        rows = first_few(bad)
        raise PredictionsError(
            f"{bad.sum():,} of {bad.size:,} {what}s in {column} are not numbers",
            details=examples(rows, id=ids.at(rows), **{what: column.at(rows)}),
            hint="is another column meant? If not, mend or drop these rows",
        )
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# The items' weights: finite numbers that are not negative.


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
