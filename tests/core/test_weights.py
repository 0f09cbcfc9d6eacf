"""Arrivals are independent draws in proportion to weight, by numbers that never change."""

from fractions import Fraction
from itertools import islice
from math import log1p

import numpy as np
import pytest
from scipy.stats import chisquare

from assay.core.deck import number, numbers
from assay.core.types import Floats
from assay.core.weights import (
    Arrivals,
    factor_exponent,
    first_arrivals,
    impressions,
    seed_of_arrival,
    waiting_time,
)

ITEMS = [("a", 1), ("b", 2), ("c", 3), ("d", 10)]


def brute_force(items: list[tuple[str, int]], seed: int, count: int) -> list[tuple[str, int]]:
    """Write out so many arrivals of every item, and sort them all by their times."""
    times = []
    for id, weight in items:
        when = 0.0
        for j in range(count):
            v = ((number(id, seed_of_arrival(seed, j)) >> 12) + 0.5) / 2**52
            when += -log1p(-v) / weight
            times.append((when, id, j))
    return [(id, j) for _, id, j in sorted(times)[:count]]


def in_order(items: list[tuple[str, int]], seed: int) -> list[tuple[str, int]]:
    return sorted(items, key=lambda item: waiting_time(item[0], item[1], seed, 0))


def arrive(items: list[tuple[str, int]], seed: int, count: int) -> list[tuple[str, int]]:
    deck = in_order(items, seed)
    arrivals = Arrivals(seed, len(deck))
    assert arrivals.reach(count, deck.__getitem__)
    return [(deck[position][0], j) for position, j in arrivals.order]


@pytest.mark.parametrize("seed", range(5))
def test_arrivals_are_those_of_brute_force(seed: int) -> None:
    items = [(f"{seed}-{row}", 1 + row**3 % 50) for row in range(30)]
    assert arrive(items, seed, 200) == brute_force(items, seed, 200)


def test_a_deck_that_is_not_whole_says_so_and_goes_on_when_it_has_grown() -> None:
    items = [(str(row), 1 + row % 7) for row in range(40)]
    deck = in_order(items, 1)
    lying = deck[:10]
    arrivals = Arrivals(1, len(deck))

    def card_at(position: int) -> tuple[str, int] | None:
        return lying[position] if position < len(lying) else None

    assert arrivals.reach(10, card_at)  # the first M are of the first M cards
    assert not arrivals.reach(200, card_at)
    lying = deck
    assert arrivals.reach(200, card_at)
    assert [(deck[position][0], j) for position, j in arrivals.order] == brute_force(items, 1, 200)


def test_first_arrivals_in_numpy_are_those_in_plain_python() -> None:
    ids, weights = [str(row) for row in range(500)], np.arange(1, 501)
    found = first_arrivals(numbers(ids, 7), weights)
    plain = [waiting_time(id, int(w), 7, 0) for id, w in zip(ids, weights, strict=True)]
    np.testing.assert_allclose(found, plain, rtol=1e-14)


def test_equal_weights_keep_the_order_of_the_deck() -> None:
    ids = [str(row) for row in range(300)]
    deck = numbers(ids, 5)
    assert np.array_equal(first_arrivals(deck, np.full(300, 9)).argsort(), deck.argsort())


def pairs(draw: int) -> list[tuple[str, str]]:
    """Return the arrivals `draw` and `draw + 1` under many seeds."""
    found = [arrive(ITEMS, seed, draw + 2)[draw:] for seed in range(3000)]
    return [(one, two) for (one, _), (two, _) in found]


def p_value(found: list[tuple[str, str]]) -> float:
    """Return how well pairs agree with two independent draws in proportion to weight."""
    total = sum(weight for _, weight in ITEMS)
    names = [name for name, _ in ITEMS]
    chance = [one * two / total**2 for _, one in ITEMS for _, two in ITEMS]
    counts = np.zeros((4, 4))
    for one, two in found:
        counts[names.index(one), names.index(two)] += 1
    return float(chisquare(counts.ravel(), np.array(chance) * len(found)).pvalue)


@pytest.mark.parametrize("draw", [0, 1])
def test_draws_are_independent_and_in_proportion_to_weight(draw: int) -> None:
    """A right sampler fails at one in a million; the seeds are fixed."""
    assert p_value(pairs(draw)) > 1e-6


def test_numbers_without_weights_and_numbers_used_again_are_caught() -> None:
    by_number = [sorted(ITEMS, key=lambda item: number(item[0], seed)) for seed in range(3000)]
    assert p_value([(one, two) for (one, _), (two, _), *_ in by_number]) < 1e-6
    again = []
    for seed in range(3000):  # every wait of an item is as long as its first
        times = [
            (j * waiting_time(id, weight, seed, 0), id) for id, weight in ITEMS for j in (1, 2)
        ]
        again.append(tuple(id for _, id in islice(sorted(times), 2)))
    assert p_value([(one, two) for one, two in again]) < 1e-6


@pytest.mark.parametrize("scale", [1.0, 1e-300, 3e300, 2.0**-7])
def test_impressions_keep_proportions_and_add_up_exactly(scale: float) -> None:
    weights = np.array([1.0, 3.0, 1e4, 7e5]) * scale
    found = impressions(weights)
    assert 2**49 <= found.sum() < 2**50 + 4
    np.testing.assert_allclose(found / found.sum(), weights / weights.sum(), rtol=1e-8)
    assert impressions(np.array([1e-300, 1.0]))[0] == 1
    whole = np.array([7.0, 11.0, 13.0])
    assert len(set((impressions(whole) / whole).tolist())) == 1


@pytest.mark.parametrize(
    "weights",
    [
        np.full(10, 0.1),  # a little more than 1
        np.full(3, 1 / 3),  # a little less than 1
        np.array([0.5, 0.25, 0.25]),  # 1
        np.array([0.5, 0.5 - 2**-54, 2**-60]),  # less than 1, to which all sums of floats round
        np.array([5e-324] * 3),
        np.array([2.0**1022, 2.0**1022, 1.0]),
        np.array([1.0, 2.0, 5.0]),
    ],
)
def test_impressions_follow_from_the_exact_sum(weights: Floats) -> None:
    """Whichever way floating point rounds the sum, by as much as an order of adding can."""
    exact = sum(map(Fraction, weights.tolist()), Fraction(0))
    nearest = float(exact)
    sums = [np.nextafter(nearest, 0), nearest, np.nextafter(nearest, np.inf)]
    for total in [*sums, float(np.cumsum(weights)[-1]), float(np.cumsum(weights[::-1])[-1])]:
        factor = factor_exponent(total, weights.size, lambda: np.array_split(weights, 2))
        assert 2**49 <= exact * Fraction(2) ** factor < 2**50
    assert (impressions(weights) == impressions(weights[::-1])[::-1]).all()
