"""Predictions from tables in memory: DataFrames, Arrow, and mappings of columns."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.core.types import Ints
from assay.errors import PredictionsError, counted
from assay.lazy import later
from assay.predictions.column import Arrow, Column, Loaded, is_text, key_parts, with_parts
from assay.predictions.faults import refuse_missing_columns
from assay.predictions.roles import IdColumns

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")
    nw = later("narwhals")

# Composite keys: ids made of several columns, for rows that have no id of their own.
#
# A key is named by its columns with commas between them, ``day,user,rank``, and written as their
# values with bars between them: ``2026-11-17|u7|3``. A bar or a backslash in a value is escaped
# with a backslash, so rows with different values have different keys. A key with a missing value is
# missing.


BAR, ESCAPE = "|", "\\"


def key_name(id: IdColumns | None) -> str | None:
    """Name of the id column.

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


def key_column(name: str, parts: Sequence[Column]) -> Column:
    r"""Keys of rows in memory.

    >>> columns = {"user": ["a|b", None], "rank": [3, 4]}
    >>> parts = [Column(name, "a table", pa.chunked_array([columns[name]])) for name in columns]
    >>> key_column("user,rank", parts).data.to_pylist()
    ['a\\|b|3', None]
    """
    texts = [_text(part) for part in parts]
    compute: Any = pc
    bar = pa.scalar(BAR, pa.large_string())
    keys: Arrow = compute.binary_join_element_wise(*texts, bar, null_handling="emit_null")
    return Column(name, parts[0].source, keys)


def _text(part: Column) -> Arrow:
    kind = part.data.type
    if is_text(kind):
        text = part.data.cast(pa.large_string())
        for sign in (ESCAPE, BAR):
            text = pc.replace_substring(text, sign, ESCAPE + sign)
        return text
    types = pa.types
    if not (types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind)):
        raise no_key_part(part.name, str(kind), part.source)
    return part.data.cast(pa.large_string())


def no_key_part(name: str, kind: str, source: str) -> PredictionsError:
    """Error: a column cannot be part of a key."""
    return PredictionsError(
        f"column {name!r} of {source} is of type {kind}, and a key is to be made of it",
        details="a key is made of text, whole numbers, dates, true and false, which every engine "
        "writes alike",
        hint="make it text first, or a date",
    )


# Displayed values of an item, in a form that JSON can represent.


def shown_values(column: "pa.ChunkedArray[Any]") -> list[object]:
    """Values of a column, in a form that JSON can represent."""
    try:
        values = column.to_pylist()
    except ValueError:
        # Times in nanoseconds that no Python type can represent.
        values = [str(value) for value in column]
    return [jsonable(value) for value in values]


def jsonable(value: object) -> object:
    """Convert a value to a form that JSON can represent.

    Numbers, text, true, false and None are unchanged; numpy's scalars become Python's. NaN and NaT
    become None: they are missing values. Dates and times become ISO 8601 text, decimals their
    digits, infinities 'inf' and '-inf', bytes their text if UTF-8 and otherwise 0x.... Lists
    and mappings are converted item by item; anything else becomes ``str(value)``.

    >>> jsonable({"day": date(2026, 11, 15), "scores": [np.float64(0.5), float("nan")]})
    {'day': '2026-11-15', 'scores': [0.5, None]}
    """
    plain = value.item() if isinstance(value, np.generic) else value
    for kinds, convert in _CONVERSIONS:
        if isinstance(plain, kinds):
            return convert(plain)
    return str(plain)


def _float(number: float) -> float | str | None:
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(number)


def _moment(moment: date | time) -> str | None:
    text = moment.isoformat()
    return None if text == "NaT" else text


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"


_CONVERSIONS: tuple[tuple[type | tuple[type, ...], Callable[[Any], object]], ...] = (
    ((NoneType, bool, int), lambda same: same),
    # Databases and browsers reject half a surrogate pair.
    (str, lambda text: text.encode(errors="replace").decode()),
    (float, _float),
    (Decimal, lambda number: None if number.is_nan() else str(number)),
    ((date, time), _moment),
    (bytes, _decoded),
    (Mapping, lambda items: {str(key): jsonable(item) for key, item in items.items()}),
    ((list, tuple), lambda items: [jsonable(item) for item in items]),
)


Values: TypeAlias = "np.ndarray | list[Any] | nw.Series[Any]"

# Exceptions of Arrow, numpy and pandas for values that do not form a column.
_NO_COLUMN = (pa.ArrowException, ValueError, TypeError, OverflowError)


def read_table(source: object, used: Sequence[str], show: Sequence[str]) -> Loaded:
    """Read columns of a pandas, polars or Arrow table, or any other that narwhals supports.

    Copies nothing that can be shared. Of a lazy frame, only the named columns are collected.

    >>> table = pa.table({"p": [0.5, 0.7], "text": ["a", "b"]})
    >>> loaded = read_table(table, ["p"], ["text"])
    >>> loaded.source, loaded.show(np.array([1]), [1])
    ('pyarrow Table, 2 rows', [{'text': 'b'}])
    """
    label = f"{type(source).__module__.split('.')[0]} {type(source).__name__}"
    native = _with_index(source, [*used, *show])
    try:
        frame: Any = nw.from_native(native)
    except TypeError as error:
        raise PredictionsError(
            f"predictions cannot be read from an object of type {type(source).__name__}",
            details="they are read from a pandas, polars or pyarrow table, a mapping of column "
            "names to arrays, or the path of a .parquet or .csv file",
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise PredictionsError(
            f"{label} has several columns of one name",
            details=" ".join(str(error).split()),
            hint="rename them",
        ) from error
    there = frame.collect_schema().names()
    wanted = with_parts([*used, *show], there)
    refuse_missing_columns(wanted, there, label)
    frame = frame.select(wanted)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return _loaded({name: frame.get_column(name) for name in wanted}, used, show, label)


def _with_index(source: Any, wanted: Sequence[str]) -> Any:
    """Frame of pandas with its index as columns, if a wanted column is there."""
    names = [name for name in getattr(getattr(source, "index", None), "names", ()) if name]
    in_index = {*names}.intersection(with_parts(wanted, names)) if names else set()
    return source.reset_index() if in_index - {*(source.columns if names else ())} else source


def refuse_lost_index(source: object) -> None:
    """Raise if a frame of pandas has an index of its own: ids would be row numbers instead.

    >>> import pandas
    >>> refuse_lost_index(pandas.DataFrame({"p": [0.5, 0.9]}, index=["a", "b"]))
    Traceback (most recent call last):
    assay.errors.PredictionsError: the index of the DataFrame is not the row numbers: 'a', 'b'
    without id= items are known by the numbers of their rows, and the index would be lost
    hint: frame.rename_axis('item') and id='item'; or frame.reset_index(drop=True)
    """
    index: Any = getattr(source, "index", None)
    if not hasattr(index, "names"):  # not of pandas
        return
    if index.names == [None] and (
        index.dtype.kind == "i" and (index == np.arange(len(index))).all()
    ):
        return
    name = next((each for each in index.names if each is not None), None)
    few = ", ".join(repr(getattr(each, "item", lambda each=each: each)()) for each in index[:3])
    raise PredictionsError(
        f"the index of the {type(source).__name__} is not the row numbers: {few}",
        details="without id= items are known by the numbers of their rows, and the index would "
        "be lost",
        hint=("frame.rename_axis('item') and id='item'" if name is None else f"id={name!r}")
        + "; or frame.reset_index(drop=True)",
    )


def read_mapping(
    source: Mapping[str, object], used: Sequence[str], show: Sequence[str], label: str
) -> Loaded:
    """Read columns of a mapping from names to arrays, lists or series.

    >>> loaded = read_mapping({"p": np.array([0.5, 0.7])}, ["p"], [], "arrays")
    >>> str(loaded.columns["p"])
    "column 'p' of arrays"
    """
    there = [str(name) for name in source]
    wanted = with_parts([*used, *show], there)
    refuse_missing_columns(wanted, there, label)
    values = {name: _line(source[name], f"column {name!r} of {label}") for name in wanted}
    if len({len(line) for line in values.values()}) > 1:
        lengths = ", ".join(f"{name} {len(line):,}" for name, line in values.items())
        raise PredictionsError(
            f"the columns of {label} differ in length",
            details=lengths,
            hint="every item has one value in each",
        )
    return _loaded(values, used, show, label)


def _loaded(
    values: Mapping[str, Values], used: Sequence[str], show: Sequence[str], label: str
) -> Loaded:
    def shown(rows: Ints, _ids: Sequence[Id]) -> list[dict[str, object]]:
        cards: list[dict[str, object]] = [{} for _ in rows]
        for name in show:
            for card, value in zip(cards, _shown(_take(values[name], rows)), strict=True):
                card[name] = value
        return cards

    def column(name: str) -> Column:
        parts = key_parts(name, list(values))
        if parts:
            return key_column(name, [column(part) for part in parts])
        try:
            return Column(name, label, _arrow(values[name]))
        except _NO_COLUMN as error:
            raise PredictionsError(
                f"column {name!r} of {label} cannot be read",
                details=f"{_type_name(values[name])}: {error}",
                hint="its values must be of one type: numbers of 64 bits, text, or true and false",
            ) from error

    columns = {name: column(name) for name in used}
    rows = min(len(column.data) for column in columns.values())
    return Loaded(f"{label}, {counted(rows, 'row')}", columns, shown)


def _line(values: object, where: str) -> Values:
    """Value of a mapping as a one-dimensional series."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise PredictionsError(
                f"{where} is an array of shape {values.shape}",
                details="it must have one dimension",
                hint="take one column of it, or flatten it with .ravel()",
            )
        return values
    if isinstance(values, list | tuple):
        return list(values)
    native: Any = pa.chunked_array([values]) if isinstance(values, pa.Array) else values
    try:
        series: Values = nw.from_native(native, series_only=True)
    except TypeError as error:
        if hasattr(values, "__array__"):
            return _line(np.asarray(values), where)
        raise PredictionsError(
            f"{where} is of type {type(values).__name__}",
            details="it must be a one-dimensional array, a list or a series",
        ) from error
    return series


def _type_name(values: Values) -> str:
    native = values.to_native() if isinstance(values, nw.Series) else values
    return str(getattr(native, "dtype", type(native).__name__))


def _arrow(values: Values) -> Arrow:
    """Values as Arrow data, without a copy for numbers."""
    if isinstance(values, nw.Series):
        column = values.to_arrow()
        return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    if isinstance(values, np.ndarray) and values.dtype == np.longdouble:
        with np.errstate(over="ignore"):
            values = values.astype(np.float64)
    try:
        return pa.chunked_array([pa.array(values, from_pandas=True)])
    except OverflowError:
        return pa.chunked_array([pa.array(values, pa.uint64())])


def _take(values: Values, rows: Ints) -> Values:
    return [values[row] for row in rows] if isinstance(values, list) else values[rows]


def _shown(values: Values) -> list[object]:
    try:
        return shown_values(_arrow(values))
    except _NO_COLUMN:
        # A column of objects of several types.
        return [jsonable(value) for value in values]
