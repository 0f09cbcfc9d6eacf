"""Estimate from labels that were drawn at random outside of any campaign [1]_.

Given how many labels fell into each stratum, those of a random sample are random samples of the
strata, so the interval of `core.stratified` (b = 0: one look) holds for them. Strata may not depend
on the answers: the interval would be too narrow.

References
----------
.. [1] Holt and Smith, Post stratification, J. R. Stat. Soc. A 142 (1979).
"""

from dataclasses import replace
from math import isqrt

import numpy as np

from assay.campaign.prior_labels import PriorLabels, find_prior_labels
from assay.core.answers import Answer
from assay.core.bins import scale_of
from assay.core.cuts import Cuts
from assay.core.design import Design
from assay.core.engine import look
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.standing import Standing
from assay.core.state import State
from assay.core.strata import Side, Strata
from assay.core.stratify import sides_to_cut, stratify
from assay.core.tallies import Tallies
from assay.core.types import Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import LabelError, PredictionsError
from assay.labelling import estimate_of
from assay.options import picked
from assay.predictions import (
    Columns,
    IdColumns,
    Predictions,
    ScoreOf,
    ScoreScale,
    key_name,
    read_predictions,
)
from assay.results import Estimate

# The number of labels in each part is independent of the answers: nothing is to be corrected, as it
# is if they followed the errors.
_ONE_LOOK = Design(allocation="pps", stop="budget")
_LABELS_A_BIN = 25  # with fewer the interval covered less than it says: docs/random_labels.md
_INTERVAL = "post-stratified by score: profile likelihood (docs/random_labels.md)"


def estimate(
    labels: object,
    *,
    predictions: object,
    score: str | None = None,
    predicted: str | None = None,
    id: IdColumns | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    metric: str = "precision",
    confidence: float = 0.95,
) -> Estimate:
    """Estimate a metric from labels of a random sample.

    The interval holds for one look at labels that are a random sample of all items, or of the items
    of each predicted label. The labelled items are compared with all others by their scores, and a
    note warns if they do not look randomly drawn.

    Parameters
    ----------
    labels : path, mapping or pairs
        A CSV or Parquet file with columns ``id`` (or named like `id`) and ``label``, or ids and
        answers: true or "yes", false or "no", "cannot judge".
    predictions : path, DataFrame, Arrow table, mapping of arrays, or `Predictions`
        All items that the sample was drawn from, labelled or not.
    score, predicted, id, threshold, positive, score_of, scale
        As in `create_campaign`.
    metric : str
        ``precision``, ``recall``, ``f1``, ``accuracy``, ``false_omission_rate``, ``prevalence``,
        ``specificity``, ``false_positive_rate``, ``negative_predictive_value``,
        ``balanced_accuracy`` or ``matthews_correlation``.
    confidence : float
        Confidence of the interval.

    Examples
    --------
    >>> score = np.linspace(0.5, 1, 10_000)
    >>> is_spam = np.arange(10_000) % 10 < 10 * score
    >>> sample = np.random.default_rng(0).choice(10_000, 400, replace=False)
    >>> labels = {int(item): is_spam[item] for item in sample}
    >>> result = estimate(labels, predictions={"p": score}, score="p", threshold=0.5)
    >>> result.labels, bool(result.low < is_spam.mean() < result.high)
    (400, True)
    """
    id = key_name(id)
    population = read_predictions(predictions, id=id, **picked(Columns, locals()).of_one)
    _refuse_unfit(population)
    goal = Goal(metric, budget=population.size, confidence=confidence)
    counts = (population.positives, population.size)
    sides = sides_to_cut(_ONE_LOOK, goal.metric, *counts, population.source)
    prior_labels = find_prior_labels(
        labels,
        population,
        id_column=id,
        variable=_ONE_LOOK.variable,
        scale=scale_of(*population.score_range),
        sides=sides,
        classes=Vocabulary(),
    )
    strata = _strata(population, prior_labels, sides, goal.metric)
    labelled = _Counts(prior_labels, strata)
    layer = np.repeat(np.arange(len(sides)), [heap.cuts.n_strata for heap in strata.heaps])
    cut = labelled.joined(groups_with_labels(labelled.judged, layer), goal)
    plain = labelled.joined(layer, goal)
    doubts = (doubt.warning for doubt in population.doubts)
    notes = (*doubts, *_notes(prior_labels, cut, plain))
    return estimate_of(cut.shown(), _INTERVAL, notes)


def _refuse_unfit(population: Predictions) -> None:
    for doubt in population.doubts:
        doubt.refuse()
    if population.weighted:
        raise PredictionsError(
            f"the items of {population.source} have weights",
            details="labels of items that were drawn at random, and not by weight, are for a "
            "metric in which every item counts once",
            hint="leave out sample_weight; a campaign with weights draws in proportion to them",
        )


class _Counts:
    """Items, labels, positives and unjudged items of each stratum; shape (H,)."""

    def __init__(self, prior_labels: PriorLabels, strata: Strata) -> None:
        self.items, self.says_yes = strata.sizes, strata.part_code > 0
        self.judged = prior_labels.count(strata, Answer.YES, Answer.NO)
        self.positives = prior_labels.count(strata, Answer.YES)
        self.unjudged = prior_labels.count(strata, Answer.CANNOT_JUDGE, Answer.BROKEN)

    def joined(self, group: Ints, goal: Goal) -> Standing:
        """Labels and estimate with strata joined into groups."""
        counts = (self.items, self.judged, self.positives, self.unjudged)
        tallies = Tallies(*(np.bincount(group, each) for each in counts))
        metric = ratio(goal.metric, tallies.N, np.bincount(group, self.says_yes) > 0)
        state = replace(State.start(tallies.N, replacement=False), tallies=tallies)
        now, items = look(_ONE_LOOK, goal, metric, state), int(self.items.sum())
        return Standing(goal.metric, _ONE_LOOK, goal, metric, state, now, items, items)


def _strata(
    population: Predictions, prior_labels: PriorLabels, sides: list[Side], metric: str
) -> Strata:
    """Cut each predicted label's items into as many bins as its labels can fill."""
    cuts: dict[Side, Cuts] = {}
    sizes: list[int] = []
    profiles = population.profile(_ONE_LOOK.variable, scale_of(*population.score_range), sides)
    judged = [
        card.predicted
        for card, answer in zip(prior_labels.cards, prior_labels.answers, strict=True)
        if answer.judged
    ]
    for side, profile in profiles.items():
        labels = judged.count(side is True)
        if labels == 0:
            word = "yes" if side else "no"
            raise LabelError(
                f"no label that counts is of an item predicted {word}, so there is no interval "
                f"for {metric.replace('_', ' ')}",
                details=f"{len(judged):,} labels count; {profile.total:,} are predicted {word}",
                hint="continue from these labels in a campaign, which asks for the others: "
                "assay create --labels FILE. In Python: create_campaign(..., labels=...)",
            )
        cut = stratify(
            {side: profile}, variable=_ONE_LOOK.variable, method="perc", bins=bins_for(labels)
        )
        cuts[side] = cut.heaps[0].cuts
        sizes += cut.sizes.tolist()
    return Strata.of_sides(_ONE_LOOK.variable, cuts, sizes)


def _notes(prior_labels: PriorLabels, cut: Standing, plain: Standing) -> tuple[str, ...]:
    saved = 1 - cut.look.half_width / plain.look.half_width if plain.look.half_width > 0 else 0.0
    gain = f"{saved:.0%} narrower" if saved >= 0.005 else "no narrower"
    number = len(cut.tallies.N)
    strata = f"{number} strata by score" if number > 1 else "a single stratum"
    notes = [
        f"rests on labels drawn at random before, in {strata}; the scores make the interval {gain}",
        "the interval is for one look; to label on until it is narrow enough, create a campaign",
    ]
    if prior_labels.elsewhere:
        about = cut.name.replace("_", " ")
        notes.append(
            f"{prior_labels.elsewhere:,} labels are of items that {about} does not depend on"
        )
    if prior_labels.without_label:
        notes.append(f"{prior_labels.without_label:,} rows have no label")
    return (*([prior_labels.doubt] if prior_labels.doubt else []), *notes)


def bins_for(labels: int) -> int:
    """Choose the number of bins of equal size for so many labels.

    sqrt(n)/2, with at least 25 labels per bin: more bins follow the score more closely, but leave
    fewer labels to bound each bin's rate.

    >>> [bins_for(n) for n in (10, 100, 300, 1000, 3000)]
    [1, 4, 8, 15, 27]
    """
    return max(1, min(labels // _LABELS_A_BIN, isqrt(labels) // 2))


def groups_with_labels(n: Ints, layer: Ints) -> Ints:
    """Group of each stratum, such that every group of a labelled layer has labels.

    `n`, (H,): labels in each stratum; `layer`, (H,): the layer (predicted label) of each stratum,
    in order. Groups never cross layers.

    Groups ascend from 0. A stratum without labels joins the one before it in its layer; at the
    layer's start, the first one with labels.

    >>> groups_with_labels(np.array([0, 9, 0, 8, 5]), np.array([0, 0, 0, 0, 1]))
    array([0, 0, 0, 1, 2])
    """
    opens = np.zeros(len(n), dtype=np.bool_)
    for each in np.unique(layer):
        inside = np.flatnonzero(layer == each)
        labelled = inside[n[inside] > 0]
        opens[labelled[1:]] = True
        opens[inside[0]] = True
    return np.asarray(np.cumsum(opens) - 1)
