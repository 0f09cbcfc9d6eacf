"""``assay coverage``: how often a design is right, and what it costs, by simulation."""

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from assay.cli.long_work import INTERRUPTED, make_folder, progress_bar, say, show
from assay.cli.output import AsJson, console, emit, telling_errors
from assay.experiments.coverage import study
from assay.experiments.coverage.extent import FULL, QUICK, Part
from assay.experiments.coverage.tables import metrics_table, parts_table, targets_table
from assay.simulation.figures import new_figure


def coverage(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer cells and runs: minutes, not hours.")
    ] = False,
    part: Annotated[
        list[Part] | None,
        typer.Option(help="Only this part; repeatable. Left out: all.", show_default=False),
    ] = None,
    design: Annotated[str, typer.Option(metavar="NAME", help="What is studied.")] = "default",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Real classifiers; left out: the package generates some.",
            show_default=False,
        ),
    ] = None,
    classifier: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Only classifiers of --data whose names hold this.",
            show_default=False,
        ),
    ] = "",
    replications: Annotated[
        int | None,
        typer.Option(min=2, help="Runs a cell; left out: 4,000, quick 400.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Fixes all numbers.")] = 1,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the results are, and the unfinished ones.")
    ] = Path("coverage"),
    as_json: AsJson = False,
) -> None:
    """Measure how often intervals hold the truth when an evaluation stops, and at what cost.

    Cells are written as they are done; the same command goes on where an earlier one ended.
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
