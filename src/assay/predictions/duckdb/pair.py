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

from assay.core.bins import Rule
from assay.core.deck import Id
from assay.core.error_model import RANK, Model, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.duckdb.cell_keys import duckdb_bin, refuse_other_bins
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import release
from assay.predictions.duckdb.scanner import pieces_of
from assay.predictions.engine import Rows, Span, polled
from assay.predictions.ids import Ids
from assay.predictions.memory import TOP
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed, duckdb_mix
from assay.predictions.sql.opinions import (
    duckdb_row_word,
    either_sql,
    model_sql,
    refuse_other_words,
)
from assay.predictions.sql.pair import IN_BOTH, N_CODES, Weighing, value_sql
from assay.predictions.sql.pair_sides import (
    SIDES,
    ScannedSide,
    Side,
    Streaming,
    joined_opinions,
    tell_of_move,
)
from assay.predictions.sql.rows import (
    Family,
    case_sql,
    double_sql,
    heap_sql,
    impressions_sql,
    quoted,
)

_MEMORY = "700MB"  # the join takes as much, and writes to a temporary file what is beyond
_TYPES = {"int64": "BIGINT", "uint64": "UBIGINT", None: "VARCHAR"}
# Of a bin behind its code: of a rank, or of a model's log odds.
_BITS: dict[Rule, int] = {"probability": 12, "margin": 15}
_SQL_TYPES: dict[Family, str] = {"float": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN"}

# The sides come as streams, whose lengths DuckDB does not know. It would take any of them for the
# small side of a join; as they are written here, the right one is.
_AS_WRITTEN = "build_side_probe_side,join_order"

Answer = TypeVar("Answer")


class DuckPair:
    """A `Join` in a DuckDB of its own.

    What another DuckDB reads comes as a stream, each time that something is asked. Other sides are
    copied once: an id and a key a row, and its weight if any.

    `sides`: the earlier and the later, wherever they are; `names`: what the two are called;
    `model`: what takes the mean rank's place. Columns for it are those that both sides have, which
    are streams then.
    """

    exponent: int | None = None

    def __init__(
        self, sides: tuple[Side, Side], names: tuple[str, str], model: Model | None = None
    ) -> None:
        refuse_other_bins()
        self.model = model
        self._sides, self._weighted = sides, sides[0].part.weighted
        self._digest = duckdb_digest("id", sides[0].part.id_kind)
        self._source = " and ".join(side.part.source for side in sides)
        self._streams = {
            name: side.part.scanner
            for name, side in zip(SIDES, sides, strict=True)
            if isinstance(side, ScannedSide) and isinstance(side.part.scanner, Streaming)
        }
        self._opinions = joined_opinions(list(self._streams.values()), names)
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
            for name, side in zip(SIDES, sides, strict=True):
                if name not in self._streams:
                    self._copy(name, side)
            self._missing = [
                self._make_steps(name, side) for name, side in zip(SIDES, sides, strict=True)
            ]
            self._id_type = self._common_type()

    def weighing(self) -> Weighing:
        """Add up the weights, and look for items that have two."""
        told = f"count(*), count_if(says >= {IN_BOTH}), sum(given), count_if(unlike)"

        def summed(rows: duckdb.DuckDBPyRelation) -> Any:
            return rows.aggregate(f"{told}, min(id) FILTER (unlike)").fetchall()

        ((items, in_both, total, unlike, first),) = self._joined(summed)
        return Weighing(items, in_both, total, unlike, first)

    def weights(self) -> Iterator[Floats]:
        """Return all weights, in pieces."""
        with reading(self._source), self._read():
            yield from pieces_of(self._connection.sql(self._sql()).project("given"))

    def cells(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code, and sum up who has which weight."""
        rule: Rule = "probability" if self.model is None else "margin"
        bits = _BITS[rule]
        key = f"says::INTEGER * {2**bits} + {duckdb_bin('value', rule)} + {2 ** (bits - 1)}"
        told = "key, count(*) AS count, min(value) AS low, max(value) AS high"
        kind = "USMALLINT" if N_CODES << bits <= 2**16 else "INTEGER"
        columns = [f"value, ({key})::{kind} AS key"]
        if self.model is not None:
            refuse_other_words()
            columns.append(f"{duckdb_mix(f'xor({self._digest}, hash(value))')} AS word")
            told += ", bit_xor(word) AS word"
        if self._weighted:
            word = duckdb_mix(f"xor({self._digest}, {duckdb_mix('weight::UBIGINT')})")
            columns += ["weight", f"{word} AS word"]
            told += ", sum(weight)::BIGINT AS weight, bit_xor(word) AS word"

        def counted(rows: duckdb.DuckDBPyRelation) -> "pa.Table":
            keyed = rows.project(", ".join(columns))
            table: pa.Table = keyed.aggregate(told, "key").to_arrow_table()
            return table

        found = self._joined(counted)
        keys = np.asarray(found["key"]).astype(np.int64)
        bins, said = keys % 2**bits - 2 ** (bits - 1), keys >> bits
        order = np.argsort(N_CODES * bins + said)
        count, low, high = (np.asarray(found[name])[order] for name in ("count", "low", "high"))
        digest = np.zeros(order.size, dtype=np.uint64)
        weight = word_of_all = None
        if self._weighted:
            weight = np.asarray(found["weight"])[order]
        if "word" in found.column_names:
            word_of_all = int(np.bitwise_xor.reduce(np.asarray(found["word"])))
        cells = ScoreCells(
            rule, bins[order], said[order], count, low, high, digest, N_CODES, weight
        )
        return cells, word_of_all

    def count(self, spans: Sequence[Span]) -> Ints:
        """Return the items in each span, and what they count for."""
        inside = case_sql(spans, [str(number) for number in range(len(spans))])
        heap = heap_sql(spans, N_CODES, "duckdb")
        weight = "weight" if self._weighted else "1 AS weight"

        def counted(rows: duckdb.DuckDBPyRelation) -> list[Any]:
            found = rows.project(f"*, {heap} AS heap").project(f"{inside} AS span, {weight}")
            told: list[Any] = found.aggregate("span, count(*), sum(weight)", "span").fetchall()
            return told

        counts = np.zeros((2, len(spans)), dtype=np.int64)
        for span, *both in self._joined(counted):
            if span is not None:
                counts[:, span] = both
        return counts

    def rows(self, spans: Sequence[Span], seed: int) -> Rows:
        """Return the rows of all spans; those above all limits are left out before the join."""
        literal = double_sql if self._weighted else _word_sql
        limit = case_sql(spans, [literal(span.limit) for span in spans])
        heap = heap_sql(spans, N_CODES, "duckdb")

        def low_enough(rows: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
            found = rows.project(f"*, {heap} AS heap").project(f"*, {limit} AS highest")
            return found.filter(self._below("highest", seed, "weight"))

        highest = max(span.limit for span in spans)
        below = "" if highest >= TOP else self._below(literal(highest), seed, self._impressions)
        return self._taken(low_enough, below)

    def find(self, ids: Sequence[Id]) -> Rows:
        """Return the rows with these ids."""
        return self._taken(lambda rows: rows, self._among(ids))

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""
        if not self._opinions:
            raise PredictionsError(f"{self._source} were read without columns for a model")
        names = [*self._opinions, RANK]
        columns = ", ".join(["id", *(self._column(name) for name in names)])

        def told(rows: duckdb.DuckDBPyRelation) -> "pa.Table":
            table: pa.Table = rows.project(columns).to_arrow_table()
            return table

        held, *values = self._joined(told, self._among(ids)).columns
        order = self._ids_of(held).rows_of(ids, self._source)
        return {
            name: column.take(order).to_pylist()
            if pa.types.is_string(column.type) or pa.types.is_boolean(column.type)
            else column.take(order).to_numpy()
            for name, column in zip(names, values, strict=True)
        }

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model says of an item does."""
        if not self._opinions:
            return 0
        word = duckdb_row_word(self._digest, [*self._opinions.values()])

        def summed(rows: duckdb.DuckDBPyRelation) -> Any:
            return rows.aggregate(f"bit_xor({word})").fetchall()

        ((found,),) = self._joined(summed)
        return int(found)

    def _column(self, name: str) -> str:
        return "rank" if name == RANK else self._opinions[name][0]

    def _among(self, ids: Sequence[Id]) -> str:
        """Return the condition that an item is one of some."""
        kind = type(ids[0]) if ids else int
        literals = [str(id) if kind is int else quoted(str(id), "duckdb") for id in ids]
        return f"id IN ({', '.join(literals)})" if ids else "FALSE"

    def _ids_of(self, column: "pa.ChunkedArray[Any]") -> Ids:
        ids: Any = column.combine_chunks()
        if self._sides[0].part.id_kind == "string":
            return Ids(ids.cast(pa.large_string()))
        return Ids(np.asarray(ids))

    def _taken(
        self, some: Callable[[duckdb.DuckDBPyRelation], duckdb.DuckDBPyRelation], below: str
    ) -> Rows:
        """Return some of the rows that fulfil a condition."""
        names = ", ".join(["id", "value", "says", *(["weight"] if self._weighted else [])])

        def taken(rows: duckdb.DuckDBPyRelation) -> "pa.Table":
            table: pa.Table = some(rows).project(names).to_arrow_table()
            return table

        found = self._joined(taken, below)
        return Rows(
            self._ids_of(found["id"]),
            np.asarray(found["value"]),
            np.asarray(found["says"]).astype(np.int64),
            weights=np.asarray(found["weight"]) if self._weighted else None,
        )

    @property
    def _impressions(self) -> str:
        """What a row's weight is in impressions, of columns that are to be joined."""
        return "" if self.exponent is None else impressions_sql("weight", self.exponent, "duckdb")

    def _below(self, limit: str, seed: int, impressions: str) -> str:
        """Return the condition that an item's number is not above a limit, by weight if any."""
        number = duckdb_keyed(self._digest, seed)
        return f"{number} <= {impressions} * {limit}" if self._weighted else f"{number} <= {limit}"

    def _copy(self, name: str, side: Side) -> None:
        """Copy a side into a table of that name."""
        if isinstance(side, ScannedSide):
            tell_of_move(side, "DuckDB")
        kind = _TYPES[None if side.ids_type is None else str(side.ids_type)]
        weight = ", weight DOUBLE" if self._weighted else ""
        self._connection.execute(f"CREATE TABLE {name} (id {kind}, key INTEGER{weight})")
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
            for name, side in zip(SIDES, self._sides, strict=True):
                with self._read():
                    ids = self._connection.table(name).aggregate("min(id), max(id)").fetchall()
                ends.append(Ids(np.array(ids[0], dtype=side.ids_type)))
            either = {np.asarray(Ids.concatenated(ends).values).dtype}
        (kind,) = either
        return _TYPES[None if kind is None else str(kind)]

    def _joined(self, ask: Callable[[duckdb.DuckDBPyRelation], Answer], below: str = "") -> Answer:
        """Join the sides, and ask something of all items' ids, values, codes and weights.

        `ask`: returns the answer.
        """
        sql = self._sql(below)
        with reading(self._source):
            try:
                with self._read(below):
                    return ask(self._connection.sql(sql))
            except duckdb.OutOfMemoryException:
                self._connection.execute("RESET memory_limit")
                with self._read(below):
                    return ask(self._connection.sql(sql))

    def _sql(self, below: str = "") -> str:
        """Return the query for the items of both that fulfil a condition."""
        keys = [
            f"coalesce({name}.key, {missing}) AS key_{name}"
            for name, missing in zip(SIDES, self._missing, strict=True)
        ]
        ids = [f"CAST({name}.id AS {self._id_type})" for name in SIDES]
        old, new = (
            name if not below or name in self._streams else f"(FROM {name} WHERE {below}) AS {name}"
            for name in SIDES
        )
        told = [f"coalesce({', '.join(ids)}) AS id", *keys]
        if self._weighted:
            told.append("coalesce(new.weight, old.weight) AS weight")
            told.append("coalesce(old.weight <> new.weight, FALSE) AS unlike")
        if self._opinions:
            told += ["old.score AS score_old", "new.score AS score_new"]
            told += [
                f"{either_sql(f'old.{name}', f'new.{name}', family)} AS {name}"
                for name, family in self._opinions.values()
                if name.startswith("aux")
            ]
        rows = f"FROM {old} FULL OUTER JOIN {new} ON {' = '.join(ids)} SELECT {', '.join(told)}"
        joins = " ".join(f"JOIN steps_{name} ON steps_{name}.key = key_{name}" for name in SIDES)
        ranks, codes = (
            "(" + " + ".join(f"steps_{name}.{what}" for name in reversed(SIDES)) + ")"
            for what in ("rank", "code")
        )
        told = ["id", f"{value_sql(ranks, codes)} AS value", f"{codes} AS says"]
        if self._weighted:
            told += ["weight AS given", "unlike"]
        if self.exponent is not None:
            told.append(f"{self._impressions} AS weight")
        told += [name for name, _ in self._opinions.values()]
        items = f"FROM ({rows}) {joins} SELECT {', '.join(told)}"
        if not self._opinions:
            return items
        if self.model is None:
            return f"FROM ({items}) SELECT *, value AS rank"
        return (
            f"FROM (FROM ({items}) SELECT * RENAME (value AS rank)) SELECT *, {self._odds} AS value"
        )

    @property
    def _odds(self) -> str:
        """What takes the mean rank's place: the log odds by the model of an item's fold."""
        if self.model is None:
            return "rank"
        names = {name: self._column(name) for name in (*self._opinions, RANK)}
        types = {name: _SQL_TYPES[family] for name, (_, family) in self._opinions.items()}
        first, second = model_sql(
            self.model, names, {**types, RANK: "DOUBLE"}, says="says::BIGINT", dialect="duckdb"
        )
        number = duckdb_keyed(self._digest, self.model.seed)
        odds = f"CASE WHEN {number} < {2**63}::UBIGINT THEN {first} ELSE {second} END"
        return f"({odds} + 0e0)"  # -0.0 becomes 0.0

    @contextmanager
    def _read(self, below: str = "") -> Iterator[None]:
        """Let streams be read, once, and tell how far the reading is."""
        total, read = 1, 0

        def batches(reader: "pa.RecordBatchReader") -> Iterator["pa.RecordBatch"]:
            nonlocal read
            for batch in reader:
                read += batch.num_rows
                yield batch

        for name, side in zip(SIDES, self._sides, strict=True):
            if name in self._streams:
                total += side.cells.size
                reader = self._streams[name].keyed(side.cells, below)
                stream = pa.RecordBatchReader.from_batches(reader.schema, batches(reader))
                self._connection.register(name, stream)
        try:
            with polled(lambda: -1.0 if below else read / total):
                yield
        finally:
            for name in self._streams:
                self._connection.unregister(name)


def _word_sql(limit: float) -> str:
    return f"{int(limit)}::UBIGINT"


def _free(keys: Ints) -> int:
    """Return a whole number near some that is none of them.

    >>> _free(np.array([-2, -1, 1]))
    0
    """
    low = int(keys.min())
    inside = np.setdiff1d(np.arange(low, low + keys.size + 1), keys)
    return int(inside[0])
