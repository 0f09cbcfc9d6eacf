"""Workbooks, zipped tables, numbers as spreadsheets write them, and an index of pandas."""

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import PredictionsError
from tests.exchange.campaigns import workbook

ROWS = [["url", "p", "text"]] + [[f"u{n}", f"{n / 80:.4f}", f"page {n}, 84%"] for n in range(80)]


def commitment(source: object, **more: Any) -> str:
    """Return the digest of predictions and draws."""
    named = {"id": "url", "score": "p", "threshold": 0.5, "show": ["text"], "budget": 20}
    campaign = assay.create_campaign(source, **{**named, **more})
    assert campaign.ask(1)[0].shown["text"].endswith(", 84%")
    return campaign.settings.commitment


def as_csv(rows: list[list[str]], delimiter: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows(rows)
    return file.getvalue()


@pytest.fixture
def plain(tmp_path: Path) -> str:
    file = tmp_path / "pages.csv"
    file.write_text(as_csv(ROWS))
    return commitment(str(file))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_workbook_and_a_zip_are_read_as_the_table_in_them(
    engine: Any, tmp_path: Path, plain: str
) -> None:
    (tmp_path / "pages.xlsx").write_bytes(workbook(ROWS))
    with zipfile.ZipFile(tmp_path / "pages.csv.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("export/pages.csv", as_csv(ROWS))
        file.writestr("__MACOSX/._pages.csv", "x")
    for name in ("pages.xlsx", "pages.csv.zip"):
        assert commitment(assay.Scan(tmp_path / name, engine=engine)) == plain


def test_a_zip_that_is_no_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pages.zip"
    with zipfile.ZipFile(file, "w") as two:
        two.writestr("a.csv", "x")
        two.writestr("b.csv", "x")
    with pytest.raises(PredictionsError, match=r"holds 2(.|\n)*a.csv, b.csv"):
        commitment(file)
    file.write_bytes(b"PK\3\4 and more")
    with pytest.raises(PredictionsError, match="cannot be read"):
        commitment(file)
    (tmp_path / "pages.xlsx").write_bytes(b"no workbook")
    with pytest.raises(PredictionsError, match="cannot be read"):
        commitment(tmp_path / "pages.xlsx")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize(
    ("written", "delimiter"),
    [
        (lambda p: f"{p:.4f}".replace(".", ","), ";"),
        (lambda p: f"{100 * p:.2f}%", ","),
        (lambda p: f"{100 * p:.2f} %".replace(".", ","), ";"),
    ],
)
def test_numbers_as_spreadsheets_write_them(
    written: Any, delimiter: str, engine: Any, tmp_path: Path, plain: str
) -> None:
    file = tmp_path / "local.csv"
    head, *rows = ROWS
    there = [head, *([url, written(float(p)), text] for url, p, text in rows)]
    file.write_text(as_csv(there, delimiter))
    with pytest.raises(PredictionsError, match="local_numbers="):
        commitment(assay.Scan(file, engine=engine))
    assert commitment(assay.Scan(file, engine=engine, local_numbers=["p"])) == plain


def test_local_numbers_are_for_text(tmp_path: Path) -> None:
    with pytest.raises(PredictionsError, match="for files of text"):
        assay.Scan({"p": [0.5]}, local_numbers=["p"])
    pd.DataFrame({"url": [1], "p": [0.7], "text": ["a"]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(PredictionsError, match="numbers are text"):
        commitment(assay.Scan(tmp_path / "a.parquet", local_numbers=["p"]))


def test_a_pandas_index_is_the_id_or_refused() -> None:
    rows = ROWS[1:]
    frame = pd.DataFrame({"p": [float(p) for _, p, _ in rows], "text": [text for *_, text in rows]})
    by_url = frame.set_axis([url for url, *_ in rows])
    with pytest.raises(PredictionsError, match=r"'u0', 'u1'(.|\n)*rename_axis\('item'\)"):
        commitment(by_url, id=None)
    with pytest.raises(PredictionsError, match="id='url'; or"):
        commitment(by_url.rename_axis("url"), id=None)
    as_column = by_url.rename_axis("url").reset_index()
    assert commitment(by_url.rename_axis("url")) == commitment(as_column)
    with pytest.raises(PredictionsError, match="not the row numbers: 40, 41, 42"):
        commitment(frame[frame.p >= 0.5], id=None)
    same = frame.set_axis(list(np.arange(len(frame))))
    assert commitment(same, id=None) == commitment(frame, id=None)
