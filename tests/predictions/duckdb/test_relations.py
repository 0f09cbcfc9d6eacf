"""Whatever predictions are kept in, they are the same ones; what does not fit together is told."""

import gc
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cuts import Cuts
from assay.core.strata import Strata
from assay.errors import AssayError, PredictionsError
from assay.predictions import Card, Predictions, read_predictions
from assay.predictions.duckdb.loading import fetch_shown
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.scan import Scan, as_scan
from tests.predictions.sources import SOURCES, UNCOPIED, made_table, write_csv, write_parquet

COLUMNS = ["id", "score", "said", "text"]


def _cards(predictions: Predictions, count: int = 200) -> list[Card]:
    strata = Strata.of_sides("score", {None: Cuts("equal", (), (0,))}, (predictions.size,))
    (cards,) = predictions.deal(strata, scale="margin", seed=3, counts=[count])
    return cards


def _in_memory(source: object) -> Scan:
    return replace(as_scan(source), engine="memory")


def _look(scan: Scan, id: str) -> tuple[object, ...]:
    """Return all that depends on the ids, scores and labels, and what people see of some items."""
    show = ["text", "lang"]
    predictions = read_predictions(scan, id=id, score="score", predicted="said", show=show)
    size = predictions.size
    found = predictions.fingerprint(), size, predictions.positives, predictions.score_range
    return *found, _cards(predictions, min(size, 200))


@pytest.fixture(scope="module")
def table() -> "pa.Table":
    return made_table()


@pytest.fixture(scope="module")
def looks(table: "pa.Table", tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the Parquet file of the same table gives, by the column of ids."""
    scan = write_parquet(table, tmp_path_factory.mktemp("parquet"))
    return {id: _look(scan, id) for id in ("id", "number")}


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_gives_the_same_predictions(
    source: str, table: "pa.Table", looks: Mapping[str, object], tmp_path: Path
) -> None:
    scan = SOURCES[source](table, tmp_path)
    assert {id: _look(_in_memory(scan), id) for id in looks} == looks
    there = replace(scan, engine="duckdb")
    assert {id: _look(there, id) for id in looks} == looks


@pytest.mark.parametrize("source", ["JSON lines", "CSV by language", "a query", "DuckDB"])
def test_a_condition_gives_what_filtering_first_would_give(
    source: str, table: "pa.Table", tmp_path: Path
) -> None:
    english = table.filter(pa.array([lang == "en" for lang in table["lang"].to_pylist()]))
    (tmp_path / "first").mkdir()
    (tmp_path / "then").mkdir()
    expected = _look(write_parquet(english, tmp_path / "first"), "number")
    scan = SOURCES[source](table, tmp_path / "then")
    assert _look(replace(scan, where="lang = 'en' -- and no other"), "number") == expected
    assert _look(replace(scan, where="lang <> 'en'"), "number") != expected


def _content(relation: Relation) -> list[tuple[object, ...]]:
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    rows = relation.connection.sql(f"FROM {relation.sql} SELECT {names}").fetchall()
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("source", SOURCES)
def test_the_copy_holds_what_the_source_holds(
    source: str, table: "pa.Table", tmp_path: Path
) -> None:
    scan = replace(SOURCES[source](table, tmp_path), where="lang = 'en'")
    in_place = open_relation(scan, COLUMNS, staged=False)
    staged = open_relation(scan, COLUMNS, staged=True)
    assert sorted(_content(staged), key=repr) == sorted(_content(in_place), key=repr)
    assert {name: staged.types[name] for name in COLUMNS} == {
        name: in_place.types[name] for name in COLUMNS
    }
    is_csv = "CSV" in source
    assert staged.is_text is in_place.is_text is is_csv
    if is_csv:
        assert set(staged.types.values()) == {"VARCHAR"}
    is_copied = source not in UNCOPIED
    assert (staged.folder / "staged.parquet").exists() is is_copied
    assert not list(in_place.folder.iterdir())
    assert staged.bytes > 0
    if source == "a folder":
        files = tmp_path.rglob("[ab].parquet")
        assert in_place.bytes == sum(path.stat().st_size for path in files)
    assert (in_place.bytes > 0) is (source != "a query")


def test_temporary_files_are_gone_with_the_process(tmp_path: Path) -> None:
    scan = write_csv(made_table(), tmp_path)
    program = (
        "import sys\n"
        "from assay.predictions.duckdb.relations import open_relation\n"
        "from assay.predictions.scan import Scan\n"
        "relation = open_relation(Scan(sys.argv[1]), ['id'], staged=True)\n"
        "print(relation.folder, relation.folder.exists())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(scan.path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    folder, was_there = run.stdout.rsplit(maxsplit=1)
    assert was_there == "True"
    assert not Path(folder).exists()
    assert run.stderr == ""


def test_temporary_files_are_gone_after_an_error_and_with_the_relation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = write_csv(made_table(), tmp_path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with pytest.raises(PredictionsError, match="not found"):
        open_relation(scan, ["no such column"], staged=True)
    assert not list(temporary.iterdir())
    relation = open_relation(scan, ["id"], staged=True)
    assert list(temporary.iterdir())
    del relation
    gc.collect()
    assert not list(temporary.iterdir())


def test_a_query_is_run_once() -> None:
    # Run again, it would give other ids than those that were dealt.
    query = "SELECT uuid()::VARCHAR AS id, i / 10 AS score, i AS text FROM range(10) t(i)"
    predictions = read_predictions(
        _in_memory(query), id="id", score="score", threshold=0.5, show=["text"]
    )
    assert {card.shown["text"] for card in _cards(predictions, 10)} == set(range(10))
    relation = open_relation(Scan(query), ["id", "text"], staged=False)
    ids = [id for (id,) in relation.connection.sql(f"FROM {relation.sql} SELECT id").fetchall()]
    with pytest.raises(PredictionsError, match="10 of 10 drawn items are no longer there"):
        fetch_shown(relation, "id", ids, ["text"])


def test_rows_without_ids_keep_the_order_of_a_query(tmp_path: Path) -> None:
    pq.write_table(made_table(), tmp_path / "a.parquet")
    scan = Scan(f"FROM '{tmp_path}/a.parquet' ORDER BY score")
    predictions = read_predictions(scan, score="score", threshold=0.5, show=["score"])
    cards = sorted(_cards(predictions), key=lambda card: int(card.id))
    scores = [card.shown["score"] for card in cards]
    assert scores == sorted(scores, key=lambda score: float(str(score)))
    assert scores[0] == np.sort(np.asarray(made_table()["score"]))[int(cards[0].id)]


def test_a_name_in_a_query_is_no_variable_of_the_program() -> None:
    frame = pd.DataFrame({"id": [1], "score": [0.5]})
    assert duckdb.execute("SELECT id FROM frame").fetchall() == [(1,)]
    _refused(Scan("SELECT * FROM frame"), "cannot be read | frame does not exist")
    assert len(frame) == 1


# JSON


def _jsonl_of(folder: Path, rows: Sequence[object]) -> Path:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_types_of_json_come_from_all_values(tmp_path: Path) -> None:
    # DuckDB guesses from some 20,000 rows, and rounds what is no integer in a column of them.
    rows = [{"id": number, "score": 1} for number in range(50_000)] + [{"id": -1, "score": 5.5}]
    path = _jsonl_of(tmp_path, rows)
    predictions = read_predictions(path, id="id", score="score", threshold=3)
    assert predictions.score_range == (1.0, 5.5)
    guess = f"FROM read_json('{path}', columns = {{'score': 'BIGINT'}}, records = true)"
    assert duckdb.execute(f"{guess} SELECT max(score)").fetchall() == [(6,)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "UBIGINT"),
        ([2**64 - 1, 0], "UBIGINT"),
        ([-1, 2], "BIGINT"),
        ([1, 0.5], "DOUBLE"),
        ([True, None], "BOOLEAN"),
        (["2026-11-15", "2026-11-16"], "VARCHAR"),
        (["007", None], "VARCHAR"),
        ([None, None], "INTEGER"),
        ([1, "a"], "JSON"),
        ([True, 1], "JSON"),
        ([[1], [2]], "JSON"),
        ([{"a": 1}, None], "JSON"),
    ],
)
def test_types_of_json(values: list[object], kind: str, tmp_path: Path) -> None:
    path = _jsonl_of(tmp_path, [{"value": value} for value in values])
    for staged in (False, True):
        relation = open_relation(Scan(path), ["value"], staged=staged)
        assert relation.types == {"value": kind}
        assert fetch_shown(relation, None, [1, 0], ["value"]) == [
            {"value": value} for value in reversed(values)
        ]


def test_json_that_is_not_of_one_type_serves_for_showing_only(tmp_path: Path) -> None:
    rows = [{"id": 1, "score": 0.5, "tags": ["a", 1]}, {"id": "x", "score": 0.7, "tags": "b"}]
    path = _jsonl_of(tmp_path, rows)
    predictions = read_predictions(path, score="score", threshold=0.6, show=["tags", "id"])
    shown = {card.id: card.shown for card in _cards(predictions, 2)}
    assert shown == {0: {"tags": ["a", 1], "id": 1}, 1: {"tags": "b", "id": "x"}}
    _refused(path, "column 'id' of | a.jsonl | several types | of one type")
    _refused(path, "column 'tags' of | lists", score="tags", id=None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a.jsonl is empty | at least one row"),
        ("{}\n", "a.jsonl is empty"),
        ('{"id": 1, "score": 0.5}\n{"id": 2\n', "a.jsonl cannot be read | Malformed | in line"),
        ('{"id": 1, "score": 0.5}\n[2]\n', "a.jsonl cannot be read | line 2: | OBJECT"),
        ('{"id": 1, "score": 0.5}\n5\n', "a.jsonl cannot be read"),
        ('{"id": 1, "score": 0.5}\n{"id": 2}\n', "1 of 2 scores | row 1 (id 2, score missing)"),
        ('{"id": 1, "score": 0.5}\n{"id": null, "score": 1}\n', "1 of 2 ids | missing | row 1"),
        ('{"id": 1, "score": "a"}\n', "the scores in column 'score' of | type string"),
        ('{"id": 1, "scores": 1}\n', "'score' not found in | a.jsonl | did you mean 'scores'"),
        ('{"id": 1, "ID": 2, "score": 1}\n', "several columns named 'id' | ID, id, score"),
        ('{"id": -1, "score": 1}\n{"id": 18446744073709551615, "score": 1}\n', "cannot be read"),
        ('{"id": 1e300, "score": 1}\n', "ids in column 'id' of | type double"),
    ],
)
def test_bad_json(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    _refused(path, words)


# Several files


def _refused(source: object, words: str, **options: Any) -> str:
    """Return the error, in which are the words between the bars, in that order."""
    known: dict[str, Any] = {"id": "id", "score": "score", "threshold": 0.5}
    with pytest.raises(AssayError) as caught:
        read_predictions(_in_memory(source), **{**known, **options})
    told = str(caught.value)
    place = 0
    for word in words.split("|"):
        place = told.find(word.strip(), place)
        assert place >= 0, f"{word.strip()!r} is not in, or not next in: {told}"
    return told


def _files(folder: Path, **columns: Sequence["pa.Array[Any]"]) -> str:
    """Write a Parquet file of each of the columns' arrays."""
    for number, arrays in enumerate(zip(*columns.values(), strict=True)):
        parts = dict(zip(columns, arrays, strict=True))
        pq.write_table(pa.table(parts), folder / f"{number}.parquet")
    return f"{folder}/*.parquet"


@pytest.mark.parametrize(
    ("ids", "scores"),
    [
        ([pa.int32(), pa.int64()], [pa.float32(), pa.float64()]),
        ([pa.int64(), pa.int16()], [pa.float64(), pa.float32()]),
        ([pa.uint32(), pa.int64()], [pa.int8(), pa.int64()]),
        ([pa.uint8(), pa.uint64()], [pa.float64(), pa.float64()]),
    ],
)
def test_files_with_numbers_of_different_widths(
    ids: list["pa.DataType"], scores: list["pa.DataType"], tmp_path: Path
) -> None:
    source = _files(
        tmp_path,
        id=[pa.array([7], ids[0]), pa.array([100], ids[1])],
        score=[pa.array([1], scores[0]), pa.array([0], scores[1])],
    )
    found = {card.id for card in _cards(_read(source), 2)}
    assert found == {7, 100}


def _read(source: object) -> Predictions:
    return read_predictions(_in_memory(source), id="id", score="score", threshold=0.5)


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ([pa.int64(), pa.int64(), pa.string()], "BIGINT in 2 files (such as | 0.parquet | VARCHAR"),
        ([pa.string(), pa.int64(), pa.int64()], "VARCHAR in 1 file ( | 0.parquet | BIGINT in 2"),
        ([pa.int64(), pa.uint64(), pa.int64()], "BIGINT in 2 files | UBIGINT in 1 file"),
        ([pa.float64(), pa.int64(), pa.int64()], "DOUBLE in 1 file | BIGINT in 2 files"),
    ],
)
def test_files_of_different_types(kinds: list["pa.DataType"], words: str, tmp_path: Path) -> None:
    arrays = [pa.array([number]).cast(kind) for number, kind in enumerate(kinds)]
    source = _files(tmp_path, id=arrays, score=[pa.array([0.5])] * 3)
    told = "column 'id' of | *.parquet is not the same in all files | "
    _refused(source, told + words + " | hint: write it with one type")
    # Without a look at every file the first one's type goes, or that of all together.
    paths = sorted(map(str, tmp_path.glob("*.parquet")))
    assert len(duckdb.read_parquet(paths, union_by_name=True).fetchall()) == 3


def test_a_column_that_is_not_in_all_files(tmp_path: Path) -> None:
    for number in range(12):
        columns = {"id": [number], "score": [0.5], "text": ["a"]}
        if number == 7:
            del columns["text"]
        pq.write_table(pa.table(columns), tmp_path / f"{number:02}.parquet")
    words = "column 'text' of | VARCHAR in 11 files (such as | 00.parquet), missing in 1 file ("
    _refused(tmp_path, words + " | 07.parquet)", show=["text"])
    assert _read(tmp_path).size == 12


def test_files_that_differ_in_columns_that_are_not_used(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "score": [0.5], "n": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": ["x"], "score": [0.7], "id": [2]}), tmp_path / "b.parquet")
    assert {card.id for card in _cards(_read(tmp_path), 2)} == {1, 2}
    assert _read(Scan(tmp_path, where="n = 'x'")).size == 1


# Folders named key=value


def _days(folder: Path, days: Sequence[str], **more: Sequence[object]) -> Path:
    for number, day in enumerate(days):
        (folder / f"day={day}").mkdir(parents=True)
        columns = {"id": [number], "score": [0.5], **more}
        pq.write_table(pa.table(columns), folder / f"day={day}" / "a.parquet")
    return folder


def test_nested_columns_are_no_columns(tmp_path: Path) -> None:
    nested = {"meta": [{"id": 5, "more": [{"score": 1.0}]}], "id": [1], "score": [0.5]}
    pq.write_table(pa.table(nested), tmp_path / "a.parquet")
    assert [card.id for card in _cards(_read(tmp_path), 1)] == [1]


def test_an_empty_file_beside_others(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,score\n1,0.5\n")
    (tmp_path / "b.csv").write_text("")
    (tmp_path / "c.csv").write_text("id,score\n")
    assert _read(tmp_path).size == 1


def test_what_folders_say_serves_for_conditions_and_showing(tmp_path: Path) -> None:
    folder = _days(tmp_path, ["2026-11-14", "2026-11-15", "2026-11-16"])
    scan = Scan(folder, where="day >= '2026-11-15'")
    predictions = read_predictions(scan, id="id", score="score", threshold=0.5, show=["day"])
    shown = {card.id: card.shown["day"] for card in _cards(predictions, 2)}
    assert shown == {1: "2026-11-15", 2: "2026-11-16"}


def test_a_file_is_believed_before_its_folder(tmp_path: Path) -> None:
    (tmp_path / "id=9").mkdir()
    pq.write_table(pa.table({"id": [1], "score": [0.5]}), tmp_path / "id=9" / "a.parquet")
    for source in (tmp_path, tmp_path / "id=9" / "a.parquet", f"{tmp_path}/*/*.parquet"):
        assert [card.id for card in _cards(_read(source), 1)] == [1]
    # DuckDB itself takes the folder's word.
    assert duckdb.execute(f"SELECT id FROM '{tmp_path}/*/*.parquet'").fetchall() == [(9,)]


def test_folders_of_different_keys_give_no_columns(tmp_path: Path) -> None:
    _days(tmp_path, ["1"])
    pq.write_table(pa.table({"id": [5], "score": [0.5]}), tmp_path / "b.parquet")
    assert _read(tmp_path).size == 2
    _refused(Scan(tmp_path, where="day = 1"), "where='day = 1' cannot be used | columns: id, score")


def test_folders(tmp_path: Path) -> None:
    _refused(tmp_path, "is a directory without files to read | *.parquet")
    (tmp_path / "a.csv").write_text("id,score\n1,0.5\n")
    assert _read(tmp_path).size == 1
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"id,score\n2,0.5\n"))
    _refused(tmp_path, "all files be of one kind; got .csv (1), | .txt (1) | hint | pattern")
    assert _read(f"{tmp_path}/*.csv*").size == 2
    odd = tmp_path / "odd [1] it's"
    odd.mkdir()
    (odd / "a*.csv").write_text("id,score\n7,0.5\n")
    assert [card.id for card in _cards(_read(odd), 1)] == [7]


# Conditions


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("lnag = 'en'", "where=\"lnag = 'en'\" cannot be used | lnag | columns: id, score, lang"),
        ("lang = en", "where='lang = en' cannot be used | text is quoted: lang = 'en'"),
        ("lang = ", "where='lang = ' cannot be used | syntax error | columns: id"),
        ("1 = 1); COPY (SELECT 1) TO 'x.csv'; SELECT (1", "is more than a condition"),
        ("lang = 'de'", "where=\"lang = 'de'\" leaves no row of | a.parquet | at least one"),
        ("CAST(lang AS INTEGER) = 1", "a.parquet cannot be read | Conversion Error"),
    ],
)
def test_bad_conditions(
    where: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.parquet"
    columns = {"id": [1, 2], "score": [0.5, 0.7], "lang": ["en", "fr"]}
    pq.write_table(pa.table(columns), path)
    told = _refused(Scan(path, where=where), words)
    assert len(told.splitlines()) <= 4
    with pytest.raises(PredictionsError):
        open_relation(Scan(path, where=where), ["id"], staged=True)
    assert list(tmp_path.iterdir()) == [path]


def test_a_condition_on_the_text_of_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,score\n1,0.5\n2,0.7\n")
    _refused(Scan(path, where="score > 0.6"), "explicit cast | CAST(score AS DOUBLE)")
    found = _cards(_read(Scan(path, where="CAST(score AS DOUBLE) > 0.6")), 1)
    assert [card.id for card in found] == [2]


@pytest.mark.parametrize("name", ["where", "table"])
@pytest.mark.parametrize("held", [{"id": [1], "score": [0.5]}, pd.DataFrame({"id": [1]})])
def test_a_condition_on_a_table_in_memory(name: str, held: object) -> None:
    scan = Scan(held, where="x") if name == "where" else Scan(held, table="x")
    _refused(scan, f"{name}='x' cannot be combined with predictions of type | filter the table")


# Databases


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE preds AS SELECT i AS id, i / 10 AS score FROM range(5) t(i);"
            "CREATE SCHEMA old;"
            "CREATE TABLE old.preds AS FROM preds LIMIT 2;"
            "CREATE VIEW few AS FROM preds LIMIT 3"
        )
    return path


@pytest.mark.parametrize(
    ("table", "size"), [("preds", 5), ("main.preds", 5), ("old.preds", 2), ("few", 3)]
)
def test_tables_of_a_duckdb_file(table: str, size: int, database: Path) -> None:
    predictions = _read(Scan(database, table=table))
    assert predictions.size == size
    assert predictions.source == f"table {table} of {database}"


def test_bad_tables_of_a_duckdb_file(database: Path) -> None:
    _refused(database, "no table of | a.db is named | tables: few, preds, old.preds | table='few'")
    _refused(Scan(database, table="perds"), "table 'perds' not found in | did you mean 'preds'")
    _refused(Scan(database, table="preds; DROP TABLE preds"), "not found in")
    _refused(
        Scan(database.parent / "b.duckdb", table="preds"), "b.duckdb' not found | no such file"
    )
    (database.parent / "c.db").write_bytes(b"no database" + bytes(5_000))
    _refused(Scan(database.parent / "c.db", table="preds"), "c.db cannot be read | not a valid")
    (database.parent / "d.db").write_bytes(b"SQLite format 3\0" + bytes(5_000))
    _refused(Scan(database.parent / "d.db", table="preds"), "d.db cannot be read | not a database")
    (database.parent / "d.csv").write_text("id,score\n1,0.5\n")
    _refused(
        Scan(database.parent / "d.csv", table="preds"),
        "combined with | d.csv | DuckDB file | leave",
    )
    _refused(Scan("SELECT 1", table="preds"), "with 'SELECT 1' | leave it out")


def test_a_duckdb_file_is_opened_for_reading_only(database: Path) -> None:
    before = database.read_bytes()
    relation = open_relation(Scan(database, table="preds"), ["id"], staged=True)
    with pytest.raises(duckdb.Error, match="read-only"):
        relation.connection.execute("DELETE FROM source.main.preds")
    assert database.read_bytes() == before


# Queries


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1 AS id; SELECT 2 AS id", "is not one query | one SELECT"),
        ("SELECT 1 AS id, 2 AS ID, 0.5 AS score", "several columns named 'id' | id, ID, score"),
        ("SELECT 1 AS id", "column 'score' not found in query 'SELECT 1 AS id' | columns: id"),
        ("SELECT 1 AS id, 0.5 AS score WHERE false", "is empty | at least one row"),
        ("SELECT * FROM", "cannot be read | syntax error"),
        ("SELECT * FROM 'none.parquet'", "cannot be read | none.parquet"),
        (f"SELECT 1 AS id, {'+'.join('1' * 60)} AS scoer", "'SELECT 1 AS id, 1+1 | …'"),
        ("with labels.csv", "cannot be read"),
    ],
)
def test_bad_queries(query: str, words: str) -> None:
    _refused(Scan(query), words)


def test_a_file_whose_name_reads_like_a_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("from here.csv").write_text("id,score\n7,0.5\n")
    assert [card.id for card in _cards(_read("from here.csv"), 1)] == [7]


# Elsewhere


@pytest.mark.parametrize(
    "source",
    [
        "s3://bucket/preds/*.parquet",
        "https://localhost:1/preds.parquet?key=1",
        "s3://bucket/folder/",
        "SELECT * FROM 's3://bucket/preds.parquet'",
    ],
)
def test_what_lies_elsewhere_needs_an_extension_that_is_never_downloaded(source: str) -> None:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        try:
            connection.execute("LOAD httpfs")
        except duckdb.Error:
            pass
        else:
            pytest.skip("DuckDB's extension httpfs is installed")
    _refused(
        source, "cannot be read | needs its extension httpfs | duckdb.execute('INSTALL httpfs')"
    )


# PostgreSQL


@pytest.fixture(scope="module")
def url(postgres_dsn: str) -> str:
    facts = dict(fact.split("=") for fact in postgres_dsn.split())
    return f"postgresql:///{facts['dbname']}?host={quote(facts['host'])}&user={facts['user']}"


@pytest.fixture(scope="module")
def postgres(url: str, table: "pa.Table") -> str:
    """Return the URL of a database that has the predictions in a schema of its own."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    with psycopg.connect(url) as server:
        server.execute('CREATE SCHEMA "Odd "" schema"')
        server.execute(
            'CREATE TABLE "Odd "" schema".preds (id text, number bigint, score double precision, '
            "said boolean, text text, lang text)"
        )
        names = ", ".join(table.column_names)
        copy = f'COPY "Odd "" schema".preds ({names}) FROM STDIN'
        with server.cursor() as cursor, cursor.copy(copy) as rows:
            for row in table.to_pylist():
                rows.write_row(list(row.values()))
        server.execute("CREATE TABLE nothing (id bigint, score real)")
        server.execute("CREATE TABLE single (score double precision)")
        server.execute("INSERT INTO single VALUES (0.5), (NULL), (0.7)")
        server.execute("CREATE VIEW half AS SELECT 7 AS id, 0.5::real AS score, ''::text AS text")
    return url


PREDS = 'Odd " schema.preds'


def test_types_of_postgres(url: str) -> None:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    digits = "0.1234567890123456789012345678"
    with psycopg.connect(url) as server:
        server.execute(
            "CREATE TABLE kinds (small smallint, int int, big bigint, real real, double float8, "
            "exact numeric(30, 28), free numeric, flag boolean, day date, key uuid, none text)"
        )
        server.execute(
            "INSERT INTO kinds VALUES (-32768, 2147483647, -9223372036854775808, 0.1, 0.1, "
            f"{digits}, {digits}, true, '2026-11-15', 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', "
            "NULL), (1, 2, 3, 'Infinity', 'NaN', 1, 'NaN', NULL, 'infinity', NULL, '')"
        )
    numbers = {"small": "SMALLINT", "int": "INTEGER", "big": "BIGINT", "real": "FLOAT"}
    more = {"double": "DOUBLE", "exact": "DECIMAL(30,28)", "free": "DOUBLE", "flag": "BOOLEAN"}
    kinds = {**numbers, **more, **dict.fromkeys(["day", "key", "none"], "VARCHAR")}
    relation = open_relation(Scan(url, table="kinds"), list(kinds), staged=False)
    assert relation.types == kinds
    first, second = relation.connection.sql(f"FROM {relation.sql}").fetchall()
    assert first == (
        *(-32768, 2147483647, -(2**63), float(np.float32(0.1)), 0.1, Decimal(digits)),
        *(float(digits), True, "2026-11-15", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", None),
    )
    assert second[3] == float("inf")
    assert np.isnan([second[4], second[6]]).all()
    assert second[7:] == (None, "infinity", None, "")


def test_views_bad_tables_and_conditions_of_postgres(postgres: str) -> None:
    assert (
        _read(Scan(postgres.replace("postgresql:", "postgresql+psycopg:"), table="half")).size == 1
    )
    # In the CSV format a missing value of the only column would be an empty line.
    scan = Scan(postgres, table="single")
    _refused(scan, "1 of 3 scores in column 'score' of table single | row 1", id=None)
    _refused(postgres, "no table of postgresql:///postgres is named | tables: | half | nothing")
    _refused(Scan(postgres, table="halff"), "table 'halff' not found in | did you mean 'half'")
    _refused(Scan(postgres, table="nothing"), "table nothing of | is empty")
    _refused(Scan(postgres, table="single"), "column 'id' not found in table single of")
    scan = Scan(postgres, table="half", where="lnag = 'en'")
    told = _refused(scan, "where=\"lnag = 'en'\" cannot be used | lnag | columns: id, score, text")
    assert "LINE" not in told
    _refused(Scan(postgres, table="half", where="id = 8"), "where='id = 8' leaves no row of table")
    _refused(Scan(postgres, table="half", where="1 / (id - 7) = 1"), "division by zero")


def test_a_copy_in_several_parts(
    postgres: str, table: "pa.Table", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.predictions.databases.postgres._PART", 10_000)
    relation = open_relation(Scan(postgres, table=PREDS), table.column_names, staged=True)
    (copy,) = relation.folder.iterdir()
    assert pq.ParquetFile(copy).num_row_groups > 10
    rows = relation.connection.sql(f"FROM {relation.sql}").fetchall()
    assert rows == [tuple(row.values()) for row in table.to_pylist()]


def test_no_password_is_told(postgres: str) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as server:
        server.execute("CREATE TABLE strange (id int, score numeric(5, 2))")
        server.execute("INSERT INTO strange VALUES (1, 'NaN')")
    address = postgres.replace("postgresql:///", "postgresql://someone:secret@/")
    told = _refused(Scan(address, table="strange"), "postgresql:///postgres cannot be read | NaN")
    assert "secret" not in told


def test_postgres_is_only_read(postgres: str) -> None:
    for where in (
        "id IN (SELECT 7) ) TO STDOUT; DROP TABLE nothing; COPY (SELECT 1 WHERE (true",
        # The first condition is tried alone, before it stands in a COPY.
        "true); COMMIT; BEGIN READ WRITE; DROP TABLE nothing; COMMIT; SELECT (true",
    ):
        _refused(Scan(postgres, table="half", where=where), "cannot be")
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres) as server:
        assert server.execute("SELECT count(*) FROM nothing").fetchall() == [(0,)]


def test_bad_urls_of_postgres() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    for rest in ("127.0.0.1:1/db", "127.0.0.1:one/db", "127.0.0.1/db?nonsense=1"):
        scan = Scan(f"postgresql://someone:secret@{rest}", table="t")
        told = _refused(scan, "table t of postgresql://127.0.0.1/db cannot be read")
        assert "secret" not in told
