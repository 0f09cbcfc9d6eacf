"""Paper 3's samples, a parent's labels used again for a child, and their sizes and savings [1]_.

A_P and A_C are the sets that parent and child predict yes. Algorithm 1 turns S_P, a random sample
of A_P, into S_C, one of A_C: S+ is the part of S_P in A_C, S- a sample of A_C - A_P of matching
size; both are mixed (Algorithm 2), filled up from the whole of A_C, and cut at n_C. A child is the
parent of its own children: give its S_C as their S_P.

What the paper leaves open, and what is done here
-------------------------------------------------
- *Size of S-.* |A_C - A_P| |S+| / |A_P and A_C| is seldom whole, and the proofs need it exactly.
  Rounding down, or to the nearest, favours one side of A_C. Here it is rounded at random: up with
  the chance that keeps the expected number of times an item is in S_C the same for every item of
  A_C, which is all that an unbiased precision needs (`mixed_size`). Where it is whole, nothing
  changes, and each place of S_C is uniform over A_C, as Lemmas 1 and 2 say.
- *No overlap at all.* 0/0 is taken as 0: S_C is a fresh sample of A_C.
- *"Recursively apply Algorithm 2"* is read as Algorithm 1.

What the paper says and does not hold
-------------------------------------
- *Lemma 1* calls the places of a ``UniformSample`` independent. Given S+ and S- they are; but S+
  and S- are drawn only once, so two places show the same draw with chance 1/|S| in addition. The
  variance of the precision is (2 - 1/|S|) times that of |S| independent items where both parts of
  A_C are equally precise: a size made for +-0.03 at 95% gives +-0.042, or +-0.03 at 83%.
  ``UniformShuffle`` does not have this.
- *Recursion* is unbiased where S is never cut at n_C. Where it is cut, the share of S+ in it is a
  ratio of two random counts, since the places of S_P are then not independent in either option,
  and the estimate has a bias of order 1/|S+|: about 0.0001 at the paper's 1,100 labels.

References
----------
.. [1] RecycleSamplesForPrecision, 3.2 and 4.1 (``papers/recycle-samples-for-precision.txt``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import Literal, Self

import numpy as np

from assay.core.goal import Goal
from assay.core.recycling.route import Route, Venn
from assay.core.special import z_of
from assay.core.types import Bools, Floats, Ints, Words
from assay.errors import DesignError

Option = Literal["UniformSample", "UniformShuffle"]


def uniform_sample(population: Ints, size: int, rng: np.random.Generator) -> Ints:
    """Draw random ids of the population, with replacement.

    >>> uniform_sample(np.array([5, 6, 7]), 4, np.random.default_rng(1))
    array([6, 6, 7, 7])
    """
    return population[_places(population.size, size, rng)]


def _places(items: int, size: int, rng: np.random.Generator) -> Ints:
    """Places of that many draws from so many items, with replacement."""
    return rng.integers(items, size=size) if size else np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Items:
    """A set of ids as ascending ranges: billions take as little memory as a few cells."""

    starts: Ints
    lengths: Ints

    @classmethod
    def of(cls, ids: Ints) -> Self:
        """Set of these ascending ids."""
        return cls(ids, np.ones_like(ids))

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.lengths)

    @property
    def size(self) -> int:
        """Number of ids."""
        return int(self._ends[-1]) if self.lengths.size else 0

    def draw(self, size: int, rng: np.random.Generator) -> Ints:
        """Draw ids at random, with replacement.

        >>> Items(np.array([5, 20]), np.array([2, 1])).draw(4, np.random.default_rng(1))
        array([ 6,  6, 20, 20])
        """
        places = _places(self.size, size, rng)
        which = np.searchsorted(self._ends, places, side="right")
        return np.asarray(self.starts[which] + places - self._ends[which] + self.lengths[which])

    def hold(self, ids: Ints) -> Bools:
        """Whether each id is in the set."""
        if self.starts.size == 0:
            return np.zeros(ids.size, dtype=np.bool_)
        which = np.maximum(np.searchsorted(self.starts, ids, side="right") - 1, 0)
        beyond = ids - self.starts[which]
        return np.asarray((beyond >= 0) & (beyond < self.lengths[which]))


@dataclass(frozen=True, eq=False)
class Overlap:
    """Two sets of ids and their intersection: computed once, used for many samples."""

    parent: Items
    child: Items
    both: Items
    child_only: Items


@dataclass(frozen=True, eq=False)
class Recycled:
    """S_C, with repetitions, and its labels that need not be bought (Lemma 3, b and c)."""

    sample: Ints
    savings: int


def overlap(parent: Ints, child: Ints) -> Overlap:
    """Two sets of ids with their intersection and differences.

    A_P and A_C hold distinct ids in any order, at least one each.

    >>> sets = overlap(np.array([1, 2, 3, 4]), np.array([5, 4, 3]))
    >>> sets.both.starts, sets.child_only.starts
    (array([3, 4]), array([5]))
    """
    A_P, A_C = Items.of(np.sort(parent)), np.sort(child)
    is_shared = A_P.hold(A_C)
    return Overlap(A_P, Items.of(A_C), Items.of(A_C[is_shared]), Items.of(A_C[~is_shared]))


def recycle(
    S_P: Ints, sets: Overlap, n_C: int, *, option: Option, rng: np.random.Generator
) -> Recycled:
    """Sample of the child that reuses the parent's sample: Algorithm 1.

    Line 8, the precision, is the share of positives in ``sample`` once it is labelled.

    `option`: how both parts are mixed (Algorithm 2): as many draws from them with replacement, or
    all in random order.

    A child that is a parent in turn gives its sample for S_P.
    """
    S_plus = S_P[sets.both.hold(S_P)]
    X = np.array([S_plus.size])
    size = int(mixed_size(X, sets.both.size, sets.child.size, n_C, rng)[0])
    S_minus = sets.child_only.draw(size - S_plus.size, rng)
    S = np.concatenate([S_plus, S_minus])
    S = uniform_sample(S, S.size, rng) if option == "UniformSample" else rng.permutation(S)
    S_remain = sets.child.draw(max(0, n_C - size), rng)
    S_C = np.concatenate([S, S_remain])[:n_C]
    reused = S_plus.size if size <= n_C else int(sets.both.hold(S_C).sum())
    return Recycled(S_C, reused)


def mixed_size(X: Ints, both: int, child: int, n_C: int, rng: np.random.Generator) -> Ints:
    """Size |S| = |S+| + |S-|: the real number t = X |A_C| / |A_P and A_C| made whole at random.

    Let k be t rounded down. Where S is filled up to n_C, S+ keeps all its X places and the rest
    must be right on average: E|S| = t, so up with chance t - k. Where S is cut at n_C, S+ keeps the
    share X/|S|, and E[X/|S|] = X/t asks for the chance (t - k)(k + 1)/t. Both are fractions of
    whole numbers, drawn exactly. S is never filled up and cut for one X, as n_C is whole.

    >>> mixed_size(np.array([2, 3, 3]), both=2, child=3, n_C=9, rng=np.random.default_rng(1))
    array([3, 5, 4])
    """
    floor, rest = np.divmod(X * child, max(both, 1))
    is_filled_up = floor < n_C
    chances = np.where(is_filled_up, rest, rest * (floor + 1))
    outcomes = np.where(rest == 0, 1, np.where(is_filled_up, both, X * child))
    return np.asarray(floor + (rng.integers(outcomes) < chances))


# Coordinated samples: one deck for several classifiers, each dealt the cards that it calls yes.
#
# Each is a sample without replacement in which every subset is equally likely. As an id keeps its
# number in every set, the samples share what they can: of two, the first min(a, b) of the ids that
# both call yes, where the one sample holds a and the other b such ids. No classifier need be a
# parent, any number can take part, nothing is mixed, and a child's child is as good as a child.
#
# Recycling shares min(X, n_C CIR) on average (`expected_savings`). That is the same
# number where one side always decides: a child within its parent, if the parent's sample is
# without replacement, or samples so unequal that a <= b. Else both fall short of min(n_P PIR, n_C
# CIR) by at most a fraction of a binomial's standard deviation s. With n labels each, PIR = CIR =
# c and s^2 = n c (1 - c), that is 0.4 s for recycling and 0.4 s sqrt(2c) here, as a and b have
# correlation 1 - c: less for c < 1/2, more for c > 1/2.


def coordinated_sample(members: Ints, numbers: Words, n: int) -> Ints:
    """First n cards of the deck restricted to a set: its ids with the least numbers."""
    # The cut comes before the sort: a set may hold millions, its sample a thousand.
    first = np.argpartition(numbers, n)[:n] if n < members.size else np.arange(members.size)
    return members[first[np.argsort(numbers[first])]]


# Paper 3's formulas: sample size (section 3.2) and expected savings (Lemma 3) [1]_.
#
# What the paper leaves open, and what is done here
# -------------------------------------------------
# - *z.* The paper's z_alpha puts alpha *within* mu +- z sigma (its footnote), so z_(1 - delta) is
#   the usual quantile at 1 - delta/2: 1.96 for delta = 0.05.
# - *A bound p0 below 1/2* allows p = 1/2, so it earns nothing: 1/2 is taken. A bound of 1 leaves
#   nothing to find out, and is refused.
# - *Expected savings.* Lemma 3 gives the distribution only. In case (c) each of the n_C places
#   holds an item of S+ with chance CIR, so E[Savings] = E[min(X, n_C CIR)], for both options.
# - *Savings count places, not items.* With ``UniformSample`` some of S- is never drawn again and
#   need not be labelled either; the lemma does not count that.


def sample_size(epsilon: float, delta: float, p0: float = 0.5) -> int:
    """Labels that put the precision within +-epsilon with chance 1 - delta: Eq. 1.

    The least n with epsilon >= z_(1 - delta) sqrt(p (1 - p) / n) for every p of at least p0.

    >>> [sample_size(0.03, 0.05, p0) for p0 in (0.5, 0.9, 0.93)]
    [1068, 385, 278]
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise DesignError(f"{name} {value!r} cannot be used", details="above 0, below 1")
    if not 0 <= p0 < 1:
        raise DesignError(f"p0 {p0!r} cannot be used", details="at least 0, below 1")
    z = z_of(1 - delta)
    p = max(p0, 0.5)
    return math.ceil(z**2 * p * (1 - p) / epsilon**2)


def expected_savings(n_P: int, n_C: int, pir: float, cir: float) -> float:
    """Compute E[min(X, n_C CIR)] with X ~ B(n_P, PIR): the mean of Lemma 3's savings.

    >>> round(expected_savings(1100, 1100, pir=0.85, cir=0.85), 2)
    930.28
    """
    from scipy.special import gammaln, xlog1py, xlogy  # takes long to load, and few need it

    X = np.arange(n_P + 1)
    choose = gammaln(n_P + 1) - gammaln(X + 1) - gammaln(n_P - X + 1)
    chance = np.exp(choose + xlogy(X, pir) + xlog1py(n_P - X, -pir))
    return float((chance * np.minimum(X, n_C * cir)).sum())


# Sizes of paper 3's samples, and how estimates from shared labels vary together [1]_.
#
# Section 3.2 of [1]_ gives the size for a precision. The paper names none for section 6, so here
# they are chosen kindly to it: by the delta method at the *true* rates, which nobody knows
# beforehand, and with what shared labels do to the variance.
#
# - Classifier k gets the size of section 3.2 for the tightest `within` of the targets that depend
#   on its hits. For precisions that is all.
# - The variance of every other target must come down to (within / z)^2. The labels for the false
#   omission rate see to that. Where they alone cannot do it, or would be too many, the samples of
#   the classifiers in such targets grow in steps of 10%. The cheapest sizes are taken.


_GROWTH = 1.1


@dataclass(frozen=True)
class Sizes:
    """Labels of each sample: by classifier, the parent first, and of the parent's no-set."""

    samples: Mapping[str, int]
    omission: int


def plan_sizes(cells: Venn, goal: Goal, route: Route, design: str, *, assume: float) -> Sizes:
    """Sizes of a design's samples."""
    start = published_sizes(goal, route, assume, recycles=design.startswith("recycle"))
    others = np.array([t.metric != "precision" or t.minus is not None for t in goal.targets])
    grows = route.needs[others, :-1].any(axis=0)
    names = tuple(name for name, n in zip(route.names, start, strict=True) if n)
    best, cheapest, factor = Sizes({}, 0), inf, 1.0
    while True:
        n = np.ceil(np.where(grows, factor * start, start))
        hits = np.zeros((n.size, n.size))
        taken = np.flatnonzero(n)
        hits[np.ix_(taken, taken)] = covariance_of_hits(cells, design, names, n[taken])
        omission = _omission(cells, goal, route, others, hits)
        if n.sum() + omission < cheapest:
            cheapest = n.sum() + omission
            samples = dict(zip(names, n[taken].astype(int).tolist(), strict=True))
            best = Sizes(samples, int(omission))
        elif cheapest < inf:
            return best
        factor *= _GROWTH


def published_sizes(goal: Goal, route: Route, assume: float, *, recycles: bool) -> Floats:
    """Sizes of section 3.2, shape (K,); 0 for a classifier that no target needs."""
    widths = np.array([target.within for target in goal.targets], dtype=np.float64)
    needed = route.needs[:, :-1] & (route.yes > 0)
    n = np.zeros(route.yes.size)
    for k in np.flatnonzero(needed.any(axis=0)):
        n[k] = sample_size(widths[needed[:, k]].min(), 1 - goal.goals[0].confidence, assume)
    if recycles and n.any() and not route.yes[0]:
        raise DesignError(
            f"{route.names[0]} says yes to no item, so there is no sample of it to recycle",
            hint="let another classifier be the parent",
        )
    if recycles and n.any() and not n[0]:
        n[0] = n.max()  # no target needs the parent itself, but its sample is reused
    return n


def _omission(cells: Venn, goal: Goal, route: Route, which: Bools, hits: Floats) -> float:
    """Labels of the parent's no-set that these targets take; inf if no number is enough."""
    yes = cells.yes(route.names)
    x = np.append(yes @ cells.positives, (1 - yes[0]) @ cells.positives)  # the true totals
    missed = x[-1] / max(route.no, 1.0)
    spread = route.no**2 * missed * (1 - missed)
    z = z_of(goal.goals[0].confidence)
    most = 0.0
    for t in np.flatnonzero(which):
        slope = route.metrics[t].gradient(x)
        left = (goal.targets[t].within or 0.0) ** 2 / z**2 - slope[:-1] @ hits @ slope[:-1]
        by_misses = slope[-1] ** 2 * spread
        if left <= 0:
            return inf
        if route.needs[t, -1] and route.no:
            most = max(most, 1.0, ceil(by_misses / left))
    return most


def covariance_of_hits(cells: Venn, design: str, names: tuple[str, ...], n: Floats) -> Floats:
    """Covariance of the estimated hits of classifiers that share labels, (K, K).

    `names`: the classifiers that are sampled, the parent first; `n`, (K,): their sample sizes.

    With f_k = n_k / |A_k|, an item of both sets is in the samples of i and j with chance min(f_i,
    f_j) in coordinated samples, and, if it is the parent's too, min(f_1, f_i) min(f_1, f_j) / f_1
    in recycled ones: the parent has it, and neither child is full without it. As in the paper, its
    samples count as independent ones. ``UniformSample`` is worse, and ``UniformShuffle`` a little
    better where a child is more precise within the parent's set than outside, as it holds both
    parts in proportion.
    """
    if not names:
        return np.zeros((0, 0))
    yes = cells.yes(names)
    size = yes @ cells.sizes
    p, f = (yes @ cells.positives / size)[:, None], n / size
    hit, miss = yes * (1 - p), yes * p

    def products(weight: Floats) -> Floats:
        """Sum over items of (y - p_i)(y - p_j), where both predict yes."""
        of_positives = (hit * cells.positives * weight) @ hit.T
        return of_positives + (miss * (cells.sizes - cells.positives) * weight) @ miss.T

    everywhere = products(np.ones(cells.sizes.size))
    shared = np.zeros_like(everywhere)
    if design == "coordinated":
        shared = np.minimum.outer(f, f) * everywhere
    elif design.startswith("recycle"):
        from_parent = np.minimum(f, f[0])
        shared = np.outer(from_parent, from_parent) / f[0] * products(yes[0])
    np.fill_diagonal(shared, f * np.diag(everywhere))
    return np.asarray(shared / np.outer(f, f))
