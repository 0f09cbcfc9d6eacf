from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from assay.core import deck
from assay.core.bins import bins_of, scale_of
from assay.core.cells import (
    Heap,
    assign_strata,
    count_cells,
    count_parts,
    cut_heaps,
    merge_cells,
    profile_heaps,
)
from assay.core.profile import Profile, ScoreCells, profile_of
from assay.core.stopping import Reason, count_streak, reasons
from assay.core.tallies import Tallies
from assay.core.tally import cells_of
from assay.core.types import Bools, Floats, Words

RNG = np.random.default_rng(11)
VALUES = RNG.random(4_000).round(3)
CODES = RNG.choice([0, 1, 2, 5, 7, 2**40, 2**61], 4_000, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05])
HEAPS = [(7,), (0, 2**61), (1, 2, 2**40)]  # 5 is in none


def _cut() -> list[Heap]:
    return cut_heaps(profile_heaps(VALUES, CODES, HEAPS), HEAPS, [1, 3, 4])


def _stratum(value: float, code: int, heaps: list[Heap]) -> int:
    """Find an item's stratum by going through the heaps, one comparison after the other."""
    first = 0
    for heap in heaps:
        if code in heap.codes:
            passed = sum(value >= point for point in heap.cuts.points)
            return first + heap.cuts.owner[passed]
        first += heap.cuts.n_strata
    return -1


def test_cells_are_counted_alike_with_and_without_sorting() -> None:
    few = CODES[CODES < 10]  # small codes take the way of counters, large ones that of sorting
    assert count_cells(few) == dict(sorted(Counter(few.tolist()).items()))
    assert count_cells(CODES) == dict(sorted(Counter(CODES.tolist()).items()))


def test_profiles_are_those_of_the_items_with_the_codes() -> None:
    for heap, profile in zip(HEAPS, profile_heaps(VALUES, CODES, HEAPS), strict=True):
        expected = profile_of(VALUES[np.isin(CODES, heap)])
        assert (profile.low == expected.low).all()
        assert (profile.count == expected.count).all()


def test_every_item_has_the_stratum_of_its_heap_and_value() -> None:
    heaps = _cut()
    found = assign_strata(VALUES, CODES, heaps).tolist()
    pairs = list(zip(VALUES.tolist(), CODES.tolist(), strict=True))
    assert found == [_stratum(value, code, heaps) for value, code in pairs]
    assert found != [_stratum(value, code, heaps[::-1]) for value, code in pairs]
    assert {-1, 0, 7} == {found[row] for row in range(4_000) if CODES[row] in (5, 7)} | {max(found)}


def test_parts_count_the_items_of_a_stratum_with_a_code() -> None:
    heaps = _cut()
    pairs = zip(VALUES.tolist(), CODES.tolist(), strict=True)
    counted = Counter((_stratum(value, code, heaps), code) for value, code in pairs)
    expected = [(*part, items) for part, items in sorted(counted.items()) if part[0] >= 0]
    assert list(count_parts(VALUES, CODES, heaps)) == expected


# Cells that are put together


def _random_shares(seed: int, classifiers: int, cells: int) -> dict[int, float]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(2**classifiers, cells, replace=False).tolist()
    items = rng.zipf(1.5, cells).clip(max=10**6)
    return dict(zip(codes, (items / items.sum()).tolist(), strict=True))


@pytest.mark.parametrize(("classifiers", "cells"), [(3, 8), (6, 60), (12, 900), (20, 5_000)])
def test_the_rule_keeps_its_promises(classifiers: int, cells: int) -> None:
    for seed in range(20):
        shares = _random_shares(seed, classifiers, cells)
        heaps = merge_cells(shares)
        assert sorted(code for heap in heaps for code in heap) == sorted(shares)  # a partition
        assert all(list(heap) == sorted(heap) for heap in heaps)
        assert len(heaps) <= 24 + 8

        largest = sorted(shares.values(), reverse=True)[:24]
        alone = {heap[0] for heap in heaps if len(heap) == 1}
        clearly_large = {c for c in shares if shares[c] >= 0.005 and shares[c] > largest[-1]}
        assert clearly_large <= alone

        merged = [heap for heap in heaps if len(heap) > 1]
        for before, after in pairwise(merged):
            assert max(c.bit_count() for c in before) <= min(c.bit_count() for c in after)
        if len(merged) > 1:
            assert all(sum(shares[code] for code in heap) >= 0.005 for heap in merged)


def test_the_order_in_which_cells_are_given_does_not_matter() -> None:
    shares = _random_shares(3, 10, 500)
    shuffled = np.random.default_rng(4).permutation(list(shares)).tolist()
    assert merge_cells({code: shares[code] for code in shuffled}) == merge_cells(shares)


def test_neighbours_by_the_number_of_yes_are_put_together() -> None:
    # Sixteen cells alike, none of which may stand alone: heaps of two, by number of yes.
    heaps = merge_cells(dict.fromkeys(range(16), 1 / 16), most=0, least=0)
    assert heaps == [(0, 1), (2, 4), (3, 8), (5, 6), (9, 10), (7, 12), (11, 13), (14, 15)]


def test_a_last_heap_that_is_not_full_joins_the_one_before() -> None:
    assert merge_cells({1: 0.49, 2: 0.49, 4: 0.02}, most=0, least=0.5) == [(1, 2, 4)]
    assert merge_cells({1: 0.5, 2: 0.49, 4: 0.01}, most=0, least=0.5) == [(1,), (2, 4)]


def test_small_cells_beside_large_ones() -> None:
    assert merge_cells({0: 0.99, 3: 0.004, 1: 0.004, 2: 0.002}) == [(0,), (1, 2, 3)]
    assert merge_cells({5: 1.0}) == [(5,)]


def test_shapes_are_brought_together() -> None:
    tallies = Tallies(N=[10, 20], n=[[1, 2], [3, 4]], x=0)
    assert tallies.x.shape == (2, 2)
    assert tallies.answers.tolist() == [3.0, 7.0]


def test_items_that_cannot_be_judged_cost_an_answer_but_are_no_label() -> None:
    tallies = Tallies.start([10, 20]).add(n=[1, 0], x=[1, 0], u=[0, 2])
    assert float(tallies.answers) == 3
    assert float(tallies.n.sum()) == 1


def test_taking_some_evaluations_keeps_them_whole() -> None:
    tallies = Tallies(N=[[5, 6], [7, 8]], n=1, x=0)
    assert tallies.take(np.array([False, True])).N.tolist() == [[7.0, 8.0]]


# When to stop


def decide(streak: int, answers: int, budget: int | None, room: list[float]) -> Reason:
    found = reasons(
        np.array(streak),
        rounds_in_a_row=2,
        answers=np.array(float(answers)),
        budget=budget,
        room=np.array(room),
    )
    return Reason(int(found))


def test_two_rounds_in_a_row_meet_the_goal() -> None:
    streak = np.array(0)
    history = []
    for half_width in (0.03, 0.02, 0.021, 0.019, 0.018):
        streak = count_streak(streak, np.array(half_width), within=0.02)
        history.append(decide(int(streak), 10, None, [5.0]))
    assert history == [Reason.GO_ON] * 4 + [Reason.GOAL_MET]


def test_the_reason_is_the_strongest_that_holds() -> None:
    assert decide(0, 9, 10, [5.0]) is Reason.GO_ON
    assert decide(0, 10, 10, [5.0]) is Reason.BUDGET_SPENT
    assert decide(0, 10, 10, [0.0, 0.0]) is Reason.EXHAUSTED
    assert decide(2, 10, 10, [0.0, 0.0]) is Reason.GOAL_MET
    assert decide(0, 10, None, [0.0, 1.0]) is Reason.GO_ON


def test_without_a_width_there_is_no_streak() -> None:
    assert int(count_streak(np.array(5), np.array(0.0), within=None)) == 0


RANDOM = np.random.default_rng(61)
SIZE = 70_000  # more than are counted at once
DIGEST: Words = deck.digest(np.arange(SIZE).tolist())
SCORES: dict[str, Floats] = {
    "probability": RANDOM.beta(0.3, 0.6, SIZE),
    "margin": np.concatenate([RANDOM.normal(-2, 3, SIZE - 5), [-1e300, 0.0, 1e-300, 7.0, 7.0]]),
    "few": RANDOM.integers(0, 5, SIZE) / 4,
}


def said_of(scores: Floats) -> Bools:
    """Say yes mostly, but not only, to the upper half."""
    return np.asarray((scores > np.median(scores)) ^ (np.arange(scores.size) % 17 == 0))


def check_cells(cells: ScoreCells, scores: Floats, said: Bools, digest: Words) -> None:
    rule = scale_of(min(scores.tolist()), max(scores.tolist()))
    items: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(bins_of(scores, rule).tolist(), said.tolist(), strict=True)):
        items[key].append(row)
    keys = sorted(items)
    assert cells.rule == rule
    assert list(zip(cells.bin.tolist(), cells.yes.tolist(), strict=True)) == keys
    for cell, rows in enumerate(items[key] for key in keys):
        values = scores[rows].tolist()
        word = 0
        for each in digest[rows].tolist():
            word ^= each
        assert cells.count[cell] == len(rows)
        assert (cells.low[cell], cells.high[cell]) == (min(values), max(values))
        assert cells.digest[cell] == word


def check_same(profile: Profile, expected: Profile) -> None:
    for name in ("low", "high", "mean", "count"):
        np.testing.assert_array_equal(getattr(profile, name), getattr(expected, name))


@pytest.mark.parametrize("kind", SCORES)
def test_cells_are_those_of_counting_one_by_one(kind: str) -> None:
    scores = SCORES[kind]
    said = said_of(scores)
    cells = cells_of(scores, said, DIGEST)
    check_cells(cells, scores, said, DIGEST)
    assert cells.size == SIZE
    assert cells.positives == said.sum()
    assert cells.score_range == (scores.min(), scores.max())


@pytest.mark.parametrize("kind", SCORES)
def test_profiles_are_those_of_the_scores(kind: str) -> None:
    scores = SCORES[kind]
    said = said_of(scores)
    cells = cells_of(scores, said, DIGEST)
    check_same(cells.profile(None), profile_of(scores))
    for side in (True, False):
        check_same(cells.profile(side), profile_of(scores[said == side], cells.rule))


def test_a_side_alone_is_counted_by_the_rule_for_all() -> None:
    scores = np.concatenate([RANDOM.random(5_000), RANDOM.normal(-4, 1, 5_000)])
    said = np.arange(10_000) < 5_000
    profile = cells_of(scores, said, DIGEST[:10_000]).profile(True)
    check_same(profile, profile_of(scores[:5_000], "margin"))


def test_the_fingerprint_does_not_depend_on_the_sign_of_zero() -> None:
    said, digest = np.array([True, False]), DIGEST[:2]
    texts = {cells_of(np.array([zero, 2.0]), said, digest).fingerprint() for zero in (0.0, -0.0)}
    assert len(texts) == 1
