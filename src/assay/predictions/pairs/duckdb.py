"""Two sets of predictions that DuckDB joins by id; what does not fit in memory goes to a file."""

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Words
from assay.core.weights import as_impressions
from assay.predictions.batches import ALL, Batch, BatchScanner, Some, marked_cells
from assay.predictions.column import Ids
from assay.predictions.draw import TOP
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.reader import batches_of, below_sql, pieces_of
from assay.predictions.duckdb.relations import connected, release
from assay.predictions.engine import polled, weight_words
from assay.predictions.opinions import opinions_digest, without_opinions
from assay.predictions.pairs.scanner import (
    IN_BOTH,
    N_CODES,
    SIDES,
    PairScanner,
    Weighing,
    joined_opinions,
    joined_values,
    tell_of_move,
)
from assay.predictions.passes import Odds, columns_of, odds_words
from assay.predictions.predictions import Predictions
from assay.predictions.query import quoted
from assay.predictions.sql.deck import duckdb_digest
from assay.predictions.sql.opinions import either_sql, inputs_sql, opined_sql, opined_words
from assay.predictions.sql.rows import Family

_MEMORY = "700MB"  # memory limit of the join, which spills to a temporary file
_TYPES = {"int64": "BIGINT", "uint64": "UBIGINT"}
_SQL_TYPES: dict[Family, str] = {"float": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN"}

# The sides are streams, whose lengths DuckDB does not know. It could take either for the small side
# of a join; as written here, the right one is small.
_AS_WRITTEN = "build_side_probe_side,join_order"

Answer = TypeVar("Answer")


class DuckPair(PairScanner, BatchScanner):
    """Two sets joined in a separate DuckDB: the ids of both, each with its cell in either set.

    A side is read again for each query, or else copied once. Columns for a model are those of both
    sides, which are read again then.
    """

    n_codes = N_CODES

    def _open(self) -> None:
        """Open DuckDB, and copy sides that are not read again."""
        self._digest = duckdb_digest("id", self.id_kind)
        streams = [part.scanner for part in self.parts if part.scanner.streams]
        self._opinions = joined_opinions(streams, self._names)
        self._connection, folder = connected()
        weakref.finalize(self, release, self._connection, folder)
        self._connection.execute(
            "SET preserve_insertion_order = false; SET enable_progress_bar = false; "
            f"SET disabled_optimizers = '{_AS_WRITTEN}'; SET memory_limit = '{_MEMORY}'"
        )
        with reading(self.source):
            for name, part in zip(SIDES, self.parts, strict=True):
                if not part.scanner.streams:
                    self._copy(name, part)
            self._id_type = self._common_type()
        # For each side, the rank of a cell and its contribution to a code; the last is for no cell.
        self._tables = [
            (np.append(step.rank, 0.0), np.append(step.code, 0)) for step in self._steps
        ]
        self._odds = None if self.model is None else self._odds_by(self.model)

    def _odds_by(self, model: Model) -> Odds:
        names = {name: column for name, (column, _) in self._opinions.items()}
        types = {name: _SQL_TYPES[family] for name, (_, family) in self._opinions.items()}
        return Odds(model, inputs_sql(model, names, types))

    def weighing(self) -> Weighing:
        """Sum the weights, and find items that have two."""
        sums = "count(*), count_if(keys[1] >= 0 AND keys[2] >= 0), sum(given), count_if(unlike)"
        sums += ", min(id) FILTER (unlike)"

        def summed() -> Weighing:
            with self._read():
                rows = self._connection.sql(self._sql(["id", "keys", "given", "unlike"]))
                (row,) = rows.aggregate(sums).fetchall()
                return Weighing(*row)

        return self.ask(summed)

    def weights(self) -> Iterator[Floats]:
        """All weights, in pieces."""
        with reading(self.source), self._read():
            yield from pieces_of(self._connection.sql(self._sql(["given"])))

    def joint(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code, and hash the weights by item."""
        by: tuple[Variable, Scale] = "rank", "margin"
        if not self._weighted and self.model is None:
            return self.ask(lambda: self.counted(self.items(*by), "probability", N_CODES)), None
        rule: Rule = "probability" if self.model is None else "margin"
        words = _weight_words if self._weighted else odds_words  # of items with their ids
        every = Some()
        return self.ask(lambda: marked_cells(self.items(*by, every), rule, N_CODES, words))

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        if not self._opinions:
            raise without_opinions(self.source)
        columns = {name: column for name, (column, _) in self._opinions.items()}
        with reading(self.source):
            asked = ["id", "keys", *columns.values()]
            batches = list(self._batches(asked, self._among(ids)))
        ranks = np.concatenate([self._ranked(batch).values for batch in batches])
        table = pa.Table.from_batches(batches)
        rows = Ids.of(table["id"], self.id_kind).rows_of(ids, self.source)
        return joined_values(table, columns, ranks, rows)

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        if not self._opinions:
            return 0
        expressions = opined_sql([*self._opinions.values()])
        return self.ask(
            lambda: opinions_digest(opined_words(self._batches(["digest"], "", expressions)))
        )

    # Items.

    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> Iterator[Batch]:
        """Items by mean rank or log odds, and by code; some are selected before the join."""
        del variable, scale
        odds, below = self._odds, "" if some.ids is None else self._among(some.ids)
        if some.spans and max(span.limit for span in some.spans) < TOP:
            weight = "" if self.exponent is None else "weight"
            below = below_sql(self._digest, some.spans, some.seed, weight, self.exponent or 0)
        with_ids = some is not ALL or odds is not None
        columns = ["keys", *(["id", "digest"] if with_ids else [])]
        columns += ["given"] if self._weighted else []
        for batch in self._batches(columns, below, {} if odds is None else odds.columns):
            items = self._ranked(batch)
            if with_ids:
                digest = batch.column("digest").to_numpy()
                items = replace(items, ids=Ids.of(batch.column("id"), self.id_kind), digest=digest)
            if self.exponent is not None:
                given = batch.column("given").to_numpy()
                items = replace(items, weights=as_impressions(given, self.exponent))
            yield items if odds is None else odds.placed(columns_of(batch, odds.columns), items)

    def _ranked(self, batch: "pa.RecordBatch") -> Batch:
        """Mean ranks and codes of items, from their cells."""
        pairs: Any = batch.column("keys")
        keys = np.asarray(pairs.flatten()).reshape(-1, len(SIDES)).T
        (rank, code), (later, further) = (
            (ranks[key], codes[key]) for key, (ranks, codes) in zip(keys, self._tables, strict=True)
        )
        codes = code + further
        return Batch((later + rank) / np.where(codes >= IN_BOTH, 2.0, 1.0), codes)

    def _among(self, ids: Sequence[Id]) -> str:
        """Condition that an item is one of some."""
        kind = type(ids[0]) if ids else int
        literals = [str(id) if kind is int else quoted(str(id), "duckdb") for id in ids]
        return f"id IN ({', '.join(literals)})" if ids else "FALSE"

    def _copy(self, name: str, side: Predictions) -> None:
        """Copy a side into a table of that name."""
        tell_of_move(side, "DuckDB")
        pieces = (pa.Table.from_batches([each]) for each in side.scanner.keyed(side.survey.cells))
        self._connection.from_arrow(next(pieces)).create(name)
        for piece in pieces:
            self._connection.from_arrow(piece).insert_into(name)

    def _common_type(self) -> str:
        """Type that holds the ids of both; raise if there is none."""
        with self._read("FALSE"):
            kinds = {str(self._connection.table(name).types[0]) for name in SIDES}
        if len(kinds) > 1:
            ends = []
            for name in SIDES:
                with self._read():
                    ids = self._connection.table(name).aggregate("min(id) AS low, max(id) AS high")
                    ends.append(Ids(np.concatenate([*ids.fetchnumpy().values()])))
            kinds = {_TYPES[str(np.asarray(Ids.concatenated(ends).values).dtype)]}
        return kinds.pop()

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Run a query, and again without the memory limit if memory was too small."""
        with reading(self.source):
            try:
                return question()
            except duckdb.OutOfMemoryException:
                self._connection.execute("RESET memory_limit")
                return question()

    def _batches(
        self, columns: Sequence[str], below: str, more: Mapping[str, str] | None = None
    ) -> "Iterator[pa.RecordBatch]":
        """Columns and expressions of the joined items that fulfil a condition."""
        with self._read(below):
            yield from batches_of(self._connection.sql(self._sql(columns, below, more or {})))

    def _sql(
        self, columns: Sequence[str], below: str = "", more: Mapping[str, str] | None = None
    ) -> str:
        """Query for columns of the items of both that fulfil a condition."""
        ids = [f"CAST({name}.id AS {self._id_type})" for name in SIDES]
        old, new = (f"(FROM {name} WHERE {below}) AS {name}" if below else name for name in SIDES)
        keys = (f"coalesce({name}.key::INTEGER, -1)" for name in SIDES)
        expressions = {
            "id": f"coalesce({', '.join(ids)})",
            "keys": f"array_value({', '.join(keys)})",
        }
        if self._weighted:
            expressions["given"] = "coalesce(new.weight, old.weight)"
            expressions["unlike"] = "coalesce(old.weight <> new.weight, FALSE)"
        for name, family in self._opinions.values():
            expressions[name] = f"{name[-3:]}.score"
            if name.startswith("aux"):
                expressions[name] = either_sql(f"old.{name}", f"new.{name}", family)
        joined = ", ".join(f"{sql} AS {name}" for name, sql in expressions.items())
        rows = f"FROM {old} FULL OUTER JOIN {new} ON {' = '.join(ids)} SELECT {joined}"
        asked = [f"{self._digest} AS digest" if each == "digest" else each for each in columns]
        asked += [f"{sql} AS {name}" for name, sql in (more or {}).items()]
        return f"FROM ({rows}) SELECT {', '.join(asked)}"

    @contextmanager
    def _read(self, below: str = "") -> Iterator[None]:
        """Open the streams, to be read once, and report progress."""
        total, read = 1, 0

        def batches(reader: "Iterable[pa.RecordBatch]") -> Iterator["pa.RecordBatch"]:
            nonlocal read
            for batch in reader:
                read += batch.num_rows
                yield batch

        pairs = zip(SIDES, self.parts, strict=True)
        streams = {name: part for name, part in pairs if part.scanner.streams}
        for name, part in streams.items():
            total += part.size
            pieces = part.scanner.keyed(part.survey.cells, below)
            first = next(pieces)
            stream = pa.RecordBatchReader.from_batches(
                first.schema, batches(chain([first], pieces))
            )
            self._connection.register(name, stream)
        try:
            with polled(lambda: -1.0 if below else read / total):
                yield
        finally:
            for name in streams:
                self._connection.unregister(name)


def _weight_words(items: Batch) -> Words:
    weights = np.zeros(0, dtype=np.int64) if items.weights is None else items.weights
    return weight_words(items.words, weights)
