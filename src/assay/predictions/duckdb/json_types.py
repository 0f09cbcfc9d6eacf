"""The columns of JSON files, from all of their values.

DuckDB guesses them from the first rows, and makes what comes later fit: 5.5 among integers becomes
6, true among numbers 1, and text that looks like a date a date.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from assay.predictions.duckdb.readable import identifier
from assay.predictions.sql.rows import quoted

# By what DuckDB calls the types of values; a column that has several others stays JSON.
_TYPES: tuple[tuple[set[str], str], ...] = (
    (set(), "INTEGER"),  # nothing but null
    ({"UBIGINT"}, "UBIGINT"),
    ({"UBIGINT", "BIGINT"}, "BIGINT"),
    ({"UBIGINT", "BIGINT", "DOUBLE"}, "DOUBLE"),
    ({"BOOLEAN"}, "BOOLEAN"),
    ({"VARCHAR"}, "VARCHAR"),
)


@dataclass(frozen=True)
class JsonColumns:
    """All names in JSON files, and the types of those that are asked for."""

    names: Sequence[str]
    types: Mapping[str, str]

    @property
    def sql(self) -> str:
        """Names and types as `read_json` takes them."""
        return _struct(self.types)


def json_columns(
    connection: duckdb.DuckDBPyConnection,
    files: str,
    options: str,
    wanted: Sequence[str] | None,
) -> JsonColumns:
    r"""Look at all values of some columns, or of all.

    Parameters
    ----------
    connection : DuckDB connection
        Reads the files, twice.
    files, options : str
        The first parameters of `read_json`.
    wanted : sequence of str, optional
        The columns.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, duckdb.connect() as connection:
    ...     path = Path(folder, "a.jsonl")
    ...     _ = path.write_text('{"id": -7, "p": 1}\n{"id": 8, "p": 0.5, "tags": ["x"]}')
    ...     dict(json_columns(connection, f"'{path}'", "format = 'auto'", None).types)
    {'id': 'BIGINT', 'p': 'DOUBLE', 'tags': 'JSON'}
    """
    keys = connection.execute(
        f"FROM read_json_objects({files}, {options}) "
        "SELECT DISTINCT unnest(json_keys(json)) AS key ORDER BY key"
    ).fetchall()
    names = [name for (name,) in keys]
    # DuckDB does not tell upper from lower case in names; that a wanted one repeats is told later.
    different = list({name.casefold(): name for name in reversed(names)}.values())[::-1]
    asked = different if wanted is None else [name for name in different if name in wanted]
    if not asked:
        return JsonColumns(names, {})
    raw = _struct(dict.fromkeys(asked, "JSON"))
    kinds = ", ".join(f"list(DISTINCT json_type({identifier(name)}))" for name in asked)
    found = connection.execute(
        f"FROM read_json({files}, {options}, records = true, columns = {raw}, "
        f"hive_partitioning = false) SELECT {kinds}"
    ).fetchall()
    return JsonColumns(
        names, {name: _type(set(k)) for name, k in zip(asked, found[0], strict=True)}
    )


def _type(kinds: set[str | None]) -> str:
    told = {kind for kind in kinds if kind is not None}
    return next((name for known, name in _TYPES if told <= known), "JSON")


def _struct(types: Mapping[str, str]) -> str:
    fields = (f"{quoted(name, 'duckdb')}: '{kind}'" for name, kind in types.items())
    return f"{{{', '.join(fields)}}}"
