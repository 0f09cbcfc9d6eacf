"""Rows of DuckDB with the number of the class that each names, and its probabilities."""

import pyarrow as pa

from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import MOST_WORDS, class_text, number_in
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation
from assay.predictions.roles import Roles
from assay.predictions.sql.classes import LIST, NUMBER, list_sql

_WORDS, _NUMBERS, _CLASSES = "assay_words", "assay_numbers", "assay_classes"


def rows_with_classes(relation: Relation, roles: Roles) -> str:
    """Return what stands after FROM for rows with one or two more columns, of `sql.classes`.

    The words that are in the column of predicted classes are looked at once, and their numbers
    kept in a small table of the connection: to join it takes less time than any expression would.
    """
    more, joined = [], ""
    if roles.predicted is not None and roles.classes is not None:
        _number_words(relation, roles.predicted, roles.classes)
        more.append(f"{_CLASSES}.number AS {NUMBER}")
        column = identifier(roles.predicted)
        joined = f"LEFT JOIN {_CLASSES} ON assay_rows.{column} = {_CLASSES}.word"
    if roles.of_class:
        listed = list_sql(
            roles,
            {name: f"assay_rows.{identifier(name)}" for name in relation.types},
            relation.types,
            dialect="duckdb",
            is_text=relation.is_text,
            source=relation.label,
        )
        more.append(f"{listed} AS {LIST}")
    rows = f"(FROM {relation.sql}) AS assay_rows {joined}"
    return f"(FROM {rows} SELECT assay_rows.*, {', '.join(more)})"


def _number_words(relation: Relation, column: str, classes: Vocabulary) -> None:
    connection = relation.connection
    words = connection.sql(f"FROM {relation.sql}").project(f"{identifier(column)} AS word")
    with reading(relation.label):
        some = words.filter("word IS NOT NULL").distinct().limit(MOST_WORDS + 1)
        some.project("row_number() OVER () AS place, word").create(_WORDS)
        found = connection.table(_WORDS).fetchall()
    if len(found) > MOST_WORDS:
        raise PredictionsError(
            f"column {column!r} of {relation.label} has more than {MOST_WORDS:,} values: too many "
            "for classes",
            hint="is another column meant?",
        )
    number_of = number_in(classes)
    # Blank is missing: it has no number, as NULL has none.
    told = [(place, number_of(word)) for place, word in found if class_text(word)]
    places, numbers = zip(*told, strict=True) if told else ((), ())
    table = pa.table(
        {"place": pa.array(places, pa.int64()), "number": pa.array(numbers, pa.int32())}
    )
    connection.from_arrow(table).create(_NUMBERS)
    joined = connection.table(_WORDS).join(connection.table(_NUMBERS), "place")
    joined.project("word, number").create(_CLASSES)
