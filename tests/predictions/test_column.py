"""Numbers of Arrow as numpy's: what pyarrow's own function gives, without loading pandas."""

import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.predictions.column import to_numpy

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
