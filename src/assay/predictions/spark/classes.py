"""Rows of Spark with the number of the class that each names, and its probabilities."""

from dataclasses import replace

import pyarrow as pa

from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.predictions.class_values import MOST_WORDS, class_text, number_in
from assay.predictions.roles import Roles
from assay.predictions.spark.source import SparkRows, column_name
from assay.predictions.sql.classes import LIST, NUMBER, list_sql

_WORD = "assay_word"


def rows_with_classes(rows: SparkRows, roles: Roles) -> SparkRows:
    """Return rows with one or two more columns, of `sql.classes`.

    The words that are in the column of predicted classes are looked at once; every executor gets a
    small table of their numbers.
    """
    frame, keep = rows.frame, [column_name(name) for name in rows.types]
    if roles.of_class:
        listed = list_sql(
            roles,
            {name: column_name(name) for name in rows.types},
            rows.types,
            dialect="spark",
            is_text=rows.is_text,
            source=rows.source,
        )
        frame = frame.selectExpr(*keep, f"{listed} AS {LIST}")
        keep.append(LIST)
    if roles.predicted is not None and roles.classes is not None:
        words = frame.sparkSession.createDataFrame(
            _numbered_words(rows, roles.predicted, roles.classes)
        )
        named = frame.selectExpr(*keep, f"{column_name(roles.predicted)} AS {_WORD}")
        joined = named.join(words.hint("broadcast"), _WORD, "left")
        frame = joined.selectExpr(*keep, NUMBER)
    return replace(rows, frame=frame)


def _numbered_words(rows: SparkRows, column: str, classes: Vocabulary) -> "pa.Table":
    """Return the words of the column with the number of each: -1 where it is no class."""
    every = rows.frame.selectExpr(f"{column_name(column)} AS {_WORD}")
    found = rows.fetch(every.where(f"{_WORD} IS NOT NULL").distinct().limit(MOST_WORDS + 1))
    if found.num_rows > MOST_WORDS:
        raise PredictionsError(
            f"column {column!r} of {rows.source} has more than {MOST_WORDS:,} values: too many for "
            "classes",
            hint="is another column meant?",
        )
    number_of = number_in(classes)
    words = found[_WORD].to_pylist()
    # Blank is missing: it has no number, as NULL has none.
    kept = [place for place, word in enumerate(words) if class_text(word)]
    numbers = pa.array([number_of(words[place]) for place in kept], pa.int32())
    return pa.table({_WORD: found[_WORD].take(pa.array(kept, pa.int64())), NUMBER: numbers})
