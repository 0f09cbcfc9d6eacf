"""Groups of items by the values of a column; numbers of Arrow without loading pandas."""

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.predictions.column import to_numpy
from assay.predictions.duckdb.loading import load
from assay.predictions.read import read_predictions
from assay.predictions.values import MISSING, read_slices, slice_text


def sliced(written: list[str], **columns: Any) -> tuple[tuple[str, ...], Ints]:
    return read_slices(load(columns, list(columns), (), None), written)


RNG = np.random.default_rng(8)
COLUMNS = {
    "strings": RNG.choice(["de", "en", "", "a b", "ü=1"], 500),
    "integers": RNG.integers(-2, 3, 500),
    "booleans": RNG.random(500) < 0.3,
    "floats": RNG.choice([0.5, 1.0, 2.25], 500),
    "gaps": pd.Series(np.array(["x", None], dtype=object)[RNG.integers(0, 2, 500)]),
    "categories": pd.Categorical(RNG.choice(["b", "a"], 500)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_every_value_of_a_column_is_a_slice_most_frequent_first(name: str) -> None:
    column = COLUMNS[name]
    plain = [None if pd.isna(value) else value for value in list(column)]
    texts = pd.Series([slice_text(value) for value in plain])
    if name == "booleans":
        texts = texts.str.lower()
    counts = texts.value_counts()
    names, bits = sliced(["it"], it=column)
    assert sorted(names) == sorted(f"it={value}" for value in counts.index)
    sizes = [int((bits >> bit & 1).sum()) for bit in range(len(names))]
    assert sizes == sorted(counts.tolist(), reverse=True)

    for bit, slice in enumerate(names):
        here = (texts == slice.removeprefix("it=")).to_numpy()
        assert (bits >> bit & 1 == here).all(), slice


def test_slices_may_overlap_and_each_is_found_once() -> None:
    names, bits = sliced(
        ["lang=de", "lang", "site=b", "lang=en"], lang=["de", "en", "de"], site=["a", "b", "b"]
    )
    assert names == ("lang=de", "lang=en", "site=b")
    assert bits.tolist() == [0b001, 0b110, 0b101]


def test_items_without_a_value_are_a_slice_of_their_own() -> None:
    names, bits = sliced(["lang"], lang=["de", None, None])
    assert names == (f"lang={MISSING}", "lang=de")
    assert bits.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("written", "values", "message"),
    [
        ("lang=dd", ["de", "en"], r"no item of dict, 2 rows has lang=dd\nvalues: de, en"),
        ("lang", [str(number) for number in range(21)], "has 21 values, and each would be"),
        ("lang", ["a[b]", "c"], r"lang=a\[b\] cannot be named in a metric"),
        ("lang", [[1], [2]], "has no values to slice by"),
    ],
)
def test_what_cannot_be_a_slice_is_refused(written: str, values: list[Any], message: str) -> None:
    with pytest.raises(PredictionsError, match=message):
        sliced([written], lang=values)


def test_predictions_tell_other_slices_by_their_fingerprint() -> None:
    def fingerprint(languages: list[str], groups: list[str]) -> str:
        table = {"p": [0.9, 0.2, 0.6], "lang": languages}
        columns = {"cnn": {"score": "p", "threshold": 0.5}}
        return read_predictions(table, classifiers=columns, groups=groups).fingerprint()

    first = fingerprint(["de", "en", "de"], ["lang=de"])
    assert first == fingerprint(["de", "fr", "de"], ["lang=de"])  # the others are others
    assert first != fingerprint(["de", "de", "en"], ["lang=de"])
    assert fingerprint(["de", "en", "de"], []) == fingerprint(["de", "de", "en"], [])


TYPES: dict[str, Any] = {
    str(kind): kind
    for kind in (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32()),
        *(pa.uint64(), pa.float32(), pa.float64(), pa.bool_()),
    )
}


@pytest.mark.parametrize("kind", TYPES)
def test_numbers_are_those_of_pyarrow(kind: str) -> None:
    whole = TYPES[kind]
    for sizes, start in product(((), (0,), (5,), (3, 0, 9)), (0, 2)):
        chunks = [pa.array([n % 2 for n in range(size)], pa.int8()).cast(whole) for size in sizes]
        data = pa.chunked_array(chunks, whole).slice(start)
        found = to_numpy(data)
        assert found.dtype == data.to_numpy().dtype
        np.testing.assert_array_equal(found, data.to_numpy())


def test_what_is_missing_is_nan_as_in_pyarrow() -> None:
    np.testing.assert_array_equal(to_numpy(pa.chunked_array([[1.5, None]])), [1.5, np.nan])


def test_pandas_is_not_loaded() -> None:
    program = """
import sys
import duckdb
from assay.predictions.column import to_numpy

found = duckdb.sql("SELECT range AS id, range / 2 AS p, range > 1 AS said FROM range(3)").arrow()
table = found.read_all() if hasattr(found, "read_all") else found
told = [to_numpy(table[name]).tolist() for name in ("id", "p", "said")]
assert told == [[0, 1, 2], [0.0, 0.5, 1.0], [False, False, True]], told
print("pandas" in sys.modules)
table["id"].to_numpy()
print("pandas" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]  # and what pyarrow's own does
