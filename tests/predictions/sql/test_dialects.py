"""Databases that do not run here: what each would be asked, in its own SQL.

A spelling is all of the SQL that a further database takes. Whether the database computes what it
says is told by the trial (`assay.predictions.sql.table`), when somebody connects to one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from sqlglot import parse_one

from assay.errors import PredictionsError
from assay.predictions.databases.table import answer
from assay.predictions.sql.items import Items, bin_sql
from assay.predictions.sql.query import Query, Spell, statement
from assay.predictions.sql.table import GIVEN, refuse_other_arithmetic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent / "dialects"
LOW = 2**31


@dataclass(frozen=True)
class Spelled:
    """A spelling: what differs from one database to the next."""

    dialect: str
    functions: Mapping[str, Spell]
    number: str = "CAST('{}' AS DOUBLE)"
    listed: str = "({})[{}]"
    smallint: str = "INT"

    def double(self, digits: str) -> str:
        """Return a number of float64 as a literal."""
        return self.number.format(digits)

    def lookup(self, index: str, which: int, values: Sequence[float]) -> str:
        """Return an element of a list."""
        del which
        return self.listed.format(", ".join(self.double(repr(value)) for value in values), index)


def operators(xor: str, **others: Spell) -> dict[str, Spell]:
    """Return the functions of a database that writes bits with signs."""
    return {
        "and_bits": lambda a, b: f"(({a}) & ({b}))",
        "or_bits": lambda a, b: f"(({a}) | ({b}))",
        "xor_bits": lambda a, b: f"(({a}) {xor} ({b}))",
        "left_by": lambda a, n: f"(({a}) << {n})",
        "right_by": lambda a, n: f"(({a}) >> {n})",
        "xor_all": lambda a: f"BIT_XOR({a})",
        **others,
    }


def bigquery_word(text: str) -> str:
    """Two halves: a whole number that is written in hexadecimal has a sign."""
    upper, lower = (
        f"CAST(CONCAT('0x', SUBSTR(TO_HEX(SHA256({text})), {at}, 8)) AS INT64)" for at in (1, 9)
    )
    return f"(({upper} << 32) | {lower})"


def snowflake_word(text: str) -> str:
    """Whole numbers have up to 38 digits: from 2^63 on they become negative."""
    word = f"TO_NUMBER(LEFT(SHA2({text}, 256), 16), 'XXXXXXXXXXXXXXXX')"
    return f"IFF({word} >= {2**63}, {word} - {2**64}, {word})"


SPELLINGS = [
    Spelled(
        "bigquery",
        operators("^", text_word=bigquery_word),
        number="CAST('{}' AS FLOAT64)",
        listed="[{}][OFFSET({})]",
        smallint="INT64",
    ),
    Spelled(
        "snowflake",
        {
            "and_bits": lambda a, b: f"BITAND({a}, {b})",
            "or_bits": lambda a, b: f"BITOR({a}, {b})",
            "xor_bits": lambda a, b: f"BITXOR({a}, {b})",
            # What is shifted may have 38 digits: its lower half, with a sign, times 2^n.
            "left_by": lambda a, n: (
                f"((MOD(MOD(({a}) + {LOW}, {2**32}) + {2**32}, {2**32}) - {LOW}) * {2 ** int(n)})"
            ),
            "right_by": lambda a, n: f"BITSHIFTRIGHT({a}, {n})",
            "xor_all": lambda a: f"BITXOR_AGG({a})",
            "text_word": snowflake_word,
        },
        listed="GET(ARRAY_CONSTRUCT({}), {})::DOUBLE",
    ),
    Spelled(
        "trino",
        {
            "and_bits": lambda a, b: f"bitwise_and({a}, {b})",
            "or_bits": lambda a, b: f"bitwise_or({a}, {b})",
            "xor_bits": lambda a, b: f"bitwise_xor({a}, {b})",
            "left_by": lambda a, n: f"bitwise_left_shift({a}, {n})",
            "right_by": lambda a, n: f"bitwise_right_shift({a}, {n})",
            "xor_all": lambda a: f"bitwise_xor_agg({a})",
            "text_word": lambda a: f"from_big_endian_64(substr(sha256(to_utf8({a})), 1, 8))",
        },
        number="DOUBLE '{}'",
        listed="element_at(ARRAY[{}], ({}) + 1)",
    ),
    Spelled(
        "databricks",
        operators(
            "^",
            left_by=lambda a, n: f"shiftleft({a}, {n})",
            right_by=lambda a, n: f"shiftright({a}, {n})",
            text_word=lambda a: f"CAST(conv(left(sha2({a}, 256), 16), 16, -10) AS BIGINT)",
        ),
        number="CAST('{}' AS DOUBLE)",
        listed="element_at(array({}), CAST(({}) + 1 AS INT))",
    ),
]


def asked() -> Query:
    """Return a query with every function: the first cards of each bin."""
    query, which = Query("SELECT item, score FROM predictions").listing([0.25, 0.5])
    items = Items(query.select("item AS id", "score AS value"), ["id", "value"])
    items = items.with_column(f"{items.numbered('id', 'string', 7).place} AS place")
    bin, half = bin_sql("value", "tail"), f"element({which}, 1)"
    rows = items.query.select(f"{bin} AS bin", "place", f"{half} AS half", where="value >= 2.5e-01")
    return rows.group(["bin"], "count(*) AS items", "xor_all(place) AS word", "max(half) AS half")


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda each: each.dialect)
def test_the_sql_of_a_database_is_as_it_was_read(spelling: Spelled) -> None:
    """A new sqlglot that writes something else is noticed, and read before it is trusted."""
    sql = statement(asked(), spelling, "") + "\n"
    parse_one(sql, read=spelling.dialect)
    for name in (*spelling.functions, "settled", "element"):
        assert f"{name}(" not in sql.lower().replace(f"{name}_agg", "")
    assert sql == (FOLDER / f"{spelling.dialect}.sql").read_text()


def test_what_databricks_is_asked_is_right_in_spark(spark: "SparkSession") -> None:
    """The only one of the four whose SQL runs here; a shift that is off by one is noticed."""
    (databricks,) = (each for each in SPELLINGS if each.dialect == "databricks")
    rows = " UNION ALL ".join(
        "SELECT "
        + ", ".join(f"{lit(each)} AS {name}" for name, each in zip(GIVEN, row, strict=True))
        for row in zip(*GIVEN.values(), strict=True)
    )

    def tried(spelling: Spelled) -> None:
        def fetch(query: Query) -> pa.Table:
            found = spark.sql(statement(query, spelling, "")).collect()
            return answer(query, [tuple(row) for row in found])

        refuse_other_arithmetic(rows, fetch, name="Databricks", version="", remedy="")

    tried(databricks)
    shifted = {**databricks.functions, "right_by": lambda a, n: f"shiftright({a}, {n} - 1)"}
    with pytest.raises(
        PredictionsError, match="Databricks computes differently from numpy: digest"
    ):
        tried(replace(databricks, dialect="spark", functions=shifted))


def lit(value: float | str) -> str:
    """Return a value as it stands in a query of Spark."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return f"CAST('{value!r}' AS {'DOUBLE' if isinstance(value, float) else 'BIGINT'})"
