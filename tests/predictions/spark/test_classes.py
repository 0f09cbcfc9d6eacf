"""Predictions of several classes in Spark: counted and drawn as in memory."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions import Scan, column_names, find_classes, is_of_classes, read_predictions
from tests.predictions.class_population import KNOWN, TABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_finds_the_classes(spark: "SparkSession", tmp_path: Path) -> None:
    frame = spark.createDataFrame(pa.table(TABLE))
    assert find_classes(frame, predicted="topic") == KNOWN
    assert find_classes(frame, probabilities="p_*") == KNOWN
    assert is_of_classes(frame, "topic") == list(KNOWN.names)
    assert column_names(frame) == list(TABLE)
    path = tmp_path / "t.csv"
    path.write_text("id,said\na,10\nb,9\nc,\n")
    scan = Scan(path, spark=spark)
    with pytest.raises(PredictionsError, match="1 of 3 predicted classes"):
        find_classes(scan, predicted="said")
    with pytest.raises(PredictionsError, match="not a class: 'math'"):
        find_classes(frame, predicted="topic", classes=["maths", "physics", "q-bio"])


def test_lists_and_numbers_are_read_in_spark(spark: "SparkSession") -> None:
    rng = np.random.default_rng(2)
    table = {"id": np.arange(200), "said": rng.integers(0, 3, 200) * 10, "p": rng.random(200)}
    known = Vocabulary(("0", "10", "20"))
    frame = spark.createDataFrame(pa.table(table))
    columns: dict[str, Any] = {"id": "id", "predicted": "said", "score": "p", "classes": known}
    here, there = read_predictions(table, **columns), read_predictions(frame, **columns)
    assert (here.cells(), here.fingerprint()) == (there.cells(), there.fingerprint())
    lists = pa.table({"id": table["id"], "p": list(rng.dirichlet([1, 1, 1], 200))})
    columns = {"id": "id", "probabilities": "p", "classes": known}
    in_spark = read_predictions(spark.createDataFrame(lists), **columns)
    assert in_spark.fingerprint() == read_predictions(lists, **columns).fingerprint()
    assert find_classes(spark.createDataFrame(lists), probabilities="p").names == ("0", "1", "2")
