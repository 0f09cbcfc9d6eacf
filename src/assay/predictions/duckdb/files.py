"""Parquet, CSV and JSON files as DuckDB reads them."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

import duckdb

from assay.errors import PredictionsError
from assay.predictions.duckdb.paths import Files
from assay.predictions.duckdb.readable import Readable
from assay.predictions.faults import nothing_in, refuse_missing_columns, refuse_repeated_columns
from assay.predictions.query import identifier, quoted

# Compatibility of the columns of several files.

Schema: TypeAlias = tuple[tuple[str, str], ...]
"""Names and DuckDB types of a file's columns, in order."""

Schemas: TypeAlias = Mapping[Schema, Sequence[str]]
"""The files of each schema."""

_SIGNED = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}
_UNSIGNED = {"UTINYINT", "USMALLINT", "UINTEGER"}
# Types that are compatible: one 64-bit type holds them all.
_FAMILIES = (_SIGNED | _UNSIGNED, _UNSIGNED | {"UBIGINT"}, {"FLOAT", "DOUBLE"})
_NONE = "none"


def grouped(schemas: Iterable[tuple[str, Schema]]) -> dict[Schema, list[str]]:
    """Files by schema."""
    groups: dict[Schema, list[str]] = {}
    for path, schema in schemas:
        groups.setdefault(schema, []).append(path)
    return groups


def refuse_differences(schemas: Schemas, wanted: Sequence[str], files: Files) -> None:
    """Raise if a column repeats in a file, differs in type between files, or is not in all files.

    A column that is in no file is not reported here.

    >>> schemas = grouped([("a", (("id", "BIGINT"),)), ("b", (("id", "VARCHAR"),))])
    >>> refuse_differences(schemas, ["id"], Files("*", ("a", "b"), "Parquet"))
    Traceback (most recent call last):
    assay.errors.PredictionsError: column 'id' of * is not the same in all files
    BIGINT in 1 file (a), VARCHAR in 1 file (b)
    hint: write it with one type in every file, or read those files only that have it
    """
    for schema in schemas:
        refuse_repeated_columns(wanted, [name for name, _ in schema], files.label)
    for name in wanted:
        paths_of: dict[str, list[str]] = {}
        for schema, paths in schemas.items():
            paths_of.setdefault(dict(schema).get(name, _NONE), []).extend(paths)
        kinds = set(paths_of)
        if len(kinds) > 1 and not any(kinds <= family for family in _FAMILIES):
            raise PredictionsError(
                f"column {name!r} of {files.label} is not the same in all files",
                details=", ".join(_in_files(kind, paths) for kind, paths in paths_of.items()),
                hint="write it with one type in every file, or read those files only that have it",
            )


def _in_files(kind: str, paths: Sequence[str]) -> str:
    files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    what = "missing" if kind == _NONE else kind
    return f"{what} in {files} ({'' if len(paths) == 1 else 'such as '}{paths[0]})"


# Columns of JSON files, from all of their values.
#
# DuckDB guesses types from the first rows and converts later values: 5.5 among integers becomes 6,
# true among numbers 1, and text that looks like a date a date.


# By DuckDB's names of the value types; a column with other combinations stays JSON.
_TYPES: tuple[tuple[set[str], str], ...] = (
    (set(), "INTEGER"),  # nothing but null
    ({"UBIGINT"}, "UBIGINT"),
    ({"UBIGINT", "BIGINT"}, "BIGINT"),
    ({"UBIGINT", "BIGINT", "DOUBLE"}, "DOUBLE"),
    ({"BOOLEAN"}, "BOOLEAN"),
    ({"VARCHAR"}, "VARCHAR"),
)


def json_columns(
    connection: duckdb.DuckDBPyConnection,  # reads the files, twice
    # files, options: the first parameters of `read_json`.
    files: str,
    options: str,
    wanted: Sequence[str] | None,  # the columns
) -> tuple[list[str], str]:
    """Names of all columns, and the types of some, or of all, as `read_json` takes them.

    The types follow from all values.
    """
    keys = connection.execute(
        f"FROM read_json_objects({files}, {options}) "
        "SELECT DISTINCT unnest(json_keys(json)) AS key ORDER BY key"
    ).fetchall()
    names = [name for (name,) in keys]
    # DuckDB ignores case in names; repeated wanted names are reported later.
    different = list({name.casefold(): name for name in reversed(names)}.values())[::-1]
    asked = different if wanted is None else [name for name in different if name in wanted]
    if not asked:
        return names, _struct({})
    raw = _struct(dict.fromkeys(asked, "JSON"))
    kinds = ", ".join(f"list(DISTINCT json_type({identifier(name)}))" for name in asked)
    rows = connection.execute(
        f"FROM read_json({files}, {options}, records = true, columns = {raw}, "
        f"hive_partitioning = false) SELECT {kinds}"
    ).fetchall()
    return names, _struct({name: _type(set(k)) for name, k in zip(asked, rows[0], strict=True)})


def _type(kinds: set[str | None]) -> str:
    known_kinds = {kind for kind in kinds if kind is not None}
    return next((name for known, name in _TYPES if known_kinds <= known), "JSON")


def _struct(types: Mapping[str, str]) -> str:
    fields = (f"{quoted(name, 'duckdb')}: '{kind}'" for name, kind in types.items())
    return f"{{{', '.join(fields)}}}"


# DuckDB detects only the delimiter. Anything else that it guesses from the first rows can fail on a
# later row or change it: the type of an id 007 among integers, apostrophes as quotes, a first line
# to skip. A quoted field is a value, even if it is empty; an empty field without quotes is missing.
# Columns of several files are matched by name.
_CSV = (
    "all_varchar = true, allow_quoted_nulls = false, quote = '\"', escape = '\"', comment = '', "
    "skip = 0, union_by_name = true, max_line_size = 16000000, "
    "buffer_size = 32000000"
)


def readable_files(
    connection: duckdb.DuckDBPyConnection, files: Files, wanted: Sequence[str], *, whole: bool
) -> Readable:
    """Files as DuckDB reads them; raise if their columns are incompatible.

    `wanted`: columns that must be in every file, once, and of one type; integers of different
    widths are one type, and so are floats.
    """
    if files.kind == "Parquet":
        return _parquet(connection, files, wanted)
    if files.kind == "CSV":
        return _csv(connection, files, wanted)
    return _json(connection, files, wanted, whole=whole)


def _parquet(
    connection: duckdb.DuckDBPyConnection, files: Files, wanted: Sequence[str]
) -> Readable:
    schemas = grouped(parquet_schemas(connection, files))
    refuse_differences(schemas, wanted, files)
    # To match columns by name, DuckDB would have to open every file for every query.
    options = [_hive(files, schemas), *(["union_by_name = true"] if len(schemas) > 1 else [])]
    sql = f"read_parquet({files.sql}, {', '.join(options)})"
    return Readable(files.label, sql, files.bytes, is_lasting=True)


def _csv(connection: duckdb.DuckDBPyConnection, files: Files, wanted: Sequence[str]) -> Readable:
    schemas = grouped(_csv_schemas(connection, files))
    if not schemas:
        raise nothing_in(files.label)
    first = next(iter(schemas))
    if first[0][0].lower().startswith(("<!doctype", "<html", "<?xml", "<table")):
        raise PredictionsError(
            f"{files.label} is a web page, not a table",
            details=f"it begins with {first[0][0]!r}",
            hint="export the table as CSV; a link may have led to a login page",
        )
    if len(first) == 1 and first[0][0] not in wanted:
        raise PredictionsError(
            f"{files.label} cannot be read as a CSV file of several columns",
            details=f"its first line reads as one column: {first[0][0]}",
            hint="all lines must have the same number of fields, with commas between them",
        )
    refuse_differences(schemas, wanted, files)
    hive = f"{_hive(files, schemas)}, hive_types_autocast = false"
    sql = f"read_csv({files.sql}, header = true, {_CSV}, {hive})"
    return Readable(files.label, sql, files.bytes, is_text=True)


def _json(
    connection: duckdb.DuckDBPyConnection, files: Files, wanted: Sequence[str], *, whole: bool
) -> Readable:
    # A .json file may be one list of all items; in other files every line is an item.
    any_form = any(path.lower().removesuffix(".gz").endswith(".json") for path in files.paths)
    options = f"format = '{'auto' if any_form else 'newline_delimited'}'"
    names, types = json_columns(connection, files.sql, options, None if whole else wanted)
    if not names:
        raise nothing_in(files.label)
    refuse_repeated_columns(wanted, names, files.label)
    refuse_missing_columns(wanted, [*names, *files.keys], files.label)
    hive = _hive(files, {tuple((name, "") for name in names): []})
    sql = f"read_json({files.sql}, {options}, records = true, columns = {types}, {hive})"
    return Readable(files.label, sql, files.bytes)


def _hive(files: Files, schemas: Schemas) -> str:
    """Option that makes columns of folders named key=value, unless a file has such a column.

    DuckDB would replace the file's value by the folder's.
    """
    names = {name.casefold() for schema in schemas for name, _ in schema}
    hive = bool(files.keys) and names.isdisjoint(key.casefold() for key in files.keys)
    return f"hive_partitioning = {str(hive).lower()}"


def parquet_schemas(
    connection: duckdb.DuckDBPyConnection, files: Files
) -> list[tuple[str, Schema]]:
    """Columns of each file."""
    rows = connection.execute(
        f"FROM parquet_schema({files.sql}) SELECT file_name, name, num_children, duckdb_type"
    ).fetchall()
    schemas = []
    for path, nodes in groupby(rows, key=lambda row: row[0]):
        columns = []
        inside = 0  # how many parts of a column's type are still to come
        for _, name, children, kind in list(nodes)[1:]:  # the first is the root
            if inside:
                inside -= 1
            else:
                columns.append((name, kind))
            inside += children or 0
        schemas.append((path, tuple(columns)))
    return schemas


def _csv_schemas(connection: duckdb.DuckDBPyConnection, files: Files) -> list[tuple[str, Schema]]:
    """Column names in the first lines: DuckDB renames those that repeat."""
    schemas = []
    for path in files.paths:
        one = Files(path, (path,), "CSV")
        rows = connection.execute(
            f"FROM read_csv({one.sql}, header = false, {_CSV}, hive_partitioning = false) LIMIT 1"
        ).fetchall()
        schemas += [(path, tuple((str(name).strip(), "VARCHAR") for name in row)) for row in rows]
    return schemas
