"""``assay simulate``: which design costs how many labels, on a file whose truth is known."""

from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli.options import (
    ClassifierColumns,
    Metrics,
    Simultaneous,
    about_goal,
    is_one_metric,
    parse_classifiers,
    refuse_beside_classifiers,
)
from assay.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    emit,
    make_folder,
    progress_bar,
    save_rows,
    say,
    say_saved,
    telling_errors,
    working,
)
from assay.cli.simulation_tables import render_simulation, rows_csv
from assay.errors import DesignError
from assay.predictions import read_labelled
from assay.simulation import (
    DESIGN_NAMES,
    SEVERAL_DESIGNS,
    AtThreshold,
    Population,
    Question,
    draw,
    new_figure,
)


def _data(text: str, metavar: str = "COL") -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel="Population")


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
    classifier: ClassifierColumns = None,
    metric: Metrics = None,
    within: Annotated[
        float | None, about_goal("Stop at this half-width; 0.01 is ±1 point.")
    ] = None,
    budget: Annotated[
        str | None, about_goal("Stop after so many answers; several as 100,200,500.", "N,...")
    ] = None,
    confidence: Annotated[float, about_goal("How sure the intervals are.")] = 0.95,
    simultaneous: Simultaneous = False,
    at_least: Annotated[
        float | None, about_goal("Stop at a sure yes or no: is it at least this?")
    ] = None,
    design: Annotated[
        list[str] | None,
        _designs(
            "default, random, perc-opt, km-opt-a2, ...; repeatable, or separated by commas. "
            "Left out: default, perc-opt, and with a budget km-opt-a2; or guaranteed. "
            f"For several classifiers: {', '.join(SEVERAL_DESIGNS)}; left out: all.",
            metavar="NAME",
        ),
    ] = None,
    bins: Annotated[int | None, _designs("Strata for each predicted label.", least=1)] = None,
    parent: Annotated[
        str | None,
        _designs("Of several classifiers, the one whose labels are recycled.", metavar="NAME"),
    ] = None,
    assume: Annotated[
        float | None,
        _designs("Of several classifiers: every precision is at least this. Left out: 0.5."),
    ] = None,
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
        metrics = tuple(metric or ["precision"])
        columns: dict[str, Any] = {"label": label, "positive": positive}
        own = {"score": score, "predicted": predicted, "threshold": threshold}
        if classifier:
            refuse_beside_classifiers(**own)
            columns["classifiers"] = parse_classifiers(classifier, positive=positive)
        else:
            columns |= own
        names = None if design is None else _words(design)
        if not classifier and is_one_metric([*metrics]):
            _refuse_of_one(parent=parent, assume=assume, simultaneous=simultaneous or None)
            if names == ():
                told = f"designs: {', '.join(DESIGN_NAMES)}"
                raise DesignError("--design names no design", details=told)
        with working(f"reading {file}"):
            population = Population.read(file, **columns)
        question = Question(
            population=population,
            names=names,
            bins=bins,
            metrics=metrics,
            within=within,
            budgets=None if budget is None else _budgets(budget),
            confidence=confidence,
            replications=replications,
            seed=seed,
            at_least=at_least,
            simultaneous=simultaneous,
            parent=parent,
            assume=0.5 if assume is None else assume,
        )
        with progress_bar("simulating") as progress:
            result = question.answer(workers=workers, progress=progress)
        if as_json:
            emit(result.to_dict())
        else:
            console().print(render_simulation(file, question, result))
        if out is not None and result.rows:
            files = save_rows(rows_csv(result), out)
            if not result.interrupted:  # half of the work makes no picture
                with working("drawing the pictures"):
                    files += draw(question, result, out, _at_threshold(file, columns))
            if not as_json:
                say_saved(files, out)
    if result.interrupted:
        say("interrupted: ", "cyan", "the rows are those that were finished")
        raise typer.Exit(INTERRUPTED)


def _refuse_of_one(**given: object) -> None:
    """Raise where an option is given that says nothing about one metric."""
    for option, value in given.items():
        if value is not None:
            raise DesignError(f"--{option} is not for one metric", hint="leave it out")


def _at_threshold(file: str, columns: dict[str, Any]) -> AtThreshold | None:
    """Return how to have the same items with another threshold, where there are scores."""
    if columns.get("score") is None:
        return None
    items = read_labelled(file, **columns)
    return lambda at: Population(y_true=items.truth, y_score=items.score, threshold=at)


def _words(given: list[str]) -> tuple[str, ...]:
    words = [word.strip().lower() for several in given for word in several.split(",")]
    return tuple(dict.fromkeys(word for word in words if word))


def _budgets(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as 100,200,500, in order."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise DesignError(
            f"budget must be whole numbers separated by commas, got {text!r}",
            hint="for example --budget 100,200,500",
        ) from None
