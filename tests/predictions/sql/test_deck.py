"""The deck in SQL: on every engine each id has the number that `assay.core.deck.number` gives.

Left out is what an engine cannot hold: integers of 2^63 and more in PostgreSQL and Spark, and the
zero byte in PostgreSQL's strings.
"""

from collections.abc import Callable, Iterator
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
    *["", " ", "  ", "7", "007", "NA", "null", "naïve", "nai\u0308ve", "東京", "👩‍🔬", "～"],
    *["it's", 'say "yes"', "back\\slash", "a\tb\nc", "{x}", "%s", "$1", "-- x", "x" * 5000],
    *[f"https://example.org/{page}" for page in range(300)],
]
KINDS: list[tuple[IdKind, list[Id]]] = [("integer", INTEGERS), ("string", STRINGS)]

NumberOf = Callable[[str, int, IdKind], str]
Deal = Callable[[str], list[tuple[Id, int]]]
"""From the SQL of the number of column x to all ids with their numbers, ordered by the latter."""


def check(deal: Deal, number_of: NumberOf, ids: list[Id]) -> None:
    kind: IdKind = "string" if isinstance(ids[0], str) else "integer"
    for seed in SEEDS:
        deck = sorted(ids, key=lambda id: number(id, seed))
        assert deal(number_of("x", seed, kind)) == [(id, number(id, seed)) for id in deck]


# DuckDB


def duckdb_deal(ids: list[Id], arrow_type: pa.DataType) -> Deal:
    table = pa.table({"x": pa.array(ids, arrow_type)})

    def deal(number_sql: str) -> list[tuple[Id, int]]:
        with duckdb.connect() as connection:
            connection.register("items", table)
            query = f"SELECT x, {number_sql} AS number FROM items ORDER BY number"
            rows: list[tuple[Id, int]] = connection.execute(query).fetchall()
            return rows

    return deal


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
    check(duckdb_deal(ids, arrow_type), number_of, ids)


def test_a_hash_of_the_column_as_it_stands_would_be_noticed() -> None:
    """DuckDB's hash of a short integer is not that of the same integer with 64 bits."""

    def careless(column: str, seed: int, _kind: IdKind) -> str:
        return f"hash(xor(hash({column}), {key(seed)}::UBIGINT))"

    with pytest.raises(AssertionError):
        check(duckdb_deal([-1, 0], pa.int8()), careless, [-1, 0])


@pytest.mark.parametrize(
    "other", ["{}", "hash({}::VARCHAR)", "hash({}::DOUBLE)", "hash({}::TINYINT)", "no_hash({})"]
)
def test_a_duckdb_with_another_hash_would_not_be_trusted(other: str) -> None:
    assert not duckdb_computes_mix(other.format)


# PostgreSQL


@pytest.fixture(scope="module")
def postgres(postgres_dsn: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        for kind, ids in KINDS:
            sql_type = "bigint" if kind == "integer" else "text"
            connection.execute(f"CREATE TEMPORARY TABLE {kind}_items (x {sql_type})".encode())
            with connection.cursor().copy(f"COPY {kind}_items FROM STDIN".encode()) as copy:
                for id in ids:
                    copy.write_row([id])
        yield connection


def postgres_deal(connection: psycopg.Connection, kind: IdKind) -> Deal:
    def deal(number_sql: str) -> list[tuple[Id, int]]:
        query = f"SELECT x, {number_sql} AS number FROM {kind}_items ORDER BY number"
        return [(id, int(number)) for id, number in connection.execute(query.encode())]

    return deal


def test_postgres_gives_the_numbers_of_the_definition(postgres: psycopg.Connection) -> None:
    for kind, ids in KINDS:
        deal = postgres_deal(postgres, kind)
        check(deal, postgres_number, ids)

    def signed(sql: str) -> list[tuple[Id, int]]:
        return sorted(deal(sql), key=lambda row: row[1] ^ 2**63)

    with pytest.raises(AssertionError):  # the order of signed words is another
        check(signed, postgres_number, ids)
    query = ordered_by("convert_to(x, 'UTF8')")
    assert [x for (x,) in postgres.execute(query.encode())] == BYTEWISE


# Spark


@pytest.fixture(scope="module")
def wrapping_spark(spark: "SparkSession") -> Iterator["SparkSession"]:
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    for kind, ids in KINDS:
        schema = "x BIGINT" if kind == "integer" else "x STRING"
        items = spark.createDataFrame([(id,) for id in ids], schema)
        items.createOrReplaceTempView(f"{kind}_items")
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", ansi or "true")


def spark_deal(session: "SparkSession", kind: IdKind) -> Deal:
    def deal(number_sql: str) -> list[tuple[Id, int]]:
        query = f"SELECT x, {number_sql} AS number FROM {kind}_items ORDER BY number"
        return [(row.x, int(row.number)) for row in session.sql(query).collect()]

    return deal


def test_spark_gives_the_numbers_of_the_definition(wrapping_spark: "SparkSession") -> None:
    for kind, ids in KINDS:
        check(spark_deal(wrapping_spark, kind), spark_number, ids)
    ordered = wrapping_spark.sql(ordered_by("CAST(x AS BINARY)")).collect()
    assert [row.x for row in ordered] == BYTEWISE


def test_spark_fails_rather_than_misnumber_in_ansi_mode(wrapping_spark: "SparkSession") -> None:
    wrapping_spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW"):
            spark_deal(wrapping_spark, "integer")(spark_number("x", 1, "integer"))
    finally:
        wrapping_spark.conf.set("spark.sql.ansi.enabled", "false")


# Equal numbers, by the expressions in docs/deck.md


TIES = ["a", "B", "b", "Z", "é", "～", "👩‍🔬", "10", "9", "_", " a"]
"""Strings that most collations, and UTF-16, order otherwise than their UTF-8 bytes."""

BYTEWISE = sorted(TIES, key=str.encode)


def ordered_by(bytes_of_id: str) -> str:
    values = ", ".join(f"('{text}')" for text in TIES)
    return f"SELECT x FROM (VALUES {values}) AS ties(x) ORDER BY {bytes_of_id}"


def test_the_tie_breaker_for_duckdb_orders_by_bytes() -> None:
    with duckdb.connect() as connection:
        connection.execute("SET default_collation = 'NOCASE'")
        assert [x for (x,) in connection.execute(ordered_by("encode(x)")).fetchall()] == BYTEWISE
        assert [x for (x,) in connection.execute(ordered_by("x")).fetchall()] != BYTEWISE


# What cannot be used


EVERY: list[Any] = [duckdb_number, postgres_number, spark_number]


def test_an_unknown_kind_is_refused() -> None:
    for number_of in EVERY:
        with pytest.raises(InputError, match="kind 'uuid'"):
            number_of("x", 1, "uuid")


def test_a_bad_seed_is_refused() -> None:
    for number_of in EVERY:
        with pytest.raises(InputError, match="seed -1"):
            number_of("x", -1, "integer")
