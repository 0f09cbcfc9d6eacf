"""Values of class columns: class names, or a probability of each class.

Values are compared as text: 7 and 7.0 are the class ``7``. Case and surrounding spaces are ignored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from assay.core.types import Floats, Ints
from assay.core.vocabulary import MOST_CLASSES, NONE_OF_THESE, Vocabulary
from assay.errors import LabelError, PredictionsError, did_you_mean
from assay.lazy import later
from assay.predictions.column import Arrow, Column, Ids, Loaded, row_numbers
from assay.predictions.faults import NO_CLASS, NO_PROBABILITY, UNKNOWN_CLASS, examples, first_few
from assay.predictions.roles import STAR, UNEVEN, Roles, fits_pattern
from assay.predictions.values import distinct_values, read_numbers, read_scores, refuse_rows

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")

_FEW = 8  # names that an error lists

MOST_WORDS = 10 * MOST_CLASSES
"""Most distinct values of a column of predicted classes; a class may be written in several ways."""


def class_text(value: object) -> str:
    """Value of a column as the name of a class; empty if it is missing.

    >>> [class_text(value) for value in (" math ", 7, 7.0, 0.5, True, None, float("nan"))]
    ['math', '7', '7', '0.5', 'true', '', '']
    """
    if value is None or (isinstance(value, float | Decimal) and isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    if isinstance(value, float | Decimal) and isfinite(value) and value == int(value):
        return str(int(value))
    return str(value).strip()


def sorted_texts(values: Sequence[object]) -> list[str]:
    """Distinct texts of values, sorted: as numbers if all are numbers, otherwise as text.

    >>> sorted_texts(["10", "9", " 9"]), sorted_texts(["b", "a", "10"])
    (['9', '10'], ['10', 'a', 'b'])
    """
    texts = sorted({text for text in map(class_text, values) if text})
    numbers = [_number(text) for text in texts]
    if all(number is not None for number in numbers):
        return [text for _, text in sorted(zip(numbers, texts, strict=True))]
    return texts


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def number_in(classes: Vocabulary) -> Callable[[object], int]:
    """Make a function from a value of the column to the number of its class; -1 for none.

    >>> number_of = number_in(Vocabulary(("math", "physics"), {"mathematics": "math"}))
    >>> [number_of(value) for value in ("Physics", "mathematics", "pysics", None)]
    [1, 0, -1, -1]
    """

    def number(value: object) -> int:
        text = class_text(value)
        try:
            name = classes.name_of(text) if text else NONE_OF_THESE
        except LabelError:
            return -1
        return classes.numbers.get(name, -1)

    return number


def read_classes(column: Column, classes: Vocabulary, ids: Ids) -> Ints:
    """Read the number of each item's predicted class.

    >>> topics = Column("topic", "a table", pa.chunked_array([["b", "A", "b"]]))
    >>> read_classes(topics, Vocabulary(("a", "b")), Ids(np.arange(3)))
    array([1, 0, 1])
    """
    values, place = distinct_values(column)
    refuse_missing_classes(column, values, place, ids)
    number_of = number_in(classes)
    numbers = np.array([number_of(value) for value in values], dtype=np.int64)[place]
    unknown = numbers < 0
    if unknown.any():
        rows = first_few(unknown)
        labels = column.at(rows)
        some = examples(rows, id=ids.at(rows), predicted=labels)
        raise unknown_class(
            (int(unknown.sum()), unknown.size), str(column), some, labels[0], classes
        )
    return numbers


def unknown_class(
    counts: tuple[int, int], column: str, some: str, first: object, classes: Vocabulary
) -> PredictionsError:
    """Error: predicted classes are none of the classes; `first` is one of them."""
    details, hint = f"{some}; classes: {some_of(classes.names)}", near_class(first, classes)
    return UNKNOWN_CLASS.error(*counts, details, hint, column=column, classes=len(classes))


def near_class(value: object, classes: Vocabulary) -> str:
    """Hint for a value that is not a class: the nearest class, or what to do."""
    near = did_you_mean(class_text(value), [*classes.names, *classes.aliases])
    return near or "give it as a class, or as an alias of one; or fix these rows"


def no_such_class(
    column: str, unknown: Sequence[object], classes: Vocabulary, some: str = ""
) -> PredictionsError:
    """Error: a column has values that are not classes; `some` are rows with the first."""
    many = "a value that is not a class"
    if len(unknown) > 1:
        many = f"{len(unknown):,} values that are not classes"
    return PredictionsError(
        f"{column} has {many}: {', '.join(map(repr, unknown[:3]))}",
        details=f"{some}classes: {some_of(classes.names)}",
        hint=near_class(unknown[0], classes),
    )


def refuse_missing_classes(column: Column, values: Sequence[object], place: Ints, ids: Ids) -> None:
    """Raise if rows have no predicted class."""
    blank = np.array([not class_text(value) for value in values], dtype=np.bool_)
    if blank.any():
        refuse_rows(NO_CLASS, blank[place], column, ids)


@dataclass(frozen=True)
class Occurring:
    """Distinct values of a column, up to a limit."""

    values: list[object]  # each once, as the container has them
    where: str  # the column, for users
    rows: Callable[[object], str] = lambda _: ""  # describes the rows with a value


def some_of(names: Sequence[str]) -> str:
    """First few names, for an error."""
    few = ", ".join(names[:_FEW])
    return f"{few} and {len(names) - _FEW:,} more" if len(names) > _FEW else few


# Probabilities of all classes: a column for each, or one column of lists.


def starred(
    pattern: str,  # contains one star
    known: Sequence[str],  # all columns
    besides: Sequence[str | None],  # columns with another role
    argument: str = "probabilities",  # the pattern's argument, for an error
) -> dict[str, str]:
    """Columns that match a pattern, by the text that the star stands for.

    >>> starred("p_*", ["id", "p_math", "p_top", "p_"], ["p_top"])
    {'math': 'p_math'}
    """
    if pattern.count(STAR) != 1:
        raise PredictionsError(
            f"{argument}={pattern!r} has {pattern.count(STAR)} stars",
            details="one star stands for the name of a class, as in 'p_*'; a column of lists is "
            "named without a star",
        )
    before, _, after = pattern.partition(STAR)
    return {
        name[len(before) : len(name) - len(after)]: name
        for name in known
        if fits_pattern(name, pattern) and name not in besides
    }


def columns_of_classes(
    pattern: str,  # such as ``p_*``
    classes: Vocabulary,  # the classes; a column may be called by an alias, too
    known: Sequence[str],  # all columns
    *,
    besides: Sequence[str | None],  # columns with another role, even if they match the pattern
    source: str,  # source, for users
    argument: str = "probabilities",  # the pattern's argument, for an error
) -> tuple[str, ...]:
    """Column of each class's probability, in the order of the classes.

    Without a star, the pattern is the name of the one column of lists.

    >>> topics = Vocabulary(("math", "physics"))
    >>> known = ["id", "p_physics", "p_math"]
    >>> columns_of_classes("p_*", topics, known, besides=["id"], source="a.csv")
    ('p_math', 'p_physics')
    """
    if STAR not in pattern:
        return (pattern,)
    matches = starred(pattern, known, besides, argument)
    number_of = number_in(classes)
    column_of: dict[int, str] = {}
    for text, column in matches.items():
        number = number_of(text)
        if number < 0:
            raise PredictionsError(
                f"column {column!r} of {source} fits {argument}={pattern!r}, and {text!r} is "
                "not a class",
                details=f"classes: {some_of(classes.names)}",
                hint=near_class(text, classes),
            )
        if number in column_of:
            raise PredictionsError(
                f"columns {column_of[number]!r} and {column!r} of {source} are both of the class "
                f"{classes.names[number]!r}",
                details=f"{argument}={pattern!r} takes one column for each class",
            )
        column_of[number] = column
    missing = [name for name in classes.names if classes.numbers[name] not in column_of]
    if missing:
        wanted = pattern.replace(STAR, missing[0])
        raise PredictionsError(
            f"{source} has no column of {argument} for {len(missing):,} of {len(classes):,} "
            f"classes: {some_of(missing)}",
            details=f"columns that fit {argument}={pattern!r}: "
            f"{some_of(list(matches.values())) or 'none'}",
            hint=did_you_mean(wanted, [name for name in known if name not in matches.values()]),
        )
    return tuple(column_of[number] for number in range(len(classes)))


def take_classes(
    loaded: Loaded, roles: Roles, classes: Vocabulary, ids: Ids
) -> tuple[Floats, Ints]:
    """Score and predicted class of each item."""
    columns = loaded.columns
    score = np.zeros(len(ids)) if roles.score is None else read_scores(columns[roles.score], ids)
    predicted = None
    if roles.predicted is not None:
        predicted = read_classes(columns[roles.predicted], classes, ids)
    if predicted is None or roles.of_class:  # Roles ensures that one of the two is given
        each = [columns[name] for name in roles.of_class]
        score, predicted = _probable(each, roles, classes, ids, predicted)
    return roles.positive_scores(score, None), predicted


def _probable(
    columns: Sequence[Column], roles: Roles, classes: Vocabulary, ids: Ids, predicted: Ints | None
) -> tuple[Floats, Ints]:
    """Score and predicted class of each item, from the probabilities of all classes.

    Without predictions, the predicted class is the first with the largest probability. The score is
    the probability that the outcome of the targets holds: the sum over the most probable classes
    (for one, the predicted class) divided by the sum of all. It is not rescaled if the
    probabilities add up to 1 within rounding, or if any is negative. Columns are processed one at a
    time to limit memory.
    """
    best: Floats = np.full(len(ids), -np.inf)
    most: Ints = np.zeros(len(ids), dtype=np.int64) if predicted is None else predicted
    total, least = np.zeros(len(ids)), np.full(len(ids), np.inf)
    largest = [np.full(len(ids), -np.inf) for _ in range(roles.shared if roles.shared > 1 else 0)]
    for number, column in enumerate(_spread(columns, classes, ids)):
        probability = read_numbers(column, ids, "probability")
        refuse_rows(NO_PROBABILITY, ~np.isfinite(probability), column, ids, "probability")
        here = probability > best if predicted is None else predicted == number
        best[here] = probability[here]
        if predicted is None:
            most[here] = number
        if roles.shared:
            total += probability
            least = np.minimum(least, probability)
        for place, larger in enumerate(largest):
            largest[place] = np.maximum(larger, probability)
            probability = np.minimum(larger, probability)
    if roles.shared:
        whole, top = roles.whole, sum(largest) if largest else best
        summed = (least >= 0) & (total > 0)
        uneven = summed & (np.abs(total - whole) > UNEVEN * whole)
        share = np.divide(top, total, out=np.zeros(len(ids)), where=uneven) * whole
        best = np.where(summed, np.minimum(np.where(uneven, share, top), whole), best)
    return best + 0.0, most  # -0.0 becomes 0.0


def probabilities_at(
    columns: Sequence[Column], classes: Vocabulary, ids: Ids, rows: Ints
) -> Floats:
    """Probabilities of all classes for some rows, shape (n, K)."""
    some = [replace(column, data=column.data.take(row_numbers(rows))) for column in columns]
    theirs = ids.take(rows)
    each = [read_numbers(one, theirs, "probability") for one in _spread(some, classes, theirs)]
    return np.stack(each, axis=1)


def places_of(columns: Sequence[Column], classes: Vocabulary, ids: Ids, numbers: Ints) -> Ints:
    """Rank of each item's class by its probability, from 0.

    Items without a class rank last. Two passes, one column at a time.
    """
    own: Floats = np.full(len(ids), -np.inf)
    each = _spread(columns, classes, ids)
    for number, column in enumerate(each):
        here = numbers == number
        own[here] = read_numbers(column, ids, "probability")[here]
    places = np.zeros(len(ids), dtype=np.int64)
    for number, column in enumerate(each):
        probability = read_numbers(column, ids, "probability")
        places += (probability > own) | ((probability == own) & (number > numbers))
    return places


def summed_probabilities(loaded: Loaded, roles: Roles, predicted: Ints, ids: Ids) -> Floats | None:
    """Sum the probabilities of each class by predicted class, shape (K, K)."""
    if roles.classes is None or not roles.of_class:
        return None
    every = [loaded.columns[name] for name in roles.of_class]
    size = len(roles.classes)
    sums = np.zeros((size, size))
    for number, column in enumerate(_spread(every, roles.classes, ids)):
        probability = np.maximum(read_numbers(column, ids, "probability"), 0.0)
        sums[:, number] = np.bincount(predicted, probability, minlength=size)
    return sums


def _spread(columns: Sequence[Column], classes: Vocabulary, ids: Ids) -> Sequence[Column]:
    """Column for each class; a column of lists is split."""
    return columns if len(columns) > 1 else lists_spread(columns[0], classes, ids)


def no_lists(column: str, kind: object) -> PredictionsError:
    """Error: a column of probabilities has no lists."""
    return PredictionsError(
        f"the probabilities in {column} are of type {kind}",
        details="a column of lists has one number for each class",
        hint="where each class has a column of its own, put a star for its name: 'p_*'",
    )


def lists_spread(column: Column, classes: Vocabulary, ids: Ids) -> list[Column]:
    """Split a column of lists into a column for each class."""
    kind = column.data.type
    types = pa.types
    if not (types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)):
        raise no_lists(str(column), kind)
    lists: Any = column.data
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), -1))
    bad = lengths != len(classes)
    if bad.any():
        rows = first_few(bad)
        raise PredictionsError(
            f"{bad.sum():,} of {bad.size:,} lists in {column} do not have {len(classes):,} entries",
            details=examples(rows, id=ids.at(rows), entries=lengths[rows].tolist()),
            hint="each has one probability for every class, in the order of the classes: "
            f"{some_of(classes.names)}",
        )
    flat: Any = pa.chunked_array(pc.list_flatten(lists)).combine_chunks()
    size = len(classes)
    every = np.arange(len(ids)) * size
    return [
        Column(
            f"{column.name}[{place}]", column.source, pa.chunked_array([flat.take(every + place)])
        )
        for place in range(size)
    ]


def rows_of_lists(lists: Arrow, size: int) -> Floats:
    """Convert lists of `size` numbers to a two-dimensional array."""
    flat: Any = pa.chunked_array(pc.list_flatten(lists)).combine_chunks()
    return np.asarray(flat, dtype=np.float64).reshape(len(lists), size)


def numbered_words(words: Arrow, classes: Vocabulary, column: str, source: str) -> "pa.Table":
    """Table of words that are not blank, each with its class number: -1 for no class.

    A blank is missing, like NULL: it has no number.
    """
    if len(words) > MOST_WORDS:
        raise PredictionsError(
            f"column {column!r} of {source} has more than {MOST_WORDS:,} values: too many for "
            "classes",
            hint="is this the right column?",
        )
    number_of, values = number_in(classes), words.to_pylist()
    kept = [place for place, value in enumerate(values) if class_text(value)]
    numbers = pa.array([number_of(values[place]) for place in kept], pa.int32())
    return pa.table({"word": words.take(pa.array(kept, pa.int64())), "number": numbers})


def as_lists(values: ArrayLike) -> "pa.Array[Any]":
    """Rows of a two-dimensional array as lists.

    >>> as_lists(np.array([[0.5, 0.5], [1.0, 0.0]])).to_pylist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise PredictionsError(
            f"probabilities are an array of {array.dtype} of shape {array.shape}",
            details="they have a row for each item, and a column for each class",
        )
    lists: pa.Array[Any] = pa.FixedSizeListArray.from_arrays(
        pa.array(np.ascontiguousarray(array).ravel()), array.shape[1]
    )
    return lists
