"""Several classifiers that DuckDB reads where they lie: once, to count them all."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from tempfile import TemporaryFile
from typing import IO

import duckdb
import pyarrow as pa

from assay.core.bins import Rule
from assay.core.profile import ScoreCells
from assay.errors import PredictionsError
from assay.predictions.doubts import Doubt
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.duckdb.scanner import DuckScanner, first_limit, refuse_other_bins
from assay.predictions.engine import Listed, Survey
from assay.predictions.judgements import about
from assay.predictions.memory import fingerprint_text
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.sql.deck import duckdb_keyed
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.several import CODE, RANK, Steps, mean_sql, n_codes
from assay.predictions.streamed import (
    AT_ONCE,
    DIGEST,
    LISTED,
    FirstPass,
    Judge,
    Ranked,
    UnusableError,
    find_cells,
)

_STEPS, _KEY = "assay_steps", "assay_key"


def open_duck(scan: Scan, roles: Mapping[str, Roles], show: Sequence[str]) -> DuckScanner:
    """Open predictions of one classifier or several that DuckDB can read.

    Parameters
    ----------
    scan : Scan
        Where they are.
    roles : mapping of str to Roles
        Which columns are each classifier's; all name the same column of ids.
    show : sequence of str
        The columns that people see.
    """
    refuse_other_bins()
    needed = [column for role in roles.values() for column in role.columns]
    relation = open_relation(scan, list(dict.fromkeys([*needed, *show])), staged=True)
    if len(roles) == 1:
        (role,) = roles.values()
        return DuckScanner(relation, role, show)
    return DuckSeveral(relation, roles, show)


class DuckSeveral(DuckScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code.

    Parameters
    ----------
    relation : Relation
        The rows.
    roles, show
        As in `open_duck`.
    """

    def __init__(self, relation: Relation, roles: Mapping[str, Roles], show: Sequence[str]) -> None:
        first, *_ = roles.values()
        super().__init__(relation, first, show)
        self._all = roles
        self._each: dict[str, DuckScanner] = {}
        for name, role in roles.items():
            with about(name):
                self._each[name] = DuckScanner(relation, role, (), self._ids)
        self._own = [(role, self._each[name].row) for name, role in roles.items()]
        self._row = RowSql(
            self._row.id, RANK, CODE, is_sure=True, classes=n_codes([*roles.values()])
        )

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code, and list the first cards."""
        with reading(self.source), TemporaryFile(dir=self._relation.folder) as file:
            size, rules = self._size_and_rules()
            first = self._passed(rules, file, seed, size)
            found = [self._judged_by(number, first) for number in range(len(rules))]
            steps = [Steps.of(cells, place) for place, (cells, _) in enumerate(found)]
            if [step.cells.rule for step in steps] != rules:
                first = self._passed([step.cells.rule for step in steps], file, seed, size)
            ranked = Ranked(steps, [role.has_score for role in self._all.values()])
            cells = ranked.count(first.kept(), self._n_codes)
            if {cells.size, *(step.cells.size for step in steps)} != {size}:
                raise _changed(self.source)
        self._steps, self._sql = steps, self._all_rows
        ids, keys = first.listed()
        cell = find_cells(cells, *ranked.of(keys))
        listed = Listed(seed, first_limit(size), self._ids.of(pa.chunked_array(ids)), cell)
        doubts = tuple(doubt for _, odd in found for doubt in odd)
        return Survey(cells, listed, doubts, fingerprint_text(size, first.word))

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

    def _passed(self, rules: Sequence[Rule], file: IO[bytes], seed: int, size: int) -> FirstPass:
        """Read all rows once, and keep what is needed of each in a file."""
        number = duckdb_keyed(self._digest, seed)
        id = self._ids.sql
        columns = {
            f"CASE WHEN {id} IS NOT NULL THEN {self._digest} END": DIGEST,
            f"CASE WHEN {number} <= {first_limit(size)}::UBIGINT THEN {id} END": LISTED,
        }
        judges = []
        for (role, row), rule in zip(self._own, rules, strict=True):
            score = columns.setdefault(row.score, f"c{len(columns)}") if role.has_score else None
            says = None
            if role.predicted is not None:
                told = row.says if row.is_sure else f"nullif({row.says}, {row.unclear})"
                says = columns.setdefault(f"CAST({told} AS TINYINT)", f"c{len(columns)}")
            judges.append(Judge(rule, score, says, role.limit or 0.0))
        file.seek(0)
        file.truncate()
        first = FirstPass(judges, file)
        told = ", ".join(f"{what} AS {name}" for what, name in columns.items())
        rows = self._relation.connection.sql(f"FROM {self._relation.sql} SELECT {told}")
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
        if self._sql == self._all_rows:
            self._sql = self._joined(self._steps)
        return super()._rows

    def _joined(self, steps: Sequence[Steps]) -> str:
        """Return what stands after FROM for rows with their mean rank and code."""
        connection = self._relation.connection
        keys, joins, ranks, codes = [], [], [], []
        kind = "USMALLINT" if self._n_codes <= 2**16 else "BIGINT"
        pairs = zip(self._all.values(), self._each.values(), steps, strict=True)
        for place, (role, one, step) in enumerate(pairs):
            key = one.key(one.row.score, step.cells.rule)
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
        rows = f"(FROM {self._relation.sql} SELECT *, {', '.join(keys)}) AS assay_rows"
        told = f"{mean_sql(ranks)} AS {RANK}, {' + '.join(codes)} AS {CODE}"
        return f"(FROM {rows} {' '.join(joins)} SELECT assay_rows.*, {told})"


def _changed(source: str) -> PredictionsError:
    return PredictionsError(f"{source} has changed while it was read")
