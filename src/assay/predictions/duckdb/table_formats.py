"""Delta and Iceberg tables: folders of Parquet files, with a log of the current ones.

Files stay in the folder after their rows are deleted or rewritten, so the folder is not the table.
The libraries of these formats read the log; DuckDB reads the Parquet files that it names, out of
core. Files outside the table's own folder are not opened (`assay.predictions.duckdb.paths`).
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import duckdb
import numpy as np
import pyarrow as pa

from assay.errors import MissingDependencyError, PredictionsError, install
from assay.lazy import later
from assay.predictions.duckdb.files import grouped, parquet_schemas
from assay.predictions.duckdb.paths import Files
from assay.predictions.duckdb.readable import Readable
from assay.predictions.faults import first_lines, nothing_in
from assay.predictions.query import identifier
from assay.predictions.scan import Format, format_of, is_remote

if TYPE_CHECKING:
    import pyarrow.parquet as pq
    from pyiceberg.io import FileIO
else:
    pq = later("pyarrow.parquet")


_PARTITIONS, _DELETED = "assay_partitions", "assay_deleted"
_NEWEST = re.compile(r"v?(\d+).*\.metadata\.json")
_SPARK = "read it as a table of Spark's catalog: --spark URL --table NAME, spark= and table="


@dataclass(frozen=True, eq=False)
class LiveFiles:
    """Parquet files of which a table currently consists."""

    format: Format  # whose table it is
    label: str  # the path that was given
    paths: tuple[str, ...]  # the files
    schema: "pa.Schema"  # the table's columns
    # Columns that are in the log and not in the files: a row for each file.
    partitions: "pa.Table | None" = None
    # By file, the numbers of its deleted rows.
    deleted: "dict[int, np.ndarray[Any, Any]]" = field(default_factory=dict)


def live_files(path: str, wanted: Sequence[str] | None, folder: Path) -> LiveFiles:
    """Read the log of a table.

    `wanted`: the columns that will be requested; default: all.
    """
    return _delta(path) if format_of(path) == "Delta" else _iceberg(path, wanted, folder)


def readable_live(connection: duckdb.DuckDBPyConnection, live: LiveFiles) -> Readable:
    """Rows of a table as DuckDB reads them.

    A column added later is missing in the rows of older files.
    """
    if not live.paths:
        raise nothing_in(live.label)
    files = Files(live.label, live.paths, "Parquet")
    schemas = grouped(parquet_schemas(connection, files))
    options = ["hive_partitioning = false"]
    options += ["union_by_name = true"] if len(schemas) > 1 else []
    rows = f"read_parquet({files.sql}, {', '.join(options)})"
    there = {
        name: kind for name, kind, *_ in connection.execute(f"DESCRIBE FROM {rows}").fetchall()
    }
    names = live.schema.names
    kinds = connection.from_arrow(live.schema.empty_table()).types
    in_log = [] if live.partitions is None else live.partitions.column_names
    if live.format == "Iceberg":
        _refuse_incomplete(live, [{name for name, _ in schema} for schema in schemas])
    columns = []
    for name, kind in zip(names, map(str, kinds), strict=True):
        column = identifier(name)
        if name in in_log:
            listed = f"(FROM {_PARTITIONS} SELECT list({column} ORDER BY file))"
            column = f"CAST({listed}[file_index::BIGINT + 1] AS {kind}) AS {column}"
        elif name not in there:
            column = f"CAST(NULL AS {kind}) AS {column}"
        elif there[name] != kind:
            column = f"CAST({column} AS {kind}) AS {column}"
        columns.append(column)
    if live.partitions is not None:
        numbered = live.partitions.append_column("file", pa.array(range(len(live.paths))))
        connection.from_arrow(numbered).create(_PARTITIONS)
    kept = ""
    if live.deleted:
        counts = [numbers.size for numbers in live.deleted.values()]
        gone = {
            "file": np.repeat(np.array([*live.deleted]), counts),
            "row": np.concatenate([*live.deleted.values()]),
        }
        connection.from_arrow(pa.table(gone)).create(_DELETED)
        kept = f"ANTI JOIN {_DELETED} AS d ON d.file = file_index AND d.row = file_row_number"
    sql = f"(FROM {rows} {kept} SELECT {', '.join(columns)})"
    return Readable(live.label, sql, files.bytes, is_lasting=True)


def _refuse_incomplete(live: LiveFiles, names: Sequence[set[str]]) -> None:
    """Raise if a file lacks a column of an Iceberg table: the reason is unknown."""
    for columns in names:
        missing = [name for name in live.schema.names if name not in columns]
        if missing:
            raise PredictionsError(
                f"some files of the Iceberg table {live.label} have no column {missing[0]!r}",
                details="they were not written as files of this table",
                hint=_SPARK,
            )


# Delta


def _delta(path: str) -> LiveFiles:
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError
    except ImportError:
        raise MissingDependencyError(
            f"{path} is a Delta table, and reading its log needs deltalake", hint=install("delta")
        ) from None
    place = Path(path).absolute()
    with _telling("Delta", path, DeltaError):
        table = DeltaTable(str(place))
        mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
        actions = pa.table(table.get_add_actions(flatten=True))
        columns = list(table.metadata().partition_columns)
        columns_of: Any = table.schema()  # which knows how to become Arrow's
        schema = pa.schema(columns_of)
        vectors = pa.RecordBatchReader.from_stream(table.deletion_vectors()).read_all()
    if mapping != "none":
        raise PredictionsError(
            f"the files of the Delta table {path} have other column names than the table",
            details=f"delta.columnMapping.mode is {mapping!r}",
            hint=_SPARK,
        )
    listed: list[Any] = actions["path"].to_pylist()
    paths = tuple(
        _local(each if is_remote(each) else str(place / unquote(each))) for each in listed
    )
    _refuse_elsewhere("Delta", path, place, paths)
    number = {file: each for each, file in enumerate(paths)}
    named = {name: actions[f"partition.{name}"] for name in columns}
    deleted = {
        number[_local(uri)]: np.flatnonzero(~np.array(kept))
        for uri, kept in zip(*(column.to_pylist() for column in vectors.columns), strict=True)
    }
    return LiveFiles("Delta", path, paths, schema, pa.table(named) if named else None, deleted)


# Iceberg


def _iceberg(path: str, wanted: Sequence[str] | None, folder: Path) -> LiveFiles:
    try:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StaticTable
    except ImportError:
        raise MissingDependencyError(
            f"{path} is an Iceberg table, and reading its metadata needs pyiceberg",
            hint=install("iceberg"),
        ) from None
    metadata = _metadata_of(path)
    files = _files_below(path, metadata.parent.parent)
    with _telling("Iceberg", path):
        # Not `StaticTable.from_metadata`: it imports whatever class the metadata names.
        content = FromInputFile.table_metadata(files.new_input(str(metadata)))
        name = ("static-table", str(metadata))
        table = StaticTable(name, content, str(metadata), files, NoopCatalog(name[0]))
        tasks = list(table.scan().plan_files())
        schema = table.schema().as_arrow()
    paths = tuple(_local(task.file.file_path) for task in tasks)
    beside = [_local(each.file_path) for task in tasks for each in task.delete_files]
    _refuse_elsewhere("Iceberg", path, metadata.parent.parent, [*paths, *beside])
    as_they_are = (
        len(table.metadata.schemas) == 1
        and not beside
        and all(task.file.file_format.value == "PARQUET" for task in tasks)
        and "schema.name-mapping.default" not in table.properties
    )
    if as_they_are or not tasks:
        return LiveFiles("Iceberg", path, paths, schema)
    # Columns are numbered there, whatever their names in a file, and deleted rows are listed in
    # separate files: the library reads the rows, and they are copied once.
    names = [name for name in schema.names if wanted is None or name in wanted]
    copy = folder / "iceberg.parquet"
    with _telling("Iceberg", path):
        reader = table.scan(selected_fields=tuple(names)).to_arrow_batch_reader()
        with pq.ParquetWriter(copy, reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)
    return LiveFiles("Iceberg", path, (str(copy),), reader.schema)


def _files_below(path: str, folder: Path) -> "FileIO":
    """Files of a table, for the library that reads its metadata and its lists of files."""
    from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO

    class FilesBelow(PyArrowFileIO):
        def new_input(self, location: str) -> PyArrowFile:
            _refuse_elsewhere("Iceberg", path, folder, [_local(location)])
            return super().new_input(location)

    return FilesBelow()


def _metadata_of(path: str) -> Path:
    """Newest metadata of a table, by the number at the start of its name."""
    place = Path(path).absolute()
    if not place.is_dir():
        return place
    numbered: dict[int, list[Path]] = {}
    for file in sorted((place / "metadata").glob("*.metadata.json")):
        number = _NEWEST.fullmatch(file.name)
        numbered.setdefault(int(number[1]) if number else -1, []).append(file)
    newest = numbered[max(numbered)]
    if len(newest) > 1:
        raise PredictionsError(
            f"{path} has several files of metadata that could be the newest",
            details=", ".join(file.name for file in newest[:3]),
            hint="give the one that the table's catalog names, in place of the folder",
        )
    return newest[0]


# Both.


def _local(uri: str) -> str:
    """Path of a file on this machine; any other address is unchanged.

    >>> _local("file:///tables/day%3D7/a.parquet"), _local("/tables/50%/a.parquet")
    ('/tables/day=7/a.parquet', '/tables/50%/a.parquet')
    """
    return unquote(urlsplit(uri).path) if uri.startswith("file:") else uri


def _refuse_elsewhere(kind: Format, path: str, folder: Path, files: Sequence[str]) -> None:
    """Raise if a table names files outside its folder."""
    below = folder.resolve()
    for file in files:
        if is_remote(file) or not Path(file).resolve().is_relative_to(below):
            raise PredictionsError(
                f"the {kind} table {path} has files elsewhere, such as {file}",
                details=f"only what lies below {folder} is read",
                hint=_SPARK,
            )


@contextmanager
def _telling(kind: Format, path: str, *errors: type[Exception]) -> Iterator[None]:
    """Raise the errors of a library as errors of the source."""
    theirs: tuple[type[Exception], ...] = (OSError, ValueError, RuntimeError, KeyError, *errors)
    try:
        yield
    except theirs as error:
        raise PredictionsError(
            f"the {kind} table {path} cannot be read", details=first_lines(error, 3), hint=_SPARK
        ) from error
