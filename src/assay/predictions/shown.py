"""What people see of an item, as values that JSON can carry."""

import math
from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa


def shown_values(column: "pa.ChunkedArray[Any]") -> list[object]:
    """Return a column's values as JSON can carry them.

    Examples
    --------
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

    Examples
    --------
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
