"""`plan`: the likely cost of an evaluation, before any labelling.

Forecasts are simulations, not formulas: whole evaluations are replayed on an assumed truth by the
loop that runs campaigns (`assay.simulation`). The truth is the uncertain part, and the plan states
its assumption.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.campaign import read_of_any
from assay.core.bins import Scale, scale_of
from assay.core.goal import Goal
from assay.core.label_sets import LabelSets
from assay.core.metrics import MATRIX_METRICS, METRICS, TABLE, canonical_metric
from assay.core.rules import refuse
from assay.core.targets import parse_targets
from assay.core.types import one_of, whole
from assay.errors import DesignError, InputError, did_you_mean
from assay.options import picked
from assay.predictions import (
    SCORE_SCALES,
    Columns,
    Given,
    IdColumns,
    Predictions,
    ScoreOf,
    ScoreScale,
    key_name,
    refuse_improbable,
)
from assay.simulation.planning.advice import Costs, prices_of
from assay.simulation.planning.assumed import Supposed, SupposedClasses
from assay.simulation.planning.evidence import Evidence, RankEvidence
from assay.simulation.planning.planner import ClassPlanner, LabelPlanner
from assay.simulation.planning.result import Planning
from assay.simulation.planning.thresholds import ThresholdPlanner, check_columns, reading_threshold

if TYPE_CHECKING:
    from assay.campaign import Campaign

_STEPS = 16  # replays, at most
_NO_CLASS_SCORES = (
    "name the column of the predicted classes' scores, or those of all classes' probabilities; "
    "or run assay simulate on items whose class is known"
)


def plan(
    predictions: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: IdColumns | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    classes: Given | None = None,
    probabilities: str | None = None,
    metric: str | None = None,
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    threshold_for: str | None = None,
    gain: float = 0.05,
    labels: object = None,
    like: "Campaign | None" = None,
    aux: Sequence[str] = (),
    judge_cost: float | None = None,
    label_cost: float | None = None,
    rho: float | None = None,
    replications: int = 50,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Planning:
    """Estimate the cost of an evaluation before any labelling.

    Whole evaluations are replayed on an assumed truth: from labels of an earlier period if there
    are any, and otherwise from the scores alone.

    Parameters
    ----------
    predictions, score, predicted, id, threshold, positive, score_of
        As in `create_campaign`.
    scale : {"probability", "percent", "margin"}, optional
        What the scores are; otherwise told by their range. A margin is read as log-odds.
    classes, probabilities
        As in `create_campaign`, where items are of more classes than yes and no. An item is
        supposed to be of the predicted class with the chance that its score says. If it is not, the
        probabilities say what else it is; without them it is of the other classes as often as these
        are predicted.
    metric, within, budget, confidence
        The goal, as in `create_campaign`: the labels that `within` will take, what the budget
        would give, or both. The metric is one; left out, precision, or of more classes accuracy.
    threshold_for, gain
        As in `create_campaign`, in place of `metric` and `within`: what labels would find, with the
        budget, a third and three times of it; without one, with 300, 1,000 and 3,000 and until it
        is settled.
    labels : path, mapping or pairs, optional
        Labels of items of these predictions that were drawn at random, as in `assay.estimate`.
    like : Campaign, optional
        An earlier campaign, of the same classifier on other items: its labels tell how often items
        at a score are positive. Of a period of a series or a comparison, those of the newest
        predictions' items do, by rank.
    aux : sequence of str
        The judge's column, for the words of the plan; it need not be there yet.
    judge_cost, label_cost : float, optional
        What a judge takes for one item, and what a label costs: the plan then says how many items
        to have judged, how many labels that leaves, and whether it is worth its money.
    rho : float, optional
        The correlation of the judge's verdict with the outcome among items of one score. Without
        it the plan is made for 0.5, 0.7 and 0.9.
    replications : int
        Evaluations that are replayed for each number.
    seed : int
        Fixes all numbers.
    progress : callable, optional
        Told the share that is done.

    Examples
    --------
    >>> import numpy as np
    >>> score = np.random.default_rng(0).beta(4, 1, 20_000)
    >>> planning = plan({"p": score}, score="p", threshold=0.5, within=0.1, replications=20)
    >>> 40 < planning.labels.mean < 120, planning.worst_case < 130
    (True, True)
    >>> planning = plan({"p": score}, score="p", threshold_for="precision >= 0.9", budget=150,
    ...                 replications=10)
    >>> [row.budget for row in planning.thresholds if row.supposed == "scores are calibrated"]
    [50, 150, 450]
    >>> topic = np.random.default_rng(1).choice(["math", "physics", "biology"], 20_000)
    >>> planning = plan({"topic": topic, "p": score}, predicted="topic", score="p",
    ...                 metric="macro_f1", within=0.05, replications=10)
    >>> planning.metric, 150 < planning.labels.mean < 300
    ('macro_f1', True)
    """
    if threshold_for is None and within is None and budget is None:
        raise InputError(
            "no goal: give `within` or `budget`",
            hint="within=0.02 forecasts the labels for ±2%, budget=500 the width from 500 labels",
        )
    metric = None if threshold_for else metric
    _refuse_unknown(metric)
    goal = Goal(
        None if threshold_for else "precision",
        within=within,
        budget=budget,
        confidence=confidence,
        threshold_for=threshold_for,
        gain=gain,
    )
    if threshold_for is not None:
        beside = {"predicted": predicted, "threshold": threshold, "aux": aux}
        beside |= {"judge_cost": judge_cost, "label_cost": label_cost, "rho": rho}
        check_columns(threshold_for, predictions, score, beside)
        if not isinstance(predictions, Predictions):
            threshold = reading_threshold(like)
    prices = prices_of(aux, judge_cost, label_cost, rho, within=within)
    costs = Costs(whole("replications", replications, 1), whole("seed", seed, 0), progress, _STEPS)
    if labels is not None and like is not None:
        raise InputError("give labels or an earlier campaign, not both", hint="leave one out")
    id = key_name(id)
    columns = picked(Columns, locals())
    items = read_of_any(
        predictions, classes=classes, metrics=[metric or ""], id=id, top=1, **columns.of_one
    )
    for doubt in items.doubts:
        doubt.refuse()
    _refuse_unfit(items)
    if items.of_classes:
        given = {"threshold_for": threshold_for, "labels": labels, "aux": aux or None, "rho": rho}
        given |= {"judge_cost": judge_cost, "label_cost": label_cost}
        refuse({**given, "like": None if like is None else like.name}, {"classes": True})
        goal = goal_of_classes(items, metric, within, budget, confidence)
        planning = ClassPlanner(goal, costs, supposed_classes(items, scale, seed)).planning()
    else:
        if threshold_for is None:
            goal = Goal(metric or "precision", within, budget, confidence)
        supposed = Supposed.of(items, _scale(items.score_range, items.source, scale))
        evidence = _evidence(items, supposed, labels, like, id)
        planner = LabelPlanner if threshold_for is None else ThresholdPlanner
        planning = planner(goal, costs, supposed, evidence, prices).planning()
    doubts = tuple(doubt.warning for doubt in items.doubts)
    return replace(planning, cautions=(*doubts, *planning.cautions))


def _refuse_unknown(metric: str | None) -> None:
    """Raise for an unknown metric of two or more classes, before the data are read."""
    word = str(metric or "precision").partition(":")[0]
    with suppress(DesignError):
        canonical_metric(word, of_all=True)
        return
    with suppress(DesignError):
        canonical_metric(word)
        return
    raise DesignError(
        f"unknown metric {metric!r}",
        details=f"metrics: {', '.join(METRICS)}; of more classes than yes and no, "
        f"{', '.join(name for name in MATRIX_METRICS if name not in METRICS)}, or METRIC:CLASS",
        hint=did_you_mean(word, TABLE),
    )


def goal_of_classes(
    items: Predictions,  # of one classifier of several classes
    metric: str | None,
    within: float | None,
    budget: int | None,
    confidence: float,
) -> Goal:
    """Goal of a plan: one metric; default: accuracy."""
    named = metric or "accuracy"
    targets = parse_targets([named], items.classifiers, within=within, classes=items.vocabulary)
    if len(targets) > 1:
        raise DesignError(
            f"{named!r} is one metric for each of {len(items.classes):,} classes",
            details="a plan is for one",
            hint=f"name a class, {named}:{items.classes[0]}; or ask for macro_{named}"
            if f"macro_{named}" in ("macro_precision", "macro_recall", "macro_f1")
            else f"name a class: {named}:{items.classes[0]}",
        )
    if targets[0].k:
        raise DesignError(
            f"there is no plan for {targets[0].name}",
            details="it depends on where the class of each item stands by its probabilities",
            hint="plan for accuracy; or have assay simulate tell what it takes, on items whose "
            "class is known",
        )
    return Goal(targets=targets, budget=budget, confidence=confidence)


def supposed_classes(items: Predictions, scale: ScoreScale | None, seed: int) -> SupposedClasses:
    """Assume the class of every item from its score."""
    scores = items.class_scores()
    if scores is None:
        raise InputError(
            f"the predictions of {items.source} are not those of one classifier, as they were read",
            hint="name the file or table, and the columns of one classifier",
        )
    score_range = scores.cells.score_range
    _refuse_no_scores(score_range, items.size, _NO_CLASS_SCORES)
    scale_now = _scale(score_range, items.source, scale)
    return SupposedClasses(items.source, scale_now, items, scores, seed)


def _evidence(
    items: Predictions, supposed: Supposed, labels: object, like: "Campaign | None", id: str | None
) -> Evidence | RankEvidence | None:
    """Evidence from earlier labels; None if there are only scores."""
    if labels is not None:
        return Evidence.from_labels(labels, items, supposed, id_column=id)
    if like is None:
        hint = "name the column of scores, or give labels of items that were drawn at random"
        _refuse_no_scores(items.score_range, items.size, hint)
        return None
    strata = like.settings.strata
    if like.settings.goal.single:
        return Evidence.from_campaign(like, strata, supposed.scale)
    return RankEvidence.from_campaign(like, strata)


def _refuse_no_scores(score_range: tuple[float, float], size: int, hint: str) -> None:
    low, high = score_range
    if low == high:
        raise InputError(
            "there are no scores, or all are alike, so nothing can be assumed about the truth",
            details=f"the score of all {size:,} items is {low:g}",
            hint=hint,
        )


def _refuse_unfit(items: Predictions) -> None:
    if items.weighted:
        raise InputError(
            "the predictions have weights, and a plan is for items that count alike",
            hint="plan without sample_weight",
        )
    if isinstance(items.vocabulary, LabelSets):
        raise InputError(
            "items may have several classes, and a plan is for items that are of one",
            hint="plan for each class as yes and no, with its own score and threshold",
        )


def _scale(score_range: tuple[float, float], source: str, given: ScoreScale | None) -> Scale:
    if given is None:
        return scale_of(*score_range)
    one_of("scale", given, SCORE_SCALES)
    if given == "margin":
        return given
    refuse_improbable(score_range, source)
    return "probability"
