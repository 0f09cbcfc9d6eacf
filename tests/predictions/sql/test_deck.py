"""The deck in SQL: on every engine each id has the number that `assay.core.deck.number` gives.

Left out is what an engine cannot hold: integers of 2^63 and more in PostgreSQL and Spark, and the
zero byte in PostgreSQL's strings.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest

from assay.core.deck import Id, key, number
from assay.errors import InputError
from assay.predictions.contract import IdKind
from assay.predictions.sql.deck import (
    duckdb_computes_mix,
    duckdb_number,
    duckdb_number_written_out,
    postgres_number,
    spark_number,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.mark.parametrize("number_of", [duckdb_number, duckdb_number_written_out])
@pytest.mark.parametrize(
    ("arrow_type", "ids"),
    [
        (pa.int64(), INTEGERS),
        (pa.uint64(), UNSIGNED),
        (pa.int8(), [-128, -1, 0, 127]),
        (pa.string(), [*STRINGS, "a\0b"]),
    ],
)
def test_duckdb_gives_the_numbers_of_the_definition(
    number_of: NumberOf, arrow_type: pa.DataType, ids: list[Id]
) -> None:
    run = in_duckdb(ids, arrow_type)
    check(run, number_of, ids)
    assert ordered(run, "encode(x)")
    assert not ordered(run, "x")


def test_a_hash_of_the_column_as_it_stands_would_be_noticed() -> None:
    """DuckDB's hash of a short integer is not that of the same integer with 64 bits."""

    def careless(column: str, seed: int, _kind: IdKind) -> str:
        return f"hash(xor(hash({column}), {key(seed)}::UBIGINT))"

    with pytest.raises(AssertionError):
        check(in_duckdb([-1, 0], pa.int8()), careless, [-1, 0])


@pytest.mark.parametrize(
    "other", ["{}", "hash({}::VARCHAR)", "hash({}::DOUBLE)", "hash({}::TINYINT)", "no_hash({})"]
)
def test_a_duckdb_with_another_hash_would_not_be_trusted(other: str) -> None:
    assert not duckdb_computes_mix(other.format)


def test_postgres_gives_the_numbers_of_the_definition(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:

        def run(sql: str) -> list[Any]:
            return connection.execute(sql.encode()).fetchall()

        for kind, ids in KINDS:
            sql_type = "bigint" if kind == "integer" else "text"
            connection.execute(f"CREATE TEMPORARY TABLE {kind}_items (x {sql_type})".encode())
            with connection.cursor().copy(f"COPY {kind}_items FROM STDIN".encode()) as copy:
                for id in ids:
                    copy.write_row([id])
            check(run, postgres_number, ids, f"{kind}_items")
        with pytest.raises(AssertionError):  # the order of signed words is another
            check(
                lambda sql: sorted(run(sql), key=lambda row: int(row[1]) ^ 2**63),
                postgres_number,
                STRINGS,
                "string_items",
            )
        assert ordered(run, "convert_to(x, 'UTF8')")


@pytest.fixture
def wrapping_spark(spark: "SparkSession") -> Iterator["SparkSession"]:
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", ansi or "true")


def test_spark_gives_the_numbers_of_the_definition(wrapping_spark: "SparkSession") -> None:
    def run(sql: str) -> list[Any]:
        return wrapping_spark.sql(sql).collect()

    for kind, ids in KINDS:
        schema = "x BIGINT" if kind == "integer" else "x STRING"
        items = wrapping_spark.createDataFrame([(id,) for id in ids], schema)
        items.createOrReplaceTempView(f"{kind}_items")
        check(run, spark_number, ids, f"{kind}_items")
    assert ordered(run, "CAST(x AS BINARY)")
    # In ANSI mode Spark fails rather than misnumber.
    wrapping_spark.conf.set("spark.sql.ansi.enabled", "true")
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
        check(run, spark_number, INTEGERS, "integer_items")


def test_an_unknown_kind_and_a_bad_seed_are_refused() -> None:
    every: list[Any] = [duckdb_number, postgres_number, spark_number]
    for number_of in every:
        with pytest.raises(InputError, match="kind 'uuid'"):
            number_of("x", 1, "uuid")
        with pytest.raises(InputError, match="seed -1"):
            number_of("x", -1, "integer")
