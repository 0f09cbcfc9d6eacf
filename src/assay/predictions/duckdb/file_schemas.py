"""Whether the columns of several files fit together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from assay.errors import PredictionsError
from assay.predictions.duckdb.paths import Files
from assay.predictions.duckdb.readable import refuse_repeated_columns

Schema: TypeAlias = tuple[tuple[str, str], ...]
"""Names and DuckDB types of a file's columns, in order."""

Schemas: TypeAlias = Mapping[Schema, Sequence[str]]
"""The files of each schema."""

_SIGNED = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}
_UNSIGNED = {"UTINYINT", "USMALLINT", "UINTEGER"}
# Types that may stand side by side: one of 64 bits holds them all.
_FAMILIES = (_SIGNED | _UNSIGNED, _UNSIGNED | {"UBIGINT"}, {"FLOAT", "DOUBLE"})
_NONE = "none"


def grouped(schemas: Iterable[tuple[str, Schema]]) -> dict[Schema, list[str]]:
    """Return the files of each schema.

    Examples
    --------
    >>> grouped([("a", (("id", "BIGINT"),)), ("b", (("id", "BIGINT"),))])
    {(('id', 'BIGINT'),): ['a', 'b']}
    """
    groups: dict[Schema, list[str]] = {}
    for path, schema in schemas:
        groups.setdefault(schema, []).append(path)
    return groups


def refuse_differences(schemas: Schemas, wanted: Sequence[str], files: Files) -> None:
    """Raise an error if a column is twice in a file, or of another type in the next, or not there.

    A column that no file has is not told here.

    Examples
    --------
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
                details=", ".join(_told(kind, paths) for kind, paths in paths_of.items()),
                hint="write it with one type in every file, or read those files only that have it",
            )


def _told(kind: str, paths: Sequence[str]) -> str:
    files = "1 file" if len(paths) == 1 else f"{len(paths):,} files"
    what = "missing" if kind == _NONE else kind
    return f"{what} in {files} ({'' if len(paths) == 1 else 'such as '}{paths[0]})"
