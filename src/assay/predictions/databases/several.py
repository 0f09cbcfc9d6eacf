"""Several classifiers in a table of a database: each is counted, then their mean rank and code."""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.core import deck
from assay.core.bins import bins_of
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.databases.database import Database
from assay.predictions.databases.find import find_database
from assay.predictions.databases.rows import DatabaseRows, find_rows
from assay.predictions.databases.scanner import DatabaseScanner, bin_sql, rounded_sql
from assay.predictions.databases.translate import Query
from assay.predictions.databases.words import Words
from assay.predictions.engine import Survey
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import TRIED, RowSql
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


# A trial of a database on known values: it must compute what numpy does before it is trusted.

_SEED = 1
_KINDS: dict[str, IdKind] = {"whole": "integer", "text": "string"}
_IDS = [0, 1, -1, 7, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    *("", " ", "7", "007", "NA", "naïve", "東京", "👩‍🔬", "it's", "back\\slash", "a\tb", "x" * 99)
]
_NUMBERS = [0.0, 1.0, 1 / 3, -3.25, 1e300, 5e-324, -1e-310, 0.1, 2.0**52 + 1, 1e22, 1e23, -7e-7]
_HALVES = [place + 0.5 for place in range(-6, 6)]

_tried: set[tuple[str, str]] = set()


def refuse_other_arithmetic(database: Database) -> None:
    """Raise an error if this database would draw other items than every other engine.

    Each version at an address is tried once in a process, by a query that reads no table.
    """
    with database.connected():
        database.refuse_old()
        which = database.address, database.version()
        if which in _tried:
            return
        right = _expected()
        found = sorted(database.fetch(_trial(database).sql(database)))
        columns = list(zip(*found, strict=True))[1:]
        wrong = [
            name
            for (name, expected), column in zip(right.items(), columns, strict=True)
            if list(column) != expected
        ]
        if wrong:
            raise PredictionsError(
                f"{database.address} computes otherwise than numpy: {', '.join(wrong)}",
                details=f"{which[1]}; it would draw other items than other engines do",
                hint="have the table copied: engine 'duckdb'",
            )
        _tried.add(which)


def _expected() -> dict[str, list[float]]:
    """Return what numpy has for each column of the trial."""
    places = (deck.numbers(_IDS, _SEED), deck.numbers(_TEXTS, _SEED))
    return {
        "digest of integer ids": deck.digest(_IDS).view(np.int64).tolist(),
        "number of integer ids": (places[0] ^ np.uint64(2**63)).view(np.int64).tolist(),
        "digest of string ids": deck.digest(_TEXTS).view(np.int64).tolist(),
        "number of string ids": (places[1] ^ np.uint64(2**63)).view(np.int64).tolist(),
        **{f"bin of a {rule}": bins_of(np.array(TRIED[rule]), rule).tolist() for rule in TRIED},
        "nearest whole number": np.rint(_HALVES).astype(np.int64).tolist(),
        "element of a list": _NUMBERS,
    }


def _trial(database: Database) -> Query:
    """Return what computes the same."""
    given: dict[str, Sequence[float | str]] = {
        "place": list(range(len(_IDS))),
        "whole": _IDS,
        "text": _TEXTS,
        **{rule: [float(value) for value in values] for rule, values in TRIED.items()},
        "half": _HALVES,
    }
    words = Words(Query(database.written_out(given)).select(*given), list(given))
    for name, kind in _KINDS.items():
        words = words.with_column(f"{words.digest(name, kind).word} AS digest_{name}")
        place = words.numbered(name, kind, _SEED).place
        words = words.with_column(f"{place} AS place_{name}")
    told = [f"{kind}_{name}" for name in _KINDS for kind in ("digest", "place")]
    return words.query.select(
        *("place", *told),
        *(f"{bin_sql(rule, rule)} AS bin_{rule}" for rule in TRIED),
        f"{rounded_sql('half')} AS nearest",
        "element(0, place) AS listed",
    ).with_lists([_NUMBERS])
