"""JSON from strangers: whatever is wrong with it is told as an error about their file."""

import json
import re
from collections.abc import Iterator
from typing import Any

from assay.errors import InputError
from assay.exchange.content import Content
from assay.exchange.limits import Limits
from assay.exchange.rows import Row


def records_of(content: Content, limits: Limits, word: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a JSON list, each with its place, such as "task 3"."""
    try:
        document = json.loads(content.text())
    except (ValueError, RecursionError) as error:
        raise InputError(f"{content.name} is not JSON: {_why(error)}") from None
    if not isinstance(document, list):
        raise InputError(f"{content.name} holds no list of {word}s, but {_kind(document)}")
    limits.check_rows(len(document), content.name)
    records = [(f"{word} {number}", each) for number, each in enumerate(document, start=1)]
    for where, record in records:
        if not isinstance(record, dict):
            raise InputError(f"{where} of {content.name} is no {word}, but {_kind(record)}")
        limits.check_field(record, content.name, where)
    return records


def records_of_lines(
    content: Content, limits: Limits
) -> Iterator[tuple[str, dict[str, Any]] | Row]:
    """Yield the objects of a file with one a line, each with its line; or what is wrong there."""
    for count, (number, line) in enumerate(_lines(content.text()), start=1):
        limits.check_rows(count, content.name)
        where = f"line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Row(where, problem=f"not JSON: {_why(error)}")
            continue
        limits.check_field(record, content.name, where)
        if isinstance(record, dict):
            yield where, record
        else:
            yield Row(where, problem=f"no JSON object, but {_kind(record)}")


def as_text(value: object) -> str:
    """Return what an item shows as text: texts as they are, nothing for nothing, or JSON.

    Examples
    --------
    >>> as_text("a"), as_text(None), as_text(1.5)
    ('a', '', '1.5')
    """
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def ascii_json(value: object, indent: int | None = None) -> bytes:
    r"""Return JSON in ASCII, for tools that guess at encodings.

    Examples
    --------
    >>> ascii_json({"text": "é"})
    b'{"text": "\\u00e9"}'
    """
    return json.dumps(value, indent=indent).encode()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers, one at a time: there may be many."""
    number, end = 1, 0
    # A JSON text may hold any line end but this one.
    for found in re.finditer(r"\S[^\n]*", text):
        number += text.count("\n", end, found.start())
        start, end = text.rfind("\n", 0, found.start()) + 1, found.end()
        yield number, text[start:end]


def _why(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno}, column {error.colno})"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _kind(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return kinds.get(type(value), f"a {type(value).__name__}")
