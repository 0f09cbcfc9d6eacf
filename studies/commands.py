"""``reproduce`` and ``coverage``: a paper's tables and figures, and the coverage study."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table as ScreenTable
from rich.text import Text

from assay.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    emit,
    make_folder,
    progress_bar,
    say,
    telling_errors,
)
from assay.simulation import new_figure
from studies.bennett_carvalho import study as bennett_carvalho
from studies.coverage import study
from studies.coverage.extent import FULL, QUICK, Part
from studies.coverage.tables import metrics_table, parts_table, targets_table
from studies.kumar_raj import study as kumar_raj
from studies.recycling import study as recycling
from studies.tables import Table


class Paper(StrEnum):
    """The papers, as the command line calls them."""

    BENNETT_CARVALHO = "bennett-carvalho"
    KUMAR_RAJ = "kumar-raj"
    RECYCLING = "recycling"


@dataclass(frozen=True)
class Experiment:
    """How a paper's experiment is run, in full or quickly, shown and written."""

    run: Callable[..., Any]
    quick: Callable[..., Any]
    table: Callable[[Any], Table]
    write: Callable[[Any, Path], list[Path]]


_EXPERIMENTS = {
    Paper.BENNETT_CARVALHO: Experiment(
        run=bennett_carvalho.run,
        # The smaller delta, the more rounds: few runs at 0.01 take nearly as long as many.
        quick=partial(bennett_carvalho.run, deltas=(0.03, 0.05), replications=100),
        table=bennett_carvalho.short_table,
        write=bennett_carvalho.write,
    ),
    Paper.KUMAR_RAJ: Experiment(
        run=kumar_raj.run,
        quick=partial(kumar_raj.run, replications=200),
        table=kumar_raj.reductions_table,
        write=kumar_raj.write,
    ),
    Paper.RECYCLING: Experiment(
        run=recycling.run,
        quick=partial(recycling.run, replications=20),
        table=recycling.short_table,
        write=recycling.write,
    ),
}


def reproduce(
    paper: Annotated[Paper, typer.Argument(help="Paper to reproduce.")],
    *,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the real populations. Default: generated populations.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the tables and figures.")
    ] = Path("reproduction"),
    replications: Annotated[
        int | None,
        typer.Option(min=2, help="Runs per design. Default: the paper's.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="Shorter: fewer runs, and for paper 1 larger deltas.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce a paper's tables and figures, with the paper's numbers beside ours."""
    experiment = _EXPERIMENTS[paper]
    run = experiment.quick if quick else experiment.run
    if replications is not None:
        run = partial(run, replications=replications)
    with telling_errors(as_json=as_json):
        make_folder(out)
        new_figure()  # tells before all the work that matplotlib is missing
        begun = perf_counter()
        try:
            with progress_bar(f"reproducing {paper}") as progress:
                result = run(data, seed=seed, progress=progress)
        except KeyboardInterrupt:
            say("interrupted: ", "yellow", "nothing was written")
            raise typer.Exit(INTERRUPTED) from None
        seconds = perf_counter() - begun
        files = experiment.write(result, out)
    if as_json:
        emit({**result.to_dict(), "files": [str(file) for file in files]})
        return
    show(experiment.table(result))
    say("saved: ", "green", f"{len(files)} files in {out}, after {seconds:,.0f} s")


# ``coverage``: how often a design is right, and what it costs, by simulation.


def coverage(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer cells and runs: minutes, not hours.")
    ] = False,
    part: Annotated[
        list[Part] | None,
        typer.Option(help="Run only this part; repeatable. Default: all.", show_default=False),
    ] = None,
    design: Annotated[str, typer.Option(metavar="NAME", help="Design to study.")] = "default",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of real classifiers. Default: generated classifiers.",
            show_default=False,
        ),
    ] = None,
    classifier: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Only classifiers of --data whose name contains this.",
            show_default=False,
        ),
    ] = "",
    replications: Annotated[
        int | None,
        typer.Option(min=2, help="Runs per cell. Default: 4,000; quick: 400.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 1,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the results, finished or not.")
    ] = Path("coverage"),
    as_json: AsJson = False,
) -> None:
    """Measure how often intervals cover the true value when an evaluation stops, and the cost.

    Each cell is saved when it is done. After an interruption, the same command continues.
    """
    with telling_errors(as_json=as_json):
        make_folder(out)
        new_figure()  # tells before all the work that matplotlib is missing
        extent = QUICK if quick else FULL
        if replications is not None:
            extent = replace(extent, replications=replications)
        begun = perf_counter()
        try:
            with progress_bar("coverage") as progress:
                result = study.run(
                    out,
                    parts=part or (),
                    extent=extent,
                    design=design,
                    data=data,
                    classifier=classifier,
                    seed=seed,
                    progress=progress,
                )
        except KeyboardInterrupt:  # before there was anything to keep
            raise _interrupted() from None
        seconds = perf_counter() - begun
        files = study.write(result, out)
    if as_json:
        emit({**result.to_dict(), "files": [str(file) for file in files]})
    else:
        for table in (metrics_table, parts_table):
            show(table(result))
            console().print()
        show(targets_table(result))
        say("saved: ", "green", f"{len(files)} files in {out}, after {seconds:,.0f} s")
    if result.interrupted:
        raise _interrupted()


def _interrupted() -> typer.Exit:
    say("interrupted: ", "yellow", "the same command goes on from here")
    return typer.Exit(INTERRUPTED)


def show(table: Table) -> None:
    """Print a table as its Markdown would read."""
    screen = console()
    shown = ScreenTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="cyan")
    for heading, how in table.columns.items():
        shown.add_column(heading, justify="right" if how else "left")
    for row in table.written():
        shown.add_row(*row)
    notes = [Text(note, "dim") for note in table.notes]
    screen.print(Group(Text(table.title, "bold"), Text(), shown, Text(), *notes))
