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
from assay.errors import PredictionsError
from assay.lazy import later
from assay.predictions.column import Arrow, Column, Loaded, refuse_missing_columns
from assay.predictions.keys import key_column, key_parts, with_parts

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = later("narwhals")

# What people see of an item, as values that JSON can carry.


def shown_values(column: "pa.ChunkedArray[Any]") -> list[object]:
    """Return a column's values as JSON can carry them.

    >>> shown_values(pa.chunked_array([[Decimal("1.50"), None]]))
    ['1.50', None]
    """
    try:
        values = column.to_pylist()
    except ValueError:
        # Times in nanoseconds that no Python type can hold.
        values = [str(value) for value in column]
    return [jsonable(value) for value in values]


def jsonable(value: object) -> object:
    """Return one value as JSON can carry it.

    Numbers, text, true, false and None stay what they are; numpy's scalars become Python's. NaN and
    NaT become None: they stand for a missing value. Dates and times become ISO 8601 text, decimals
    their digits, infinities 'inf' and '-inf', bytes their text where they are UTF-8 and 0x... where
    not. Lists and mappings are converted item by item; anything else becomes ``str(value)``.

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
    # Half a surrogate pair is no text that a database or a browser would take.
    (str, lambda text: text.encode(errors="replace").decode()),
    (float, _float),
    (Decimal, lambda number: None if number.is_nan() else str(number)),
    ((date, time), _moment),
    (bytes, _decoded),
    (Mapping, lambda items: {str(key): jsonable(item) for key, item in items.items()}),
    ((list, tuple), lambda items: [jsonable(item) for item in items]),
)


Values: TypeAlias = "np.ndarray | list[Any] | nw.Series[Any]"

# What Arrow, and numpy and pandas under it, raise on values that do not make one column.
_NO_COLUMN = (pa.ArrowException, ValueError, TypeError, OverflowError)


def read_table(source: object, used: Sequence[str], show: Sequence[str]) -> Loaded:
    """Read columns of a pandas, polars or Arrow table, or any other that narwhals knows.

    Nothing is copied that can be shared. Of a lazy frame the columns named are collected.

    >>> table = pa.table({"p": [0.5, 0.7], "text": ["a", "b"]})
    >>> loaded = read_table(table, ["p"], ["text"])
    >>> loaded.source, loaded.show(np.array([1]), [1])
    ('pyarrow Table, 2 rows', [{'text': 'b'}])
    """
    label = f"{type(source).__module__.split('.')[0]} {type(source).__name__}"
    native: Any = source
    try:
        frame: Any = nw.from_native(native)
    except TypeError as error:
        raise PredictionsError(
            f"predictions cannot be read from what is of type {type(source).__name__}",
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


def read_mapping(
    source: Mapping[str, object], used: Sequence[str], show: Sequence[str], label: str
) -> Loaded:
    """Read columns of a mapping from names to arrays, lists or series.

    `used`, `show`: columns that are needed, and those that reviewers see.

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
    return Loaded(f"{label}, {rows:,} rows", columns, shown)


def _line(values: object, where: str) -> Values:
    """Return a mapping's value as a one-dimensional line of values."""
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
    """Return the values as Arrow has them, without a copy where they are numbers."""
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
