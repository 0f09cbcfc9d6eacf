"""Faults in predictions: the full text of the error on every engine."""

from typing import Any

import pyarrow as pa
import pytest

from assay.errors import AssayError
from assay.predictions import read_predictions
from tests.golden.draws import stored
from tests.golden.recorded import without_names
from tests.predictions.test_contract_faults import FAULTS, GOOD, ROLES

__all__ = ["FAULTS", "text"]


def text(name: str, engine: str, request: pytest.FixtureRequest) -> list[str]:
    """The error of a fault, line by line, or what was read if there was none."""
    columns, options, *_ = FAULTS[name]
    given: dict[str, Any] = {**ROLES, **options}
    try:
        found = read_predictions(stored(pa.table({**GOOD, **columns}), engine, request), **given)
    except AssayError as error:
        return [type(error).__name__, *without_names(str(error)).splitlines()]
    return [found.fingerprint()]
