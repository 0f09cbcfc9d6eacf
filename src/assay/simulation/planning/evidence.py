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
from assay.core.strata import Side, Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats, Ints
from assay.errors import InputError
from assay.predictions import Predictions
from assay.simulation.planning.assumed import Supposed, rate_curve

if TYPE_CHECKING:
    from assay.campaign import Campaign


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels by stratum, whatever the population that the strata were cut from."""

    strata: Strata
    # labels, positives, (H,): labels in each, and how many of them say yes.
    labels: Ints
    positives: Ints
    words: str  # what they are, for people
    threshold: float = 0.0  # where the predicted label changed, for strata by the distance from it
    doubts: tuple[str, ...] = ()  # why they may not be what they should

    @classmethod
    def from_labels(
        cls, labels: object, found: Predictions, supposed: Supposed, *, id_column: str | None
    ) -> Self:
        """Take labels of items that were drawn at random, as `assay.estimate` does."""
        from assay.campaign import find_prior_labels  # takes long to load, and few need it

        design = Design()
        profiles = dict[Side, Profile](supposed.profiles.items())
        earlier = find_prior_labels(
            labels,
            found,
            id_column=id_column,
            variable=design.variable,
            scale=supposed.scale,
            sides=list(profiles),
        )
        strata = stratify(
            profiles, variable=design.variable, method=design.strata, bins=design.bins
        )
        stratum = earlier.strata(strata)
        answers = np.array(earlier.answers)
        yes, no = (
            np.bincount(stratum[answers == answer], minlength=strata.n_strata)
            for answer in (Answer.YES, Answer.NO)
        )
        words = f"{int((yes + no).sum()):,} labels drawn at random"
        doubts = (earlier.doubt,) if earlier.doubt else ()
        return cls(strata, yes + no, yes, words, doubts=doubts)

    @classmethod
    def from_campaign(cls, campaign: "Campaign", strata: Strata, scale: Scale) -> Self:
        """Take the labels of a campaign, by its strata; within each they were drawn at random."""
        settings, named = campaign.settings, f"campaign {campaign.name!r}"
        if strata.straddles:
            raise InputError(
                f"{named} has strata that mix both predicted labels, so its rates are not known "
                "for each",
                hint="take a campaign of Design(), or leave it out",
            )
        if strata.weighted:
            raise InputError(
                f"{named} drew items by weight, and a plan is for items that count alike",
                hint="take a campaign without sample_weight",
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
        """Tell whether there is any label of a predicted label's items."""
        return bool(self.labels[self._of(side)].sum() > 0)

    def draw(self, side: bool, supposed: Supposed, truths: int, rng: np.random.Generator) -> Floats:
        """Return possible shares of positives in the cells of a side, shape (truths, M)."""
        here = np.flatnonzero(self._of(side))
        sizes = self.strata.sizes[here]
        position = (np.cumsum(sizes) - sizes / 2) / sizes.sum()
        labels, positives = (
            each[here].astype(np.float64) for each in (self.labels, self.positives)
        )
        drawn = rng.beta(*rate_curve(position, labels, positives), (truths, here.size))
        score = supposed.profiles[side].mean
        said = np.full(score.size, side)
        variable: Variable = "confidence" if self.strata.variable == "confidence" else "score"
        if variable == "confidence":
            score = confidence(score, said, supposed.scale, self.threshold)
        return np.asarray(drawn[:, self.strata.assign(score, said) - here[0]])

    def _of(self, side: bool) -> Bools:
        return np.asarray(self.strata.part_code == int(side))


# What the labels of a period, a comparison or several metrics say about the share of positives.
#
# Such campaigns are cut by rank and not by score, and into the cells of what the classifiers say
# of an item, so a stratum is known by the ranks that it holds. Ranks carry over to other items of
# the same classifier: the tenth that scores highest is as good then as now.

_SIDES = (True, False)
_ENOUGH = 0.9  # of a predicted label's items, in strata that labels are drawn from
_EDGE = 1e-9  # so that every piece of the ranks has a length


@dataclass(frozen=True, eq=False)
class RankEvidence:
    """Labels of the newest classifier's items, by stratum, for each predicted label."""

    sides: Mapping[bool, "SideByRank"]  # the predicted labels that enough is known of
    words: str  # what the labels are, for people
    doubts: tuple[str, ...] = ()  # why they may not be what they should

    @classmethod
    def from_campaign(cls, campaign: "Campaign", strata: Strata) -> Self:
        """Take the labels of a campaign with strata by cell; within each they are random."""
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
                hint="take a campaign with a target of one classifier's metric (level_within=), "
                "or leave it out",
            )
        total = sum(int(each.labels.sum()) for each in sides.values())
        return cls(sides, f"{total:,} labels of {named}")

    def knows(self, side: bool) -> bool:
        """Tell whether there is any label of a predicted label's items."""
        return side in self.sides

    def draw(self, side: bool, supposed: Supposed, truths: int, rng: np.random.Generator) -> Floats:
        """Return possible shares of positives in the cells of a side, shape (truths, M)."""
        return self.sides[side].draw(supposed.profiles[side], truths, rng)


@dataclass(frozen=True, eq=False)
class SideByRank:
    """Labels of the items with one predicted label, by stratum, and where their ranks lie."""

    # labels, positives, (H,): labels in each stratum, and how many of them say yes.
    labels: Ints
    positives: Ints
    # (H, S): each stratum's items in each piece of the ranks. Strata of different cells overlap: in
    # a piece each counts by its items, so that it makes no difference that it was drawn from more
    # often.
    items: Floats

    def draw(self, profile: Profile, truths: int, rng: np.random.Generator) -> Floats:
        """Return possible shares of positives in the cells of a profile, shape (truths, M)."""
        pieces = self.items.sum(axis=0)
        ends = np.cumsum(pieces) / pieces.sum()
        middle = ends - pieces / pieces.sum() / 2
        position = self.items @ middle / self.items.sum(axis=1)
        known = rate_curve(position, self.labels.astype(float), self.positives.astype(float))
        drawn = rng.beta(*known, (truths, position.size)) @ (self.items / pieces)
        place = (np.cumsum(profile.count) - profile.count / 2) / profile.total
        return np.asarray(drawn[:, np.minimum(np.searchsorted(ends, place), pieces.size - 1)])


def _side_of(side: bool, strata: Strata, labels: Ints, positives: Ints) -> SideByRank | None:
    """Return what is known of a predicted label; None where most of its items are in no stratum."""
    sizes = {each: _items(each, strata) for each in _SIDES}
    pure, first = [], 0
    for heap in strata.heaps:
        # A few small cells may share a heap, and not be of one predicted label.
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
    """Tell whether a code is of items that the newest classifier judged, and so."""
    newest = len(strata.classifiers) - 1
    among = strata.groups.within(strata.unit, strata.classifiers[newest], None)
    return among.holds(code) and bool(code >> newest & 1) == side


def _items(side: bool, strata: Strata) -> int:
    """Return how many items the newest classifier judged so."""
    if strata.groups or strata.items is None or strata.yes_items is None:
        every = [*((code, items) for _, code, items in strata.parts), *strata.rest]
        return sum(items for code, items in every if _is_of(side, code, strata))
    yes = strata.yes_items[-1]
    return yes if side else strata.items - yes
