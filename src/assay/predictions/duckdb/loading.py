"""Predictions read into memory through DuckDB, from any source that it can read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np

from assay.core.deck import Id
from assay.core.label_sets import BETWEEN
from assay.core.types import Ints
from assay.core.vocabulary import NONE_OF_THESE, Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import (
    MOST_WORDS,
    Occurring,
    as_lists,
    class_text,
    no_lists,
    no_such_class,
    number_in,
    numbered_words,
)
from assay.predictions.column import Arrow, Column, Loaded, row_numbers
from assay.predictions.databases import find_database
from assay.predictions.databases.database import find_rows
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.faults import NO_CLASS, examples, nothing_in
from assay.predictions.layout import Layout, Spread
from assay.predictions.query import identifier, quoted
from assay.predictions.roles import Roles, about
from assay.predictions.scan import Scan, as_scan, is_query
from assay.predictions.sql.judge import class_columns, list_sql
from assay.predictions.sql.rows import Written
from assay.predictions.tables import read_mapping, read_table, shown_values


def read_scan(
    # As `open_relation` takes it. Files are read in the order of their names.
    scan: Scan,
    # used, show: columns to read, and columns shown to reviewers. The latter are read only for the
    # items drawn; from a CSV file they are text. Those of a query are read at once.
    used: Sequence[str],
    show: Sequence[str],
    # Column by which drawn items are found again; None for the row number.
    id: str | None,
    lists: Sequence[str] = (),  # columns that contain lists of numbers
) -> Loaded:
    r"""Read columns of files, a query or a database table."""
    relation = open_relation(scan, [*used, *show], staged=False)
    for name in used:
        if relation.types[name] == "JSON" and name not in lists:
            raise PredictionsError(
                f"column {name!r} of {relation.label} holds lists, objects or values of several "
                "types",
                details="ids, scores and labels are each of one type: numbers, text, or true and "
                "false",
            )
    # A query may give other rows when it is run again to show some.
    loaded = list(dict.fromkeys([*used, *show])) if is_query(scan.path or "") else list(used)
    with reading(relation.label):
        names = ", ".join(_list_of(relation, name, lists) for name in loaded)
        table = relation.connection.sql(f"FROM {relation.sql} SELECT {names}").to_arrow_table()
    if not table.num_rows:
        raise nothing_in(relation.label, scan.where)
    data = dict(zip(loaded, table.columns, strict=True))
    columns = {
        name: Column(name, relation.label, data[name], untyped=relation.is_text) for name in used
    }
    if not show:
        return Loaded(relation.label, columns, lambda _rows, ids: [{} for _ in ids])

    def shown(rows: Ints, ids: Sequence[Id]) -> list[dict[str, object]]:
        if set(show) <= set(loaded):
            values = [
                _shown(data[name].take(row_numbers(rows)), relation.types[name]) for name in show
            ]
            return [dict(zip(show, row, strict=True)) for row in zip(*values, strict=True)]
        return fetch_shown(relation, id, ids, show)

    return Loaded(relation.label, columns, shown)


def _list_of(relation: Relation, name: str, lists: Sequence[str]) -> str:
    """Expression of a column as it is read: JSON, otherwise text, is cast to lists."""
    if name in lists and relation.types[name] == "JSON":
        return f"TRY_CAST({identifier(name)} AS DOUBLE[]) AS {identifier(name)}"
    return identifier(name)


def fetch_shown(
    relation: Relation, id: str | None, ids: Sequence[Id], show: Sequence[str]
) -> list[dict[str, object]]:
    """Show the values of the items with these ids, in their order.

    `ids`: all integers or all strings; `show`: the columns.

    Raises PredictionsError: if some of the items are no longer there.
    """
    if not ids:
        return []
    texts = isinstance(ids[0], str)
    key = "row_number() OVER () - 1" if id is None else identifier(id)
    # In a CSV file integers are text, too.
    if id is not None and (texts or relation.is_text):
        key = f"CAST({key} AS VARCHAR)"
        keys: list[Id] = [str(each) for each in ids]
    else:
        keys = list(ids)
    names = "".join(f", {identifier(name)} AS shown_{i}" for i, name in enumerate(show))
    rows = f"FROM {relation.sql} SELECT {key} AS key{names}"
    # As a parameter: pyarrow would load pandas to make a table of them.
    drawn = "(SELECT unnest($keys) AS key)"
    query = f"FROM ({rows}) SEMI JOIN {drawn} USING (key)"
    with reading(relation.label), relation.connection.cursor() as cursor:
        table = cursor.sql(query, params={"keys": keys}).to_arrow_table()
    keys_there, *columns = table.columns
    values = [
        _shown(column, relation.types[name]) for name, column in zip(show, columns, strict=True)
    ]
    shown = {
        key_there: dict(zip(show, row, strict=True))
        for key_there, *row in zip(keys_there.to_pylist(), *values, strict=True)
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


# Distinct values of columns in a DuckDB relation: class names, and slices.


_FIRST = 100_000  # rows that are looked at before all others
_BLANK = "value IS NULL OR trim(value::VARCHAR) IN ('', 'nan')"
_CLASSES = "assay_classes"


@dataclass(frozen=True)
class DuckColumns:
    """Columns of predictions that DuckDB can read."""

    scan: Scan

    def names(self) -> list[str]:
        """Names of all columns; of a database, as it tells them itself."""
        database = find_database(str(self.scan.path))
        if database is not None:
            return list(find_rows(database, table=self.scan.table, where=None, wanted=()).types)
        return list(open_relation(self.scan, [], staged=False).types)

    def entries(self, column: str) -> object:
        """Length of the first list in a column; 0 if it is not a list."""
        relation = open_relation(self.scan, [column], staged=False)
        listed = relation.types[column].endswith("]") or relation.types[column] == "JSON"
        entries = f"len(TRY_CAST({identifier(column)} AS DOUBLE[]))" if listed else "0"
        with reading(relation.label):
            one = f"FROM {relation.sql} SELECT {entries} LIMIT 1"
            ((first,),) = relation.connection.execute(one).fetchall()
        return first

    def distinct(self, column: str, limit: int, *, complete: bool) -> Occurring:
        """Distinct values of a column, at most two more than a limit."""
        relation = open_relation(self.scan, [column], staged=False)
        where = f"column {column!r} of {relation.label}"
        rows = relation.connection.sql(f"FROM {relation.sql}").project(
            f"{identifier(column)} AS value"
        )

        def fetched(query: duckdb.DuckDBPyRelation) -> list[Any]:
            with reading(relation.label):
                return query.fetchall()

        def first_rows(condition: str) -> str:
            numbered = rows.project("row_number() OVER () - 1 AS row, value").filter(condition)
            return examples(np.array([row for row, _ in fetched(numbered.order("row").limit(3))]))

        def rows_with(value: object) -> str:
            wanted = duckdb.ConstantExpression(value)
            return first_rows(f"value = {wanted}")

        some = fetched(rows.limit(_FIRST).distinct().limit(limit + 2))
        if len(some) > limit + (1 if complete else 0):
            return Occurring([value for (value,) in some], where)
        values = [value for (value,) in fetched(rows.distinct().limit(limit + 2))]
        if complete and not all(map(class_text, values)):
            ((count, size),) = fetched(rows.aggregate(f"count_if({_BLANK}), count(*)"))
            raise NO_CLASS.error(count, size, first_rows(_BLANK), column=where)
        return Occurring(values, where, rows_with)


def with_classes(relation: Relation, sql: str, roles: Roles, place: int) -> str:
    """Table expression with one or two more columns, of `sql.judge`, for a classifier.

    The distinct predicted classes are read once, and their numbers stored in a small table of the
    connection: joining it is faster than any expression.

    `sql`: that of the rows, perhaps with columns of other classifiers; `place`: the classifier's.
    """
    more, joins = [], []
    number, list_of_classes = class_columns(place)
    if roles.predicted is not None and roles.classes is not None:
        table = f"{_CLASSES}_{place}"
        _number_words(relation, roles.predicted, roles.classes, table)
        more.append(f"{table}.number AS {number}")
        column = identifier(roles.predicted)
        joins.append(f"LEFT JOIN {table} ON assay_rows.{column} = {table}.word")
    if roles.of_class:
        names = {name: f"assay_rows.{identifier(name)}" for name in relation.types}
        written = Written(relation.label, names, relation.types, "duckdb", relation.is_text)
        listed = list_sql(written, roles)
        more.append(f"{listed} AS {list_of_classes}")
    if not more:
        return sql
    rows = f"(FROM {sql}) AS assay_rows {' '.join(joins)}"
    return f"(FROM {rows} SELECT assay_rows.*, {', '.join(more)})"


def _number_words(relation: Relation, column: str, classes: Vocabulary, name: str) -> None:
    words = relation.connection.sql(f"FROM {relation.sql}").project(f"{identifier(column)} AS word")
    with reading(relation.label):
        some = words.filter("word IS NOT NULL").distinct().limit(MOST_WORDS + 1).to_arrow_table()
    numbered = numbered_words(some["word"], classes, column, relation.label)
    relation.connection.from_arrow(numbered).create(name)


def with_columns_apart(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    types: dict[str, str],
    label: str,
    *,
    apart: Sequence[Spread],
) -> tuple[str, dict[str, str]]:
    """Table expression with a column for each class, split from columns of lists or of sets."""
    columns = []
    for spread in apart:
        kind, where = types[spread.column], f"column {spread.column!r} of {label}"
        column = identifier(spread.column)
        if spread.of_scores:
            if not (kind.endswith("]") or kind == "JSON"):
                raise no_lists(where, kind)
            lists, size = f"TRY_CAST({column} AS DOUBLE[])", len(spread.classes)
            own = [
                f"CASE WHEN len({lists}) = {size} THEN {lists}[{k + 1}] END" for k in range(size)
            ]
        else:
            is_list = kind.endswith("]") or kind == "JSON"
            sets = f"TRY_CAST({column} AS VARCHAR[])" if is_list else _set_sql(column)
            each_once = connection.sql(f"FROM {sql} SELECT DISTINCT unnest({sets}) AS word")
            words = each_once.limit(MOST_WORDS + 1).to_arrow_table()["word"]
            numbered = numbered_words(words, spread.classes, spread.column, label).to_pylist()
            number_of = number_in(spread.classes)
            if unknown := [word for word in words.to_pylist() if number_of(word) < 0]:
                raise no_such_class(where, sorted(unknown), spread.classes)
            texts: list[list[str]] = [[] for _ in spread.names]
            for word in numbered:
                texts[word["number"]].append(quoted(word["word"], "duckdb"))
            own = [f"list_has_any({sets}, [{', '.join(each)}]::VARCHAR[])" for each in texts]
        types = {
            **types,
            **dict.fromkeys(spread.names, "DOUBLE" if spread.of_scores else "BOOLEAN"),
        }
        named = zip(own, map(identifier, spread.names), strict=True)
        columns += [f"{value} AS {name}" for value, name in named]
    return f"(FROM {sql} SELECT *, {', '.join(columns)})", types


def _set_sql(column: str) -> str:
    """Names between bars in a text; none for the explicit value of no class."""
    text = f"lower(trim(regexp_replace({column}::VARCHAR, '\\s+', ' ', 'g')))"
    names = f"string_split({column}::VARCHAR, '{BETWEEN}')"
    return f"CASE WHEN {text} = '{NONE_OF_THESE}' THEN []::VARCHAR[] ELSE {names} END"


# Columns of any container.


def load(
    source: object,
    # used, show: columns to read, and columns shown to reviewers.
    used: Sequence[str],
    show: Sequence[str],
    id: str | None,  # the column of ids
    lists: Sequence[str] = (),  # columns that contain lists of numbers
) -> Loaded:
    """Read columns of a path, a query, a database table, a mapping or a table in memory.

    >>> load({"p": [0.9, 0.2]}, ["p"], (), None).source
    'dict, 2 rows'
    """
    scan = as_scan(source)
    if scan.path is not None:
        return read_scan(scan, used, show, id, lists)
    content = scan.source
    for name, given in (("where", scan.where), ("table", scan.table)):
        if given is not None:
            raise PredictionsError(
                f"{name}={given!r} cannot be combined with predictions of type "
                f"{type(content).__name__}",
                details=f"{name} is for files, queries and databases",
                hint="filter the table first, and leave it out",
            )
    if isinstance(content, Mapping):
        wide = {name: content[name] for name in lists if getattr(content.get(name), "ndim", 1) == 2}
        content = (
            {**content, **{name: as_lists(array) for name, array in wide.items()}}
            if wide
            else content
        )
        return read_mapping(content, used, show, type(content).__name__)
    return read_table(content, used, show)


def load_columns(source: object, layout: Layout, others: Sequence[str] = ()) -> Loaded:
    """Read each column once, even if several classifiers share it.

    `others`: columns that are no part of the predictions.
    """
    lists = [role.of_class[0] for role in layout.judges.values() if len(role.of_class) == 1]
    lists += [spread.column for spread in layout.apart if spread.of_scores]
    used = list(dict.fromkeys([*others, *layout.columns]))
    try:
        return load(source, used, layout.show, layout.id, lists)
    except PredictionsError as error:
        # A reader's error about one column starts with its name.
        for name, role in layout.judges.items():
            if any(error.problem.startswith(f"column {column!r} ") for column in role.columns):
                with about(name):
                    raise
        raise
