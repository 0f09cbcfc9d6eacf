"""Values of a column: scores, weights, predicted labels, and slices of the items."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.core.types import Bools, Floats, Ints
from assay.errors import PredictionsError, did_you_mean
from assay.lazy import later
from assay.predictions.column import Arrow, Column, Ids, Loaded, is_plain, is_text, to_numpy
from assay.predictions.doubts import Outside
from assay.predictions.faults import (
    BAD_WEIGHT,
    CONTRADICTION,
    MANY,
    NEGATIVE_WEIGHT,
    NO_LABEL,
    NO_NUMBER,
    NO_SCORE,
    Fault,
    examples,
    first_few,
    no_label,
    no_numbers,
    no_positive,
    not_numbers,
    unclear_labels,
)
from assay.predictions.roles import NO_WORDS, YES_WORDS, Roles, which_means_yes

if TYPE_CHECKING:
    import pyarrow.compute as pc
else:
    pc = later("pyarrow.compute")


def read_scores(column: Column, ids: Ids) -> Floats:
    """Scores from a column; -0.0 becomes 0.0.

    >>> data = pa.chunked_array([["0.25", " 1e-3"]])
    >>> read_scores(Column("p", "a.csv", data, untyped=True), Ids(np.arange(2)))
    array([0.25 , 0.001])
    """
    scores = read_numbers(column, ids, "score")
    refuse_rows(NO_SCORE, ~np.isfinite(scores), column, ids, "score")
    # Only if there may be a zero to change, because it makes a copy.
    return scores + 0.0 if scores.min() <= 0.0 <= scores.max() else scores


def refuse_rows(
    fault: Fault, bad: Bools, column: Column, ids: Ids, what: str = "", **more: object
) -> None:
    """Raise if rows have a fault; `what` names their values of the column, to be shown."""
    if bad.any():
        rows = first_few(bad)
        facts = {what: column.at(rows)} if what else {}
        some = examples(rows, id=ids.at(rows), **facts)
        hint = not_numbers(facts[what][0], what) if fault is NO_NUMBER else ""
        raise fault.error(
            bad.sum(), bad.size, some, hint, column=column, many=MANY.get(what), **more
        )


def read_numbers(column: Column, ids: Ids, what: str) -> Floats:
    """Numbers from a column, called `what` in errors; missing ones become NaN.

    Narrower numbers are widened, which is exact. Decimals are converted through their digits, so
    that each becomes the nearest float64 in any container.
    """
    data = column.data
    kind = data.type
    if pa.types.is_decimal(kind):
        data = data.cast(pa.string()).cast(pa.float64())
    elif is_text(kind) and column.untyped:
        data = _parse(column, ids, what)
    elif not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise no_numbers(what, column, kind)
    if data.null_count or not is_plain(data.type):
        data = data.cast(pa.float64(), safe=False)
    return to_numpy(data).astype(np.float64, copy=False)


def _parse(column: Column, ids: Ids, what: str) -> Arrow:
    """Parse numbers in text."""
    texts = pc.utf8_trim_whitespace(column.data)
    try:
        return texts.cast(pa.float64())
    except pa.ArrowInvalid:
        # Arrow stops at the first text that it cannot parse, such as +0.5; parse all in Python.
        numbers = [None if text is None else _number(text) for text in texts.to_pylist()]
    bad = np.array([number is None for number in numbers]) & ~column.missing()
    refuse_rows(NO_NUMBER, bad, column, ids, what)
    return pa.chunked_array([pa.array(numbers, pa.float64())])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def rows_in_memory(loaded: Loaded, roles: Roles, score: Floats, ids: Ids) -> Outside:
    """Make a function that finds the rows whose score is outside of a range."""

    def outside(low: float, high: float) -> tuple[int, str]:
        bad = (score < low) | (score > high)
        rows = first_few(bad)
        column = loaded.columns[str(roles.score)]
        return int(bad.sum()), examples(rows, id=ids.at(rows), score=column.at(rows))

    return outside


# Weights of items: finite numbers that are not negative.


def read_weights(column: Column, ids: Ids) -> Floats:
    """Weights of items from a column.

    >>> import pyarrow as pa
    >>> data = pa.chunked_array([[3, 0, 12]])
    >>> read_weights(Column("views", "a table", data), Ids(np.arange(3)))
    array([ 3.,  0., 12.])
    """
    weights = read_numbers(column, ids, "weight")
    refuse_rows(BAD_WEIGHT, ~np.isfinite(weights), column, ids, "weight")
    refuse_rows(NEGATIVE_WEIGHT, weights < 0, column, ids, "weight")
    with np.errstate(over="ignore"):
        refuse_bad_total(float(weights.sum()), str(column))
    return weights


def refuse_bad_total(total: float, column: str) -> None:
    """Raise if weights are all 0, or if their sum overflows.

    >>> refuse_bad_total(0.0, "column 'views' of a table")
    Traceback (most recent call last):
    assay.errors.PredictionsError: the weights in column 'views' of a table sum to 0
    ...
    """
    if not 0 < total < np.inf:
        raise PredictionsError(
            f"the weights in {column} sum to {total:g}",
            details="an item counts as much as its weight: at least one must be above 0"
            if total == 0
            else "together they are more than float64 can hold",
            hint="is this the right column? Leave out sample_weight to count every item once"
            if total == 0
            else "divide them all by the same number: only their proportions matter",
        )


# Predicted labels: yes or no.


_WRITTEN = {**dict.fromkeys(YES_WORDS, True), **dict.fromkeys(NO_WORDS, False)}
_ZERO_OR_ONE: dict[object, bool] = {0: False, 1: True}
_SCALARS = (str, bytes, bool, int, float, date)

# Meaning of a value of the column; None if it is unclear.
Meaning = Callable[[object], bool | None]


def read_predicted(column: Column, positive: object, ids: Ids) -> Bools:
    """Predicted labels from a column.

    Without `positive`, the value that means yes, it contains true and false, 0 and 1, or words for
    these: yes and no, y and n, t and f, in any case.

    >>> predicted = Column("topic", "a table", pa.chunked_array([["ham", "spam"]]))
    >>> read_predicted(predicted, "spam", Ids(np.arange(2)))
    array([False,  True])
    """
    if column.data.null_count:
        refuse_rows(NO_LABEL, column.missing(), column, ids)
    if positive is None and pa.types.is_boolean(column.data.type):
        says_yes: Bools = to_numpy(column.data)
        return says_yes
    values, place = distinct_values(column)
    means = _meaning(column, positive)
    says = [means(value) for value in values]
    unknown = [value for value, predicted in zip(values, says, strict=True) if predicted is None]
    if unknown:
        sure = [value for value, predicted in zip(values, says, strict=True) if predicted]
        got = f"got {_listed(unknown)}, of type {column.data.type}"
        raise unclear_labels(column, got, which_means_yes(sure, unknown))
    if positive is not None and not any(says):
        near = did_you_mean(str(positive), [text for text in values if isinstance(text, str)])
        got = f"got {_listed(values)}, of type {column.data.type}"
        raise no_positive(positive, column, got, near)
    return np.array(says, dtype=np.bool_)[place]


def refuse_contradictions(
    scores: Floats, predicted: Bools, roles: Roles, column: Column, ids: Ids
) -> None:
    """Raise if the score and the predicted label of a row contradict each other.

    A score equal to the threshold is valid for either label.
    """
    limit = roles.limit
    if limit is None:
        return
    bad = np.where(predicted, scores < limit, scores > limit)
    if bad.any():
        rows = first_few(bad)
        facts = {"score": scores[rows].tolist(), "predicted": predicted[rows].tolist()}
        some, threshold = examples(rows, id=ids.at(rows), **facts), roles.threshold
        raise CONTRADICTION.error(bad.sum(), bad.size, some, column=column, threshold=threshold)


def _meaning(column: Column, positive: object) -> Meaning:
    """Make a function from a value of the column to its meaning."""
    if positive is None:
        if column.untyped or is_text(column.data.type):
            return lambda value: _WRITTEN.get(str(value).strip().lower())
        return _ZERO_OR_ONE.get
    scalar = positive.item() if isinstance(positive, np.generic) else positive
    if not isinstance(scalar, _SCALARS):
        raise no_label(positive)
    if column.untyped:
        if isinstance(scalar, bool):
            return lambda value: str(value).strip().lower() == str(scalar).lower()
        return lambda value: value == str(scalar)
    # Text also matches a value that is written the same: the command line has only text.
    written = scalar if isinstance(scalar, str) else None
    return lambda value: value == scalar or str(value) == written


def distinct_values(column: Column) -> tuple[list[object], Ints]:
    """Distinct values of the column, and for each row the position of its value.

    They include None if values are missing.
    """
    try:
        encoded = pa.concat_arrays(column.data.chunks).dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError as error:
        raise PredictionsError(
            f"the predicted labels in {column} are of type {column.data.type}",
            details="they must be true and false, or 0 and 1, or what positive= is one of",
        ) from error
    return encoded.dictionary.to_pylist(), to_numpy(encoded.indices)


def _listed(values: list[object]) -> str:
    texts = ", ".join(repr(value) for value in values[:5])
    return f"{texts} and {len(values) - 5:,} more" if len(values) > 5 else texts


# Groups of items by the values of a column: for example all items in German.


MISSING = "(missing)"
"""Value of items that have none."""

_MOST = 20  # targets of one column: each takes labels of its own


def slice_columns(written: Sequence[str]) -> list[str]:
    """Columns that define slices.

    >>> slice_columns(["lang=de", "lang=en", "site"])
    ['lang', 'site']
    """
    return list(dict.fromkeys(text.partition("=")[0].strip() for text in written))


def slice_text(value: object) -> str:
    """Value of a slice as written in its name.

    >>> [slice_text(value) for value in ("de", 7, True, None)]
    ['de', '7', 'true', '(missing)']
    """
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else str(value)


def read_slices(loaded: Loaded, written: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Names of the slices, and for each item the bits of those that contain it.

    ``lang=de`` is the items with that value, ``lang`` one slice for each value that occurs.

    >>> from assay.predictions.duckdb.loading import load
    >>> read_slices(load({"lang": ["de", "en", "de"]}, ["lang"], (), None), ["lang"])
    (('lang=de', 'lang=en'), array([1, 2, 1]))
    """
    slices = {name: _slice_values(loaded.columns[name]) for name in slice_columns(written)}
    names, of_value = slice_bits(written, lambda name: slices[name][0], loaded.source)
    bits = np.zeros(len(next(iter(loaded.columns.values())).data), dtype=np.int64)
    for name, (values, place) in slices.items():
        bits |= np.array([of_value[name].get(value, 0) for value in values])[place]
    return names, bits


def slice_bits(
    written: Sequence[str], values_of: Callable[[str], Sequence[str]], source: str
) -> tuple[tuple[str, ...], dict[str, dict[str, int]]]:
    """Names of the slices, and for each column the bits of each of its values.

    `values_of`: returns the distinct texts of a column, ordered as by `by_frequency`.

    >>> slice_bits(["lang=en", "lang"], lambda _: ["de", "en"], "a table")
    (('lang=en', 'lang=de'), {'lang': {'en': 1, 'de': 2}})
    """
    names, bits = dict[str, None](), dict[str, dict[str, int]]()
    for text in written:
        name, equals, value = (part.strip() for part in text.partition("="))
        values = values_of(name)
        wanted = [value] if equals else values
        _refuse_unknown_slices(name, wanted, values, source)
        of_value = bits.setdefault(name, {})
        for each in wanted:
            if (whole := f"{name}={each}") not in names:
                of_value[each] = 1 << len(names)
                names[whole] = None
    return tuple(names), bits


def by_frequency(texts: Sequence[str], counts: Ints) -> tuple[list[str], Ints]:
    """Distinct texts, the most frequent first, and the position of each given text.

    >>> by_frequency(["de", "en", "de"], np.array([1, 3, 1]))
    (['en', 'de'], array([1, 0, 1]))
    """
    values, place = np.unique(texts, return_inverse=True)
    total = np.zeros(values.size, dtype=np.int64)
    np.add.at(total, place, counts)
    order = np.argsort(-total, kind="stable")
    return values[order].tolist(), np.argsort(order)[place]


def _slice_values(column: Column) -> tuple[list[str], Ints]:
    """Distinct texts, most frequent first, and for each row the position of its text."""
    try:
        encoded = pa.concat_arrays(column.data.chunks).dictionary_encode(null_encoding="encode")
    except pa.ArrowNotImplementedError as error:
        raise PredictionsError(
            f"{column} is of type {column.data.type}, and has no values to slice by"
        ) from error
    texts = [slice_text(value) for value in encoded.dictionary.to_pylist()]
    rows = to_numpy(encoded.indices)
    values, place = by_frequency(texts, np.bincount(rows, minlength=len(texts)))
    return values, place[rows]


def _refuse_unknown_slices(
    column: str, wanted: Sequence[str], values: Sequence[str], source: str
) -> None:
    some = ", ".join(values[:_MOST]) + (", ..." if len(values) > _MOST else "")
    if len(wanted) > _MOST:
        raise PredictionsError(
            f"column {column!r} of {source} has {len(values):,} values, and each would be a target",
            details=f"values: {some}; at most {_MOST}",
            hint=f"name those that matter: METRIC[{column}={values[0]}]; slices={[column]!r} tells "
            "all of them from the same labels",
        )
    for value in wanted:
        if value not in values:
            raise PredictionsError(
                f"no item of {source} has {column}={value}",
                details=f"values: {some}",
                hint=did_you_mean(value, list(values)),
            )
        if set(value) & set("[]"):
            raise PredictionsError(
                f"{column}={value} cannot be named in a metric: it has brackets",
                hint=f"slices={[column]!r} shows the metric of every value from the same labels",
            )
