"""Joint allocation against a general convex solver, closed forms and its own certificate."""

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from assay.core.joint_allocation import TOLERANCE, Allocation, joint_allocation
from assay.core.types import Floats

SOLVER_TOLERANCE = 1e-6  # what scipy's optimum may be off by, as a share of the total


class Case:
    """A random problem: caps and minima that bind or do not, strata without variance."""

    def __init__(self, rng: np.random.Generator, targets: int, strata: int) -> None:
        scale = 10.0 ** rng.uniform(-3, 3, size=(targets, 1))
        kept = rng.random((targets, strata)) < rng.choice([0.4, 0.8, 1.0])
        kept[np.arange(targets), rng.integers(strata, size=targets)] = True
        self.A = np.where(kept, rng.gamma(rng.choice([0.3, 2.0]), size=kept.shape) * scale, 0.0)
        if targets > 1 and rng.random() < 0.3:  # two targets that ask for nearly the same
            self.A[1] = self.A[0] * (1 + 1e-3 * rng.random(strata))
        self.most = rng.uniform(1, 100, strata) * rng.choice([1.0, 1e4])
        self.least = self.most * rng.random(strata) * rng.choice([0.0, 0.1, 0.7])
        ease = 1 + 10.0 ** rng.uniform(-1.5, 2, size=targets)
        self.V = (self.A / self.most).sum(axis=-1) * ease

    def solve(self) -> Allocation:
        return joint_allocation(self.A, self.V, self.least, self.most)


def cases(seed: int, count: int, most_strata: int = 10) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [
        Case(rng, int(rng.integers(1, 6)), int(rng.integers(1, most_strata + 1)))
        for _ in range(count)
    ]


def spent(A: Floats, n: Floats) -> Floats:
    """Return the variances; without labels a stratum without variance has none."""
    return np.asarray(np.where(A > 0, A / np.where(A > 0, n[..., None, :], 1.0), 0.0).sum(axis=-1))


def least_total(case: Case) -> float:
    """Return the optimum by scipy, in z = log n, where objective and constraints are convex."""
    carries = case.A.any(axis=0)
    B = case.A[:, carries] / case.V[:, None]
    low, high = np.maximum(case.least[carries], 1e-9), case.most[carries]

    def log_total(z: Floats) -> float:
        return float(np.log(np.exp(z).sum()))

    def slope_of_total(z: Floats) -> Floats:
        return np.asarray(np.exp(z) / np.exp(z).sum())

    def log_spent(z: Floats) -> Floats:
        return np.asarray(np.log(B @ np.exp(-z)))

    def slopes_of_spent(z: Floats) -> Floats:
        return np.asarray(-B * np.exp(-z) / (B @ np.exp(-z))[:, None])

    found = minimize(
        log_total,
        np.log(np.clip(neyman_of_each(case).max(axis=0)[carries], low, high)),
        jac=slope_of_total,
        method="SLSQP",
        bounds=Bounds(np.log(low), np.log(high)),
        constraints=[NonlinearConstraint(log_spent, -np.inf, 0.0, jac=slopes_of_spent)],
        options={"ftol": 1e-12, "maxiter": 2000},
    )
    n = np.clip(np.exp(found.x), low, high)
    assert (B @ (1 / n)).max() <= 1 + SOLVER_TOLERANCE
    return float(n.sum() + case.least[~carries].sum())


def check_optimal(case: Case, n: Floats, least: float) -> None:
    assert (n >= case.least).all()
    assert (n <= case.most).all()
    assert (spent(case.A, n) <= case.V * (1 + 1e-12)).all()
    assert least * (1 - SOLVER_TOLERANCE) <= n.sum() <= least * (1 + 2 * TOLERANCE)


def neyman_of_each(case: Case) -> Floats:
    """Return each target's own best allocation without bounds, (T, H)."""
    root = np.sqrt(case.A)
    return np.asarray(root * (root.sum(axis=-1) / case.V)[:, None])


# Optimality


def test_as_few_labels_as_a_general_convex_solver() -> None:
    at_most = at_least = slack = 0
    for case in cases(seed=1, count=150):
        solution, least = case.solve(), least_total(case)
        check_optimal(case, solution.n, least)
        assert solution.gap <= TOLERANCE
        assert (1 - solution.gap) * solution.n.sum() <= least * (1 + SOLVER_TOLERANCE)
        carries = case.A.any(axis=0)
        at_most += (solution.n == case.most)[carries].any()
        at_least += (carries & (solution.n == case.least)).any()
        slack += (spent(case.A, solution.n) < 0.99 * case.V).any()
    assert min(at_most, at_least, slack) > 20  # the cases are not all easy ones


def test_counts_and_multipliers_satisfy_the_conditions_of_the_optimum() -> None:
    for case in cases(seed=4, count=100, most_strata=40):
        solution = case.solve()
        mu, total = solution.multipliers, solution.n.sum()
        share = spent(case.A, solution.n) / case.V
        assert (mu * (1 - share) <= 2 * TOLERANCE * total).all()  # no price on what is not scarce
        stationary = np.clip(np.sqrt(mu / case.V @ case.A), case.least, case.most)
        carries = case.A.any(axis=0)
        # Near the optimum the total grows with the square of the distance.
        assert np.abs(solution.n - stationary)[carries].sum() <= 2 * np.sqrt(TOLERANCE) * total


def test_twenty_classifiers_by_three_metrics_are_certified() -> None:
    rng = np.random.default_rng(6)
    case = Case(rng, targets=60, strata=500)
    solution = case.solve()
    assert solution.gap <= TOLERANCE
    assert (spent(case.A, solution.n) <= case.V).all()


# Bounds and odd cases


def test_a_target_that_cannot_be_met_gets_all_there_is_and_the_others_their_least() -> None:
    A = np.array([[100.0, 100.0, 0.0, 0.0], [0.0, 4.0, 4.0, 0.0]])
    most = np.array([10.0, 10.0, 50.0, 50.0])
    solution = joint_allocation(A, [1.0, 0.6], 1, most)
    np.testing.assert_allclose(solution.n, [10, 10, 20, 1], rtol=TOLERANCE)
    assert solution.n[:2].tolist() == [10, 10]
    assert solution.multipliers[0] == 0


def test_a_target_that_is_met_only_at_the_caps() -> None:
    solution = joint_allocation([[10.0, 20.0]], [3.0], 0, [10, 10])
    assert solution.n.tolist() == [10, 10]
    assert joint_allocation([[1.0]], [1e-300], 0, 7).n.tolist() == [7]
    assert joint_allocation([[1e300]], [1e-300], 0, 7).n.tolist() == [7]


def test_strata_without_variance_get_the_least() -> None:
    A = np.array([[0.0, 4.0, 0.0], [0.0, 9.0, 0.0]])
    n = joint_allocation(A, [1.0, 1.0], [0, 1, 2], [0, 100, 100]).n
    np.testing.assert_allclose(n, [0, 9, 2], rtol=TOLERANCE)
    nothing = joint_allocation(np.zeros((2, 3)), [1.0, 1.0], [0, 1, 2], 5)
    assert nothing.n.tolist() == [0, 1, 2]
    assert nothing.gap == 0


def test_targets_that_the_minima_meet_get_the_minima() -> None:
    solution = joint_allocation([[1.0, 1.0], [1.0, 0.0]], [2.0, 5.0], [3, 4], [100, 100])
    np.testing.assert_allclose(solution.n, [3, 4], rtol=TOLERANCE)


def test_strata_with_hardly_any_variance_get_hardly_any_labels() -> None:
    solution = joint_allocation([[1.0, 1e-40, 5e-324]], [0.1], 0, 100)
    assert (solution.n > 0).all()
    np.testing.assert_allclose(solution.n, [10, 0, 0], atol=0.01)


# Many problems at once, and again


def test_many_problems_at_once_are_the_same_problems() -> None:
    rng = np.random.default_rng(7)
    some = [Case(rng, targets=3, strata=6) for _ in range(24)]
    A, V, least, most = (
        np.array([getattr(case, name) for case in some]) for name in ("A", "V", "least", "most")
    )
    solution = joint_allocation(
        A.reshape(4, 6, 3, 6), V.reshape(4, 6, 3), least.reshape(4, 6, 6), most.reshape(4, 6, 6)
    )
    assert solution.n.shape == (4, 6, 6)
    assert solution.multipliers.shape == (4, 6, 3)
    assert solution.gap.shape == (4, 6)
    for case, n in zip(some, solution.n.reshape(24, 6), strict=True):
        np.testing.assert_allclose(n, case.solve().n, rtol=1e-9)
