"""Source of rows in Spark: the session, and the rows that it reads."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.errors import AssayError, MissingDependencyError, PredictionsError, install
from assay.predictions.class_values import Occurring, class_text
from assay.predictions.faults import NO_CLASS, bad_condition, first_lines, refuse_missing_columns
from assay.predictions.scan import Scan, format_of, is_query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_JSON = (".json", ".jsonl", ".ndjson")

# As DuckDB reads CSV files (`predictions.duckdb.files`): nothing is guessed, and a quoted field may
# have line breaks in it. A line with too few or too many fields is an error, and so is a file with
# another first line; Spark misses the former if it parses only some columns.
_CSV: dict[str, Any] = {
    "header": True,
    "inferSchema": False,
    "escape": '"',
    # Value of an empty field without quotes, to distinguish it from a quoted "".
    "nullValue": "\0",
    "emptyValue": "",
    "multiLine": True,
    "mode": "FAILFAST",
    "columnPruning": False,
    "enforceSchema": False,
}
_SESSIONS = "a session, or a URL such as 'sc://host:15002', 'spark://host:7077' or 'local[2]'"
_REMOTE = "SPARK_REMOTE"  # where Spark's own programs look for the URL of Spark Connect

_remote: dict[str, Any] = {}  # the sessions by Spark Connect that were opened by their URL


@dataclass(frozen=True, eq=False)
class SparkRows:
    """Rows in Spark."""

    source: str  # description, for users
    frame: "DataFrame"  # the rows of the population, with all their columns
    is_text: bool  # whether every column is the text of a CSV file
    where: str | None  # the condition that they fulfil

    @cached_property
    def types(self) -> dict[str, str]:
        """Spark's type of each column."""
        return dict(self.frame.dtypes)

    def fetch(self, frame: "DataFrame") -> "pa.Table":
        """Run a query on the rows, and fetch the answer."""
        with reading_with_spark(self.source):
            return frame.toArrow()


def open_rows(scan: Scan) -> SparkRows:
    """Find the session and the rows; only the files' own schemas are read yet.

    JSON files have no schema, so they are read to find it.

    A path is read by its ending as CSV files (with a header) or JSON lines, and otherwise as
    Parquet files; it may be a pattern or a folder, anywhere that Spark can read.
    """
    try:
        from pyspark.sql import DataFrame
    except ImportError:
        raise MissingDependencyError(
            "reading with Spark needs pyspark", hint=install("spark")
        ) from None
    source = scan.source
    label = _label(scan)
    if (source is None) == (scan.table is None):
        raise PredictionsError(
            "Spark needs a DataFrame, a path or a query, or else a table",
            details=f"got {source!r} and the table {scan.table!r}",
        )
    is_text = False
    if isinstance(source, DataFrame):
        if scan.spark is not None and scan.spark is not source.sparkSession:
            raise PredictionsError(
                f"spark={scan.spark!r} is not the session of the DataFrame",
                hint="leave it out: a DataFrame is read in its own session",
            )
        frame = source
    elif source is None or scan.path is not None:
        session = _session(scan.spark)
        with reading_with_spark(label, hint=_hint(scan.path)):
            frame, is_text = _read(session, scan)
    else:
        raise PredictionsError(
            f"Spark cannot read a {type(source).__name__}",
            details="it reads its own DataFrames, paths, queries and tables",
            hint="make a DataFrame of it: spark.createDataFrame(...)",
        )
    return SparkRows(label, _filtered(frame, scan.where), is_text, scan.where)


@contextmanager
def reading_with_spark(label: str, hint: str = "") -> Iterator[None]:
    """Raise errors of Spark as errors of the source."""
    try:
        yield
    except (AssayError, ImportError):
        raise
    except _spark_errors() as error:
        raise PredictionsError(
            f"{label} cannot be read by Spark", details=first_lines(error, 3), hint=hint
        ) from error


def _label(scan: Scan) -> str:
    if scan.path is not None:
        return f"query {scan.path!r}" if is_query(scan.path) else scan.path
    return "Spark DataFrame" if scan.table is None else f"table {scan.table}"


def _spark_errors() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    try:
        return PySparkException, import_module("py4j.protocol").Py4JError
    except ImportError:  # a client of remote Sparks only
        return (PySparkException,)


def _session(spark: object) -> "SparkSession":
    from pyspark.sql import SparkSession

    if isinstance(spark, str):
        return _session_at(spark)
    session: Any = SparkSession.getActiveSession() if spark is None else spark
    if session is None and os.environ.get(_REMOTE):
        return _remote_session(os.environ[_REMOTE])
    if session is None:
        raise PredictionsError(
            "there is no active Spark session",
            hint=f"name a Spark: spark= {_SESSIONS}; or set {_REMOTE} to such a URL",
        )
    # Not by its class: a remote session is not of a class of pyspark.sql.
    if not hasattr(session, "createDataFrame"):
        raise PredictionsError(
            f"spark={spark!r} is of type {type(spark).__name__}", details=f"it must be {_SESSIONS}"
        )
    current: SparkSession = session
    return current


def _session_at(url: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    if url.startswith("sc://"):
        return _remote_session(url)
    with reading_with_spark(url):
        session = SparkSession.builder.appName("assay").master(url).getOrCreate()
        master = session.sparkContext.master
    if master != url:
        raise PredictionsError(
            f"this process already has a Spark, at {master}",
            details="a process can have one only",
            hint=f"leave spark= out to use it, or stop it first to use {url}",
        )
    return session


def _remote_session(url: str) -> "SparkSession":
    from pyspark.sql import SparkSession

    if url not in _remote or _remote[url].is_stopped:
        try:
            with reading_with_spark(url):
                # Not getOrCreate, which returns an existing session whatever its URL.
                _remote[url] = SparkSession.builder.appName("assay").remote(url).create()
        except ImportError:
            raise MissingDependencyError(
                f"{url} is reached by Spark Connect, which needs more than pyspark",
                hint="pip install 'pyspark[connect]'",
            ) from None
    session: SparkSession = _remote[url]
    return session


def _read(session: "SparkSession", scan: Scan) -> tuple["DataFrame", bool]:
    """Rows, and whether they are text."""
    if scan.table is not None:
        return session.table(scan.table), False
    path = str(scan.path)
    if is_query(path):
        # Only a query can stand in brackets: WITH and FROM may also begin an INSERT.
        one = path.strip().rstrip(";").rstrip()
        return session.sql(f"(\n{one}\n)"), False
    name = path.lower().rstrip("/").removesuffix(".gz")
    if name.endswith((".csv", ".tsv")):
        further = {"encoding": scan.encoding} if scan.encoding is not None else {}
        separator = "\t" if name.endswith(".tsv") else ","
        return session.read.options(**_CSV, **further, sep=separator).csv(path), True
    if name.endswith(_JSON):
        return session.read.json(path), False
    format = _format_of(session, path)
    if format is None:
        return session.read.parquet(path), False
    try:
        frame = session.read.format(format).load(path)
        _ = frame.columns  # a remote Spark looks for the reader only when asked
    except _spark_errors() as error:
        raise PredictionsError(
            f"{path} is a table of {format.capitalize()}, which this Spark has no reader for",
            details=f"{first_lines(error, 1)}\nits folder also holds files whose rows were deleted",
            hint=f"start Spark with the package of {format.capitalize()}, or give the table by its "
            "name in the catalog, or leave Spark out: DuckDB reads it from a disk",
        ) from error
    return frame, False


# Location of each format's log, below the folder of a table.
_LOGS = {"delta": "_delta_log", "iceberg": "metadata/*.metadata.json"}


def _format_of(session: "SparkSession", path: str) -> str | None:
    """Format of the table in a folder, by its name in Spark; None if it is not a table.

    For remote folders, Spark looks for the log.
    """
    here = format_of(path)
    if here is not None or path.lower().endswith(".parquet") or Path(path).exists():
        return None if here is None else here.lower()
    for format, log in _LOGS.items():
        try:
            _ = session.read.text(f"{path.rstrip('/')}/{log}").columns
        except _spark_errors():
            continue  # it is not there
        return format
    return None


def _hint(path: str | None) -> str:
    if path is None or path.lower().endswith((".parquet", ".csv", ".csv.gz", *_JSON)):
        return ""
    return f"a folder is one of Parquet files; name others by a pattern, such as {path}/*.csv"


def _filtered(frame: "DataFrame", where: str | None) -> "DataFrame":
    if where is None:
        return frame
    from pyspark.errors import PySparkException

    try:
        filtered = frame.where(where)
        _ = filtered.columns  # a remote Spark looks at the condition only when asked
    except PySparkException as error:
        raise bad_condition(where, error, frame.columns) from error
    return filtered


def column_name(name: str) -> str:
    """Quoted name of a column in Spark's SQL."""
    return "`" + name.replace("`", "``") + "`"


class SparkColumns:
    """Columns of predictions that Spark can read."""

    def __init__(self, scan: Scan) -> None:
        self._rows = open_rows(scan)

    def names(self) -> list[str]:
        """Names of all columns."""
        return list(self._rows.frame.columns)

    def entries(self, column: str) -> object:
        """Length of the first list in a column; None if it is not a list."""
        refuse_missing_columns([column], self.names(), self._rows.source)
        some = self._rows.frame.selectExpr(f"size({column_name(column)}) AS entries").limit(1)
        return self._rows.fetch(some)["entries"].to_pylist()[0]

    def distinct(self, column: str, limit: int, *, complete: bool) -> Occurring:
        """Distinct values of a column, at most two more than a limit."""
        rows = self._rows
        refuse_missing_columns([column], self.names(), rows.source)
        name, where = column_name(column), f"column {column!r} of {rows.source}"
        frame = rows.frame.selectExpr(f"{name} AS value").distinct().limit(limit + 2)
        values = rows.fetch(frame)["value"].to_pylist()
        if complete and not all(map(class_text, values)):
            blank = f"{name} IS NULL OR trim(CAST({name} AS STRING)) IN ('', 'NaN')"
            counts = rows.frame.selectExpr(f"count_if({blank}) AS blank", "count(*) AS size")
            count, size = (column[0].as_py() for column in rows.fetch(counts).columns)
            raise NO_CLASS.error(count, size, "", column=where)
        return Occurring(values, where)
