"""Where predictions are and what reads them: options, and how far the reading is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, cast

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from assay.cli.options import about_data
from assay.cli.output import console
from assay.predictions import ENGINES, Scan
from assay.predictions.scan import Engine
from assay.predictions.scanned import telling_progress
from assay.results.text import printable

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
) -> Scan:
    """Return what the options say; raise where they name nothing to read."""
    if file is None and (table is None or (spark is None and engine != "spark")):
        raise typer.BadParameter("no predictions are named: give FILE, or with --spark a --table")
    chosen = cast(Engine | None, engine)  # what is not one is refused by name
    return Scan(file, table, where, chosen, spark, check_ids)


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


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Show, on a terminal, how far the reading is; it pulses where that cannot be told."""
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield
        return
    columns = (
        TextColumn(f"reading {printable(what)}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("", total=None)
        with telling_progress(lambda share: bar.update(task, total=1.0, completed=share)):
            yield
