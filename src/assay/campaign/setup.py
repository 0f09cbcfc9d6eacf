"""Setup of a new campaign: predictions read and cut into strata, for one or several metrics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.campaign.classes import classes_of, of_any, refuse_unranked
from assay.campaign.prior_labels import PriorLabels, find_prior_labels
from assay.core.bins import Scale, scale_of
from assay.core.design import Design, check_together, default_design, fitted, price_of_peeking
from assay.core.error_model import Model
from assay.core.evaluation import procedure_of
from assay.core.goal import EVERY_SCORE, Asked, Goal
from assay.core.metrics import least_top
from assay.core.rules import refuse
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, sides_to_cut, stratify
from assay.core.targets import Target, parse_targets, slices_in
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, did_you_mean
from assay.labelling import Lessons
from assay.predictions import (
    SCORE_SCALES,
    Classifiers,
    Columns,
    Doubt,
    Given,
    Predictions,
    as_mappings,
    as_scan,
    bound_seed,
    by_name,
    find_labels,
    read_predictions,
    stays_in_place,
    with_top,
)

# Columns shared by all classifiers; `groups` if the slices have been read before.
SHARED = ("id", "show", "groups", "sample_weight", "aux", "model")


@dataclass(frozen=True, eq=False)
class Setup:
    """All that is known when the first card can be dealt.

    `columns`: what the predictions were read with; `scores`: further columns read, to be kept with
    the cards; `prior_labels`: prior labels, if any; `cautions`: warnings for the user; `doubts`:
    apparent problems of the scores; `seed`: seed of the draw, and `opinions` the digest of the
    columns for a model that it depends on; `lessons`: what an earlier campaign learned of these
    columns, if strata are cut by that; `by_score`: strata that the score would have given;
    `classes`: classes of the items.
    """

    predictions: Predictions
    columns: Mapping[str, Any]
    design: Design
    goal: Goal
    strata: Strata
    scale: Scale
    prior_labels: PriorLabels | None = None
    cautions: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    scores: tuple[str, ...] = ()
    seed: int = 0
    opinions: int | None = None
    lessons: Lessons | None = None
    by_score: Strata | None = None
    classes: Vocabulary = field(default_factory=Vocabulary)


def set_up(
    # predictions, columns: source and column roles; with `classifiers` only those of `SHARED`.
    predictions: object,
    columns: Mapping[str, Any],
    asked: Asked,
    *,
    classifiers: Classifiers | None = None,
    classes: Given | None = None,
    scale: str | None = None,
    design: Design | None = None,
    labels: object = None,
    seed: int = 0,
    # Whether the seed depends on the columns of `aux`, as in a new campaign.
    bind: bool = False,
    # Whether to refuse scores that look wrong. A continued campaign has accepted them before.
    doubted: bool = True,
) -> Setup:
    """Read predictions, and cut them for the requested metrics.

    One metric of one unnamed classifier is cut by the score, everything else by the rank.
    """
    metrics, metric = asked.metrics, asked.name
    columns = _columns_for_threshold(columns, classifiers, metrics, asked.threshold_for)
    if metrics is not None and not isinstance(metrics, str | Mapping):
        metrics = list(metrics)  # it is iterated several times
    named = [metric or "", *(metrics or ())]
    known = classes_of(predictions, columns, classifiers, classes, named, look=False)
    vocabulary = known or Vocabulary()
    if known is not None:
        one = {"threshold": columns.get("threshold")} if vocabulary.has_matrix else {}
        names = ("positive", "score_of", "sample_weight", "aux")
        named_of_one = {**one, **{name: columns.get(name) for name in names}}
        mode = "guaranteed" if design is not None and design.bets else None
        goal = {"at_least": asked.at_least, "threshold_for": asked.threshold_for, "mode": mode}
        refuse({**named_of_one, **goal}, {"classes": True})
    metric = metric or vocabulary.default_metric
    given = _Given(predictions, columns, design, seed, bind)
    if classifiers is None and metrics is None and "[" not in metric and known is None:
        cut = given.cut_for_one(asked.goal_of(metric), scale)
    else:
        refuse({"at_least": asked.at_least, "sample_of": asked.sample_of, "several": True})
        wanted = [metric] if metrics is None else metrics
        cut = given.cut_for_several(wanted, asked, classifiers, known)
    for doubt in cut.doubts if doubted else ():
        doubt.refuse()
    return _checked(replace(cut, classes=vocabulary), labels)


@dataclass(frozen=True, eq=False)
class _Given:
    """Options for reading and cutting predictions."""

    predictions: object
    columns: Mapping[str, Any]
    design: Design | None
    seed: int
    bind: bool

    def cut_for_one(self, goal: Goal, scale: str | None) -> Setup:
        """Cut the predictions of one unnamed classifier by the score, for one metric."""
        design = fitted(_design(default_design(goal) if self.design is None else self.design), goal)
        read, scores = _with_scores(self.predictions, self.columns)
        predictions = read_predictions(self.predictions, **read, seed=self.seed, bind=self.bind)
        if goal.sample_of is not None:
            goal = replace(goal, sample_size=predictions.size)
        kind = scale_of(*predictions.score_range) if scale is None else _known_scale(scale)
        self._refuse_unfit(design)
        strata = strata_of_one(predictions, goal, design, kind)
        beside = self._beside(predictions, self.columns)
        return Setup(predictions, self.columns, design, goal, strata, kind, scores=scores, **beside)

    def cut_for_several(
        self,
        wanted: Iterable[str] | Mapping[str, float],  # targets, as given
        asked: Asked,
        classifiers: Classifiers | None,
        known: Vocabulary | None,
    ) -> Setup:
        """Cut the predictions of named classifiers by the rank, for several targets."""
        design = _design(Design() if self.design is None else self.design)
        self._refuse_unfit(design)
        slices = () if known else slices_in(wanted)
        to_read = not isinstance(as_scan(self.predictions).source, Predictions)
        top = least_top(wanted) if to_read and known and known.has_matrix else None
        columns = _columns_of_several(self.columns, classifiers, slices, top)
        read, scores = _with_scores(self.predictions, columns)
        predictions = read_predictions(self.predictions, **read, seed=self.seed, classes=known)
        goal = Goal(
            targets=_targets(wanted, predictions, asked.within),
            budget=asked.budget,
            confidence=asked.confidence,
            simultaneous=asked.simultaneous,
        )
        by_model = columns.get("model") is not None
        strata = strata_of(predictions, goal, design, "probability", by_model=by_model)
        kind: Scale = "margin" if by_model else "probability"
        beside = self._beside(predictions, columns)
        return Setup(predictions, columns, design, goal, strata, kind, scores=scores, **beside)

    def _refuse_unfit(self, design: Design) -> None:
        """Raise if a recut by a model is requested but not possible."""
        cut = "what is predicted" if design.recycles else str(design.variable)
        aux, weight = list(self.columns.get("aux") or ()), self.columns.get("sample_weight")
        refuse({"aux": aux, "sample_weight": weight, "cut": None if cut == "score" else cut})

    def _beside(self, predictions: Predictions, columns: Mapping[str, Any]) -> dict[str, Any]:
        seed, opinions = self.seed, None
        if self.bind and columns.get("aux"):  # the order depends on what these columns say
            opinions = predictions.opinions_digest()
            seed = bound_seed(seed, opinions)
        return {"doubts": predictions.doubts, "seed": seed, "opinions": opinions}


def _checked(setup: Setup, labels: object) -> Setup:
    """Check that a setup's design, goal and prior labels fit together."""
    predictions, design, goal, strata = setup.predictions, setup.design, setup.goal, setup.strata
    sides: list[bool | None] = strata.sides if goal.single else [None]
    given = {"labels": labels is not None, "sample_of": goal.sample_of}
    if predictions.weighted:
        refuse(given, {"sample_weight": True})
        strata = predictions.weighed(strata, scale=setup.scale)
    if not goal.single or design.recycles:
        procedure_of(design, goal, strata, None, 0)  # raises if the design does not support it
    for each in goal.goals:
        check_together(design, each, strata.n_strata)
    cautions = [price_of_peeking(design, goal)] if goal.single else []
    prior_labels = None
    if labels is not None:
        refuse(given, {"bets": design.bets, "recycled": design.recycles})
        prior_labels = find_prior_labels(
            labels,
            predictions,
            id_column=setup.columns["id"],
            variable=design.variable if goal.single else "rank",
            scale=setup.scale,
            sides=sides,
            classes=setup.classes,
        ).only(strata)
        cautions += [_all_alike(prior_labels, strata) if goal.single else "", prior_labels.doubt]
    shown_cautions = tuple(text for text in cautions if text)
    return replace(setup, strata=strata, prior_labels=prior_labels, cautions=shown_cautions)


def _targets(
    # wanted, within: as `metrics` and `within` in `create_campaign`.
    wanted: Iterable[str] | Mapping[str, float],
    predictions: Predictions,
    within: float | None,
) -> tuple[Target, ...]:
    """Read the requested targets; raise if the predictions lack what they need."""
    targets = parse_targets(
        wanted,
        predictions.classifiers,
        within=within,
        slices=predictions.groups.names,
        classes=predictions.vocabulary,
    )
    refuse_unranked(targets, predictions)
    return targets


def set_up_of_any(
    predictions: object, columns: Columns, read: Mapping[str, Any], asked: Asked, **more: Any
) -> Setup:
    """Like `set_up`, with the classes that predictions name if they are not yes and no."""

    def make(known: Given | None) -> Setup:
        return set_up(
            predictions,
            read,
            asked,
            classifiers=columns.classifiers,
            classes=known,
            scale=columns.scale,
            **more,
        )

    if columns.multilabel:
        return make(find_labels(predictions, read, columns.classifiers, columns.classes))
    return of_any(make, predictions, read, columns.classifiers, columns.classes)


def _columns_for_threshold(
    columns: Mapping[str, Any], classifiers: object, metrics: object, wanted: str | None
) -> Mapping[str, Any]:
    """Columns, with the threshold `EVERY_SCORE` if a threshold is to be found."""
    if wanted is None:
        return columns
    threshold = None if columns.get("threshold") == EVERY_SCORE else columns.get("threshold")
    given = {name: columns.get(name) for name in ("predicted", "sample_weight", "aux")}
    given |= {"threshold": threshold, "classifiers": classifiers, "metrics": metrics}
    refuse(given, {"threshold_for": wanted})
    if columns.get("score") is None:
        raise DesignError(
            f"threshold_for={wanted!r} needs scores",
            hint="name the column with the classifier's score: score='p'",
        )
    return {**columns, "threshold": EVERY_SCORE}


def _with_scores(
    predictions: object, columns: Mapping[str, Any]
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Choose reading options that keep scores with the cards, and the columns to keep.

    These are scores and second opinions. Predictions that stay in place would be read again for
    them: there they are kept only together with other columns.
    """
    scan, show = as_scan(predictions), columns.get("show", ())
    each = columns.get("classifiers", {"": columns})
    roles = each.values() if isinstance(each, Mapping) else ()
    names = [one.get("score") for one in roles if isinstance(one, Mapping)]
    every = [*names, *columns.get("aux", ())]
    scores = tuple(dict.fromkeys(name for name in every if isinstance(name, str)))
    if not scores or isinstance(scan.source, Predictions) or not isinstance(show, list | tuple):
        return columns, ()
    of_several = ("aux", "sample_weight") if "classifiers" in columns else ()
    in_memory = ("groups", *of_several)
    may_stay = not any(columns.get(name) for name in in_memory)
    if may_stay and not show and stays_in_place(scan, columns["id"]):
        return columns, ()
    return {**columns, "show": list(dict.fromkeys([*show, *scores]))}, scores


def strata_of(
    predictions: Predictions, goal: Goal, design: Design, scale: Scale, *, by_model: bool = False
) -> Strata:
    """Cut predictions for one metric, or for several targets."""
    if goal.single:
        return strata_of_one(predictions, goal, design, scale, "spread" if by_model else None)
    return cell_strata(predictions, goal, design, by_model=by_model)


def strata_of_one(
    predictions: Predictions, goal: Goal, design: Design, scale: Scale, method: str | None = None
) -> Strata:
    """Cut the predictions of one classifier for one metric.

    `scale`: scale of the scores.
    """
    # For an unknown threshold every item may be predicted yes, whatever has a floor.
    metric = goal.metric if goal.threshold_for is None else "precision"
    counts = (predictions.positives, predictions.size)
    sides = sides_to_cut(design, metric, *counts, predictions.source)
    profiles = predictions.profile(design.variable, scale, sides)
    method = design.strata if method is None else method
    return stratify(profiles, variable=design.variable, method=method, bins=design.bins)


def by_lessons(setup: Setup, lessons: Lessons | None) -> Setup:
    """Cut the strata by an earlier campaign's lessons instead of the score."""
    if lessons is None:
        return setup
    several, labels = not setup.goal.single, setup.prior_labels is not None
    refuse({"learned_from": lessons.campaign, "several": several, "labels": labels})
    predictions = setup.predictions.with_model(Model.from_dict(lessons.model))
    return replace(
        setup,
        predictions=predictions,
        columns={**setup.columns, "model": lessons.model},
        strata=strata_of_one(predictions, setup.goal, setup.design, "margin", "spread"),
        scale="margin",
        lessons=lessons,
        by_score=setup.strata,
    )


def seed_after(seed: int, lessons: Lessons | None) -> int:
    """Seed whose order is independent of the labels that trained the lessons."""
    return seed if lessons is None else bound_seed(seed, Model.from_dict(lessons.model).digest)


def _columns_of_several(
    columns: Mapping[str, Any],
    classifiers: Classifiers | None,
    slices: Iterable[str],
    top: int | None,  # `Roles.top` of those with probabilities of all classes, if new
) -> dict[str, Any]:
    """Columns of named classifiers, with those of the requested slices."""
    around = {name: columns[name] for name in SHARED if name in columns}
    own = {name: value for name, value in columns.items() if name not in around}
    if classifiers is None:
        classifiers = by_name(classifiers, own)
    elif given := [name for name, value in own.items() if value is not None]:
        raise DesignError(
            f"{given[0]}={own[given[0]]!r} cannot be combined with classifiers=",
            hint=f"name the classifier: classifiers={{'cnn': {{{given[0]!r}: ...}}, ...}}",
        )
    if isinstance(classifiers, Mapping):
        classifiers = as_mappings(classifiers) if top is None else with_top(classifiers, top)
    settings = {"classifiers": classifiers, **around}
    if slices:
        settings.setdefault("groups", list(slices))
    return settings


def _design(design: object) -> Design:
    if not isinstance(design, Design):
        raise DesignError(f"design must be a Design, got {design!r}")
    return design


def _known_scale(scale: str) -> Scale:
    if scale not in SCORE_SCALES:
        raise DesignError(
            f"unknown scale {scale!r}",
            details=f"scales: {', '.join(SCORE_SCALES)}",
            hint=did_you_mean(str(scale), SCORE_SCALES),
        )
    return "margin" if scale == "margin" else "probability"  # percentages are read as these


def _all_alike(prior_labels: PriorLabels, strata: Strata) -> str:
    """Warning if all prior labels are of one predicted label, or ""."""
    if len(strata.heaps) == 1 or not prior_labels.one_side:
        return ""
    return (
        f"all {len(prior_labels.cards):,} earlier labels are of items predicted "
        f"{prior_labels.one_side}; of the others none is known yet"
    )
