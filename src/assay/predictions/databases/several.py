"""Several classifiers in a table of a database: each is counted, then their mean rank and code."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.errors import PredictionsError
from assay.predictions.databases.check import refuse_other_arithmetic
from assay.predictions.databases.find import find_database
from assay.predictions.databases.rows import DatabaseRows, find_rows
from assay.predictions.databases.scanner import DatabaseScanner, bin_sql
from assay.predictions.databases.translate import Query
from assay.predictions.databases.words import Words
from assay.predictions.engine import Survey
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.several import Several, Steps, mean_sql, steps_of


class DatabaseSeveral(DatabaseScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code.

    The rank of a bin is looked up in a list that is a part of the query.

    `rows`: the rows; `roles`: which columns are each classifier's; all name the same column of ids;
    `show`: the columns that people see.
    """

    def __init__(self, rows: DatabaseRows, roles: Mapping[str, Roles], show: Sequence[str]) -> None:
        first, *_ = roles.values()
        super().__init__(rows, first, show)
        self._several = Several(roles, (), rows.source)
        self._each = self._several.alone(lambda role: DatabaseScanner(rows, role, (), self._ids))
        codes = self._several.n_codes
        self._row = RowSql(*(self._row.id, "value", "says"), is_sure=True, classes=codes)
        self._steps: list[Steps] = []

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code."""
        del seed  # as of one
        with self._connected():
            self._steps, doubts = steps_of(self._each)
            size = self._steps[0].cells.size
            cells, _ = self._counted(
                "score", "probability", "probability", digest=True, summed=True
            )
            if {cells.size, *(each.cells.size for each in self._steps)} != {size}:
                raise PredictionsError(f"{self.source} has changed while it was read")
            return Survey(cells, None, doubts, self._several.fingerprint(self._steps, cells))

    def _items(self, *, shown: bool = False, inside: str = "") -> Words:
        """Return every item's id, mean rank, code and what is shown of it."""
        show = self._show if shown else ()
        items = self._of_each(show, inside)
        lists: list[list[float]] = []
        ranks, codes, keys = [], [], []
        pairs = zip(self._several.roles.values(), self._steps, strict=True)
        for place, (role, step) in enumerate(pairs):
            codes.append(f"says_{place} * {step.cells.classes**place}")
            if role.has_score:
                bins = step.cells.bin
                ranks_of_bins = np.zeros(int(bins[-1] - bins[0]) + 1)
                ranks_of_bins[bins - bins[0]] = step.rank
                keys.append(
                    f"{bin_sql(f'score_{place}', step.cells.rule)} - ({bins[0]}) AS bin_{place}"
                )
                ranks.append(f"element({len(lists)}, bin_{place})")
                lists.append(ranks_of_bins.tolist())
        kept = ["id", *(f"shown_{place}" for place in range(len(show)))]
        said = [f"says_{place}" for place in range(len(self._steps))]
        query = items.query.select(*kept, *said, *keys)
        value, code = f"{mean_sql(ranks)} AS value", f"{' + '.join(codes)} AS says"
        query = query.select("id", value, code, *kept[1:]).with_lists(lists)
        return Words(query, ["id", "value", "says", *kept[1:]])

    def _of_each(self, show: Sequence[str], inside: str = "") -> Words:
        """Return every item's id, and what each classifier says of it."""
        columns = [column for role in self._several.roles.values() for column in role.columns]
        rows = Query(self._rows.select([*columns, *show], inside))
        told = {"id": self._ids.sql}
        told |= {f"shown_{place}": self._rows.names[name] for place, name in enumerate(show)}
        for place, one in enumerate(self._each.values()):
            told |= {f"score_{place}": one.row.score, f"says_{place}": one.row.says}
        selected = [f"{expression} AS {name}" for name, expression in told.items()]
        return Words(rows.select(*selected), list(told))


def open_table(scan: Scan, roles: Mapping[str, Roles], show: Sequence[str]) -> DatabaseScanner:
    """Open predictions of one classifier or several in a table that its database counts.

    `roles`: which columns are each classifier's; all name the same column of ids; `show`: the
    columns that people see.
    """
    database = find_database(scan.path or "")
    if database is None:
        raise PredictionsError(
            f"engine 'database' is given for {scan.path or type(scan.source).__name__}",
            details="it is for a table of PostgreSQL, ClickHouse or SQLite",
            hint="leave out the engine",
        )
    first, *_ = roles.values()
    needed = [column for role in roles.values() for column in role.columns]
    wanted = list(dict.fromkeys([*needed, *show]))
    with database.connected():
        rows = find_rows(database, table=scan.table, where=scan.where, wanted=wanted)
        refuse_other_arithmetic(database)
        if len(roles) == 1:
            return DatabaseScanner(rows, first, show)
        return DatabaseSeveral(rows, roles, show)
