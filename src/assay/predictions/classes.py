"""Classes of a campaign: given, or found in the predictions."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core.types import read_json
from assay.core.vocabulary import MOST_CLASSES, Vocabulary
from assay.errors import DesignError, InputError, PredictionsError, did_you_mean
from assay.lazy import later
from assay.predictions.class_values import (
    Occurring,
    class_text,
    columns_of_classes,
    no_such_class,
    number_in,
    refuse_missing_classes,
    some_of,
    sorted_texts,
    starred,
)
from assay.predictions.duckdb.loading import DuckColumns, load
from assay.predictions.faults import examples, first_few, refuse_missing_columns
from assay.predictions.layout import as_mappings, by_name
from assay.predictions.memory import take_ids
from assay.predictions.predictions import Predictions
from assay.predictions.roles import (
    NO_WORDS,
    STAR,
    YES_WORDS,
    Classifiers,
    Given,
    Roles,
    about,
    refuse_no_column,
)
from assay.predictions.scan import Scan, as_scan
from assay.predictions.values import distinct_values

if TYPE_CHECKING:
    import narwhals as nw

    from assay.predictions.spark.source import SparkColumns
else:
    nw = later("narwhals")

# Classes given as names, as names with guidelines and aliases, or as a file.


_OPTIONS = ("aliases", "guideline")


def read_given(given: Given) -> Vocabulary:
    """Classes from an argument.

    >>> topics = read_given({"math": "proofs", "physics": {"aliases": ["phys"]}})
    >>> topics.names, dict(topics.aliases), dict(topics.guidelines)
    (('math', 'physics'), {'phys': 'physics'}, {'math': 'proofs'})
    """
    if isinstance(given, Vocabulary):
        return given
    if isinstance(given, str | os.PathLike):
        return _from_file(Path(given))
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        raise InputError(
            f"classes are of type {type(given).__name__}",
            details="expected a list of names, a mapping of names to guidelines, or a path",
        )
    return Vocabulary(tuple(map(class_text, given)))


def _from_mapping(given: Mapping[Any, object]) -> Vocabulary:
    names, aliases, guidelines = [], dict[str, str](), dict[str, str]()
    for key, value in given.items():
        name = class_text(key)
        names.append(name)
        options = {"guideline": value} if isinstance(value, str | None) else value
        if not isinstance(options, Mapping):
            raise InputError(
                f"class {name!r} has the description {options!r}, of type {type(options).__name__}",
                details=f"expected a guideline, or a mapping of some of {', '.join(_OPTIONS)}",
            )
        for option in options:
            if option not in _OPTIONS:
                raise InputError(
                    f"class {name!r} has an unknown option {option!r}",
                    details=f"options: {', '.join(_OPTIONS)}",
                    hint=did_you_mean(str(option), _OPTIONS),
                )
        others = options.get("aliases") or ()
        for alias in others.split("|") if isinstance(others, str) else others:
            word = class_text(alias)
            if aliases.setdefault(word, name) != name:
                raise InputError(
                    f"{word!r} is an alias of {aliases[word]!r} and of {name!r}",
                    details="a word stands for one class",
                )
        if guideline := str(options.get("guideline") or "").strip():
            guidelines[name] = guideline
    return Vocabulary(tuple(names), aliases, guidelines)


def _from_file(path: Path) -> Vocabulary:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the classes cannot be read from {path}",
            details=str(error),
            hint="give a file of JSON, CSV or TSV; or the names in a list",
        ) from error
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        return _from_lines(text, "\t" if ending == ".tsv" else ",", path)
    try:
        content = read_json(text)
    except ValueError as error:
        raise InputError(
            f"{path} is not JSON",
            details=str(error),
            hint="a list of names, or an object of names with guidelines; tables end in .csv",
        ) from error
    if not isinstance(content, list | dict):
        raise InputError(f"{path} holds neither a list of names nor an object of them")
    return read_given(content)


def _from_lines(text: str, separator: str, path: Path) -> Vocabulary:
    rows = csv.DictReader(text.splitlines(), delimiter=separator)
    refuse_missing_columns(["name"], list(rows.fieldnames or ()), str(path))
    classes: dict[str, dict[str, str]] = {}
    for row in rows:
        name = class_text(row["name"])
        if name in classes:
            raise InputError(
                f"class {name!r} is in {path} twice", details=f"line {rows.line_num} repeats it"
            )
        classes[name] = {option: row.get(option) or "" for option in _OPTIONS}
    return _from_mapping(classes)


_MOST_CODES = 2**62


def find_classes(
    source: object,
    *,
    predicted: str | None = None,  # the column of predicted classes
    # The columns of every class's probability, with a star for its name: ``p_*``. Without a star, a
    # column of lists.
    probabilities: str | None = None,
    # The classes, in the order of their numbers: names; or a mapping of each name to a guideline,
    # or to a mapping with ``aliases`` and ``guideline``; or a file with one of these as JSON, or
    # with columns name, aliases (separated by |) and guideline as CSV or TSV. Every value of the
    # column `predicted` must be one of them. Default: the values of that column, or the texts for
    # which the star of `probabilities` stands: sorted, numbers as numbers.
    classes: Given | None = None,
) -> Vocabulary:
    """Find the classes of predictions.

    >>> table = {"topic": ["math", "physics", "math"], "p_math": [0.9, 0.2, 0.6]}
    >>> find_classes(table, predicted="topic").names
    ('math', 'physics')
    >>> find_classes(table, predicted="topic", classes=["math", "fysics"])
    Traceback (most recent call last):
    assay.errors.PredictionsError: column 'topic' of dict has a value that is not a class: 'physics'
    first, counting rows from 0: row 1; classes: math, fysics
    hint: did you mean 'fysics'?
    """
    scan = as_scan(source)
    known = None if classes is None else read_given(classes)
    if isinstance(scan.source, Predictions):
        return _of_predictions(scan.source, known)
    if known is None and probabilities is not None:
        origin = f"the columns that fit {probabilities!r}"
        known = _vocabulary(_from_columns(scan, probabilities, predicted), origin)
    if predicted is None:
        if known is None:
            raise PredictionsError(
                "neither predicted= nor probabilities= is given: the classes are unknown",
                hint="name the column of predicted classes",
            )
        return known
    refuse_no_column("predicted", predicted)
    occurring = _columns_of(scan).distinct(predicted, MOST_CLASSES, complete=True)
    if known is not None:
        _refuse_unknown(occurring, known)
        return known
    return _vocabulary(sorted_texts(occurring.values), occurring.where)


def class_names(
    source: object, *, predicted: str | None = None, probabilities: str | None = None
) -> list[str]:
    """Sorted names of the classes in predictions; there may be only one."""
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return list(scan.source.classes)
    if probabilities is not None:
        return _from_columns(scan, probabilities, predicted)
    refuse_no_column("predicted", predicted)
    return sorted_texts(
        _columns_of(scan).distinct(str(predicted), MOST_CLASSES, complete=True).values
    )


def is_of_classes(source: object, predicted: str, limit: int = 3) -> list[str]:
    """Values of a column, sorted, up to a limit: enough to see whether there are three.

    Reads all rows only if the first ones have fewer values.

    >>> is_of_classes({"topic": [1, 0, 1, None]}, "topic")
    ['0', '1']
    """
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return list(scan.source.classes)[:limit]
    refuse_no_column("predicted", predicted)
    return sorted_texts(_columns_of(scan).distinct(predicted, limit, complete=False).values)[:limit]


def are_classes(values: Sequence[str]) -> bool:
    """Whether values of a column are classes: three or more, and not yes and no with a typo.

    >>> are_classes(["0", "1", "2"]), are_classes(["a", "b"]), are_classes(["maybe", "no", "yes"])
    (True, False, False)
    """
    words = {value.casefold() for value in values}
    leftover = [words & {word for word in each if word.isalpha()} for each in (YES_WORDS, NO_WORDS)]
    return len(values) > 2 and not all(leftover)


# Classes and the other arguments of predictions.


def for_classes(
    scan: Scan,  # the predictions
    classifiers: Classifiers | None,
    classes: Vocabulary | None,
    own: Mapping[str, Any],  # columns of a single classifier without a name
    shared: Mapping[str, object],  # arguments that predictions of several classes do not support
) -> tuple[Classifiers | None, Vocabulary | None]:
    """Classifiers and their classes; the classes are None for yes and no."""
    pattern = own["probabilities"]
    every = {} if classifiers is None else as_mappings(classifiers)
    patterns = [one.get("probabilities") for one in every.values() if isinstance(one, Mapping)]
    if classes is None and pattern is not None:
        classes = find_classes(scan, predicted=own["predicted"], probabilities=pattern)
    elif classes is not None and classes.is_yes_or_no and not any([pattern, *patterns]):
        classes = None  # these have many spellings
    if classes is None:
        return classifiers, None
    refuse_beside_classes(shared)
    if classifiers is None:
        return by_name(None, own), classes
    if pattern is not None and len(every) != 1:
        raise PredictionsError(
            f"probabilities={pattern!r} cannot be combined with {len(every)} classifiers",
            hint="name the classifier: classifiers={'cnn': {'probabilities': 'cnn_*'}, ...}",
        )
    if pattern is not None:
        every = {name: {**one, "probabilities": pattern} for name, one in every.items()}
    return every, classes


def refuse_beside_classes(given: Mapping[str, object]) -> None:
    """Raise for arguments that predictions of several classes do not support.

    >>> refuse_beside_classes({"aux": (), "sample_weight": "views"})
    Traceback (most recent call last):
    assay.errors.PredictionsError: sample_weight='views' is given for predictions of several classes
    it applies to predictions of yes and no
    hint: leave it out
    """
    for argument, value in given.items():
        if value:
            raise PredictionsError(
                f"{argument}={value!r} is given for predictions of several classes",
                details="it applies to predictions of yes and no",
                hint="leave it out",
            )


def with_class_columns(
    scan: Scan, roles: Mapping[str, Roles], classes: Vocabulary, besides: Sequence[str | None]
) -> dict[str, Roles]:
    """Roles of each classifier, with its columns of probabilities.

    `besides`: columns that have another role, even if they match a pattern.
    """
    if len(classes) ** len(roles) > _MOST_CODES:
        raise PredictionsError(
            f"{len(roles)} classifiers of {len(classes):,} classes are too many for one campaign",
            details="what they say together must fit in 62 bits",
            hint="create a campaign for each classifier",
        )
    patterns = [role.probabilities or "" for role in roles.values()]
    known = column_names(scan) if any(STAR in pattern for pattern in patterns) else []
    source = scan.path or type(scan.source).__name__
    roles_of = {}
    for name, role in roles.items():
        roles_of[name] = role
        if role.probabilities is not None:
            with about(name):
                others = [*besides, role.predicted]
                columns = columns_of_classes(
                    role.probabilities, classes, known, besides=others, source=source
                )
            roles_of[name] = replace(role, of_class=columns)
    return roles_of


# Classes found in the predictions.


def column_names(source: object) -> list[str]:
    """Column names of predictions."""
    return _columns_of(as_scan(source)).names()


@dataclass(frozen=True)
class _TableColumns:
    """Columns of a table in memory."""

    scan: Scan

    def names(self) -> list[str]:
        """Names of all columns."""
        source: Any = self.scan.source
        if isinstance(source, Mapping):
            return [str(name) for name in source]
        try:
            return list(nw.from_native(source).collect_schema().names())
        except TypeError:
            load(self.scan, [], [], None)  # raises, with the supported sources
            raise

    def entries(self, column: str) -> object:
        """Length of the first list in a column; 0 if it is not a list."""
        value = load(self.scan, [column], (), None, [column]).columns[column].data[0].as_py()
        return len(value) if isinstance(value, list) else 0

    def distinct(self, column: str, limit: int, *, complete: bool) -> Occurring:
        """All distinct values of a column."""
        del limit
        loaded = load(self.scan, [column], (), None)
        values_of = loaded.columns[column]
        values, place = distinct_values(values_of)
        if complete:
            refuse_missing_classes(values_of, values, place, take_ids(loaded, None))

        def rows(value: object) -> str:
            return examples(first_few(place == values.index(value)))

        return Occurring(values, str(values_of), rows)


def _columns_of(scan: Scan) -> "SparkColumns | DuckColumns | _TableColumns":
    """Columns of predictions, looked at before these are read."""
    if scan.is_of_spark:
        from assay.predictions.spark import source

        return source.SparkColumns(scan)
    return _TableColumns(scan) if scan.path is None else DuckColumns(scan)


def _of_predictions(predictions: Predictions, known: Vocabulary | None) -> Vocabulary:
    if known is not None and known.names != predictions.classes:
        raise PredictionsError(
            f"{predictions.source} has the classes {some_of(predictions.classes)}",
            details=f"given are {some_of(known.names)}",
            hint="give the classes when the predictions are read",
        )
    return predictions.vocabulary if known is None else known


def _from_columns(scan: Scan, pattern: str, predicted: str | None) -> list[str]:
    """Class names in the columns of probabilities."""
    refuse_no_column("probabilities", pattern)
    if STAR not in pattern:
        return list(map(str, range(length_of_lists(scan, pattern))))
    return names_by_pattern(scan, pattern, predicted, "probabilities")


def names_by_pattern(scan: Scan, pattern: str, besides: str | None, argument: str) -> list[str]:
    """Class names for which the star of a pattern stands; `besides`: a column of another role."""
    known = column_names(scan)
    names = sorted_texts(list(starred(pattern, known, [besides], argument)))
    if not names:
        raise PredictionsError(
            f"no column fits {argument}={pattern!r}",
            details=f"columns: {', '.join(known)}",
            hint="the star stands for the name of a class",
        )
    return names


def length_of_lists(scan: Scan, column: str) -> int:
    """Length of the first list in a column; raise if it is not a list."""
    first = _columns_of(scan).entries(column)
    if not isinstance(first, int) or first < 2:
        raise PredictionsError(
            f"the first value of column {column!r} is not a list of probabilities",
            details="a column of lists has one number for each class, at least two",
            hint="where each class has a column of its own, put a star for its name: 'p_*'",
        )
    return first


def _vocabulary(names: Sequence[str], where: str) -> Vocabulary:
    """Vocabulary of the classes found; raise if they cannot be classes."""
    if len(names) > MOST_CLASSES:
        raise PredictionsError(
            f"{where} has more than {MOST_CLASSES:,} values: too many for classes",
            details=f"such as {some_of(names)}",
            hint="is this the right column?",
        )
    if len(names) < 2:
        raise PredictionsError(
            f"{where} names one class only: {names[0]!r}",
            details="there are at least two",
            hint="give all classes: classes=['...', '...']",
        )
    try:
        return Vocabulary(tuple(names))
    except DesignError as error:
        raise PredictionsError(
            f"{where} names no classes: {error.problem}",
            details=error.details,
            hint="fix the column, or give the classes, with aliases: classes={...}",
        ) from error


def _refuse_unknown(occurring: Occurring, known: Vocabulary) -> None:
    number_of = number_in(known)
    unknown = sorted((value for value in occurring.values if number_of(value) < 0), key=class_text)
    if unknown:
        some = occurring.rows(unknown[0])
        raise no_such_class(occurring.where, unknown, known, f"{some}; " if some else "")
