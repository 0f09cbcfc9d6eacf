"""SQL of a model of the outcome: its log odds of a row, for DuckDB and Spark.

The same operations in the same order as `assay.core.error_model` has them, so that the bits are the
same.
"""

from collections.abc import Mapping

from assay.core.error_model import LARGEST, SAID, Input, Model
from assay.predictions.sql.rows import Dialect, double_sql, family_of, number_sql, quoted

_LARGEST = double_sql(LARGEST)


def model_sql(
    model: Model,
    names: Mapping[str, str],  # of each column its name as SQL, quoted
    types: Mapping[str, str],  # of each column its type, as the engine names it
    *,
    says: str,  # what the classifier says, 0 or 1, or of several the code
    dialect: Dialect,  # whose SQL it is
) -> list[str]:
    """Return the log odds by the model of each fold.

    >>> model = Model((Input("n", "number", 2.0, 4.0),), ((), (0,)), ((0.5, 1.0), (0.5, 2.0)), 9)
    >>> first, second = model_sql(model, {"n": "n"}, {"n": "DOUBLE"}, says="q", dialect="duckdb")
    >>> import duckdb
    >>> duckdb.sql(f"SELECT {first}, {second} FROM (VALUES (14.0::DOUBLE)) AS rows(n)").fetchall()
    [(2.0, 3.5)]
    """
    numbers = [
        says_sql(says, each.bit) if each.column == SAID else _input(each, names, types, dialect)
        for each in model.inputs
    ]
    sums = []
    for weights in model.weights:
        total = double_sql(weights[0])
        for weight, term in zip(weights[1:], model.terms[1:], strict=True):
            product = numbers[term[0]]
            for place in term[1:]:
                product = f"({product} * {numbers[place]})"
            total = f"({total} + {double_sql(weight)} * {product})"
        sums.append(total)
    return sums


def says_sql(says: str, bit: int = 0) -> str:
    """Return what a classifier says as a number: a bit of the code.

    >>> says_sql("code", 2)
    '(CAST(code & 4 AS DOUBLE) / 4e0)'
    """
    return f"(CAST({says} & {1 << bit} AS DOUBLE) / {1 << bit}e0)"


def _input(
    each: Input, names: Mapping[str, str], types: Mapping[str, str], dialect: Dialect
) -> str:
    name, family = names[each.column], family_of(types[each.column])
    if each.kind == "level":
        return f"CASE WHEN {_is_level(each, name, family, dialect)} THEN 1e0 ELSE 0e0 END"
    x = number_sql(name, family, dialect)
    # NaN is larger than any number in both engines, and a comparison with NULL is not true.
    there = f"abs({x}) <= {_LARGEST}"
    if each.kind == "share":
        x = f"CASE WHEN {there} THEN greatest(least({x}, 1e0), 0e0) ELSE 5e-1 END"
        return f"({_root(x)} - {_root(f'(1e0 - {x})')})"
    x = f"CASE WHEN {there} THEN {x} ELSE {double_sql(each.centre)} END"
    d = f"(({x} - {double_sql(each.centre)}) / {double_sql(each.width)})"
    return f"({d} / sqrt(1e0 + abs({d})))"


def _is_level(each: Input, name: str, family: str, dialect: Dialect) -> str:
    if each.level is None:
        missing = f"{name} IS NULL"
        return f"{missing} OR NOT abs({name}) <= {_LARGEST}" if family == "float" else missing
    if isinstance(each.level, bool):
        return f"{name} = {str(each.level).upper()}"
    return f"{name} = {quoted(each.level, dialect)}"


def _root(x: str) -> str:
    return f"sqrt(sqrt(sqrt({x})))"
