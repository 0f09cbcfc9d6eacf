"""Items by bin and label, counted by Spark in one pass over the data.

Which rule makes the bins depends on all values, which nobody knows before the pass. So items are
grouped by the bins of every rule. All of them rise with the value, hence there are no more groups
than bins of the rules together; afterwards the groups of the right rule are merged.
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, rule_of
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Floats
from assay.predictions.spark.columns import spark_bin
from assay.predictions.sql.checks import usable_sql
from assay.predictions.sql.rows import RowSql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def grouped(items: "DataFrame") -> "DataFrame":
    """Return the groups: few, however many items there are.

    Parameters
    ----------
    items : DataFrame
        With the columns id, value, says and digest. Items with which something is wrong form a
        group without bins.
    """
    probability, tail, margin = (
        spark_bin("value", rule) for rule in ("probability", "tail", "margin")
    )
    inside = "usable AND value BETWEEN 0 AND 1"
    keys = items.selectExpr(
        f"{usable_sql(RowSql('id', 'value', 'says'))} AS usable", "value", "says", "digest"
    ).selectExpr(
        "CASE WHEN usable THEN says END AS says",
        f"CASE WHEN {inside} THEN {probability} END AS probability",
        f"CASE WHEN {inside} THEN {tail} END AS tail",
        f"CASE WHEN usable THEN {margin} END AS margin",
        *("1 AS item", "value AS low", "value AS high", "digest"),
    )
    # By the functions' names: pyspark's own functions belong to a local Spark or to a remote one.
    return keys.groupBy("says", "probability", "tail", "margin").agg(
        {"item": "count", "low": "min", "high": "max", "digest": "bit_xor"}
    )


def merged(groups: "pa.Table") -> ScoreCells | None:
    """Return the cells that the groups make up; None if there is something wrong with an item.

    Parameters
    ----------
    groups : Arrow table
        What `grouped` returns; at least one.
    """
    if groups["margin"].null_count:
        return None
    low, high = (groups[name].to_numpy() + 0.0 for name in ("min(low)", "max(high)"))
    rule = rule_of(float(low.min()), float(high.max()))
    return evenest(lambda rule: _merged(groups, low, high, rule), rule, lambda cells: cells)


def _merged(groups: "pa.Table", low: Floats, high: Floats, rule: Rule) -> ScoreCells:
    place = 2 * groups[rule].to_numpy().astype(np.int64) + groups["says"].to_numpy()
    order = np.argsort(place)
    place = place[order]
    starts = np.flatnonzero(np.diff(place, prepend=place[0] - 1))
    digest = groups["bit_xor(digest)"].to_numpy()[order].view(np.uint64)
    return ScoreCells(
        rule=rule,
        bin=place[starts] >> 1,
        yes=place[starts] % 2 == 1,
        count=np.add.reduceat(groups["count(item)"].to_numpy()[order], starts),
        low=np.minimum.reduceat(low[order], starts),
        high=np.maximum.reduceat(high[order], starts),
        digest=np.bitwise_xor.reduceat(digest, starts),
    )
