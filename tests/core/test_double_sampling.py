"""Judgements and labels where a judge costs money: against a search, and against draws."""

from math import sqrt

import numpy as np
import pytest

from assay.core.double_sampling import (
    Question,
    double_sampling,
    judged_strata,
    labels_with,
    part_of_variance,
)
from assay.core.types import Floats

PRICES = {"judge_cost": 0.02, "label_cost": 1.5}


def variance_of_a_part(n_h: Floats, n_j: Floats, rho: float, N: float, b: float) -> Floats:
    """Return Cochran's variance: labels within the judged part, and the part's own mean."""
    return np.asarray((1 - rho**2) * (1 / n_h - 1 / n_j) + b * (1 / n_j - 1 / N))


def searched(question: Question, rho: float, c_j: float, c_h: float) -> tuple[float, float, float]:
    """Return the cheapest judgements and labels by trying all numbers of labels."""
    b, N = question.spread, question.items
    n_j = np.unique(np.geomspace(1, N, 4000).round())[None, :]
    n_h = np.arange(max(1, np.ceil(question.least)), question.labels + 1)[:, None]
    enough = variance_of_a_part(n_h, n_j, rho, N, b) <= question.variance * (1 + 1e-9)
    cost = np.where(enough & (n_j >= n_h), c_j * n_j + c_h * n_h, np.inf)
    i, j = np.unravel_index(cost.argmin(), cost.shape)
    return float(n_j[0, j]), float(n_h[i, 0]), float(cost[i, j])


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.9])
@pytest.mark.parametrize(
    ("question", "c_j"),
    [
        (Question(500, 1e6), 0.02),
        (Question(500, 1e6, at_random=900), 0.02),
        (Question(500, 3_000, at_random=900), 0.0005),  # all are judged
        (Question(300, 1e5, fewest=100), 0.002),  # so many labels are there in any case
        (Question(400, 1e5), 1.2),  # a judge that costs nearly as much as a label
    ],
)
def test_no_other_numbers_cost_less(question: Question, c_j: float, rho: float) -> None:
    found = double_sampling(question, rho, judge_cost=c_j, label_cost=1.5)
    _, _, least = searched(question, rho, c_j, 1.5)
    assert found.cost(c_j, 1.5) == pytest.approx(least, rel=0.01)
    assert question.least <= found.labels <= found.judgements <= question.items
    reached = variance_of_a_part(
        np.array(found.labels), np.array(found.judgements), rho, question.items, question.spread
    )
    assert reached <= question.variance * (1 + 1e-9)


def test_the_ratio_of_the_books() -> None:
    found = double_sampling(Question(500, 1e12), 0.8, **PRICES)
    ratio = sqrt(1.5 / 0.02) * sqrt(0.64 / 0.36)
    assert found.judgements / found.labels == pytest.approx(ratio)
    assert found.labels == pytest.approx(500 * (0.36 + 0.64 / ratio))


# Draws. The variance of so many simulated estimates is right up to sqrt(2/RUNS) = 0.7%, and the
# formulas leave out terms of the order 1/labels: 4% is missed by chance less than once in 10^6.
RUNS, TOLERANCE = 40_000, 0.04


class Cells:
    """Items by score (two strata) and by what the judge says (two cells in each)."""

    size = np.array([2_000, 1_000, 1_000, 2_000])
    rate = np.array([0.95, 0.35, 0.65, 0.05])
    score = np.array([0, 0, 1, 1])

    def __init__(self) -> None:
        self.yes = (self.size * self.rate).round().astype(int)
        self.N = float(self.size.sum())
        within_cells = self._variance(self.size, self.yes)
        strata = [self.score == each for each in (0, 1)]
        within_strata = self._variance(
            np.array([self.size[each].sum() for each in strata]),
            np.array([self.yes[each].sum() for each in strata]),
        )
        whole = self._variance(np.array([self.size.sum()]), np.array([self.yes.sum()]))
        self.rho = sqrt(1 - within_cells / within_strata)
        self.A, self.B = within_strata, whole

    @staticmethod
    def _variance(size: np.ndarray, yes: np.ndarray) -> float:
        """Return the mean variance within groups of items."""
        p = yes / size
        return float((size / size.sum() * p * (1 - p)).sum())

    def question(self, labels: float) -> Question:
        """Return a goal that takes so many labels in strata by score."""
        wanted = self.A * (1 / labels - 1 / self.N)
        return Question(labels, self.N, at_random=1 / (wanted / self.B + 1 / self.N))

    def simulated(self, judged: int, labels: int) -> float:
        """Return the variance of the mean over labels of a judged part, drawn in two steps."""
        rng = np.random.default_rng(20)
        part = rng.multivariate_hypergeometric(self.size, judged, RUNS)
        yes = rng.hypergeometric(self.yes, self.size - self.yes, part)
        drawn = np.minimum(np.maximum(np.rint(labels * part / judged).astype(int), 1), part)
        found = rng.hypergeometric(yes, part - yes, drawn)
        return float(np.var((part / judged * found / drawn).sum(axis=1)))


def test_draws_in_two_steps_vary_as_the_formula_says() -> None:
    cells = Cells()
    question = cells.question(400)
    wanted = cells.A * question.variance
    found = double_sampling(question, cells.rho, judge_cost=0.05, label_cost=1.5)
    judged, labels = round(found.judgements), round(found.labels)
    assert cells.simulated(judged, labels) == pytest.approx(wanted, rel=TOLERANCE)
    # Labels alone have this share of it, which is what a campaign of the part is to reach.
    share = part_of_variance(question, cells.rho, found)
    first = cells.B * (1 / judged - 1 / cells.N)
    assert share == pytest.approx(1 - first / wanted, rel=0.01)

    # Wrong: a part that is taken for all items, and one that has as much of every score.
    all_of_it = round(400 * (1 - cells.rho**2))
    assert cells.simulated(judged, all_of_it) > (1 + 3 * TOLERANCE) * wanted
    even = double_sampling(Question(400, cells.N), cells.rho, judge_cost=0.05, label_cost=1.5)
    by_book = cells.simulated(round(even.judgements), round(even.labels))
    assert by_book > (1 + 2 * TOLERANCE) * wanted


@pytest.mark.parametrize("rho", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("items", [2_000, 20_000, 1e6])
def test_no_other_share_of_all_items_costs_less(items: float, rho: float) -> None:
    question = Question(500, items, fewest=100)
    found = judged_strata(question, rho, **PRICES)
    shares = np.linspace(0, 1, 20_001)
    needed = (shares * sqrt(1 - rho**2) + 1 - shares) ** 2 / (
        question.variance + (shares * (1 - rho**2) + 1 - shares) / items
    )
    costs = 0.02 * shares * items + 1.5 * np.maximum(needed, 100)
    assert found.cost(**PRICES) <= costs.min() * (1 + 1e-6)


def test_draws_of_all_items_vary_as_the_formula_says() -> None:
    """Two thirds of the items are judged; a judge of so many, right in 80%, has rho 0.6."""
    rng = np.random.default_rng(21)
    size, rate = np.array([2_000, 2_000, 2_000]), np.array([0.8, 0.2, 0.5])
    yes = (size * rate).astype(int)
    question = Question(400, 6_000)
    wanted = 0.25 * question.variance
    labels = round(labels_with(question, 0.6, 2 / 3))
    sd = np.sqrt(rate * (1 - rate))
    drawn = np.rint(labels * size * sd / (size * sd).sum()).astype(int)
    found = rng.hypergeometric(yes, size - yes, drawn, (RUNS, 3))
    variance = np.var((size / 6_000 * found / drawn).sum(axis=1))
    assert variance == pytest.approx(wanted, rel=TOLERANCE)
    # Wrong: the labels that all items judged would take.
    assert abs(labels - labels_with(question, 0.6, 1.0)) > 2 * TOLERANCE * labels
