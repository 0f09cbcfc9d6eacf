"""`plan`: what an evaluation is likely to cost, before anybody labels.

Nothing is forecast by a formula: a truth is supposed, and whole evaluations are replayed on it by
the loop that runs campaigns (`assay.simulation`). What is uncertain is the truth, and the plan says
what it takes it for.
"""

from collections.abc import Callable

from assay.campaign.campaign import Campaign
from assay.core.goal import Goal, one_of, whole
from assay.core.variable import SCALES, Scale, scale_of
from assay.core.venn import CellStrata
from assay.errors import InputError
from assay.predictions import Predictions, read_predictions
from assay.predictions.roles import refuse_improbable
from assay.predictions.weighted import WeightedPredictions
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.by_rank import RankEvidence
from assay.simulation.planning.costs import Costs
from assay.simulation.planning.evidence import Evidence
from assay.simulation.planning.planner import Planner
from assay.simulation.planning.result import Planning

_STEPS = 16  # replays, at most


def plan(
    predictions: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    scale: Scale | None = None,
    metric: str = "precision",
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    labels: object = None,
    like: Campaign | None = None,
    replications: int = 50,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Planning:
    """Tell what an evaluation is likely to cost, before anybody labels.

    Whole evaluations are replayed on a truth that is supposed: from labels of an earlier period
    where there are some, and otherwise from the scores alone.

    Parameters
    ----------
    predictions, score, predicted, id, threshold, positive
        As in `create_campaign`.
    scale : {"probability", "margin"}, optional
        What the scores are; otherwise told by their range. A margin is read as log-odds.
    metric, within, budget, confidence
        The goal, as in `create_campaign`: the labels that `within` will take, what the budget
        would give, or both.
    labels : path, mapping or pairs, optional
        Labels of items of these predictions that were drawn at random, as in `assay.estimate`.
    like : Campaign, optional
        An earlier campaign, of the same classifier on other items: its labels tell how often items
        at a score are positive. Of a period of a series or a comparison, those of the newest
        predictions' items do, by rank.
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
    """
    if within is None and budget is None:
        raise InputError(
            "no goal: neither `within` nor `budget` was given",
            hint="within=0.02 tells the labels that ±2% takes, budget=500 what 500 labels give",
        )
    goal = Goal(metric, within=within, budget=budget, confidence=confidence)
    costs = Costs(whole("replications", replications, 1), whole("seed", seed, 0), progress, _STEPS)
    if labels is not None and like is not None:
        raise InputError(
            "both labels and an earlier campaign were given, and a plan rests on one of them",
            hint="leave one out",
        )
    found = read_predictions(
        predictions, score=score, predicted=predicted, id=id, threshold=threshold, positive=positive
    )
    _refuse_weights(found)
    supposed = Supposed.of(found, _scale(found, scale))
    evidence: Evidence | RankEvidence | None = None
    if labels is not None:
        evidence = Evidence.from_labels(labels, found, supposed, id_column=id)
    elif like is not None:
        evidence = _evidence_of(like, supposed.scale)
    else:
        _refuse_no_scores(found)
    return Planner(goal, costs, supposed, evidence).planning()


def _evidence_of(campaign: Campaign, scale: Scale) -> Evidence | RankEvidence:
    strata = campaign.settings.strata
    if isinstance(strata, CellStrata):
        return RankEvidence.from_campaign(campaign, strata)
    return Evidence.from_campaign(campaign, strata, scale)


def _refuse_no_scores(found: Predictions) -> None:
    low, high = found.score_range
    if low == high:
        raise InputError(
            "there are no scores, or all are alike, so nothing can be supposed about the truth",
            details=f"the score of all {found.size:,} items is {low:g}",
            hint="name the column of scores, or give labels of items that were drawn at random",
        )


def _refuse_weights(found: Predictions) -> None:
    if isinstance(found, WeightedPredictions):
        raise InputError(
            "the predictions have weights, and a plan is for items that count alike",
            hint="plan without sample_weight",
        )


def _scale(found: Predictions, given: Scale | None) -> Scale:
    if given is None:
        return scale_of(*found.score_range)
    one_of("scale", given, SCALES)
    if given == "probability":
        refuse_improbable(found.score_range, found.source)
    return given
