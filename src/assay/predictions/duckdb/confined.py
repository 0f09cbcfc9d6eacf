"""Confinement of DuckDB to what was named: the files and databases of a path, query or condition.

A query, a condition or a view in a database file may come from somebody else than the person whose
rights it runs with. So nothing is opened but what its text names, whoever wrote it.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from typing import Any

import duckdb

from assay.errors import PredictionsError, refuse_no_file
from assay.predictions.databases.find import is_database
from assay.predictions.duckdb.paths import is_remote
from assay.predictions.sql.rows import quoted

# Settings that passes over the data change; none of them opens anything.
_CHANGED = (
    "disabled_optimizers",
    "enable_progress_bar",
    "enable_progress_bar_print",
    "memory_limit",
    "perfect_ht_threshold",
    "preserve_insertion_order",
)
# Extensions by what needs them. None is loaded once DuckDB is confined, so it is done before.
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
# These open databases by themselves, past DuckDB's own files; DuckDB can only forbid them whole.
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
    """Places that a text names, and the functions that it reads tables with."""

    places: frozenset[str] = field(default_factory=frozenset)
    functions: frozenset[str] = field(default_factory=frozenset)

    def __or__(self, other: "Named") -> "Named":
        """Return what either names."""
        return Named(self.places | other.places, self.functions | other.functions)

    @property
    def extensions(self) -> list[str]:
        """The extensions that are needed to read from there."""
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
    """Return what a query names behind FROM: tables, and the texts that functions are called with.

    Nothing where it is no query; whoever runs it will say so.

    >>> with duckdb.connect() as connection:
    ...     found = named_in(connection, "FROM read_csv(['a.csv', 'b*.csv']) WHERE x = 'c.csv'")
    >>> sorted(found.places), sorted(found.functions)
    (['a.csv', 'b*.csv'], ['read_csv'])
    """
    ((told,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(told)
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
            # DuckDB 2 calls what a literal holds "text", and DuckDB 1 "value".
            texts = (each.get("text") or each.get("value") for each in _nodes(call, _OPTION))
            places.update(text for text in texts if isinstance(text, str))
    return Named(frozenset(places), frozenset(functions))


def confine(
    connection: duckdb.DuckDBPyConnection,  # what is attached to it already stays
    # What may be read: files, patterns of files, folders. That something is not there is told by
    # whoever reads it.
    named: Named,
    folder: Path,  # for temporary files
    *,
    files: Collection[str] = (),  # files of these very names, which may be read, too
) -> None:
    """Let a connection read only what was named, and write into one folder only, for good."""
    for extension in (named | Named(frozenset(files))).extensions:
        connection.execute(f"LOAD {extension}")
    if any(map(is_remote, [*named.places, *files])):
        # They are read from a folder of the user's, which is out of reach afterwards.
        connection.execute("FROM duckdb_secrets()").fetchall()
    paths = {*named.places, *files, *map(escape, files)}
    folders = {str(folder)}
    for place in named.places:
        if not re.match("https?://", place, re.IGNORECASE):
            found = connection.execute("SELECT file FROM glob(?)", [place]).fetchall()
            paths.update(file + beside for (file,) in found for beside in _beside(file))
            for (file,) in found if not is_remote(place) else ():
                if not _is_folder(file):
                    refuse_no_file(file, error=PredictionsError)
            if not is_remote(place) and _is_folder(place):
                folders.add(place)
    _allow(connection, "paths", paths)
    _allow(connection, "directories", folders)
    connection.execute("SET autoload_known_extensions = false")
    if named.functions.isdisjoint(_UNCONFINED):
        # This cannot be taken back while the connection lives, nor can anything more be allowed.
        connection.execute("SET enable_external_access = false")
    if connection.execute("FROM duckdb_settings() WHERE name = 'allowed_configs'").fetchall():
        _allow(connection, "configs", _CHANGED)
        connection.execute("SET lock_configuration = true")


def _allow(connection: duckdb.DuckDBPyConnection, what: str, values: Iterable[str]) -> None:
    listed = ", ".join(quoted(value, "duckdb") for value in sorted(values))
    connection.execute(f"SET allowed_{what} = [{listed}]")


def _beside(file: str) -> tuple[str, ...]:
    """Return the endings of the files that DuckDB looks for when it opens one."""
    return ("", ".wal", ".wal.checkpoint", ".wal.recovery") if is_database(file) else ("",)


def _is_folder(place: str) -> bool:
    try:
        return Path(place).is_dir()
    except (OSError, ValueError):
        return False  # a text that no path can be


def _nodes(tree: Any, without: str = "") -> Iterator[dict[str, Any]]:
    """Return all nodes of a parsed query, and nothing below those of one class."""
    if isinstance(tree, dict) and (not without or tree.get("class") != without):
        yield tree
        for part in tree.values():
            yield from _nodes(part, without)
    elif isinstance(tree, list):
        for part in tree:
            yield from _nodes(part, without)
