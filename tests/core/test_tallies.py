import numpy as np
import pytest

from assay.core.tallies import Tallies
from assay.errors import InputError


def test_shapes_are_brought_together() -> None:
    tallies = Tallies(N=[10, 20], n=[[1, 2], [3, 4]], x=0)
    assert tallies.x.shape == (2, 2)
    assert tallies.answers.tolist() == [3.0, 7.0]


def test_items_that_cannot_be_judged_cost_an_answer_but_are_no_label() -> None:
    tallies = Tallies.start([10, 20]).add(n=[1, 0], x=[1, 0], u=[0, 2])
    assert float(tallies.answers) == 3
    assert float(tallies.n.sum()) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"N": [5], "n": [1], "x": [2]}, "more outcomes than labels"),
        ({"N": [0], "n": [0], "x": [0]}, "every stratum needs one"),
        ({"N": [5], "n": [-1], "x": [0]}, "at least 0"),
        ({"N": [5], "n": [0.5], "x": [0]}, "whole numbers"),
        ({"N": [float("nan")], "n": [0], "x": [0]}, "finite numbers"),
        ({"N": [float("inf")], "n": [0], "x": [0]}, "finite numbers"),
        ({"N": [2.0**60], "n": [0], "x": [0]}, "whole numbers"),
        ({"N": ["a"], "n": [0], "x": [0]}, "must hold numbers"),
        ({"N": [], "n": [], "x": []}, "at least one stratum"),
        ({"N": [5, 5], "n": [1, 1, 1], "x": [0]}, "different shapes"),
    ],
)
def test_counts_that_cannot_be_are_refused(values: dict[str, list[float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Tallies(**values)


def test_taking_some_evaluations_keeps_them_whole() -> None:
    tallies = Tallies(N=[[5, 6], [7, 8]], n=1, x=0)
    assert tallies.take(np.array([False, True])).N.tolist() == [[7.0, 8.0]]
