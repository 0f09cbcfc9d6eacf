"""DuckDB relations of files, folders, queries and database tables, and their ids."""

import shutil
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import duckdb
import pyarrow as pa

from assay.core.deck import Id, IdKind
from assay.errors import PredictionsError
from assay.predictions.column import key_parts, with_parts
from assay.predictions.databases import find_database
from assay.predictions.duckdb.files import readable_files
from assay.predictions.duckdb.packed import unpacked
from assay.predictions.duckdb.paths import Named, confine, find_files, in_utf8, named_in
from assay.predictions.duckdb.readable import (
    Readable,
    filtered,
    name_of,
    readable_copy,
    readable_query,
    readable_table,
    reading,
)
from assay.predictions.duckdb.table_formats import live_files, readable_live
from assay.predictions.engine import polled
from assay.predictions.faults import (
    condition,
    no_ids,
    nothing_in,
    refuse_missing_columns,
    repeated_ids,
)
from assay.predictions.query import identifier, quoted
from assay.predictions.scan import Scan, format_of, is_database, is_query
from assay.predictions.sql.deck import duckdb_digest
from assay.predictions.sql.rows import family_of, key_sql


@dataclass(frozen=True, eq=False)
class Relation:
    """Rows that can be queried with SQL any number of times."""

    label: str  # description, for users: a path, a shortened query, ``table t of db.duckdb``
    connection: duckdb.DuckDBPyConnection  # in memory; stays open as long as the relation lives
    sql: str  # stands after FROM; the condition on the rows is in it
    types: Mapping[str, str]  # the columns, and their DuckDB types
    # Whether every column is text of a CSV file, whose values must be parsed.
    is_text: bool
    bytes: int  # size on disk of the source, or of its copy; 0 if neither is known
    folder: Path  # for temporary files; gone with the relation, or with the process

    def __post_init__(self) -> None:
        weakref.finalize(self, release, self.connection, self.folder)


More = Callable[[duckdb.DuckDBPyConnection, str, dict[str, str], str], tuple[str, dict[str, str]]]
"""From a connection, a table expression with its types, and a label to one with more columns."""


def open_relation(
    scan: Scan, columns: Sequence[str], *, staged: bool, more: More | None = None
) -> Relation:
    r"""Open the source of a `Scan`.

    `columns`: all columns that will ever be requested; copies contain no others.

    Raises PredictionsError: if something is missing or incompatible, or if there are no rows (not
    checked for a query that is not copied).
    """
    wanted = list(dict.fromkeys(columns))
    connection, folder = connected()
    try:
        # A long copy would draw its own progress bar.
        connection.execute("SET enable_progress_bar_print = false")
        return _opened(scan, wanted, connection, folder, staged=staged, more=more)
    except BaseException:
        release(connection, folder)
        raise


def connected() -> tuple[duckdb.DuckDBPyConnection, Path]:
    """DuckDB in memory, with its own folder for temporary files."""
    folder = Path(mkdtemp(prefix="assay-"))
    config: dict[str, Any] = {
        # Without this, a path like s3://... would make DuckDB download an extension.
        "autoinstall_known_extensions": "false",
        # Names in a query are tables, never variables of this program.
        "python_enable_replacements": "false",
        # Otherwise DuckDB would spill into the working directory.
        "temp_directory": str(folder),
    }
    return duckdb.connect(config=config), folder


def _opened(
    scan: Scan,
    wanted: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    staged: bool,
    more: More | None,
) -> Relation:
    with reading(_name(scan)):
        named = (
            Named()
            if scan.where is None
            else named_in(connection, f"SELECT 1 {condition(scan.where)}")
        )
        readable = _readable(scan, with_parts(wanted), connection, folder, named)
        readable = readable.with_numbers(scan.local_numbers)
    with reading(readable.label):
        types = _types(connection, readable.sql)
        refuse_missing_columns(with_parts(wanted, list(types)), list(types), readable.label)
        sql, size = readable.sql, readable.bytes
        if scan.where and not readable.is_filtered:
            sql = filtered(connection, sql, scan.where, list(types), is_text=readable.is_text)
        sql, types = _with_keys(sql, types, wanted, readable.label)
        if staged and not readable.is_lasting:
            sql, copied = _staged(connection, sql, wanted, folder)
            types, size = _types(connection, sql), size or copied
        if more is not None:
            sql, types = more(connection, sql, types, readable.label)
        # Reading one row of a query may take as long as running it.
        is_costly = is_query(scan.path or "") and not staged
        if not is_costly and not connection.execute(f"FROM {sql} SELECT 1 LIMIT 1").fetchall():
            raise nothing_in(readable.label, scan.where)
    return Relation(readable.label, connection, sql, types, readable.is_text, size, folder)


def _with_keys(
    sql: str, types: dict[str, str], wanted: Sequence[str], label: str
) -> tuple[str, dict[str, str]]:
    """Table expression with a column for each composite key, and the column types."""
    for name in wanted:
        parts = key_parts(name, list(types))
        if parts:
            names = {part: identifier(part) for part in parts}
            key = key_sql(parts, names, types, dialect="duckdb", source=label)
            sql = f"(FROM {sql} SELECT *, {key} AS {identifier(name)})"
            types = {**types, name: "VARCHAR"}
    return sql, types


def _name(scan: Scan) -> str:
    path = scan.path or ""
    database = find_database(path)
    if database is not None:
        return database.address
    return name_of(path) if is_query(path) else path


def _readable(
    scan: Scan,
    wanted: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    beside: Named,  # named in the condition, which a database evaluates itself
) -> Readable:
    """Find the rows, and confine DuckDB to their source before any of them is read."""
    path = scan.path
    if path is None:
        raise PredictionsError(
            f"DuckDB reads no {type(scan.source).__name__}",
            details="a path, a query or the URL of a database is needed",
        )
    database = find_database(path)
    if database is not None:
        confine(connection, Named(), folder)
        return readable_copy(
            database, table=scan.table, where=scan.where, wanted=wanted, folder=folder
        )
    query = is_query(path)
    if is_database(path) and not query:
        readable = readable_table(connection, path, scan.table)
        confine(connection, beside, folder)
        return readable
    if scan.table is not None:
        raise PredictionsError(
            f"table={scan.table!r} cannot be combined with {path!r}",
            details="a table is one of a DuckDB file or a SQLite file, or of a postgresql:// or "
            "clickhouse:// URL",
            hint="leave it out",
        )
    if query:
        confine(connection, named_in(connection, path) | beside, folder)
        return readable_query(connection, path, wanted)
    if format_of(path) is not None:
        live = live_files(path, None if scan.where else wanted, folder)
        confine(connection, beside, folder, files=live.paths)
        return readable_live(connection, live)
    files = find_files(connection, path)
    if files.kind == "packed":
        files = unpacked(files, folder)
    if scan.encoding is not None:
        files = in_utf8(files, scan.encoding, folder)
    confine(connection, beside, folder, files=files.paths)
    return readable_files(connection, files, wanted, whole=scan.where is not None)


def _types(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE FROM {sql}").fetchall()
    return {name: kind for name, kind, *_ in rows}


def _staged(
    connection: duckdb.DuckDBPyConnection, sql: str, wanted: Sequence[str], folder: Path
) -> tuple[str, int]:
    path = folder / "staged.parquet"
    target = quoted(str(path), "duckdb")
    names = ", ".join(map(identifier, wanted))
    # Keeping the rows in order would need more and more memory.
    connection.execute("SET preserve_insertion_order = false")
    options = "FORMAT parquet, ROW_GROUP_SIZE_BYTES '64MB'"
    connection.execute(f"COPY (FROM {sql} SELECT {names}) TO {target} ({options})")
    connection.execute("RESET preserve_insertion_order")
    return f"read_parquet({target})", path.stat().st_size


def release(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Close a connection, and delete its temporary files."""
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


# Id column of a DuckDB relation: 64-bit integers, or strings.


_AT_ONCE = 8_000_000  # ids in memory at once: about 300 MB
_INTEGERS = ("BIGINT", "UBIGINT")


class DuckIds:
    """Ids of a relation.

    `sql`: the id as an expression of type BIGINT, UBIGINT or VARCHAR.
    """

    def __init__(self, relation: Relation, column: str, name: str) -> None:
        self._relation, self._column = relation, column
        type_name = relation.types[column]
        family = family_of(type_name)
        self._type = "VARCHAR"
        if family == "integer":
            self._type = "UBIGINT" if type_name == "UBIGINT" else "BIGINT"
        elif family == "wide integer":
            self._type = self._narrowed(name)
        elif family == "text" and relation.is_text:
            self._type = next((kind for kind in _INTEGERS if self._all_are(name, kind)), "VARCHAR")
        elif family != "text":
            raise no_ids(f"column {column!r} of {relation.label}", type_name)
        self.sql = name if type_name == self._type else f"CAST({name} AS {self._type})"

    @property
    def kind(self) -> IdKind:
        """Whether they are integers or strings."""
        return "string" if self._type == "VARCHAR" else "integer"

    @property
    def signed(self) -> bool:
        """Whether integers have a sign."""
        return self._type == "BIGINT"

    def column(self, ids: Sequence[Id]) -> "pa.Array[Any]":
        """Wanted ids as a column of the relation's type."""
        types = {"BIGINT": pa.int64(), "UBIGINT": pa.uint64(), "VARCHAR": pa.string()}
        low, high = {"BIGINT": (-(2**63), 2**63), "UBIGINT": (0, 2**64)}.get(self._type, (0, 0))
        possible = [id for id in ids if isinstance(id, str) or low <= id < high]
        return pa.array(possible, types[self._type])

    def refuse_repeated(self) -> None:
        """Read every id, in parts to limit memory, and raise if one repeats.

        Parts are formed by the deck's own words, so equal ids are in one part.
        """
        connection = self._relation.connection
        ids = self._rows.project(f"{self.sql} AS id").filter("id IS NOT NULL")
        ((rows,),) = ids.aggregate("count(*)").fetchall()
        parts: int = rows // _AT_ONCE + 1
        digest = duckdb_digest("id", self.kind)
        repeated: list[tuple[Id, int]] = []
        for part in range(parts):

            def share(part: int = part) -> float:
                done: float = max(connection.query_progress(), 0.0) / 100.0
                return (part + done) / parts

            with polled(share):
                some = ids.filter(f"{digest} % {parts} = {part}")
                counted = some.aggregate("id, count(*) AS rows", "id")
                repeated += counted.filter("rows > 1").fetchall()
        if repeated:
            column = f"column {self._column!r} of {self._relation.label}"
            raise repeated_ids(column, len(repeated), sorted(repeated)[:3])

    @property
    def _rows(self) -> duckdb.DuckDBPyRelation:
        return self._relation.connection.sql(f"FROM {self._relation.sql}")

    def _all_are(self, name: str, kind: str) -> bool:
        """Whether every text is written exactly as its integer is."""
        alike = f"TRY_CAST({name} AS {kind})::VARCHAR IS NOT DISTINCT FROM {name}"
        there = self._rows.filter(f"{name} IS NOT NULL")
        ((every,),) = there.aggregate(f"bool_and({alike})").fetchall()
        return bool(every)

    def _narrowed(self, name: str) -> str:
        """64-bit type that holds all 128-bit ids."""
        low, high = f"{-(2**63)}::HUGEINT", f"{2**64 - 1}::HUGEINT"
        outside = f"count(*) FILTER ({name} NOT BETWEEN {low} AND {high})"
        counts = self._rows.aggregate(f"count(*), {outside}, min({name}), max({name})").fetchall()
        ((rows, too_large, least, most),) = counts
        if too_large or (least is not None and least < 0 and most >= 2**63):
            which = f"{too_large:,} of {rows:,} ids" if too_large else "ids, taken together,"
            raise PredictionsError(
                f"{which} in column {self._column!r} of {self._relation.label} do not fit in 64 "
                "bits",
                details=f"they run from {least} to {most}",
                hint="convert them to strings",
            )
        return "UBIGINT" if most is not None and most >= 2**63 else "BIGINT"


# Predictions joined with a judge's verdicts in a Parquet file, as a query.


_TABLES = (".parquet", ".csv", ".csv.gz", ".tsv", ".jsonl", ".ndjson", ".json")


def joined_with(scan: Scan | None, *, id: str | None, file: Path, column: str) -> Scan:
    """Predictions with the scores of a judgements file in an additional column.

    It is empty for items that the file does not have. Predictions already joined with the file are
    returned unchanged.

    >>> joined = joined_with(Scan("p.parquet"), id="url", file=Path("/j.parquet"), column="judge")
    >>> print(str(joined.source).replace(str(Path.cwd()), ""))
    SELECT p.*, j.score AS "judge" FROM '/p.parquet' AS p
    LEFT JOIN '/j.parquet' AS j ON CAST(p."url" AS VARCHAR) = CAST(j.id AS VARCHAR)
    """
    verdicts = quoted(escape(str(file.absolute())), "duckdb")
    key = "id" if id is None else id
    join = (
        f"LEFT JOIN {verdicts} AS j ON CAST(p.{identifier(key)} AS VARCHAR) = CAST(j.id AS VARCHAR)"
    )
    select = f"SELECT p.*, j.score AS {identifier(column)} FROM"
    path = None if scan is None else scan.path
    if scan is not None and path is not None and path.startswith(select) and path.endswith(join):
        return scan
    problem = _unfit(scan, id)
    if problem or scan is None:
        raise PredictionsError(
            f"the verdicts cannot be joined to the predictions: {problem}",
            details=f"the verdicts are in {file}, in the columns id and score",
            hint="join them yourself, where the predictions are made, and rebase the campaign onto "
            f"the result: assay rebase FILE with aux={column!r}. "
            f"In Python: rebase_campaign(..., predictions=..., aux=[{column!r}])",
        )
    text = str(scan.to_dict()["source"])
    source = f"(\n{text.strip().rstrip(';')}\n)" if is_query(text) else quoted(text, "duckdb")
    return replace(scan, source=f"{select} {source} AS p\n{join}")


def _unfit(scan: Scan | None, id: str | None) -> str:
    """Reason why predictions cannot be part of a query; empty if they can."""
    if scan is None:
        return "these were given in memory, and are not read again"
    path = scan.path or ""
    reasons = {
        "the items have no ids but the numbers of their rows": id is None,
        f"the ids are made of the columns {id}": bool(key_parts(id)),
        "Spark reads these": scan.spark is not None or scan.engine == "spark" or not path,
        f"they are a table of a database, {scan.table or path}": (
            scan.table is not None or is_database(path) or find_database(path) is not None
        ),
        f"their text is in {scan.encoding}": scan.encoding is not None,
        f"{path} is no query, and no file or pattern of files that ends in {_TABLES[0]}": (
            not is_query(path) and not path.lower().endswith(_TABLES)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")
