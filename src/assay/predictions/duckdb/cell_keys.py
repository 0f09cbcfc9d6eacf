"""The number of a row's cell in DuckDB, of its bin and what it says, and cells from numbers."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, bins_of
from assay.core.profile import ScoreCells
from assay.core.types import Bools, Ints
from assay.errors import PredictionsError
from assay.predictions.sql.rows import TRIED, RowSql, double_sql, spread_sql

# What a row says goes into that one of a bin's 16 bits that is, for bins of up to 16,383, a copy
# of its sign. A key of 16 bits is counted in an array, without a hash table.
_YES_BIT = 14

# The number of a class, or a code, stands in front of the bits of a bin without a sign.
_BIN_BITS: dict[Rule, int] = {"probability": 12, "tail": 12, "margin": 15}


def duckdb_bin(value: str, rule: Rule) -> str:
    """Return DuckDB's expression for the bin of a value, a SMALLINT.

    >>> duckdb.sql("SELECT " + duckdb_bin("0.9::DOUBLE", "probability")).fetchall()
    [(1295,)]
    """
    return f"({spread_sql(value, rule)})::SMALLINT"  # the cast rounds halves to even


@cache
def refuse_other_bins() -> None:
    """Raise an error if this DuckDB would make other strata than every other engine."""
    with duckdb.connect() as connection:
        for rule, values in TRIED.items():
            rows = ", ".join(f"({double_sql(value)})" for value in values)
            found = connection.sql(f"FROM (VALUES {rows}) AS tried(x)").project(
                duckdb_bin("x", rule)
            )
            if [bin for (bin,) in found.fetchall()] != bins_of(np.array(values), rule).tolist():
                raise PredictionsError(
                    f"this DuckDB computes otherwise than numpy: the bin of a {rule}",
                    details=f"version {duckdb.__version__}; it would make other strata",
                    hint="read the predictions with engine 'memory'",
                )


@dataclass(frozen=True)
class CellKeys:
    """Whole numbers for the bin of a value and what a row says."""

    row: RowSql

    @property
    def n_codes(self) -> int:
        """How many things a row may say."""
        return 2 if self.row.classes is None else self.row.classes

    def sql(self, value: str, rule: Rule) -> str:
        """Return the number, as SQL.

        Where it cannot be told what a row says, there is none, as where something is missing.
        """
        row = self.row
        said = row.says if row.is_sure else f"nullif({row.says}, {row.unclear})"
        bin = duckdb_bin(value, rule)
        if row.classes is None:
            return f"xor({bin}, CAST({said} AS SMALLINT) * {2**_YES_BIT}::SMALLINT)"
        bits = _BIN_BITS[rule]
        kind = "INTEGER" if row.classes << bits <= 2**31 else "BIGINT"
        key = f"({said})::{kind} * {2**bits} + {bin}::{kind} + {2 ** (bits - 1)}"
        return f"({key})::USMALLINT" if row.classes << bits <= 2**16 else key

    def of(self, cells: ScoreCells) -> "pa.Array[Any]":
        """Return the number of each cell, of the type that DuckDB gives it."""
        said = cells.said.astype(np.int64)
        if self.row.classes is None:
            return pa.array(cells.bin ^ said << _YES_BIT, pa.int16())
        bits = _BIN_BITS[cells.rule]
        return pa.array((said << bits) + cells.bin + (1 << bits - 1), pa.int64())

    def unpacked(self, rule: Rule, keys: "pa.ChunkedArray[Any]") -> tuple[Ints, Bools | Ints]:
        """Return the bins, and what was said."""
        key = np.asarray(keys).astype(np.int64)
        if self.row.classes is None:
            yes = (key >> _YES_BIT & 1) != (key < 0)
            return key ^ (yes.astype(np.int64) << _YES_BIT), yes
        bits = _BIN_BITS[rule]
        return key % 2**bits - 2 ** (bits - 1), key >> bits
