"""Several classifiers that DuckDB reads where they lie: once, to count them all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO, Any

import duckdb
import numpy as np
import pyarrow as pa

from assay.core.bins import STEPS, Rule, pieces
from assay.core.deck import Id
from assay.core.error_model import RANK as MEAN_RANK
from assay.core.error_model import Model, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.errors import PredictionsError
from assay.predictions.code_cells import Tally, find_cells, joined_cells, tally_of
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt
from assay.predictions.duckdb.cell_keys import refuse_other_bins
from assay.predictions.duckdb.loading import fetch_shown
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.duckdb.scanner import DuckScanner, first_limit
from assay.predictions.duckdb.values import BITS as BITS_SQL
from assay.predictions.duckdb.values import DuckSlices, find_slices
from assay.predictions.engine import Listed, Survey
from assay.predictions.judgements import NO_SCORE, about
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.sql.checks import refuse_bad_rows
from assay.predictions.sql.deck import duckdb_keyed, duckdb_mix
from assay.predictions.sql.opinions import duckdb_row_word, model_sql, refuse_other_words
from assay.predictions.sql.rows import RowSql, family_of
from assay.predictions.sql.several import CODE, RANK, Several, Steps, counts_codes, mean_sql
from assay.predictions.streamed import (
    AT_ONCE,
    BITS,
    DIGEST,
    LISTED,
    PIECE,
    WEIGHT,
    FirstIds,
    FirstPass,
    Judge,
    Kept,
    UnusableError,
    in_threads,
    workers,
)
from assay.predictions.values import slice_columns

_STEPS, _KEY = "assay_steps", "assay_key"


def open_duck(
    scan: Scan, roles: Mapping[str, Roles], show: Sequence[str], slices: Sequence[str] = ()
) -> DuckScanner:
    """Open predictions of one classifier or several that DuckDB can read.

    `roles`: which columns are each classifier's; all name the same column of ids; `show`: the
    columns that people see; `slices`: groups of items, of which codes tell, too.
    """
    refuse_other_bins()
    needed = [column for role in roles.values() for column in role.columns]
    needed += slice_columns(slices)
    relation = open_relation(scan, list(dict.fromkeys([*needed, *show])), staged=True)
    if counts_codes(roles, slices):
        return DuckSeveral(relation, roles, show, slices)
    (role,) = roles.values()
    return DuckScanner(relation, role, show)


class DuckSeveral(DuckScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code."""

    def __init__(
        self,
        relation: Relation,  # the rows
        roles: Mapping[str, Roles],
        show: Sequence[str],
        slices: Sequence[str] = (),
    ) -> None:
        first, *_ = roles.values()
        super().__init__(relation, replace(first, model=None), show)
        self._model = first.model
        self._slices = find_slices(relation, slices) if slices else DuckSlices((), relation.sql)
        self._all_rows = self._slices.sql
        self._several = Several(roles, self._slices.names, relation.label)
        self._each = self._several.alone(lambda role: DuckScanner(relation, role, (), self._ids))
        self._own = [(role, self._each[name].row) for name, role in roles.items()]
        codes, weight = self._several.n_codes, self._row.weight
        self._row = RowSql(self._row.id, RANK, CODE, is_sure=True, classes=codes, weight=weight)

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code, and list the first cards."""
        with reading(self.source), TemporaryFile(dir=self._relation.folder) as file:
            size, rules = self._size_and_rules()
            columns, numbers = self._columns(seed, size), self._first_ids(seed, size)
            first = self._passed(rules, columns, numbers, file)
            found = [self._judged_by(number, first) for number in range(len(rules))]
            steps = [Steps.of(cells, place) for place, (cells, _) in enumerate(found)]
            if [step.cells.rule for step in steps] != rules:
                rules = [step.cells.rule for step in steps]
                first = self._passed(rules, columns, numbers, file)
            ranked = Ranked(steps, [role.has_score for role, _ in self._own])
            cells = ranked.count(first.kept(), self._n_codes)
            if {first.size, *(step.cells.size for step in steps)} != {size}:
                raise _changed(self.source)
        self._steps, self._sql = steps, ""
        if self._model is not None:
            with reading(self.source):
                return self._placed_by(self._model, self._fingerprint(cells, seed))
        listed = first.listed()
        if listed is not None:
            ids, kept = listed
            cell = find_cells(cells, *ranked.of(kept))
        return Survey(
            cells,
            None if listed is None else Listed(seed, first_limit(size), self._ids.of(ids), cell),
            tuple(doubt for _, odd in found for doubt in odd),
            self._fingerprint(cells, seed),
            weighed=cells if self._row.weight else None,
            weights_word=first.weights_word,
            slices=self._slices.names,
            coded=True,
        )

    def _fingerprint(self, cells: ScoreCells, seed: int) -> str:
        """Return the fingerprint of all that was read; of one classifier that of its cells."""
        if not self._several.is_one:
            return self._several.fingerprint(self._steps, cells)
        (one,) = self._each.values()
        return one.survey(seed).cells.fingerprint()

    def _placed_by(self, model: Model, fingerprint: str) -> Survey:
        """Count all items by a model's log odds and code: two passes."""
        odds = f"({self._log_odds(model)} + 0e0)"  # -0.0 becomes 0.0
        self._row = replace(self._row, score=odds)
        cells = self._cells_of(odds, "margin")
        refuse_other_words()
        word = duckdb_mix(f"xor({self._digest}, hash({odds}))")
        ((found,),) = self._fetch(self._rows.aggregate(f"bit_xor({word})"))
        told = by_model(fingerprint, int(found))
        return Survey(cells, fingerprint=told, slices=self._slices.names, coded=True)

    def _model_columns(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return what a model may take, as SQL, and the types: columns, scores, the mean rank."""
        names = {name: identifier(name) for name in self._roles.aux}
        types = {name: self._relation.types[name] for name in names}
        for name, sql in {**self._scores(), MEAN_RANK: RANK}.items():
            names[name], types[name] = sql, "DOUBLE"
        return names, types

    def _scores(self) -> dict[str, str]:
        """Return the scores of classifiers that have some, as SQL."""
        scores = self._several.scores.items()
        return {name: f"({self._own[place][1].score})" for name, place in scores}

    def _log_odds(self, model: Model) -> str:
        """Return what takes the mean rank's place: the log odds by the model of the row's fold."""
        names, types = self._model_columns()
        first, second = model_sql(model, names, types, says=f"{CODE}::BIGINT", dialect="duckdb")
        number = duckdb_keyed(self._digest, model.seed)
        return f"CASE WHEN {number} < {2**63}::UBIGINT THEN {first} ELSE {second} END"

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""
        shown = fetch_shown(self._relation, self._roles.id, ids, self._roles.aux)
        told: dict[str, Values] = {name: [each[name] for each in shown] for name in self._roles.aux}
        numbers = {**self._scores(), MEAN_RANK: RANK}
        columns = [f"({sql})::DOUBLE AS c{place}" for place, sql in enumerate(numbers.values())]
        with reading(self.source):
            rows = self._rows.project(", ".join([f"{self._ids.sql} AS id", *columns]))
            found, *values = self._arrow(self._only(ids, rows)).columns
        order = self._ids.of(found).rows_of(ids, self.source)
        for name, column in zip(numbers, values, strict=True):
            told[name] = np.asarray(column)[order] + 0.0
        return told

    def opinions_digest(self) -> int:
        """Return 64 bits that change when what a column for a model or a score says does."""
        names, types = self._model_columns()
        told = [(names[name], family_of(types[name])) for name in names if name != MEAN_RANK]
        word = duckdb_row_word(self._digest, told)
        rows = self._relation.connection.sql(f"FROM {self._relation.sql}")
        with reading(self.source):
            ((found,),) = self._fetch(rows.aggregate(f"bit_xor({word})"))
        return int(found or 0)

    def _columns(self, seed: int, size: int) -> dict[str, str]:
        """Return what the first pass is told of rows beside what classifiers say: SQL and names."""
        id = self._ids.sql
        columns = {f"CASE WHEN {id} IS NOT NULL THEN {self._digest} END": DIGEST}
        if self._slices.names:
            columns[BITS_SQL] = BITS
        if not self._row.weight:
            if self.id_kind == "integer":
                return columns  # the digests tell them
            number = duckdb_keyed(self._digest, seed)
            columns[f"CASE WHEN {number} <= {first_limit(size)}::UBIGINT THEN {id} END"] = LISTED
            return columns
        self._refuse_bad_weights()
        self._impressions_sql = self._impressions()
        there = f"{self._row.weight} > 0e0"
        columns[f"CASE WHEN {there} THEN {self._impressions_sql} ELSE 0 END"] = WEIGHT
        return columns

    def _first_ids(self, seed: int, size: int) -> FirstIds | None:
        """Return what finds first cards by the digests of integer ids; DuckDB lists others."""
        if self._row.weight or self.id_kind != "integer":
            return None
        return FirstIds(seed, first_limit(size), signed=self._ids.signed)

    def _refuse_bad_weights(self) -> None:
        """Raise where a weight is none, or an id is missing."""
        row = RowSql(self._row.id, "0e0", "0", is_sure=True, weight=self._row.weight)
        weight = self._roles.weight
        written = {weight: identifier(weight)} if weight and self._relation.is_text else {}
        refuse_bad_rows(self._inspected, row, self._roles, written=written)

    def _size_and_rules(self) -> tuple[int, list[Rule]]:
        """Return the number of rows, and the bin rule of each classifier."""
        rules = []
        for name, one in self._each.items():
            with about(name):
                size, rule = one.size_and_rule()
            rules.append(rule)
        return size, rules

    def _judged_by(self, number: int, first: FirstPass) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Return the counts of a classifier, and what looks odd."""
        name = list(self._each)[number]
        one, cells = self._each[name], first.cells(number)
        with about(name):
            if cells is None:
                cells, doubts = one.judged()
            else:  # labels by a threshold, in many small cells, are as they should be
                doubts = one.checked(cells) if first.judges[number].ends else ()
        return cells, tuple(doubt.about(name) for doubt in doubts)

    def _passed(
        self,
        rules: Sequence[Rule],  # of each classifier how bins are made
        around: Mapping[str, str],  # what else is told of rows, as in `_columns`
        numbers: FirstIds | None,  # finds first cards
        file: IO[bytes],  # takes what memory is not for
    ) -> FirstPass:
        """Read all rows once, and keep what is needed of each."""
        columns, judges = dict(around), []
        for (role, row), rule in zip(self._own, rules, strict=True):
            score = columns.setdefault(row.score, f"c{len(columns)}") if role.has_score else None
            says = None
            if role.predicted is not None:
                told = row.says if row.is_sure else f"nullif({row.says}, {row.unclear})"
                says = columns.setdefault(f"CAST({told} AS TINYINT)", f"c{len(columns)}")
            judges.append(Judge(rule, score, says, role.limit or 0.0))
        file.seek(0)
        file.truncate()
        first = FirstPass(judges, file, around.values(), numbers)
        told = ", ".join(f"{what} AS {name}" for what, name in columns.items())
        rows = self._relation.connection.sql(f"FROM {self._all_rows} SELECT {told}")
        try:
            with self._polled(), closing(rows.to_arrow_reader(AT_ONCE)) as batches:
                first.take(batches)
        except UnusableError:
            self.tell_what_is_wrong()
            raise _changed(self.source) from None
        except duckdb.Error:
            self.tell_what_is_wrong()
            raise
        return first

    def tell_what_is_wrong(self) -> None:
        """Look at the rows again: at their ids, then at what each classifier says."""
        if self._inspected.count([f"{self._row.id} IS NULL"])[0]:
            next(iter(self._each.values())).tell_what_is_wrong()  # it begins with the ids
        for name, one in self._each.items():
            with about(name):
                one.tell_what_is_wrong()

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        """All rows with their mean rank and code, for passes after the first."""
        if not self._sql:
            self._sql = self._joined(self._steps)
        return super()._rows

    def _joined(self, steps: Sequence[Steps]) -> str:
        """Return what stands after FROM for rows with their mean rank and code."""
        connection = self._relation.connection
        keys, joins, ranks, codes = [], [], [], []
        kind = "USMALLINT" if self._n_codes <= 2**16 else "BIGINT"
        pairs = zip(self._own, self._each.values(), steps, strict=True)
        for place, ((role, _), one, step) in enumerate(pairs):
            key = one.keys.sql(one.row.score, step.cells.rule)
            name, keyed = f"{_STEPS}_{place}", f"{_KEY}_{place}"
            # A table has statistics, by which DuckDB joins without a hash table.
            connection.execute(f"DROP TABLE IF EXISTS {name}")
            columns = {"key": one.keys_of(step.cells), "rank": step.rank, "code": step.code}
            found = connection.from_arrow(pa.table(columns))
            found.project(f"key, rank, code::{kind} AS code").create(name)
            keys.append(f"{key} AS {keyed}")
            joins.append(f"JOIN {name} ON {name}.key = {keyed}")
            codes.append(f"{name}.code")
            if role.has_score:
                ranks.append(f"{name}.rank")
        if self._slices.names:
            codes.append(f"{BITS_SQL}::{kind} * {2 ** len(steps)}")
        counted = self._weighed(self._impressions_sql) if self._row.weight else self._all_rows
        rows = f"(FROM {counted} SELECT *, {', '.join(keys)}) AS assay_rows"
        told = f"{mean_sql(ranks)} AS {RANK}, {' + '.join(codes)} AS {CODE}"
        return f"(FROM {rows} {' '.join(joins)} SELECT assay_rows.*, {told})"


def _changed(source: str) -> PredictionsError:
    return PredictionsError(f"{source} has changed while it was read")


# The second pass, by mean rank and code: the ranks of all bins are known after the first
# (`assay.predictions.streamed`), and what that kept of the rows is all that is read.


class Ranked:
    """The mean rank and the code of rows, from what was kept of them.

    `steps`: of each classifier what its cells tell; `scored`: whether each has a score.
    """

    def __init__(self, steps: Sequence[Steps], scored: Sequence[bool]) -> None:
        self._tables: list[Floats | None] = []
        for step, has_score in zip(steps, scored, strict=True):
            cells = step.cells
            table = np.zeros(2 * (2 * STEPS[cells.rule] + 1))
            table[2 * (cells.bin + STEPS[cells.rule]) + cells.said] = step.rank
            self._tables.append(table if has_score else None)

    def of(self, kept: Kept) -> tuple[Floats, Ints]:
        """Return the mean ranks and the codes."""
        total, scored = np.zeros(kept.size), 0
        # Fewer bytes are faster; classifiers are 40 at most.
        code: Any = np.zeros(kept.size, np.uint16 if len(self._tables) <= 16 else np.int64)
        for place, (key, table) in enumerate(zip(kept.keys, self._tables, strict=True)):
            said = (key & 1).astype(code.dtype, copy=False)
            said <<= place
            code |= said
            if table is not None:
                total += table.take(key, mode="clip")
                scored += 1
        if scored:
            total /= scored
        means = total if scored else np.full(total.size, NO_SCORE)
        codes = code.astype(np.int64, copy=False)
        return means, codes if kept.bits is None else codes | kept.bits << len(self._tables)

    def count(self, kept: Iterable[Kept], n_codes: int) -> ScoreCells:
        """Count rows by mean rank and code."""
        tallies = [tally_of(n_codes) for _ in range(workers())]

        def counter(tally: Tally) -> Callable[[Kept], None]:
            def count(batch: Kept) -> None:
                for rows in pieces(batch.size, PIECE):
                    some = batch.at(rows)
                    tally.add(*self.of(some), some.digest, some.weights)

            return count

        in_threads(kept, [counter(tally) for tally in tallies])
        return joined_cells(tallies, n_codes)
