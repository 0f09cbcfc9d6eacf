"""Items that are a random sample of more: the variance of a part, and intervals for all items."""

from dataclasses import replace

import numpy as np
import pytest

from assay.core.design import Design, check_together
from assay.core.double_sampling import of_all_items, part_variance
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.tallies import Tallies
from assay.errors import DesignError
from assay.simulation.oracle import of_one
from assay.simulation.runs import replay

# All items by stratum: what the classifier says of them, and what they are.
ALL = np.array([3_000, 1_000, 2_000, 4_000])
YES = np.array([2_700, 500, 400, 100])
SAID = np.array([True, True, False, False])
PART, DRAWS = 1_500, 40_000

# The variance of so many draws is right up to sqrt(2/DRAWS) = 0.7%, and ratios are linear to first
# order only: 3% is missed by chance less than once in 10,000 times.
TOLERANCE = 0.03


def parts() -> tuple[np.ndarray, np.ndarray]:
    """Return the items and the outcomes of random parts, by stratum."""
    rng = np.random.default_rng(12)
    cells = rng.multivariate_hypergeometric(np.concatenate([YES, ALL - YES]), PART, DRAWS)
    return cells[:, :4] + cells[:, 4:], cells[:, :4]


def by_definition(metric: str, N: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Return the metric of each part, as the textbooks have it."""
    tp, fn = T[:, SAID].sum(axis=1), T[:, ~SAID].sum(axis=1)
    fp, tn = (N - T)[:, SAID].sum(axis=1), (N - T)[:, ~SAID].sum(axis=1)
    recall, specificity = tp / (tp + fn), tn / (tn + fp)
    return np.asarray(
        {
            "accuracy": (tp + tn) / PART,
            "precision": tp / (tp + fp),
            "recall": recall,
            "f1": 2 * tp / (2 * tp + fp + fn),
            "specificity": specificity,
            "balanced_accuracy": (recall + specificity) / 2,
        }[metric]
    )


@pytest.mark.parametrize(
    "metric", ["accuracy", "precision", "recall", "f1", "specificity", "balanced_accuracy"]
)
def test_random_parts_vary_as_the_formula_says(metric: str) -> None:
    N, T = parts()
    sides = SAID if metric == "precision" else np.ones(4, dtype=np.bool_)
    values = by_definition(metric, N, T)
    share = PART / ALL.sum()
    one = (ALL * share)[sides], (YES * share)[sides]
    form = ratio(metric, one[0], SAID[sides])
    found = float(part_variance(metric, form, *one, share))
    assert found == pytest.approx(np.var(values), rel=TOLERANCE)
    # Wrong: a part of endless many items; and the size of all of the part, whatever it is about.
    assert found / (1 - share) > (1 + 2 * TOLERANCE) * np.var(values)
    value = float(form.value(one[1]))
    if metric != "accuracy":
        naive = value * (1 - value) * (1 / PART - 1 / ALL.sum())
        assert naive != pytest.approx(np.var(values), rel=2 * TOLERANCE)


def test_where_strata_straddle_it_is_the_share_of_what_is_right() -> None:
    N, T = np.array([600.0, 400.0]), np.array([560.0, 340.0])
    found = part_variance("accuracy", ratio("accuracy", N, None), N, T, 0.25)
    assert float(found) == pytest.approx(0.75 * 0.9 * 0.1 / 999)


@pytest.mark.parametrize("allows_for_it", [True, False])
def test_intervals_hold_for_all_items(*, allows_for_it: bool) -> None:
    """1,000 parts, and a campaign of each: below 0.93 has a chance of 0.003 where 0.95 is right.

    With the part taken for all items, intervals of the same width hold in far fewer.
    """
    items, right, part = 100_000, 80_000, 2_500
    goal = Goal("precision", within=0.025)
    if allows_for_it:
        goal = replace(goal, sample_of=items, sample_size=part)
    sizes, rng = np.array([float(part)]), np.random.default_rng(3)
    outcomes = rng.hypergeometric(right, items - right, part, size=1_000)[:, None]
    runs = replay(
        *of_one(
            Design(),
            goal,
            ratio("precision", sizes, np.array([True])),
            sizes,
            outcomes.astype(np.float64),
        ),
        replications=1_000,
        rng=rng,
    )
    holds = float(((runs.low <= 0.8) & (runs.high >= 0.8)).mean())
    assert (runs.high - runs.low).max() <= 0.05 + 1e-9
    assert (holds >= 0.93) == allows_for_it


def test_no_error_in_the_labels_is_no_part_without_variance() -> None:
    N = np.array([1_000.0])
    form, tallies = ratio("precision", N, np.array([True])), Tallies(N, [200], [200])
    ends = np.array(0.985), np.array(1.0), np.array(1.0)
    low, high = of_all_items("precision", form, tallies, ends=ends, share=0.01, confidence=0.95)
    first = 0.985 * 0.015 * 0.99 / 999
    assert float(low) == pytest.approx(1 - np.sqrt(0.015**2 + 1.959964**2 * first))
    assert float(high) == 1.0  # the metric can be no more


def test_goals_that_a_sample_cannot_serve_are_refused() -> None:
    goal = Goal("precision", within=0.02, sample_of=9_000, sample_size=900)
    assert Goal.from_dict(goal.to_dict()) == goal
    assert goal.sampled == 0.1
    assert "sample_of" not in Goal("precision", within=0.02).to_dict()
    with pytest.raises(DesignError, match="cannot be a sample"):
        Goal("precision", within=0.02, sample_of=900, sample_size=9_000)
    with pytest.raises(DesignError, match="needs within= or budget="):
        Goal("precision", at_least=0.9, sample_of=9_000)
    with pytest.raises(DesignError, match="cannot be combined with bets"):
        check_together(Design.guaranteed(), goal, 4)
