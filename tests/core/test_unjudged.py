from itertools import product

import numpy as np
import pytest

from assay.core.metrics import METRICS, ratio
from assay.core.tallies import Tallies
from assay.core.unjudged import swing


@pytest.mark.parametrize("metric", METRICS)
def test_the_worst_case_is_that_of_all_possible_answers(metric: str) -> None:
    N, yes = np.array([50.0, 30.0, 20.0]), np.array([True, True, False])
    n, x, u = np.array([5.0, 4.0, 6.0]), np.array([3.0, 4.0, 1.0]), np.array([2.0, 0.0, 1.0])
    form = ratio(metric, N, yes)
    values = [
        float(form.value(N * (x + more) / (n + u)))
        for more in product(*(range(int(each) + 1) for each in u))
    ]
    low, high = swing(Tallies(N, n, x, u), form)
    assert (float(low), float(high)) == pytest.approx((min(values), max(values)))
