"""Conditions on the rows that make up the population."""

from collections.abc import Sequence

import duckdb

from assay.errors import PredictionsError
from assay.predictions.duckdb.readable import first_lines


def condition(where: str) -> str:
    r"""Return the clause, in which a comment in the condition ends with its line.

    Examples
    --------
    >>> condition("lang = 'en' -- for now")
    "WHERE (\nlang = 'en' -- for now\n)"
    """
    return f"WHERE (\n{where}\n)"


def filtered(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    where: str,
    names: Sequence[str],
    *,
    is_text: bool,
) -> str:
    """Return what stands after FROM for those rows only that a condition holds for.

    Examples
    --------
    >>> with duckdb.connect() as connection:
    ...     sql = filtered(connection, "range(5) AS t(x)", "x > 3", ["x"], is_text=False)
    ...     connection.sql(f"FROM {sql}").fetchall()
    [(4,)]
    """
    rows = f"FROM {sql} {condition(where)}"
    try:
        kinds = [statement.type for statement in connection.extract_statements(rows)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise PredictionsError(f"where={where!r} is more than a condition")
        connection.execute(f"DESCRIBE {rows}").fetchall()
    except duckdb.Error as error:
        as_number = is_text and "cast is required" in str(error)
        hint = "in a CSV file every column is text: CAST(score AS DOUBLE) > 0.5"
        raise bad_condition(where, error, names, hint if as_number else "") from error
    return f"({rows}) AS t"


def bad_condition(
    where: str, error: Exception, names: Sequence[str], hint: str = ""
) -> PredictionsError:
    """Return the error that a database cannot make sense of a condition.

    Examples
    --------
    >>> print(bad_condition("lnag = 'en'", ValueError("no column lnag"), ["id", "lang"]))
    where="lnag = 'en'" cannot be used
    no column lnag
    columns: id, lang
    """
    return PredictionsError(
        f"where={where!r} cannot be used",
        details=f"{first_lines(error, 2)}\ncolumns: {', '.join(names)}",
        hint=hint,
    )
