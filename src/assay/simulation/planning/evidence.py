"""What earlier labels say about the share of positives at each score."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.prior_labels import find_earlier
from assay.core.answers import Answer
from assay.core.design import Design
from assay.core.profile import Profile
from assay.core.strata import Strata, stratify
from assay.core.types import Bools, Floats, Ints
from assay.core.variable import Scale, Variable, confidence
from assay.errors import InputError
from assay.predictions import Predictions, Side
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.rate_curve import rate_curve


@dataclass(frozen=True, eq=False)
class Evidence:
    """Labels by stratum, whatever the population that the strata were cut from.

    Attributes
    ----------
    strata : Strata
    labels, positives : array, shape (H,)
        Labels in each, and how many of them say yes.
    words : str
        What they are, for people.
    threshold : float
        Where the predicted label changed, for strata by the distance from it.
    doubts : tuple of str
        Why they may not be what they should.
    """

    strata: Strata
    labels: Ints
    positives: Ints
    words: str
    threshold: float = 0.0
    doubts: tuple[str, ...] = ()

    @classmethod
    def from_labels(
        cls, labels: object, found: Predictions, supposed: Supposed, *, id_column: str | None
    ) -> Self:
        """Take labels of items that were drawn at random, as `assay.estimate` does."""
        design = Design()
        profiles = dict[Side, Profile](supposed.profiles.items())
        earlier = find_earlier(
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
    def from_campaign(cls, campaign: Campaign, strata: Strata, scale: Scale) -> Self:
        """Take the labels of a campaign, by its strata; within each they were drawn at random."""
        settings, named = campaign.settings, f"campaign {campaign.name!r}"
        if strata.layers[0].side is None:
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
        each = [layer.side is side for layer in self.strata.layers for _ in layer.sizes]
        return np.array(each, dtype=np.bool_)
