"""Frames: a replay's input from a population for one metric, the strata and the truth in each.

This module loads no code that reads predictions: worker processes only receive frames.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from assay.core import forecast
from assay.core.design import Design
from assay.core.forms import Ratio, ratio
from assay.core.metrics import canonical_metric
from assay.core.profile import Profile
from assay.core.strata import Side, Strata
from assay.core.stratify import stratify
from assay.core.types import Floats


@dataclass(frozen=True, eq=False)
class Truth:
    """One side's profile, and the outcomes in each of its cells, shape (..., M)."""

    profile: Profile
    outcomes: Floats


@dataclass(frozen=True, eq=False)
class Frame:
    """Input of a replay: the strata of a design, and the truth in each."""

    metric: Ratio
    strata: Strata
    sizes: Floats  # (H,): items
    # (..., H): items with the outcome: (H,) if the truth is known, otherwise a row for each
    # possible truth.
    outcomes: Floats

    @property
    def value(self) -> float:
        """The metric's true value."""
        return float(self.metric.value(self.outcomes))

    @property
    def least_variance(self) -> float:
        """N times the variance of the best allocation to these strata."""
        p = self.outcomes / self.sizes
        scale = np.abs(self.metric.gradient(self.outcomes)) * self.sizes
        return float(forecast.least_variance(scale, np.sqrt(p * (1 - p))))


def frame_of(truths: Mapping[Side, Truth], design: Design, metric: str) -> Frame:
    """Cut the sides that a metric needs as the design does, and count the truth in each stratum."""
    strata = stratify(
        {side: truth.profile for side, truth in truths.items()},
        variable=design.variable,
        method=design.strata,
        bins=design.bins,
    )
    outcomes = []
    for heap, truth in zip(strata.heaps, truths.values(), strict=True):
        stratum = heap.cuts.assign(truth.profile.low)
        outcomes.append(truth.outcomes @ (stratum[:, None] == np.arange(heap.cuts.n_strata)))
    sizes = strata.sizes.astype(np.float64)
    form = ratio(canonical_metric(metric), sizes, strata.says_yes)
    return Frame(form, strata, sizes, np.concatenate(outcomes, axis=-1))
