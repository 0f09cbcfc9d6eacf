"""Predictions read into memory through DuckDB, whatever it can read them from."""

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.core.types import Ints
from assay.errors import PredictionsError
from assay.predictions.column import Arrow, Column, Loaded
from assay.predictions.duckdb.databases import is_query
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation, no_row, open_relation
from assay.predictions.scan import Scan
from assay.predictions.tables import shown_values


def read_scan(
    # What to read, as `open_relation` has it. Files are read in the order of their names.
    scan: Scan,
    # used, show: the columns to read, and those that people see. The latter are left where they are
    # until items are drawn, and then read for these only; from a CSV file they come as they stand
    # there. Those of a query are read at once.
    used: Sequence[str],
    show: Sequence[str],
    # The column by which drawn items are found again; None for the number of the row.
    id: str | None,
    lists: Sequence[str] = (),  # those of the columns to read that hold lists of numbers
) -> Loaded:
    r"""Read columns of files, a query or a table of a database."""
    relation = open_relation(scan, [*used, *show], staged=False)
    for name in used:
        if relation.types[name] == "JSON" and name not in lists:
            raise PredictionsError(
                f"column {name!r} of {relation.label} holds lists, objects or values of several "
                "types",
                details="ids, scores and labels are each of one type: numbers, text, or true and "
                "false",
            )
    # A query need not give the same rows when it is run again to show some.
    held = list(dict.fromkeys([*used, *show])) if is_query(scan.path or "") else list(used)
    with reading(relation.label):
        names = ", ".join(_list_of(relation, name, lists) for name in held)
        table = relation.connection.sql(f"FROM {relation.sql} SELECT {names}").to_arrow_table()
    if not table.num_rows:
        raise no_row(scan, relation.label)
    data = dict(zip(held, table.columns, strict=True))
    columns = {
        name: Column(name, relation.label, data[name], untyped=relation.is_text) for name in used
    }
    if not show:
        return Loaded(relation.label, columns, lambda _rows, ids: [{} for _ in ids])

    def shown(rows: Ints, ids: Sequence[Id]) -> list[dict[str, object]]:
        if set(show) <= set(held):
            values = [_shown(data[name].take(rows), relation.types[name]) for name in show]
            return [dict(zip(show, row, strict=True)) for row in zip(*values, strict=True)]
        return fetch_shown(relation, id, ids, show)

    return Loaded(relation.label, columns, shown)


def _list_of(relation: Relation, name: str, lists: Sequence[str]) -> str:
    """Return a column as it is read: lists out of JSON, which is text otherwise."""
    if name in lists and relation.types[name] == "JSON":
        return f"TRY_CAST({identifier(name)} AS DOUBLE[]) AS {identifier(name)}"
    return identifier(name)


def fetch_shown(
    relation: Relation, id: str | None, ids: Sequence[Id], show: Sequence[str]
) -> list[dict[str, object]]:
    """Return what people see of the items with these ids, in their order.

    `ids`: the items, all of them integers or all strings; `show`: the columns.

    Raises PredictionsError: if some of the items are no longer there.
    """
    if not ids:
        return []
    texts = isinstance(ids[0], str)
    key = "row_number() OVER () - 1" if id is None else identifier(id)
    # In a CSV file an integer is text, too.
    if id is not None and (texts or relation.is_text):
        key = f"CAST({key} AS VARCHAR)"
        keys: Sequence[Id] = [str(each) for each in ids]
    else:
        keys = ids
    names = "".join(f", {identifier(name)} AS shown_{i}" for i, name in enumerate(show))
    drawn = pa.table({"key": keys if isinstance(keys[0], str) else np.array(keys)})
    with reading(relation.label), relation.connection.cursor() as cursor:
        cursor.register("drawn", drawn)
        rows = f"FROM {relation.sql} SELECT {key} AS key{names}"
        found = cursor.sql(f"FROM ({rows}) SEMI JOIN drawn USING (key)").to_arrow_table()
    found_keys, *columns = found.columns
    values = [
        _shown(column, relation.types[name]) for name, column in zip(show, columns, strict=True)
    ]
    shown = {
        found_key: dict(zip(show, row, strict=True))
        for found_key, *row in zip(found_keys.to_pylist(), *values, strict=True)
    }
    if len(shown) < len(keys):
        raise PredictionsError(
            f"{relation.label} has changed since it was read",
            details=f"{len(keys) - len(shown):,} of {len(keys):,} drawn items are no longer there",
        )
    return [shown[wanted] for wanted in keys]


def _shown(column: Arrow, kind: str) -> list[object]:
    if kind != "JSON":
        return shown_values(column)
    return [None if text is None else json.loads(text) for text in column.to_pylist()]
