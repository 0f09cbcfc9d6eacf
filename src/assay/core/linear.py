"""A metric that is linear in the stratum totals, to first order.

Metrics of the whole confusion matrix (`core.matrix`), means over classes (`core.class_means`) and
top-k accuracy (`core.ranking`) are estimated in this form.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.core.forms import Metric
from assay.core.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Linear(Metric):
    """A metric that is linear in the stratum totals: value + sum_h w_h (T_h - at_h)."""

    at: Floats  # (..., H): the totals where it has the value
    value_at: Floats  # (...)
    w: Floats  # (..., H): contribution of an outcome
    # lowest, highest: its bounds.
    lowest: float = 0.0
    highest: float = 1.0
    # (...): correction to subtract if labels followed the errors (`evened`)
    hidden: Floats | None = None
    unknown: Floats | None = None  # (...): possible shift from classes without labels, up or down

    def widened(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Lower and upper end of an interval, widened for classes without labels."""
        if self.unknown is None:
            return low, high
        return (
            np.maximum(low - self.unknown, self.lowest),
            np.minimum(high + self.unknown, self.highest),
        )

    def evened(self) -> "Linear":
        """Metric corrected for an allocation that followed the costly errors."""
        if self.hidden is None:
            return self
        return replace(self, value_at=self.value_at - self.hidden, hidden=None)

    @property
    def counts(self) -> Bools:
        """Strata that it depends on, (H,): all."""
        return np.ones(self.w.shape[-1], dtype=np.bool_)

    def over(self, which: Bools) -> "Linear":
        """Metric over some of the strata, if it depends on no others."""
        return replace(self, at=self.at[..., which], w=self.w[..., which])

    def per(self, share: Floats) -> "Linear":
        """Metric of totals of which only these shares are counted, (H,)."""
        return replace(self, at=self.at * share, w=self.w / share)

    def of(self, which: Ints) -> "Linear":
        """Metric of some of the parallel evaluations, in their order."""
        if self.w.ndim == 1 or which.size == len(self.w):
            return self
        hidden, unknown = (
            None if each is None else each[which] for each in (self.hidden, self.unknown)
        )
        return replace(
            self,
            at=self.at[which],
            value_at=self.value_at[which],
            w=self.w[which],
            hidden=hidden,
            unknown=unknown,
        )

    def value(self, T: Floats) -> Floats:
        """Metric, clipped to its range."""
        value = self.value_at + (self.w * (T - self.at)).sum(axis=-1)
        return np.asarray(np.clip(value, self.lowest, self.highest))

    def gradient(self, T: Floats) -> Floats:
        """Weights w."""
        return np.broadcast_to(self.w, T.shape)

    def extremes(self, least: Floats, most: Floats) -> tuple[Floats, Floats]:
        """Bounds of the metric for least <= T <= most."""
        up = self.w > 0
        low, high = np.where(up, least, most), np.where(up, most, least)
        return self.widened(self.value(low), self.value(high))

    def plane(self, m: Floats, T: Floats) -> tuple[Floats, Floats]:
        """C = w and c0: the metric is at least m where c0 + c.T >= 0."""
        c0 = self.value_at - m - (self.w * self.at).sum(axis=-1)
        return np.broadcast_to(self.w, T.shape), np.asarray(c0)
