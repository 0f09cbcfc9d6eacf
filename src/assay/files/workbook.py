"""Spreadsheet workbooks (.xlsx): the rows of the first sheet, as text.

Only values are read: no formula is computed, no link followed. Dates are numbers in such a file,
and are returned as numbers. A sheet is parsed as a stream and stops at the first limit, because a
few compressed bytes can name millions of cells.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from assay.errors import InputError
from assay.files.content import Content, LimitError, Limits, unzip

_CELL = re.compile(r"([A-Z]{1,3})[0-9]+")
_BOOK, _TEXTS = "xl/workbook.xml", "xl/sharedStrings.xml"
_LINKS = "xl/_rels/workbook.xml.rels"
_MOST_CELLS = 10_000_000  # rows times columns of a sheet
_TRUTH = {"1": "true", "0": "false"}


def is_workbook(content: Content) -> bool:
    """Whether a zip is a workbook: the names of its parts are not compressed."""
    return _BOOK.encode() in content.data()


def workbook_rows(content: Content, limits: Limits) -> list[tuple[int, list[str]]]:
    """Rows of the first sheet that are not blank, each with its number.

    The first of them names the columns: cells to the right of these are left out.
    """
    parts = {name: part.data() for name, part in unzip(content, ".xml")}
    parts |= {name: part.data() for name, part in unzip(content, ".rels")}
    try:
        texts, links = _Texts(), _Links()
        if _TEXTS in parts:  # otherwise all texts are in their cells
            _parse(parts, _TEXTS, content, texts)
        for name in (_BOOK, _LINKS):
            _parse(parts, name, content, links)
        sheet = _Sheet(texts.texts, content.name, limits)
        _parse(parts, links.first(), content, sheet)
    except (expat.ExpatError, ValueError, IndexError, KeyError, StopIteration) as error:
        if isinstance(error, InputError | LimitError):
            raise
        raise InputError(
            f"{content.name} is a workbook that cannot be read: {error}",
            hint="save the sheet as CSV in UTF-8",
        ) from None
    width = len(sheet.rows[0][1]) if sheet.rows else 0
    return [(number, cells + [""] * (width - len(cells))) for number, cells in sheet.rows]


class _Part:
    """Elements and texts of a part of a workbook, one after the other."""

    def start(self, tag: str, given: dict[str, str]) -> None:
        """Take an element's name and attributes."""

    def add(self, text: str) -> None:
        """Take a piece of text."""

    def end(self, tag: str) -> None:
        """Take the end of an element."""


def _parse(parts: Mapping[str, bytes], name: str, content: Content, part: _Part) -> None:
    """Parse a part; raise if it defines entities, which could expand endlessly."""
    if name not in parts:
        raise InputError(f"{content.name} is a workbook without {name}")

    def refuse(*_: object) -> None:
        raise InputError(f"{content.name} is a workbook that defines XML entities, and is not read")

    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, given: part.start(tag.rpartition("}")[2], given)
    parser.EndElementHandler = lambda tag: part.end(tag.rpartition("}")[2])
    parser.CharacterDataHandler = part.add
    parser.Parse(parts[name], True)


@dataclass
class _Links(_Part):
    """Sheets of a workbook, and the paths of its parts."""

    sheets: list[dict[str, str]] = field(default_factory=list)
    targets: dict[str, str] = field(default_factory=dict)

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "sheet":
            self.sheets.append(given)
        elif tag == "Relationship":
            self.targets[given["Id"]] = given["Target"]

    def first(self) -> str:
        """Path of the first sheet."""
        key = next(value for name, value in self.sheets[0].items() if name.endswith("}id"))
        target = self.targets[key]
        return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


@dataclass
class _Texts(_Part):
    """Texts that several cells share, in order."""

    texts: list[str] = field(default_factory=list)
    _pieces: list[str] | None = None  # of the text that is being read

    def start(self, tag: str, _: dict[str, str]) -> None:
        if tag == "si":
            self.texts.append("")
        self._pieces = [] if tag == "t" else None

    def add(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        if tag == "t" and self._pieces is not None:
            self.texts[-1] += "".join(self._pieces)
            self._pieces = None


@dataclass
class _Sheet(_Part):
    """Rows of a sheet that are not blank."""

    texts: list[str]
    name: str
    limits: Limits
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    _count: int = 0  # rows so far, blank ones too
    _number: int = 0
    _cells: list[str] = field(default_factory=list)
    _place: int = 0
    _kind: str = ""
    _pieces: list[str] = field(default_factory=list)
    _inside: bool = False  # of a value

    def start(self, tag: str, given: dict[str, str]) -> None:
        if tag == "row":
            self._count += 1
            self._number, self._cells = int(given.get("r") or self._count), []
        elif tag == "c":
            self._place = _place(given.get("r") or "", len(self._cells))
            self._kind, self._pieces = given.get("t") or "", []
        self._inside = tag == ("t" if self._kind == "inlineStr" else "v")

    def add(self, text: str) -> None:
        if self._inside:
            self._pieces.append(text)

    def end(self, tag: str) -> None:
        self._inside = False
        if tag == "c" and (not self.rows or self._place < len(self.rows[0][1])):
            self._cells += [""] * (self._place - len(self._cells)) + [self._value()]
        elif tag == "row" and any(cell.strip() for cell in self._cells):
            self.rows.append((self._number, self._cells))
            self._check()

    def _value(self) -> str:
        written = "".join(self._pieces)
        if self._kind == "s" and written:
            return self.texts[int(written)]
        return _TRUTH.get(written, written) if self._kind == "b" else written

    def _check(self) -> None:
        """Raise if there are too many rows or cells."""
        count, columns = len(self.rows), len(self.rows[0][1])
        self.limits.check_rows(count - 1, self.name)
        self.limits.check_field(self._cells, self.name, f"row {self._number}")
        if count * columns > _MOST_CELLS:
            raise LimitError(
                f"{self.name} has more than {_MOST_CELLS:,} cells in {columns:,} columns; nothing "
                "was recorded",
                hint="save the columns that are needed as CSV",
            )


def _place(name: str, following: int) -> int:
    """Column number of a cell, from 0."""
    match = _CELL.fullmatch(name)
    if match is None:
        return following
    place = 0
    for letter in match[1]:
        place = 26 * place + ord(letter) - ord("A") + 1
    if place - 1 < following:
        raise ValueError(f"cell {name} is out of order")
    return place - 1
