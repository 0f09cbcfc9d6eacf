"""Several classifiers that DuckDB reads where they lie: each column twice, and nothing is kept."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from assay.errors import PredictionsError
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.duckdb.scanner import DuckInspected, DuckScanner, refuse_other_bins
from assay.predictions.engine import Survey
from assay.predictions.judgements import about
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.several import (
    CODE,
    RANK,
    Steps,
    duckdb_judged_word,
    mean_sql,
    n_codes,
    steps_of,
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
        self._own = [one.row for one in self._each.values()]
        self._row = RowSql(
            self._row.id, RANK, CODE, is_sure=True, classes=n_codes([*roles.values()])
        )

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code, and list the first cards."""
        steps, doubts = steps_of(self._each)
        size = steps[0].cells.size
        self._sql = self._joined(steps)
        self._inspected = DuckInspected(self._relation, self._row.id, self._sql)
        word = duckdb_judged_word(self._digest, self._own)
        with reading(self.source):
            survey = self._surveyed("probability", seed, size, word)
        if {survey.cells.size, *(each.cells.size for each in steps)} != {size}:
            raise PredictionsError(f"{self.source} has changed while it was read")
        return Survey(survey.cells, survey.listed, doubts, survey.fingerprint)

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
