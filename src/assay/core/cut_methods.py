"""The seven ways of the papers to cut a score profile into strata, and one of our own.

``depth``, ours, is for metrics that need both predicted labels. Errors lie near the threshold, and
how far they reach is unknown: for a rare class, nearly all missed positives may be among one in a
hundred of the items predicted no. Strata by ``depth`` widen with the number k of items between them
and the threshold, in equal steps of log(1 + k/m), m the number of items with the other predicted
label. That is the scale on which errors are to be expected: a classifier that says yes to m items
misses positives by the order of m, not of all items. If both labels are predicted equally often,
strata are nearly of equal size. The rarer a label, the more the other's strata widen. The method
depends only on the order of the scores.

References
----------
.. [1] Bennett and Carvalho (2010). Online stratified sampling: evaluating classifiers at
   web-scale. CIKM, section 5.
.. [2] Kumar and Raj. Classifier risk estimation under limited labeling resources, section 3.5.
.. [3] Hansen, Hurwitz and Madow (1953). Sample Survey Methods and Theory. Wiley.
.. [4] Dalenius and Gurney (1951). The problem of optimum stratification II. Skand. Aktuarietidskr.
   34.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from assay.core.bins import scale_of
from assay.core.clustering import equal_root_parts, gaussian_mixture, kmeans
from assay.core.cuts import Cuts
from assay.core.profile import Profile
from assay.core.special import expit
from assay.core.types import Floats, Ints
from assay.errors import DesignError, did_you_mean

UNEVEN = "strata hold"  # prefix of notes on strata of unequal sizes

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "equal": "score intervals of equal width (Bennett and Carvalho; EQWD of Kumar and Raj)",
        "perc": "strata of equal size (Bennett and Carvalho; EQSZ of Kumar and Raj)",
        "sqrt": "equal steps of the cumulated square root of the density (Dalenius and Hodges)",
        "cbrt": "equal steps of the cumulated cube root of the density (Singh)",
        "wtmn": "strata of equal total score (Hansen, Hurwitz and Madow)",
        "km": "K-means clusters of the scores (Kumar and Raj)",
        "gmm": "components of a Gaussian mixture of the scores (Kumar and Raj)",
        "depth": "strata that widen away from the threshold",
        "spread": "strata of equal total sqrt(q (1 - q)), q the chance that the score is, or whose "
        "log odds it is (Dalenius and Gurney)",
        "ladder": "strata from the highest score down, each a step of the same ratio of all items "
        "above it, of 40 items or more",
        "auto": "equal size for a metric of one predicted label; otherwise half as many per "
        "label, widening away from the threshold",
    }
)

_SUREST = 0.02
_LEAST_RUNG = 40  # items: twice a round of bets, which must not use up a stratum

_ALIASES = {"eqwd": "equal", "eqsz": "perc"}

# The stratum number of each cell, in which gaps mean empty strata, and notes from cutting.
_Numbered = tuple[Ints, list[str]]


@dataclass(frozen=True)
class Facing:
    """Position of the threshold as seen from the items of one predicted label."""

    up: bool  # whether it lies above their scores
    others: int  # the items on its other side


def canonical_method(name: str) -> str:
    """Canonical name of a stratification method.

    >>> canonical_method("EQSZ")
    'perc'
    """
    word = str(name).lower()
    method = _ALIASES.get(word, word)
    if method not in METHODS:
        known = [*METHODS, *_ALIASES]
        raise DesignError(
            f"unknown stratification method {name!r}",
            details=f"methods: {', '.join(known)}",
            hint=did_you_mean(word, known),
        )
    return method


def cut(profile: Profile, method: str, bins: int, facing: Facing | None = None) -> Cuts:
    """Cut a profile into strata.

    No stratum is empty and each point is the lower end of a cell, so `sizes` counts the items
    exactly. A cell is never split: it goes to the side of a boundary on which its mean lies. If
    there are fewer than `bins` strata, the notes say why. With at most `bins` cells, each cell is a
    stratum for any method.

    >>> from assay.core.profile import profile_of
    >>> cut(profile_of(np.array([0.0, 0.1, 0.2, 0.3, 0.8, 1.0])), "perc", 3).points
    (0.2, 0.8)
    >>> cut(profile_of(np.array([0.2, 0.2, 0.7])), "km", 8).notes
    ('asked for 8 strata, 2 distinct scores: 2 strata',)
    """
    method = canonical_method(method)
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        raise DesignError(f"bins is {bins!r}", details="it must be a whole number, at least 1")
    if profile.low.size <= bins and method != "ladder":
        number, notes = _each_cell(profile, bins)
    else:
        if method == "auto" or (method == "depth" and facing is None):
            method = "perc"
        if method == "depth" and facing is not None:
            number, notes = _depth(profile, int(bins), facing), []
        else:
            number, notes = _CUT[method](profile, int(bins))
        strata = np.unique(number).size
        if strata < bins:
            why = f"{bins - strata} would be empty"
            if method == "ladder":
                why = f"each of {_LEAST_RUNG} items or more"
            notes.append(f"asked for {_strata(bins)}, {why}: {_strata(strata)}")
    _, owner = np.unique(number, return_inverse=True)
    starts = np.flatnonzero(np.diff(owner)) + 1
    return Cuts(
        method=method,
        points=tuple(profile.low[starts].tolist()),
        owner=(int(owner[0]), *owner[starts].tolist()),
        notes=tuple(notes),
    )


def _each_cell(profile: Profile, bins: int) -> _Numbered:
    """Make each cell a stratum."""
    cells = profile.low.size
    if cells == bins:
        return np.arange(cells), []
    what = ("distinct score" if profile.exact else "score cell") + ("s" if cells > 1 else "")
    return np.arange(cells), [f"asked for {_strata(bins)}, {cells} {what}: {_strata(cells)}"]


def _equal(profile: Profile, K: int) -> _Numbered:
    """Cut at min + r k / K, with r the range [2]_."""
    scores = _without_overflow(np.array([profile.min, *profile.mean, profile.max]))
    smallest, largest = scores[0], scores[-1]
    points = smallest + (largest - smallest) * np.arange(1, K) / K
    return np.searchsorted(points, scores[1:-1], side="right"), []


def _perc(profile: Profile, K: int) -> _Numbered:
    """Cut nearest to every N / K items."""
    number = _equal_parts(profile.count.astype(np.float64), K)
    sizes = np.bincount(number, profile.count)
    sizes = sizes[sizes > 0]
    if sizes.max() - sizes.min() <= 1:
        return number, []
    why = "equal scores" if profile.exact else "scores in one cell of the profile"
    return number, [
        f"{UNEVEN} {sizes.min():.0f} to {sizes.max():.0f} items, as {why} cannot be split"
    ]


def _depth(profile: Profile, K: int, facing: Facing) -> Ints:
    """Make equal steps of log(1 + k/m), k the items between a score and the threshold."""
    passed = np.concatenate([[0.0], np.cumsum(profile.count, dtype=np.float64)])
    k = passed[-1] - passed if facing.up else passed
    return _equal_parts(np.abs(np.diff(np.log1p(k / max(facing.others, 1)))), K)


def spread_of(profile: Profile) -> Floats:
    """Contribution of each cell to the total of sqrt(q (1 - q)).

    q is the score itself if scores are probabilities (declared, or all between 0 and 1), and
    otherwise the probability whose log odds it is. A very confident model may be wrong, so q is
    kept at least one in fifty away from 0 and 1.
    """
    is_chance = (profile.scale or scale_of(profile.min, profile.max)) == "probability"
    q = np.clip(profile.mean if is_chance else expit(profile.mean), _SUREST, 1 - _SUREST)
    return np.asarray(profile.count * np.sqrt(q * (1 - q)))


def _ladder(profile: Profile, K: int) -> _Numbered:
    """Cut so that the number of items above grows by a constant ratio, from the highest score down.

    Whether a floor is kept depends on the number of items above a threshold, on any scale: a tenth
    more of them is a step whether there are a thousand or a million.
    """
    count = profile.count[::-1].astype(np.float64)
    ratio = max(float(count.sum()) / _LEAST_RUNG, 1.0) ** (1 / max(K - 1, 1))
    first = _LEAST_RUNG if K > 1 else np.inf
    rungs, passed, began, rest = [0], 0.0, 0.0, float(count.sum())
    for items in count.tolist():
        full = passed >= max(began + first, began * ratio) and rest >= _LEAST_RUNG
        began = passed if full else began
        rungs.append(rungs[-1] + full)
        passed, rest = passed + items, rest - items
    number = np.array(rungs[:0:-1])
    return number[0] - number, []


def _spread(profile: Profile, K: int) -> _Numbered:
    return _equal_parts(spread_of(profile), K), []


def _equal_root_parts(profile: Profile, K: int, *, root: int) -> _Numbered:
    z = _unit(profile)
    points = equal_root_parts(z, profile.count.astype(np.float64), K, root)
    return np.searchsorted(points, z, side="right"), []


def _wtmn(profile: Profile, K: int) -> _Numbered:
    """Make W_k * mean_k equal [3]_: cumulate the scores and cut the total into equal parts."""
    scores = _without_overflow(np.array([profile.min, *profile.mean, profile.max]))
    smallest, z = scores[0], scores[1:-1]
    notes = []
    if smallest < 0:
        # With negative scores the cumulated total is not monotone: equal parts may not exist, or
        # not be intervals. The least shift that repairs it keeps the differences between scores.
        z = z - smallest
        notes.append(
            f"scores below zero: {-profile.min:.6g} was added to all, "
            "as totals can be made equal only of scores that are not negative"
        )
    return _equal_parts(z * profile.count, K), notes


def _km(profile: Profile, K: int) -> _Numbered:
    return kmeans(_unit(profile), profile.count.astype(np.float64), K), []


def _gmm(profile: Profile, K: int) -> _Numbered:
    """Assign each cell to the most probable component for its mean."""
    z = _unit(profile)
    W = profile.count.astype(np.float64)
    mixture = gaussian_mixture(z, W, K)
    component = mixture.most_probable(z)
    items = np.bincount(component, W, K)
    total = np.bincount(component, W * z, K)
    mean = np.divide(total, items, out=np.full(K, np.inf), where=items > 0)
    rank = np.empty(K, dtype=np.int64)
    rank[np.argsort(mean, kind="stable")] = np.arange(K)
    notes = []
    if not mixture.converged:
        notes.append("the Gaussian mixture was still improving when its iterations ended")
    intervals = np.count_nonzero(np.diff(component)) + 1
    strata = int(np.count_nonzero(items))
    if intervals > strata:
        notes.append(
            f"{_strata(strata)} of {intervals} intervals: "
            "a wide Gaussian has both flanks of a narrow one"
        )
    return rank[component], notes


_CUT: dict[str, Callable[[Profile, int], _Numbered]] = {
    "equal": _equal,
    "perc": _perc,
    "sqrt": partial(_equal_root_parts, root=2),
    "cbrt": partial(_equal_root_parts, root=3),
    "wtmn": _wtmn,
    "km": _km,
    "gmm": _gmm,
    "spread": _spread,
    "ladder": _ladder,
}


def _equal_parts(amount: Floats, K: int) -> Ints:
    """Cut the cells into parts of equal amounts, as nearly as whole cells allow."""
    cumulated = np.concatenate([[0.0], np.cumsum(amount)])
    target = cumulated[-1] * np.arange(1, K) / K
    after = np.searchsorted(cumulated, target)
    before = after - 1
    nearer_before = target - cumulated[before] <= cumulated[after] - target
    edge = np.where(nearer_before, before, after)
    return np.searchsorted(edge, np.arange(amount.size), side="right")


def _without_overflow(scores: Floats) -> Floats:
    """Divide by the power of two that brings the largest magnitude to between 1/2 and 1.

    Then differences and totals of scores cannot overflow, and rounding stays the same.
    """
    _, exponent = np.frexp(np.abs(scores).max())
    scaled: Floats = np.ldexp(scores, -exponent)
    return scaled


def _unit(profile: Profile) -> Floats:
    """Rescale the cells' means to run from 0 to 1."""
    z = _without_overflow(profile.mean)
    unit: Floats = (z - z[0]) / (z[-1] - z[0])
    return unit


def _strata(count: int) -> str:
    return f"{count} {'stratum' if count == 1 else 'strata'}"
