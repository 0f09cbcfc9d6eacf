"""Differences between two files, as the row, the field and both values."""

import csv
import io
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import Any

from assay.audit.members import MOST_VALUES
from assay.core.types import read_json

_AT_MOST = 5  # of one file
_LONGEST = 80  # characters of a value
_ABSENT = object()

_Difference = tuple[tuple[str, ...], object, object]  # the place, the written and the derived value


def differences(name: str, written: bytes, follows: bytes, *, words: bool = True) -> list[str]:
    r"""Differences of a file from the one derived from the log; empty if they are equal.

    >>> differences("a.csv", b"item,answer\n7,yes\n", b"item,answer\n7,no\n")
    ["a.csv, row 1 (item '7'), answer: 'yes' is written, and 'no' follows"]
    >>> differences("a.json", b'{"note": "few"}', b'{"note": "some"}', words=False)
    ['a.json has the right figures, but other words than this version of Assay writes']
    """
    if written == follows:
        return []
    if PurePosixPath(name).suffix not in (".json", *_TABLES):
        more = "; do not run it" if name.endswith(".py") else ""
        return [f"{name} is not what this version of Assay writes{more}"]
    try:
        every = _all(name, written, follows)
        fields = _first_of_each_field(each for each in every if words or not _is_worded(each))
    except (ValueError, csv.Error, RecursionError) as error:
        return [f"{name} cannot be read: {str(error)[:_LONGEST]}"]
    lines = [
        f"{', '.join((name, *place))}: {_shown(one)} is written, and {_shown(two)} follows"
        + (f"; {more:,} more such" if more else "")
        for (place, one, two), more in fields
    ]
    beyond = [f"{name}: {len(lines) - _AT_MOST:,} other fields differ"] if lines[_AT_MOST:] else []
    same = "says the same in other bytes"
    if not words:
        same = "has the right figures, but other words than this version of Assay writes"
    return [*lines[:_AT_MOST], *beyond] or [f"{name} {same}"]


def _all(name: str, written: bytes, follows: bytes) -> Iterator[_Difference]:
    """Yield every difference; in a table, row by row."""
    suffix = PurePosixPath(name).suffix
    if suffix == ".json":
        yield from _differing(_json(written.decode()), json.loads(follows))
        return
    word, read = _TABLES[suffix]
    pairs: Iterator[tuple[Any, Any]] = zip_longest(
        read(written.decode()), read(follows.decode()), fillvalue=_ABSENT
    )
    for row, (one, two) in enumerate(pairs, start=1):
        record = two if isinstance(two, dict) else one
        named = isinstance(record, dict) and "item" in record
        item = f" (item {_shown(record['item'])})" if named else ""
        yield from _differing(one, two, (f"{word} {row}{item}",))


def _rows(text: str) -> Iterator[dict[str, Any]]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(rows, [])
    yield from (dict(zip_longest(header, row)) for row in rows)


def _records(text: str) -> Iterator[dict[str, Any]]:
    yield from map(_json, text.split("\n")[:-1])


def _json(written: str) -> Any:
    return read_json(written, at_most=MOST_VALUES)


_TABLES = {".csv": ("row", _rows), ".jsonl": ("line", _records)}


def _differing(written: Any, follows: Any, place: tuple[str, ...] = ()) -> Iterator[_Difference]:
    if isinstance(written, dict) and isinstance(follows, dict):
        for key in dict.fromkeys((*follows, *written)):
            one, two = written.get(key, _ABSENT), follows.get(key, _ABSENT)
            yield from _differing(one, two, (*place, str(key)))
    elif isinstance(written, list) and isinstance(follows, list):
        pairs = zip_longest(written, follows, fillvalue=_ABSENT)
        for number, (one, two) in enumerate(pairs, start=1):
            yield from _differing(one, two, (*place, f"number {number}"))
    # Compared by repr: 1 is not true, and NaN equals itself.
    elif written is _ABSENT or follows is _ABSENT or repr(written) != repr(follows):
        yield place, written, follows


def _is_worded(difference: _Difference) -> bool:
    _, written, follows = difference
    return all(isinstance(each, str) or each is _ABSENT for each in (written, follows))


def _first_of_each_field(differing: Iterator[_Difference]) -> list[tuple[_Difference, int]]:
    """First difference of each field of a table, with the number of further ones."""
    fields: dict[tuple[str, ...], tuple[_Difference, int]] = {}
    for each in differing:
        place = each[0]
        field = place[1:] if place and place[0].startswith(("row ", "line ")) else place
        first, more = fields.get(field, (each, -1))
        fields[field] = first, more + 1
    return list(fields.values())


def _shown(value: object) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
