"""Delta and Iceberg tables: the rows that they have now, whatever lies in their folders."""

import datetime
import json
import shutil
import struct
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.stratify import stratify
from assay.errors import MissingDependencyError, PredictionsError
from assay.predictions import Scan, column_names, read_predictions
from assay.predictions.scan import Engine

SIZE = 600
COLUMNS: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5}


def rows(first: int, last: int, **more: Any) -> "pa.Table":
    ids = np.arange(first, last)
    score = np.random.default_rng(5).beta(0.4, 0.6, SIZE)[first:last]
    day = [datetime.date(2026, 11, 1 + id % 2) for id in ids.tolist()]
    lang = [("en", "fr é/=%", None)[id % 3] for id in ids.tolist()]
    return pa.table({"id": ids, "p": score, "day": day, "lang": lang, **more})


def told(source: object, **more: Any) -> list[object]:
    """Return what strata, cards and fingerprints depend on."""
    found = read_predictions(source, **{**COLUMNS, "show": ["day", "lang"], "seed": 3, **more})
    strata = stratify(
        found.profile("score", "probability", [True, False]),
        variable="score",
        method="perc",
        bins=3,
    )
    counts = [SIZE] * strata.n_strata
    dealt = found.deal(strata, scale="probability", seed=3, counts=counts)
    return [found.size, found.fingerprint(), strata, dealt]


def same_as(path: Path, live: "pa.Table", where: str | None = None, **more: Any) -> None:
    """Compare a table with a file of the rows that it should have, in memory and out of core."""
    plain = path.parent / "plain.parquet"
    pq.write_table(live, plain)
    engines: tuple[Engine, ...] = ("duckdb", "memory")
    for engine in engines:
        expected = told(Scan(plain, engine=engine, where=where), **more)
        assert told(Scan(path, engine=engine, where=where), **more) == expected


# Delta


@pytest.fixture
def delta() -> Any:
    return pytest.importorskip("deltalake", reason="deltalake is not installed")


@pytest.fixture
def table(delta: Any, tmp_path: Path) -> Path:
    """A partitioned table that rows were appended to, deleted from, and given a column."""
    path = tmp_path / "preds"
    parted = ["lang", "day"]
    delta.write_deltalake(path, rows(0, 300), partition_by=parted)
    delta.write_deltalake(path, rows(300, 500), mode="append", partition_by=parted)
    delta.DeltaTable(path).delete("id % 7 = 0")
    more = rows(500, SIZE, note=["new"] * 100)
    delta.write_deltalake(path, more, mode="append", partition_by=parted, schema_mode="merge")
    return path


def live_rows() -> "pa.Table":
    every = rows(0, SIZE, note=[None] * 500 + ["new"] * 100)
    ids = every["id"].to_numpy()
    return every.filter(pa.array((ids % 7 != 0) | (ids >= 500)))


def test_delta_has_the_rows_of_its_log(table: Path) -> None:
    files = list(table.glob("**/*.parquet"))
    there = sum(pq.ParquetFile(file).metadata.num_rows for file in files)
    assert there > live_rows().num_rows  # the folder is not the table
    same_as(table, live_rows(), show=["day", "lang", "note"])
    assert sorted(column_names(str(table))) == ["day", "id", "lang", "note", "p"]
    assert read_predictions(str(table), score="p", threshold=0.5).size == live_rows().num_rows


@pytest.mark.parametrize(
    "where", ["day = DATE '2026-11-02'", "lang IS NULL", "note IS NULL AND lang = 'fr é/=%'"]
)
def test_conditions_on_columns_that_are_in_the_log_only(where: str, table: Path) -> None:
    same_as(table, live_rows(), where)


def test_part_of_a_table_is_refused(table: Path) -> None:
    for part in (f"{table}/**/*.parquet", f"{table}/lang=en", f"{table.parent}"):
        with pytest.raises(PredictionsError, match="files of a Delta or Iceberg table") as caught:
            read_predictions(part, **COLUMNS)
        assert f"give the folder {table}" in str(caught.value)
    (named,) = list(table.glob("lang=en/**/*.parquet"))[:1]
    assert read_predictions(str(named), **COLUMNS).size  # a file of that very name is that file


def test_deletion_vectors(delta: Any, tmp_path: Path) -> None:
    path = tmp_path / "preds"
    delta.write_deltalake(path, rows(0, 200))
    delta.write_deltalake(path, rows(200, 400), mode="append")
    gone = [3, 17, 190]
    _delete_by_vector(path, gone)
    kept = [id for id in range(400) if id not in gone]
    same_as(path, rows(0, 400).take(kept))


def _delete_by_vector(path: Path, gone: list[int]) -> None:
    """Write a version that deletes rows of the first file by a vector, as the protocol has it."""
    (added,) = (each["add"] for each in _logged(path) if "add" in each)
    # A bitmap of 32 bits: no runs, one container, its key and size, where it begins, its values.
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(gone) - 1, 16)
    bitmap += struct.pack(f"<{len(gone)}H", *gone)
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    size = len(vector)
    vector += b"\0" * (-size % 4)
    told = {"storageType": "i", "pathOrInlineDv": _z85(vector), "sizeInBytes": size}
    told["cardinality"] = len(gone)
    features = ["deletionVectors"]
    actions = [
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        },
        {"remove": {"path": added["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": {**added, "deletionVector": told}},
    ]
    lines = "\n".join(map(json.dumps, actions))
    (path / "_delta_log" / f"{2:020}.json").write_text(lines)


def _logged(path: Path) -> list[Any]:
    first = path / "_delta_log" / f"{0:020}.json"
    return [json.loads(line) for line in first.read_text().splitlines()]


def _z85(data: bytes) -> str:
    letters = (
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    )
    words = struct.unpack(f">{len(data) // 4}I", data)
    return "".join(letters[word // 85**place % 85] for word in words for place in (4, 3, 2, 1, 0))


def test_other_names_in_files_and_files_elsewhere_are_refused(delta: Any, tmp_path: Path) -> None:
    path = tmp_path / "preds"
    delta.write_deltalake(path, rows(0, 10))
    pq.write_table(rows(10, 20), tmp_path / "secret.parquet")
    log = path / "_delta_log" / f"{0:020}.json"
    for action, changed, told in (
        (
            "metaData",
            {"configuration": {"delta.columnMapping.mode": "name"}},
            "have other column names than the table(?s:.*)Spark's catalog",
        ),
        ("add", {"path": (tmp_path / "secret.parquet").as_uri()}, "has files elsewhere"),
    ):
        before = log.read_text()
        lines = _logged(path)
        for line in lines:
            if action in line:
                line[action].update(changed)
        log.write_text("\n".join(map(json.dumps, lines)))
        with pytest.raises(PredictionsError, match=told):
            read_predictions(str(path), **COLUMNS)
        log.write_text(before)


def test_a_table_without_rows_and_a_log_that_is_none(delta: Any, tmp_path: Path) -> None:
    path = tmp_path / "preds"
    delta.write_deltalake(path, rows(0, 10))
    delta.DeltaTable(path).delete()
    with pytest.raises(PredictionsError, match="is empty"):
        read_predictions(str(path), **COLUMNS)
    for log in (path / "_delta_log").iterdir():
        log.unlink()
    with pytest.raises(PredictionsError, match=r"the Delta table .* cannot be read"):
        read_predictions(str(path), **COLUMNS)


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_delta_log").mkdir()
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'assay-eval\[delta\]'"):
        read_predictions(str(tmp_path), **COLUMNS)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'assay-eval\[iceberg\]'"):
        read_predictions(str(tmp_path / "v1.metadata.json"), **COLUMNS)


# Iceberg


@pytest.fixture
def iceberg(tmp_path: Path) -> Any:
    """A table of a catalog in a file of SQLite; its folder is the namespace's."""
    sql = pytest.importorskip("pyiceberg.catalog.sql", reason="pyiceberg is not installed")
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    catalog = sql.SqlCatalog(
        "local", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=warehouse.as_uri()
    )
    catalog.create_namespace("team")
    made = catalog.create_table("team.preds", schema=rows(0, 1).schema)
    made.append(rows(0, 300))
    made.append(rows(300, SIZE))
    return made


def _folder(made: Any) -> Path:
    return Path(_local(made.location()))


def test_iceberg_has_the_rows_of_its_metadata(iceberg: Any) -> None:
    before = _local(iceberg.metadata_location)
    same_as(_folder(iceberg), rows(0, SIZE))
    iceberg.delete("id < 40")
    assert told(before)[0] == SIZE  # metadata of before is the table as it was
    assert told(_local(iceberg.metadata_location))[0] == SIZE - 40
    same_as(_folder(iceberg), rows(40, SIZE))
    same_as(_folder(iceberg), rows(40, SIZE), "lang = 'en'")
    there = sum(
        pq.ParquetFile(file).metadata.num_rows for file in _folder(iceberg).glob("data/*.parquet")
    )
    assert there > SIZE
    with pytest.raises(PredictionsError, match="files of a Delta or Iceberg table"):
        read_predictions(f"{_folder(iceberg)}/data", **COLUMNS)


def test_columns_that_were_renamed_and_added(iceberg: Any) -> None:
    """In the files of before they have other names: what is read is copied by the library."""
    with iceberg.update_schema() as change:
        change.rename_column("p", "score")
        change.add_column("note", iceberg.schema().find_type("lang"))
    live = rows(0, SIZE, note=pa.nulls(SIZE, pa.string())).rename_columns(
        ["id", "score", "day", "lang", "note"]
    )
    same_as(_folder(iceberg), live, score="score", show=["day", "lang", "note"])
    with pytest.raises(PredictionsError, match="column 'p' not found"):
        read_predictions(_folder(iceberg), **COLUMNS)


def test_metadata_that_could_be_the_newest_and_data_elsewhere(iceberg: Any, tmp_path: Path) -> None:
    folder, moved = _folder(iceberg), tmp_path / "moved"
    shutil.copytree(folder, moved)
    with pytest.raises(PredictionsError, match="has files elsewhere"):
        read_predictions(moved, **COLUMNS)
    newest = Path(_local(iceberg.metadata_location))
    shutil.copy(newest, newest.with_name(newest.name.replace("-", "-other-", 1)))
    with pytest.raises(PredictionsError, match=r"several files of metadata(?s:.*)catalog"):
        read_predictions(folder, **COLUMNS)
    assert told(newest)[0] == SIZE


@pytest.mark.parametrize("attack", ["a class to import", "a list of files elsewhere"])
def test_metadata_leads_to_no_code_and_no_file_elsewhere(
    iceberg: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: str
) -> None:
    newest = Path(_local(iceberg.metadata_location))
    content = json.loads(newest.read_text())
    if attack == "a class to import":
        ran = tmp_path / "ran"
        (tmp_path / "evil.py").write_text(f"open({str(ran)!r}, 'w')\nclass Files: ...\n")
        monkeypatch.syspath_prepend(tmp_path)
        content["properties"] = {"py-io-impl": "evil.Files"}
        newest.write_text(json.dumps(content))
        same_as(newest, rows(0, SIZE))
        assert not ran.exists()
        return
    for snapshot in content["snapshots"]:
        moved = shutil.copy(_local(snapshot["manifest-list"]), tmp_path)
        snapshot["manifest-list"] = str(moved)
    newest.write_text(json.dumps(content))
    with pytest.raises(PredictionsError, match="has files elsewhere"):
        read_predictions(newest, **COLUMNS)


class _Deletes(NamedTuple):
    """A file of deletes, as a plan names it."""

    file_path: str
    file_format: object


def test_rows_that_a_file_of_deletes_names(iceberg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their numbers, which the library reads; by their values, which it refuses.

    It writes no such files itself: they are added to its plan.
    """
    folder, scans = _folder(iceberg), import_module("pyiceberg.table").DataScan
    plan, deletes = scans.plan_files, str(folder / "data" / "deletes.parquet")

    def with_deletes(scan: object) -> list[Any]:
        tasks = list(plan(scan))
        for task in tasks:
            if pq.read_table(_local(task.file.file_path))["id"][0].as_py() == 0:
                gone = {"file_path": [task.file.file_path] * 3, "pos": [3, 17, 190]}
                pq.write_table(pa.table(gone), deletes)
                task.delete_files = {_Deletes(deletes, task.file.file_format)}
        return tasks

    monkeypatch.setattr(scans, "plan_files", with_deletes)
    kept = [id for id in range(SIZE) if id not in (3, 17, 190)]
    same_as(folder, rows(0, SIZE).take(kept))

    def refuse(_: object) -> None:
        raise ValueError("equality deletes are not supported")

    monkeypatch.setattr(scans, "plan_files", refuse)
    with pytest.raises(PredictionsError, match=r"the Iceberg table .* cannot be read") as caught:
        read_predictions(folder, **COLUMNS)
    assert "Spark's catalog" in str(caught.value)


def _local(uri: str) -> str:
    return uri.removeprefix("file://")
