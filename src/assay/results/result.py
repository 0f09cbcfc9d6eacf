"""Results: rows and a document, from which every output is made."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, get_args, get_type_hints
from uuid import uuid4

from assay.errors import InputError, MissingDependencyError, did_you_mean
from assay.results.document import Document

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[str, ...] = get_args(Backend)

_KINDS = (str, int, float, bool)  # of values in a column


class Shown(ABC):
    """Document, shown alike everywhere."""

    @abstractmethod
    def document(self) -> Document:
        """Arrange the result in blocks, for every writer."""

    def __str__(self) -> str:
        from assay.results.markdown import text_of

        return text_of(self.document())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from assay.results.notebook import notebook_of

        return notebook_of(self.document())

    def to_markdown(self) -> str:
        """Write the result as Markdown."""
        from assay.results.markdown import markdown_of

        return markdown_of(self.document())


class Result(Shown):
    """Result of rows: JSON and DataFrames are made from these."""

    row_type: ClassVar[type]
    more_columns: ClassVar[Mapping[str, type]] = {}  # of the DataFrame: properties of a row

    if TYPE_CHECKING:

        @property
        def rows(self) -> Sequence[Any]:
            """Rows; at run time a field, or a property of the result's own."""

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values."""
        return asdict(cast(Any, self))

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame of the rows.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        types = {**types_of(self.row_type), **self.more_columns}
        rows = [{name: getattr(row, name) for name in types} for row in self.rows]
        return frame_of(rows, types, backend=backend)


def types_of(kind: type) -> dict[str, type]:
    """Fields of a dataclass with their types; an optional field has that of its values.

    Fields with several values are left out.

    >>> from assay.results.progress import HistoryPoint
    >>> types_of(HistoryPoint)["value"]
    <class 'float'>
    """
    types = {}
    for name, hint in get_type_hints(kind).items():
        options = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        kinds = [each for each in options if each is not NoneType]
        if len(kinds) == 1 and kinds[0] in _KINDS:
            types[name] = kinds[0]
    return types


def frame_of(
    rows: Sequence[Mapping[str, object]], types: Mapping[str, type], *, backend: Backend
) -> Any:
    """DataFrame of rows.

    `rows`: keys that are not in `types` are ignored; missing keys and None are missing values;
    `types`: columns: `str`, `int`, `float` or `bool`. They are the same without rows.

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
            hint=f"pip install {backend}, or use backend='pyarrow', which Assay installs",
        ) from None
    import narwhals as nw  # slow import, needed only for a DataFrame
    import pyarrow as pa

    arrow = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    schema = pa.schema([pa.field(name, arrow[kind]) for name, kind in types.items()])
    # Through Arrow, because pandas would convert a missing boolean to False.
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    return nw.from_arrow(table, backend=backend).to_native()


def free_names(columns: Sequence[str], own_names: Sequence[str]) -> tuple[str, ...]:
    """Names for the shown columns that differ from those of our own columns.

    >>> free_names(["text", "id", "shown id"], ["id", "label"])
    ('text', 'shown shown id', 'shown id')
    """
    names: list[str] = []
    for name in columns:
        free = name
        while free in (*own_names, *names) or (free != name and free in columns):
            free = f"shown {free}"
        names.append(free)
    return tuple(names)


def column_types(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], known: Mapping[str, type]
) -> dict[str, type]:
    """Type of every column, for `frame_of`; values of other types are written as JSON.

    `rows`: values of unknown columns of mixed types are converted to text in place; `known`: types
    of some columns.

    >>> rows = [{"n": 1, "x": 1, "t": "a"}, {"n": None, "x": 0.5, "t": [2]}]
    >>> column_types(rows, ["n", "x", "t"], {})
    {'n': <class 'int'>, 'x': <class 'float'>, 't': <class 'str'>}
    >>> rows[1]["t"]
    '[2]'
    """
    types = {}
    for name in columns:
        kinds = {type(row[name]) for row in rows if row[name] is not None}
        types[name] = known.get(name) or _common(kinds)
        if name not in known and types[name] is str:
            for row in rows:
                if row[name] is not None and not isinstance(row[name], str):
                    row[name] = json.dumps(row[name], ensure_ascii=False)
    return types


def _common(kinds: set[type]) -> type:
    for kind in (bool, int, float):
        if kinds and kinds <= ({int, float} if kind is float else {kind}):
            return kind
    return str


# Atomic writing: a half-written file never replaces an old one.


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file beside its place, and move it there when it is complete, and on disk.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/a.txt", b"old")
    ...     write_whole(f"{folder}/a.txt", b"new")
    ...     [(each.name, each.read_bytes()) for each in Path(folder).iterdir()]
    [('a.txt', b'new')]
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name[:100]}.{uuid4().hex}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {error.strerror}",
            hint="choose an existing folder that you can write to",
        ) from None
