"""Weights in Spark: impressions, their exact sum, and what a fingerprint is made of."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.core.types import Floats
from assay.predictions.spark.columns import halves_of, lower_of, mixed, word_of
from assay.predictions.spark.opinions import with_bits
from assay.predictions.spark.source import column_name
from assay.predictions.sql.rows import impressions_sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WEIGHT_WORD = "weight_word"
"""The column with what an item and its impressions add to the fingerprint."""

_FRACTION = 52  # bits of a number's fraction, which the exponent stands in front of
_HALF = 26
_OFFSET = 1074  # a fraction counts for 2^-1074, times two to the exponent less one


def impressions_of(items: "DataFrame", exponent: int) -> "DataFrame":
    """Items whose weight is above 0, with impressions in its place; it is "given" now."""
    others = [column_name(name) for name in items.columns if name != "weight"]
    whole = f"{impressions_sql('weight', exponent, 'spark')} AS weight"
    return items.where("weight > 0e0").selectExpr(*others, "weight AS given", whole)


def with_weight_word(items: "DataFrame") -> "DataFrame":
    """Return items with a word for each and its impressions, ``h(digest xor h(impressions))``.

    The same as `assay.predictions.arrivals.weight_words`.
    """
    keep = [column_name(name) for name in items.columns]
    rows = mixed(items, keep, {"own": halves_of("weight")})
    upper, lower = halves_of("digest")
    rows = rows.selectExpr(
        *keep, f"{upper} ^ own_upper AS upper", f"{lower} ^ {lower_of('own')} AS lower"
    )
    rows = mixed(rows, keep, {"word": ("upper", "lower")})
    return rows.selectExpr(*keep, f"{word_of('word_upper', lower_of('word'))} AS {WEIGHT_WORD}")


def summed_by_exponent(weights: "DataFrame") -> "DataFrame":
    """Return the fractions of all weights, summed for each exponent: whole numbers, exact."""
    parts = [
        f"shiftrightunsigned(weight, {_FRACTION}) AS exponent",
        f"shiftrightunsigned(weight & {2**_FRACTION - 1}L, {_HALF}) AS upper",
        f"weight & {2**_HALF - 1}L AS lower",
        "1L AS item",
    ]
    sums = dict.fromkeys(("upper", "lower", "item"), "sum")
    return with_bits(weights, [], ["weight"]).selectExpr(*parts).groupBy("exponent").agg(sums)


def summed(groups: "pa.Table") -> Floats:
    """Return numbers of float64 whose exact sum is that of the weights.

    Twice 1.5: the exponent of both is 1023, and the fraction 2^51. Together they are 1 and 2.

    >>> names = ["exponent", "sum(upper)", "sum(lower)", "sum(item)"]
    >>> summed(pa.table(dict(zip(names, ([1023], [2**26], [0], [2])))))
    array([1., 2.])
    """
    found: list[float] = []
    columns = (groups[name].to_pylist() for name in ("exponent", "sum(upper)", "sum(lower)"))
    for exponent, upper, lower, items in zip(
        *columns, groups["sum(item)"].to_pylist(), strict=True
    ):
        whole = (int(upper) << _HALF) + int(lower)
        if exponent:  # a number with an exponent has a 1 in front of its fraction
            whole += int(items) << _FRACTION
        shift = max(int(exponent), 1) - 1 - _OFFSET
        while whole:
            low = whole % 2**53
            found += [float(np.ldexp(low, shift))] if low else []
            whole, shift = whole >> 53, shift + 53
    return np.array(found)
