"""``assay create``: a campaign from a file of predictions."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from assay.campaign import Campaign, create_campaign, replacing
from assay.cli import options
from assay.cli.output import AsJson
from assay.cli.proposed import completed
from assay.cli.summary import document, make_campaign, render_campaign
from assay.cli.taking import Typed, flag, option, takes
from assay.core.cut_methods import METHODS
from assay.core.design import ALLOCATIONS, MODES, Design
from assay.core.goal import Asked
from assay.core.rules import refuse
from assay.core.types import one_of
from assay.errors import DesignError, did_you_mean
from assay.labelling import Reviewing
from assay.options import options_of
from assay.predictions import Columns, Scan
from assay.storage import open_store

_PAPER_3 = ("assume", "parent")
_PRESETS: dict[str, Callable[..., Design]] = {
    "default": Design,
    "bennett-carvalho": Design.bennett_carvalho,
    "kumar-raj": Design.kumar_raj,
    "recycle": partial(Design.recycle, option="shuffle"),
    "recycle-sample": partial(Design.recycle, option="sample"),
    "random": Design.simple_random,
}
_WITHOUT_STRATA = {"recycle": "recycled samples have", "random": "simple random sampling has"}


_sampling = partial(option, panel="Design")


@takes(
    columns=options_of(Columns),
    source=options_of(Scan),
    asked=options_of(Asked),
    judging=options_of(Reviewing),
)
def create(
    file: options.PredictionsFile = None,
    *,
    columns: Typed,
    learned_from: Annotated[
        str | None,
        options.about_data(
            "Start from what an earlier campaign learned about the --aux columns.", "NAME"
        ),
    ] = None,
    source: Typed,
    asked: Typed,
    mode: Annotated[str | None, _sampling(f"{', '.join(MODES)}.", "MODE")] = None,
    design: Annotated[str, _sampling(f"{', '.join(_PRESETS)}.", "PRESET")] = "default",
    strata: Annotated[str | None, _sampling(f"{', '.join(METHODS)}.", "METHOD")] = None,
    bins: Annotated[
        int | None, _sampling("Number of strata per predicted label; with auto, in total.")
    ] = None,
    allocation: Annotated[str | None, _sampling(f"{', '.join(ALLOCATIONS)}.", "RULE")] = None,
    assume: Annotated[
        float | None, _sampling("With recycle: lower bound of every precision. Default: 0.5.")
    ] = None,
    parent: Annotated[
        str | None, _sampling("With recycle: classifier to sample first.", "NAME")
    ] = None,
    labels: Annotated[
        str | None,
        _sampling("Continue from the labels of a random sample: .csv or .parquet.", "LABELS"),
    ] = None,
    seed: Annotated[int, _sampling("Random seed of every draw.")] = 0,
    judging: Typed,
    name: Annotated[str, option("Name of the campaign.")] = "campaign",
    in_place: Annotated[
        bool, flag("Replace the campaign of this name, if nobody has answered yet.", "--replace")
    ] = False,
    storage: options.StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Create a campaign from a file of predictions.

    Without options, Assay shows the columns of the file and proposes a command.
    """
    columns, asked = completed(file, source, columns, asked, as_json=as_json)
    if mode is None:
        mode = "guaranteed" if "at_least" in asked and design == "default" else "default"
    cut = {"strata": strata, "bins": bins, "allocation": allocation}
    details = {**cut, "assume": assume, "parent": parent}
    chosen = None
    if "threshold_for" not in asked:
        chosen = _design(design, mode, **details)
    else:
        named = {"metric": asked.get("metric"), "mode": mode, "design": design, **details}
        others = {k: None if v == "default" else v for k, v in named.items()}
        refuse(others, {"threshold_for": asked["threshold_for"]})
    make = partial(
        create_campaign,
        options.scan_of(file, source),
        **options.columns_of(columns),
        learned_from=learned_from,
        **options.asked_of(asked),
        design=chosen,
        labels=labels,
        **_judging(judging),
        name=name,
        storage=options.storage_url(storage),
        seed=seed,
    )
    if in_place:
        make = partial(_in_place, make, name, storage)

    def made() -> Campaign:
        from assay.simulation import forecast  # takes long to load

        return forecast(make())

    scale_given = "scale" in columns
    make_document = partial(document, scale_given=scale_given)
    make_view = partial(render_campaign, scale_given=scale_given)
    make_campaign(made, file or source["table"], make_document, make_view, storage, as_json=as_json)


def _in_place(make: Callable[[], Campaign], name: str, storage: str | None) -> Campaign:
    with replacing(open_store(options.existing(storage)), name):
        return make()


def _judging(typed: Typed) -> dict[str, Any]:
    """How people judge, as the library takes it."""
    _refuse_half_overlap(typed.get("reviewers_per_item", 1), typed.get("overlap", 0.0))
    return {**typed, **({"answers": _answers(typed["answers"])} if "answers" in typed else {})}


def _answers(text: str) -> tuple[str, str] | None:
    """Names of two answers, separated by a comma."""
    yes, _, no = text.partition(",")
    try:
        return Reviewing(answers=(yes, no)).answers
    except DesignError as error:
        hint = 'give both with a comma between them, as in --answers "Spam,Not spam"'
        raise DesignError(f"--answers: {error.problem}", details=error.details, hint=hint) from None


def _refuse_half_overlap(reviewers: int, overlap: float) -> None:
    """Raise if one of two options that go together is missing, in the words to type."""
    given = {"--reviewers-per-item": reviewers > 1, "--overlap": overlap > 0}
    if sum(given.values()) == 1:
        present, missing = sorted(given, key=given.__getitem__, reverse=True)
        raise DesignError(
            f"{present} needs {missing}: give the number of reviewers and the share of items "
            "that they all label",
            hint="for two reviewers on a tenth of the items: --reviewers-per-item 2 --overlap 0.1",
        )


def _design(preset: str, mode: str, **choices: str | float | None) -> Design:
    given: dict[str, Any] = {name: value for name, value in choices.items() if value is not None}
    one_of("mode", mode, tuple(MODES))
    if mode != "default" and preset != "default":
        raise DesignError(
            f"--mode {mode} belongs to Assay's own design and cannot be combined with "
            f"--design {preset}",
            hint="leave one of the two out",
        )
    if preset not in _PRESETS:
        raise DesignError(
            f"unknown design {preset!r}",
            details=f"designs: {', '.join(_PRESETS)}",
            hint=did_you_mean(preset, _PRESETS),
        )
    family = preset.partition("-")[0]
    for name, value in given.items():
        if name in _PAPER_3 and family != "recycle":
            raise DesignError(
                f"--{name} {value} applies only to --design recycle",
                hint="leave it out, or add --design recycle",
            )
        if name not in _PAPER_3 and family in _WITHOUT_STRATA:
            raise DesignError(
                f"--{name} does not apply: {_WITHOUT_STRATA[family]} no strata",
                hint="leave it out, or choose another --design",
            )
    return replace(MODES[mode], **given) if mode != "default" else _PRESETS[preset](**given)
