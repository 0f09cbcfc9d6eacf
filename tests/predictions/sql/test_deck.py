"""The deck in SQL: on every engine each id has the number that `assay.core.deck.number` gives.

Left out is what an engine cannot hold: integers of 2^63 and more in PostgreSQL and Spark, and the
zero byte in PostgreSQL's strings.
"""

from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from assay.core.deck import Id, IdKind, number
from assay.predictions.databases import find_database
from assay.predictions.databases.database import Counter
from assay.predictions.query import Query, statement
from assay.predictions.spark.scanner import frame_of
from assay.predictions.sql import deck
from assay.predictions.sql.database import answer
from assay.predictions.sql.deck import duckdb_computes_mix, duckdb_digest, duckdb_keyed
from assay.predictions.sql.items import Items
from tests.predictions.database_tables import in_database

SEEDS = [0, 1, 2**63 - 1]
INTEGERS: list[Id] = [
    *[0, 1, -1, 2**31, -(2**31), 2**32 - 1, 2**53 + 1, 2**63 - 1, -(2**63)],
    *np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 300).tolist(),
]
UNSIGNED: list[Id] = [0, 1, 2**63 - 1, 2**63, 2**64 - 1]
STRINGS: list[Id] = [
    *["", " ", "  ", "7", "007", "NA", "null", "naïve", "nai\u0308ve", "東京", "👩\u200d🔬", "～"],
    *["it's", 'say "yes"', "back\\slash", "a\tb\nc", "{x}", "%s", "$1", "-- x", "x" * 5000],
    *[f"https://example.org/{page}" for page in range(300)],
]
KINDS: list[tuple[IdKind, list[Id]]] = [("integer", INTEGERS), ("string", STRINGS)]
# Strings that most collations, and UTF-16, order otherwise than their UTF-8 bytes.
TIES = ["a", "B", "b", "Z", "é", "～", "👩\u200d🔬", "10", "9", "_", " a"]

NumberOf = Callable[[str, int, IdKind], str]
Run = Callable[[str], Sequence[Any]]
"""From a query to its rows."""


def check(run: Run, number_of: NumberOf, ids: list[Id], items: str = "items") -> None:
    kind: IdKind = "string" if isinstance(ids[0], str) else "integer"
    for seed in SEEDS:
        sql = f"SELECT x, {number_of('x', seed, kind)} AS number FROM {items} ORDER BY number"
        deck = sorted(ids, key=lambda id: number(id, seed))
        assert [(x, int(n)) for x, n in run(sql)] == [(id, number(id, seed)) for id in deck]


def ordered(run: Run, bytes_of_id: str) -> bool:
    """Tell whether an expression of docs/deck.md orders equal numbers by bytes."""
    values = ", ".join(f"('{text}')" for text in TIES)
    rows = run(f"SELECT x FROM (VALUES {values}) AS ties(x) ORDER BY {bytes_of_id}")
    return [x for (x,) in rows] == sorted(TIES, key=str.encode)


def in_duckdb(ids: list[Id], arrow_type: pa.DataType) -> Run:
    table = pa.table({"x": pa.array(ids, arrow_type)})

    def run(sql: str) -> list[Any]:
        with duckdb.connect() as connection:
            connection.execute("SET default_collation = 'NOCASE'")
            connection.register("items", table)
            return connection.execute(sql).fetchall()

    return run


def number_in_duckdb(column: str, seed: int, kind: IdKind) -> str:
    return duckdb_keyed(duckdb_digest(column, kind), seed)


@pytest.mark.parametrize("by_hash", [True, False])
@pytest.mark.parametrize(
    ("arrow_type", "ids"),
    [(pa.int64(), INTEGERS), (pa.uint64(), UNSIGNED), (pa.string(), [*STRINGS, "a\0b"])],
)
def test_duckdb_gives_the_numbers_of_the_definition(
    by_hash: bool, arrow_type: pa.DataType, ids: list[Id], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_hash:  # as in a DuckDB with another hash
        monkeypatch.setattr(deck, "duckdb_computes_mix", lambda _: False)
    run = in_duckdb(ids, arrow_type)
    check(run, number_in_duckdb, ids)
    assert ordered(run, "encode(x)")
    assert not ordered(run, "x")


@pytest.mark.parametrize(
    "other", ["{}", "hash({}::VARCHAR)", "hash({}::DOUBLE)", "hash({}::TINYINT)", "no_hash({})"]
)
def test_a_duckdb_with_another_hash_would_not_be_trusted(other: str) -> None:
    assert not duckdb_computes_mix(other.format)


def places(rows: Any, fetch: Callable[[Query], Any], kind: IdKind, seed: int) -> list[int]:
    """Numbers less 2^63, as an engine computes them in steps."""
    items = Items(Query(rows).select("place", "x"), ["place", "x"])
    number = items.numbered("x", kind, seed)
    ordered = items.query.select("place", f"{number.place} AS own").first(10**6, "place")
    found: list[int] = fetch(ordered)["own"].to_pylist()
    return found


@pytest.mark.parametrize("engine", ["postgres", "clickhouse", "spark"])
def test_other_engines_give_the_numbers_of_the_definition(
    engine: str, request: pytest.FixtureRequest
) -> None:
    for kind, ids in KINDS:
        given: dict[str, Any] = {"place": list(range(len(ids))), "x": ids}
        if engine == "clickhouse" and kind == "integer":
            given["x"] = [id for id in ids if int(id) > -(2**63)]  # which no literal is read as
            given["place"] = given["place"][: len(given["x"])]
        if engine == "spark":
            spark = request.getfixturevalue("spark")
            rows: Any = spark.createDataFrame(pa.table(given))
            found = [places(rows, lambda q: frame_of(q).toArrow(), kind, seed) for seed in SEEDS]
        else:
            database = find_database(str(in_database(request, engine, pa.table({"x": [1]})).source))
            assert isinstance(database, Counter)
            rows = database.written_out(given)

            def fetch(query: Query, database: Counter = database) -> Any:
                return answer(query, database.fetch(statement(query, database, database.fence)))

            with database.connected():
                found = [places(rows, fetch, kind, seed) for seed in SEEDS]
        expected = [[number(id, seed) - 2**63 for id in given["x"]] for seed in SEEDS]
        assert found == expected
        assert expected[0] != expected[1]


WORD = "xor_bits(left_by(a, 32), and_bits(b, 7))"
RENDERED = {
    "postgres": "WITH assay_rows AS (\nt\n), step_0 AS (SELECT ((((a) << 32)) # (((b) & (7)))) AS "
    "word, SQRT('1e0'::float8 - p) AS root FROM assay_rows WHERE p > '5e-1'::float8 ) "
    "SELECT root, COUNT(*) AS n, bit_xor(word) AS w FROM step_0 GROUP BY root",
    "clickhouse": "WITH assay_rows AS (\nt\n), step_0 AS (SELECT bitXor(bitShiftLeft(a, 32), "
    "bitAnd(b, 7)) AS word, SQRT(1e0 - p) AS root FROM assay_rows WHERE p > 5e-1 ) "
    "SELECT root, COUNT(*) AS n, groupBitXor(word) AS w FROM step_0 GROUP BY root",
}


@pytest.mark.parametrize("url", ["postgresql://host/db", "clickhouse://host/db"])
def test_what_a_query_is_rendered_as(url: str) -> None:
    """An upgrade of sqlglot that writes something else is seen here first."""
    database = find_database(url)
    assert isinstance(database, Counter)
    query = Query("t").select(f"{WORD} AS word", "sqrt(1e0 - p) AS root", where="p > 5e-1")
    query = query.group(["root"], "count(*) AS n", "xor_all(word) AS w")
    assert statement(query, database, "") == RENDERED[database.dialect]
