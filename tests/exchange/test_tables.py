from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.answers import Answer
from assay.errors import AssayError
from assay.exchange.content import Content, LimitError, Limits
from assay.exchange.rows import Checked
from assay.exchange.tables import Columns, parquet_rows, read_label_file


def _read(file: Path, kind: str = "integer", ids: tuple[str, ...] = ("id",)) -> Checked:
    return read_label_file(file, id_columns=ids, label_column="label", id_kind=kind)


def _parquet(folder: Path, **columns: list[Any]) -> Path:
    file = folder / "labels.parquet"
    pq.write_table(pa.table(columns), file)
    return file


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    csv = tmp_path / "labels.csv"
    csv.write_text("id,label\n7,yes\n8,\n9,no\n10,?\n")
    table = _parquet(tmp_path, id=[7, 8, 9, 10], label=["yes", None, "no", "cannot judge"])
    one, other = _read(csv), _read(table)
    assert one.without_label == other.without_label == 1
    answers = {label.item_id: label.answer for label in one.rows}
    assert answers == {label.item_id: label.answer for label in other.rows}
    assert answers == {"7": Answer.YES, "9": Answer.NO, "10": Answer.CANNOT_JUDGE}


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
        "reviewer 5 is no text",
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
