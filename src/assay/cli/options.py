"""Options that commands share: columns, classifiers, scans, storage."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from assay.cli.output import progress_bar, say_note
from assay.core.metrics import METRICS
from assay.core.targets import refuse_bad_names
from assay.errors import InputError, StorageError
from assay.predictions import (
    ENGINES,
    SCORE_SCALES,
    SCORES_OF,
    STAR,
    Engine,
    Scan,
)
from assay.results import printable

if TYPE_CHECKING:
    from assay.campaign import Campaign


def about_data(text: str, *names: str, metavar: str | None = "COL") -> Any:
    """Return an option about the predictions."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel="Predictions")


IdColumn = Annotated[
    str | None,
    about_data("The ids' column, or several: day,user,rank. Left out: the row number.", "--id"),
]
ItemId = Annotated[
    str | None,
    about_data(
        "The ids' column, or several (day,user): it tells which items are the same.", "--id"
    ),
]
Shown = Annotated[list[str] | None, about_data("A column that reviewers see; repeatable.")]
SliceColumns = Annotated[
    list[str] | None,
    about_data("A column of slices, for status --by; unseen by reviewers; repeatable.", "--slice"),
]
AuxColumns = Annotated[
    list[str] | None,
    about_data(
        "A second opinion (score, verdict, metadata) that says where labels go; unseen by "
        "reviewers; repeatable.",
        "--aux",
    ),
]
ClassesFile = Annotated[
    str | None,
    about_data(
        "Classes with aliases and guidelines: a .json, .csv or .tsv. Left out: the values of "
        "--predicted, where these are three or more.",
        "--classes",
        metavar="FILE",
    ),
]
Probabilities = Annotated[
    str | None,
    about_data(
        "In place of --predicted and --score: the columns with the classes' probabilities, as in "
        "'p_*'.",
        "--probabilities",
        metavar="PATTERN",
    ),
]
MultiLabel = Annotated[
    bool,
    about_data(
        "An item may have several classes: of --probabilities 'p_*' --threshold, --predicted "
        "'is_*', a column of lists, or one --classifier for each class.",
        "--multi-label",
    ),
]
ScaleName = Annotated[
    str | None,
    about_data(f"{', '.join(SCORE_SCALES)}; told by their range when left out.", metavar="SCALE"),
]
ScoreOfClass = Annotated[
    str | None,
    about_data(
        f"Whose score it is: {', '.join(SCORES_OF)} class; positive when left out.",
        "--score-of",
        metavar="CLASS",
    ),
]
PredictionsFile = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="Predictions: a .parquet, .csv or .jsonl file, a pattern, a folder, "
        "a SELECT, a database.",
    ),
]
ScoreColumn = Annotated[str | None, about_data("The scores' column.")]
PredictedColumn = Annotated[str | None, about_data("The predicted labels' column.")]
WeightColumn = Annotated[
    str | None,
    about_data("The weights' column (traffic, impressions); every item counts once without."),
]
Threshold = Annotated[
    float | None, about_data("The score from which on the label is yes.", metavar="SCORE")
]
Positive = Annotated[str | None, about_data("The predicted label that means yes.", metavar="VALUE")]


# Which storage a command works on.

_DEFAULT = "sqlite:///assay.db"

CampaignName = Annotated[str, typer.Argument(metavar="NAME", help="The campaign's name.")]
NameOption = Annotated[str, typer.Option("--name", metavar="NAME", help="The campaign's name.")]
Renamed = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TOOL=NAME", help="Who somebody is here, such as label-studio:5=ann; repeatable."
    ),
]
StorageUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help=f"Where campaigns are kept: $ASSAY_STORAGE, or else {_DEFAULT} in this folder.",
        show_default=False,
    ),
]


def storage_url(given: str | None) -> str:
    """Return the storage to use; one that outlives the command."""
    url = given or os.environ.get("ASSAY_STORAGE") or _DEFAULT
    if _database(url) in ("", ":memory:"):
        raise StorageError(
            f"the storage {url} is in memory and would be gone with this command",
            hint=f"use a file, such as {_DEFAULT}",
        )
    return url


def existing(given: str | None) -> str:
    """Return the storage to use, and raise where there is none: looking must not make one."""
    url = storage_url(given)
    database = _database(url)
    if database is not None and not Path(database).is_file():
        raise StorageError(
            f"there is no storage at {url}",
            details=f"no file {database}, seen from {Path.cwd()}",
            hint="`assay create` makes one; --storage or ASSAY_STORAGE names another",
        )
    return url


def open_campaign(name: str, storage: str | None) -> "Campaign":
    """Return a campaign that was created before."""
    from assay.campaign import load_campaign  # takes long to load, and not all commands need it

    return load_campaign(name, storage=existing(storage))


def follow_up(command: str, name: str, storage: str | None) -> str:
    """Return the command line to type next, on the same campaign; a password is not repeated."""
    where = ["--storage", _without_password(storage)] if storage else []
    return shlex.join(["assay", *command.split(), name, *where])


def _without_password(url: str) -> str:
    from sqlalchemy import make_url  # takes long to load, and not every command has a storage
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return url  # which no storage has; whoever opens it will say so


def _database(url: str) -> str | None:
    """Return the path in a SQLite URL; None for any other, on which `open_store` has the word."""
    from sqlalchemy import make_url  # as above
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    return parsed.database or "" if parsed.get_backend_name() == "sqlite" else None


# ``--classifier`` and ``--metric``: several classifiers and what is asked of them, as typed.


def about_goal(text: str, metavar: str | None = None, *names: str) -> Any:
    """Return an option about what is wanted."""
    return typer.Option(*names, help=text, metavar=metavar, rich_help_panel="Goal")


ClassifierColumns = Annotated[
    list[str] | None,
    about_data(
        "One of several classifiers; repeatable. NAME=,PREDICTED has no score, "
        "NAME=SCORE>=0.5 says yes from 0.5 on, 'NAME=p_*' has the classes' probabilities.",
        "--classifier",
        metavar="NAME=SCORE,PREDICTED",
    ),
]

Metrics = Annotated[
    list[str] | None,
    about_goal(
        f"{', '.join(METRICS)}; repeatable. Of several classifiers: precision:cnn, "
        "'recall:cnn within 0.05', 'f1:new - f1:old'; a bare name is of each. "
        "Left out: precision.",
        "METRIC",
    ),
]
Simultaneous = Annotated[
    bool, about_goal("Be so sure of all metrics at once, not of each.", None, "--simultaneous")
]


def parse_classifiers(
    # NAME=SCORE,PREDICTED or NAME=,PREDICTED or NAME=SCORE>=THRESHOLD; with probabilities of all
    # classes NAME=PATTERN or NAME=PATTERN,PREDICTED.
    given: list[str],
    *,
    # The predicted label that means yes, in the predicted column of every classifier.
    positive: str | None = None,
    # score_of, scale: what every classifier's score is, where it has one.
    score_of: str | None = None,
    scale: str | None = None,
    # Whether the names are those of classes, which may be called otherwise than classifiers.
    multi_label: bool = False,
) -> dict[str, dict[str, object]]:
    """Return what each classifier has, as `create_campaign` and `simulate` take it.

    >>> parse_classifiers(["cnn=p_cnn,said_cnn", "mve=,vote"])
    {'cnn': {'score': 'p_cnn', 'predicted': 'said_cnn'}, 'mve': {'predicted': 'vote'}}
    >>> parse_classifiers(["cnn=p_cnn>=0.5"])
    {'cnn': {'score': 'p_cnn', 'threshold': 0.5}}
    >>> parse_classifiers(["cnn=p_*"])
    {'cnn': {'probabilities': 'p_*'}}
    """
    for text in given:
        if "=" not in text:
            raise _misread(text, "it does not say NAME=")
    if not multi_label:
        refuse_bad_names([text.partition("=")[0] for text in given])
    found = {text.partition("=")[0]: _options(text, positive) for text in given}
    about_scores = {"score_of": score_of, "scale": scale}
    for each in found.values():
        if "score" in each:
            each |= {name: value for name, value in about_scores.items() if value is not None}
    if positive is not None and not any("predicted" in each for each in found.values()):
        raise InputError(
            f"--positive {positive} is given, and no classifier has a predicted column",
            details="it is the value in that column that means yes",
        )
    return found


def is_one_metric(metrics: list[str]) -> bool:
    """Tell whether one metric is asked for, by its mere name.

    >>> is_one_metric(["recall"]), is_one_metric(["recall:cnn"]), is_one_metric(["recall", "f1"])
    (True, False, False)
    """
    if not metrics:
        return True
    single, *others = metrics
    return not others and not any(sign in single for sign in (":", "[", " within "))


ThresholdFor = Annotated[
    str | None,
    about_goal(
        'Find the threshold that keeps a floor: "precision >= 0.95", "recall >= 0.9", or several '
        "with and.",
        "FLOOR",
        "--threshold-for",
    ),
]
Gain = Annotated[
    float | None,
    about_goal(
        "With --threshold-for: over when no other has so much more.  [default: 0.05]", "SHARE"
    ),
]


def gain_of(gain: float | None, threshold_for: str | None) -> float:
    """Return what ``--gain`` says, which goes with ``--threshold-for`` alone."""
    if gain is not None and threshold_for is None:
        raise InputError("--gain goes with --threshold-for", hint="leave it out")
    return 0.05 if gain is None else gain


def refuse_beside_classifiers(**given: object) -> None:
    """Raise where a column of one classifier alone is given beside ``--classifier``.

    >>> refuse_beside_classifiers(score="p", predicted=None)
    Traceback (most recent call last):
    assay.errors.InputError: --score p is given beside --classifier
    hint: say whose it is: --classifier NAME=SCORE,PREDICTED
    """
    for option, value in given.items():
        if value is not None:
            raise InputError(
                f"--{option} {value} is given beside --classifier",
                hint="say whose it is: --classifier NAME=SCORE,PREDICTED",
            )


def _options(text: str, positive: str | None) -> dict[str, object]:
    name, _, columns = text.partition("=")
    left, _, predicted = columns.partition(",")
    score, at_least, threshold = left.rpartition(">=") if ">=" in left else (left, "", "")
    if "," in predicted:
        raise _misread(text, "it names more than two columns")
    if at_least and not score:
        raise _misread(text, f"no column of scores is named before >={threshold}")
    is_pattern = STAR in score and not at_least
    if not predicted and not at_least and not is_pattern:
        raise _misread(text, f"nothing tells what {name} says yes to")
    options: dict[str, object] = {}
    if score:
        options["probabilities" if is_pattern else "score"] = score
    if at_least:
        options["threshold"] = _number(threshold, text)
    if predicted:
        options["predicted"] = predicted
    if predicted and positive is not None:
        options["positive"] = positive
    return options


def _number(threshold: str, text: str) -> float:
    try:
        return float(threshold)
    except ValueError:
        raise _misread(text, f"{threshold!r} is not a number") from None


def _misread(text: str, why: str) -> InputError:
    name = text.partition("=")[0] if "=" in text else "cnn"
    return InputError(
        f"--classifier {text!r} cannot be read: {why}",
        details="it is NAME=SCORE,PREDICTED or NAME=,PREDICTED or NAME=SCORE>=THRESHOLD, or of "
        "classes 'NAME=p_*'",
        hint=f"for example: --classifier '{name}=p_{name},said_{name}' or '{name}=p_{name}>=0.5'",
    )


# Where predictions are and what reads them: options, and how far the reading is.

EngineName = Annotated[
    str | None,
    about_data(f"{', '.join(ENGINES)}; by the input when left out.", metavar="ENGINE"),
]
Where = Annotated[
    str | None, about_data("Only rows that fulfil it: \"lang = 'en'\".", metavar="SQL")
]
TableName = Annotated[
    str | None, about_data("The table of a database, or of Spark's catalog.", metavar="TABLE")
]
SparkUrl = Annotated[
    str | None,
    about_data("Read with this Spark: spark://host:7077, sc://host:15002.", metavar="URL"),
]
Encoding = Annotated[
    str | None,
    about_data("Of CSV files: latin-1, windows-1252; UTF-8 when left out.", metavar="NAME"),
]
CheckIds = Annotated[
    bool,
    about_data(
        "Look at every id for repetitions, not at those drawn only.", "--check-ids", metavar=None
    ),
]


def scan_of(
    file: str | None,
    *,
    engine: str | None,
    where: str | None,
    table: str | None,
    spark: str | None,
    check_ids: bool,
    encoding: str | None = None,
) -> Scan:
    """Return what the options say; raise where they name nothing to read."""
    if file is None and (table is None or (spark is None and engine != "spark")):
        raise typer.BadParameter("no predictions are named: give FILE, or with --spark a --table")
    chosen = cast(Engine | None, engine)  # what is not one is refused by name
    return Scan(file, table, where, chosen, spark, check_ids, encoding)


def other_scan(
    file: str | None,
    *,
    engine: str | None,
    where: str | None,
    table: str | None,
    spark: str | None,
) -> Scan | str | None:
    """Return predictions for a campaign that has some; where nothing is said, what it has holds.

    A file alone is read as the campaign's own were.
    """
    if engine is None and where is None and table is None and spark is None:
        return file
    return scan_of(file, engine=engine, where=where, table=table, spark=spark, check_ids=False)


TableNames = Annotated[
    list[str] | None,
    about_data(
        "The table of a database, or of Spark's catalog; twice, where OLD and NEW have others.",
        "--table",
        metavar="TABLE",
    ),
]


OF_SPARK = "-"
"""In place of a file: a table of Spark, which --table names."""


def two_scans(
    files: tuple[str, str],  # the earlier and the later; `OF_SPARK` for a table of Spark
    *,
    engine: str | None,
    where: str | None,
    tables: Sequence[str] | None,  # one for all that have tables, or one for each of the two
    spark: str | None,
) -> list[Scan | str]:
    """Return two sets of predictions, both read in the same way.

    But a file beside a table of Spark is read here: the cluster need not see it.
    """
    from assay.predictions import has_tables  # takes long to load

    given = list(tables or ())
    if len(given) > 2:
        raise typer.BadParameter(f"{len(given)} tables are named, of two sets of predictions")
    in_spark = [file == OF_SPARK for file in files]
    if any(in_spark) and spark is None and engine != "spark":
        raise typer.BadParameter(f"{OF_SPARK} is a table of Spark: give --spark URL")
    if len(given) < sum(in_spark):
        raise typer.BadParameter(
            f"{OF_SPARK} is a table of Spark: give --table NAME for each, here {sum(in_spark)}"
        )
    if len(given) < 2:
        has = in_spark if any(in_spark) else [has_tables(file) for file in files]
        given = [given[0] if given and each else "" for each in has]
    beside = any(in_spark)
    return [
        other_scan(
            None if of_spark else file,
            engine=engine if of_spark or not beside else None,
            where=where,
            table=table or None,
            spark=spark if of_spark or not beside else None,
        )
        or file
        for file, table, of_spark in zip(files, given, in_spark, strict=True)
    ]


def told(scans: Sequence[Scan | str]) -> str:
    """Return what is read, for people."""
    names = [scan if isinstance(scan, str) else scan.path or scan.table or "" for scan in scans]
    return " and ".join(names)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Show, on a terminal, how far the reading is; it pulses where that cannot be told."""
    shown = progress_bar(f"reading {printable(what)}", pulses=True)
    from assay.predictions import telling_notes, telling_progress  # take long to load

    with shown as progress, telling_progress(progress), telling_notes(say_note):
        yield
