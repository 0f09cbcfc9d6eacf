"""Evidence from earlier labels about the share of positives at each score."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from assay.core.answers import Answer
from assay.core.bins import Scale
from assay.core.cuts import Variable, confidence
from assay.core.design import Design
from assay.core.profile import Profile
from assay.core.special import expit
from assay.core.strata import Side, Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import InputError
from assay.predictions import Predictions
from assay.simulation.planning.assumed import Supposed

if TYPE_CHECKING:
    from assay.campaign import Campaign


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels by stratum, for any population that the strata were cut from."""

    strata: Strata
    # labels, positives, (H,): labels in each, and those with a yes.
    labels: Ints
    positives: Ints
    words: str  # description of the labels, for people
    threshold: float = 0.0  # where the predicted label changed, for strata by the distance from it
    doubts: tuple[str, ...] = ()  # reasons to doubt them

    @classmethod
    def from_labels(
        cls, labels: object, predictions: Predictions, supposed: Supposed, *, id_column: str | None
    ) -> Self:
        """Use labels of items that were drawn at random, as in `assay.estimate`."""
        from assay.campaign import find_prior_labels  # takes long to load, and few need it

        design = Design()
        profiles = dict[Side, Profile](supposed.profiles.items())
        earlier = find_prior_labels(
            labels,
            predictions,
            id_column=id_column,
            variable=design.variable,
            scale=supposed.scale,
            sides=list(profiles),
            classes=Vocabulary(),
        )
        strata = stratify(
            profiles, variable=design.variable, method=design.strata, bins=design.bins
        )
        yes, no = (earlier.count(strata, answer) for answer in (Answer.YES, Answer.NO))
        words = f"{int((yes + no).sum()):,} labels drawn at random"
        doubts = (earlier.doubt,) if earlier.doubt else ()
        return cls(strata, yes + no, yes, words, doubts=doubts)

    @classmethod
    def from_campaign(cls, campaign: "Campaign", strata: Strata, scale: Scale) -> Self:
        """Use the labels of a campaign by its strata; within each they were drawn at random."""
        settings, named = campaign.settings, f"campaign {campaign.name!r}"
        if strata.straddles:
            raise InputError(
                f"{named} has strata that mix both predicted labels, so its rates are not known "
                "for each",
                hint="use a campaign with Design(), or omit it",
            )
        if strata.weighted:
            raise InputError(
                f"{named} drew items by weight, and a plan is for items that count alike",
                hint="use a campaign without sample_weight",
            )
        if settings.source.scale != scale:
            raise InputError(
                f"the scores of {named} were taken for {settings.source.scale} scores, and those "
                f"of the predictions are {scale} scores",
                hint="give the same kind of score, or scale=",
            )
        rows = campaign.strata()
        return cls(
            strata,
            np.array([row.labels for row in rows]),
            np.array([row.positives for row in rows]),
            f"{sum(row.labels for row in rows):,} labels of {named}",
            threshold=settings.source.columns.get("threshold") or 0.0,
        )

    def knows(self, side: bool) -> bool:
        """Whether there is any label among items with a predicted label."""
        return bool(self.labels[self._of(side)].sum() > 0)

    def draw(self, side: bool, supposed: Supposed, truths: int, rng: np.random.Generator) -> Floats:
        """Draws of the shares of positives in the cells of a side, shape (truths, M)."""
        here = np.flatnonzero(self._of(side))
        sizes = self.strata.sizes[here]
        position = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        labels, positives = (
            each[here].astype(np.float64) for each in (self.labels, self.positives)
        )
        drawn = rng.beta(*rate_curve(position, labels, positives), (truths, here.size))
        score = supposed.profiles[side].mean
        predicted = np.full(score.size, side)
        variable: Variable = "confidence" if self.strata.variable == "confidence" else "score"
        if variable == "confidence":
            score = confidence(score, predicted, supposed.scale, self.threshold)
        return np.asarray(drawn[:, self.strata.assign(score, predicted) - here[0]])

    def _of(self, side: bool) -> Bools:
        return np.asarray(self.strata.part_code == int(side))


# Share of positives from the labels of a period, a comparison or several metrics.
#
# Such campaigns are cut by rank and not by score, and into cells of predicted labels, so a stratum
# is identified by its ranks. Ranks carry over to other items of the same classifier: the tenth that
# scores highest is as good then as now.

_SIDES = (True, False)
_ENOUGH = 0.9  # of a predicted label's items, in sampled strata
_EDGE = 1e-6  # minimum length of a piece of the ranks, and distance of a share from 0 and 1


@dataclass(frozen=True, eq=False)
class RankEvidence:
    """Labels of the newest classifier's items, by stratum, for each predicted label."""

    sides: Mapping[bool, "SideByRank"]  # the predicted labels with enough labels
    words: str  # description of the labels, for people
    doubts: tuple[str, ...] = ()  # reasons to doubt them

    @classmethod
    def from_campaign(cls, campaign: "Campaign", strata: Strata) -> Self:
        """Use the labels of a campaign with strata by cell; within each they are random."""
        named = f"campaign {campaign.name!r}"
        if len(strata.classifiers) > 1 and not strata.groups.among:
            raise InputError(
                f"{named} is of {len(strata.classifiers)} classifiers, and a plan is for one",
                hint="give labels= of items that were drawn at random, or leave both out",
            )
        rows = campaign.strata()
        labels = np.array([row.labels for row in rows])
        positives = np.array([row.positives for row in rows])
        every = ((side, _side_of(side, strata, labels, positives)) for side in _SIDES)
        sides = {side: each for side, each in every if each is not None and each.labels.sum() > 0}
        if labels.sum() > 0 and not sides:
            raise InputError(
                f"the labels of {named} are of too few of its items to plan with",
                details=f"where {' and '.join(strata.classifiers)} say the same, none are drawn",
                hint="use a campaign with a target of one classifier's metric (level_within=), "
                "or leave it out",
            )
        total = sum(int(each.labels.sum()) for each in sides.values())
        return cls(sides, f"{total:,} labels of {named}")

    def knows(self, side: bool) -> bool:
        """Whether there is any label among items with a predicted label."""
        return side in self.sides

    def draw(self, side: bool, supposed: Supposed, truths: int, rng: np.random.Generator) -> Floats:
        """Draws of the shares of positives in the cells of a side, shape (truths, M)."""
        return self.sides[side].draw(supposed.profiles[side], truths, rng)


@dataclass(frozen=True, eq=False)
class SideByRank:
    """Labels of the items with one predicted label, by stratum, and the ranges of their ranks."""

    # labels, positives, (H,): labels in each stratum, and those with a yes.
    labels: Ints
    positives: Ints
    # (H, S): each stratum's items in each piece of the ranks. Strata of different cells overlap: in
    # a piece each counts by its items, so that it makes no difference that it was drawn from more
    # often.
    items: Floats

    def draw(self, profile: Profile, truths: int, rng: np.random.Generator) -> Floats:
        """Draws of the shares of positives in the cells of a profile, shape (truths, M)."""
        pieces = self.items.sum(axis=0)
        ends = np.cumsum(pieces) / pieces.sum()
        middle = ends - pieces / pieces.sum() / 2
        position = self.items @ middle / self.items.sum(axis=1)
        known = rate_curve(position, self.labels.astype(float), self.positives.astype(float))
        drawn = rng.beta(*known, (truths, position.size)) @ (self.items / pieces)
        place = (np.cumsum(profile.count) - profile.count / 2) / profile.total
        return np.asarray(drawn[:, np.minimum(np.searchsorted(ends, place), pieces.size - 1)])


def _side_of(side: bool, strata: Strata, labels: Ints, positives: Ints) -> SideByRank | None:
    """Labels of items with a predicted label; None if most of them are in no stratum."""
    sizes = {each: _items(each, strata) for each in _SIDES}
    pure, first = [], 0
    for heap in strata.heaps:
        # A few small cells may share a heap with mixed predicted labels.
        if all(_is_of(side, code, strata) for code in heap.codes):
            pure += [(heap.cuts, own, first + own) for own in range(heap.cuts.n_strata)]
        first += heap.cuts.n_strata
    here = np.array([stratum for *_, stratum in pure], dtype=np.int64)
    if not pure or strata.sizes[here].sum() < _ENOUGH * sizes[side]:
        return None
    share = sizes[False] / (sizes[True] + sizes[False])
    points = np.unique([point for cuts, *_ in pure for point in cuts.points])
    low, high = (share, 1.0) if side else (0.0, share)
    if points.size:
        low, high = min(low, points[0] - _EDGE), max(high, points[-1] + _EDGE)
    edges = np.concatenate([[low], points, [high]])
    middle = (edges[1:] + edges[:-1]) / 2
    items = np.array([np.diff(edges) * (cuts.assign(middle) == own) for cuts, own, _ in pure])
    items *= (strata.sizes[here] / items.sum(axis=1))[:, None]
    return SideByRank(labels[here], positives[here], items)


def _is_of(side: bool, code: int, strata: Strata) -> bool:
    """Whether the newest classifier gave a code's items this predicted label."""
    newest = len(strata.classifiers) - 1
    among = strata.groups.within(strata.unit, strata.classifiers[newest], None)
    return among.holds(code) and bool(code >> newest & 1) == side


def _items(side: bool, strata: Strata) -> int:
    """Count the items with this predicted label by the newest classifier."""
    if strata.groups or strata.items is None or strata.yes_items is None:
        every = [*((code, items) for _, code, items in strata.parts), *strata.rest]
        return sum(items for code, items in every if _is_of(side, code, strata))
    yes = strata.yes_items[-1]
    return yes if side else strata.items - yes


# The share of positives along the score, from a few labels.
#
# Each stratum's own share is too noisy to plan with: 0 of 5 does not mean 0. So shares are shrunk
# towards a curve that rises or falls with the score, as far as the labels support it.

_SLOPE_SD = 5.0  # of the log-odds from the middle of the scores to their end
_STRENGTH, _STRENGTH_SD = np.log(30.0), 1.5  # prior of k


def rate_curve(position: Floats, labels: Floats, positives: Floats) -> tuple[Floats, Floats]:
    """Posterior of each stratum's share of positives: Beta(a_h, b_h).

    `position` is each stratum's position among the items by score, from 0 to 1.

    Beta-binomial regression with an empirical Bayes fit [1]_: shares are Beta(k m_h, k (1 - m_h))
    about a logistic curve, logit m_h = c + s (2 position_h - 1), and c, s and k are where the
    labels' likelihood, with a weak prior on each, is greatest. Where the curve fits, k is large and
    strata learn from each other; where it does not, each keeps its own share. Given c, s and k,
    the labels make it Beta(k m_h + x_h, k (1 - m_h) + n_h - x_h).

    References
    ----------
    .. [1] Griffiths, Maximum likelihood estimation for the beta-binomial distribution,
       Biometrics 29 (1973).

    >>> at = np.linspace(0, 1, 5)
    >>> a, b = rate_curve(at, np.full(5, 20.0), np.array([10.0, 13, 16, 18, 20]))
    >>> (a / (a + b)).round(2)
    array([0.47, 0.66, 0.82, 0.91, 0.97])
    """
    line = 2 * position - 1

    def parameters(point: Floats) -> tuple[Floats, Floats]:
        middle = np.clip(expit(point[0] + point[1] * line), _EDGE, 1 - _EDGE)
        strength = np.exp(point[2])
        return strength * middle, strength * (1 - middle)

    from scipy.optimize import minimize  # takes long to load, and few commands need it
    from scipy.special import betaln, logit

    def loss(point: Floats) -> float:
        a, b = parameters(point)
        likelihood = (betaln(a + positives, b + labels - positives) - betaln(a, b)).sum()
        # Half a label of either kind, so that equal labels do not make it certain.
        likelihood += (np.log(a.sum()) + np.log(b.sum())) / 2 - np.log((a + b).sum())
        slope, strength = point[1] / _SLOPE_SD, (point[2] - _STRENGTH) / _STRENGTH_SD
        return float(-likelihood + (slope**2 + strength**2) / 2)

    share = (positives.sum() + 0.5) / (labels.sum() + 1)
    start = np.array([logit(share), 0.0, _STRENGTH])
    bounds = [(-15, 15), (-30, 30), (np.log(0.5), np.log(1e4))]
    a, b = parameters(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)
    return a + positives, b + labels - positives
