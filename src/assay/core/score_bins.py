"""Items and labels by score: what the curve of a score is estimated from."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assay.core.types import Bools, Floats, Ints

CURVES = ("precision", "recall", "f1", "specificity")
"""What depends on labels; the share of items above a threshold is known."""
FALLS = {"recall": 1, "specificity": -1}
"""How they go as the threshold rises, where that is certain: 1 if they fall, -1 if they rise."""


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """Items by score, in ascending order, and what labels say of them; arrays of shape (M,)."""

    # The smallest score in each bin, from which on a classifier with this threshold says yes.
    score: Floats
    # items, labels, positives: its items, those with a yes or no, and those with a yes.
    items: Floats
    labels: Floats
    positives: Floats
    stratum: Ints  # whose labels are a random sample; -1 of items that no label can tell of
    chain: Ints  # within a chain, neighbours in score are taken to be alike
    tied: Bools  # whether all items of the bin have the same score, or all have labels

    @property
    def complete(self) -> bool:
        """Whether every item has a label."""
        return bool((self.labels == self.items).all())

    @cached_property
    def told(self) -> Bools:
        """Whether labels tell of all items from each bin on, shape (M,)."""
        return np.logical_and.accumulate((self.stratum >= 0)[::-1])[::-1]

    @cached_property
    def curves(self) -> tuple[str, ...]:
        """Which of `CURVES` labels can tell: recall needs a yes, specificity a no."""
        yes = float(self.positives.sum())
        no = float(self.labels.sum()) - yes
        needed = {"recall": yes, "f1": yes, "specificity": no}
        every = bool(self.told[0])
        return tuple(name for name in CURVES if name not in needed or (every and needed[name] > 0))

    @cached_property
    def starts(self) -> Ints:
        """The bins at which a threshold may lie: labels tell of all items from there on.

        Each has a score that no bin before has.
        """
        return np.flatnonzero((np.diff(self.score, prepend=-np.inf) > 0) & self.told)
