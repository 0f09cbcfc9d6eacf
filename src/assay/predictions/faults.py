"""Faults of rows: what is said of them, on every engine."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.deck import Id
from assay.core.types import Bools, Ints
from assay.errors import PredictionsError, did_you_mean

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


MANY = {"score": "scores", "weight": "weights", "probability": "probabilities"}
"""Plural of the name of a number."""

NO_ID = Fault("ids in {column} are missing", "give these rows an id, or drop them")
NO_NUMBER = Fault("{many} in {column} are not numbers")
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


_LOCAL = "in a CSV file name its column with local_numbers="


def not_numbers(value: object, what: str) -> str:
    """Hint for text that should be a number.

    >>> not_numbers("95%", "score")
    "write 95 in place of '95%', and pass scale='percent'; in a CSV file name its
    column with local_numbers="
    """
    text = str(value).strip()
    if re.fullmatch(r"[\d.,]+\s*%", text):
        more = f", and pass scale='percent'; {_LOCAL}" if what == "score" else ""
        return f"write {text.rstrip('% ').replace(',', '.')} in place of {value!r}{more}"
    if re.fullmatch(r"-?\d{1,3}(,\d{3})+\.\d+|-?\d{1,3}(,\d{3}){2,}", text):
        return f"write {text.replace(',', '')} in place of {value!r}, without separators"
    if re.fullmatch(r"-?\d*,\d+", text):
        write = f"write {text.replace(',', '.')} in place of {value!r}: a point, not a comma"
        return f"{write}; {_LOCAL}"
    return "is this the right column? If so, fix or drop these rows"


def first_few(bad: Bools) -> Ints:
    """First few bad rows, for an error."""
    return np.flatnonzero(bad)[:3]


def examples(rows: Ints, **facts: Sequence[object]) -> str:
    """Describe the first bad rows.

    >>> examples(np.array([3, 9]), id=["a", "b"], score=[float("nan"), None])
    "first, counting rows from 0: row 3 (id 'a', score nan), row 9 (id 'b', score missing)"
    """
    texts = []
    for place, row in enumerate(rows):
        facts_of = [f"{name} {_shown(values[place])}" for name, values in facts.items()]
        texts.append(f"row {row} ({', '.join(facts_of)})" if facts_of else f"row {row}")
    return f"first, counting rows from 0: {', '.join(texts)}"


def _shown(value: object) -> str:
    return "missing" if value is None else repr(value)


def refuse_missing_columns(wanted: Sequence[str], known: Sequence[str], source: str) -> None:
    """Raise an error about the first wanted column that is missing.

    >>> refuse_missing_columns(["p_spam"], ["url", "pspam"], "predictions.parquet")
    Traceback (most recent call last):
    assay.errors.PredictionsError: column 'p_spam' not found in predictions.parquet
    columns: url, pspam
    hint: did you mean 'pspam'?
    """
    for name in wanted:
        if name not in known:
            raise PredictionsError(
                f"column {name!r} not found in {source}",
                details=f"columns: {', '.join(known)}",
                hint=did_you_mean(name, known) or _no_names(known),
            )


def _no_names(known: Sequence[str]) -> str:
    """Hint if the column names look like values."""
    if any(re.fullmatch(r"-?\d+(\.\d+)?(e-?\d+)?", name.strip()) for name in known):
        return "the first line looks like a row: add a line with the column names above it"
    return ""


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
        f"the {MANY[what]} in {column} are of type {kind}",
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
    """Error: a database cannot interpret a condition."""
    bare = re.search(r"(\w+)\s*(=|<>|!=)\s*([^\W\d]\w*)\s*(?!\w|\()", where)
    unquoted = bare is not None and bare[1] in names and bare[3] not in names
    if bare is not None and unquoted:
        hint = f"text is quoted: {bare[1]} {bare[2]} '{bare[3]}'"
    return PredictionsError(
        f"where={where!r} cannot be used",
        details=f"{first_lines(error, 1 if unquoted else 2)}\ncolumns: {', '.join(names)}",
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
