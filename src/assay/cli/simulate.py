"""``assay simulate``: which design costs how many labels, on a file whose truth is known."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from assay.cli.long_work import INTERRUPTED, make_folder, progress_bar
from assay.cli.output import AsJson, console, emit, telling_errors, working
from assay.cli.simulated import rows_csv, view
from assay.core.metrics import METRICS, canonical_metric
from assay.errors import DesignError
from assay.pictures import draw
from assay.plot import new_figure
from assay.predictions import read_labelled
from assay.report import printable
from assay.simulation import DESIGN_NAMES, Population, Simulation
from assay.simulation import simulate as run_simulation
from assay.simulation.sweeps import AtThreshold, Question

__all__ = ["simulate"]


def _data(text: str, metavar: str = "COL") -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel="Population")


def _goal(text: str, metavar: str | None = None) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel="Goal")


def _designs(text: str, *, metavar: str | None = None, least: int | None = None) -> Any:
    return typer.Option(help=text, metavar=metavar, min=least, rich_help_panel="Designs")


def _runs(text: str, least: int) -> Any:
    return typer.Option(help=text, min=least, rich_help_panel="Runs")


def simulate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Predictions with the truth: .parquet, .csv, .csv.gz, or a pattern.",
        ),
    ],
    *,
    label: Annotated[str, _data("The column with the truth.")],
    score: Annotated[str | None, _data("The scores' column.")] = None,
    predicted: Annotated[str | None, _data("The predicted labels' column.")] = None,
    threshold: Annotated[
        float | None, _data("The score from which on the label is yes.", "SCORE")
    ] = None,
    positive: Annotated[
        str | None, _data("The value of label and predicted that means yes.", "VALUE")
    ] = None,
    metric: Annotated[str, _goal(f"{', '.join(METRICS)}.")] = "precision",
    within: Annotated[float | None, _goal("Stop at this half-width; 0.01 is ±1 point.")] = None,
    budget: Annotated[
        str | None, _goal("Stop after so many answers; several as 100,200,500.", "N,...")
    ] = None,
    confidence: Annotated[float, _goal("How sure the intervals are.")] = 0.95,
    at_least: Annotated[
        float | None, _goal("Stop at a sure yes or no: is it at least this?")
    ] = None,
    design: Annotated[
        list[str] | None,
        _designs(
            "default, random, perc-opt, km-opt-a2, ...; repeatable, or separated by commas. "
            "Left out: default, perc-opt, and with a budget km-opt-a2; or guaranteed.",
            metavar="NAME",
        ),
    ] = None,
    bins: Annotated[int | None, _designs("Strata for each predicted label.", least=1)] = None,
    replications: Annotated[int, _runs("Evaluations of each design.", 1)] = 1000,
    seed: Annotated[int, _runs("Fixes all numbers.", 0)] = 0,
    workers: Annotated[int | None, _runs("Processes; left out: one a core.", 1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write rows.csv and pictures (SVG and PNG) there."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay evaluations of a labelled file, and see what each design would have cost."""
    with telling_errors(as_json=as_json):
        if out is not None:
            make_folder(out)
            new_figure()  # tells before all the work that matplotlib is missing
        columns: dict[str, Any] = {
            "label": label,
            "score": score,
            "predicted": predicted,
            "threshold": threshold,
            "positive": positive,
        }
        with working(f"reading {file}"):
            population = Population.read(file, **columns)
        budgets = None if budget is None else _budgets(budget)
        question = Question(
            population=population,
            names=_names(design, with_budget=budgets is not None, yes_or_no=at_least is not None),
            bins=bins,
            metric=canonical_metric(metric),
            within=within,
            budgets=budgets,
            confidence=confidence,
            replications=replications,
            seed=seed,
            at_least=at_least,
        )
        result = _run(question, workers)
        if as_json:
            emit(result.to_dict())
        else:
            console().print(view(file, question, result))
        if out is not None and result.rows:
            files = _save_rows(result, out)
            if not result.interrupted:  # half of the work makes no picture
                with working("drawing the pictures"):
                    files += draw(question, result, out, _at_threshold(file, columns))
            if not as_json:
                _say(console(), "saved: ", f"{len(files)} files in {out}")
    if result.interrupted:
        _say(console(stderr=True), "interrupted: ", "the rows are those that were finished")
        raise typer.Exit(INTERRUPTED)


def _run(question: Question, workers: int | None) -> Simulation:
    with progress_bar("simulating") as progress:
        return run_simulation(
            question.population,
            designs=question.designs,
            metric=question.metric,
            within=question.within,
            budget=question.budgets,
            confidence=question.confidence,
            at_least=question.at_least,
            replications=question.replications,
            seed=question.seed,
            workers=workers,
            progress=progress,
        )


def _save_rows(result: Simulation, out: Path) -> list[Path]:
    table = out / "rows.csv"
    table.write_text(rows_csv(result), encoding="utf-8")
    return [table]


def _at_threshold(file: str, columns: dict[str, Any]) -> AtThreshold | None:
    """Return how to have the same items with another threshold, where there are scores."""
    if columns["score"] is None:
        return None
    items = read_labelled(file, **columns)
    return lambda at: Population(y_true=items.truth, y_score=items.score, threshold=at)


def _say(screen: Console, what: str, text: str) -> None:
    screen.print(Text.assemble((what, "cyan"), printable(text)), soft_wrap=True)


def _names(given: list[str] | None, *, with_budget: bool, yes_or_no: bool) -> tuple[str, ...]:
    """Return the designs' names, each once."""
    if given is None and yes_or_no:
        return ("guaranteed",)
    if given is None:
        # OPT-A2 as published estimates a spread of zero from few labels and stops at once.
        return ("default", "perc-opt", "km-opt-a2") if with_budget else ("default", "perc-opt")
    words = [word.strip().lower() for several in given for word in several.split(",")]
    names = tuple(dict.fromkeys(word for word in words if word))
    if not names:
        raise DesignError("--design names no design", details=f"designs: {', '.join(DESIGN_NAMES)}")
    return names


def _budgets(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as 100,200,500, in order."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise DesignError(
            f"budget must be whole numbers separated by commas, got {text!r}",
            hint="for example --budget 100,200,500",
        ) from None
