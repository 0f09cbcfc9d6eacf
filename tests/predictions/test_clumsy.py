"""Clumsy and hostile files of predictions: what is wrong, where, and what to do."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from assay.errors import PredictionsError
from assay.predictions import Scan, read_predictions

HEAD = "id,p,said\n"
ROWS = "a,0.9,yes\nb,0.2,no\n"

# Name of the file, what is in it, and what is told of it.
CLUMSY: dict[str, tuple[str, bytes, str]] = {
    "decimal commas": (
        "preds.csv",
        b"id;p;said\na;0,9;yes\nb;0,2;no\n",
        "2 of 2 scores in column 'p'|'0,9'|write 0.9 in place of '0,9': a point, not a comma",
    ),
    "percent signs": (
        "preds.csv",
        f"{HEAD}a,95%,yes\nb,0.2,no\n".encode(),
        "1 of 2 scores in column 'p'|'a'|write 95 in place of '95%', and say scale='percent'",
    ),
    "thousands": (
        "preds.csv",
        f'{HEAD}a,"1,234.5",yes\nb,0.2,no\n'.encode(),
        "1 of 2 scores|write 1234.5 in place of '1,234.5', without separators",
    ),
    "no names": (
        "preds.csv",
        ROWS.encode(),
        "column 'id' not found in|columns: a, 0.9, yes|the first line seems to be a row",
    ),
    "a web page": (
        "preds.csv",
        b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
        "is a web page, and no table|begins with '<!DOCTYPE html>'|export the table",
    ),
    "a workbook": ("preds.xlsx", b"PK\x03\x04", "preds.xlsx|.xlsx|save it as .csv"),
    "latin-1": (
        "preds.csv",
        f"{HEAD}ä,0.9,yes\nb,0.2,no\n".encode("latin-1"),
        "line 2 of|0xe4|'ä,0.9,yes'|say encoding='windows-1252'",
    ),
}

# What is odd and yet clear is read.
FINE: dict[str, tuple[str, bytes, dict[str, Any]]] = {
    "a byte order mark": ("preds.csv", f"{HEAD}{ROWS}".encode("utf-8-sig"), {}),
    "semicolons": ("preds.csv", f"{HEAD}{ROWS}".replace(",", ";").encode(), {}),
    "tabs": ("preds.tsv", f"{HEAD}{ROWS}".replace(",", "\t").encode(), {}),
    "windows": (
        "preds.csv",
        f"{HEAD}ä,0.9,Yes\nb,0.2,No\n".encode("cp1252"),
        {"encoding": "cp1252"},
    ),
    "utf-16, packed": (
        "preds.csv.gz",
        gzip.compress(f"{HEAD}{ROWS}".encode("utf-16")),
        {"encoding": "utf-16"},
    ),
    "an empty last line": ("preds.csv", f"{HEAD}{ROWS}\n\n".encode(), {}),
    "spaces around labels": ("preds.csv", f"{HEAD}a, 0.9 , YES \nb,0.2,n\n".encode(), {}),
    "a cell of 3 MB": ("preds.csv", f"{HEAD}a,0.9,yes\n{'b' * 3_000_000},0.2,no\n".encode(), {}),
}


@pytest.mark.parametrize("name", CLUMSY)
def test_clumsy_files(name: str, tmp_path: Path) -> None:
    file, content, words = CLUMSY[name]
    (tmp_path / file).write_bytes(content)
    with pytest.raises(PredictionsError) as caught:
        read_predictions(str(tmp_path / file), id="id", score="p", predicted="said")
    for word in words.split("|"):
        assert word in str(caught.value)
    assert "Possible Solution" not in str(caught.value)


@pytest.mark.parametrize("name", FINE)
def test_odd_files_that_are_read(name: str, tmp_path: Path) -> None:
    file, content, options = FINE[name]
    (tmp_path / file).write_bytes(content)
    scan = Scan(str(tmp_path / file), **options)
    found = read_predictions(scan, id="id", score="p", predicted="said")
    assert (found.size, found.positives) == (2, 1)


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text(f"{HEAD}a,0.9,yes\n{'b' * 17_000_000},0.2,no\n")
    with pytest.raises(PredictionsError, match=r"(?s)line 3 of .* has 17,000,0.* Parquet"):
        read_predictions(str(tmp_path / "long.csv"), id="id", score="p", predicted="said")
