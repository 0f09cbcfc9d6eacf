"""Relations of DuckDB from files, folders, queries and tables of databases."""

import shutil
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import duckdb

from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.duckdb.confined import Named, confine, named_in
from assay.predictions.duckdb.databases import (
    is_database,
    is_query,
    name_of,
    readable_query,
    readable_table,
)
from assay.predictions.duckdb.files import readable_files
from assay.predictions.duckdb.paths import find_files
from assay.predictions.duckdb.postgres import address_of, is_postgres, readable_copy
from assay.predictions.duckdb.readable import (
    Readable,
    condition,
    filtered,
    identifier,
    nothing_in,
    reading,
)
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import quoted


@dataclass(frozen=True, eq=False)
class Relation:
    """Rows that can be asked for with SQL, as often as need be.

    Parameters
    ----------
    label : str
        What they are, for people: the path, the query shortened, ``table t of db.duckdb``.
    connection : DuckDB connection
        In memory; stays open as long as the relation lives.
    sql : str
        Stands after FROM; the condition on the rows is in it.
    types : mapping of str to str
        The columns, and what DuckDB calls their types.
    is_text : bool
        Whether every column is the text of a CSV file, out of which values are still to be read.
    bytes : int
        The size on disk of what was asked for, or of its copy; 0 where neither is known.
    folder : Path
        For temporary files; gone with the relation, or with the process.
    """

    label: str
    connection: duckdb.DuckDBPyConnection
    sql: str
    types: Mapping[str, str]
    is_text: bool
    bytes: int
    folder: Path

    def __post_init__(self) -> None:
        weakref.finalize(self, _release, self.connection, self.folder)


def open_relation(scan: Scan, columns: Sequence[str], *, staged: bool) -> Relation:
    r"""Open what a `Scan` speaks of.

    Parameters
    ----------
    scan : Scan
        A path, query or URL, with or without a table and a condition.
    columns : sequence of str
        All that will ever be asked for; of what is copied, no others are there.
    staged : bool
        Copy what would be slow or unwise to read again and again (CSV, JSON, a query) into a
        temporary Parquet file, in any order. A table of PostgreSQL is copied in any case, in the
        order in which it gives its rows.

    Raises
    ------
    PredictionsError
        Says what is not there, or does not fit together. That there is no row is told too, but of
        a query that is not copied.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("id,p,lang\n007,0.5,en\n8,0.7,fr\n")
    ...     scan = Scan(path, where="lang = 'en'")
    ...     relation = open_relation(scan, ["id", "p"], staged=True)
    >>> relation.connection.sql(f"FROM {relation.sql}").fetchall()
    [('007', '0.5')]
    >>> dict(relation.types)
    {'id': 'VARCHAR', 'p': 'VARCHAR'}
    """
    wanted = list(dict.fromkeys(columns))
    folder = Path(mkdtemp(prefix="assay-"))
    connection = duckdb.connect(
        config={
            # Without this, a path like s3://... would make DuckDB download an extension.
            "autoinstall_known_extensions": "false",
            # Names in a query are tables, never variables of this program.
            "python_enable_replacements": "false",
            # What does not fit into memory would otherwise go into the working directory.
            "temp_directory": str(folder),
        }
    )
    try:
        return _opened(scan, wanted, connection, folder, staged=staged)
    except BaseException:
        _release(connection, folder)
        raise


def _opened(
    scan: Scan,
    wanted: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    *,
    staged: bool,
) -> Relation:
    with reading(_name(scan)):
        named = (
            Named()
            if scan.where is None
            else named_in(connection, f"SELECT 1 {condition(scan.where)}")
        )
        found = _readable(scan, wanted, connection, folder, named)
    with reading(found.label):
        types = _types(connection, found.sql)
        refuse_missing_columns(wanted, list(types), found.label)
        sql, size = found.sql, found.bytes
        if scan.where and not found.is_filtered:
            sql = filtered(connection, sql, scan.where, list(types), is_text=found.is_text)
        if staged and not found.is_lasting:
            sql, copied = _staged(connection, sql, wanted, folder)
            types, size = _types(connection, sql), size or copied
        # To look at one row of a query may take as long as to run it.
        is_costly = is_query(scan.path or "") and not staged
        if not is_costly and not connection.execute(f"FROM {sql} SELECT 1 LIMIT 1").fetchall():
            raise no_row(scan, found.label)
    return Relation(found.label, connection, sql, types, found.is_text, size, folder)


def _name(scan: Scan) -> str:
    path = scan.path or ""
    if is_postgres(path):
        return address_of(path)
    return name_of(path) if is_query(path) else path


def _readable(
    scan: Scan,
    wanted: Sequence[str],
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    beside: Named,
) -> Readable:
    """Find the rows, and confine DuckDB to where they are before any of them is read.

    Parameters
    ----------
    scan, wanted, connection, folder
        As in `open_relation`.
    beside : Named
        What the condition names, which PostgreSQL looks at itself.
    """
    path = scan.path
    if path is None:
        raise PredictionsError(
            f"DuckDB reads no {type(scan.source).__name__}",
            details="a path, a query or the URL of a database is needed",
        )
    if is_postgres(path):
        confine(connection, Named(), folder)
        return readable_copy(
            connection, path, table=scan.table, where=scan.where, wanted=wanted, folder=folder
        )
    query = is_query(path)
    if is_database(path) and not query:
        found = readable_table(connection, path, scan.table)
        confine(connection, beside, folder)
        return found
    if scan.table is not None:
        raise PredictionsError(
            f"table={scan.table!r} is given beside {path!r}",
            details="a table is one of a DuckDB file (.duckdb, .db) or a postgresql:// URL",
            hint="leave it out",
        )
    if query:
        confine(connection, named_in(connection, path) | beside, folder)
        return readable_query(connection, path, wanted)
    files = find_files(connection, path)
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
    # To keep the rows in order, more and more of them would be held in memory.
    connection.execute("SET preserve_insertion_order = false")
    options = "FORMAT parquet, ROW_GROUP_SIZE_BYTES '64MB'"
    connection.execute(f"COPY (FROM {sql} SELECT {names}) TO {target} ({options})")
    connection.execute("RESET preserve_insertion_order")
    return f"read_parquet({target})", path.stat().st_size


def no_row(scan: Scan, label: str) -> PredictionsError:
    """Return the error that there is not a single row, or that the condition leaves none."""
    if scan.where is None:
        return nothing_in(label)
    return PredictionsError(
        f"where={scan.where!r} leaves no row of {label}",
        details="it must hold for at least one",
    )


def _release(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)
