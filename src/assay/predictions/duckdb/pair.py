"""Two sets of predictions that DuckDB joins by id; what does not fit into memory goes to a file."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.profile import ScoreCells
from assay.core.types import Ints
from assay.predictions.duckdb.cell_keys import duckdb_bin, refuse_other_bins
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import release
from assay.predictions.engine import Rows, Span, polled
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed
from assay.predictions.sql.pair import N_CODES, value_sql
from assay.predictions.sql.pair_sides import ScannedSide, Side, Streaming, tell_of_move
from assay.predictions.sql.rows import case_sql, heap_sql

_MEMORY = "700MB"  # the join takes as much, and writes to a temporary file what is beyond
_SIDES = ("old", "new")
_TYPES = {"int64": "BIGINT", "uint64": "UBIGINT", None: "VARCHAR"}
_BITS = 12  # of a bin of a rank, behind its code

# The sides come as streams, whose lengths DuckDB does not know. It would take any of them for the
# small side of a join; as they are written here, the right one is.
_AS_WRITTEN = "build_side_probe_side,join_order"

Answer = TypeVar("Answer")


class DuckPair:
    """A `Join` in a DuckDB of its own.

    What another DuckDB reads comes as a stream, each time that something is asked. Other sides are
    copied once: an id and a key a row.

    Parameters
    ----------
    sides : pair of Side
        The earlier and the later, wherever they are.
    """

    def __init__(self, sides: tuple[Side, Side]) -> None:
        refuse_other_bins()
        self._sides = sides
        self._source = " and ".join(side.part.source for side in sides)
        self._streams = {
            name: side.part.scanner
            for name, side in zip(_SIDES, sides, strict=True)
            if isinstance(side, ScannedSide) and isinstance(side.part.scanner, Streaming)
        }
        folder = Path(mkdtemp(prefix="assay-"))
        self._connection = connection = duckdb.connect(
            config={
                "autoinstall_known_extensions": "false",
                "python_enable_replacements": "false",
                "temp_directory": str(folder),
            }
        )
        weakref.finalize(self, release, connection, folder)
        connection.execute(
            "SET perfect_ht_threshold = 17; SET preserve_insertion_order = false; "
            "SET enable_progress_bar = false; "
            f"SET disabled_optimizers = '{_AS_WRITTEN}'; SET memory_limit = '{_MEMORY}'"
        )
        with reading(self._source):
            for name, side in zip(_SIDES, sides, strict=True):
                if name not in self._streams:
                    self._copy(name, side)
            self._missing = [
                self._make_steps(name, side) for name, side in zip(_SIDES, sides, strict=True)
            ]
            self._id_type = self._common_type()

    def cells(self) -> ScoreCells:
        """Count all items by the mean rank and the code."""
        key = f"says * {2**_BITS} + {duckdb_bin('value', 'probability')} + {2 ** (_BITS - 1)}"
        told = "key, count(*) AS count, min(value) AS low, max(value) AS high"

        def counted(rows: duckdb.DuckDBPyRelation) -> "pa.Table":
            keyed = rows.project(f"value, ({key})::USMALLINT AS key")
            table: pa.Table = keyed.aggregate(told, "key").to_arrow_table()
            return table

        found = self._joined(counted)
        keys = np.asarray(found["key"]).astype(np.int64)
        bins, said = keys % 2**_BITS - 2 ** (_BITS - 1), keys >> _BITS
        order = np.argsort(N_CODES * bins + said)
        count, low, high = (np.asarray(found[name])[order] for name in ("count", "low", "high"))
        digest = np.zeros(order.size, dtype=np.uint64)
        return ScoreCells(
            "probability", bins[order], said[order], count, low, high, digest, N_CODES
        )

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span."""
        inside = case_sql(spans, [str(number) for number in range(len(spans))])
        heap = heap_sql(spans, N_CODES, "duckdb")

        def counted(rows: duckdb.DuckDBPyRelation) -> list[Any]:
            found = rows.project(f"*, {heap} AS heap").project(f"{inside} AS span")
            told: list[Any] = found.aggregate("span, count(*)", "span").fetchall()
            return told

        counts = np.zeros(len(spans), dtype=np.int64)
        for span, number in self._joined(counted):
            if span is not None:
                counts[span] = number
        return counts

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans; those above all limits are left out before the join."""
        limit = case_sql(spans, [f"{int(span.limit)}::UBIGINT" for span in spans])
        heap = heap_sql(spans, N_CODES, "duckdb")
        kind = self._sides[0].part.id_kind
        number = duckdb_keyed(duckdb_digest("id", kind), seed)

        def taken(rows: duckdb.DuckDBPyRelation) -> "pa.Table":
            found = rows.project(f"*, {heap} AS heap").project(f"*, {limit} AS highest")
            below = found.filter(f"{number} <= highest")
            table: pa.Table = below.project("id, value, says").to_arrow_table()
            return table

        highest = max(int(span.limit) for span in spans)
        found = self._joined(taken, seed, None if highest >= TOP else highest)
        ids: Any = found["id"].combine_chunks()
        held = Ids(np.asarray(ids) if kind == "integer" else ids.cast(pa.large_string()))
        return Rows(held, np.asarray(found["value"]), np.asarray(found["says"]).astype(np.int64))

    def _copy(self, name: str, side: Side) -> None:
        """Copy a side into a table of that name."""
        if isinstance(side, ScannedSide):
            tell_of_move(side, "DuckDB")
        kind = _TYPES[None if side.ids_type is None else str(side.ids_type)]
        self._connection.execute(f"CREATE TABLE {name} (id {kind}, key INTEGER)")
        for piece in side.pieces():
            self._connection.from_arrow(pa.Table.from_batches([piece])).insert_into(name)

    def _make_steps(self, name: str, side: Side) -> str:
        """Make the table of what a cell adds to an item, and return the key of no cell at all."""
        connection, steps, stream = self._connection, side.steps, self._streams.get(name)
        keys: pa.Array[Any] = (
            pa.array(np.arange(side.cells.bin.size), pa.int32())
            if stream is None
            else stream.keys_of(side.cells)
        )
        missing = _free(np.asarray(keys).astype(np.int64))
        every = pa.concat_arrays([keys, pa.array([missing], keys.type)])
        columns = {
            "key": every,
            "rank": np.append(steps.rank, 0.0),
            "code": np.append(steps.code, 0),
        }
        # A table has statistics, by which DuckDB joins without a hash table.
        found = connection.from_arrow(pa.table(columns))
        found.project("key, rank, code::USMALLINT AS code").create(f"steps_{name}")
        (kind, *_) = found.types
        return f"{missing}::{kind}"

    def _common_type(self) -> str:
        """Return the type that holds the ids of both; raise where there is none."""
        either = {side.ids_type for side in self._sides}
        if len(either) > 1:
            ends = []
            for name, side in zip(_SIDES, self._sides, strict=True):
                with self._read():
                    ids = self._connection.table(name).aggregate("min(id), max(id)").fetchall()
                ends.append(Ids(np.array(ids[0], dtype=side.ids_type)))
            either = {np.asarray(Ids.concatenated(ends).values).dtype}
        (kind,) = either
        return _TYPES[None if kind is None else str(kind)]

    def _joined(
        self,
        ask: Callable[[duckdb.DuckDBPyRelation], Answer],
        seed: int = 0,
        limit: int | None = None,
    ) -> Answer:
        """Join the sides, and ask something of all items' ids, values and codes.

        Parameters
        ----------
        ask : callable
            Returns the answer.
        seed, limit
            Only rows whose number is not above the limit are joined, if there is one.
        """
        keys = [
            f"coalesce({name}.key, {missing}) AS key_{name}"
            for name, missing in zip(_SIDES, self._missing, strict=True)
        ]
        ids = [f"CAST({name}.id AS {self._id_type})" for name in _SIDES]
        number = duckdb_keyed(duckdb_digest("id", self._sides[0].part.id_kind), seed)
        old, new = (
            name
            if limit is None or name in self._streams
            else f"(FROM {name} WHERE {number} <= {limit}) AS {name}"
            for name in _SIDES
        )
        rows = (
            f"FROM {old} FULL OUTER JOIN {new} ON {' = '.join(ids)} "
            f"SELECT coalesce({', '.join(ids)}) AS id, {', '.join(keys)}"
        )
        joins = " ".join(f"JOIN steps_{name} ON steps_{name}.key = key_{name}" for name in _SIDES)
        ranks, codes = (
            "(" + " + ".join(f"steps_{name}.{what}" for name in reversed(_SIDES)) + ")"
            for what in ("rank", "code")
        )
        told = f"id, {value_sql(ranks, codes)} AS value, {codes} AS says"
        sql = f"FROM ({rows}) {joins} SELECT {told}"
        with reading(self._source):
            try:
                with self._read(seed, limit):
                    return ask(self._connection.sql(sql))
            except duckdb.OutOfMemoryException:
                self._connection.execute("RESET memory_limit")
                with self._read(seed, limit):
                    return ask(self._connection.sql(sql))

    @contextmanager
    def _read(self, seed: int = 0, limit: int | None = None) -> Iterator[None]:
        """Let streams be read, once, and tell how far the reading is."""
        total, read = 1, 0

        def batches(reader: "pa.RecordBatchReader") -> Iterator["pa.RecordBatch"]:
            nonlocal read
            for batch in reader:
                read += batch.num_rows
                yield batch

        for name, side in zip(_SIDES, self._sides, strict=True):
            if name in self._streams:
                total += side.cells.size
                reader = self._streams[name].keyed(side.cells, seed=seed, limit=limit)
                stream = pa.RecordBatchReader.from_batches(reader.schema, batches(reader))
                self._connection.register(name, stream)
        try:
            with polled(lambda: read / total if limit is None else -1.0):
                yield
        finally:
            for name in self._streams:
                self._connection.unregister(name)


def _free(keys: Ints) -> int:
    """Return a whole number near some that is none of them.

    Examples
    --------
    >>> _free(np.array([-2, -1, 1]))
    0
    """
    low = int(keys.min())
    inside = np.setdiff1d(np.arange(low, low + keys.size + 1), keys)
    return int(inside[0])
