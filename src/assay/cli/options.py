"""Options that commands share: columns, classifiers, scans, storage."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.output import progress_bar, say_note
from assay.cli.taking import Typed, all_except, argument, option
from assay.core.groups import refuse_repeated_names
from assay.errors import InputError, StorageError
from assay.options import Option
from assay.predictions import STAR, Columns, Scan
from assay.results import printable

if TYPE_CHECKING:
    from assay.campaign import Campaign


about_data = partial(option, panel="Predictions")
about_goal = partial(option, panel="Goal")

ItemId = Annotated[
    str | None,
    about_data(
        "Column with the item ids, or several: day,user. Matches items of the two files.",
        "COL",
        "--id",
    ),
]
PredictionsFile = Annotated[
    str | None,
    argument(
        "FILE",
        "Predictions: a .parquet, .csv or .jsonl file, a pattern, a folder, a SELECT, a database.",
    ),
]


# Storage of a command.

_DEFAULT = "sqlite:///assay.db"
_MOST_NAMED = 10  # campaigns in an error

CampaignName = Annotated[str, argument("NAME", "Name of the campaign.")]
NameOrOnly = Annotated[
    str | None, argument("NAME", "Name of the campaign. Default: the only one.", shown=False)
]
NameOption = Annotated[str, option("Name of the campaign.", "NAME", "--name")]
StorageUrl = Annotated[
    str | None,
    option(
        f"Storage of the campaigns. Default: $ASSAY_STORAGE, or {_DEFAULT}.", "URL", shown=False
    ),
]


def storage_url(given: str | None) -> str:
    """Storage to use; raise if it would not outlive the command."""
    url = given or os.environ.get("ASSAY_STORAGE") or _DEFAULT
    if _database(url) in ("", ":memory:"):
        raise StorageError(
            f"the storage {url} is in memory and would be lost when this command ends",
            hint=f"use a file, such as {_DEFAULT}",
        )
    return url


def existing(given: str | None) -> str:
    """Storage to use; raise if it does not exist, because reading must not create one."""
    url = storage_url(given)
    database = _database(url)
    if database is not None and not Path(database).is_file():
        raise StorageError(
            f"there is no storage at {url}",
            details=f"no file {database} (current folder: {Path.cwd()})",
            hint="`assay create` makes one; --storage or ASSAY_STORAGE names another",
        )
    return url


def named(name: str | None, storage: str | None) -> str:
    """Given name of a campaign, or the name of the only one in the storage."""
    if name is not None:
        return name
    names = names_in(existing(storage))
    if len(names) != 1:
        few = f", such as {', '.join(map(repr, names[:_MOST_NAMED]))}" if names else ""
        raise InputError(
            "no campaign is named",
            details=f"campaigns in the storage: {len(names):,}{few}",
            hint="give the name of one" if names else "`assay create FILE` makes one",
        )
    return names[0]


def names_in(url: str) -> list[str]:
    """Names of a storage's campaigns, for people to choose from."""
    from assay.labelling import listed_names  # takes long to load, as below
    from assay.storage import open_store

    with open_store(url).read() as session:
        return listed_names(session)


def open_campaign(name: str, storage: str | None) -> "Campaign":
    """Campaign that was created before."""
    from assay.campaign import load_campaign  # takes long to load, and not all commands need it

    return load_campaign(name, storage=existing(storage))


def follow_up(command: str, name: str, storage: str | None) -> str:
    """Next command line on the same campaign, without the password."""
    where = ["--storage", _without_password(storage)] if storage else []
    return shlex.join(["assay", *command.split(), name, *where])


def _without_password(url: str) -> str:
    from sqlalchemy import make_url  # takes long to load, and not every command has a storage
    from sqlalchemy.exc import ArgumentError

    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return url  # not a storage; opening it will raise


def _database(url: str) -> str | None:
    """Path in a SQLite URL; None for any other, which `open_store` checks."""
    from sqlalchemy import make_url  # as above
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        return None
    return parsed.database or "" if parsed.get_backend_name() == "sqlite" else None


# ``--classifier`` and ``--metric``: several classifiers and their metrics, as typed.


def parse_classifiers(
    # NAME=SCORE,PREDICTED or NAME=,PREDICTED or NAME=SCORE>=THRESHOLD; with probabilities of all
    # classes NAME=PATTERN or NAME=PATTERN,PREDICTED.
    given: list[str],
    *,
    # Predicted label that means yes, in every classifier's column.
    positive: str | None = None,
    # score_of, scale: class and scale of every classifier's score, if it has one.
    score_of: str | None = None,
    scale: str | None = None,
) -> dict[str, dict[str, object]]:
    """Columns of each classifier, as `create_campaign` and `simulate` take them.

    >>> parse_classifiers(["cnn=p_cnn,said_cnn", "mve=,vote"])
    {'cnn': {'score': 'p_cnn', 'predicted': 'said_cnn'}, 'mve': {'predicted': 'vote'}}
    >>> parse_classifiers(["cnn=p_cnn>=0.5"])
    {'cnn': {'score': 'p_cnn', 'threshold': 0.5}}
    >>> parse_classifiers(["cnn=p_*"])
    {'cnn': {'probabilities': 'p_*'}}
    """
    for text in given:
        if "=" not in text:
            raise _misread(text, "NAME= is missing")
    refuse_repeated_names([text.partition("=")[0] for text in given])
    classifiers = {text.partition("=")[0]: _options(text, positive) for text in given}
    about_scores = {"score_of": score_of, "scale": scale}
    for columns in classifiers.values():
        if "score" in columns:
            columns |= {name: value for name, value in about_scores.items() if value is not None}
    if positive is not None and not any("predicted" in columns for columns in classifiers.values()):
        raise InputError(
            f"--positive {positive} needs a classifier with a column of predicted labels",
            details="it is the value in that column that means yes",
        )
    return classifiers


def is_one_metric(metrics: list[str]) -> bool:
    """Whether the goal is one metric, named without a classifier.

    >>> is_one_metric(["recall"]), is_one_metric(["recall:cnn"]), is_one_metric(["recall", "f1"])
    (True, False, False)
    """
    if not metrics:
        return True
    single, *others = metrics
    return not others and not any(sign in single for sign in (":", "[", " within "))


def columns_of_one(*left_out: str) -> list[Option]:
    """Options of the columns of one classifier that says one thing of an item."""
    return all_except(Columns, "classifiers", "multilabel", *left_out)


def asked_of(typed: Typed) -> dict[str, Any]:
    """Goal, as the library takes it."""
    if "gain" in typed and "threshold_for" not in typed:
        raise InputError("--gain applies only to --threshold-for", hint="leave it out")
    metrics = typed.get("metric", [])
    named = {"metric": metrics[0]} if metrics else {}
    return {**typed, **named, **({} if is_one_metric(metrics) else {"metrics": metrics})}


def columns_of(typed: Typed) -> dict[str, Any]:
    """Columns, as the library takes them; those of several classifiers by name."""
    if "classifiers" not in typed:
        return {**typed}
    refuse_with_classifiers(
        **{name: typed.get(name) for name in ("score", "predicted", "threshold")}
    )
    of_each = {name: typed.get(name) for name in ("positive", "score_of", "scale")}
    named = parse_classifiers(typed["classifiers"], **of_each)
    others = {name: value for name, value in typed.items() if name not in of_each}
    return {**others, "classifiers": named}


def refuse_with_classifiers(**given: object) -> None:
    """Raise if a column of one classifier cannot be combined with ``--classifier``.

    >>> refuse_with_classifiers(score="p", predicted=None)
    Traceback (most recent call last):
    assay.errors.InputError: --score p cannot be combined with --classifier
    hint: name the columns of each classifier: --classifier NAME=SCORE,PREDICTED
    """
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"--{name} {value} cannot be combined with --classifier",
                hint="name the columns of each classifier: --classifier NAME=SCORE,PREDICTED",
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
        raise _misread(text, f"it does not say when {name} predicts yes")
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
        details="expected NAME=SCORE,PREDICTED or NAME=,PREDICTED or "
        "NAME=SCORE>=THRESHOLD; for classes 'NAME=p_*'",
        hint=f"for example: --classifier '{name}=p_{name},said_{name}' or '{name}=p_{name}>=0.5'",
    )


# Location and engine of predictions: options, and progress of reading.


def scan_of(file: str | None, source: Typed) -> Scan:
    """Scan of the options; raise if they name nothing to read."""
    of_spark = "spark" in source or source.get("engine") == "spark"
    if file is None and ("table" not in source or not of_spark):
        raise typer.BadParameter(
            "no predictions are given: give FILE, or --spark URL and --table NAME"
        )
    return Scan(file, **source)


def other_scan(file: str | None, source: Typed) -> Scan | str | None:
    """Predictions for an existing campaign; default: its own.

    A bare path is read as the campaign's own were.
    """
    return scan_of(file, source) if source else file


TableNames = Annotated[
    list[str] | None,
    about_data(
        "Table of a database or of Spark's catalog; repeat it if OLD and NEW have different "
        "tables.",
        "TABLE",
        "--table",
    ),
]


OF_SPARK = "-"
"""Placeholder for a file: a table of Spark, which --table names."""


def two_scans(
    files: tuple[str, str],  # the earlier and the later; `OF_SPARK` for a table of Spark
    source: Typed,
    tables: Sequence[str] | None,  # one for all that have tables, or one for each of the two
) -> list[Scan | str]:
    """Two sets of predictions, both read in the same way.

    A file beside a table of Spark is read here: the cluster need not see it.
    """
    from assay.predictions import has_tables  # takes long to load

    names = list(tables or ())
    if len(names) > 2:
        raise typer.BadParameter(
            f"--table is given {len(names)} times for two sets of "
            "predictions: give it once or twice"
        )
    in_spark = [file == OF_SPARK for file in files]
    if any(in_spark) and "spark" not in source and source.get("engine") != "spark":
        raise typer.BadParameter(f"{OF_SPARK} stands for a table of Spark: add --spark URL")
    if len(names) < sum(in_spark):
        raise typer.BadParameter(
            f"{OF_SPARK} stands for a table of Spark: give --table NAME for each, here "
            f"{sum(in_spark)}"
        )
    if len(names) < 2:
        has = in_spark if any(in_spark) else [has_tables(file) for file in files]
        names = [names[0] if names and each else "" for each in has]
    local_source = {
        name: value for name, value in source.items() if name not in ("engine", "spark")
    }
    return [
        other_scan(
            None if of_spark else file,
            {
                **(source if of_spark or not any(in_spark) else local_source),
                **({"table": table} if table else {}),
            },
        )
        or file
        for file, table, of_spark in zip(files, names, in_spark, strict=True)
    ]


def source_names(scans: Sequence[Scan | str]) -> str:
    """Names of the sources, for people."""
    names = [scan if isinstance(scan, str) else scan.path or scan.table or "" for scan in scans]
    return " and ".join(names)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Show the progress of reading on a terminal; it pulses if the total is unknown."""
    shown = progress_bar(f"reading {printable(what)}", pulses=True)
    from assay.predictions import telling_notes, telling_progress  # take long to load

    with shown as progress, telling_progress(progress), telling_notes(say_note):
        yield
