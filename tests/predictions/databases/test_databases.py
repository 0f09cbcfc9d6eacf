"""Databases that count a table where it lies: what they are asked, refuse and tell."""

import hashlib
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pyarrow as pa
import pytest

import assay
from assay.core.vocabulary import Vocabulary
from assay.errors import MissingDependencyError, PredictionsError
from assay.predictions import query, read_predictions
from assay.predictions.databases.postgres import Postgres
from assay.predictions.predictions import Predictions
from assay.predictions.read import engine_of
from assay.predictions.scan import Scan
from assay.predictions.sql import table as trial
from assay.predictions.sql.counting import CountingScanner
from assay.predictions.sql.database import refuse_untried
from tests.predictions.contract import scan_by
from tests.predictions.database_tables import DATABASES
from tests.predictions.toy import Toy

SIZE = 400
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "id": np.arange(SIZE),
        "p": RNG.beta(0.5, 0.5, SIZE),
        "lang": ["en" if each else "it's" for each in RNG.random(SIZE) < 0.5],
        "topic": RNG.choice(["a", "b", "c"], SIZE),
        'odd "`\\ name': [f"text {row}" for row in range(SIZE)],
    }
)
ROLES: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5}


@pytest.fixture(params=DATABASES)
def scan(request: pytest.FixtureRequest) -> Scan:
    return scan_by(request, request.param, TABLE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of SQLite that many small tests ask for."""
    path = tmp_path / "preds.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE preds (id INTEGER, p REAL, lang TEXT)")
        rows = zip(*(TABLE[name].to_pylist() for name in ("id", "p", "lang")), strict=True)
        connection.executemany("INSERT INTO preds VALUES (?, ?, ?)", rows)
    connection.close()
    return path


def _first_items(source: object, **more: Any) -> list[tuple[object, object]]:
    campaign = assay.create_campaign(source, **ROLES, metric="precision", budget=40, seed=5, **more)
    return [(item.id, dict(item.shown)) for item in campaign.ask(40)]


def test_a_campaign_asks_for_the_same_items_in_the_same_order(scan: Scan) -> None:
    show = ['odd "`\\ name', "lang"]
    where = "lang = 'it''s' -- as the database has it"
    english = TABLE.filter(pa.array([lang == "it's" for lang in TABLE["lang"].to_pylist()]))
    found = _first_items(Scan(scan.source, scan.table, where, "database"), show=show)
    assert found == _first_items(english, show=show)


def test_a_copy_of_the_table_is_the_same(request: pytest.FixtureRequest) -> None:
    scan = replace(scan_by(request, "postgres", TABLE), where="lang = 'en'")
    there = read_predictions(scan, **ROLES)
    assert isinstance(there, Predictions)
    assert isinstance(there.scanner, CountingScanner)
    for engine in ("memory", "duckdb"):
        copied = read_predictions(replace(scan, engine=engine), **ROLES)
        assert copied.fingerprint() == there.fingerprint()


def test_what_is_not_counted_there_is_copied(file: Path) -> None:
    """Second opinions: by default the table is copied; if not, it is refused."""
    scan = Scan(file, "preds", engine="database")
    options = {**ROLES, "aux": ["lang"]}
    expected = read_predictions(TABLE, **options).fingerprint()
    assert read_predictions(replace(scan, engine=None), **options).fingerprint() == expected
    with pytest.raises(PredictionsError, match="leave out the engine"):
        read_predictions(scan, **options)


@pytest.mark.parametrize("engine", DATABASES)
def test_predicted_classes_are_numbered_there(engine: str, request: pytest.FixtureRequest) -> None:
    names = np.array(["a", "B", "it's \\ none"])[RNG.integers(0, 3, SIZE)]
    table = TABLE.append_column("other", pa.array(names)).append_column("q", TABLE["p"])
    scan, classes = scan_by(request, engine, table), Vocabulary(("b", "a", "it's \\ none", "c"))
    other = {"predicted": "other", "score": "q"}
    both = {"classifiers": {"one": {"predicted": "topic", "score": "p"}, "two": other}}
    for more in ({"predicted": "topic", "score": "p"}, both):
        options: dict[str, Any] = {"id": "id", "classes": classes, **more}
        here, there = read_predictions(table, **options), read_predictions(scan, **options)
        assert isinstance(there.scanner, CountingScanner)
        assert there.fingerprint() == here.fingerprint()
        assert there.cells() == here.cells()
    bad = classes.names[:3]
    with pytest.raises(PredictionsError, match="are none of the 3 classes"):
        read_predictions(scan, id="id", predicted="topic", classes=Vocabulary(bad))


def test_tables_and_conditions_that_are_none(scan: Scan) -> None:
    near = f"{str(scan.table)[:-1]}"
    for table, where, told in (
        (near, None, f"table '{near}' not found(?s:.*)did you mean '{scan.table}'"),
        (None, None, "no table of (?s:.*)tables: "),
        (scan.table, "lnag = 'en'", "where=\"lnag = 'en'\" cannot be used(?s:.*)lnag(?s:.*)id, p"),
        (scan.table, "id < 0", "where='id < 0' leaves no row"),
        (scan.table, "true); DROP TABLE x; SELECT (1", "cannot be used"),
    ):
        with pytest.raises(PredictionsError, match=told):
            read_predictions(Scan(scan.source, table, where, "database"), **ROLES)


def test_an_item_is_looked_for_by_an_index(request: pytest.FixtureRequest) -> None:
    import psycopg

    scan = scan_by(request, "postgres", TABLE)
    url, table = str(scan.source), str(scan.table)
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE UNIQUE INDEX ON {table} (id)".encode())
        server.execute(f"ANALYZE {table}".encode())
        found = read_predictions(scan, **ROLES)
        assert isinstance(found, Predictions)
        assert isinstance(found.scanner, CountingScanner)
        told = found.scanner._columns(shown=True)
        (items,) = found.scanner.table.among([7, 8, 2**70], found.scanner._ids, told)
        database = Postgres(url)
        with database.connected():
            database.connection.execute("SET enable_seqscan = off")  # the table is small
            sql = query.statement(items.query, database, database.fence)
            plan = database.fetch(f"EXPLAIN {sql}")
        assert any("Index" in line for (line,) in plan), plan


# Whether it computes what numpy does.


HALVES = "nearest whole number"
WRONG: dict[str, Mapping[str, Callable[..., str]]] = {
    "number of integer ids": {"left_by": lambda a, n: f"(({a}) % 65536 * {n})"},
    "digest of string ids": {"text_word": lambda a: f"length({a})"},
    "digest of integer ids": {"xor_bits": lambda a, b: f"(({a}) | ({b}))"},
    HALVES: {},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_database_that_computes_otherwise_is_refused(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query, "_known", {})
    monkeypatch.setattr(Toy, "functions", {**Toy.functions, **WRONG[what]})
    if what == HALVES:
        monkeypatch.setattr(trial, "rounded_sql", lambda value: f"CAST(floor({value}) AS BIGINT)")
    with pytest.raises(PredictionsError, match=f"differently from numpy: .*{what}(?s:.*)'duckdb'"):
        refuse_untried(Toy(f"toy:///{what}"))


# PostgreSQL


def test_reading_rights_are_enough_in_postgres(request: pytest.FixtureRequest) -> None:
    import psycopg

    scan = scan_by(request, "postgres", TABLE)
    with psycopg.connect(str(scan.source), autocommit=True) as server:
        server.execute("CREATE ROLE reader LOGIN")
        server.execute(f"GRANT SELECT ON {scan.table} TO reader".encode())
        server.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        try:
            url = str(scan.source).partition("&user=")[0] + "&user=reader"
            assert _first_items(Scan(url, scan.table, engine="database")) == _first_items(TABLE)
        finally:
            server.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")
            server.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_an_old_postgres_is_refused(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = scan_by(request, "postgres", TABLE)
    monkeypatch.setattr("assay.predictions.databases.postgres._OLDEST", 99)
    with pytest.raises(PredictionsError, match=r"is of PostgreSQL \d+(?s:.*)99(?s:.*)'duckdb'"):
        read_predictions(scan, **ROLES)


# SQLite


def test_a_file_of_sqlite_is_known_by_its_first_bytes(file: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert engine_of(Scan(file, "preds"), "id") == "memory"  # small files are read
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    for source in (file, f"sqlite:///{file}"):
        for engine in (None, "database"):
            found = read_predictions(Scan(source, "preds", engine=engine), **ROLES)
            assert found.fingerprint() == read_predictions(TABLE, **ROLES).fingerprint()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db", "preds.db"]
    with pytest.raises(PredictionsError, match=r"'none\.sqlite' not found"):
        read_predictions(Scan("sqlite:///none.sqlite", "preds", engine="database"), **ROLES)


def test_large_files_of_sqlite_are_counted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.predictions.read._SMALL", 1_000)
    assert engine_of(Scan(file, "preds"), "id") == "database"
    assert engine_of(Scan(f"sqlite:///{file}", "preds"), "id") == "database"
    assert engine_of(Scan("clickhouse://host/db", "preds"), "id") == "database"
    assert engine_of(Scan("postgresql://host/db", "preds"), "id") == "database"
    assert engine_of(Scan("postgresql://host/db", "preds"), None) == "memory"


def test_a_value_of_another_type_is_a_missing_one(file: Path) -> None:
    for column, value, told in (
        ("p", "'much'", "1 of 400 scores in column 'p'"),
        ("p", "X'00'", "1 of 400 scores in column 'p'"),
        ("id", "1.5", "1 of 400 ids in column 'id'"),
    ):
        with sqlite3.connect(file) as connection:
            (kept,) = connection.execute(f"SELECT {column} FROM preds WHERE rowid = 9").fetchone()
            connection.execute(f"UPDATE preds SET {column} = {value} WHERE rowid = 9")
        with pytest.raises(PredictionsError, match=told):
            read_predictions(Scan(file, "preds", engine="database"), **ROLES)
        with sqlite3.connect(file) as connection:
            connection.execute(f"UPDATE preds SET {column} = ? WHERE rowid = 9", [kept])
        connection.close()


def test_columns_without_a_type(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE VIEW seen AS SELECT id + 0 AS id, p * 1.0 AS p FROM preds")
        connection.execute("CREATE TABLE loose (id, p NUMERIC)")
        connection.execute("INSERT INTO loose SELECT id, p FROM preds")
    connection.close()
    expected = read_predictions(TABLE, **ROLES).fingerprint()
    for table in ("seen", "loose"):
        found = read_predictions(Scan(file, table, engine="database"), **ROLES)
        assert found.fingerprint() == expected


# ClickHouse


class _Server(BaseHTTPRequestHandler):
    """ClickHouse's HTTP, as far as a driver needs it, in front of chDB."""

    engine: Any = None

    def answer(self) -> None:
        """Answer a query."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        given = parse_qs(urlsplit(self.path).query)
        query = given.get("query", [""])[0] + body
        if "default_format" in given and "FORMAT" not in query:
            query += f" FORMAT {given['default_format'][0]}"
        try:
            answer = self.engine.query(query, "Native").bytes()
            self.send_response(200)
        except RuntimeError as error:
            answer = str(error).encode()
            self.send_response(500)
            self.send_header("X-ClickHouse-Exception-Code", "62")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def http_url(clickhouse_url: str) -> Iterator[str]:
    """The same ClickHouse, by HTTP on loopback."""
    chdb: Any = import_module("chdb")

    engine = chdb.connect(clickhouse_url.removeprefix("chdb://"))
    methods = {"do_GET": _Server.answer, "do_POST": _Server.answer}
    handler = type("Server", (_Server,), {"engine": engine, **methods})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"clickhouse://127.0.0.1:{server.server_address[1]}/default"
        server.shutdown()
        thread.join()
    engine.close()


def test_clickhouse_by_http(http_url: str, request: pytest.FixtureRequest) -> None:
    scan = scan_by(request, "clickhouse", TABLE)
    found = _first_items(Scan(http_url, scan.table, engine="database"), show=["lang"])
    assert found == _first_items(TABLE, show=["lang"])


def test_no_password_of_clickhouse_is_kept_or_told() -> None:
    pytest.importorskip("clickhouse_connect", reason="clickhouse-connect is not installed")
    url = "clickhouse://ann:secret@127.0.0.1:1/db"
    assert Scan(url, "preds").to_dict()["source"] == "clickhouse://ann@127.0.0.1:1/db"
    with pytest.raises(PredictionsError, match=r"clickhouse://127.0.0.1:1/db cannot be") as caught:
        read_predictions(Scan(url, "preds"), **ROLES)
    assert "secret" not in str(caught.value)


def test_drivers_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for source, module, extra in (
        ("clickhouse://host/db", "clickhouse_connect", "clickhouse"),
        ("postgresql://host/db", "psycopg", "postgres"),
    ):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(MissingDependencyError, match=rf"pip install 'assay-eval\[{extra}\]'"):
            read_predictions(Scan(source, "preds"), **ROLES)


def test_an_engine_for_tables_reads_no_files(tmp_path: Path) -> None:
    for source in (tmp_path / "a.parquet", TABLE):
        with pytest.raises(PredictionsError, match="engine 'database' is given for"):
            read_predictions(Scan(source, engine="database"), **ROLES)
