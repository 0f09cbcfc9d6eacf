"""Whether a Spark computes what numpy does: tried on known values, once for each session."""

from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np

from assay.core import deck
from assay.core.bins import bins_of
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.spark.columns import spark_bin, with_digest, with_place
from assay.predictions.sql.bins import TRIED, double_sql
from assay.predictions.sql.rows import quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEED = 1
_KINDS: dict[str, IdKind] = {"whole": "integer", "text": "string"}
_IDS = [0, 1, -1, 7, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    "",
    " ",
    "7",
    "007",
    "NA",
    "naïve",
    "東京",
    "👩‍🔬",
    "it's",
    "back\\slash",
    "a\tb",
    "x" * 99,
]

_tried: "WeakSet[SparkSession]" = WeakSet()


def refuse_other_arithmetic(session: "SparkSession") -> None:
    """Raise an error if this Spark would draw other items than every other engine.

    Parameters
    ----------
    session : SparkSession
        One small job is run in it, on one executor, that reads no data; none the next time.
    """
    if session in _tried:
        return
    rows = session.range(0, len(_IDS), 1, 1).selectExpr(
        "id AS row",
        _nth([f"{id}L" for id in _IDS], "whole"),
        _nth([quoted(text, "spark") for text in _TEXTS], "text"),
        *(_nth([double_sql(value) for value in values], rule) for rule, values in TRIED.items()),
    )
    for name, kind in _KINDS.items():
        rows = with_digest(rows, name, kind).withColumnRenamed("digest", f"digest of {kind} ids")
        rows = with_place(rows, name, kind, _SEED)
        rows = rows.withColumnRenamed("place", f"number of {kind} ids")
    bins = [f"{spark_bin(rule, rule)} AS `bin of a {rule}`" for rule in TRIED]
    table = rows.selectExpr("*", *bins).toArrow().sort_by("row")
    expected = {
        "digest of integer ids": deck.digest(_IDS).view(np.int64),
        "digest of string ids": deck.digest(_TEXTS).view(np.int64),
        "number of integer ids": _place(_IDS),
        "number of string ids": _place(_TEXTS),
        **{f"bin of a {rule}": bins_of(np.array(TRIED[rule]), rule) for rule in TRIED},
    }
    wrong = [name for name, right in expected.items() if table[name].to_pylist() != right.tolist()]
    if wrong:
        raise PredictionsError(
            f"this Spark computes otherwise than numpy: {', '.join(wrong)}",
            details=f"version {session.version}; it would draw other items than other engines do",
            hint="read the predictions with engine 'duckdb'",
        )
    _tried.add(session)


def _nth(literals: list[str], name: str) -> str:
    return f"element_at(array({', '.join(literals)}), CAST(id + 1 AS INT)) AS {name}"


def _place(ids: list[int] | list[str]) -> "np.ndarray[tuple[int, ...], np.dtype[np.int64]]":
    return (deck.numbers(ids, _SEED) ^ np.uint64(2**63)).view(np.int64)
