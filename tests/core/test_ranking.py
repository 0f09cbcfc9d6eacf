"""Top-k accuracy: how it is spelt, what counts in it, and what a difference varies by."""

import re
from itertools import product

import numpy as np
import pytest

from assay.core.metrics import canonical_metric
from assay.core.ranking import InTop, deepest, gap, tops_of
from assay.core.tallies import Tallies
from assay.core.targets import ALONE, Target, parse_targets
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError

CLASSES = Vocabulary(("a", "b", "c", "d"))


@pytest.mark.parametrize("text", ["top_2_accuracy", "top-2-accuracy", "Top 2 accuracy", "top2"])
def test_every_spelling_is_one_metric(text: str) -> None:
    (target,) = parse_targets([f"{text} within 0.02"], [ALONE], classes=CLASSES)
    assert (target.name, target.within) == ("top_2_accuracy", 0.02)
    (gap_,) = parse_targets([f"{text}:new - {text}:old"], ["new", "old"], classes=CLASSES)
    assert gap_.name == "top_2_accuracy:new - top_2_accuracy:old"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("top_4_accuracy", "top_4_accuracy of 4 classes is 1 whatever the labels say"),
        ("top_0_accuracy", "top_0_accuracy of 4 classes has no class"),
        ("top_k_accuracy", "unknown metric 'top_k_accuracy'.*top_5_accuracy"),
    ],
)
def test_a_k_that_tells_nothing_is_refused(text: str, told: str) -> None:
    with pytest.raises(DesignError) as refused:
        parse_targets([text], [ALONE], classes=CLASSES)
    assert re.search(told, " ".join(str(refused.value).split()))


def test_an_outcome_is_told_alike_from_ranks_and_from_places() -> None:
    orders = np.array([[3, 1, 0, 2], [0, 3, 2, 1]])  # of two classifiers
    for number, k, (one, other) in product(range(4), (1, 2, 3), ((0, 1), (1, 0), (0, None))):
        top = InTop(k, one, other)
        places = np.array([[order.tolist().index(number) for order in orders]])
        right = number in orders[one][:k] and (other is None or number not in orders[other][:k])
        assert top.holds(orders.tolist(), number) == top.among(places)[0] == right


def test_each_outcome_is_counted_once() -> None:
    names = ["top_2_accuracy:new - top_2_accuracy:old", "top_2_accuracy", "top_1_accuracy:new"]
    targets = parse_targets(names, ["new", "old"], classes=CLASSES)
    found = tops_of(targets, ["new", "old"])
    assert found == (InTop(2, 0, 1), InTop(2, 1, 0), InTop(2, 0), InTop(2, 1), InTop(1, 0))
    assert deepest(targets) == 2
    assert deepest([Target("macro_f1", "new", label="")]) == 0
    assert canonical_metric("top2", of_all=True) == "top_2_accuracy"


def test_a_difference_varies_as_its_outcomes_do() -> None:
    """An item that has z = 1, -1 or 0 varies by E[z^2] - E[z]^2, whichever is seen more often."""
    N, n = np.array([50_000.0]), np.array([9_999.0])
    for first, second in ((0.1, 0.02), (0.02, 0.1), (0.05, 0.05), (0.3, 0.0)):
        x, y = np.round(n * first), np.round(n * second)
        seen, form = gap(Tallies(N, n, x), y)
        p = seen.x / seen.n
        by_form = float((form.gradient(seen.x) * N) ** 2 @ (p * (1 - p)))
        exact = first + second - (first - second) ** 2
        assert by_form == pytest.approx(exact, rel=0.01)
        assert float(form.value(form.at)) == pytest.approx(first - second, abs=1e-3)
        assert (form.w > 0) == (x >= y)
        # As independent outcomes of two samples it would be another figure.
        wrong = first * (1 - first) + second * (1 - second)
        assert second == 0 or by_form != pytest.approx(wrong, rel=0.01)


def test_a_difference_at_full_labelling_is_exact() -> None:
    N, x, y = np.array([10.0, 20.0]), np.array([3.0, 1.0]), np.array([1.0, 6.0])
    seen, form = gap(Tallies(N, N, x), y)
    assert float(form.value(seen.x)) == pytest.approx((3 - 1 + 1 - 6) / 30, abs=1e-15)
    assert [float(each) for each in form.extremes(seen.x, seen.x)] == [pytest.approx(-0.1)] * 2
