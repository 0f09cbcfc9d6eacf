"""What cannot be used is refused in words; common faults are in `tests/golden/faults.py`."""

import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core.stratify import stratify
from assay.errors import AssayError, PredictionsError
from assay.predictions import Predictions, read_predictions
from tests.torture.sizes import sized

GOOD = {"id": ["a", "b", "c"], "score": [0.1, 0.2, 0.9], "said": [False, False, True]}


def _read(source: object, **options: Any) -> Predictions:
    known = {"id": "id", "score": "score", "predicted": "said"}
    return read_predictions(source, **{**known, **options})


def _refused(source: object, words: str, **options: Any) -> str:
    """Return the error, in which are the words between the bars, in that order."""
    pattern = ".*".join(re.escape(word.strip()) for word in words.split("|"))
    with pytest.raises(PredictionsError, match=f"(?s){pattern}") as caught:
        _read(source, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        # scores
        ("score", np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False]), "1 of 3 scores | row 1"),
        ("score", [True, False, True], "type bool"),
        ("score", [date(2026, 1, 1)] * 3, "type date32"),
        ("score", [timedelta(1)] * 3, "type duration"),
        ("score", [[0.1], [0.2], [0.9]], "type list"),
        ("score", [1j, 2j, 3j], "column 'score' of dict cannot be read | complex"),
        ("score", np.array([1j, 2j, 3j]), "column 'score' of dict cannot be read | complex128"),
        ("score", [0.1, "b", 0.9], "column 'score' of dict cannot be read | of one type"),
        ("score", [10**400, 1, 2], "column 'score' of dict cannot be read | too large"),
        ("score", [Decimal("1e400")] * 3, "column 'score' of dict cannot be read | Decimal"),
        ("score", np.array([1, 2, "1e400"], dtype=np.longdouble), "1 of 3 scores | score inf"),
        ("score", np.zeros((3, 2)), "array of shape (3, 2) | one dimension | .ravel()"),
        ("score", np.array(0.5), "array of shape () | one dimension"),
        ("score", [0.1, 0.2], "differ in length | id 3, score 2, said 3"),
        ("score", 0.5, "column 'score' of dict is of type float | one-dimensional array"),
        ("score", "abc", "column 'score' of dict is of type str | one-dimensional array"),
        # ids
        ("id", [5, 4, 5], "column 'id' of dict | more than once: 1 | 5 in rows 0 and 2 | hint"),
        ("id", [True, False, True], "type bool"),
        ("id", [b"a", b"b", b"c"], "type binary"),
        ("id", [date(2026, 1, day) for day in (1, 2, 3)], "type date32"),
        ("id", ["a", 1, "b"], "column 'id' of dict cannot be read | of one type"),
        ("id", [2**64, 1, 2], "column 'id' of dict cannot be read | too large"),
        ("id", [2**63, -1, 2], "column 'id' of dict cannot be read | negative"),
        ("id", ["a\ud800", "b", "c"], "column 'id' of dict cannot be read | surrogates"),
        # predicted labels
        ("said", ["1", "0", "maybe"], "neither | got 'maybe' | positive='1';"),
        ("said", [[1], [0], [1]], "type list"),
        ("said", [date(2026, 1, 1)] * 3, "neither | datetime.date(2026, 1, 1)"),
    ],
)
def test_columns(column: str, values: object, words: str) -> None:
    _refused({**GOOD, column: values}, words)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pd.DataFrame({**GOOD, "id": [1.0, 2.0, None]}), "1 of 3 ids | pandas DataFrame | row 2"),
        (pd.DataFrame({**GOOD, "score": [1j, 2, 3]}), "of pandas DataFrame cannot | complex128"),
        (pd.DataFrame({**GOOD, "id": ["a", 1, "b"]}), "of pandas DataFrame cannot be read"),
        (pd.DataFrame(GOOD).iloc[:0], "no predictions in pandas DataFrame, 0 rows"),
        (pd.DataFrame([[1, 2]], columns=["id", "id"]), "several columns | 'id' 2 times | rename"),
        (pa.table([[1], [2]], names=["id", "id"]), "several columns | 'id' 2 times | rename"),
        (pl.DataFrame(GOOD).rename({"score": "Score"}), "'score' not found | did you mean 'Score'"),
        (pl.LazyFrame(GOOD).drop("said"), "'said' not found in polars LazyFrame"),
        (pl.DataFrame({**GOOD, "score": [0.1, None, 0.9]}), "1 of 3 scores | row 1 (id 'b'"),
        ({}, "column 'id' not found in dict"),
        ([1, 2, 3], "type list | pandas, polars or pyarrow"),
        (np.zeros(3), "type ndarray | mapping of column names"),
        (None, "type NoneType | .parquet"),
        (7, "type int"),
        (pd.Series([1, 2]), "type Series"),
    ],
)
def test_tables(source: object, words: str) -> None:
    _refused(source, words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": "scores"}, "column 'scores' not found in dict | id, score, said | 'score'?"),
        ({"show": "id"}, "show='id' | pass show=['id']"),
        ({"show": [1]}, "show=[1] is not a list of column names"),
        ({"score": 0}, "score=0 is of type int | name of a column"),
        ({"predicted": None, "score": None}, "neither predicted= nor threshold="),
        ({"score": None, "threshold": 0.5}, "threshold=0.5 needs score="),
        ({"predicted": None, "threshold": 0.5, "positive": 1}, "positive=1 | needs predicted="),
        ({"threshold": float("nan")}, "threshold=nan | finite"),
        ({"threshold": True}, "threshold=True | finite"),
        ({"threshold": 10**400}, "finite"),
        ({"positive": ["spam"]}, "positive=['spam'] is of type list"),
        ({"positive": float("nan")}, "positive=nan occurs nowhere"),
    ],
)
def test_options(options: Mapping[str, object], words: str) -> None:
    _refused(GOOD, words, **options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("id,score,said\n", "is empty | at least one row"),
        ("id,score,said\na,abc,1\nb,0.2,0\n", "1 of 2 scores | not numbers | id 'a', score 'abc'"),
        ("id,score,said\na,NA,1\nb,+0.2,0\n", "1 of 2 scores | not numbers | score 'NA'"),
        ("id,score,said\na,,1\nb,0.2,0\n", "1 of 2 scores | missing | (id 'a', score missing)"),
        ("id,score,said\na,1e400,1\nb,0.2,0\n", "infinite | score '1e400' | float64 can hold"),
        ("id,score,said\na,inf,1\nb,nan,0\n", "2 of 2 scores | score 'inf' | score 'nan'"),
        ("id,score,said\na,0.5,1\n,0.2,0\n", "1 of 2 ids | missing | row 1"),
        ("id,score,said\n1,0.5,1\n1,0.2,0\n", "more than once: 1 | 1 in rows 0 and 1"),
        ("id,score,said\na,0.5,\nb,0.2,0\n", "1 of 2 predicted labels | missing | row 0 (id 'a')"),
        ("id,score,said\na,0.5,oui\nb,0.2,non\n", "neither | got 'oui', 'non' | positive='oui'"),
        ("id,score,score,said\na,0.5,0.5,1\n", "several columns named 'score' | rename"),
        ("id,ID,score,said\na,b,0.5,1\n", "several columns named 'id' | upper and lower case"),
        ("id,pscore,said\na,0.5,1\n", "'score' not found | did you mean 'pscore'"),
        ("id,score,said\na,0.5\nb,0.2,0\n", "several columns | reads as one | number of fields"),
        ("made by x\nid,score,said\na,0.5,1\n", "several columns | one column: made by x"),
        ("id;score;said\na;0,9;yes\nb;0,2;no\n", "2 of 2 scores | write 0.9 in place of '0,9'"),
        ("id,score,said\na,95%,yes\nb,0.2,no\n", "1 of 2 scores | write 95 in place of '95%', and"),
        (
            'id,score,said\na,"1,234.5",yes\nb,0.2,no\n',
            "1 of 2 scores | write 1234.5 in place of '1,234.5', without separators",
        ),
        ("a,0.9,yes\nb,0.2,no\n", "column 'id' not found | the first line looks like a row"),
        ("<!DOCTYPE html>\n<html>Sign in</html>\n", "is a web page, not a table | export"),
    ],
)
def test_csv_files(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text(text)
    told = _refused(path, words)
    assert "predictions.csv" in told
    assert "Possible Solution" not in told


def test_a_short_line_far_down_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("id,score,said\n" + "".join(f"{i},0.5,1\n" for i in range(50_000)) + "x,0.5\n")
    _refused(path, "predictions.csv cannot be read | Line: 50002")


def test_csv_files_with_a_long_line_or_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text(f"id,score,said\na,0.9,yes\n{'b' * 17_000_000},0.2,no\n")
    _refused(path, "line 3 of | has 17,000,0 | Parquet")
    path.write_bytes("id,score,said\nä,0.9,yes\nb,0.2,no\n".encode("latin-1"))
    _refused(path, "line 2 of | is not UTF-8 text | 0xe4 | 'ä,0.9,yes' | encoding='windows-1252'")


def test_damaged_parquet_files_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(GOOD), path)
    whole = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(40):
        damaged = whole.copy()
        damaged[rng.integers(0, whole.size, 5)] = rng.integers(0, 256, 5)
        path.write_bytes(damaged.tobytes())
        try:
            assert _read(path).size == 3
        except AssayError:
            refused += 1
    assert refused > 10


def test_paths(tmp_path: Path) -> None:
    _refused(tmp_path / "none.csv", "none.csv' not found | no such file")
    _refused(str(tmp_path / "none-*.parquet"), "none-*.parquet' not found")
    _refused("", "is a directory")
    _refused("\0.csv", "not found")
    _refused(tmp_path, "is a directory | *.parquet")
    (tmp_path / "predictions.txt").write_text("id,score,said\n")
    _refused(tmp_path / "predictions.txt", "must end in .parquet, .csv, .tsv")
    (tmp_path / "a.csv").write_text("id,score,said\n")
    _refused(tmp_path / "*", "all files be of one kind")
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04")
    _refused(tmp_path / "a.xlsx", "a.xlsx | save it as .csv")
    (tmp_path / "b.csv.gz").write_bytes(b"not compressed")
    _refused(tmp_path / "b.csv.gz", "b.csv.gz ends in .gz, but is not a gzip file")


_ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(), max_size=3),
    st.binary(max_size=3),
    st.dates(),
    st.decimals(),
    st.complex_numbers(),
    st.lists(st.integers(), max_size=2),
    st.builds(object),
)


def _three(values: st.SearchStrategy[Any], unique: bool = False) -> st.SearchStrategy[object]:
    return st.lists(values, min_size=3, max_size=3, unique=unique)


# Half of the columns are as they should be, or else nearly every table would be refused at once.
_COLUMN = st.one_of(
    _three(_ANYTHING),
    _three(st.integers(-(2**63), 2**64)),
    _three(st.floats(allow_nan=False)),
    st.lists(st.floats(), max_size=4).map(np.array),
    _ANYTHING,
)
_IDS = _three(st.integers(0, 2**64 - 1), unique=True) | _three(st.text(max_size=2), unique=True)
_SCORES = _three(st.floats(allow_nan=False, allow_infinity=False))
_TABLE = st.fixed_dictionaries(
    {
        "id": st.booleans().flatmap(lambda good: _IDS if good else _COLUMN),
        "score": st.booleans().flatmap(lambda good: _SCORES if good else _COLUMN),
        "said": st.booleans().flatmap(lambda good: _three(st.booleans()) if good else _COLUMN),
        "text": _three(_ANYTHING),
    }
)
_OPTIONS = st.one_of(
    st.just({"predicted": "said"}),
    st.fixed_dictionaries({"predicted": st.just("said"), "positive": _ANYTHING}),
    st.fixed_dictionaries({"threshold": st.one_of(st.floats(), _ANYTHING)}),
)


@given(table=_TABLE, options=_OPTIONS)
@settings(max_examples=sized(400, 1_000))
def test_anything_is_read_and_dealt_or_refused(
    table: dict[str, object], options: dict[str, Any]
) -> None:
    try:
        predictions = read_predictions(table, id="id", score="score", show=["text"], **options)
        profiles = predictions.profile("confidence", "margin", [None])
        strata = stratify(profiles, variable="confidence", method="perc", bins=2)
        dealt = predictions.deal(strata, scale="margin", seed=0, counts=[3] * strata.n_strata)
    except AssayError:
        return
    cards = [card for cards in dealt for card in cards]
    assert len(cards) == predictions.size == 3
    assert sum(card.predicted for card in cards) == predictions.positives
    json.dumps([card.shown for card in cards], allow_nan=False)
