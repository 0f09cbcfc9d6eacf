"""Files of predictions: one, all that match a pattern, or all in a folder; in UTF-8."""

import codecs
import gzip
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import duckdb

from assay.errors import PredictionsError, refuse_no_file
from assay.predictions.duckdb.readable import reading
from assay.predictions.query import quoted
from assay.predictions.scan import is_database, is_remote

Kind = Literal["Parquet", "CSV", "JSON", "packed"]

_ENDINGS: dict[Kind, tuple[str, ...]] = {
    "Parquet": (".parquet",),
    "CSV": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "JSON": (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
    "packed": (".xlsx", ".csv.zip", ".tsv.zip", ".zip"),
}
_NEEDED = (
    "the name must end in .parquet, .csv, .tsv, .xlsx, .jsonl, .ndjson or .json, the text files "
    "with .gz too, tables with .zip, and all files be of one kind"
)
_AT_ONCE = 1 << 20  # characters of a file that is written again


@dataclass(frozen=True)
class Files:
    """Files of one kind, in the order of their names."""

    label: str  # the path that was given
    paths: tuple[str, ...]  # the files
    kind: Kind  # their format
    # Names of the folders' keys that all files share, such as day in ``day=7/a.parquet``; empty if
    # a single file is named.
    keys: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The files as a list in SQL."""
        exact = (path if _is_on_the_web(path) else escape(path) for path in self.paths)
        return "[" + ", ".join(quoted(path, "duckdb") for path in exact) + "]"

    @property
    def bytes(self) -> int:
        """Size on disk; 0 for remote files."""
        here = [path for path in self.paths if not is_remote(path)]
        return sum(Path(path).stat().st_size for path in here)


def find_files(connection: duckdb.DuckDBPyConnection, path: str) -> Files:
    """Files of a path: a file of that name, all below a folder, or all that match a pattern.

    In folders, hidden files and files whose names start with an underscore are skipped: Spark
    writes such files beside the data.
    """
    with reading(path):
        return _files_of(connection, path)


def _files_of(connection: duckdb.DuckDBPyConnection, path: str) -> Files:
    if is_remote(path):
        pattern = f"{path}**" if path.endswith("/") else path
        paths = (path,) if _is_on_the_web(path) else _glob(connection, pattern)
        return _of_one_kind(path, paths)
    if not path:
        raise PredictionsError(
            "an empty path is a directory, the working directory",
            details="a file, a pattern or a folder is needed",
            hint="give '.' for the current folder",
        )
    place = Path(path)
    label = str(place)
    if place.is_dir():
        below = _glob(connection, f"{escape(label)}/**")
        paths = tuple(file for file in below if not _is_aside(Path(file).relative_to(place)))
        if not paths:
            raise PredictionsError(
                f"{label!r} is a directory without files to read",
                details=f"there must be files such as {label}/*.parquet; {_NEEDED}",
            )
        return _of_one_kind(label, paths)
    paths = (label,) if place.exists() else _glob(connection, label)
    for each in paths:
        refuse_no_file(each, error=PredictionsError)
    if not paths:
        raise PredictionsError(
            f"{label!r} not found", details=f"no such file (current folder: {Path.cwd()})"
        )
    return _of_one_kind(label, paths)


def _is_on_the_web(path: str) -> bool:
    """Whether ? and * in a path are not a pattern: web servers do not list their files."""
    return path.lower().startswith(("http://", "https://"))


def _glob(connection: duckdb.DuckDBPyConnection, pattern: str) -> tuple[str, ...]:
    rows = connection.execute("SELECT file FROM glob(?) ORDER BY file", [pattern])
    return tuple(file for (file,) in rows.fetchall())


def _is_aside(path: Path) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def _of_one_kind(label: str, paths: tuple[str, ...]) -> Files:
    alone = paths == (label,)
    if not alone:
        _refuse_part_of_a_table(label, paths)
    for kind, endings in _ENDINGS.items():
        if paths and all(_name(path).lower().endswith(endings) for path in paths):
            return Files(label, paths, kind, () if alone else _keys(paths))
    counts = Counter("".join(PurePosixPath(_name(path)).suffixes) for path in paths)
    there = [f"{ending or 'no ending'} ({count:,})" for ending, count in counts.most_common(5)]
    raise PredictionsError(
        f"{label} is not of a kind that can be read",
        details=f"{_NEEDED}; got {', '.join(there) or 'no file'}",
        hint="name those that are meant by a pattern: */*.parquet"
        if len(counts) > 1
        else _spreadsheet(paths),
    )


def _refuse_part_of_a_table(label: str, paths: tuple[str, ...]) -> None:
    """Raise if files belong to a Delta or Iceberg table: they may contain deleted rows."""
    logs = [path for path in paths if "/_delta_log/" in path or path.endswith(".metadata.json")]
    if logs:
        raise _part_of_a_table(label, logs[0].partition("/_delta_log/")[0])
    parents = {PurePosixPath(path).parent for path in paths if not is_remote(path)}
    for folder in {above for parent in parents for above in (parent, *parent.parents)}:
        place = Path(folder)
        if (place / "_delta_log").is_dir() or any((place / "metadata").glob("*.metadata.json")):
            raise _part_of_a_table(label, str(folder))


def _part_of_a_table(label: str, table: str) -> PredictionsError:
    return PredictionsError(
        f"{label} holds files of a Delta or Iceberg table, {table}",
        details="its folder also holds files whose rows were deleted or rewritten",
        hint="read it as a table of Spark's catalog"
        if is_remote(table)
        else f"give the folder {table}; a condition (where) takes a part of it",
    )


def _spreadsheet(paths: tuple[str, ...]) -> str:
    if paths and _name(paths[0]).lower().endswith((".xls", ".ods")):
        return "open it in a spreadsheet and save it as .csv in UTF-8 ('CSV UTF-8')"
    return ""


def _name(path: str) -> str:
    """Path without the query and fragment of a web address."""
    return re.split("[?#]", path, maxsplit=1)[0] if _is_on_the_web(path) else path


def _keys(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Keys of the folders named key=value, if all files have the same."""
    keys = {
        tuple(part.split("=")[0] for part in PurePosixPath(path).parts[:-1] if "=" in part)
        for path in paths
    }
    return keys.pop() if len(keys) == 1 else ()


def in_utf8(files: Files, encoding: str, folder: Path) -> Files:
    """Copy CSV files in UTF-8."""
    if files.kind != "CSV" or any(map(is_remote, files.paths)):
        raise PredictionsError(
            f"encoding={encoding!r} is given for {files.label}",
            details="it is for CSV files on this machine; Parquet and JSON have one of their own",
            hint="leave it out",
        )
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise PredictionsError(
            f"encoding={encoding!r} is not known",
            details="such as utf-8, latin-1, windows-1252, utf-16, shift_jis",
        ) from None
    copies = []
    for number, path in enumerate(files.paths):
        copy = folder / f"{number:06}.csv"
        opened = gzip.open if path.lower().endswith(".gz") else open
        try:
            with (
                opened(path, "rt", encoding=encoding, newline="") as text,
                copy.open("w", encoding="utf-8", newline="") as target,
            ):
                while some := text.read(_AT_ONCE):
                    target.write(some)
        except UnicodeError as error:
            raise PredictionsError(
                f"{path} is not {encoding} text",
                details=str(error),
                hint="pass another encoding, or write the file as UTF-8",
            ) from None
        copies.append(str(copy))
    return replace(files, paths=tuple(copies), keys=())


# Confinement of DuckDB to named sources: the files and databases of a path, query or condition.
#
# A query, a condition or a view in a database file may come from somebody other than the person
# whose rights it runs with. So only sources named in its text are opened.


# Settings that passes over the data change; none of them opens anything.
_CHANGED = (
    "disabled_optimizers",
    "enable_progress_bar",
    "enable_progress_bar_print",
    "memory_limit",
    "preserve_insertion_order",
)
# Extensions by what needs them. They are loaded before DuckDB is confined, not after.
_OF_SCHEME = {
    **dict.fromkeys(("http", "https", "s3", "s3a", "s3n", "gs", "gcs", "r2", "hf"), "httpfs"),
    **dict.fromkeys(("az", "azure", "abfs", "abfss"), "azure"),
}
_OF_ENDING = {".xlsx": "excel", ".avro": "avro"}
_OF_FUNCTION = {
    "read_xlsx": "excel",
    "read_avro": "avro",
    "iceberg_scan": "iceberg",
    "delta_scan": "delta",
}
# These open databases without DuckDB's own file access; DuckDB can only forbid them entirely.
_UNCONFINED = {
    "sqlite_scan": "sqlite_scanner",
    "postgres_scan": "postgres_scanner",
    "postgres_scan_pushdown": "postgres_scanner",
    "postgres_query": "postgres_scanner",
    "mysql_scan": "mysql_scanner",
    "mysql_query": "mysql_scanner",
    "st_read": "spatial",
}
_OPTION = "COMPARISON"  # as DuckDB parses delim = '/' among the arguments of a function


@dataclass(frozen=True)
class Named:
    """Places that a text names, and its table functions."""

    places: frozenset[str] = field(default_factory=frozenset)
    functions: frozenset[str] = field(default_factory=frozenset)

    def __or__(self, other: "Named") -> "Named":
        """Union of both."""
        return Named(self.places | other.places, self.functions | other.functions)

    @property
    def extensions(self) -> list[str]:
        """Extensions needed to read from there."""
        schemes = (place.partition("://")[0].lower() for place in self.places if is_remote(place))
        endings = (Path(place).suffix.lower() for place in self.places)
        functions = _OF_FUNCTION | _UNCONFINED
        needed = [
            *(_OF_SCHEME.get(scheme) for scheme in schemes),
            *(_OF_ENDING.get(ending) for ending in endings),
            *(functions.get(function) for function in self.functions),
        ]
        return sorted({name for name in needed if name is not None})


def named_in(connection: duckdb.DuckDBPyConnection, query: str) -> Named:
    """Names after FROM in a query: tables, and text arguments of functions.

    Empty if it is not a query; running it will raise.

    >>> with duckdb.connect() as connection:
    ...     named = named_in(connection, "FROM read_csv(['a.csv', 'b*.csv']) WHERE x = 'c.csv'")
    >>> sorted(named.places), sorted(named.functions)
    (['a.csv', 'b*.csv'], ['read_csv'])
    """
    ((serialized,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(serialized)
    if tree["error"]:
        return Named()
    places: set[str] = set()
    functions: set[str] = set()
    for node in _nodes(tree["statements"]):
        if node.get("type") == "BASE_TABLE":
            path = [node.get(part) for part in ("catalog_name", "schema_name", "table_name")]
            places.add(".".join(part for part in path if part))
        elif node.get("type") == "TABLE_FUNCTION":
            call = node["function"]
            functions.add(str(call.get("function_name", "")).lower())
            # DuckDB 2 calls the value of a literal "text", DuckDB 1 "value".
            texts = (each.get("text") or each.get("value") for each in _nodes(call, _OPTION))
            places.update(text for text in texts if isinstance(text, str))
    return Named(frozenset(places), frozenset(functions))


def confine(
    connection: duckdb.DuckDBPyConnection,  # attached databases stay
    # Files, patterns of files and folders that may be read. Missing ones are reported by the
    # reader.
    named: Named,
    folder: Path,  # for temporary files
    *,
    files: Collection[str] = (),  # further files that may be read, by exact name
) -> None:
    """Permanently restrict a connection to reading the named places and writing to one folder."""
    for extension in (named | Named(frozenset(files))).extensions:
        connection.execute(f"LOAD {extension}")
    if any(map(is_remote, [*named.places, *files])):
        # Secrets are read from a folder of the user's, which is out of reach afterwards.
        connection.execute("FROM duckdb_secrets()").fetchall()
    paths = {*named.places, *files, *map(escape, files)}
    folders = {str(folder)}
    for place in named.places:
        if not re.match("https?://", place, re.IGNORECASE):
            matches = connection.execute("SELECT file FROM glob(?)", [place]).fetchall()
            paths.update(file + beside for (file,) in matches for beside in _beside(file))
            for (file,) in matches if not is_remote(place) else ():
                if not _is_folder(file):
                    refuse_no_file(file, error=PredictionsError)
            if not is_remote(place) and _is_folder(place):
                folders.add(place)
    _allow(connection, "paths", paths)
    _allow(connection, "directories", folders)
    connection.execute("SET autoload_known_extensions = false")
    if named.functions.isdisjoint(_UNCONFINED):
        # This cannot be undone while the connection lives, nor can anything more be allowed.
        connection.execute("SET enable_external_access = false")
    if connection.execute("FROM duckdb_settings() WHERE name = 'allowed_configs'").fetchall():
        _allow(connection, "configs", _CHANGED)
        connection.execute("SET lock_configuration = true")


def _allow(connection: duckdb.DuckDBPyConnection, what: str, values: Iterable[str]) -> None:
    listed = ", ".join(quoted(value, "duckdb") for value in sorted(values))
    connection.execute(f"SET allowed_{what} = [{listed}]")


def _beside(file: str) -> tuple[str, ...]:
    """Suffixes of the files that DuckDB looks for when it opens one."""
    return ("", ".wal", ".wal.checkpoint", ".wal.recovery") if is_database(file) else ("",)


def _is_folder(place: str) -> bool:
    try:
        return Path(place).is_dir()
    except (OSError, ValueError):
        return False  # a text that no path can be


def _nodes(tree: Any, without: str = "") -> Iterator[dict[str, Any]]:
    """All nodes of a parsed query, except those below nodes of one class."""
    if isinstance(tree, dict) and (not without or tree.get("class") != without):
        yield tree
        for part in tree.values():
            yield from _nodes(part, without)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part, without)
