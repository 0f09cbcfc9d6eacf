"""Scan: source of predictions and how to read them, if a path or a table is not enough."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from assay.errors import PredictionsError, did_you_mean
from assay.options import CliOption

Engine = Literal["memory", "duckdb", "spark", "database"]
_CHANCE = re.compile(r"\b(random|rand|randn|uuid|gen_random_uuid)\s*\(", re.IGNORECASE)
ENGINES: tuple[str, ...] = get_args(Engine)


Format = Literal["Delta", "Iceberg"]

SQLITE = "sqlite:///"
"""Prefix of the URL of a file."""
_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True)
class Scan:
    """Predictions, and how to read them.

    Pass it in place of the predictions to `assay.create_campaign`.

    Parameters
    ----------
    source : path, SQL, database URL, table or DataFrame, optional
        A file (.parquet, .csv, .xlsx, .jsonl, with .gz or .zip too), a pattern of files, or a
        folder of them; a query (``SELECT ... FROM 'preds.parquet'``); with `table`, a DuckDB or
        SQLite file or a ``postgresql://``, ``clickhouse://`` or ``sqlite:///`` URL; a DataFrame of
        pandas, polars, Arrow or Spark. With `spark` and `table`, none.
    table : str, optional
        Table of a database or of Spark's catalog.
    where : str, optional
        An SQL condition on the rows that make up the population: ``lang = 'en'``.
    engine : {"memory", "duckdb", "spark", "database"}, optional
        What reads them. Default: Spark for what is Spark's, memory for tables in memory and
        for files of up to 64 MB, the database itself for a table of PostgreSQL or ClickHouse,
        DuckDB for everything else. The draw is the same on all four.
    spark : session or str, optional
        The Spark to use: a session, a URL such as ``sc://host:15002`` (Spark Connect) or
        ``spark://host:7077``. Default: the active session, or else the one that the
        environment's ``SPARK_REMOTE`` names.
    check_ids : bool
        Look at every id for repetitions. Without it DuckDB and Spark look at those drawn only.
    encoding : str, optional
        Encoding of CSV files, such as latin-1 or windows-1252. Default: UTF-8. While files in
        another encoding are read, Assay makes a copy of them in UTF-8.
    local_numbers : sequence of str
        Columns of CSV files and workbooks with numbers such as ``0,84``, ``84.3%`` or ``84,3 %``:
        a comma is a decimal point, and a percentage is a share of 1.

    Examples
    --------
    >>> Scan("/preds/*.parquet", where="lang = 'en'").to_dict()
    {'source': '/preds/*.parquet', 'where': "lang = 'en'"}
    """

    source: object = None
    table: Annotated[
        str | None, CliOption("Table of a database or of Spark's catalog.", "TABLE")
    ] = None
    where: Annotated[
        str | None, CliOption("Use only rows that meet this condition: \"lang = 'en'\".", "SQL")
    ] = None
    engine: Annotated[
        Engine | None, CliOption(f"{', '.join(ENGINES)}. Default: chosen by the input.", "ENGINE")
    ] = None
    spark: Annotated[
        object, CliOption("Read with this Spark: spark://host:7077, sc://host:15002.", "URL")
    ] = None
    check_ids: Annotated[
        bool, CliOption("Check every id for duplicates, not only those drawn.", typed=bool)
    ] = False
    encoding: Annotated[
        str | None, CliOption("Encoding of CSV files, such as latin-1. Default: UTF-8.", "NAME")
    ] = None
    local_numbers: Annotated[
        Sequence[str],
        CliOption(
            "Column of a CSV file or a workbook with numbers such as 0,84 or 84.3%; repeatable.",
            "COL",
            list[str],
        ),
    ] = ()

    def __post_init__(self) -> None:
        """Reject unknown engines, and conditions that are not text."""
        if self.engine is not None and self.engine not in ENGINES:
            raise PredictionsError(
                f"unknown engine {self.engine!r}",
                details=f"engines: {', '.join(ENGINES)}",
                hint=did_you_mean(str(self.engine), ENGINES),
            )
        if self.spark is not None and self.engine not in (None, "spark"):
            raise PredictionsError(
                f"engine {self.engine!r} cannot be combined with spark={self.spark!r}",
                hint="leave one of the two out",
            )
        chance = _CHANCE.search(self.where if isinstance(self.where, str) else "")
        if chance:
            raise PredictionsError(
                f"where={self.where!r} is random: {chance[1]}()",
                details="each read of the predictions would select other rows",
                hint="take a part by the ids: hash(id) % 2 = 0",
            )
        if self.local_numbers and (self.path is None or "://" in self.path or self.is_of_spark):
            raise PredictionsError(
                f"local_numbers={[*self.local_numbers]!r} is for files of text",
                details="a CSV file or a workbook; elsewhere numbers have a type",
                hint="leave it out",
            )
        for name in ("table", "where"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise PredictionsError(f"{name}={value!r} is not text")

    @property
    def path(self) -> str | None:
        """The source as text, if it is a path, a query or a URL."""
        return os.fspath(self.source) if isinstance(self.source, str | os.PathLike) else None

    @property
    def is_of_spark(self) -> bool:
        """Whether Spark reads them."""
        of_spark = type(self.source).__module__.split(".")[0] == "pyspark"
        return self.engine == "spark" or self.spark is not None or of_spark

    @property
    def is_lasting(self) -> bool:
        """Whether it can be saved, and read again by another process."""
        nameable = self.path is not None or (self.source is None and self.table is not None)
        return nameable and (self.spark is None or isinstance(self.spark, str))

    def to_dict(self) -> dict[str, Any]:
        """List the settings with which another process can read the predictions again.

        Passwords are dropped: the storage must not contain them. libpq reads ``PGPASSWORD`` in the
        environment or ``~/.pgpass``, and ClickHouse ``CLICKHOUSE_PASSWORD``.
        """
        fields = {
            "source": None if self.path is None else _without_password(_absolute(self.path)),
            "table": self.table,
            "where": self.where,
            "engine": self.engine,
            "spark": _without_token(self.spark) if isinstance(self.spark, str) else self.spark,
            "encoding": self.encoding,
            "local_numbers": [*self.local_numbers] or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Scan":
        """Inverse of `to_dict`; ids were already checked if requested."""
        return cls(**fields)


def as_scan(predictions: object) -> Scan:
    """Convert anything but a `Scan` to one with it as its source."""
    return predictions if isinstance(predictions, Scan) else Scan(predictions)


def _absolute(path: str) -> str:
    """Absolute path; a query or a URL is unchanged."""
    if path.startswith(SQLITE):
        return f"{SQLITE}{Path(path.removeprefix(SQLITE)).absolute()}"
    return path if is_remote(path) or is_query(path) else str(Path(path).absolute())


def _without_token(url: str) -> str:
    """Spark Connect URL without its token; any other URL is unchanged.

    >>> _without_token("sc://host:443/;use_ssl=true;token=secret;user_id=ann")
    'sc://host:443/;use_ssl=true;user_id=ann'
    """
    return re.sub(r";token=[^;]*", "", url) if url.startswith("sc://") else url


def _without_password(path: str) -> str:
    """Database URL without its password; any other path is unchanged.

    >>> _without_password("postgresql://ann:secret@host/db?password=secret&sslmode=require")
    'postgresql://ann@host/db?sslmode=require'
    """
    if not re.match(r"(postgres(ql)?(\+\w+)?|clickhouses?)://", path):
        return path
    without = re.sub(r"(://[^:/@?]*):[^/?]*@", r"\1@", path, count=1)
    return re.sub(r"([?&])(?:ssl)?password=[^&]*(&|$)", r"\1", without).rstrip("?&")


# Kinds of sources, told by a path, a URL or the text of a query, before any of them is opened.


def is_query(text: str) -> bool:
    """Whether a text is a query, and not a path.

    >>> is_query("SELECT * FROM 'preds.parquet'"), is_query("selected.parquet")
    (True, False)
    """
    if not re.match(r"[\s(]*(select|with|from|values)\b\s*\S", text, re.IGNORECASE):
        return False
    try:
        return not Path(text).exists()
    except (OSError, ValueError):
        return True  # too long for a path


def is_remote(path: str) -> bool:
    """Whether a path is a URL."""
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", path) is not None


def format_of(path: str) -> Format | None:
    """Format of a table, given its folder or a file of Iceberg's metadata; None for other paths."""
    if is_remote(path) or not path:
        return None
    place = Path(path)
    if path.endswith(".metadata.json"):
        return "Iceberg"
    if (place / "_delta_log").is_dir():
        return "Delta"
    return "Iceberg" if any((place / "metadata").glob("*.metadata.json")) else None


def is_postgres(text: str) -> bool:
    """Whether a text is the URL of a PostgreSQL database.

    >>> is_postgres("postgresql://host/db"), is_postgres("preds.parquet")
    (True, False)
    """
    return re.match(r"postgres(ql)?(\+\w+)?://", text) is not None


def is_clickhouse(text: str) -> bool:
    """Whether a text is the URL of a ClickHouse database, on a server or in this process.

    >>> is_clickhouse("clickhouse://host:8123/db"), is_clickhouse("preds.parquet")
    (True, False)
    """
    return re.match(r"(clickhouses?|chdb)://", text) is not None


def is_sqlite(path: str) -> bool:
    """Whether a path is a SQLite file, by its first bytes, or the URL of one.

    >>> is_sqlite("sqlite:///preds.db"), is_sqlite("preds.parquet")
    (True, False)
    """
    if path.startswith(SQLITE):
        return True
    try:
        if not Path(path).is_file():  # opening a pipe would block
            return False
        with Path(path).open("rb") as file:
            return file.read(len(_HEADER)) == _HEADER
    except (OSError, ValueError):
        return False


def file_of(url: str) -> str:
    """Path of the file."""
    return url.removeprefix(SQLITE)


def has_tables(path: str) -> bool:
    """Whether a path is a database, so that a table must be named.

    >>> has_tables("postgresql://host/db"), has_tables("preds.duckdb"), has_tables("preds.csv")
    (True, True, False)
    """
    return any(each(path) for each in (is_database, is_postgres, is_clickhouse, is_sqlite))


def is_database(path: str) -> bool:
    """Whether a path is a DuckDB file, by its name; SQLite files are excluded.

    >>> is_database("preds.duckdb"), is_database("preds.parquet")
    (True, False)
    """
    return path.lower().endswith((".duckdb", ".ddb", ".db")) and not is_sqlite(path)
