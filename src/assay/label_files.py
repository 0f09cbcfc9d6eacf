"""Labels in files: an id and an answer a row, in CSV or Parquet.

A spreadsheet runs a cell that begins like a formula, and whoever wrote the item may have wanted
that. Such cells are written with an apostrophe before them, which spreadsheets take for "this is
text", and read without it; cells that begin with an apostrophe get a second one, so that every
text comes back as it was.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assay.answers import Answer, parse_answer
from assay.core.deck import Id
from assay.errors import AssayError, InputError, LabelError, did_you_mean

__all__ = ["Label", "LabelFile", "count", "first", "guard", "read_label_file"]

_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_SHOW_AT_MOST = 3  # examples in an error


@dataclass(frozen=True)
class Label:
    """An answer, and the line or row that it was read from."""

    line: int
    answer: Answer


@dataclass(frozen=True)
class LabelFile:
    """What a file of labels holds."""

    labels: dict[Id, Label]
    without_label: int


@dataclass(frozen=True)
class _Row:
    """A row as it stands there; `label` is None where there is none."""

    line: int
    id: object
    label: object
    problem: str = ""


def read_label_file(
    file: Path, *, id_columns: Sequence[str], label_column: str, id_kind: str
) -> LabelFile:
    r"""Return a file's labels, or raise with the lines that are wrong.

    Parameters
    ----------
    file : Path
        A Parquet file if its name ends in .parquet; otherwise CSV in UTF-8.
    id_columns : sequence of str
        Where the ids are: the first of these that the file has.
    label_column : str
        Where the answers are. Rows without one are counted and left out.
    id_kind : {"integer", "string"}
        What ids are here; the text 7 in a CSV file is either.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "labels.csv")
    ...     _ = file.write_text("id,label\n7,yes\n8,\n")
    ...     read_label_file(file, id_columns=["id"], label_column="label", id_kind="integer")
    LabelFile(labels={7: Label(line=2, answer=<Answer.YES: 'yes'>)}, without_label=1)
    """
    labels: dict[Id, Label] = {}
    without_label, problems = 0, []
    is_parquet = file.name.lower().endswith(".parquet")
    word, rows = ("row", _parquet_rows) if is_parquet else ("line", _csv_rows)
    for row in rows(file, id_columns, label_column):
        try:
            if row.problem:
                raise LabelError(row.problem)
            if row.label is None:
                without_label += 1
                continue
            item, answer = _parse_id(row.id, id_kind), parse_answer(row.label)
            earlier = labels.setdefault(item, Label(row.line, answer))
            if earlier.answer is not answer:
                raise LabelError(
                    f"{item!r} is {answer.value!r} here and {earlier.answer.value!r} "
                    f"in {word} {earlier.line}"
                )
        except AssayError as error:
            problems.append(f"{word} {row.line}: {error.problem}")
    if problems:
        raise LabelError(
            f"{count(problems, 'row')} of {file} cannot be taken; nothing was recorded",
            details=first(problems),
            hint="answers: yes, no, cannot judge; leave the label empty where there is none yet",
        )
    return LabelFile(labels, without_label)


def guard(text: str) -> str:
    """Return a cell's text as a spreadsheet may have it.

    Examples
    --------
    >>> guard("=1+1"), guard("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(_GUARDED) else text


def first(problems: Sequence[str]) -> str:
    """Return the first few problems, and how many more there are."""
    more = len(problems) - _SHOW_AT_MOST
    return "\n".join([*problems[:_SHOW_AT_MOST], *([f"and {more:,} more"] if more > 0 else [])])


def count(things: Sequence[object], name: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count([1, 2], "row")
    '2 rows'
    """
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"


def _csv_rows(file: Path, id_columns: Sequence[str], label_column: str) -> Iterator[_Row]:
    (_, header), *rows = _read_rows(file) or [(1, [])]
    columns = [_unguard(name) for name in header]
    id_at, label_at = _place(file, columns, *id_columns), _place(file, columns, label_column)
    for line, row in rows:
        if len(row) != len(columns):
            problem = f"{count(row, 'field')}, the first line has {len(columns)}"
            yield _Row(line, None, None, problem)
        else:
            label = _unguard(row[label_at]) if row[label_at].strip() else None
            yield _Row(line, _unguard(row[id_at]), label)


def _parquet_rows(file: Path, id_columns: Sequence[str], label_column: str) -> Iterator[_Row]:
    try:
        columns = pq.read_schema(file).names
        places = [_place(file, columns, *id_columns), _place(file, columns, label_column)]
        table = pq.read_table(file, columns=[columns[place] for place in places])
    except FileNotFoundError:
        raise InputError(f"{file} cannot be read: there is no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    ids, labels = (column.to_pylist() for column in table.columns)
    for line, (item, label) in enumerate(zip(ids, labels, strict=True), start=1):
        yield _Row(line, item, label)


def _read_rows(file: Path) -> list[tuple[int, list[str]]]:
    """Return the rows that are not blank, each with the line on which it begins."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{file} is not UTF-8 text: byte {error.start} is {error.object[error.start]:#04x}",
            hint="save it as 'CSV UTF-8'",
        ) from None
    rows = []
    line = 1
    limit = csv.field_size_limit(max(len(text), 1))  # the texts of items may be long
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        for row in reader:
            if row:
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line} of {file} is not CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _place(file: Path, columns: Sequence[str], *names: str) -> int:
    """Return where the first of the names is that the file has."""
    for name in names:
        if columns.count(name) == 1:
            return columns.index(name)
        if name in columns:
            raise InputError(
                f"column {name!r} is there more than once in {file}",
                details=f"columns: {', '.join(columns)}",
            )
    raise InputError(
        f"column {' or '.join(map(repr, names))} is not found in {file}",
        details=f"columns: {', '.join(columns)}",
        hint=did_you_mean(names[0], columns),
    )


def _parse_id(item: object, id_kind: str) -> Id:
    if id_kind == "string" and isinstance(item, str):
        return item
    if id_kind == "integer" and isinstance(item, int) and not isinstance(item, bool):
        return item
    if id_kind == "integer" and isinstance(item, str) and _INTEGER.fullmatch(item.strip()):
        return int(item)
    wanted = "whole number" if id_kind == "integer" else "string"
    raise LabelError(f"{item!r} is not a {wanted}, as the ids of this campaign are")


def _unguard(text: str) -> str:
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text
