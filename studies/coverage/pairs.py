"""Pairs of classifiers of the same items, for the coverage of differences: made and real.

Strata are within the cells of a Venn diagram: what both say yes to, only the first, only the
second, neither. Each is cut by the mean of the items' ranks in the two scores.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.core.cut_methods import cut
from assay.core.cuts import Cuts
from assay.core.design import Design
from assay.core.differences import difference
from assay.core.forecast import isotonic_rates, least_variance
from assay.core.forms import Ratio, ratio
from assay.core.profile import Profile, profile_of
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints
from assay.simulation import Frame

# Strata a cell, at most. Eight save 1 to 3% of the labels, and stop too soon where forty labels are
# enough: the interval does not bear one or two labels in each of many strata.
_BINS = 4
_MADE_ITEMS = 100_000
_RARE_ITEMS = 300_000


@dataclass(frozen=True, eq=False)
class _Cell:
    """The items that the classifiers say the same two things about."""

    says: tuple[bool, bool]
    profile: Profile
    outcomes: Floats


@dataclass(frozen=True, eq=False)
class Pair:
    """Two classifiers, and a metric whose difference, first - second, is to be estimated."""

    name: str
    metric: str  # ``precision`` or ``accuracy``
    truth: Bools  # (N,)
    # scores, predicted, (N,): of the two classifiers.
    scores: tuple[Floats, Floats]
    predicted: tuple[Bools, Bools]

    @property
    def twin(self) -> str:
        """The name under which random sampling is run beside it."""
        return self.name

    @property
    def value(self) -> float:
        """The difference's true value."""
        return float(self._form.value(self._totals))

    @property
    def items(self) -> int:
        """Items that the metric of either is about."""
        return int(self._sizes.sum())

    @property
    def reach(self) -> float:
        """Half the range that the difference can lie in before there are labels."""
        low, high = self._form.extremes(0 * self._sizes, self._sizes)
        return float(high - low) / 2

    @property
    def random_variance(self) -> float:
        """The variance of the difference in a simple random sample, times the labels.

        The mean square of what an item adds to it, (t - p_1)/N_1 where the first says yes less
        (t - p_2)/N_2 where the second does, times N; for accuracy, of 1 where only the first is
        right and -1 where only the second is, less the difference.
        """
        square = 0.0
        for positive, items in ((1.0, self._totals), (0.0, self._sizes - self._totals)):
            adds = self._added(self._says[:, 0], positive) - self._added(self._says[:, 1], positive)
            square += float((items * adds**2).sum())
        return square / self.items

    def _added(self, says_yes: Bools, positive: float) -> Floats:
        """Return what an item of each cell adds to one classifier's metric."""
        form = ratio(self.metric, self._sizes, says_yes)
        value = float(form.value(self._totals))
        if self.metric == "accuracy":
            return np.where(says_yes, positive, 1 - positive) - value
        return np.where(says_yes, positive - value, 0.0) * self.items / form.b0

    @property
    def limit(self) -> float:
        """The share of random sampling's labels that a design by the mean rank must spend."""
        parts = []
        for cell, slope in zip(self._cells, np.abs(self._form.a), strict=True):
            count = cell.profile.count.astype(np.float64)
            eta = isotonic_rates(count, cell.outcomes)
            parts.append(np.sqrt(least_variance(slope * count, np.sqrt(eta * (1 - eta)))))
        return float(np.sum(parts) ** 2 / self.random_variance)

    def frame(self, design: Design) -> Frame:
        """Cut every cell as the design does, into four strata at most.

        Cells that tell the two classifiers apart by nothing are left out, unless the sample is
        blind to the scores, and falls there too.
        """
        points: list[float] = []
        owner: list[int] = []
        slopes: list[float] = []
        sizes: list[Ints] = []
        outcomes = []
        for cell, slope in zip(self._cells, self._form.a, strict=True):
            if slope == 0 and design.bins > 1:
                continue
            cuts = cut(cell.profile, design.strata, min(design.bins, _BINS))
            # One line of strata: each cell's ranks, which lie between 0 and 1, after the last's.
            points += [float(len(sizes))] if owner else []
            points += [len(sizes) + point for point in cuts.points]
            owner += [len(slopes) + each for each in cuts.owner]
            sizes.append(cuts.sizes(cell.profile))
            outcomes.append(np.bincount(cuts.assign(cell.profile.low), cell.outcomes))
            slopes += [float(slope)] * cuts.n_strata
        a, every = np.array(slopes), np.concatenate(sizes)
        return Frame(
            Ratio(self._form.a0, a, self._form.b0, np.zeros_like(a)),
            Strata.of_sides(
                "cell and mean rank",
                {None: Cuts(design.strata, tuple(points), tuple(owner))},
                every.tolist(),
            ),
            every.astype(np.float64),
            np.concatenate(outcomes),
        )

    @cached_property
    def _cells(self) -> list[_Cell]:
        """The cells that have items."""
        from scipy.stats import rankdata  # takes long to load, and few commands need it

        first_rank, second_rank = (rankdata(score) for score in self.scores)
        rank = (first_rank + second_rank) / (2 * self.truth.size + 2)
        first, second = self.predicted
        cells = []
        for says in ((True, True), (True, False), (False, True), (False, False)):
            inside = (first == says[0]) & (second == says[1])
            counts = any(says) or self.metric != "precision"
            if counts and inside.any():
                values = rank[inside]
                profile = profile_of(values, "probability")
                place = np.searchsorted(profile.low, values, side="right") - 1
                found = np.bincount(place, self.truth[inside], minlength=profile.low.size)
                cells.append(_Cell(says, profile, found.astype(np.float64)))
        return cells

    @cached_property
    def _form(self) -> Ratio:
        """The difference, over the cells."""
        first, second = self._says.T
        one, other = (ratio(self.metric, self._sizes, says) for says in (first, second))
        return difference(one, other)

    @cached_property
    def _says(self) -> Bools:
        return np.array([cell.says for cell in self._cells])

    @cached_property
    def _sizes(self) -> Floats:
        return np.array([cell.profile.count.sum() for cell in self._cells], dtype=np.float64)

    @cached_property
    def _totals(self) -> Floats:
        return np.array([cell.outcomes.sum() for cell in self._cells])


@dataclass(frozen=True)
class _Recipe:
    """Two scores: the item's own value, and noise of which a share is the same in both."""

    noise: tuple[float, float]
    thresholds: tuple[float, float] = (0.0, 0.0)
    shared: float = 0.3
    positive_from: float = 0.0
    misfiled: float = 0.015  # items that no classifier can be right about


_RECIPES = {
    "made alike": _Recipe(noise=(0.5, 0.5)),
    "made better": _Recipe(noise=(0.25, 0.7)),
    "made near twins": _Recipe(noise=(0.4, 0.45), shared=0.97),
    "made lenient, strict": _Recipe(noise=(0.4, 0.4), thresholds=(-0.3, 0.6)),
    "made strict, lenient": _Recipe(noise=(0.3, 0.5), thresholds=(0.8, 0.2), shared=0.0),
    "made of rare positives": _Recipe(noise=(0.3, 0.4), thresholds=(1.8, 1.8), positive_from=1.6),
}
_RARE_RECIPES = {
    "made rare, one in 30": _Recipe((0.35, 0.45), (1.9, 2.0), positive_from=1.834, misfiled=5e-4),
    "made rare, one in 100": _Recipe((0.3, 0.45), (2.4, 2.5), positive_from=2.326, misfiled=2e-4),
}


@lru_cache(maxsize=1)
def made_pairs(seed: int) -> list[Pair]:
    """Return pairs of noisy scores of the same truth: alike, better, nearly the same, and others.

    Examples
    --------
    >>> better = made_pairs(seed=1)[2]
    >>> better.name, better.metric, round(better.value, 2)
    ('made better', 'precision', 0.12)
    """
    pairs = _made(_RECIPES, _MADE_ITEMS, seed, stream=3)
    return [each for pair in pairs for each in _of_both_metrics(pair)]


@lru_cache(maxsize=1)
def rare_pairs(seed: int) -> list[Pair]:
    """Return pairs of classifiers of rare classes.

    Examples
    --------
    >>> [round(float(pair.truth.mean()), 3) for pair in rare_pairs(seed=1)]
    [0.034, 0.01]
    """
    return _made(_RARE_RECIPES, _RARE_ITEMS, seed, stream=4)


def _made(recipes: Mapping[str, _Recipe], items: int, seed: int, *, stream: int) -> list[Pair]:
    pairs = []
    for number, (name, recipe) in enumerate(recipes.items()):
        rng = np.random.default_rng([seed, number, stream])
        own = rng.standard_normal(items)
        truth = (own > recipe.positive_from) ^ (rng.random(items) < recipe.misfiled)
        both = np.sqrt(recipe.shared) * rng.standard_normal(items)
        rest = np.sqrt(1 - recipe.shared)
        first, second = (
            own + noise * (both + rest * rng.standard_normal(items)) for noise in recipe.noise
        )
        predicted = first > recipe.thresholds[0], second > recipe.thresholds[1]
        pairs.append(Pair(name, "precision", truth, (first, second), predicted))
    return pairs


@lru_cache(maxsize=1)
def real_pairs(folder: Path) -> list[Pair]:
    """Return the neighbours among the classifiers of each file that has the truth in ``label``."""
    return [pair for file in sorted(folder.glob("*.parquet")) for pair in _of_file(file)]


def _of_file(file: Path) -> Iterator[Pair]:
    columns = pq.read_schema(file).names
    names = [column.removeprefix("score_") for column in columns if column[:6] == "score_"]
    if "label" not in columns:
        return
    table = pq.read_table(file)

    def of(name: str) -> Floats:
        return np.asarray(table[name].to_numpy())

    for first, second in pairwise(names):
        both = (first, second)
        scores = [of(f"score_{name}").astype(np.float64) for name in both]
        predicted = [of(f"pred_{name}").astype(np.bool_) for name in both]
        yield from _of_both_metrics(
            Pair(
                f"{file.stem} {first} - {second}",
                "precision",
                of("label").astype(np.bool_),
                (scores[0], scores[1]),
                (predicted[0], predicted[1]),
            )
        )


def _of_both_metrics(pair: Pair) -> tuple[Pair, Pair]:
    return pair, replace(pair, metric="accuracy")
