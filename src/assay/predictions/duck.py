"""Predictions from Parquet and CSV files, through DuckDB."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.core.deck import Id
from assay.core.types import Ints
from assay.errors import AssayError, PredictionsError
from assay.predictions.column import Column, Loaded, refuse_missing_columns
from assay.predictions.shown import shown_values

__all__ = ["read_files"]

# Only what stands between the fields is left to DuckDB to find out; whatever else it would guess
# from the first rows can fail on a later one or, worse, change it: the type of an id 007 among
# integers, apostrophes as quotes, a first line to skip. What stands in quotes is a value, also when
# it is empty; a field with nothing in it is missing. Columns of several files go by their names.
_CSV: dict[str, Any] = {
    "all_varchar": True,
    "allow_quoted_nulls": False,
    "quotechar": '"',
    "escapechar": '"',
    "comment": "",
    "skiprows": 0,
    "union_by_name": True,
}


def read_files(path: Path, used: Sequence[str], show: Sequence[str], id: str | None) -> Loaded:
    r"""Read columns of a Parquet or CSV file, or of all files that a pattern matches.

    Parameters
    ----------
    path : Path
        Ends in .parquet, .csv or .csv.gz. It may be a pattern such as ``"week-*/*.parquet"``, whose
        files are read in the order of their names. The first line of a CSV file names its columns.
    used, show : sequence of str
        The columns to read, and those that people see. The latter are left in the files until items
        are drawn, and then read for these only; from a CSV file they come as they stand there.
    id : str or None
        The column by which drawn items are found again; None for the number of the row.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("id,p,text\n007,0.5,hello\n")
    ...     loaded = read_files(path, ["id", "p"], ["text"], "id")
    ...     loaded.show(np.array([0]), ["007"])
    [{'text': 'hello'}]
    """
    wanted = [*used, *show]
    with _duckdb(str(path)) as connection:
        files = _find(connection, path)
        rows = files.scan(connection)
        if not rows.limit(1).fetchall():
            raise PredictionsError(f"{path} is empty", details="it must hold at least one row")
        if files.is_csv and len(rows.columns) == 1 and rows.columns[0] not in used:
            raise PredictionsError(
                f"{path} cannot be read as a CSV file of several columns",
                details=f"its first line reads as one column: {rows.columns[0]}",
                hint="all lines must have the same number of fields, with commas between them",
            )
        _refuse_repeated_columns(wanted, files.header(connection), str(path))
        refuse_missing_columns(wanted, rows.columns, str(path))
        table = rows.select(*map(duckdb.ColumnExpression, used)).to_arrow_table()

    def shown(_rows: Ints, ids: Sequence[Id]) -> list[dict[str, object]]:
        return _fetch(files, id, ids, show) if ids and show else [{} for _ in ids]

    columns = {
        name: Column(name, str(path), data, untyped=files.is_csv)
        for name, data in zip(used, table.columns, strict=True)
    }
    return Loaded(str(path), columns, shown)


@dataclass(frozen=True)
class _Files:
    """Files of one kind, in order."""

    label: str
    paths: tuple[str, ...]
    is_csv: bool

    def scan(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """Return all rows of all files."""
        paths: Any = [escape(path) for path in self.paths]
        if not self.is_csv:
            return connection.read_parquet(paths)
        return connection.read_csv(paths, header=True, **_CSV)

    def header(self, connection: duckdb.DuckDBPyConnection) -> list[str]:
        """Return the columns' names as they stand in the first file.

        DuckDB renames those that repeat.
        """
        if not self.is_csv:
            return pq.read_schema(self.paths[0]).names
        lines = connection.read_csv(escape(self.paths[0]), header=False, **_CSV)
        return [str(name).strip() for name in lines.limit(1).fetchall()[0]]


def _fetch(
    files: _Files, id: str | None, ids: Sequence[Id], show: Sequence[str]
) -> list[dict[str, object]]:
    """Return what people see of the items with these ids."""
    if id is None:
        key = duckdb.SQLExpression("row_number() OVER () - 1")
    else:
        key = duckdb.ColumnExpression(id)
    # In a CSV file an integer is text, too.
    keys = [str(each) for each in ids] if files.is_csv and id is not None else list(ids)
    names = [duckdb.ColumnExpression(name).alias(f"shown_{i}") for i, name in enumerate(show)]
    drawn = pa.table({"key": np.array(keys) if isinstance(keys[0], int) else keys})
    with _duckdb(files.label) as connection:
        rows = files.scan(connection).select(key.alias("key"), *names)
        found = rows.join(connection.from_arrow(drawn), "key", how="semi").to_arrow_table()
    found_keys, *columns = found.columns
    values = zip(*map(shown_values, columns), strict=True)
    shown = {
        found_key: dict(zip(show, row, strict=True))
        for found_key, row in zip(found_keys.to_pylist(), values, strict=True)
    }
    if len(shown) < len(keys):
        raise PredictionsError(
            f"{files.label} has changed since it was read",
            details=f"{len(keys) - len(shown):,} of {len(keys):,} drawn items are no longer there",
        )
    return [shown[wanted] for wanted in keys]


@contextmanager
def _duckdb(label: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB whose errors are told as errors of the files."""
    try:
        # Without this, a path like s3://... would make DuckDB download an extension.
        with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
            yield connection
    except AssayError:
        raise
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError, ValueError) as error:
        # Of a damaged file not even the names of the columns need be text; what DuckDB raises then
        # is not always its own error.
        told = str(error).split("\n\n")[0].splitlines()
        raise PredictionsError(f"{label} cannot be read", details="\n".join(told[:3])) from error


def _find(connection: duckdb.DuckDBPyConnection, path: Path) -> _Files:
    """Return the file of that very name, or else those that it matches as a pattern."""
    if path.is_dir():
        raise PredictionsError(
            f"{str(path)!r} is a directory",
            details="a file or a pattern is needed",
            hint=f"name its files with a pattern, such as {path}/*.parquet",
        )
    if path.exists():
        paths = (str(path),)
    else:
        found = connection.execute("SELECT file FROM glob(?) ORDER BY file", [str(path)])
        paths = tuple(file for (file,) in found.fetchall())
    if not paths:
        raise PredictionsError(
            f"{str(path)!r} not found",
            details=f"there is no file of that name, seen from {Path.cwd()}",
        )
    for is_csv, endings in ((True, (".csv", ".csv.gz")), (False, (".parquet",))):
        if all(file.lower().endswith(endings) for file in paths):
            return _Files(str(path), paths, is_csv)
    raise PredictionsError(
        f"{path} is not of a kind that can be read",
        details="the name must end in .parquet, .csv or .csv.gz, and all files be of one kind",
    )


def _refuse_repeated_columns(wanted: Sequence[str], header: Sequence[str], label: str) -> None:
    for name in wanted:
        # DuckDB does not tell upper from lower case in names.
        if sum(other.casefold() == name.casefold() for other in header) > 1:
            raise PredictionsError(
                f"{label} has several columns named {name!r}",
                details=f"columns: {', '.join(header)}",
                hint="rename them, by more than upper and lower case",
            )
