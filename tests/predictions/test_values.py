"""Groups of items by the values of a column."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.errors import PredictionsError
from assay.predictions.duckdb.loading import load
from assay.predictions.read import read_predictions
from assay.predictions.values import MISSING, SliceBits, read_slices, slice_text


def sliced(written: list[str], **columns: Any) -> SliceBits:
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
    found = sliced(["it"], it=column)
    assert sorted(found.names) == sorted(f"it={value}" for value in counts.index)
    sizes = [int((found.bits >> bit & 1).sum()) for bit in range(len(found.names))]
    assert sizes == sorted(counts.tolist(), reverse=True)

    def check(bits: Any) -> None:
        for bit, slice in enumerate(found.names):
            here = (texts == slice.removeprefix("it=")).to_numpy()
            assert (bits >> bit & 1 == here).all(), slice

    check(found.bits)
    with pytest.raises(AssertionError):
        check(np.roll(found.bits, 1))


def test_slices_may_overlap_and_each_is_found_once() -> None:
    found = sliced(
        ["lang=de", "lang", "site=b", "lang=en"], lang=["de", "en", "de"], site=["a", "b", "b"]
    )
    assert found.names == ("lang=de", "lang=en", "site=b")
    assert found.bits.tolist() == [0b001, 0b110, 0b101]


def test_items_without_a_value_are_a_slice_of_their_own() -> None:
    found = sliced(["lang"], lang=["de", None, None])
    assert found.names == (f"lang={MISSING}", "lang=de")
    assert found.bits.tolist() == [2, 1, 1]


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
