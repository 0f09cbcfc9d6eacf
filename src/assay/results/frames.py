"""DataFrames of rows in the library that people work with, and files that are whole."""

import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_type_hints
from uuid import uuid4

from assay.errors import InputError, MissingDependencyError, did_you_mean

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[str, ...] = get_args(Backend)

_KINDS = (str, int, float, bool)  # of values in a column


def types_of(kind: type) -> dict[str, type]:
    """Return a dataclass's fields with their types; one that may be None has that of its values.

    Fields that hold more than one value are left out.

    >>> from assay.results.progress import HistoryPoint
    >>> types_of(HistoryPoint)["value"]
    <class 'float'>
    """
    found = {}
    for name, hint in get_type_hints(kind).items():
        options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kinds = [each for each in options if each is not NoneType]
        if len(kinds) == 1 and kinds[0] in _KINDS:
            found[name] = kinds[0]
    return found


def frame_of(
    rows: Sequence[Mapping[str, object]], types: Mapping[str, type], *, backend: Backend
) -> Any:
    """Return rows as a DataFrame.

    `rows`: what is not in `types` is left out; what is missing or None is a missing value; `types`:
    the columns: `str`, `int`, `float` or `bool`. They are the same without any row.

    >>> frame_of([{"a": 1}, {"a": 2}], {"a": int}, backend="polars")["a"].to_list()
    [1, 2]
    """
    if backend not in BACKENDS:
        raise InputError(
            f"{backend!r} is not a backend",
            details=f"backends: {', '.join(BACKENDS)}",
            hint=did_you_mean(str(backend), BACKENDS),
        )
    try:
        import_module(backend)
    except ImportError:
        raise MissingDependencyError(
            f"a DataFrame of {backend} needs {backend}, which is not installed",
            hint=f"pip install {backend}, or backend='pyarrow', which Assay brings along",
        ) from None
    import narwhals as nw  # they take long to load, and few need a DataFrame
    import pyarrow as pa

    arrow = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([pa.field(name, arrow[kind]) for name, kind in types.items()])
    # Through Arrow, because pandas would make False of a missing boolean.
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    return nw.from_arrow(table, backend=backend).to_native()


def free_names(columns: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    """Return names for the columns that items show beside columns of our own.

    >>> free_names(["text", "id", "shown id"], ["id", "label"])
    ('text', 'shown shown id', 'shown id')
    """
    names: list[str] = []
    for name in columns:
        free = name
        while free in (*taken, *names) or (free != name and free in columns):
            free = f"shown {free}"
        names.append(free)
    return tuple(names)


def column_types(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], known: Mapping[str, type]
) -> dict[str, type]:
    """Return the type of every column, for `frame_of`; what is neither is written as JSON.

    `rows`: values of columns that are not known, and have no one type, are changed to text here;
    `known`: the types of some of them.

    >>> rows = [{"n": 1, "x": 1, "t": "a"}, {"n": None, "x": 0.5, "t": [2]}]
    >>> column_types(rows, ["n", "x", "t"], {})
    {'n': <class 'int'>, 'x': <class 'float'>, 't': <class 'str'>}
    >>> rows[1]["t"]
    '[2]'
    """
    found = {}
    for name in columns:
        kinds = {type(row[name]) for row in rows if row[name] is not None}
        found[name] = known.get(name) or _common(kinds)
        if name not in known and found[name] is str:
            for row in rows:
                if row[name] is not None and not isinstance(row[name], str):
                    row[name] = json.dumps(row[name], ensure_ascii=False)
    return found


def _common(kinds: set[type]) -> type:
    for kind in (bool, int, float):
        if kinds and kinds <= ({int, float} if kind is float else {kind}):
            return kind
    return str


# Files that are whole: never a half-written one in the place of an old one.


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place, and put it there when it is complete, and on disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/a.txt", b"old")
    ...     write_whole(f"{folder}/a.txt", b"new")
    ...     [(each.name, each.read_bytes()) for each in Path(folder).iterdir()]
    [('a.txt', b'new')]
    """
    target = Path(path)
    beside = target.with_name(f".{target.name[:100]}.{uuid4().hex}")
    try:
        try:
            with beside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {error.strerror}",
            hint="choose a folder that is there, and that may be written to",
        ) from None
