"""A judge as a classifier: kappa and gaps, against scikit-learn, differences and simulation."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.metrics import cohen_kappa_score

from assay.core.subgroups import (
    Domain,
    Share,
    Term,
    as_contrast,
    contrast_reach,
    contrast_share,
    domain,
    share_of,
)
from assay.core.types import Floats, Ints
from tests.sklearn_metrics import SKLEARN

RUNS = 4000
_, KAPPA_SHARE = share_of("kappa")
# Of kinds said x verdict x answer, each yes first: 2 (2 (not said) + not verdict) + not answer.
KIND = np.arange(8)
SAID, VERDICT, ANSWER = KIND < 4, KIND // 2 % 2 == 0, KIND % 2 == 0


def of(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def gap(metric: str) -> list[Term]:
    """A metric by the judge less by people."""
    return [Term(sign, metric, 2 * ~SAID + ~label) for sign, label in ((1, VERDICT), (-1, ANSWER))]


TWO = [
    Term(sign * whose, "accuracy", 2 * ~said + ~label)
    for whose, label in ((1, VERDICT), (-1, ANSWER))
    for sign, said in ((1, SAID), (-1, ~SAID))
]


def test_kappa_is_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.3
    verdict = np.where(rng.random(400) < 0.8, truth, rng.random(400) < 0.5)
    said = product((True, False), repeat=2)
    share, _, known = KAPPA_SHARE(of(*(np.sum((verdict == v) & (truth == t)) for v, t in said)))
    assert known
    assert 2 * share - 1 == pytest.approx(cohen_kappa_score(truth, verdict), abs=1e-12)


def test_kappa_of_those_who_say_one_thing_only_is_not_known() -> None:
    _, slopes, known = KAPPA_SHARE(of(9, 0, 0, 0))
    assert not known
    assert not slopes.any()


@pytest.mark.parametrize("metric", [name for name in SKLEARN if name != "prevalence"])
def test_a_gap_is_the_difference_of_scikit_learns_metrics(metric: str) -> None:
    counts = of(40, 7, 11, 5, 9, 6, 12, 60)
    item = np.repeat(KIND, counts.astype(np.int64))
    share, _, known = contrast_share(gap(metric))(counts)
    assert known
    by_judge, by_people = (SKLEARN[metric](label[item], SAID[item]) for label in (VERDICT, ANSWER))
    value = contrast_reach(gap(metric)) * (2 * share - 1)
    assert value == pytest.approx(by_judge - by_people, abs=1e-12)


@pytest.mark.parametrize(
    "share", [KAPPA_SHARE, contrast_share(gap("f1")), contrast_share(gap("recall"))]
)
def test_slopes_are_those_of_small_differences(share: Share) -> None:
    sums = of(40, 7, 11, 55) if share is KAPPA_SHARE else of(40, 7, 11, 5, 9, 6, 12, 60)

    def value(at: Floats) -> float:
        return float(share(at)[0])

    near = approx_fprime(sums, value, 1e-6)
    assert share(sums)[1] == pytest.approx(near, abs=1e-6)


def simulated(seed: int, chances: Floats, n: Ints) -> Floats:
    rng = np.random.default_rng(seed)
    draws = [rng.multinomial(size, its, RUNS) for size, its in zip(n, chances, strict=True)]
    return np.stack(draws, axis=1).astype(np.float64)


def holds(found: Domain, true: float) -> float:
    return float(np.mean((found.low <= true) & (true <= found.high)))


@pytest.mark.parametrize(
    "terms", [gap("accuracy"), gap("recall"), TWO], ids=["one", "bends", "two"]
)
def test_intervals_of_gaps_hold_where_labels_are_out_of_proportion(terms: list[Term]) -> None:
    """At 95%, 4,000 samples: coverage below 0.94 has a chance of 1 in 500 at 0.95.

    Without the strata's weights it is wrong in a fifth of the runs or more. As if judge and people
    had been asked of other items, not of the same, the interval is far too wide.
    """
    N, n = of(30_000, 70_000), np.array([300, 200])
    chances = np.array([[0.5, 0.2, 0.03, 0.27, 0, 0, 0, 0], [0, 0, 0, 0, 0.04, 0.01, 0.05, 0.9]])
    counts, possible = simulated(2, chances, n), chances > 0
    reach, share = contrast_reach(terms), contrast_share(terms)
    true = float(reach * (2 * share(N @ chances)[0] - 1))
    drawn = np.broadcast_to(n.astype(np.float64), (RUNS, 2))

    def known(sizes: Floats, share: Share) -> Domain:
        found = domain(sizes, drawn, counts, possible=possible, confidence=0.95, share=share)
        return as_contrast(found, reach, 0.95)

    found = known(N, share)
    assert 0.94 < holds(found, true) < 0.98
    assert holds(known(n.astype(np.float64), share), true) < 0.8
    assert found.value.std() == pytest.approx(np.sqrt(found.variance.mean()), rel=0.07)
    half = len(terms) // 2
    apart = sum(
        known(N, contrast_share(each)).variance.mean() for each in (terms[:half], terms[half:])
    )
    assert np.sqrt(apart) > 1.1 * found.value.std()
