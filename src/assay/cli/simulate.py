"""``assay simulate``: labels that each design needs, on a file with known truth."""

import csv
import io
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.cli import options
from assay.cli.curve import refuse_with_curve, show_curves
from assay.cli.output import (
    INTERRUPTED,
    AsJson,
    console,
    emit,
    make_folder,
    progress_bar,
    say,
    say_saved,
    working,
)
from assay.cli.render import view
from assay.cli.taking import Typed, all_except, argument, only, option, takes
from assay.core.goal import EVERY_SCORE, Asked, Goal
from assay.core.rules import refuse
from assay.core.types import percent
from assay.errors import DesignError, counted
from assay.predictions import Columns, read_labelled
from assay.results import Pairs, metric_name
from assay.simulation import (
    DESIGN_NAMES,
    SEVERAL_DESIGNS,
    THRESHOLD_DESIGNS,
    AtThreshold,
    Population,
    Question,
    Simulation,
    Sizes,
    draw,
    new_figure,
)

_OWN = ("score", "predicted", "threshold")  # of one classifier


_data = partial(option, panel="Population")
_designs = partial(option, panel="Designs")
_runs = partial(option, panel="Runs")


@takes(
    columns=only(Columns, *_OWN, "classifiers", "aux", "classes", "probabilities", "multilabel"),
    asked=all_except(Asked, "budget", "sample_of"),
)
def simulate(
    file: Annotated[
        str, argument("FILE", "Labelled predictions: .parquet, .csv, .csv.gz, or a pattern.")
    ],
    *,
    label: Annotated[
        str, _data("Column with the true labels; with --multilabel, columns such as 'is_*'.", "COL")
    ],
    positive: Annotated[
        str | None, _data("Value of the label and predicted columns that means yes.", "VALUE")
    ] = None,
    columns: Typed,
    budget: Annotated[
        str | None,
        options.about_goal("Stop after this many labels; several: 100,200,500.", "N,..."),
    ] = None,
    asked: Typed,
    curve: Annotated[
        bool,
        options.about_goal(
            "Measure how often the bands of the threshold curve cover the truth; needs one "
            "metric and a budget."
        ),
    ] = False,
    design: Annotated[
        list[str] | None,
        _designs(
            "default, random, perc-opt, km-opt-a2, ...; repeatable, or separated by commas. "
            "Default: default, perc-opt and, with a budget, km-opt-a2; or guaranteed. "
            f"For several classifiers: {', '.join(SEVERAL_DESIGNS)}; default: all. "
            f"For a threshold: {', '.join(THRESHOLD_DESIGNS)}.",
            "NAME",
        ),
    ] = None,
    bins: Annotated[int | None, _designs("Number of strata per predicted label.", least=1)] = None,
    parent: Annotated[
        str | None, _designs("With several classifiers: the one whose labels are recycled.", "NAME")
    ] = None,
    assume: Annotated[
        float | None,
        _designs("With several classifiers: lower bound of every precision. Default: 0.5."),
    ] = None,
    replications: Annotated[int, _runs("Number of evaluations per design.", least=1)] = 1000,
    seed: Annotated[int, _runs("Random seed.", least=0)] = 0,
    workers: Annotated[
        int | None, _runs("Number of processes. Default: one per core.", least=1)
    ] = None,
    out: Annotated[
        Path | None, option("Folder for rows.csv and charts (SVG and PNG).", "DIR")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare designs by replaying evaluations of a labelled file."""
    if out is not None:
        make_folder(out)
        new_figure()  # raises before all the work if matplotlib is missing
    metrics, classifiers = asked.get("metric", []), columns.get("classifiers")
    threshold_for, goal = asked.get("threshold_for"), options.asked_of(asked)
    read = options.columns_of({**columns, "positive": positive})
    read |= _columns_for_threshold(
        threshold_for,
        {"score": columns.get("score"), "budget": budget},
        {
            "classifier": classifiers,
            **{name: columns.get(name) for name in ("predicted", "threshold", "aux")},
            **{name: asked.get(name) for name in ("metric", "within", "at_least")},
            "simultaneous": asked.get("simultaneous"),
            "parent": parent,
            "assume": assume,
        },
    )
    names = None if design is None else _words(design)
    if threshold_for is None and not classifiers and options.is_one_metric(metrics):
        of_several = {"parent": parent, "assume": assume}
        _refuse_for_one_metric(**of_several, simultaneous=asked.get("simultaneous"))
        _refuse_no_design(names)
    read |= {"label": label, "positive": positive}
    with working(f"reading {file}"):
        population = Population.read(file, **read, metrics=metrics)
    metrics = metrics or [population.vocabulary.default_metric]
    if curve:
        refused = {"design": names, "threshold-for": threshold_for, "out": out, "bins": bins}
        refuse_with_curve(**refused, classifier=classifiers, aux=columns.get("aux"))
        within = {name: goal[name] for name in ("within", "confidence") if name in goal}
        show_curves(
            population,
            as_json=as_json,
            metric=goal.get("metric", "accuracy"),
            budget=budget and _budgets(budget)[0],
            replications=replications,
            seed=seed,
            **within,
        )
        raise typer.Exit
    question = Question(
        population=population,
        names=names,
        bins=bins,
        metrics=tuple(metrics),
        budgets=None if budget is None else _budgets(budget),
        replications=replications,
        seed=seed,
        parent=parent,
        assume=0.5 if assume is None else assume,
        **{name: goal[name] for name in goal if name not in ("metric", "metrics")},
    )
    with progress_bar("simulating") as progress:
        result = question.answer(workers=workers, progress=progress)
    if as_json:
        emit(result.to_dict())
    else:
        console().print(view([_about(file, question, result), *result.tables]))
    if out is not None and result.rows:
        files = [out / "rows.csv"]
        files[0].write_text(rows_csv(result), encoding="utf-8")
        if not result.interrupted:  # half of the work makes no picture
            with working("drawing the pictures"):
                files += draw(question, result, out, _at_threshold(file, read))
        if not as_json:
            say_saved(console(), f"{counted(len(files), 'file')} in {out}")
    if result.interrupted:
        say("interrupted: ", "cyan", "the rows are those that were finished")
        raise typer.Exit(INTERRUPTED)


def _refuse_no_design(names: tuple[str, ...] | None) -> None:
    if names == ():
        designs = f"designs: {', '.join(DESIGN_NAMES)}"
        raise DesignError("--design is empty", details=designs)


def _refuse_for_one_metric(**given: object) -> None:
    """Raise if an option is given that does not apply to one metric."""
    for name, value in given.items():
        if value is not None:
            raise DesignError(f"--{name} applies only to several metrics", hint="leave it out")


def _columns_for_threshold(
    threshold_for: str | None, needed: Mapping[str, object], others: Mapping[str, object]
) -> dict[str, float]:
    """Threshold below every score, if a threshold is to be found.

    `needed`, `others`: options that it needs, and those that do not go with it; None if not given.
    """
    if threshold_for is None:
        return {}
    refuse(others, {"threshold_for": threshold_for})
    for name, example in (("score", "p"), ("budget", "1000")):
        if needed[name] is None:
            raise DesignError(
                f"--threshold-for {threshold_for!r} needs --{name}",
                hint=f"as in --{name} {example}",
            )
    return {"threshold": EVERY_SCORE}


def _at_threshold(file: str, columns: dict[str, Any]) -> AtThreshold | None:
    """Make a function that gives the same items another threshold, if there are scores."""
    if columns.get("score") is None:
        return None
    items = read_labelled(file, **columns)
    return lambda at: Population(y_true=items.truth, y_score=items.score, threshold=at)


def _words(given: list[str]) -> tuple[str, ...]:
    words = [word.strip().lower() for several in given for word in several.split(",")]
    return tuple(dict.fromkeys(word for word in words if word))


def _budgets(text: str) -> tuple[int, ...]:
    """Numbers of a list such as 100,200,500, in order."""
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise DesignError(
            f"budget must be whole numbers separated by commas, got {text!r}",
            hint="for example --budget 100,200,500",
        ) from None


# The population in the terminal, above the tables.

_Facts = list[tuple[str, str]]


def rows_csv(result: Simulation) -> str:
    """Line for each design and metric, under the names of the JSON document."""
    text = io.StringIO()
    names, rows = result.flat_rows
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _about(file: str, question: Question, result: Simulation) -> Pairs:
    """Source, goal and runs."""
    if result.goal.threshold_for is not None:
        rows = _facts_of_threshold(file, question, result)
    elif question.population.of_classes:
        rows = _facts_of_classes(file, question, result)
    elif not result.goal.single:
        rows = _facts_of_several(file, question, result, result.goal)
    else:
        rows = _facts_of_one(file, question, result, result.goal)
    return Pairs(tuple(rows))


def _facts_of_one(file: str, question: Question, result: Simulation, goal: Goal) -> _Facts:
    population = result.population
    yes, positive = population["predicted_positives"], population["positives"]
    conditions = f"at {percent(goal.confidence)} confidence"
    if question.budgets is not None:
        conditions = f"after {_numbers(question.budgets)} labels, intervals {conditions}"
    if goal.within is not None:
        conditions = f"within ±{goal.within:g}, {conditions}"
    if goal.at_least is not None:
        conditions = f"is it at least {goal.at_least:g}? {conditions}"
    limit = f"designs by score need at least {population['limit']:.0%} of random sampling's labels"
    if goal.within is not None:
        design, clean = population["limit_labels"], population["floor_labels"]
        limit += f": {design:,.0f}; to confirm that clean strata are clean takes {clean:,.0f}"
    return [
        (
            "read",
            f"{file}: {population['rows']:,} items, {yes:,} predicted yes, {positive:,} are yes",
        ),
        ("truth", f"{metric_name(population['metric'])} {population['value']:.4f}"),
        ("goal", conditions),
        ("runs", _replications(question)),
        ("limit", limit),
    ]


def _facts_of_threshold(file: str, question: Question, result: Simulation) -> _Facts:
    population, goal = result.population, result.goal
    best = "no threshold reaches it"
    if population["best"] is not None:
        best = f"the best threshold has {population['wanted']} {population['best']:.4f}"
    conditions = f"after {_numbers(question.budgets or ())} labels, at {percent(goal.confidence)}"
    return [
        ("read", f"{file}: {population['rows']:,} items, {population['positives']:,} are yes"),
        ("goal", f"{goal.threshold_for} {conditions} confidence"),
        ("truth", best),
        ("runs", _replications(question)),
    ]


def _facts_of_several(file: str, question: Question, result: Simulation, goal: Goal) -> _Facts:
    population = result.population
    yes = ", ".join(
        f"{name} {items:,}" for name, items in population["predicted_positives"].items()
    )
    confidence = f"{percent(goal.confidence)} confidence"
    confidence = (
        f"{confidence} in all metrics at once"
        if goal.simultaneous
        else f"{confidence} in each metric"
    )
    if question.budgets is not None:
        confidence = f"{confidence}; joint takes at most {_numbers(question.budgets)} labels"
    facts: _Facts = [
        ("read", f"{file}: {population['rows']:,} items, {population['positives']:,} are yes"),
        ("predicted yes", yes),
        ("goal", confidence),
    ]
    sizes: dict[str, list[str]] = {}
    for row in result.rows:
        if row.sizes is not None:
            sizes.setdefault(_sizes(row.sizes), []).append(row.design)
    if sizes:
        facts.append(("parent", f"{population['parent']}, whose labels are recycled"))
    for text, designs in sizes.items():
        facts.append(("samples", text if len(sizes) == 1 else f"{', '.join(designs)}: {text}"))
    return [*facts, ("runs", _replications(question))]


def _facts_of_classes(file: str, question: Question, result: Simulation) -> _Facts:
    population = result.population
    confidence = f"{percent(result.goal.confidence)} confidence in each metric"
    if question.budgets is not None:
        confidence = f"{confidence}, with at most {_numbers(question.budgets)} labels"
    classes = f"{len(population['classes']):,} classes"
    items = (
        f"{file}: {population['rows']:,} items of {classes}, {population['positives']:,} "
        "predicted correctly"
    )
    return [("read", items), ("goal", confidence), ("runs", _replications(question))]


def _sizes(sizes: Sizes) -> str:
    samples = [f"{name} {n:,}" for name, n in sizes.samples.items()]
    return ", ".join(
        [*samples, f"parent's no-set {sizes.omission:,}"] if sizes.omission else samples
    )


def _replications(question: Question) -> str:
    return f"{question.replications:,} of each design, seed {question.seed}"


def _numbers(budgets: Iterable[int]) -> str:
    return ", ".join(f"{budget:,}" for budget in budgets)
