"""Algorithm 1 of paper 3, and coordinated samples, by counts: no item is ever made.

Algorithm 1 draws its places with replacement, so the places that fall into one part of a set are
independent of each other, and their positives are binomial. Each function draws from the same
distribution as `recycle` or `coordinated_sample` of `assay.core.recycling` would.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.core.types import Ints
from assay.simulation import Option, mixed_size


@dataclass(frozen=True)
class Pair:
    """What a parent and a child call yes, by counts."""

    # parent, both, child: |A_P|, |A_P and A_C| and |A_C|.
    parent: int
    both: int
    child: int
    # both_positives, child_positives: the positive items of the last two.
    both_positives: int
    child_positives: int

    @property
    def precision(self) -> float:
        """The child's."""
        return self.child_positives / self.child

    @property
    def precision_of_both(self) -> float:
        """The share of positives in what both call yes."""
        return self.both_positives / max(self.both, 1)

    @property
    def precision_of_child_only(self) -> float:
        """The share of positives in what the child alone calls yes."""
        positives = self.child_positives - self.both_positives
        return positives / max(self.child - self.both, 1)


class Draws(NamedTuple):
    """What each run of Algorithm 1 came to."""

    common: Ints  # lemma 3's X: places of the parent's sample that the child calls yes
    savings: Ints  # places of the child's sample that are recycled: labels that need not be bought
    positives: Ints  # positives among all places of the child's sample


def recycled(
    pair: Pair, sizes: tuple[int, int], *, option: Option, runs: int, rng: np.random.Generator
) -> Draws:
    """Run Algorithm 1 many times.

    With ``UniformSample`` savings and positives have each their distribution, but not together:
    both depend on which places are drawn again, and are drawn separately.

    `sizes`: the sample sizes of parent and child, the paper's n_P and n_C.

    Examples
    --------
    >>> pair = Pair(parent=1000, both=500, child=1000, both_positives=450, child_positives=700)
    >>> rng = np.random.default_rng(1)
    >>> draws = recycled(pair, (100, 100), option="UniformShuffle", runs=3, rng=rng)
    >>> draws.savings, draws.positives / 100
    (array([45, 50, 50]), array([0.71, 0.64, 0.7 ]))
    """
    of_parent, of_child = sizes
    common = rng.binomial(of_parent, pair.both / pair.parent, size=runs)
    mixed = mixed_size(common, pair.both, pair.child, of_child, rng)
    kept = np.minimum(mixed, of_child)
    p_plus, p_minus = pair.precision_of_both, pair.precision_of_child_only
    if option == "UniformShuffle":
        savings = rng.hypergeometric(common, mixed - common, kept)
        positives = rng.binomial(savings, p_plus) + rng.binomial(kept - savings, p_minus)
    else:
        drawn = np.maximum(mixed, 1)
        savings = np.where(mixed <= of_child, common, rng.binomial(of_child, common / drawn))
        good = rng.binomial(common, p_plus) + rng.binomial(mixed - common, p_minus)
        positives = rng.binomial(kept, good / drawn)
    return Draws(common, savings, positives + rng.binomial(of_child - kept, pair.precision))


def coordinated_savings(
    parent: int, both: int, child: int, n: int, *, runs: int, rng: np.random.Generator
) -> Ints:
    """Return how many items the two first n cards of one deck share, in each run.

    Let u be the number on the parent's nth card, and c the child's other cards below it. If these
    and what the parent's earlier cards share with the child are n or more, the child's sample ends
    first, and n of them, in random order, are the child's; else the child's holds all that the
    parent's n cards share with it.

    Examples
    --------
    >>> coordinated_savings(1000, 500, 1000, 100, runs=3, rng=np.random.default_rng(1))
    array([39, 45, 46])
    """
    u = rng.beta(n, parent - n + 1, size=runs)
    c = rng.binomial(child - both, u)
    shared = rng.hypergeometric(both, parent - both, n, size=runs)
    # The nth card is one of the n at random.
    earlier = shared - (rng.integers(n, size=runs) < shared)
    is_child_first = earlier + c >= n
    of_child = rng.hypergeometric(earlier, c, np.where(is_child_first, n, 0))
    return np.where(is_child_first, of_child, shared)
