"""Paper 3's designs for several classifiers: unbiased, shared as Lemma 3 says, large enough.

Random checks allow 4.5 standard errors: each fails by chance in less than 1 of 100,000 seeds. The
seeds are fixed.
"""

import numpy as np
import pytest
from scipy.special import ndtri

from assay.core.goal import Goal
from assay.core.recycling.route import Route, choose_parent
from assay.core.recycling.samples import Sizes, covariance_of_hits, expected_savings, plan_sizes
from assay.core.targets import parse_targets
from assay.core.types import Floats, Ints
from assay.simulation import Population
from assay.simulation.named_designs import FIXED, SharedSamples

NAMES = ("a", "b", "c")
LINEAR = ["precision:a", "precision:b", "precision:c", "accuracy:c", "prevalence",
          "false_omission_rate:b", "precision:b - precision:c"]  # fmt: skip
DOUBT = 4.5


def ensemble(items: int) -> Population:
    """Each is right where it agrees with the others, and wrong more often where it is alone."""
    rng = np.random.default_rng(5)
    truth = rng.random(items) < 0.4
    hard = rng.random(items) < 0.4
    wrong = {
        name: (rng.random(items) < 0.05) | (hard & (rng.random(items) < 0.35)) for name in NAMES
    }
    return Population(y_true=truth, y_pred={name: truth ^ missed for name, missed in wrong.items()})


def goal(*metrics: str, within: float = 0.05) -> Goal:
    return Goal(targets=parse_targets(metrics, NAMES, within=within))


class OnlyRecycled(SharedSamples):
    """Wrong: a child gets what the parent's sample has of its set, and nothing of the rest."""

    def draw(self, rng: np.random.Generator) -> list[Ints]:
        parent, *children, rejected = super().draw(rng)
        return [parent, *(rows[np.isin(rows, parent)] for rows in children), rejected]


def check_unbiased(found: Population, design: SharedSamples, wanted: Goal) -> None:
    runs = design.replay(3000, key=[11])
    truth = np.array([found.value(target) for target in wanted.targets])
    error = runs.value - truth
    doubt = DOUBT * error.std(axis=0) / np.sqrt(len(error))
    assert (np.abs(error.mean(axis=0)) <= doubt).all()


@pytest.mark.parametrize("design", FIXED)
def test_every_design_is_unbiased(design: str) -> None:
    """7 checks of 4 designs; sizes that make S of Algorithm 1 be cut, filled up, and neither."""
    found, wanted = ensemble(1500), goal(*LINEAR)
    route, sizes = Route.of(found.by_cell, wanted, "a"), Sizes({"a": 60, "b": 30, "c": 90}, 40)
    check_unbiased(found, SharedSamples(found, route, design, sizes), wanted)


def test_recycling_without_the_rest_of_a_child_is_told_apart() -> None:
    found, wanted = ensemble(1500), goal(*LINEAR)
    route, sizes = Route.of(found.by_cell, wanted, "a"), Sizes({"a": 60, "b": 30, "c": 90}, 40)
    with pytest.raises(AssertionError):
        check_unbiased(found, OnlyRecycled(found, route, "recycle-shuffle", sizes), wanted)


def check_savings(found: Population, design: str, n: dict[str, int]) -> None:
    wanted = goal("precision:a", "precision:b")
    drawn = SharedSamples(found, Route.of(found.by_cell, wanted, "a"), design, Sizes(n, 0))
    rng = np.random.default_rng(3)
    reused = np.zeros(400)
    for run in range(reused.size):
        parent, child, _ = drawn.draw(rng)
        reused[run] = np.isin(child, parent).sum()
    a, b = found.says_yes("a"), found.says_yes("b")
    both = (a & b).sum()
    expected = expected_savings(n["a"], n["b"], both / a.sum(), both / b.sum())
    # What fills S up may by chance hold items of the parent's sample: not a saving of Lemma 3.
    by_chance = n["b"] * n["a"] / a.sum()
    doubt = DOUBT * reused.std() / np.sqrt(reused.size)
    assert expected - doubt <= reused.mean() <= expected + doubt + by_chance


@pytest.mark.parametrize("n", [{"a": 80, "b": 80}, {"a": 120, "b": 40}, {"a": 40, "b": 120}])
def test_recycled_labels_are_as_many_as_lemma_3_says(n: dict[str, int]) -> None:
    found = ensemble(60_000)
    check_savings(found, "recycle-shuffle", n)
    with pytest.raises(AssertionError):
        check_savings(found, "independent", n)


def guesses() -> Population:
    """Classifiers that agree with each other, but know nothing: all are equally precise."""
    rng = np.random.default_rng(8)
    shared = rng.random(6000)
    said = {name: (shared + rng.random(6000) / 2 > 1.0 - k / 9) for k, name in enumerate(NAMES)}
    return Population(y_true=rng.random(6000) < 0.7, y_pred=said)


def check_covariance(found: Population, drawn_as: str, said: str) -> None:
    """The covariance of R draws has a variance of (c_ii c_jj + c_ij^2) / R."""
    n = {"a": 60, "b": 40, "c": 80}
    wanted = goal("precision:a", "precision:b", "precision:c")
    route = Route.of(found.by_cell, wanted, "a")
    runs = SharedSamples(found, route, drawn_as, Sizes(n, 0)).replay(4000, key=[2])
    seen = np.cov(runs.value * route.yes, rowvar=False)
    told = covariance_of_hits(
        found.by_cell, said, NAMES, np.array(list(n.values()), dtype=np.float64)
    )
    own = np.diag(told)
    doubt = DOUBT * np.sqrt((np.outer(own, own) + told**2) / 4000)
    assert (np.abs(seen - told) <= doubt).all()


@pytest.mark.parametrize("design", ["independent", "recycle-shuffle", "coordinated"])
def test_shared_labels_make_hits_covary_as_told(design: str) -> None:
    found = guesses()
    check_covariance(found, design, design)
    other = "coordinated" if design == "independent" else "independent"
    with pytest.raises(AssertionError):
        check_covariance(found, design, other)


def variances(found: Population, route: Route, sizes: Sizes) -> Floats:
    """The variance of each target at the true rates, where no label is shared."""
    p = [found.truth[found.says_yes(name)].mean() for name in route.names]
    rate = np.append(p, found.truth[~found.says_yes(route.names[0])].mean())
    n = np.array([*(sizes.samples[name] for name in route.names), sizes.omission])
    scale = np.append(route.yes, route.no)
    spread = rate * (1 - rate) / n * scale**2
    slopes = [metric.gradient(rate * scale) for metric in route.metrics]
    return np.array([(slope**2 * spread).sum() for slope in slopes])


@pytest.mark.parametrize("within", [0.1, 0.03])
def test_sizes_are_the_least_that_do(within: float) -> None:
    found = ensemble(6000)
    wanted = goal("recall:a", "recall:b", "recall:c", within=within)
    route = Route.of(found.by_cell, wanted, "a")
    sizes = plan_sizes(found.by_cell, wanted, route, "independent", assume=0.5)
    bound = (within / ndtri(0.975)) ** 2
    assert variances(found, route, sizes).max() <= bound
    fewer = Sizes(sizes.samples, sizes.omission - 1)
    assert variances(found, route, fewer).max() > bound


def test_samples_grow_where_no_false_omission_rate_is_exact_enough() -> None:
    """With p0 = 0.99 the published size is far too small for the difference of two precisions."""
    found, wanted = ensemble(6000), goal("precision:a - precision:b")
    route = Route.of(found.by_cell, wanted, "a")
    sizes = {
        design: plan_sizes(found.by_cell, wanted, route, design, assume=0.99)
        for design in ("independent", "coordinated")
    }
    assert sizes["independent"].omission == 0
    p = [found.truth[found.says_yes(name)].mean() for name in "ab"]
    n = sizes["independent"].samples["a"]
    needed = (ndtri(0.975) / 0.05) ** 2 * sum(each * (1 - each) for each in p)
    assert needed <= n <= 1.1 * needed + 2
    assert sizes["coordinated"].samples["a"] < n / 1.5


def test_precisions_alone_get_the_published_sizes_and_nothing_else() -> None:
    found, wanted = ensemble(1500), goal("precision:a", "precision:c", within=0.03)
    for assume, n in ((0.5, 1068), (0.9, 385)):
        route = Route.of(found.by_cell, wanted, "a")
        sizes = plan_sizes(found.by_cell, wanted, route, "coordinated", assume=assume)
        assert sizes == Sizes({"a": n, "c": n}, 0)


def test_a_parent_that_nobody_asks_about_is_sampled_only_to_be_recycled() -> None:
    found, wanted = ensemble(1500), goal("precision:a", "precision:c", within=0.03)
    route = Route.of(found.by_cell, wanted, "b")
    recycled = plan_sizes(found.by_cell, wanted, route, "recycle-sample", assume=0.5)
    assert recycled == Sizes({"b": 1068, "a": 1068, "c": 1068}, 0)
    alone = plan_sizes(found.by_cell, wanted, route, "independent", assume=0.5)
    assert alone == Sizes({"a": 1068, "c": 1068}, 0)


def test_the_parents_false_omission_rate_takes_no_precision() -> None:
    found, wanted = ensemble(1500), goal("false_omission_rate:a")
    route = Route.of(found.by_cell, wanted, "a")
    for design in FIXED:
        sizes = plan_sizes(found.by_cell, wanted, route, design, assume=0.5)
        assert (dict(sizes.samples), sizes.omission > 0) == ({}, True)
        runs = SharedSamples(found, route, design, sizes).replay(5, key=[1])
        assert (runs.counted[:, 0] == runs.labels).all()


def test_the_parent_is_among_those_asked_about() -> None:
    said = {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0], "c": [0, 1, 1, 1]}
    found = Population(y_true=[1, 1, 0, 0], y_pred=said)
    assert choose_parent(found.by_cell, goal("prevalence")) == "b"
    assert choose_parent(found.by_cell, goal("precision:a", "recall:c")) == "c"


def test_a_coordinated_sample_of_everything_is_exact() -> None:
    found, wanted = ensemble(300), goal("recall:b", "f1:c", "accuracy:a", "precision:a")
    route, sizes = Route.of(found.by_cell, wanted, "a"), Sizes(dict.fromkeys(NAMES, 300), 300)
    runs = SharedSamples(found, route, "coordinated", sizes).replay(2, key=[1])
    assert runs.labels.tolist() == [300, 300]
    truth = [found.value(target) for target in wanted.targets]
    assert runs.value == pytest.approx(np.array([truth, truth]), abs=1e-12)
