"""Counts against items: `replay` and an item-by-item reference give the same evaluations.

Both run the same rule on the same 600 items. Mean labels, bias, variance of the estimates and
coverage are compared, each difference in units of its Monte Carlo standard error. The margin is 5
of these: a right `replay` fails one of the 32 comparisons with a probability of about 2e-5.
Beside each comparison stands a reference with one deliberate mistake, which must be rejected.
"""

import random
from dataclasses import replace

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.types import Floats
from assay.simulation import Population, of_one, replay
from assay.simulation import Runs as Replayed
from tests.simulation.reference import (
    Rule,
    Runs,
    evaluate,
    no_spread,
    normal_ends,
    observed_rate,
    observed_spread,
    smoothed_rate,
    smoothed_spread,
    strata_of_equal_size,
    wilson_ends,
)

BINS = 4
ITEMS = 600
REPLAYED, REFERENCE = 10_000, 1000
MARGIN = 5.0
RANDOM_ROUND = 20  # `replay` asks for so many where a design leaves it open

_rng = random.Random(5)
# Errors are rarer at higher scores; the rates of the four strata run from about 0.6 to 1.
SCORES = [(number + 0.5) / ITEMS for number in range(ITEMS)]
OUTCOMES = [_rng.random() > 0.5 * (1 - score) ** 2 for score in SCORES]
TRUTH = sum(OUTCOMES) / ITEMS
POPULATION = Population(y_true=OUTCOMES, y_score=SCORES, y_pred=[True] * ITEMS)
STRATA = strata_of_equal_size(list(zip(SCORES, OUTCOMES, strict=True)), BINS)

KUMAR_RAJ = Rule(observed_rate, observed_spread, wilson_ends, False, 5, None, True, budget=100)
RULES = {
    "random": Rule(
        observed_rate, no_spread, wilson_ends, True, RANDOM_ROUND, RANDOM_ROUND, False, within=0.05
    ),
    "perc-opt": Rule(
        smoothed_rate, smoothed_spread, normal_ends, True, 2 * BINS, 2 * BINS, True, within=0.05
    ),
    "opt-a1": KUMAR_RAJ,
    "opt-a2": replace(KUMAR_RAJ, round_size=10),
}
DESIGNS = {
    "random": replace(Design.simple_random(), interval="wilson", rounds_in_a_row=2),
    "perc-opt": Design.bennett_carvalho(bins=BINS),
    "opt-a1": Design.kumar_raj(allocation="opt-a1", bins=BINS),
    "opt-a2": Design.kumar_raj(allocation="opt-a2", bins=BINS),
}
CASES = [(name, replacement) for name in RULES for replacement in (True, False)]


def wrong(rule: Rule) -> Rule:
    """Return the rule with one mistake in it."""
    if rule.spread is no_spread:
        return replace(rule, replacement=not rule.replacement)
    if rule.drawn:
        return replace(rule, rounds_in_a_row=1)
    return replace(rule, spread=no_spread)


def by_items(name: str, rule: Rule) -> Runs:
    strata = [OUTCOMES] if name == "random" else STRATA
    return evaluate(strata, rule, replications=REFERENCE, seed=1)


def by_counts(name: str, rule: Rule) -> Replayed:
    design = replace(DESIGNS[name], replacement=rule.replacement)
    frame = POPULATION.frame(design, "precision")
    return replay(
        *of_one(
            design,
            Goal("precision", within=rule.within, budget=rule.budget),
            frame.metric,
            frame.sizes,
            frame.outcomes,
        ),
        replications=REPLAYED,
        rng=np.random.default_rng(2),
        asked=RANDOM_ROUND,
    )


def same_mean(one: Floats, two: Floats) -> float:
    """Return how many standard errors two means are apart; 0 for two equal constants."""
    error = np.sqrt(one.var() / one.size + two.var() / two.size)
    return float(abs(one.mean() - two.mean()) / error) if error > 0 else 0.0


def same_variance(one: Floats, two: Floats) -> float:
    """Return how many standard errors two variances are apart: they are means of squares."""
    return same_mean((one - one.mean()) ** 2, (two - two.mean()) ** 2)


def check(items: Runs, counts: Replayed) -> None:
    """Compare what the two found."""
    low, high = np.array(items.low), np.array(items.high)
    covers = ((low <= TRUTH) & (high >= TRUTH)).astype(float)
    covered = ((counts.low <= TRUTH) & (counts.high >= TRUTH)).astype(float)
    value = np.array(items.value)
    assert same_mean(np.array(items.labels), counts.labels.astype(float)) < MARGIN, "labels"
    assert same_mean(value, counts.value) < MARGIN, "bias"
    assert same_variance(value, counts.value) < MARGIN, "variance"
    assert same_mean(covers, covered) < MARGIN, "coverage"


@pytest.mark.parametrize(("name", "replacement"), CASES)
def test_counts_and_items_agree(name: str, replacement: bool) -> None:
    rule = replace(RULES[name], replacement=replacement)
    counts = by_counts(name, rule)
    check(by_items(name, rule), counts)
    with pytest.raises(AssertionError):
        check(by_items(name, wrong(rule)), counts)


def test_both_cut_the_same_strata() -> None:
    frame = POPULATION.frame(DESIGNS["perc-opt"], "precision")
    assert frame.sizes.tolist() == [len(items) for items in STRATA]
    assert frame.outcomes.tolist() == [sum(items) for items in STRATA]
    assert frame.value == pytest.approx(TRUTH)
