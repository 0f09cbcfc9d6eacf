"""Faults in predictions: the full text of the error on every engine."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from assay.errors import AssayError
from assay.predictions import read_predictions
from tests.golden.draws import stored
from tests.golden.recorded import without_names

GOOD: dict[str, Any] = {
    "key": [101, 102, 103, 104, 105, 106],
    "p": [0.1, 0.2, 0.4, 0.6, 0.8, 0.9],
    "said": [0, 0, 0, 1, 1, 1],
}
ROLES: dict[str, Any] = {"id": "key", "score": "p", "predicted": "said"}
NAN, INF = float("nan"), float("inf")
TEXTS = ["ham", "ham", "ham", "spam", "spam", "spam"]

Fault = tuple[Mapping[str, object], Mapping[str, Any]]

FAULTS: dict[str, Fault] = {
    "NaN": ({"p": [0.1, 0.2, 0.4, NAN, 0.8, 0.9]}, {}),
    "infinity": ({"p": [0.1, 0.2, 0.4, 0.6, INF, 0.9]}, {}),
    "minus infinity": ({"p": [-INF, 0.2, 0.4, 0.6, 0.8, 0.9]}, {}),
    "no score": ({"p": [0.1, 0.2, None, None, 0.8, 0.9]}, {}),
    "all of these, of margins": ({"p": [-9, NAN, INF, -INF, None, 5]}, {}),
    "no score at all": ({"p": pa.nulls(6, pa.float32())}, {}),
    "no id": ({"key": [101, 102, 103, None, None, 106]}, {}),
    "no label": ({"said": [0, None, 0, 1, 1, 1]}, {}),
    "a label 2": ({"said": [0, 0, 2, 1, 1, 1]}, {}),
    "a label 0.5": ({"said": [0, 0, 0.5, 1, 1, 1]}, {}),
    "labels of text": ({"said": TEXTS}, {}),
    "no such positive": ({"said": TEXTS}, {"positive": "spm"}),
    "a contradiction": ({"said": [0, 1, 1, 1, 1, 0]}, {"threshold": 0.5}),
    "ids, scores and labels": (
        {"key": [101, None, 103, 104, 105, 106], "p": [NAN] * 6, "said": [None, 2, 1, 1, 1, 0]},
        {},
    ),
    "scores and labels": ({"p": [NAN, *GOOD["p"][1:]], "said": [0, 0, None, 1, 1, 2]}, {}),
    "scores of text": ({"p": ["0.1", "0.2", "0.4", "0.6", "0.8", "0.9"]}, {}),
    "ids of floats": ({"key": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, {}),
    "no such column": ({}, {"score": "P_spam"}),
    "nothing to show": ({}, {"show": ["text"]}),
}
"""Changed columns and changed options. `faults.json` has the errors."""


def text(name: str, engine: str, request: pytest.FixtureRequest) -> list[str]:
    """The error of a fault, line by line, or what was read if there was none."""
    columns, options = FAULTS[name]
    given: dict[str, Any] = {**ROLES, **options}
    try:
        found = read_predictions(stored(pa.table({**GOOD, **columns}), engine, request), **given)
    except AssayError as error:
        return [type(error).__name__, *without_names(str(error)).splitlines()]
    return [found.fingerprint()]
