"""DuckDB reads what a path, a query or a condition names, and nothing else."""

import shutil
from pathlib import Path

import duckdb
import pytest

from assay.errors import PredictionsError
from assay.predictions import read_predictions
from assay.predictions.duckdb.paths import Named, confine, named_in
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.scan import Engine, Scan

SECRET = "the text of a key"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with predictions, more of them, and a file that nobody is to read."""
    tmp_path = tmp_path_factory.mktemp("confined")
    rows = "SELECT i AS id, i / 10 AS score, 'text ' || i AS text FROM range(10) AS r(i)"
    for name in ("preds", "more", "part-1", "part-2"):
        duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/{name}.parquet'")
    duckdb.sql(f"COPY (SELECT '{SECRET}' AS text, 3 AS id) TO '{tmp_path}/secret.parquet'")
    (tmp_path / "secret.txt").write_text(SECRET)
    with duckdb.connect(str(tmp_path / "preds.duckdb")) as database:
        database.execute(f"CREATE TABLE preds AS {rows}")
        database.execute("CREATE VIEW half AS FROM preds WHERE score < 0.5")
        database.execute(
            "CREATE VIEW files AS SELECT id, score, (SELECT content FROM "
            f"read_text('{tmp_path}/secret.txt')) AS text FROM preds"
        )
        database.execute(
            f"CREATE MACRO key() AS (SELECT content FROM read_text('{tmp_path}/secret.txt'))"
        )
        database.execute("CREATE VIEW by_macro AS SELECT id, score, key() AS text FROM preds")
    return tmp_path


@pytest.fixture(autouse=True)
def folder(written: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in that folder."""
    monkeypatch.chdir(written)
    return written


def _open(scan: Scan) -> Relation:
    return open_relation(scan, ["id", "score", "text"], staged=True)


def _rows(scan: Scan) -> int:
    relation = _open(scan)
    return len(relation.connection.execute(f"FROM {relation.sql}").fetchall())


@pytest.mark.parametrize(
    "scan",
    [
        Scan("preds.duckdb", table="files"),
        Scan("preds.duckdb", table="by_macro"),
        # A name that is put together is not named; so the text says all that is read.
        Scan("SELECT id, score, content AS text FROM 'preds.parquet', read_text('sec' || 'ret.*')"),
        Scan("SELECT id, score, x.text FROM 'preds.parquet', query('FROM ''secret.parquet''') x"),
        Scan("FROM 'preds.parquet' WHERE text IN (FROM query('SELECT text FROM secret.parquet'))"),
        Scan("preds.parquet", where="id IN (SELECT id FROM query('FROM ''secret.parquet'''))"),
        Scan("preds.duckdb", table="preds", where="(SELECT content FROM key_of()) > ''"),
    ],
)
def test_what_is_not_named_is_not_read(scan: Scan) -> None:
    with pytest.raises(PredictionsError) as caught:
        _open(scan)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_no_engine_reads_what_is_not_named(engine: Engine) -> None:
    scan = Scan("preds.duckdb", table="files", engine=engine)
    with pytest.raises(PredictionsError, match=r"refers to '.*secret\.txt', which was not named"):
        read_predictions(scan, id="id", score="score", threshold=0.5, show=["text"])


@pytest.mark.parametrize(
    ("scan", "rows"),
    [
        (Scan("preds.parquet"), 10),
        (Scan("part-*.parquet"), 20),
        (Scan("FROM 'preds.parquet'"), 10),
        (Scan("FROM preds.parquet"), 10),
        (Scan('FROM "preds.parquet"'), 10),
        (Scan("FROM read_parquet(['preds.parquet', 'part-*.parquet'])"), 30),
        (Scan("WITH p AS (FROM 'part-?.parquet') SELECT * FROM p WHERE id IN (SELECT 3)"), 2),
        (Scan("SELECT p.* FROM 'preds.parquet' AS p JOIN 'more.parquet' USING (id)"), 10),
        (Scan("SELECT * FROM 'preds.parquet' WHERE id IN (SELECT id FROM 'secret.parquet')"), 1),
        (Scan("preds.parquet", where="id IN (SELECT id FROM 'secret.parquet')"), 1),
        (Scan("preds.duckdb", table="preds"), 10),
        (Scan("preds.duckdb", table="half"), 5),
        (Scan("preds.duckdb", table="half", where="id IN (SELECT id FROM 'secret.parquet')"), 1),
        (Scan("FROM read_duckdb('preds.duckdb', table_name = 'preds')"), 10),
        (Scan("SELECT 1 AS id, 0.5 AS score, '/etc/passwd' AS text"), 1),
    ],
)
def test_what_is_named_is_read(scan: Scan, rows: int) -> None:
    assert _rows(scan) == rows


@pytest.mark.parametrize(
    "statement",
    [
        "ATTACH 'preds.duckdb' AS other",
        "COPY (SELECT 1) TO 'written.csv'",
        "FROM read_text('secret.txt')",
        "FROM glob('*')",
        "FROM read_csv('https://localhost:1/a.csv')",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
        "SET temp_directory = '.'",
        "RESET lock_configuration",
        "SELECT getenv('HOME')",
        "EXPORT DATABASE 'written'",
        "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'x')",
    ],
)
def test_a_confined_connection_opens_nothing_more(statement: str) -> None:
    relation = _open(Scan("preds.parquet"))
    with pytest.raises(duckdb.Error):
        relation.connection.execute(statement)
    assert not Path("written.csv").exists() and not Path("written").exists()


@pytest.mark.parametrize("name", ["a'b.parquet", "x[1].parquet", "ü *.parquet", "-.parquet"])
def test_odd_names_are_named(name: str) -> None:
    shutil.copy("preds.parquet", name)
    try:
        assert _rows(Scan(f"./{name}")) == 10
    finally:
        Path(name).unlink()


def test_places_elsewhere_are_named_by_their_addresses() -> None:
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as connection:
        named = named_in(connection, "FROM 's3://b/a.parquet', read_csv('https://h/x.xlsx')")
        assert named.extensions == ["excel", "httpfs"]
        # httpfs need not be there: it is told in another way that a place is not allowed.
        connection.execute("SET allowed_paths = ['https://localhost:1/a.csv']")
        confine(connection, Named(), Path("t"), files=["a"])


@pytest.mark.parametrize("source", ["gone.parquet", "FROM 'gone.parquet'"])
def test_a_file_that_is_gone_is_not_called_unnamed(source: str) -> None:
    shutil.copy("preds.parquet", "gone.parquet")
    with duckdb.connect() as connection:
        confine(connection, Named(), Path("t"), files=["gone.parquet"])
        Path("gone.parquet").unlink()
        with pytest.raises(PredictionsError, match=r"no file 'gone\.parquet'"), reading("x"):
            connection.execute("FROM read_parquet(['gone.parquet'])")
    with pytest.raises(PredictionsError, match=r"gone\.parquet"):
        _open(Scan(source))


def test_options_of_functions_are_no_places(folder: Path) -> None:
    query = f"FROM read_csv('a.csv', delim = '/', header = true, nullstr = '{folder}')"
    with duckdb.connect() as connection:
        assert named_in(connection, query).places == {"a.csv"}


def test_a_query_names_the_functions_that_cannot_be_confined() -> None:
    with duckdb.connect() as connection:
        named = named_in(connection, "FROM sqlite_scan('a.db', 't')")
    assert named == Named(frozenset({"a.db", "t"}), frozenset({"sqlite_scan"}))
    assert named.extensions == ["sqlite_scanner"]
