import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.errors import PredictionsError
from assay.predictions import Card, Predictions, Scan, read_predictions


def _written(folder: Path, text: str) -> Path:
    path = folder / "predictions.csv"
    path.write_text(text, encoding="utf-8")
    return path


def _deal(predictions: Predictions, count: int) -> list[Card]:
    """Return the first cards of the one deck of all items."""
    strata = Strata.of_sides("score", {None: Cuts("equal", (), (0,))}, (predictions.size,))
    (cards,) = predictions.deal(strata, scale="margin", seed=0, counts=[count])
    return cards


def _all_cards(predictions: Predictions) -> list[Card]:
    return _deal(predictions, predictions.size)


def _ids(path: Path) -> set[object]:
    predictions = read_predictions(path, id="id", score="score", threshold=0.5)
    return {card.id for card in _all_cards(predictions)}


@pytest.mark.parametrize(
    ("written", "ids"),
    [
        (["1", "-2", "0"], {1, -2, 0}),
        (['"1"', "2"], {1, 2}),
        (["007", "8", "9"], {"007", "8", "9"}),
        (["+7", "8"], {"+7", "8"}),
        (["-0", "8"], {"-0", "8"}),
        (["7.0", "8.0"], {"7.0", "8.0"}),
        (["1e3", "8"], {"1e3", "8"}),
        (["18446744073709551615", "0"], {2**64 - 1, 0}),
        (["18446744073709551615", "-1"], {"18446744073709551615", "-1"}),
        (["18446744073709551616", "0"], {"18446744073709551616", "0"}),
        (["2026-11-15", "2026-11-16"], {"2026-11-15", "2026-11-16"}),
        (["true", "false"], {"true", "false"}),
        (["NA", "null", "None", '""'], {"NA", "null", "None", ""}),
        (["'a'", "it's"], {"'a'", "it's"}),
        (["#1", "#2"], {"#1", "#2"}),
        (['"a,b"', '"c ""d"""'], {"a,b", 'c "d"'}),
        ([" 1", "2"], {" 1", "2"}),
        (["é", "🂡"], {"é", "🂡"}),
    ],
)
def test_ids_of_a_csv_file(written: list[str], ids: set[object], tmp_path: Path) -> None:
    lines = [f"{id},0.5" for id in written]
    assert _ids(_written(tmp_path, "\n".join(["id,score", *lines]))) == ids


@pytest.mark.parametrize(
    ("written", "positive", "yes"),
    [
        (["1", "0"], None, 1),
        (["True", "FALSE"], None, 1),
        (["yes", "no"], "yes", 1),
        (["1", "2"], 2, 1),
        (["1", "0"], True, None),
        (["TRUE", "false"], True, 1),
        (["TRUE", "TRUE"], False, None),
    ],
)
def test_labels_of_a_csv_file(
    written: list[str], positive: object, yes: int | None, tmp_path: Path
) -> None:
    path = _written(tmp_path, "\n".join(["score,said", *(f"0.5,{label}" for label in written)]))
    if yes is None:
        with pytest.raises(PredictionsError, match="occurs nowhere"):
            read_predictions(path, score="score", predicted="said", positive=positive)
    else:
        predictions = read_predictions(path, score="score", predicted="said", positive=positive)
        assert predictions.positives == yes


@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv_dialects(between: str, line_end: str, tmp_path: Path) -> None:
    lines = ["id,score,said", "7,0.25,0", "8, +7.5e-1 ,1"]
    path = tmp_path / "predictions.csv"
    path.write_bytes(line_end.join(lines).replace(",", between).encode())
    predictions = read_predictions(path, id="id", score="score", predicted="said")
    expected = {"id": [7, 8], "score": [0.25, 0.75], "said": [False, True]}
    same = read_predictions(expected, id="id", score="score", predicted="said")
    assert predictions.fingerprint() == same.fingerprint()
    assert predictions.source == str(path)


def test_csv_columns_are_shown_as_they_stand(tmp_path: Path) -> None:
    path = _written(tmp_path, 'id,score,text,n\n7,0.5,"a ""b""",1.50\n8,0.5,,007\n')
    predictions = read_predictions(path, id="id", score="score", threshold=0.5, show=["text", "n"])
    shown = {card.id: card.shown for card in _all_cards(predictions)}
    assert shown == {7: {"text": 'a "b"', "n": "1.50"}, 8: {"text": None, "n": "007"}}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three Parquet files of 100,000 rows each, with many row groups."""
    folder = tmp_path_factory.mktemp("parts")
    for part in range(3):
        row = np.arange(100_000) + 100_000 * part
        table = pa.table(
            {
                "id": row * 3,
                "url": [f"page/{number}" for number in row],
                "score": (row % 1000) / 1000,
                'odd "name"': row,
            }
        )
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=10_000)
    return folder


@pytest.mark.parametrize("id", ["id", "url", None])
def test_shown_columns_are_those_of_the_drawn_rows(parts: Path, id: str | None) -> None:
    predictions = read_predictions(
        parts / "part-*.parquet", id=id, score="score", threshold=0.5, show=['odd "name"', "url"]
    )
    assert predictions.size == 300_000
    cards = _deal(predictions, 500)
    assert len(cards) == 500
    for card in cards:
        row = card.shown['odd "name"']
        assert isinstance(row, int)
        assert card.id == {"id": 3 * row, "url": f"page/{row}", None: row}[id]
        assert card.shown["url"] == f"page/{row}"
        assert card.predicted is (row % 1000 >= 500)


def test_files_whose_columns_stand_in_another_order(tmp_path: Path) -> None:
    for kind in ("csv", "parquet"):
        for name, columns in (("a", ["id", "score"]), ("b", ["score", "id"])):
            frame = pd.DataFrame({"id": [f"{name}1", f"{name}2"], "score": [0.25, 0.5]})[columns]
            if kind == "csv":
                frame.to_csv(tmp_path / f"{name}.csv", index=False)
            else:
                frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
        assert _ids(tmp_path / f"*.{kind}") == {"a1", "a2", "b1", "b2"}


def test_rows_of_several_csv_files_are_numbered_in_the_order_of_the_names(tmp_path: Path) -> None:
    for part in (2, 0, 1):
        rows = [f"0.5,{number}" for number in range(40_000 * part, 40_000 * (part + 1))]
        (tmp_path / f"part-{part}.csv").write_text("\n".join(["score,text", *rows, ""]))
    predictions = read_predictions(tmp_path / "*.csv", score="score", threshold=0.5, show=["text"])
    cards = _deal(predictions, 300)
    assert [card.shown["text"] for card in cards] == [str(card.id) for card in cards]


@pytest.mark.parametrize("id", ["id", None])
def test_a_file_that_lost_rows_after_it_was_read(id: str | None, tmp_path: Path) -> None:
    path = _written(tmp_path, "id,score,text\na,0.5,x\nb,0.5,y\n")
    predictions = read_predictions(path, id=id, score="score", threshold=0.5, show=["text"])
    path.write_text("id,score,text\na,0.5,x\n")
    with pytest.raises(PredictionsError, match=r"(?s)has changed since.*1 of 2 drawn items"):
        _all_cards(predictions)


def test_a_file_that_vanished_after_it_was_read(tmp_path: Path) -> None:
    path = _written(tmp_path, "id,score,text\na,0.5,x\n")
    predictions = read_predictions(path, score="score", threshold=0.5, show=["text"])
    path.unlink()
    with pytest.raises(PredictionsError, match=r"predictions.csv cannot be read"):
        _all_cards(predictions)


def test_a_leading_zero_far_down_makes_all_ids_strings(tmp_path: Path) -> None:
    # DuckDB looks at some 20,000 rows to guess a type.
    lines = [f"{number},0.5" for number in range(60_000)]
    ids = _ids(_written(tmp_path, "\n".join(["id,score", *lines, "007,0.5"])))
    assert ids == {"007", *(str(number) for number in range(60_000))}


HEAD, ROWS = "id,p,said\n", "a,0.9,yes\nb,0.2,no\n"
# What is odd and yet clear is read: name of the file, its content, and the encoding.
FINE: dict[str, tuple[str, bytes, str | None]] = {
    "a byte order mark": ("preds.csv", f"{HEAD}{ROWS}".encode("utf-8-sig"), None),
    "tabs": ("preds.tsv", f"{HEAD}{ROWS}".replace(",", "\t").encode(), None),
    "windows": ("preds.csv", f"{HEAD}ä,0.9,Yes\nb,0.2,No\n".encode("cp1252"), "cp1252"),
    "packed": ("preds.csv.gz", gzip.compress(f"{HEAD}{ROWS}".encode("utf-16")), "utf-16"),
    "an empty last line": ("preds.csv", f"{HEAD}{ROWS}\n\n".encode(), None),
    "spaces around labels": ("preds.csv", f"{HEAD}a, 0.9 , YES \nb,0.2,n\n".encode(), None),
    "a cell of 3 MB": ("preds.csv", f"{HEAD}a,0.9,1\n{'b' * 3_000_000},0.2,0\n".encode(), None),
}


@pytest.mark.parametrize("name", FINE)
def test_odd_files_that_are_read(name: str, tmp_path: Path) -> None:
    file, content, encoding = FINE[name]
    (tmp_path / file).write_bytes(content)
    scan = Scan(str(tmp_path / file), encoding=encoding)
    found = read_predictions(scan, id="id", score="p", predicted="said")
    assert (found.size, found.positives) == (2, 1)
