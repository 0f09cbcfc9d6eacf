"""Faults of rows: what an error says of them, on every engine."""

from dataclasses import dataclass

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


def no_label(positive: object) -> PredictionsError:
    """Error: the positive label is no value of a column."""
    return PredictionsError(
        f"positive={positive!r} is of type {type(positive).__name__}",
        details="it must be one value that can stand in the column: text, a number, a date",
    )
