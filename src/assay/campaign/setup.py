"""Setup of a new campaign: predictions read and cut into strata, for one metric or several."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from assay.campaign.prior_labels import PriorLabels, find_prior_labels
from assay.core.design import Design, check_together, default_design, fitted, price_of_peeking
from assay.core.goal import Goal
from assay.core.strata import Strata
from assay.core.stratify import cell_strata, joint_of, sides_to_cut, stratify
from assay.core.targets import ALONE, parse_targets, slices_in
from assay.core.variable import SCALES, Scale, scale_of
from assay.errors import DesignError
from assay.predictions import (
    Classifiers,
    MemoryPredictions,
    Predictions,
    read_classifiers,
    read_predictions,
)

# Columns that are not one classifier's; `groups` where the slices have been read before.
SHARED = ("id", "show", "groups", "sample_weight")


@dataclass(frozen=True, eq=False)
class Setup:
    """All that is known when the first card can be dealt.

    `columns` are what the predictions were read with; `prior_labels` are those from before, if any;
    `cautions` are what one should be warned of.
    """

    predictions: Predictions
    columns: Mapping[str, Any]
    design: Design
    goal: Goal
    strata: Strata
    scale: Scale
    prior_labels: PriorLabels | None = None
    cautions: tuple[str, ...] = ()


def set_up_one(
    predictions: object,
    columns: Mapping[str, Any],
    goal: Goal,
    *,
    design: Design | None,
    scale: str | None,
    labels: object,
    seed: int = 0,
) -> Setup:
    """Read and cut the predictions of one classifier for one metric.

    Parameters
    ----------
    predictions, columns
        As in `create_campaign`: where predictions are, and which column is what.
    goal : Goal
    design : Design, optional
        How to sample; otherwise the default.
    scale : str, optional
        What the scores are; otherwise told by their range.
    labels
        Labels that were drawn at random before, or None.
    seed : int
        Of the deck.
    """
    design = fitted(_checked(default_design(goal) if design is None else design), goal)
    found = read_predictions(predictions, **columns, seed=seed)
    kind = scale_of(*found.score_range) if scale is None else _known_scale(scale)
    sides = sides_to_cut(
        design, goal.metric, positives=found.positives, size=found.size, source=found.source
    )
    profiles = found.profile(design.variable, kind, sides)
    strata = stratify(profiles, variable=design.variable, method=design.strata, bins=design.bins)
    if isinstance(found, MemoryPredictions) and found.weighted:
        _refuse_labels_with_weights(labels)
        strata = found.weighed(strata, scale=kind)
    check_together(design, goal, strata.n_strata)
    cautions = [price_of_peeking(design, goal)]
    prior_labels = None
    if labels is not None:
        prior_labels = _prior_labels(
            labels, found, design, strata=strata, id=columns["id"], scale=kind
        )
        cautions += [_all_alike(prior_labels, strata), prior_labels.doubt]
    told = tuple(text for text in cautions if text)
    return Setup(found, columns, design, goal, strata, kind, prior_labels, told)


def set_up_several(
    predictions: object,
    columns: Mapping[str, Any],
    *,
    classifiers: Classifiers | None,
    metric: str,
    metrics: Iterable[str] | Mapping[str, float] | None,
    within: float | None,
    budget: int | None,
    confidence: float,
    simultaneous: bool,
    design: Design | None,
    labels: object = None,
    seed: int = 0,
) -> Setup:
    """Read and cut the predictions of several classifiers, or of one for several metrics.

    Parameters
    ----------
    columns : mapping
        As for one classifier; with `classifiers` only those of `SHARED`.
    classifiers, metric, metrics, within, budget, confidence, simultaneous, design, labels, seed
        As in `create_campaign`.
    """
    around = {name: columns[name] for name in SHARED if name in columns}
    own = {name: value for name, value in columns.items() if name not in around}
    if classifiers is None:
        classifiers = {ALONE: own}
    elif given := [name for name, value in own.items() if value is not None]:
        raise DesignError(
            f"{given[0]}={own[given[0]]!r} is given beside classifiers=",
            hint=f"say whose it is: classifiers={{'cnn': {{{given[0]!r}: ...}}, ...}}",
        )
    wanted: Iterable[str] | Mapping[str, float] = [metric]
    if metrics is not None:  # it is gone through twice
        wanted = metrics if isinstance(metrics, str | Mapping) else list(metrics)
    columns = {"classifiers": classifiers, **around}
    if groups := slices_in(wanted):
        columns.setdefault("groups", list(groups))
    found = read_classifiers(predictions, **columns, seed=seed)
    targets = parse_targets(wanted, found.classifiers, within=within, slices=found.groups.names)
    goal = Goal(targets=targets, budget=budget, confidence=confidence, simultaneous=simultaneous)
    design = _checked(Design() if design is None else design)
    strata = cell_strata(found, goal, design)
    if isinstance(found, MemoryPredictions) and found.weighted:
        _refuse_labels_with_weights(labels)
        strata = found.weighed(strata, scale="probability")
    joint_of(design, goal, strata)  # raises where the design serves one metric only
    for each in goal.goals:
        check_together(design, each, strata.n_strata)
    prior_labels, doubt = None, ""
    if labels is not None:
        every = find_prior_labels(
            labels,
            found,
            id_column=columns["id"],
            variable="rank",
            scale="probability",
            sides=[None],
        )
        prior_labels, doubt = every.only(strata), every.doubt
    cautions = (doubt,) if doubt else ()
    return Setup(found, columns, design, goal, strata, "probability", prior_labels, cautions)


def _checked(design: object) -> Design:
    if not isinstance(design, Design):
        raise DesignError(f"design must be a Design, got {design!r}")
    return design


def _known_scale(scale: str) -> Scale:
    for known in ("probability", "margin"):
        if scale == known:
            return known
    raise DesignError(f"unknown scale {scale!r}", details=f"scales: {', '.join(SCALES)}")


def _prior_labels(
    labels: object,
    found: Predictions,
    design: Design,
    *,
    strata: Strata,
    id: str | None,
    scale: Scale,
) -> PriorLabels:
    """Find the labels from before."""
    if design.bets:
        raise DesignError(
            "a guaranteed campaign cannot go on from labels that were there before",
            details="its theorem is about bets that are placed before each card is drawn",
            hint="leave out the labels, or go on from them with another design",
        )
    return find_prior_labels(
        labels,
        found,
        id_column=id,
        variable=design.variable,
        scale=scale,
        sides=strata.sides,
    )


def _refuse_labels_with_weights(labels: object) -> None:
    if labels is not None:
        raise DesignError(
            "labels from before are given for items that have weights",
            details="with weights, items are drawn in proportion to weight; labels of items that "
            "were drawn in another way would bend the estimate",
            hint="leave out labels=, or sample_weight=",
        )


def _all_alike(prior_labels: PriorLabels, strata: Strata) -> str:
    """Return a warning where labels from before are of one predicted label alone, or ""."""
    if len(strata.heaps) == 1 or not prior_labels.one_side:
        return ""
    return (
        f"all {len(prior_labels.cards):,} labels from before are of items predicted "
        f"{prior_labels.one_side}; of the others none is known yet"
    )
