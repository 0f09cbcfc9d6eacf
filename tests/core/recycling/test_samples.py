"""Paper 3's samples, enumerated: every outcome of every draw of a tiny case, with exact chances."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar, cast, get_args

import numpy as np
import pytest

from assay.core.deck import numbers
from assay.core.recycling.samples import (
    Items,
    Option,
    Overlap,
    coordinated_sample,
    overlap,
    recycle,
)
from assay.core.types import Ints

OPTIONS: tuple[Option, ...] = get_args(Option)
T = TypeVar("T")


class EveryOutcome:
    """Stands where a generator stands, and shows every outcome of its draws in turn."""

    def __init__(self) -> None:
        self._shown: list[int] = []
        self._faces: list[int] = []
        self._rolls = 0

    def integers(self, high: int | Ints, size: int | None = None) -> Ints:
        faces = [int(high)] * size if size is not None else np.ravel(high).tolist()
        return np.array([self._roll(each) for each in faces], dtype=np.int64)

    def permutation(self, sequence: Ints) -> Ints:
        left = sequence.tolist()
        return np.array([left.pop(self._roll(len(left))) for _ in sequence], dtype=np.int64)

    def _roll(self, faces: int) -> int:
        if self._rolls == len(self._shown):
            self._shown.append(0)
            self._faces.append(faces)
        self._rolls += 1
        return self._shown[self._rolls - 1]

    def chance(self) -> Fraction:
        return Fraction(1, math.prod(self._faces))

    def turn(self) -> bool:
        """Go on to the next outcome, if there is one."""
        self._rolls = 0
        while self._shown and self._shown[-1] == self._faces[-1] - 1:
            self._shown.pop()
            self._faces.pop()
        if self._shown:
            self._shown[-1] += 1
        return bool(self._shown)


def outcomes(experiment: Callable[[np.random.Generator], T]) -> Iterator[tuple[T, Fraction]]:
    every = EveryOutcome()
    while True:
        yield experiment(cast(np.random.Generator, every)), every.chance()
        if not every.turn():
            return


# The algorithm


def child_samples(sets: Overlap, n_P: int, n_C: int, option: Option) -> list[tuple[Ints, Fraction]]:
    def experiment(rng: np.random.Generator) -> Ints:
        return recycle(sets.parent.draw(n_P, rng), sets, n_C, option=option, rng=rng).sample

    return list(outcomes(experiment))


def check_places_are_uniform(sets: Overlap, n_P: int, n_C: int, option: Option) -> None:
    """Lemmas 1 and 2: each of exactly n_C places holds each item with chance 1/|A_C|."""
    chances: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for sample, chance in child_samples(sets, n_P, n_C, option):
        assert sample.size == n_C
        for place, item in enumerate(sample.tolist()):
            chances[place, item] += chance
    assert chances == {
        (place, item): Fraction(1, sets.child.size)
        for place, item in itertools.product(range(n_C), sets.child.starts.tolist())
    }


def expected_counts(samples: Sequence[tuple[Ints, Fraction]]) -> dict[int, Fraction]:
    counts: defaultdict[int, Fraction] = defaultdict(Fraction)
    for sample, chance in samples:
        for item in sample.tolist():
            counts[item] += chance
    return dict(counts)


def check_no_item_is_favoured(sets: Overlap, n_P: int, n_C: int, option: Option) -> None:
    """The precision is unbiased, whatever the labels, just if all items are expected alike."""
    expected = dict.fromkeys(sets.child.starts.tolist(), Fraction(n_C, sets.child.size))
    assert expected_counts(child_samples(sets, n_P, n_C, option)) == expected


WHOLE = overlap(np.array([0, 1, 2]), np.array([1, 2, 3, 4]))  # |S-| = |S+|
CUT, FILLED = 1, 3  # n_C: with n_P = 2, |S| is 0, 2 or 4


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("n_C", [CUT, 2, FILLED, 5])
def test_each_place_is_exactly_uniform(option: Option, n_C: int) -> None:
    check_places_are_uniform(WHOLE, 2, n_C, option)


HALF = overlap(np.array([0, 1, 2]), np.array([1, 2, 3]))  # |S-| = |S+| / 2
TWO_THIRDS = overlap(np.array([0, 1, 2]), np.array([0, 1, 2, 3, 4]))


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("n_C", [1, 2, 4])
@pytest.mark.parametrize(("sets", "n_P"), [(HALF, 2), (TWO_THIRDS, 1)], ids=["1/2", "2/3"])
def test_rounding_favours_no_item(sets: Overlap, n_P: int, n_C: int, option: Option) -> None:
    check_no_item_is_favoured(sets, n_P, n_C, option)


@pytest.mark.parametrize(("parent", "child"), [([0, 1], [2, 3]), ([0, 1], [0]), ([0], [0, 1])])
@pytest.mark.parametrize("option", OPTIONS)
def test_sets_apart_and_sets_within(parent: list[int], child: list[int], option: Option) -> None:
    sets = overlap(np.array(parent), np.array(child))
    check_no_item_is_favoured(sets, 2, 2, option)


# What the paper says beyond that


def mean_savings(sets: Overlap, n_P: int, n_C: int, option: Option) -> Fraction:
    def experiment(rng: np.random.Generator) -> int:
        S_P = sets.parent.draw(n_P, rng)
        return recycle(S_P, sets, n_C, option=option, rng=rng).savings

    return sum((saved * chance for saved, chance in outcomes(experiment)), Fraction(0))


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("n_C", [1, 2, 3])
@pytest.mark.parametrize("sets", [WHOLE, HALF], ids=["whole", "1/2"])
def test_savings_are_lemma_3s(sets: Overlap, n_C: int, option: Option) -> None:
    """X ~ B(2, 2/3), whole or, where S is cut, n_C CIR of it on average."""
    mean = sum(
        chance * min(Fraction(X), Fraction(n_C * sets.both.size, sets.child.size))
        for X, chance in enumerate([Fraction(1, 9), Fraction(4, 9), Fraction(4, 9)])
    )
    assert mean_savings(sets, 2, n_C, option) == mean


def agreement(option: Option) -> Fraction:
    """The chance that the two places of S_C hold one item."""
    samples = child_samples(WHOLE, 2, 2, option)
    return sum((chance for sample, chance in samples if sample[0] == sample[1]), Fraction(0))


def test_lemma_1_does_not_hold_for_independence() -> None:
    """|S| = 0 (chance 1/9): two independent places. |S| = 2 (4/9): one of S+ and one of S-, which
    agree if drawn twice. |S| = 4 (4/9): of S+ and of S- each two, which agree with chance 1/2."""
    independent = Fraction(1, 4)
    drawn_twice = (
        Fraction(1, 9) * independent
        + Fraction(4, 9) * Fraction(1, 2)
        + Fraction(4, 9) * (Fraction(1, 4) + Fraction(1, 4) * Fraction(1, 2))
    )
    assert agreement("UniformSample") == drawn_twice > independent
    assert agreement("UniformShuffle") < independent


# The coordinated sample: what it is, and what it shares, by enumeration and at random.


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


def test_coordinated_samples_share_what_both_are_likely_to_hold() -> None:
    """Each of the 2 common cards, at depth u of the deck, is in both samples with the other ahead
    of it and nothing else, u(1-u)^4, or with at most one of either side, (1-u)(1-u^2)^2: together
    1/30 + 11/30."""
    parent, child = np.arange(4), np.arange(2, 6)
    shared = [
        np.intersect1d(first_cards(parent, order, 2), first_cards(child, order, 2)).size
        for order in dealt(6)
    ]
    assert Fraction(sum(shared), len(shared)) == 2 * Fraction(12, 30)


def test_a_small_set_is_taken_whole() -> None:
    members = np.array([3, 1, 2])
    assert sorted(coordinated_sample(members, numbers(members, 1), 9)) == [1, 2, 3]
    assert coordinated_sample(members, numbers(members, 1), 0).size == 0


def test_a_set_of_ranges_is_the_set_of_its_ids() -> None:
    ranges = Items(np.array([3, 10, 40]), np.array([4, 1, 7]))
    ids = np.concatenate([np.arange(3, 7), [10], np.arange(40, 47)])
    listed, every = Items.of(ids), np.arange(60)
    assert ranges.size == listed.size == ids.size
    np.testing.assert_array_equal(ranges.hold(every), np.isin(every, ids))
    np.testing.assert_array_equal(listed.hold(every), np.isin(every, ids))
    drawn = [each.draw(500, np.random.default_rng(2)) for each in (ranges, listed)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert set(drawn[0].tolist()) == set(ids.tolist())
