"""Paper 3's formulas: sample size (section 3.2), savings (Lemma 3), recall (section 6) [1]_.

What the paper leaves open, and what is done here
-------------------------------------------------
- *z.* The paper's z_alpha puts alpha *within* mu +- z sigma (its footnote), so z_(1 - delta) is
  the usual quantile at 1 - delta/2: 1.96 for delta = 0.05.
- *A bound p0 below 1/2* allows p = 1/2, so it earns nothing: 1/2 is taken. A bound of 1 leaves
  nothing to find out, and is refused.
- *Expected savings.* Lemma 3 gives the distribution only. In case (c) each of the n_C places holds
  an item of S+ with chance CIR, so E[Savings] = E[min(X, n_C CIR)], for both options.
- *Savings count places, not items.* With ``UniformSample`` some of S- is never drawn again and
  need not be labelled either; the lemma does not count that.
- *A recall above 1*, which estimates can give by the ratios, is cut at 1.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtri, xlog1py, xlogy

from assay.core.types import Floats, Ints, amounts
from assay.errors import DesignError, InputError
from assay.simulation.recycling.samples import Option, mixed_size, unknown_option, whole_number


def sample_size(epsilon: float, delta: float, p0: float = 0.5) -> int:
    """Return the labels that put the precision within +-epsilon with chance 1 - delta: Eq. 1.

    The least n with epsilon >= z_(1 - delta) sqrt(p (1 - p) / n) for every p of at least p0.

    Parameters
    ----------
    epsilon, delta : float
        Above 0, below 1.
    p0 : float
        What the precision is assumed to be at least; 0 to below 1.

    Examples
    --------
    >>> [sample_size(0.03, 0.05, p0) for p0 in (0.5, 0.9, 0.93)]
    [1068, 385, 278]
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 < value < 1:
            raise DesignError(f"{name} {value!r} cannot be used", details="above 0, below 1")
    if not 0 <= p0 < 1:
        raise DesignError(f"p0 {p0!r} cannot be used", details="at least 0, below 1")
    z = -ndtri(delta / 2)
    p = max(p0, 0.5)
    return math.ceil(z**2 * p * (1 - p) / epsilon**2)


def expected_savings(n_P: int, n_C: int, pir: float, cir: float) -> float:
    """Return E[min(X, n_C CIR)] with X ~ B(n_P, PIR): the mean of Lemma 3's savings.

    Parameters
    ----------
    n_P, n_C : int
        The sample sizes of parent and child.
    pir, cir : float
        |A_P and A_C| / |A_P| and |A_P and A_C| / |A_C|, 0 to 1.

    Examples
    --------
    >>> round(expected_savings(1100, 1100, pir=0.85, cir=0.85), 2)
    930.28
    """
    if not (0 <= pir <= 1 and 0 <= cir <= 1):
        raise InputError(f"ratios {pir!r} and {cir!r} cannot be used", details="0 to 1 is needed")
    n_P, n_C = whole_number("n_P", n_P, least=0), whole_number("n_C", n_C, least=0)
    X = np.arange(n_P + 1)
    choose = gammaln(n_P + 1) - gammaln(X + 1) - gammaln(n_P - X + 1)
    chance = np.exp(choose + xlogy(X, pir) + xlog1py(n_P - X, -pir))
    return float((chance * np.minimum(X, n_C * cir)).sum())


def draw_savings(
    n_P: int,
    n_C: int,
    *,
    parent: int,
    child: int,
    both: int,
    option: Option,
    trials: int,
    rng: np.random.Generator,
) -> Ints:
    """Return the savings of many runs of Algorithm 1, drawn by Lemma 3 from the sets' sizes alone.

    Parameters
    ----------
    n_P, n_C : int
        The sample sizes of parent and child; n_C is at least 1.
    parent, child, both : int
        |A_P|, |A_C| and |A_P and A_C|.
    option : {"UniformSample", "UniformShuffle"}
    trials : int
    rng : numpy.random.Generator

    Examples
    --------
    >>> sizes = dict(parent=100_000, child=200_000, both=50_000)
    >>> rng = np.random.default_rng(1)
    >>> draw_savings(1100, 1100, **sizes, option="UniformShuffle", trials=4, rng=rng)
    array([274, 259, 272, 261])
    """
    parent = whole_number("parent", parent, least=1)
    child = whole_number("child", child, least=1)
    if whole_number("both", both, least=0) > min(parent, child):
        raise InputError(
            f"sets of {parent} and {child} items cannot share {both}",
            details="each holds as many as they share",
        )
    n_P, n_C = whole_number("n_P", n_P, least=0), whole_number("n_C", n_C, least=1)
    trials = whole_number("trials", trials, least=0)
    X = rng.binomial(n_P, both / parent, size=trials)  # (a)
    S = mixed_size(X, both, child, n_C, rng)
    if option == "UniformShuffle":
        return rng.hypergeometric(X, S - X, np.minimum(S, n_C))  # X where S is not cut
    if option == "UniformSample":
        cut = rng.binomial(n_C, X / np.maximum(S, 1))
        return np.where(n_C >= S, X, cut)
    raise unknown_option(option)


def recall_of_one(p: float, A: float, f: float, B: float) -> float:
    """Return r1 = p1 |A1| / (p1 |A1| + f1 |B1|): section 6.

    Parameters
    ----------
    p, f : float
        Precision and false omission rate.
    A, B : float
        The number of items that the classifier calls yes, and no.

    Examples
    --------
    >>> recall_of_one(p=0.9, A=1000, f=0.01, B=10_000)
    0.9
    """
    found, missed = _share("precision", p) * _size(A), _share("false omission rate", f) * _size(B)
    if found + missed <= 0:
        raise InputError(
            "recall is not defined without positives",
            details=f"precision {p!r} and false omission rate {f!r} leave none",
        )
    return float(found / (found + missed))


def recall_of_others(r1: float, p1: float, A1: float, p: ArrayLike, A: ArrayLike) -> Floats:
    """Return r = r1 p |A| / (p1 |A1|) for each other classifier: section 6.

    Parameters
    ----------
    r1, p1, A1 : float
        Recall, precision and number of items called yes of the one whose recall is known.
    p, A : array
        Precision and number of items called yes of each other.

    Returns
    -------
    array
        At most 1, which estimates of p and r1 may exceed.

    Examples
    --------
    >>> recall_of_others(0.9, 0.9, 1000, p=[0.8, 0.95], A=[1050, 500])
    array([0.84 , 0.475])
    """
    found = _share("precision", p1) * _size(A1)
    if found <= 0 or _share("recall", r1) <= 0:
        raise InputError(
            f"recall {r1!r} with precision {p1!r} of {A1!r} items says nothing of the others",
            details="the ratios need a classifier that finds positives",
            hint="start from another classifier",
        )
    return np.asarray(np.minimum(1.0, r1 * _share("precision", p) * _size(A) / found))


def _share(name: str, value: ArrayLike) -> Floats:
    share = amounts(name, value)
    if (share > 1).any():
        raise InputError(f"{name} {value!r} cannot be used", details="0 to 1 is needed")
    return share


def _size(value: ArrayLike) -> Floats:
    return amounts("number of items", value)
