"""Faults of rows: what an error says of them, on every engine."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.core.deck import Id
from assay.errors import PredictionsError

_MEND = "fix or drop these rows"
_NO_WEIGHT = f"a weight is a finite number, at least 0, which leaves an item out; {_MEND}"


@dataclass(frozen=True)
class Fault:
    """A fault that some rows may have: its words, and what to do about it."""

    words: str
    hint: str = _MEND

    def error(
        self, bad: int, size: int, details: str, hint: str = "", **names: object
    ) -> PredictionsError:
        """Error for some of all rows; `details`: the first of them; `names`: those in the words.

        >>> print(NO_ID.error(2, 1_000, "row 3", column="column 'id' of a.csv"))
        2 of 1,000 ids in column 'id' of a.csv are missing
        row 3
        hint: give these rows an id, or drop them
        """
        problem = f"{bad:,} of {size:,} {self.words.format(**names)}"
        return PredictionsError(problem, details=details, hint=hint or self.hint)


NO_ID = Fault("ids in {column} are missing", "give these rows an id, or drop them")
NO_NUMBER = Fault("{what}s in {column} are not numbers")
NO_SCORE = Fault(
    "scores in {column} are missing, NaN or infinite",
    f"a score is a finite number that float64 can hold; {_MEND}",
)
NO_PROBABILITY = Fault(
    "probabilities in {column} are missing, NaN or infinite", f"each is a finite number; {_MEND}"
)
NO_PROBABILITIES = Fault(
    "rows of {source} have probabilities that are missing, NaN or infinite, or not {classes:,} of "
    "them",
    f"each class has a finite number; {_MEND}",
)
NO_LABEL = Fault("predicted labels in {column} are missing")
NO_CLASS = Fault("predicted classes in {column} are missing")
UNKNOWN_CLASS = Fault("predicted classes in {column} are none of the {classes:,} classes")
CONTRADICTION = Fault(
    "predicted labels in {column} contradict threshold={threshold}",
    "predicted is yes from the threshold upwards; correct the threshold, or leave it out to trust "
    "the labels",
)
BAD_WEIGHT = Fault("weights in {column} are missing, NaN or infinite", _NO_WEIGHT)
NEGATIVE_WEIGHT = Fault("weights in {column} are negative", _NO_WEIGHT)


def changed(source: str) -> PredictionsError:
    """Error: rows have changed between two passes."""
    return PredictionsError(f"{source} has changed while it was read")


def unclear_labels(column: object, got: str, hint: str) -> PredictionsError:
    """Error: labels have no known meaning."""
    return PredictionsError(
        f"the predicted labels in {column} are neither yes or no, true or false, nor 1 or 0",
        details=got,
        hint=hint,
    )


def no_positive(positive: object, column: object, got: str, hint: str) -> PredictionsError:
    """Error: no label is the positive one."""
    return PredictionsError(
        f"positive={positive!r} occurs nowhere in {column}", details=got, hint=hint
    )


def no_ids(column: object, kind: object, hint: str = "") -> PredictionsError:
    """Error: a column of another type cannot be ids."""
    return PredictionsError(
        f"the ids in {column} are of type {kind}",
        details="an id is a whole number of 64 bits or a string",
        hint=hint or "make them integers if they are whole numbers, or else strings",
    )


def no_numbers(what: str, column: object, kind: object) -> PredictionsError:
    """Error: a column of another type cannot be numbers."""
    return PredictionsError(
        f"the {what.removesuffix('y')}{'ies' if what.endswith('y') else 's'} in {column} are of "
        f"type {kind}",
        details=f"a {what} is a number",
        hint="is this the right column? Text that holds numbers must be converted first",
    )


def no_label(positive: object) -> PredictionsError:
    """Error: the positive label is no value of a column."""
    return PredictionsError(
        f"positive={positive!r} is of type {type(positive).__name__}",
        details="it must be one value that can stand in the column: text, a number, a date",
    )


def condition(where: str) -> str:
    r"""WHERE clause, in which a comment in the condition ends with its line."""
    return f"WHERE (\n{where}\n)"


def bad_condition(
    where: str, error: Exception, names: Sequence[str], hint: str = ""
) -> PredictionsError:
    """Error: a database cannot interpret a condition.

    `names`: names of the columns.
    """
    return PredictionsError(
        f"where={where!r} cannot be used",
        details=f"{first_lines(error, 2)}\ncolumns: {', '.join(names)}",
        hint=hint,
    )


def first_lines(error: Exception, count: int) -> str:
    r"""First lines of an error message, without those that repeat the SQL.

    >>> first_lines(ValueError("no such column\n\nLINE 1: SELECT"), 2)
    'no such column'
    """
    message = re.split(r"\n\n|\nLINE ", str(error), maxsplit=1)[0]
    return "\n".join(message.splitlines()[:count])


def refuse_repeated_columns(wanted: Iterable[str], names: Sequence[str], label: str) -> None:
    """Raise if a wanted column is there twice.

    >>> refuse_repeated_columns(["id"], ["id", "ID"], "preds.csv")
    Traceback (most recent call last):
    assay.errors.PredictionsError: preds.csv has several columns named 'id'
    columns: id, ID
    hint: rename them, by more than upper and lower case
    """
    # DuckDB ignores case in names.
    counts = Counter(name.casefold() for name in names)
    for name in wanted:
        if counts[name.casefold()] > 1:
            raise PredictionsError(
                f"{label} has several columns named {name!r}",
                details=f"columns: {', '.join(names)}",
                hint="rename them, by more than upper and lower case",
            )


def nothing_in(label: str, where: str | None = None) -> PredictionsError:
    """Error: there are no rows, or the condition leaves none."""
    if where is None:
        return PredictionsError(f"{label} is empty", details="it must hold at least one row")
    return PredictionsError(
        f"where={where!r} leaves no row of {label}", details="it must hold for at least one"
    )


def repeated_ids(column: str, count: int, first: Sequence[tuple[Id, int]]) -> PredictionsError:
    """Error: ids occur in several rows; `first`: some, with the number of rows."""
    some = ", ".join(f"{id!r} in {times} rows" for id, times in first)
    return PredictionsError(
        f"{column} has ids that occur more than once: {count:,}",
        details=f"first: {some}",
        hint="each item needs one row and its own id; drop the duplicates",
    )
