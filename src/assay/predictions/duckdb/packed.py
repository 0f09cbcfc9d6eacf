"""Workbooks and zipped tables: CSV copies, which are read in their place."""

import csv
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path, PurePosixPath

from assay.errors import InputError, PredictionsError
from assay.files import UNLIMITED, Content, workbook_rows
from assay.predictions.duckdb.paths import Files

_TABLES = (".csv", ".tsv")
_MOST_BYTES = 20_000_000_000  # of an unpacked table
_ENCRYPTED = 1  # the bit of an entry's flags


def unpacked(files: Files, folder: Path) -> Files:
    """CSV copies of workbooks, by their first sheets, and of zipped tables, in a folder."""
    copies = []
    for number, path in enumerate(files.paths):
        copy = folder / f"unpacked-{number:06}.csv"
        (_write_sheet if path.lower().endswith(".xlsx") else _write_table)(path, copy)
        copies.append(str(copy))
    return replace(files, paths=tuple(copies), kind="CSV", keys=())


def _write_sheet(path: str, copy: Path) -> None:
    try:
        rows = workbook_rows(Content(path), UNLIMITED)
    except InputError as error:
        hint = error.hint or "open it in a spreadsheet and save it as .csv in UTF-8 ('CSV UTF-8')"
        raise PredictionsError(error.problem, details=error.details, hint=hint) from None
    with copy.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(cells for _, cells in rows)


def _write_table(path: str, copy: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            entry = _only_table(path, archive.infolist())
            with archive.open(entry) as packed, copy.open("wb") as file:
                shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise PredictionsError(
            f"{path} is a zip file that cannot be read: {error}", hint="unpack it yourself"
        ) from None


def _only_table(path: str, entries: list[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Entry of the table in a zip; raise if there is not exactly one that can be read."""
    tables = [
        each
        for each in entries
        if each.filename.lower().endswith(_TABLES)
        and not PurePosixPath(each.filename).name.startswith((".", "_"))
    ]
    if len(tables) != 1:
        names = ", ".join(each.filename for each in entries[:5]) or "nothing"
        raise PredictionsError(
            f"{path} must hold one table, and holds {len(tables)}",
            details=f"tables end in {' or '.join(_TABLES)}; it holds {names}",
            hint="unpack it, and give its files",
        )
    if tables[0].flag_bits & _ENCRYPTED or tables[0].file_size > _MOST_BYTES:
        what = "encrypted" if tables[0].flag_bits & _ENCRYPTED else "too large to be unpacked here"
        raise PredictionsError(f"{tables[0].filename} in {path} is {what}", hint="unpack it first")
    return tables[0]
