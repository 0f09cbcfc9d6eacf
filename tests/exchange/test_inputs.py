"""Files of labels as people have them: what goes out comes back, and what is odd is understood."""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.campaign import Campaign, create_campaign, import_labels
from assay.core.answers import Answer
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayError, InputError, LabelError
from assay.exchange.rows import Checked
from assay.exchange.tables import Columns, parquet_rows, read_label_file
from assay.files import Content, LimitError, Limits
from tests.exchange.campaigns import campaign_of, workbook


def _campaign(**options: Any) -> Campaign:
    table = {"url": [7, 8, 9], "p": [0.9, 0.8, 0.7], "text": ["a;b", "ü", "c"]}
    given = {"id": "url", "score": "p", "threshold": 0.5, "show": ["text"], "budget": 3}
    campaign = create_campaign(table, **{**given, **options})
    campaign.ask(3)
    return campaign


ROWS = [["url", "text", "label"], ["7", "a", "1.0"], ["8", "ü", "0.0"], ["9", "", "1.0"]]


def _csv(separator: str = ",") -> str:
    return "".join(separator.join(row) + "\r\n" for row in ROWS)


FILES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "own.csv": (_csv().encode(), {}),
    "semicolons.csv": (_csv(";").encode("utf-8-sig"), {}),
    "tabs.tsv": (_csv("\t").encode(), {}),
    "packed.csv.gz": (gzip.compress(_csv().encode()), {}),
    "wide.csv": (_csv().encode("utf-16"), {}),
    "old.csv": (_csv().encode("latin-1"), {"encoding": "latin-1"}),
    "book.xlsx": (workbook(ROWS), {}),
    "floats.csv": (_csv().replace("\r\n7,", "\r\n7.0,").encode(), {}),
    "words.csv": (
        _csv().replace("1.0", "Spam").replace("0.0", "ham").encode(),
        {"map": {"spam": "yes", "ham": "no"}},
    ),
    "list.json": (
        json.dumps([dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]).encode(),
        {},
    ),
    "lines.jsonl.gz": (
        gzip.compress(
            "".join(
                json.dumps({"url": int(row[0]), "label": float(row[2])}) + "\n" for row in ROWS[1:]
            ).encode()
        ),
        {},
    ),
    "blank lines.csv": (f"\r\n{_csv()}\r\n,,\r\n\r\n".encode(), {}),
}


@pytest.mark.parametrize("name", FILES)
def test_files_as_people_have_them(name: str, tmp_path: Path) -> None:
    content, options = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    campaign = _campaign()
    assert import_labels(campaign, path, **options).new == 3
    assert {id: answer.value for id, answer in campaign.answers().items()} == {
        7: "yes",
        8: "no",
        9: "yes",
    }


def test_labels_from_before_are_read_from_the_same_files(tmp_path: Path) -> None:
    for name in ("semicolons.csv", "tabs.tsv", "book.xlsx", "packed.csv.gz", "list.json"):
        (tmp_path / name).write_bytes(FILES[name][0])
        campaign = _campaign(labels=tmp_path / name)
        assert len(campaign.answers()) == 3


def test_a_parquet_file_of_floats(tmp_path: Path) -> None:
    pq.write_table(pa.table({"url": [7.0, 8.0], "label": [1.0, 0.0]}), tmp_path / "labels.parquet")
    assert import_labels(_campaign(), tmp_path / "labels.parquet").new == 2


def test_a_workbook_that_defines_entities_is_not_read() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook(ROWS))) as good, zipfile.ZipFile(file, "w") as bad:
        for name in good.namelist():
            text = good.read(name).decode()
            if name.endswith("sheet1.xml"):
                entity = '<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet'
                text = text.replace("<worksheet", entity).replace("7</v>", "&a;</v>")
                bad.writestr(name, text.replace("UTF-8", "UTF-16").encode("utf-16"))
            else:
                bad.writestr(name, text)
    with pytest.raises(InputError, match="defines XML entities"):
        import_labels(_campaign(), file.getvalue())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_says_what_its_file_would(make: Callable[..., Any]) -> None:
    campaign = campaign_of(["a", "'=b", "c", "d"])
    cells = {"id": ["a", "'=b", "c"], "label": ["yes", "ham", None], "reviewer": ["ann", "", None]}
    told = import_labels(campaign, make(cells), map={"ham": "no"})
    assert (told.new, told.without_label, told.format) == (2, 1, "jsonl")
    assert campaign.answers() == {"a": Answer.YES, "'=b": Answer.NO}
    assert import_labels(campaign, make({"id": ["d"], "label": [True]})).new == 1
    with pytest.raises(LabelError, match="of the DataFrame cannot be imported"):
        import_labels(campaign, make({"id": ["d"], "label": ["perhaps"]}))


def _read(file: Path, kind: str = "integer", ids: tuple[str, ...] = ("id",)) -> Checked:
    return read_label_file(
        file, id_columns=ids, label_column="label", id_kind=kind, classes=Vocabulary()
    )


def _parquet(folder: Path, **columns: list[Any]) -> Path:
    file = folder / "labels.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def test_the_first_column_that_is_there_holds_the_ids(tmp_path: Path) -> None:
    file = _parquet(tmp_path, url=["a"], id=["b"], label=[1])
    assert [row.item_id for row in _read(file, "string", ("url", "id")).rows] == ["a"]
    assert [row.item_id for row in _read(file, "string", ("key", "id")).rows] == ["b"]


def test_who_gave_a_label_is_not_asked_here(tmp_path: Path) -> None:
    people: dict[str, list[Any]] = {"reviewer": [5, None], "ruling": ["guilty", "not guilty"]}
    file = _parquet(tmp_path, id=[7, 8], label=["yes", "no"], **people)
    assert len(_read(file).rows) == 2
    csv = tmp_path / "labels.csv"
    csv.write_text("id,label,ruling,reviewer,reviewer\n7,yes,guilty,ann,bob\n")
    assert len(_read(csv).rows) == 1
    rows = list(parquet_rows(Content(file), Columns(), Limits()))
    assert [row.problem for row in rows] == [
        "reviewer 5 is not text",
        "ruling 'not guilty' is neither true nor false",
    ]


def test_limits_hold_in_parquet_too(tmp_path: Path) -> None:
    file = Content(_parquet(tmp_path, id=["a", "b" * 11], label=["yes", "no"]))
    assert len(list(parquet_rows(file, Columns(), Limits(rows=2, field=11)))) == 2
    with pytest.raises(LimitError, match="more than 1 rows"):
        list(parquet_rows(file, Columns(), Limits(rows=1)))
    with pytest.raises(LimitError, match=r"row 2 of .* has a field of 11 characters"):
        list(parquet_rows(file, Columns(), Limits(field=10)))


def test_values_that_python_has_none_for_are_told(tmp_path: Path) -> None:
    year = pa.array([2**62], pa.timestamp("ms"))
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0])), pa.py_buffer(b"\xff")]
    )
    file = tmp_path / "labels.parquet"
    for label in (year, broken):
        pq.write_table(pa.table({"id": [1], "label": label}), file)
        with pytest.raises(AssayError, match="cannot be read"):
            _read(file)
