"""The coordinated sample: what it is, and what it shares, by enumeration and at random."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from assay.core.deck import numbers
from assay.core.types import Ints, Words
from assay.errors import InputError
from assay.simulation.recycling.formulas import expected_savings
from assay.simulation.recycling.samples import coordinated_sample


def dealt(size: int) -> Iterator[Ints]:
    yield from (np.array(order) for order in itertools.permutations(range(size)))


def first_cards(members: Ints, order: Ints, n: int) -> Ints:
    return coordinated_sample(members, order[members].astype(np.uint64), n)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_every_subset_is_equally_likely(n: int) -> None:
    parent, child = np.arange(4), np.array([5, 3, 2, 4])
    for members in (parent, child):
        seen = Counter(frozenset(first_cards(members, order, n).tolist()) for order in dealt(6))
        assert len(seen) == math.comb(4, n)
        assert set(seen.values()) == {math.factorial(6) // math.comb(4, n)}


def shared_by_coordination(parent: Ints, child: Ints, n_P: int, n_C: int) -> Fraction:
    shared = [
        np.intersect1d(first_cards(parent, order, n_P), first_cards(child, order, n_C)).size
        for order in dealt(int(max(parent.max(), child.max())) + 1)
    ]
    return Fraction(sum(shared), len(shared))


def shared_by_recycling(parent: Ints, child: Ints, n_P: int, n_C: int) -> Fraction:
    """Lemma 3 over every sample of the parent, without replacement to compare like with like."""
    both = set(parent.tolist()) & set(child.tolist())
    saved = [
        min(Fraction(len(both & set(S_P))), Fraction(n_C * len(both), child.size))
        for S_P in itertools.combinations(parent.tolist(), n_P)
    ]
    return sum(saved, Fraction(0)) / len(saved)


CHILD_WITHIN = (np.arange(5), np.arange(3))
CROSSING = (np.arange(4), np.arange(2, 6))


@pytest.mark.parametrize("n_C", [1, 2])
def test_coordination_shares_what_recycling_does_with_a_child_within(n_C: int) -> None:
    shared = shared_by_coordination(*CHILD_WITHIN, 2, n_C)
    assert shared == shared_by_recycling(*CHILD_WITHIN, 2, n_C)


def test_coordination_shares_what_recycling_does_where_one_side_decides() -> None:
    assert shared_by_coordination(*CROSSING, 1, 3) == shared_by_recycling(*CROSSING, 1, 3)


def test_else_they_share_nearly_the_same() -> None:
    """Each of the 2 common cards, at depth u of the deck, is in both samples with the other ahead
    of it and nothing else, u(1-u)^4, or with at most one of either side, (1-u)(1-u^2)^2: together
    1/30 + 11/30. Recycling shares min(X, 1) on average, and X = 0 has chance 1/6."""
    assert shared_by_coordination(*CROSSING, 2, 2) == 2 * Fraction(12, 30)
    assert shared_by_recycling(*CROSSING, 2, 2) == Fraction(5, 6)


def check_sharing(seed_of: Callable[[int], int], c: float) -> None:
    """Two sets of 8,000 with c of each in common, 800 labels each, 600 seeds.

    Shared are n c - 0.4 s sqrt(2c), s^2 = n c (1 - c) (1 - n/N), give or take 0.1 for the normal
    approximation. A fixed seed; the check would fail with probability 6e-7.
    """
    size, n = 8000, 800
    parent = np.arange(size)
    child = parent + round(size * (1 - c))
    shared = []
    for seed in range(600):
        first = coordinated_sample(parent, numbers(parent, seed), n)
        second = coordinated_sample(child, numbers(child, seed_of(seed)), n)
        shared.append(np.intersect1d(first, second).size)
    s = np.sqrt(n * c * (1 - c) * (1 - n / size))
    predicted = n * c - s * np.sqrt(2 * c) / np.sqrt(2 * np.pi)
    assert abs(np.mean(shared) - predicted) < 0.1 + 5 * np.std(shared) / np.sqrt(600)
    assert abs(np.mean(shared) - expected_savings(n, n, c, c)) < 0.005 * n


@pytest.mark.parametrize("c", [0.25, 0.5, 0.85])
def test_coordination_shares_what_recycling_does_to_half_a_percent(c: float) -> None:
    check_sharing(lambda seed: seed, c)
    with pytest.raises(AssertionError):
        check_sharing(lambda seed: seed + 1000, c)


def check_every_item_has_its_share(number_of: Callable[[Ints, int], Words]) -> None:
    """Of 4,000 seeds each of 20 items is in a quarter of the samples; fails with probability 1e-6.

    The counts have a fixed sum, so that they vary among themselves 20/19 as much as alone.
    """
    members = np.arange(100, 120)
    drawn = [coordinated_sample(members, number_of(members, seed), 5) for seed in range(4000)]
    counts = np.bincount(np.concatenate(drawn) - 100, minlength=20)
    statistic = ((counts - 1000) ** 2).sum() / (4000 * 0.25 * 0.75) / (20 / 19)
    assert stats.chi2(19).sf(statistic) > 1e-6


def test_the_deck_gives_every_item_its_share() -> None:
    check_every_item_has_its_share(numbers)
    with pytest.raises(AssertionError):  # ids for numbers: the same cards in every deck
        check_every_item_has_its_share(lambda ids, seed: (ids * (seed + 1)).astype(np.uint64))


# What cannot be used


def test_a_small_set_is_taken_whole() -> None:
    members = np.array([3, 1, 2])
    assert sorted(coordinated_sample(members, numbers(members, 1), 9)) == [1, 2, 3]
    assert coordinated_sample(members, numbers(members, 1), 0).size == 0


def test_bad_input_is_refused() -> None:
    members = np.array([1, 2])
    with pytest.raises(InputError, match="2 ids came with 1 numbers"):
        coordinated_sample(members, numbers(members[:1], 1), 1)
    with pytest.raises(InputError, match="n must be a whole number of at least 0, got -1"):
        coordinated_sample(members, numbers(members, 1), -1)
