"""Small files that name a great deal: refused, or read in little memory."""

import gzip
import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.campaign.exchange import read_labels
from assay.errors import AssayError
from assay.exchange.tables import table_records
from assay.files import Content, Limits
from tests.exchange.campaigns import campaign_of, workbook

pytestmark = pytest.mark.slow  # memory is traced

_MOST = 300_000_000  # bytes; the workbook took 5.9 GB once


def wide_workbook(rows: int = 20_000) -> bytes:
    """Return a workbook of few cells, one of which is in the last column there can be."""
    book = io.BytesIO(workbook([["id", "label"]]))
    with zipfile.ZipFile(book) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    cells = "".join(f'<row r="{row}"><c r="A{row}"><v>7</v></c></row>' for row in range(2, rows))
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    last = f'<row r="{rows}"><c r="XFD{rows}"><v>1</v></c></row>'
    parts["xl/worksheets/sheet1.xml"] = sheet.replace(
        "</sheetData>", f"{cells}{last}</sheetData>"
    ).encode()
    return zipped(parts)


def wide_header(rows: int = 20_000) -> bytes:
    """Return a workbook whose first row reaches to the last column, with many short rows."""
    book = io.BytesIO(wide_workbook(rows))
    with zipfile.ZipFile(book) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].decode()
    wide = '<c r="XFD1"><v>1</v></c></row>'
    parts["xl/worksheets/sheet1.xml"] = sheet.replace("</row>", wide, 1).encode()
    return zipped(parts)


def zipped(parts: dict[str, bytes]) -> bytes:
    """Return a zip of these files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "a column far to the right": (wide_header, "more than 10,000,000 cells"),
    "one long line": (lambda: gzip.compress(b"id,label\n" + b"x" * 10_000_000), "field of"),
    "a deep object": (lambda: b'{"id": "a", "label": ' + b"[" * 90_000, "JSON|like no format"),
    "a bomb": (lambda: gzip.compress(bytes(101_000_000)), "more than 100,000,000 bytes"),
    "a zip in a zip": (
        lambda: zipped({"a.json": bytes(101_000_000), "xl/workbook.xml": b""}),
        "cannot be read|more than|without",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_small_upload_is_refused_before_it_fills_the_memory(name: str) -> None:
    make, words = HOSTILE[name]
    content = make()
    assert len(content) < 700_000
    campaign = campaign_of(["a"])
    tracemalloc.start()
    try:
        with pytest.raises(AssayError, match=words):
            read_labels(content, campaign=campaign)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < _MOST


def test_a_cell_far_to_the_right_widens_no_other_row() -> None:
    content, campaign = wide_workbook(), campaign_of(["a"])
    tracemalloc.start()
    try:
        assert read_labels(content, campaign=campaign).without_label == 19_998
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < _MOST


def test_a_text_that_a_parquet_file_names_a_million_times_is_kept_once(tmp_path: Path) -> None:
    file = tmp_path / "labels.parquet"
    size, rows = 400_000, 100_000
    index = pa.array([0] * rows, pa.int32())
    text = pa.DictionaryArray.from_arrays(index, pa.array(["x" * size]))
    pq.write_table(pa.table({"id": text, "label": text, "text": text}), file)
    assert file.stat().st_size < 700_000
    records = table_records(Content(file), Limits())
    tracemalloc.start()
    try:
        kept = [record["text"] for _, record in records]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == rows and kept[0] is kept[1]
    assert peak < _MOST < size * rows / 100  # the wrong variant: a text for each row
