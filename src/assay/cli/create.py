"""``assay create``: from a file of predictions to a campaign."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

import typer

from assay.campaign import create_campaign
from assay.cli import options
from assay.cli.output import AsJson, telling_errors
from assay.cli.summary import document, make_campaign, render_campaign
from assay.core.cut_methods import METHODS
from assay.core.design import ALLOCATIONS, MODES, Design
from assay.core.floors import refuse_beside
from assay.core.types import one_of
from assay.errors import DesignError, did_you_mean
from assay.labelling import Reviewing
from assay.predictions import ScoreOf, ScoreScale

_PRESETS = ("default", "bennett-carvalho", "kumar-raj", "random")


def _sampling(text: str, metavar: str | None = None) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel="Design")


def _reviewing(text: str, metavar: str) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel="Reviewing")


def create(
    file: options.PredictionsFile = None,
    *,
    id_column: options.IdColumn = None,
    score: options.ScoreColumn = None,
    predicted: options.PredictedColumn = None,
    threshold: options.Threshold = None,
    positive: options.Positive = None,
    score_of: options.ScoreOfClass = None,
    sample_weight: options.WeightColumn = None,
    classifier: options.ClassifierColumns = None,
    show: options.Shown = None,
    slices: options.SliceColumns = None,
    aux: options.AuxColumns = None,
    classes: options.ClassesFile = None,
    probabilities: options.Probabilities = None,
    multi_label: options.MultiLabel = False,
    learned_from: Annotated[
        str | None,
        options.about_data(
            "Begin with what the labels of an earlier campaign say of --aux.", metavar="NAME"
        ),
    ] = None,
    scale: options.ScaleName = None,
    where: options.Where = None,
    table: options.TableName = None,
    engine: options.EngineName = None,
    spark: options.SparkUrl = None,
    check_ids: options.CheckIds = False,
    encoding: options.Encoding = None,
    metric: options.Metrics = None,
    within: Annotated[
        float | None, options.about_goal("Stop at this half-width; 0.02 is ±2 points.")
    ] = None,
    budget: Annotated[int | None, options.about_goal("Stop after so many answers.")] = None,
    confidence: Annotated[float, options.about_goal("How sure the answer must be.")] = 0.95,
    simultaneous: options.Simultaneous = False,
    at_least: Annotated[
        float | None, options.about_goal("Stop at a sure yes or no: is it at least this?")
    ] = None,
    threshold_for: options.ThresholdFor = None,
    gain: options.Gain = None,
    sample_of: Annotated[
        int | None,
        options.about_goal(
            "The predictions are a random sample of so many items: the answer is about all.", "N"
        ),
    ] = None,
    mode: Annotated[str | None, _sampling(f"{', '.join(MODES)}.", "MODE")] = None,
    design: Annotated[str, _sampling(f"{', '.join(_PRESETS)}.", "PRESET")] = "default",
    strata: Annotated[str | None, _sampling(f"{', '.join(METHODS)}.", "METHOD")] = None,
    bins: Annotated[int | None, _sampling("Strata a predicted label; with auto, in all.")] = None,
    allocation: Annotated[str | None, _sampling(f"{', '.join(ALLOCATIONS)}.", "RULE")] = None,
    labels_from: Annotated[
        str | None,
        _sampling("Go on from labels of items drawn at random before: .csv or .parquet.", "LABELS"),
    ] = None,
    seed: Annotated[int, _sampling("Fixes every draw.")] = 0,
    question: Annotated[
        str | None, _reviewing("What reviewers are asked of every item.", "TEXT")
    ] = None,
    reviewers_per_item: Annotated[
        int, _reviewing("So many reviewers judge each item of the share.", "K")
    ] = 1,
    overlap: Annotated[
        float, _reviewing("The share of items, drawn at random, for K reviewers.", "SHARE")
    ] = 0.0,
    answers: Annotated[
        str | None,
        _reviewing('What yes and no are called: "Spam,Not spam".', "YES,NO"),
    ] = None,
    name: Annotated[str, typer.Option(help="What to call the campaign.")] = "campaign",
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make a campaign from a file of predictions."""
    with telling_errors(as_json=as_json):
        if mode is None:
            mode = "guaranteed" if at_least is not None and design == "default" else "default"
        details = {"strata": strata, "bins": bins, "allocation": allocation}
        chosen = None
        if threshold_for is None:
            chosen = _design(design, mode, **details)
        else:
            named = {"metric": metric, "mode": mode, "design": design, **details}
            refuse_beside(
                threshold_for, {k: None if v == "default" else v for k, v in named.items()}
            )
        _refuse_half_overlap(reviewers_per_item, overlap)
        classifiers = None
        if classifier:
            options.refuse_beside_classifiers(score=score, predicted=predicted, threshold=threshold)
            classifiers = options.parse_classifiers(
                classifier,
                positive=positive,
                score_of=score_of,
                scale=scale,
                multi_label=multi_label,
            )
        metrics = metric or []
        scan = options.scan_of(
            file,
            engine=engine,
            where=where,
            table=table,
            spark=spark,
            check_ids=check_ids,
            encoding=encoding,
        )
        make = partial(
            create_campaign,
            scan,
            id=id_column,
            score=score,
            predicted=predicted,
            threshold=threshold,
            positive=None if classifier else positive,
            # What is none of the words is refused by name.
            score_of=None if classifier else cast(ScoreOf | None, score_of),
            classifiers=classifiers,
            show=show or (),
            slices=slices or (),
            sample_weight=sample_weight,
            aux=aux or (),
            learned_from=learned_from,
            scale=None if classifier else cast(ScoreScale | None, scale),
            classes=classes,
            multilabel=multi_label,
            probabilities=probabilities,
            metric=metrics[0] if metrics else None,
            metrics=None if options.is_one_metric(metrics) else metrics,
            within=within,
            budget=budget,
            confidence=confidence,
            simultaneous=simultaneous,
            at_least=at_least,
            threshold_for=threshold_for,
            gain=options.gain_of(gain, threshold_for),
            sample_of=sample_of,
            design=chosen,
            labels=labels_from,
            question=question,
            reviewers_per_item=reviewers_per_item,
            overlap=overlap,
            answers=_answers(answers),
            name=name,
            storage=options.storage_url(storage),
            seed=seed,
        )
        told = partial(document, scale_given=scale is not None)
        shown = partial(render_campaign, scale_given=scale is not None)
        make_campaign(make, file or str(table), told, shown, storage, as_json=as_json)


def _answers(text: str | None) -> tuple[str, str] | None:
    """Return the names of two answers, which a comma stands between."""
    if text is None:
        return None
    yes, _, no = text.partition(",")
    try:
        return Reviewing(answers=(yes, no)).answers
    except DesignError as error:
        hint = 'give both with a comma between them, as in --answers "Spam,Not spam"'
        raise DesignError(f"--answers: {error.problem}", details=error.details, hint=hint) from None


def _refuse_half_overlap(reviewers: int, overlap: float) -> None:
    """Raise where one of two options that go together is missing, in the words to type."""
    given = {"--reviewers-per-item": reviewers > 1, "--overlap": overlap > 0}
    if sum(given.values()) == 1:
        there, missing = sorted(given, key=given.__getitem__, reverse=True)
        raise DesignError(
            f"{there} needs {missing}: several reviewers an item and a share above 0 go together",
            hint="for two reviewers on a tenth of the items: --reviewers-per-item 2 --overlap 0.1",
        )


def _design(preset: str, mode: str, **choices: str | int | None) -> Design:
    given: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
    one_of("mode", mode, tuple(MODES))
    if mode != "default" and preset != "default":
        raise DesignError(
            f"mode {mode!r} is one of Assay's own design, and --design {preset} is another's",
            hint="leave one of the two out",
        )
    match preset:
        case "default":
            return replace(MODES[mode], **given)
        case "bennett-carvalho":
            return Design.bennett_carvalho(**given)
        case "kumar-raj":
            return Design.kumar_raj(**given)
        case "random" if given:
            raise DesignError(
                f"simple random sampling has no strata, so --{next(iter(given))} means nothing",
                hint="leave it out, or choose another --design",
            )
        case "random":
            return Design.simple_random()
    raise DesignError(
        f"unknown design {preset!r}",
        details=f"designs: {', '.join(_PRESETS)}",
        hint=did_you_mean(preset, _PRESETS),
    )
