r"""Keys: ids that are made of several columns, for rows that have no id of their own.

A key is named by its columns with commas between them, ``day,user,rank``, and written as their
values with bars between them: ``2026-11-17|u7|3``. A bar or a backslash in a value has a backslash
in front of it, so that no two rows with different values have one key. A key with a missing value
is missing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.errors import PredictionsError
from assay.lazy import later
from assay.predictions.column import Arrow, Column, is_text
from assay.predictions.columns import IdColumns
from assay.predictions.sql.rows import Dialect, family_of, quoted

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")

_BAR, _ESCAPE = "|", "\\"
_KINDS = ("text", "integer", "wide integer", "boolean")


def key_name(id: IdColumns | None) -> str | None:
    """Return what the column of ids is called.

    >>> key_name(["day", "user"]), key_name("url"), key_name(None)
    ('day,user', 'url', None)
    """
    if id is None or isinstance(id, str):
        return id
    if not isinstance(id, list | tuple) or not all(isinstance(name, str) for name in id) or not id:
        raise PredictionsError(
            f"id={id!r} is of type {type(id).__name__}",
            details="it must be the name of a column, or a list of names",
        )
    for name in id:
        if "," in name:
            raise PredictionsError(
                f"id={id!r} has the column {name!r}",
                details="a column that a key is made of has no comma in its name",
                hint="rename it",
            )
    return ",".join(id)


def key_parts(name: str | None, known: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns that a key is made of; none where it is a column itself.

    `known`: columns that there are: one of them is itself, whatever its name is.

    >>> key_parts("day, user"), key_parts("url"), key_parts("a,b", ["a,b"])
    (('day', 'user'), (), ())
    """
    if name is None or "," not in name or name in known:
        return ()
    parts = tuple(part.strip() for part in name.split(","))
    if not all(parts) or len(set(parts)) < len(parts):
        raise PredictionsError(
            f"id={name!r} names no columns for a key",
            details="it would be their names, each once, with commas between: day,user,rank",
        )
    return parts


def shown_with(id: str | None, show: Sequence[str]) -> Sequence[str]:
    """Return the columns that people see: those of a key first.

    >>> shown_with("day,user", ["text", "user"]), shown_with("url", ["text"])
    (['day', 'user', 'text'], ['text'])
    """
    parts = key_parts(id)
    return list(dict.fromkeys([*parts, *show])) if parts else show


def with_parts(names: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """Return names of columns with those of every key in its place, each once.

    >>> with_parts(["day,user", "p", "user"])
    ['day', 'user', 'p']
    """
    return list(dict.fromkeys(part for name in names for part in key_parts(name, known) or (name,)))


def key_sql(
    parts: Sequence[str],  # the columns
    names: Mapping[str, str],
    types: Mapping[str, str],
    *,
    dialect: Dialect,
    source: str,
) -> str:
    r"""Return the key of a row, NULL where a value is missing.

    >>> types = {"day": "DATE", "rank": "INTEGER"}
    >>> names = {"day": '"day"', "rank": '"rank"'}
    >>> key_sql(("day", "rank"), names, types, dialect="duckdb", source="a table")
    'CAST("day" AS VARCHAR) || \'|\' || CAST("rank" AS VARCHAR)'
    """
    kind = "VARCHAR" if dialect == "duckdb" else "STRING"
    texts = []
    for part in parts:
        family = family_of(types[part])
        if family not in _KINDS and types[part].lower() != "date":
            raise _no_part(part, types[part], source)
        text = f"CAST({names[part]} AS {kind})"
        if family == "text":
            for sign in (_ESCAPE, _BAR):
                with_escape = quoted(_ESCAPE + sign, dialect)
                text = f"replace({text}, {quoted(sign, dialect)}, {with_escape})"
        texts.append(text)
    return f" || {quoted(_BAR, dialect)} || ".join(texts)


def key_column(name: str, parts: Sequence[Column]) -> Column:
    r"""Return the keys of rows in memory.

    `parts`: what they are made of.

    >>> columns = {"user": ["a|b", None], "rank": [3, 4]}
    >>> parts = [Column(name, "a table", pa.chunked_array([columns[name]])) for name in columns]
    >>> key_column("user,rank", parts).data.to_pylist()
    ['a\\|b|3', None]
    """
    texts = [_text(part) for part in parts]
    compute: Any = pc
    bar = pa.scalar(_BAR, pa.large_string())
    keys: Arrow = compute.binary_join_element_wise(*texts, bar, null_handling="emit_null")
    return Column(name, parts[0].source, keys)


def _text(part: Column) -> Arrow:
    kind = part.data.type
    if is_text(kind):
        text = part.data.cast(pa.large_string())
        for sign in (_ESCAPE, _BAR):
            text = pc.replace_substring(text, sign, _ESCAPE + sign)
        return text
    types = pa.types
    if not (types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind)):
        raise _no_part(part.name, str(kind), part.source)
    return part.data.cast(pa.large_string())


def _no_part(name: str, kind: str, source: str) -> PredictionsError:
    return PredictionsError(
        f"column {name!r} of {source} is of type {kind}, and a key is to be made of it",
        details="a key is made of text, whole numbers, dates, true and false, which every engine "
        "writes alike",
        hint="make it text first, or a date",
    )
