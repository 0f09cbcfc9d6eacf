"""Classes of a campaign: those that are given, or that the predictions name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.core.targets import ALONE
from assay.core.vocabulary import MOST_CLASSES, Vocabulary
from assay.errors import DesignError, PredictionsError
from assay.lazy import later
from assay.predictions.class_values import (
    Occurring,
    class_text,
    columns_of_classes,
    near_class,
    number_in,
    refuse_missing_classes,
    some_of,
    sorted_texts,
    starred,
)
from assay.predictions.column import examples, first_few, refuse_missing_columns
from assay.predictions.columns import Classifiers, Given
from assay.predictions.contract import Predictions
from assay.predictions.databases.find import find_database
from assay.predictions.databases.rows import find_rows
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import open_relation
from assay.predictions.duckdb.values import distinct_in_duckdb
from assay.predictions.given_classes import read_given
from assay.predictions.judgements import about, as_mappings, load, take_ids
from assay.predictions.roles import NO_WORDS, STAR, YES_WORDS, Roles, refuse_no_column
from assay.predictions.scan import Scan, as_scan
from assay.predictions.values import distinct_values

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = later("narwhals")

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
    # with columns name, aliases (separated by |) and guideline as CSV or TSV. What is in the column
    # `predicted` must be one of them. When left out, they are the values of that column, or what
    # the star of `probabilities` stands for: sorted, numbers as numbers.
    classes: Given | None = None,
) -> Vocabulary:
    """Find the classes of predictions.

    >>> table = {"topic": ["math", "physics", "math"], "p_math": [0.9, 0.2, 0.6]}
    >>> find_classes(table, predicted="topic").names
    ('math', 'physics')
    >>> find_classes(table, predicted="topic", classes=["math", "fysics"])
    Traceback (most recent call last):
    assay.errors.PredictionsError: column 'topic' of dict has a value that is no class: 'physics'
    first, counting rows from 0: row 1; classes: math, fysics
    hint: did you mean 'fysics'?
    """
    scan = as_scan(source)
    known = None if classes is None else read_given(classes)
    if isinstance(scan.source, Predictions):
        return _of_predictions(scan.source, known)
    if known is None and probabilities is not None:
        found_in = f"the columns that fit {probabilities!r}"
        known = _vocabulary(_from_columns(scan, probabilities, predicted), found_in)
    if predicted is None:
        if known is None:
            raise PredictionsError(
                "neither predicted= nor probabilities= is given, to find the classes by",
                hint="name the column of predicted classes",
            )
        return known
    refuse_no_column("predicted", predicted)
    found = _distinct(scan, predicted, MOST_CLASSES)
    if known is not None:
        _refuse_unknown(found, known)
        return known
    return _vocabulary(sorted_texts(found.values), found.where)


def class_names(
    source: object, *, predicted: str | None = None, probabilities: str | None = None
) -> list[str]:
    """Return the names of classes that predictions have, sorted; there may be one, or more.

    >>> class_names({"topic": ["physics", "math", "math"]}, predicted="topic")
    ['math', 'physics']
    """
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return list(scan.source.classes)
    if probabilities is not None:
        return _from_columns(scan, probabilities, predicted)
    refuse_no_column("predicted", predicted)
    return sorted_texts(_distinct(scan, str(predicted), MOST_CLASSES).values)


def is_of_classes(source: object, predicted: str, limit: int = 3) -> list[str]:
    """Return the values of a column up to a limit, sorted: whether there are three is told by that.

    All rows are looked at only where the first of them have fewer values.

    >>> is_of_classes({"said": [1, 0, 1, None]}, "said")
    ['0', '1']
    """
    scan = as_scan(source)
    if isinstance(scan.source, Predictions):
        return list(scan.source.classes)[:limit]
    refuse_no_column("predicted", predicted)
    return sorted_texts(_distinct(scan, predicted, limit, complete=False).values)[:limit]


def are_classes(values: Sequence[str]) -> bool:
    """Tell whether values of a column are classes: three or more, and not yes, no and a slip.

    >>> are_classes(["0", "1", "2"]), are_classes(["a", "b"]), are_classes(["maybe", "no", "yes"])
    (True, False, False)
    """
    words = {value.casefold() for value in values}
    said = [words & {word for word in each if word.isalpha()} for each in (YES_WORDS, NO_WORDS)]
    return len(values) > 2 and not all(said)


# Classes beside what else predictions are read with.


def for_classes(
    scan: Scan,  # the predictions
    classifiers: Classifiers | None,
    classes: Vocabulary | None,
    own: Mapping[str, Any],  # what a single classifier is told by, where it has no name
    shared: Mapping[str, object],  # what predictions of several classes cannot be read with
) -> tuple[Classifiers | None, Vocabulary | None]:
    """Return the classifiers, and the classes that they say: None where these are yes and no."""
    pattern = own["probabilities"]
    every = {} if classifiers is None else as_mappings(classifiers)
    patterns = [told.get("probabilities") for told in every.values() if isinstance(told, Mapping)]
    if classes is None and pattern is not None:
        classes = find_classes(scan, predicted=own["predicted"], probabilities=pattern)
    elif classes is not None and classes.is_yes_or_no and not any([pattern, *patterns]):
        classes = None  # these are written in many ways
    if classes is None:
        return classifiers, None
    refuse_beside_classes(shared)
    if classifiers is None:
        return {ALONE: own}, classes
    if pattern is not None and len(every) != 1:
        raise PredictionsError(
            f"probabilities={pattern!r} is given beside {len(every)} classifiers",
            hint="say whose they are: classifiers={'cnn': {'probabilities': 'cnn_*'}, ...}",
        )
    if pattern is not None:
        every = {name: {**told, "probabilities": pattern} for name, told in every.items()}
    return every, classes


def refuse_beside_classes(given: Mapping[str, object]) -> None:
    """Raise for what predictions of several classes cannot be read with.

    >>> refuse_beside_classes({"aux": (), "sample_weight": "views"})
    Traceback (most recent call last):
    assay.errors.PredictionsError: sample_weight='views' is given for predictions of several classes
    it goes with predictions of yes and no
    hint: leave it out
    """
    for argument, value in given.items():
        if value:
            raise PredictionsError(
                f"{argument}={value!r} is given for predictions of several classes",
                details="it goes with predictions of yes and no",
                hint="leave it out",
            )


def with_class_columns(
    scan: Scan, roles: Mapping[str, Roles], classes: Vocabulary, besides: Sequence[str | None]
) -> dict[str, Roles]:
    """Return what each classifier is told by, with the columns of probabilities that it has.

    `roles`: of each classifier; `besides`: columns that are something else, though a pattern fits.
    """
    if len(classes) ** len(roles) > _MOST_CODES:
        raise PredictionsError(
            f"{len(roles)} classifiers of {len(classes):,} classes are too many for one campaign",
            details="what they say together must fit in 62 bits",
            hint="make a campaign for each classifier",
        )
    patterns = [role.probabilities or "" for role in roles.values()]
    known = column_names(scan) if any(STAR in pattern for pattern in patterns) else []
    source = scan.path or type(scan.source).__name__
    found = {}
    for name, role in roles.items():
        found[name] = role
        if role.probabilities is not None:
            with about(name):
                others = [*besides, role.predicted]
                columns = columns_of_classes(
                    role.probabilities, classes, known, besides=others, source=source
                )
            found[name] = replace(role, of_class=columns)
    return found


# Classes that the predictions name.


def column_names(source: object) -> list[str]:
    """Return the columns that predictions have.

    >>> column_names({"id": [1], "p": [0.5]})
    ['id', 'p']
    """
    scan = as_scan(source)
    held: Any = scan.source
    if scan.is_of_spark:
        from assay.predictions.spark.source import open_rows

        return list(open_rows(scan).frame.columns)
    database = None if scan.path is None else find_database(scan.path)
    if database is not None:
        return list(find_rows(database, table=scan.table, where=None, wanted=()).types)
    if scan.path is not None:
        return list(open_relation(scan, [], staged=False).types)
    if isinstance(held, Mapping):
        return [str(name) for name in held]
    try:
        return list(nw.from_native(held).collect_schema().names())
    except TypeError:
        load(scan, [], [], None)  # says what predictions are read from
        raise


def _of_predictions(held: Predictions, known: Vocabulary | None) -> Vocabulary:
    if known is not None and known.names != held.classes:
        raise PredictionsError(
            f"{held.source} has the classes {some_of(held.classes)}",
            details=f"given are {some_of(known.names)}",
            hint="give the classes when the predictions are read",
        )
    return Vocabulary(held.classes) if known is None else known


def _from_columns(scan: Scan, pattern: str, predicted: str | None) -> list[str]:
    """Return the classes that columns of probabilities are named after."""
    refuse_no_column("probabilities", pattern)
    if STAR not in pattern:
        return list(map(str, range(length_of_lists(scan, pattern))))
    known = column_names(scan)
    found = sorted_texts(list(starred(pattern, known, [predicted])))
    if not found:
        raise PredictionsError(
            f"no column fits probabilities={pattern!r}",
            details=f"columns: {', '.join(known)}",
            hint="the star stands for the name of a class",
        )
    return found


def length_of_lists(scan: Scan, column: str) -> int:
    """Return how many entries the first list in a column has; raise where it is no list."""
    if scan.is_of_spark:
        from assay.predictions.spark.source import column_name, open_rows

        rows = open_rows(scan)
        refuse_missing_columns([column], rows.frame.columns, rows.source)
        some = rows.frame.selectExpr(f"size({column_name(column)}) AS entries").limit(1)
        first = rows.fetch(some)["entries"].to_pylist()[0]
    elif scan.path is not None:
        relation = open_relation(scan, [column], staged=False)
        listed = relation.types[column].endswith("]") or relation.types[column] == "JSON"
        entries = f"len(TRY_CAST({identifier(column)} AS DOUBLE[]))" if listed else "0"
        with reading(relation.label):
            one = f"FROM {relation.sql} SELECT {entries} LIMIT 1"
            ((first,),) = relation.connection.execute(one).fetchall()
    else:
        value = load(scan, [column], (), None, [column]).columns[column].data[0].as_py()
        first = len(value) if isinstance(value, list) else 0
    if not isinstance(first, int) or first < 2:
        raise PredictionsError(
            f"the first value of column {column!r} is no list of probabilities",
            details="a column of lists has one number for each class, at least two",
            hint="where each class has a column of its own, put a star for its name: 'p_*'",
        )
    return first


def _distinct(scan: Scan, column: str, limit: int, *, complete: bool = True) -> Occurring:
    """Return the values of a column, two more than the limit at most."""
    if scan.is_of_spark:
        from assay.predictions.spark.values import distinct_in_spark

        return distinct_in_spark(scan, column, limit, complete=complete)
    if scan.path is not None:
        relation = open_relation(scan, [column], staged=False)
        return distinct_in_duckdb(relation, column, limit, complete=complete)
    loaded = load(scan, [column], (), None)
    held = loaded.columns[column]
    values, place = distinct_values(held)
    if complete:
        refuse_missing_classes(held, values, place, take_ids(loaded, None))

    def rows(value: object) -> str:
        return examples(first_few(place == values.index(value)))

    return Occurring(values, str(held), rows)


def _vocabulary(names: Sequence[str], where: str) -> Vocabulary:
    """Return classes that were found, or say why they cannot be."""
    if len(names) > MOST_CLASSES:
        raise PredictionsError(
            f"{where} has more than {MOST_CLASSES:,} values: too many for classes",
            details=f"such as {some_of(names)}",
            hint="is another column meant?",
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
            hint="mend the column, or give the classes, with aliases: classes={...}",
        ) from error


def _refuse_unknown(found: Occurring, known: Vocabulary) -> None:
    number_of = number_in(known)
    unknown = sorted((value for value in found.values if number_of(value) < 0), key=class_text)
    if unknown:
        how_many = "a value that is" if len(unknown) == 1 else f"{len(unknown):,} values that are"
        told = [found.rows(unknown[0]), f"classes: {some_of(known.names)}"]
        raise PredictionsError(
            f"{found.where} has {how_many} no class: {', '.join(map(repr, unknown[:3]))}",
            details="; ".join(text for text in told if text),
            hint=near_class(unknown[0], known),
        )
