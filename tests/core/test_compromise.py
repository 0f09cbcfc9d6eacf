"""The compromise between targets against a general convex solver, closed forms and odd cases."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, minimize

from assay.core.joint_allocation import NEAR_BEST as TOLERANCE
from assay.core.joint_allocation import Compromise, compromise_allocation
from assay.core.types import Floats

SOLVER_TOLERANCE = 1e-6  # what scipy's optimum may be off by


class Case:
    """A random problem: caps and minima that bind or do not, targets of one stratum or of all."""

    def __init__(self, rng: np.random.Generator, targets: int, strata: int) -> None:
        scale = 10.0 ** rng.uniform(-2, 2, size=(targets, 1))
        kept = rng.random((targets, strata)) < rng.choice([0.4, 0.8, 1.0])
        kept[np.arange(targets), rng.integers(strata, size=targets)] = True
        self.A = np.where(kept, rng.gamma(rng.choice([0.5, 2.0]), size=kept.shape) * scale, 0.0)
        if targets > 1 and rng.random() < 0.3:  # two targets that ask for nearly the same
            self.A[1] = self.A[0] * (1 + 1e-3 * rng.random(strata))
        self.A[:, ~self.A.any(axis=0)] = scale  # a stratum without variance gets no more labels
        self.most = rng.uniform(20, 100, strata)
        self.least = self.most * rng.random(strata) * rng.choice([0.0, 0.1, 0.9])
        room = self.most.sum() - self.least.sum()
        self.total = self.least.sum() + room * rng.uniform(0.05, 0.9)
        self.V = self.A.sum(axis=-1) / self.total * 10.0 ** rng.uniform(-0.5, 0.5, targets)

    def solve(self, power: float) -> Compromise:
        return compromise_allocation(self.A, self.V, self.total, self.least, self.most, power=power)

    def ratios(self, n: Floats) -> Floats:
        over = 1 / n - 1 / self.most
        return np.asarray((self.A * over).sum(axis=-1) / self.V)

    def slopes(self, n: Floats) -> Floats:
        return np.asarray(-self.A / n**2 / self.V[:, None])

    @property
    def start(self) -> Floats:
        share = (self.total - self.least.sum()) / (self.most - self.least).sum()
        return np.asarray(self.least + share * (self.most - self.least))


def cases(seed: int, count: int) -> list[Case]:
    rng = np.random.default_rng(seed)
    return [Case(rng, int(rng.integers(1, 6)), int(rng.integers(2, 9))) for _ in range(count)]


def least_sum(case: Case, power: float) -> float:
    """Return (sum_t R_t^p)^(1/p) at scipy's optimum."""

    def value(n: Floats) -> float:
        return float((case.ratios(n) ** power).sum() ** (1 / power))

    def slope(n: Floats) -> Floats:
        each = case.ratios(n)
        return np.asarray((each / value(n)) ** (power - 1) @ case.slopes(n))

    found = minimize(
        value,
        case.start,
        jac=slope,
        method="SLSQP",
        bounds=Bounds(np.maximum(case.least, 1e-3), case.most),
        constraints=[LinearConstraint(np.ones((1, case.most.size)), case.total, case.total)],
        options={"ftol": 1e-12, "maxiter": 2000},
    )
    assert found.success
    return float(found.fun)


def check_best(case: Case, n: Floats, power: float, least: float) -> None:
    assert (n >= case.least).all()
    assert (n <= case.most).all()
    assert n.sum() == pytest.approx(case.total)
    reached = float((case.ratios(n) ** power).sum() ** (1 / power))
    assert least * (1 - SOLVER_TOLERANCE) <= reached <= least * (1 + TOLERANCE + SOLVER_TOLERANCE)


@pytest.mark.parametrize("power", [1.0, 2.0, 4.0])
def test_as_good_as_a_general_convex_solver(power: float) -> None:
    at_most = at_least = 0
    for case in cases(seed=1, count=60):
        found = case.solve(power)
        check_best(case, found.n, power, least_sum(case, power))
        np.testing.assert_allclose(found.ratio, case.ratios(found.n), rtol=1e-9)
        assert found.gap <= TOLERANCE
        at_most += int(np.isclose(found.n, case.most).any())
        at_least += int(np.isclose(found.n, case.least).any())
    assert min(at_most, at_least) > 5  # the cases are not all easy ones


def test_bounds_come_first() -> None:
    A = [[1.0, 4.0, 0.0]]
    assert compromise_allocation(A, 1.0, 10, [3, 4, 5], 100).n.tolist() == [3, 4, 5]
    assert compromise_allocation(A, 1.0, 900, 1, [10, 20, 30]).n.tolist() == [10, 20, 1]
    full = compromise_allocation(A, 1.0, 31, [10, 20, 1], [10, 20, 30])
    assert full.n.tolist() == [10, 20, 1]
    assert full.ratio.tolist() == [0]
    nothing = compromise_allocation(np.zeros((2, 3)), 1.0, 30, [0, 1, 2], 5)
    assert nothing.n.tolist() == [0, 1, 2]
    assert compromise_allocation(A, 1.0, 3, 0, [0, 5, 0]).n.tolist() == [0, 3, 0]


def test_problems_side_by_side_are_solved_as_alone() -> None:
    rng = np.random.default_rng(5)
    A = rng.gamma(1.0, size=(4, 3, 6))
    least = rng.uniform(0, 3, size=(4, 6))
    total = np.array([20.0, 40.0, 80.0, 160.0])
    together = compromise_allocation(A, 1.0, total, least, 50).n
    for each in range(4):
        alone = compromise_allocation(A[each], 1.0, total[each], least[each], 50).n
        np.testing.assert_allclose(together[each], alone, rtol=2e-3)
