from itertools import product
from math import isclose

import numpy as np
import pytest

from assay.core.differences import subtract
from assay.core.forms import Metric, Ratio, ratio
from assay.core.metrics import METRICS
from assay.core.stopping import Reason, hold_back
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.core.unjudged import counted_at_worst, least_to_settle, movement, swing


@pytest.mark.parametrize("metric", METRICS)
def test_the_worst_case_is_that_of_all_possible_answers(metric: str) -> None:
    N, yes = np.array([50.0, 30.0, 20.0]), np.array([True, True, False])
    n, x, u = np.array([5.0, 4.0, 6.0]), np.array([3.0, 4.0, 1.0]), np.array([2.0, 0.0, 1.0])
    form = ratio(metric, N, yes)
    values = [float(form.value(N * rates)) for rates in every_way(n, x, u)]
    low, high = swing(Tallies(N, n, x, u), form)
    assert (float(low), float(high)) == pytest.approx((min(values), max(values)))
    now = float(form.value(N * x / n))
    farthest = max(abs(value - now) for value in values)
    assert float(movement(Tallies(N, n, x, u), form)) == pytest.approx(farthest)
    assert float(movement(Tallies(N, n, x), form)) == 0


def every_way(n: Floats, x: Floats, u: Floats) -> list[Floats]:
    """Return the rates of the strata by every answer that unjudged items might have had."""
    return [(x + more) / (n + u) for more in product(*(range(int(each) + 1) for each in u))]


def forms() -> dict[str, tuple[Metric, Floats]]:
    """Return every metric, and every difference, over strata of which both, one or none say yes."""
    N = np.array([50.0, 30.0, 20.0, 60.0])
    one, two = np.array([True, True, False, False]), np.array([True, False, True, False])
    found: dict[str, tuple[Metric, Floats]] = {m: (ratio(m, N, one), N) for m in METRICS}
    for metric in ("precision", "recall", "f1", "accuracy"):
        first, second = ratio(metric, N, one), ratio(metric, N, two)
        found[f"{metric} of two"] = subtract(first, second), N
        found[f"{metric} of two, the other way"] = subtract(second, first), N
    return found


@pytest.mark.parametrize("name", forms())
def test_no_answer_is_worse_than_the_worst_counts_or_better_than_the_best(name: str) -> None:
    """With all labels known the worst counts are those of some answers, and of the worst."""
    metric, N = forms()[name]
    rng = np.random.default_rng(3)
    for _ in range(20):
        u = rng.integers(0, 3, 4).astype(float)
        n = rng.integers(1, 9, 4).astype(float)
        x = rng.binomial(n.astype(int), rng.random(4)).astype(float)
        values = [float(metric.value(N * rates)) for rates in every_way(n, x, u)]
        against, in_favour = counted_at_worst(Tallies(N, n, x, u), metric, u)
        low, high = (metric.value(N * counted.x / counted.n) for counted in (against, in_favour))
        # A difference of F1s may bend between two answers; how far, `swing` bounds.
        near = 0.02 if "f1 of two" in name else 1e-12
        assert isclose(float(low.min()), min(values), abs_tol=near)
        assert isclose(float(high.max()), max(values), abs_tol=near)
        least, most = swing(Tallies(N, n, x, u), metric)
        assert least <= min(values) + 1e-12
        assert most >= max(values) - 1e-12
        assert (against.n == n + u).all()


def test_to_count_every_doubtful_item_as_a_failure_is_not_the_worst_of_recall() -> None:
    """The wrong variant: where the classifier says no, a negative raises recall."""
    N, n, x, u = (np.array(each, float) for each in ([50, 60], [5, 6], [3, 1], [1, 2]))
    metric = ratio("recall", N, np.array([True, False]))
    wrong = float(metric.value(N * x / (n + u)))
    against, _ = counted_at_worst(Tallies(N, n, x, u), metric, u)
    assert float(metric.value(N * against.x[0] / against.n[0])) < wrong - 0.1


@pytest.mark.parametrize("allowed", [0.01, 0.02, 0.05, 0.1])
def test_so_many_must_be_judged_and_not_one_fewer(allowed: float) -> None:
    """One stratum, whose unjudged items turn out like the rest: counted, not by the formula."""
    n, x, u = 160, 120, 40
    form = ratio("precision", np.array([1000.0]), np.array([True]))

    def moves(judged: int) -> float:
        told = Tallies.trusted(
            np.array([1000.0]),
            np.array([n + judged * 1.0]),
            np.array([x + judged * x / n]),
            np.array([u - judged * 1.0]),
        )
        return float(movement(told, form))

    needed = least_to_settle(u, moves(0), allowed)
    assert moves(needed) <= allowed + 1e-12
    assert moves(needed - 1) > allowed
    assert least_to_settle(u, moves(0), moves(0)) == 0


def test_a_goal_that_unjudged_items_could_undo_is_not_met() -> None:
    reason = np.array([Reason.GO_ON, Reason.GOAL_MET, Reason.GOAL_MET, Reason.BUDGET_SPENT])
    moves = np.array([0.5, 0.019, 0.021, 0.5])
    kept = hold_back(reason, could_move=moves, within=0.02)
    assert kept.tolist() == [0, Reason.GOAL_MET, Reason.UNJUDGED, Reason.BUDGET_SPENT]
    asked = hold_back(reason[:2], could_move=moves[:2], within=None, unsettled=np.array([1, 0]) > 0)
    assert asked.tolist() == [Reason.UNJUDGED, Reason.GOAL_MET]


def test_a_difference_of_recalls_may_move_either_way_where_both_say_no() -> None:
    metric, N = forms()["recall of two"]
    assert isinstance(metric, Ratio)
    told = Tallies(N, [9, 9, 9, 9], [5, 5, 5, 3], [0, 0, 0, 2])
    against, _ = counted_at_worst(told, metric, told.u)
    assert against.x.shape == (2, 4)  # as the estimate has it, and the other way round
