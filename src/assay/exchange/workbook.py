"""Spreadsheet workbooks (.xlsx): the rows of the first sheet, as text.

Only values are read: no formula is computed, no link followed. Dates are numbers in such a file,
and are returned as numbers.
"""

import re
from collections.abc import Iterator
from xml.etree import ElementTree
from xml.parsers import expat

from assay.errors import InputError
from assay.exchange.content import Content, unzip

_CELL = re.compile(r"([A-Z]{1,3})[0-9]+")
_BOOK = "xl/workbook.xml"


def is_workbook(content: Content) -> bool:
    """Whether a zip is a workbook: the names of its parts are not compressed."""
    return _BOOK.encode() in content.data()


def workbook_rows(content: Content) -> list[tuple[int, list[str]]]:
    """Rows of the first sheet that are not blank, each with its number."""
    parts = {name: part.data() for name, part in unzip(content, ".xml")}
    parts |= {name: part.data() for name, part in unzip(content, ".rels")}
    try:
        texts = [_text(each) for each in _root(parts, "xl/sharedStrings.xml", content)]
        sheet = _root(parts, _first_sheet(parts, content), content)
        rows = []
        for count, row in enumerate(_all(sheet, "row"), start=1):
            cells = _cells(row, texts)
            if any(cell.strip() for cell in cells):
                rows.append((int(row.get("r") or count), cells))
    except (expat.ExpatError, ValueError, IndexError, KeyError, StopIteration) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{content.name} is a workbook that cannot be read: {error}",
            hint="save the sheet as CSV in UTF-8",
        ) from None
    width = max((len(cells) for _, cells in rows), default=0)
    return [(number, cells + [""] * (width - len(cells))) for number, cells in rows]


def _root(parts: dict[str, bytes], name: str, content: Content) -> ElementTree.Element:
    data = parts.get(name)
    if data is None:
        if name == "xl/sharedStrings.xml":
            return ElementTree.Element("none")  # all texts stand in their cells
        raise InputError(f"{content.name} is a workbook without {name}")
    return _parsed(data, content)


def _parsed(data: bytes, content: Content) -> ElementTree.Element:
    """Elements of a part; raise if it defines entities, which could expand endlessly."""

    def refuse(*_: object) -> None:
        raise InputError(f"{content.name} is a workbook that defines entities, and is not read")

    builder = ElementTree.TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(data, True)
    return builder.close()


def _first_sheet(parts: dict[str, bytes], content: Content) -> str:
    sheet = next(_all(_root(parts, _BOOK, content), "sheet"))
    key = next(value for name, value in sheet.attrib.items() if name.endswith("}id"))
    links = _root(parts, "xl/_rels/workbook.xml.rels", content)
    target = next(each.attrib["Target"] for each in links if each.get("Id") == key)
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _all(root: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    return (each for each in root.iter() if each.tag.rpartition("}")[2] == name)


def _text(element: ElementTree.Element) -> str:
    return "".join(each.text or "" for each in _all(element, "t"))


def _cells(row: ElementTree.Element, texts: list[str]) -> list[str]:
    cells: list[str] = []
    for cell in _all(row, "c"):
        place = _place(cell.get("r") or "", len(cells))
        cells += [""] * (place - len(cells)) + [_value(cell, texts)]
    return cells


def _place(name: str, following: int) -> int:
    found = _CELL.fullmatch(name)
    if found is None:
        return following
    place = 0
    for letter in found[1]:
        place = 26 * place + ord(letter) - ord("A") + 1
    if place - 1 < following:
        raise ValueError(f"cell {name} is out of order")
    return place - 1


def _value(cell: ElementTree.Element, texts: list[str]) -> str:
    kind = cell.get("t")
    if kind == "inlineStr":
        return _text(cell)
    value = next(_all(cell, "v"), None)
    written = "" if value is None else value.text or ""
    if kind == "s" and written:
        return texts[int(written)]
    return {"1": "true", "0": "false"}.get(written, written) if kind == "b" else written
