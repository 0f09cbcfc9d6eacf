"""Making a campaign from a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

Fixture = Callable[..., Any]


def test_the_next_command_names_the_storage_where_it_was_given(create: Fixture) -> None:
    told = create("--storage", "sqlite:///my labels.db").stdout
    assert told.rstrip().endswith("next: assay label spam --storage 'sqlite:///my labels.db'")
    assert Path("my labels.db").is_file()
    assert not Path("assay.db").exists()


def test_the_environment_names_the_storage(
    create: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORAGE", "sqlite:///elsewhere.db")
    create()
    assert Path("elsewhere.db").is_file()
    assert not Path("assay.db").exists()


@pytest.mark.parametrize(("classes", "positive"), [([1, 2], "2"), (["ham", "spam"], "spam")])
def test_a_parquet_file_of_class_numbers_or_names(
    classes: list[object], positive: str, run: Fixture
) -> None:
    table = pa.table({"p": [0.1, 0.9, 0.8], "said": [classes[0], classes[1], classes[1]]})
    pq.write_table(table, "classes.parquet")
    words = ["--score", "p", "--predicted", "said", "--positive", positive, "--budget", "2"]
    result = run("create", "classes.parquet", *words, "--json")
    assert sum(row["size"] for row in json.loads(result.stdout)["strata"]) == 2
