"""What is read out of a row with SQL is what is read out of columns in memory."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from assay.errors import PredictionsError
from assay.predictions.column import Column, Ids
from assay.predictions.query import Dialect, double_sql, quoted
from assay.predictions.roles import Roles
from assay.predictions.sql.judge import row_sql
from assay.predictions.sql.rows import RowSql, Written, family_of
from assay.predictions.values import read_predicted, read_scores

Answer = list[float] | str
Evaluate = Callable[["pa.Table", Sequence[str]], list[list[Any]]]
"""Returns the values of some expressions, each for all rows in their order."""

LABELS: dict[str, Any] = {
    "booleans": pa.array([True, False]),
    "bytes": pa.array([0, 1], pa.int8()),
    "integers": pa.array([0, 1, 2, -1]),
    "unsigned": pa.array([0, 1, 2**64 - 1], pa.uint64()),
    "floats": pa.array([0.0, 1.0]),
    "any floats": pa.array([0.0, 0.5, 1.0, 0.1]),
    "single floats": pa.array([0.0, 0.5, 1.0, 0.1], pa.float32()),
    "decimals": pa.array([Decimal("0.00"), Decimal("1.00")]),
    "any decimals": pa.array([Decimal("0.00"), Decimal("1.00"), Decimal("0.50")]),
    "digits": pa.array(["0", "1"]),
    "true and false": pa.array(["True", "False", "true"]),
    "text": pa.array(["yes", "no", "Yes", " yes", "it's", "a\\b", "a\\\\b", ""]),
    "dates": pa.array([date(2026, 11, 15), date(2026, 11, 16)]),
    "missing": pa.array(["yes", None]),
}
POSITIVES: list[object] = [
    *(None, True, False, 1, 0, 2, -1, 1.0, 0.5, 0.1, 2**64 - 1, 10**30, float("nan"), float("inf")),
    *("1", "0", "2", "1.0", "1.00", "0.5", "0.1", str(2**64 - 1), "True", "False", "true", "yes"),
    *("it's", "a\\b", "", "2026-11-15", date(2026, 11, 15)),
    *(np.int64(1), np.bool_(True), np.str_("yes"), np.float64(0.5), Decimal("1.00"), [1]),
]


def _in_memory(column: Any, positive: object, *, is_text: bool) -> Answer:
    held = Column("said", "a table", pa.chunked_array([column]), untyped=is_text)
    try:
        says: list[float] = read_predicted(held, positive, Ids(np.arange(len(column)))).tolist()
    except PredictionsError:
        return "refused"
    return says


def _row(
    types: dict[str, str], dialect: Dialect, positive: object, *, is_text: bool
) -> RowSql | None:
    roles = Roles(None, "said", "id", None, positive)
    names = {"id": "id", "said": "said"}
    try:
        return row_sql(Written("a table", names, types, dialect, is_text), roles)
    except PredictionsError:
        return None


def _understood(says: Sequence[int | None], positive: object) -> Answer:
    """Return what an engine makes of it: no row without a label, and one that says yes."""
    if None in says or 2 in says or (positive is not None and 1 not in says):
        return "refused"
    return [said == 1 for said in says]


def _check_labels(
    name: str, types: dict[str, str], dialect: Dialect, evaluate: Evaluate, *, is_text: bool
) -> None:
    column = LABELS[name]
    rows = [_row(types, dialect, positive, is_text=is_text) for positive in POSITIVES]
    table = pa.table({"id": np.arange(len(column)), "said": column})
    answers = iter(evaluate(table, [row.says for row in rows if row is not None]))
    for row, positive in zip(rows, POSITIVES, strict=True):
        told = "refused" if row is None else _understood(next(answers), positive)
        assert told == _in_memory(column, positive, is_text=is_text), (name, positive)


def _duckdb(table: "pa.Table", expressions: Sequence[str]) -> list[list[Any]]:
    rows = duckdb.from_arrow(table).order("id")
    named = ", ".join(f"{sql} AS x{place}" for place, sql in enumerate(expressions))
    return [column.to_pylist() for column in rows.project(named).to_arrow_table().columns]


def _selected(sql: str) -> list[Any]:
    with duckdb.connect() as connection:
        rows: list[Any] = connection.execute(sql).fetchall()
    return rows


def _is_text(name: str) -> list[bool]:
    """Return whether a column can be of a CSV file: False, and True for text."""
    return [False, True] if pa.types.is_string(LABELS[name].type) else [False]


@pytest.mark.parametrize("name", LABELS)
def test_labels_in_duckdb(name: str) -> None:
    relation = duckdb.from_arrow(pa.table({"id": [1], "said": LABELS[name][:1]}))
    types = {
        column: str(kind) for column, kind in zip(relation.columns, relation.types, strict=True)
    }
    for is_text in _is_text(name):
        _check_labels(name, types, "duckdb", _duckdb, is_text=is_text)


def test_labels_in_spark(spark: Any) -> None:
    def in_spark(table: "pa.Table", expressions: Sequence[str]) -> list[list[Any]]:
        named = [f"{sql} AS x{place}" for place, sql in enumerate(expressions)]
        rows = spark.createDataFrame(table).selectExpr("id", *named).toArrow().sort_by("id")
        return [column.to_pylist() for column in rows.columns[1:]]

    for name, column in LABELS.items():
        if name == "unsigned":
            continue  # Spark has no such integers
        frame = spark.createDataFrame(pa.table({"id": [1], "said": column[:1]}))
        for is_text in _is_text(name):
            _check_labels(name, dict(frame.dtypes), "spark", in_spark, is_text=is_text)


SCORES: dict[str, Any] = {
    "single floats": pa.array([0.1, 1e-40, 3e38], pa.float32()),
    "floats": pa.array([0.1, 5e-324, 1.7e308]),
    "integers": pa.array([2**63 - 1, 2**53 + 1, -(2**63)]),
    "bytes": pa.array([0, 255], pa.uint8()),
    "unsigned": pa.array([2**64 - 1, 2**64 - 2**10 - 1], pa.uint64()),
    "decimals": pa.array([Decimal("0.1"), Decimal("12345678901234567.8")], pa.decimal128(38, 10)),
    "many digits": pa.array([Decimal(n**9 % 10**18).scaleb(-17) for n in range(1, 3_000)]),
}
WRITTEN = [
    *("0.5", " 1e-3", "+0.5", "-0.0", "1_000", "0x10", "Infinity", "inf", "-inf", "nan", "NaN"),
    *("1e400", "1e-400", "\t0.5", "0.5\n", "abc", "1,5", ".5", "5.", "1E+5", "--1", "", "  "),
    *("0.1234567890123456789", "9007199254740993", "true", "1e", "e5", "1.7976931348623159e308"),
]


def _score(kind: str, *, is_text: bool = False) -> str:
    roles = Roles("p", None, "id", 0.5, None)
    types = {"id": "BIGINT", "p": kind}
    names = {"id": "id", "p": "p"}
    row = row_sql(Written("a table", names, types, is_text=is_text), roles)
    return row.score


@pytest.mark.parametrize("name", SCORES)
def test_scores_in_duckdb(name: str) -> None:
    column = SCORES[name]
    held = Column("p", "a table", pa.chunked_array([column]))
    scores = read_scores(held, Ids(np.arange(len(column)))).tolist()
    rows = duckdb.from_arrow(pa.table({"p": column}))
    expression = _score(str(rows.types[0]))
    kept = [row for (row,) in rows.project(f"({expression})::DOUBLE").fetchall()]
    assert kept == scores


@pytest.mark.parametrize("text", WRITTEN)
def test_scores_of_text(text: str) -> None:
    held = Column("p", "a.csv", pa.chunked_array([[text]]), untyped=True)
    try:
        (expected,) = read_scores(held, Ids(np.arange(1))).tolist()
    except PredictionsError:
        expected = None
    rows = duckdb.from_arrow(pa.table({"p": [text]}))
    ((score,),) = rows.project(_score("VARCHAR", is_text=True)).fetchall()
    assert (score if score is not None and np.isfinite(score) else None) == expected


@pytest.mark.parametrize("kind", ["VARCHAR", "BOOLEAN", "DATE", "DOUBLE[]", "STRUCT(a DOUBLE)"])
def test_scores_of_other_types_are_refused(kind: str) -> None:
    with pytest.raises(PredictionsError, match=f"column 'p' of a table are of type {kind[:6]}"):
        _score(kind)


@pytest.mark.parametrize("kind", ["HUGEINT", "UHUGEINT"])
def test_wide_integers(kind: str) -> None:
    assert family_of(kind) == "wide integer"
    assert _selected(f"SELECT {_score(kind)} FROM (SELECT 7::{kind} AS p)") == [(7.0,)]


def test_a_threshold_is_compared_in_double_precision() -> None:
    """The FLOAT next to 0.3 is above it, the one next to 0.7 below; 0.5 is a yes by itself."""
    floats = np.array([0.3, 0.5, 0.7], np.float32)
    for threshold, expected in ((0.3, [1, 1, 1]), (0.5, [0, 1, 1]), (0.7, [0, 0, 0])):
        roles = Roles("p", None, "id", threshold, None)
        names, types = {"id": "id", "p": "p"}, {"id": "BIGINT", "p": "FLOAT"}
        row = row_sql(Written("a table", names, types), roles)
        rows = duckdb.from_arrow(pa.table({"p": floats}))
        assert [said for (said,) in rows.project(row.says).fetchall()] == expected
    in_single = rows.project(f"(p >= {double_sql(0.7)}::FLOAT)::INTEGER").fetchall()
    assert in_single != [(0,), (0,), (0,)]


def test_text_is_quoted_in_duckdb_and_spark(spark: Any) -> None:
    for text in ("", "it's", "a\\b", "a\\'b", "\\", "line\nbreak", "ü🂡", "%_", "$x"):
        assert _selected(f"SELECT {quoted(text, 'duckdb')}") == [(text,)]
        assert spark.sql(f"SELECT {quoted(text, 'spark')}").collect()[0][0] == text


def test_doubles_are_written_exactly() -> None:
    numbers = np.random.default_rng(3).integers(0, 2**63, 500, dtype=np.uint64).view(np.float64)
    finite = [float(number) for number in numbers if np.isfinite(number)]
    literals = ", ".join(map(double_sql, finite))
    assert _selected(f"SELECT {literals}") == [tuple(finite)]


def test_a_moment_is_named_by_its_text() -> None:
    moments = pa.array([datetime(2026, 11, 15, 1, 2, 3), datetime(2026, 11, 16)])
    for positive in (datetime(2026, 11, 15, 1, 2, 3), "2026-11-15 01:02:03"):
        row = _row({"id": "BIGINT", "said": "TIMESTAMP"}, "duckdb", positive, is_text=False)
        assert row is not None
        (says,) = _duckdb(pa.table({"id": [0, 1], "said": moments}), [row.says])
        assert _understood(says, positive) == [True, False]
        assert _in_memory(moments, positive, is_text=False) == [True, False]
