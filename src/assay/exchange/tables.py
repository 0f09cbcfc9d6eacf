"""Labels in tables: an id and an answer per row, in CSV, JSON lines or Parquet."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.core.types import read_json
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayError, InputError, counted, nearest
from assay.exchange.rows import (
    FURTHER,
    Checked,
    Row,
    as_text,
    check_rows,
    records_of,
    records_of_lines,
    row_of,
    shorten,
)
from assay.files import UNLIMITED, Content, Limits, workbook_rows
from assay.lazy import later
from assay.results import Item, free_names

if TYPE_CHECKING:
    import pyarrow.parquet as pq
else:
    pq = later("pyarrow.parquet")

# Writing files: items to label, and labels.


@dataclass(frozen=True)
class Batch:
    """Items to label."""

    question: str  # question for each item
    columns: tuple[str, ...]  # displayed columns
    items: tuple[Item, ...]
    classes: Vocabulary = field(default_factory=Vocabulary)  # classes of an item


_ANSWERS = ("yes", "no", "true", "false", "1", "0", "1.0", "0.0")
_READ = ("id", "label", *FURTHER)  # columns that are read back


@dataclass(frozen=True)
class Sheet:
    r"""Rows under named columns.

    >>> Sheet(("id", "label"), (("=1+1", "yes"), (-5, None))).to_csv()
    b"id,label\r\n'=1+1,yes\r\n'-5,\r\n"
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def to_csv(self) -> bytes:
        """Sheet as CSV (RFC 4180), with cells guarded against spreadsheets."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow([guard(column) for column in self.columns])
        writer.writerows([_cell(value) for value in row] for row in self.rows)
        return text.getvalue().encode()

    def to_jsonl(self) -> bytes:
        """One JSON object per row."""
        return _lines({**record, "id": str(record["id"])} for record in self.records())

    def records(self) -> list[dict[str, object]]:
        """One mapping per row."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def sheet_of(batch: Batch) -> Sheet:
    """Items of a batch, with an empty column for the label."""
    names = free_names(batch.columns, _READ)
    rows = ((item.id, *(item[name] for name in batch.columns), None) for item in batch.items)
    return Sheet(("id", *names, "label"), tuple(rows))


def batch_as_csv(batch: Batch) -> bytes:
    """Items to label as CSV, with an empty column for the label."""
    return sheet_of(batch).to_csv()


def batch_as_jsonl(batch: Batch) -> bytes:
    """Items to label as JSON lines; displayed values are a nested object and keep their types."""
    return _lines(
        {"id": str(item.id), "shown": {name: item[name] for name in batch.columns}, "label": None}
        for item in batch.items
    )


def _lines(records: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in records).encode()


# Cells that are safe in a spreadsheet.
#
# A spreadsheet runs a cell that begins like a formula, and the author of an item may exploit that.
# Such cells are written with an apostrophe before them, which spreadsheets read as "this is text",
# without showing it; cells that begin with an apostrophe get a second one, so that every text is
# restored exactly.

_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")


def _cell(value: object) -> str:
    """Value as a cell; a float is no formula, whatever its first character."""
    return as_text(value) if isinstance(value, float) else guard(as_text(value))


def guard(text: str) -> str:
    """Text of a cell, safe for a spreadsheet.

    >>> guard("=1+1"), guard("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(_GUARDED) else text


def unguard(text: str) -> str:
    """Original text of a guarded cell.

    >>> unguard("'=1+1"), unguard("'tis plain")
    ('=1+1', "'tis plain")
    """
    return text[1:] if text[:1] == "'" and text[1:].startswith(_GUARDED) else text


# Reading files.


@dataclass(frozen=True)
class Columns:
    """Columns of a table, by role."""

    ids: tuple[str, ...] = ("id",)  # the first of these that is there holds the ids
    label: str = "label"
    # Optional fields of `rows.FURTHER`, read if the table has such columns.
    further: tuple[str, ...] = FURTHER
    # Columns of optional fields under other names. These must exist.
    named: Mapping[str, str] = field(default_factory=dict)


def csv_rows(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield the rows of a CSV file (RFC 4180), or one with other separators."""
    return _sheet_rows(_parse(content, limits), content.name, columns, "line")


def xlsx_rows(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield the rows of a workbook's first sheet."""
    return _sheet_rows(workbook_rows(content, limits), content.name, columns, "row")


def _sheet_rows(
    parsed: list[tuple[int, list[str]]], name: str, columns: Columns, word: str
) -> Iterator[Row]:
    (_, header), *rows = parsed or [(1, [])]
    names = [unguard(cell).strip() for cell in header]
    places = _places(name, names, columns)
    for line, row in rows:
        where = f"{word} {line}"
        if len(row) != len(names):
            fields = counted(len(row), "field")
            yield Row(where, problem=f"{fields}, the first line has {len(names)}")
        else:
            yield _row(where, [unguard(cell) for cell in row], places)


def jsonl_rows(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield the row of each line, by the columns' names."""
    listed = content.text().lstrip().startswith("[")
    lines = records_of(content, limits, "row") if listed else records_of_lines(content, limits)
    for line in lines:
        if isinstance(line, Row):
            yield line
            continue
        where, record = line
        key = next((name for name in columns.ids if name in record), columns.ids[0])
        needed = [key, columns.label, *columns.named.values()]
        missing = [name for name in needed if name not in record]
        if missing:
            names = ", ".join(record) or "nothing"
            yield Row(where, problem=f"{missing[0]!r} is missing; it has {names}")
            continue
        further = {name: record.get(columns.named.get(name, name)) for name in columns.further}
        yield row_of(where, id=record[key], label=record[columns.label], **further)


def table_records(content: Content, limits: Limits) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the place and the cells by name of each row of a table: CSV, a workbook or Parquet."""
    if content.suffix == ".parquet":
        file = _parquet(content, limits)
        names = file.schema_arrow.names
        for number, row in enumerate(_cells_of(file, names, content.name), start=1):
            yield f"row {number}", dict(zip(names, row, strict=True))
        return
    is_book = content.suffix == ".xlsx"
    parsed = workbook_rows(content, limits) if is_book else _parse(content, limits)
    limits.check_rows(len(parsed) - 1, content.name)
    (_, header), *rows = parsed or [(1, [])]
    names = [unguard(cell).strip() for cell in header]
    for line, texts in rows:
        cells = [unguard(text) for text in texts]
        yield f"{'row' if is_book else 'line'} {line}", dict(zip(names, cells, strict=False))


def parquet_rows(content: Content, columns: Columns, limits: Limits) -> Iterator[Row]:
    """Yield the rows of a Parquet file; uploads are rejected, as a few bytes could be endless."""
    if content.path is None:
        raise InputError(
            "Parquet cannot be uploaded, only read from a file", hint="upload CSV or JSON lines"
        )
    file = _parquet(content, limits)
    names = file.schema_arrow.names
    places = _places(content.name, names, columns)
    read = [names[place] for place in places.values()]
    places = _places(content.name, read, columns)
    for number, row in enumerate(_cells_of(file, read, content.name), start=1):
        where = f"row {number}"
        limits.check_field(list(row), content.name, where)
        yield _row(where, row, places)


def _parquet(content: Content, limits: Limits) -> "pq.ParquetFile":
    """Open a Parquet file; texts are read as dictionaries, as they may be stored."""
    try:
        path = content.check()
        schema = pq.read_schema(path)
        texts = [each.name for each in schema if pa.types.is_string(each.type)]
        file = pq.ParquetFile(path, read_dictionary=texts)
    except AssayError:  # an InputError is a ValueError, too
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{content.name} cannot be read: {error}") from None
    limits.check_rows(file.metadata.num_rows, content.name)
    return file


def _cells_of(
    file: "pq.ParquetFile", names: Sequence[str], name: str
) -> Iterator[tuple[object, ...]]:
    """Yield the cells of each row."""
    try:
        for batch in file.iter_batches(columns=list(names)):
            yield from zip(*map(_values, batch.columns), strict=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, AssayError):
            raise
        raise InputError(f"{name} cannot be read: {error}") from None


def _values(column: "pa.Array[Any]") -> list[object]:
    """Values of a column. Equal texts are one object: a few bytes can name a text a million times.

    >>> _values(pa.array(["long", None, "long"]).dictionary_encode())
    ['long', None, 'long']
    """
    if not isinstance(column, pa.DictionaryArray):
        return column.to_pylist()
    texts = column.dictionary.to_pylist()
    return [None if index is None else texts[index] for index in column.indices.to_pylist()]


def _row(where: str, cells: Sequence[object], places: Mapping[str, int]) -> Row:
    return row_of(where, **{name: cells[place] for name, place in places.items()})


def _parse(content: Content, limits: Limits) -> list[tuple[int, list[str]]]:
    """Rows that are not blank, each with the number of its first line."""
    text = content.text()
    if re.match(r"\s*<(!doctype|html|table|\?xml)\b", text, re.IGNORECASE):
        raise InputError(
            f"{content.name} is a web page, not a table: it begins with "
            f"{shorten(text.strip().splitlines()[0])!r}",
            hint="export the table as CSV; a link may have led to a login page",
        )
    separator = _separator(text)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    limit = csv.field_size_limit(max(len(text), 1))  # the texts of items may be long
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        for row in reader:
            if row:
                limits.check_rows(len(rows), content.name)
                if max(map(len, row)) > limits.field:
                    limits.check_field(row, content.name, f"line {line}")
                rows.append((line, row))
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"line {line} of {content.name} is not CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)
    return rows


def _separator(text: str) -> str:
    r"""Separator of the columns: the most frequent candidate in the first line.

    >>> _separator("id;label\n7;yes"), _separator("id\tlabel"), _separator("id")
    (';', '\t', ',')
    """
    names = text.lstrip().split("\n", 1)[0]
    return max(",;\t|", key=names.count)


def _places(name: str, columns_in_file: Sequence[str], columns: Columns) -> dict[str, int]:
    """Column number of each field of a row."""
    wanted = {
        "id": columns.ids,
        "label": (columns.label,),
        **{each: (each,) for each in columns.further if each in columns_in_file},
        **{each: (column,) for each, column in columns.named.items()},
    }
    places = {each: _place(name, columns_in_file, names) for each, names in wanted.items()}
    missing = {each: wanted[each] for each, place in places.items() if place is None}
    for names in missing.values():
        raise InputError(
            f"{name} has no column {' or '.join(map(repr, names))}",
            details=shorten(f"columns: {', '.join(columns_in_file)}"),
            hint=_column_hint(missing, [*columns_in_file], places),
        )
    return {each: place for each, place in places.items() if place is not None}


def _place(name: str, columns: Sequence[str], names: Sequence[str]) -> int | None:
    """Position of the first wanted column that the file has; None if it has none."""
    column = next((each for each in names if each in columns), None)
    if column is not None and columns.count(column) > 1:
        raise InputError(
            f"column {column!r} occurs more than once in {name}",
            details=shorten(f"columns: {', '.join(columns)}"),
        )
    return None if column is None else columns.index(column)


def _column_hint(
    missing: Mapping[str, Sequence[str]], columns: list[str], places: Mapping[str, int | None]
) -> str:
    """Hint for a table with other columns, or without a header.

    The label is named before the id: of two columns, the other one is that of the ids.
    """
    if any(cell.strip().lower() in _ANSWERS for cell in columns):
        return "its first line seems to be a row: add a line with the column names, as in id,label"
    taken = {columns[place] for place in places.values() if place is not None}
    left = [each for each in columns if each.strip() and each not in taken]
    named: dict[str, str] = {}
    for part in sorted(missing, reverse=True):  # label before id
        near = next(filter(None, (nearest(name, left) for name in missing[part])), None)
        if not left:
            return ""
        named[part] = near or left[0 if part == "id" else -1]
        left.remove(named[part])
    words = " ".join(f"{part}_column={named[part]!r}" for part in missing)
    return shorten(f"name the column{'s' if len(named) > 1 else ''}: {words}")


# One answer per item, from a table made before the campaign.


def read_label_file(
    file: Path,  # Parquet, a workbook (.xlsx) or JSON lines if its name ends so; otherwise CSV
    *,
    id_columns: Sequence[str],  # columns of ids: the first one in the file is used
    label_column: str,  # column of answers; rows without one are counted and skipped
    id_kind: str,  # kind of the ids; the text 7 in a CSV file is either
    classes: Vocabulary,  # classes of an item
) -> Checked:
    r"""Labels of a file; raise with the invalid lines.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "labels.csv")
    ...     _ = file.write_text("id,label\n7,yes\n8,\n")
    ...     labels = read_label_file(
    ...         file, id_columns=["id"], label_column="label", id_kind="integer",
    ...         classes=Vocabulary())
    >>> [(label.item_id, label.answer) for label in labels.rows], labels.without_label
    ([('7', 'yes')], 1)
    """
    content = Content(file)
    jsonl = dict.fromkeys((".jsonl", ".ndjson", ".json"), jsonl_rows)
    readers = {".parquet": parquet_rows, ".xlsx": xlsx_rows, **jsonl}
    read = readers.get(content.suffix, csv_rows)
    # Reviewers are ignored here: different answers of two people are a contradiction.
    columns = Columns(tuple(id_columns), label_column, further=())
    rows = read(content, columns, UNLIMITED)
    return check_rows(rows, name=content.name, id_kind=id_kind, limits=UNLIMITED, classes=classes)


# Meaning of a file's words, in a separate file.

_MAPPED = ("word", "answer")


def read_map(file: str | PathLike[str]) -> dict[str, object]:
    r"""Meaning of words, from a file: an object in JSON, or a table.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "words.csv")
    ...     _ = file.write_text("word,answer\nmathematics,math\n")
    ...     read_map(file)
    {'mathematics': 'math'}
    """
    content = Content(file)
    if content.suffix == ".json":
        try:
            document = read_json(content.text())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{content.name} is not JSON: {error}") from None
        if not isinstance(document, dict):
            raise InputError(
                f"{content.name} is not a list of words and answers",
                details="expected a JSON object of words and answers",
            )
        return document
    meaning: dict[str, object] = {}
    for where, cells in table_records(content, UNLIMITED):
        names = _MAPPED if all(name in cells for name in _MAPPED) else tuple(cells)[:2]
        word, answer = (*(cells[name] for name in names), None, None)[:2]
        if word is None or answer is None or not str(word).strip() or not str(answer).strip():
            raise InputError(
                f"{where} of {content.name} has no word with an answer",
                details="expected a column of words and a column of answers: word,answer",
            )
        if meaning.setdefault(str(word), answer) != answer:
            raise InputError(f"{content.name} has more than one meaning for {str(word)!r}")
    return meaning
